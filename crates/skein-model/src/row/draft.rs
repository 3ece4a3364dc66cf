//! Drafts: rows that are about to be embedded, in memory that each thread uses again and again.
//!
//! ```text
//!   thread ──► Arc<Draft> ◄── row                     at most one row at a time
//!              rows of an index that embeds are copied into a leaf and dropped at once
//! ```
//!
//! A row of the arena would be allocated, copied and freed by each write, which takes latches and
//! counters. A draft has the layout of an embedded row from the beginning.
//!
//! # Invariants
//! 1. A thread hands its draft out only if no row has a share of it. Only the thread that keeps the
//!    draft makes shares of it.
//! 2. A row that is embedded and owned (a [`Row`](super::Row)) lies in a draft and has one share of
//!    it. Embedded rows in the leaves of an index are only borrowed ([`RowRef`](super::RowRef)).

use std::cell::{RefCell, UnsafeCell};
use std::mem::offset_of;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use super::slot::EMBEDDED_MAX;

/// Memory for one row that will be embedded.
#[repr(C, align(8))]
struct Draft(UnsafeCell<[u64; EMBEDDED_MAX.div_ceil(size_of::<u64>())]>);

// SAFETY: the bytes belong to the one row that has a share, and rows are `Send` and `Sync`.
unsafe impl Send for Draft {}
// SAFETY: as above.
unsafe impl Sync for Draft {}

const _: () = assert!(offset_of!(Draft, 0) == 0, "a row begins where its draft does");

thread_local! {
    static DRAFT: RefCell<Option<Arc<Draft>>> = const { RefCell::new(None) };
}

/// Returns memory for a row of at most [`EMBEDDED_MAX`] bytes, aligned to 8, with a share of it.
/// Returns `None` if another row of this thread has it.
#[inline]
pub(super) fn take() -> Option<NonNull<u8>> {
    // A thread that is ending keeps no draft.
    let draft = DRAFT.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        let kept = kept.get_or_insert_with(|| Arc::new(Draft(UnsafeCell::new([0; _]))));
        if Arc::strong_count(kept) > 1 {
            return None;
        }
        // Acquire: pairs with the Release by which `Arc` gives up a share, so the last use of the
        // row before is over. No other thread makes shares (invariant 1).
        fence(Ordering::Acquire);
        Some(Arc::clone(kept))
    });
    let start = Arc::into_raw(draft.ok()??).cast_mut().cast();
    // SAFETY: `Arc` does not give null pointers.
    Some(unsafe { NonNull::new_unchecked(start) })
}

/// Gives up a share of a draft.
///
/// # Safety
/// [`take`] returned the pointer, and it is not used again.
#[inline]
pub(super) unsafe fn give_back(start: NonNull<u8>) {
    // SAFETY: the pointer came from `Arc::into_raw`, with one share that is given up here.
    drop(unsafe { Arc::from_raw(start.cast::<Draft>().as_ptr().cast_const()) });
}
