//! Notes: which versions are kept for which snapshot.
//!
//! A write that supersedes a version which a live snapshot sees leaves a note with the newest snapshot that does. When that one is
//! dropped, each of its notes goes on to the newest that still needs the version, or the version goes (`prune.rs`). So a write leaves one
//! note at most, and looks at no list of versions; and a snapshot that is dropped looks at what was kept for it, and at nothing else.
//!
//! ```text
//!   slot of snapshot 8:   ─► note (node, 2..9) ─► note (node, 5..9) ─► nothing
//!   slot of snapshot 4:   ─► note (node, 3..6) ─► nothing
//!   slot of no snapshot:  closed
//! ```
//!
//! # Invariants
//! 1. Each version behind the first of its list has one note, which is in one slot, or in the hands of one thread. So its node is live while
//!    the note is: with the version there, the state of the node is not `absent`.
//! 2. A slot is closed unless a live snapshot has it, or had it when the notes there were left.

use std::ptr::NonNull;

use skein_sync::atomic::{AtomicU64, Ordering};

use super::node::Node;
use crate::memory::{Arena, MemoryPart, address_of, at_address};

const NOTHING: u64 = 0;
const CLOSED: u64 = 1;

/// A version that is kept: its node, its stamp, and the stamp of what superseded it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetainedVersion<const V: usize> {
    pub(super) node: Node<V>,
    pub(super) stamp: u64,
    pub(super) until: u64,
}

#[derive(Debug)]
struct RetentionNote<const V: usize> {
    kept: RetainedVersion<V>,
    next: u64,
}

/// Where notes for one snapshot are left, by any thread.
#[derive(Debug)]
pub(super) struct RetentionSlot<const V: usize>(AtomicU64);

impl<const V: usize> RetentionSlot<V> {
    pub(super) fn closed() -> Self {
        Self(AtomicU64::new(CLOSED))
    }

    /// Takes notes from now on.
    pub(super) fn open(&self) {
        // Relaxed: an empty list leads nowhere.
        self.0.store(NOTHING, Ordering::Relaxed);
    }

    /// Leaves a note; false if the slot is closed.
    pub(super) fn leave(&self, arena: &Arena, kept: RetainedVersion<V>) -> bool {
        let mut head = self.0.load(Ordering::Relaxed);
        if head == CLOSED {
            return false;
        }
        let block = arena.alloc(size_of::<RetentionNote<V>>(), MemoryPart::Nodes).cast::<RetentionNote<V>>();
        loop {
            // SAFETY: the block is ours alone until it is linked, aligned to 8, and of this size.
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

    /// The notes that were left. Nobody takes them meanwhile.
    pub(super) fn left(&self) -> impl Iterator<Item = RetainedVersion<V>> {
        let mut at = self.0.load(Ordering::Acquire);
        std::iter::from_fn(move || {
            // SAFETY: the address of a note, which lives until it is taken.
            let note: &RetentionNote<V> =
                (!matches!(at, NOTHING | CLOSED)).then(|| unsafe { at_address(at).as_ref() })?;
            at = note.next;
            Some(note.kept)
        })
    }

    /// Takes no more notes; gives those that were left.
    pub(super) fn close(&self) -> RetentionNotes<V> {
        // Acquire: pairs with the Release in `leave`.
        RetentionNotes(self.0.swap(CLOSED, Ordering::Acquire))
    }
}

/// Notes that nobody else reaches.
#[derive(Debug)]
pub(super) struct RetentionNotes<const V: usize>(u64);

impl<const V: usize> RetentionNotes<V> {
    pub(super) fn is_empty(&self) -> bool {
        matches!(self.0, NOTHING | CLOSED)
    }
}

impl<const V: usize> Iterator for RetentionNotes<V> {
    type Item = RetainedVersion<V>;

    fn next(&mut self) -> Option<RetainedVersion<V>> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: the address of a note, which is ours since the list was taken, and is freed here.
        unsafe {
            let block: NonNull<RetentionNote<V>> = at_address(self.0);
            let RetentionNote { kept, next } = block.read();
            Arena::free(block.cast(), size_of::<RetentionNote<V>>(), MemoryPart::Nodes);
            self.0 = next;
            Some(kept)
        }
    }
}

impl<const V: usize> Drop for RetentionNotes<V> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::super::node_state::SkipNodeState;
    use super::super::variant::DEFAULT;
    use super::*;

    #[test]
    fn a_slot_takes_notes_while_it_is_open_and_gives_them_once() {
        let arena = Arena::new();
        let node = Node::<DEFAULT>::new(&arena, 1, b"key", SkipNodeState::inline(1), 0);
        let slot = RetentionSlot::closed();
        let kept = |stamp| RetainedVersion { node, stamp, until: stamp + 1 };
        assert!(!slot.leave(&arena, kept(1)));
        slot.open();
        assert!((1..4).all(|stamp| slot.leave(&arena, kept(stamp))));
        assert!(slot.left().map(|kept| kept.stamp).eq([3, 2, 1]));
        let notes = slot.close();
        assert!(!slot.leave(&arena, kept(4)) && slot.left().next().is_none());
        assert!(notes.map(|kept| kept.stamp).eq([3, 2, 1]));
        assert_eq!(slot.close().count(), 0);
        // What nobody looks at is freed all the same.
        slot.open();
        assert!(slot.leave(&arena, kept(5)));
        drop(slot.close());
        // SAFETY: ours alone.
        unsafe { node.free(MemoryPart::Nodes) };
        assert_eq!(arena.live(MemoryPart::Nodes), 0);
    }
}
