//! Cursors: move over the keys in order, in both directions.
//!
//! A cursor stores its current leaf and a walk that supplies the next ones (`leaf_walk.rs`). If a
//! node has changed under the walk, or the cursor turns around, it seeks again from its current
//! key.

use std::marker::PhantomData;

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::CuckooTrieVariant;
use super::entry::CuckooNodeKind;
use super::leaf_walk::LeafWalk;
use super::prefixes::KeyPrefixes;
use super::search::NamedNode;
use super::symbols::KeySymbols;
use super::transaction::CuckooAbort;
use super::variant::CuckooSettings;
use crate::cursor::{CursorMoves, CursorPosition};
use crate::index::MAX_KEY_LEN;
use crate::record::KeyRecord;
use crate::slot::Slot;

/// A position in a [`CuckooTrie`](crate::CuckooTrie).
#[derive(Debug)]
pub struct CuckooTrieCursor<'g, S: Slot, G: Guard, V: CuckooSettings> {
    index: &'g CuckooTrieVariant<S, V>,
    guard: PhantomData<&'g G>,
    walk: LeafWalk,
    position: CursorPosition<KeyRecord>,
}

// SAFETY: a cursor holds an index that is `Sync`, and addresses that the guard keeps alive. If the
// guard may be used from another thread, so may the cursor.
unsafe impl<S: Slot, G: Guard + Sync, V: CuckooSettings> Send for CuckooTrieCursor<'_, S, G, V> {}

impl<'g, S: Slot, G: Guard, V: CuckooSettings> CuckooTrieCursor<'g, S, G, V> {
    pub(super) fn new(index: &'g CuckooTrieVariant<S, V>, _guard: &'g G) -> Self {
        Self { index, guard: PhantomData, walk: LeafWalk::new(), position: CursorPosition::Fresh }
    }

    /// Moves to the first key from `key` on, in the given direction.
    fn seek_from(&mut self, key: &[u8], inclusive: bool, forward: bool) -> bool {
        // No key in the index is longer than `MAX_KEY_LEN`. So a longer bound is cut to that
        // length. Upward, the cut bound itself must be excluded, because it is less than the full
        // one.
        let (key, inclusive) =
            if key.len() > MAX_KEY_LEN { (&key[..MAX_KEY_LEN], !forward) } else { (key, inclusive) };
        loop {
            self.walk.start(forward);
            if self.try_seek(key, inclusive).is_ok() && self.take_next_leaf() {
                return self.position.is_on();
            }
            Backoff::new().wait();
        }
    }

    /// Prepares the walk to continue from `key`.
    fn try_seek(&mut self, key: &[u8], inclusive: bool) -> Result<(), CuckooAbort> {
        let (index, walk, symbols) = (self.index, &mut self.walk, KeySymbols::of(key));
        let forward = walk.is_forward();
        let mut pass = |named: &NamedNode| {
            if named.node.entry.kind() == CuckooNodeKind::Branch {
                walk.enter_beyond(named, symbols.at(named.depth));
            }
        };
        let stop = index.descend(&mut KeyPrefixes::of(&index.engine.table, key), &mut pass)?;
        let entry = stop.at.node.entry;
        let enters = match entry.kind() {
            CuckooNodeKind::Branch => {
                pass(&stop.at);
                false
            }
            CuckooNodeKind::Jump => {
                let ours = symbols.at(stop.at.depth + stop.shared);
                (entry.jump_symbol(stop.shared) > ours) == forward
            }
            CuckooNodeKind::Dead => false,
            CuckooNodeKind::Leaf => {
                // SAFETY: a leaf, read under the guard that the cursor borrows.
                let found = unsafe { entry.record() }.ok_or(CuckooAbort::Changed)?.key();
                inclusive && found == key || found != key && (found > key) == forward
            }
        };
        if enters {
            walk.enter(index, &stop.at);
        }
        Ok(())
    }

    /// Moves to the walk's next leaf, or past the end. Returns false if the walk is broken.
    #[inline(always)]
    fn take_next_leaf(&mut self) -> bool {
        // SAFETY: the word of a leaf, read under the guard that the cursor borrows.
        match unsafe { KeyRecord::from_word(self.walk.next(self.index)) } {
            Some(record) => {
                self.position = CursorPosition::On(record, record.value());
                true
            }
            None => self.finish_walk(),
        }
    }

    #[cold]
    #[inline(never)]
    fn finish_walk(&mut self) -> bool {
        if self.walk.is_broken() {
            return false;
        }
        self.position = CursorPosition::off_end(self.walk.is_forward());
        true
    }
}

// SAFETY: a word is loaded from a leaf's record under the guard that the cursor borrows.
unsafe impl<'g, S: Slot, G: Guard, V: CuckooSettings> CursorMoves<'g, S> for CuckooTrieCursor<'g, S, G, V> {
    type Key = KeyRecord;

    #[inline(always)]
    fn position(&self) -> &CursorPosition<KeyRecord> {
        &self.position
    }

    #[inline(always)]
    fn bytes<'k>(&'k self, key: &'k KeyRecord) -> &'k [u8] {
        key.key()
    }

    fn seek_to(&mut self, key: &[u8], forward: bool) -> bool {
        self.seek_from(key, true, forward)
    }

    fn move_to_last(&mut self) -> bool {
        loop {
            self.walk.start(false);
            self.walk.enter(self.index, &self.index.root());
            if self.take_next_leaf() {
                return self.position.is_on();
            }
            Backoff::new().wait();
        }
    }

    #[inline(always)]
    fn step(&mut self, record: KeyRecord, forward: bool) -> bool {
        if self.walk.is_forward() == forward && self.take_next_leaf() {
            return self.position.is_on();
        }
        self.seek_from(record.key(), false, forward)
    }
}
