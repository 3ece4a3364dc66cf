//! Notes: which versions are kept for which snapshot.
//!
//! A write that supersedes a version which a live snapshot sees leaves a note with the newest such
//! snapshot. When that snapshot is dropped, each of its notes is passed on to the newest snapshot
//! that still sees the version; if no snapshot does, the version is pruned (`prune.rs`). So a write
//! leaves at most one note and walks no list of versions. Dropping a snapshot visits only the
//! versions that were kept for it.
//!
//! ```text
//!   slot of snapshot 8:   ─► note (node, 2..9) ─► note (node, 5..9) ─► end
//!   slot of snapshot 4:   ─► note (node, 3..6) ─► end
//!   slot of no snapshot:  closed
//! ```
//!
//! # Invariants
//! 1. Each version behind the first of its list has one note, which is in one slot or owned by one
//!    thread. So its node is live while the note exists: with the version in its list, the state of
//!    the node is not `absent`.
//! 2. A slot is closed unless a live snapshot has it, or had it when the notes in it were left.

use std::marker::PhantomData;
use std::ptr::NonNull;

use skein_sync::atomic::{AtomicU64, Ordering};

use super::node::Node;
use super::variant::SkipListSettings;
use crate::memory::{Arena, MemoryPart, address_of, at_address};

const NOTHING: u64 = 0;
const CLOSED: u64 = 1;

/// A version that is kept: its node, its stamp, and the stamp of the version that superseded it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetainedVersion<V: SkipListSettings> {
    pub(super) node: Node<V>,
    pub(super) stamp: u64,
    pub(super) until: u64,
}

#[derive(Debug)]
struct RetentionNote<V: SkipListSettings> {
    kept: RetainedVersion<V>,
    next: u64,
}

/// The list of notes for one snapshot. Any thread may push a note.
#[derive(Debug)]
pub(super) struct RetentionSlot<V: SkipListSettings>(AtomicU64, PhantomData<V>);

impl<V: SkipListSettings> RetentionSlot<V> {
    pub(super) fn closed() -> Self {
        Self(AtomicU64::new(CLOSED), PhantomData)
    }

    /// Opens the slot: it accepts notes from now on.
    pub(super) fn open(&self) {
        // Relaxed: an empty list leads nowhere.
        self.0.store(NOTHING, Ordering::Relaxed);
    }

    /// Pushes a note. Returns false if the slot is closed.
    pub(super) fn push(&self, arena: &Arena, kept: RetainedVersion<V>) -> bool {
        let mut head = self.0.load(Ordering::Relaxed);
        if head == CLOSED {
            return false;
        }
        let block = arena.alloc(size_of::<RetentionNote<V>>(), MemoryPart::Nodes).cast::<RetentionNote<V>>();
        loop {
            // SAFETY: only this thread knows the block until it is linked; it is aligned to 8 and
            // has this size.
            unsafe { block.write(RetentionNote { kept, next: head }) };
            // Release: pairs with the Acquire in `close`.
            match self.0.compare_exchange(head, address_of(block), Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(CLOSED) => {
                    // SAFETY: allocated above, and never linked.
                    unsafe { Arena::free(block.cast(), size_of::<RetentionNote<V>>(), MemoryPart::Nodes) };
                    return false;
                }
                Err(other) => head = other,
            }
        }
    }

    /// Returns the versions for which the slot holds notes. REQUIRES: no thread closes the slot
    /// meanwhile.
    pub(super) fn notes(&self) -> impl Iterator<Item = RetainedVersion<V>> {
        let mut at = self.0.load(Ordering::Acquire);
        std::iter::from_fn(move || {
            // SAFETY: the address of a note, which lives until the slot is closed.
            let note: &RetentionNote<V> =
                (!matches!(at, NOTHING | CLOSED)).then(|| unsafe { at_address(at).as_ref() })?;
            at = note.next;
            Some(note.kept)
        })
    }

    /// Closes the slot and returns its notes.
    pub(super) fn close(&self) -> RetentionNotes<V> {
        // Acquire: pairs with the Release in `push`.
        RetentionNotes(self.0.swap(CLOSED, Ordering::Acquire), PhantomData)
    }
}

/// Notes that no other thread can reach.
#[derive(Debug)]
pub(super) struct RetentionNotes<V: SkipListSettings>(u64, PhantomData<V>);

impl<V: SkipListSettings> RetentionNotes<V> {
    pub(super) fn is_empty(&self) -> bool {
        matches!(self.0, NOTHING | CLOSED)
    }
}

impl<V: SkipListSettings> Iterator for RetentionNotes<V> {
    type Item = RetainedVersion<V>;

    fn next(&mut self) -> Option<RetainedVersion<V>> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: the address of a note. This thread owns it since the slot was closed, and frees
        // it here.
        unsafe {
            let block: NonNull<RetentionNote<V>> = at_address(self.0);
            let RetentionNote { kept, next } = block.read();
            Arena::free(block.cast(), size_of::<RetentionNote<V>>(), MemoryPart::Nodes);
            self.0 = next;
            Some(kept)
        }
    }
}

impl<V: SkipListSettings> Drop for RetentionNotes<V> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::super::node_state::SkipNodeState;
    use super::super::variant::SkipListStandard;
    use super::*;

    #[test]
    fn an_open_slot_accepts_notes_and_returns_them_once() {
        let arena = Arena::new();
        let node = Node::<SkipListStandard>::new(&arena, 1, b"key", SkipNodeState::inline(1), 0);
        let slot = RetentionSlot::closed();
        let kept = |stamp| RetainedVersion { node, stamp, until: stamp + 1 };
        assert!(!slot.push(&arena, kept(1)));
        slot.open();
        assert!((1..4).all(|stamp| slot.push(&arena, kept(stamp))));
        assert!(slot.notes().map(|kept| kept.stamp).eq([3, 2, 1]));
        let notes = slot.close();
        assert!(!slot.push(&arena, kept(4)) && slot.notes().next().is_none());
        assert!(notes.map(|kept| kept.stamp).eq([3, 2, 1]));
        assert_eq!(slot.close().count(), 0);
        // Notes that are dropped unread are freed too.
        slot.open();
        assert!(slot.push(&arena, kept(5)));
        drop(slot.close());
        // SAFETY: ours alone.
        unsafe { node.free(MemoryPart::Nodes) };
        assert_eq!(arena.live(MemoryPart::Nodes), 0);
    }
}
