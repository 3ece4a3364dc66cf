//! The stores to which the calling thread is writing. A thread that waits for an epoch while it
//! writes would wait for itself.
//!
//! A writer is inside an epoch, and neither epoch nor moment can close before the writer leaves. So
//! within a write the thread must not wait for durability of the store, or take a snapshot. It must
//! not enter a second writer either: that writer may have to wait for space in a log buffer, and
//! only the end of an epoch makes space.
//!
//! Once, this rule was only documented, and a caller that broke it hung for ever. Now each thread
//! keeps a list of its writes, and such a call returns an error.

use std::cell::RefCell;

use crate::store_core::StoreCore;
use crate::{Error, Result};

thread_local! {
    /// The addresses of the stores to which the thread writes.
    static INSIDE: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) }
}

fn address(core: &StoreCore) -> usize {
    std::ptr::from_ref(core).addr()
}

/// Marks that the calling thread writes to a store, until dropped. Not `Send`, like a writer.
#[derive(Debug)]
pub(crate) struct ActiveWrite {
    store: usize,
    not_send: std::marker::PhantomData<*const ()>,
}

impl ActiveWrite {
    /// Marks that the calling thread begins to write.
    ///
    /// # Errors
    /// The thread is already writing to this store.
    pub(super) fn enter(core: &StoreCore) -> Result<Self> {
        let store = address(core);
        INSIDE.with_borrow_mut(|stores| {
            if stores.contains(&store) {
                return Err(Error::InsideWrite { doing: "another write" });
            }
            stores.push(store);
            Ok(Self { store, not_send: std::marker::PhantomData })
        })
    }
}

impl Drop for ActiveWrite {
    fn drop(&mut self) {
        // The list may have been dropped already while the thread ends.
        let _ = INSIDE.try_with(|stores| stores.borrow_mut().retain(|store| *store != self.store));
    }
}

/// Errors if the calling thread is writing to this store, so that `doing` would wait for itself.
pub(crate) fn check(core: &StoreCore, doing: &'static str) -> Result<()> {
    let inside = INSIDE.with_borrow(|stores| stores.contains(&address(core)));
    if inside { Err(Error::InsideWrite { doing }) } else { Ok(()) }
}
