//! Cursors: along the trie, in order, both ways.
//!
//! A cursor keeps the leaf it stands on, and a walk that gives those after it (`walk.rs`). When something has changed under the walk, or the
//! cursor turns round, it seeks anew from the key it stands on.

use std::marker::PhantomData;

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::CuckooTrie;
use super::entry::CuckooNodeKind;
use super::leaf_walk::LeafWalk;
use super::prefixes::KeyPrefixes;
use super::search::NamedNode;
use super::symbols::KeySymbols;
use super::transaction::CuckooAbort;
use crate::index::{Cursor, MAX_KEY_LEN};
use crate::record::KeyRecord;
use crate::slot::Slot;

#[derive(Clone, Copy, Debug)]
enum CuckooCursorState {
    Fresh,
    BeforeFirst,
    /// With the value's word as it was when the cursor came here.
    On(KeyRecord, u64),
    PastLast,
}

/// A position in a [`CuckooTrie`].
#[derive(Debug)]
pub struct CuckooTrieCursor<'g, S: Slot, G: Guard, const V: usize> {
    index: &'g CuckooTrie<S, V>,
    guard: PhantomData<&'g G>,
    walk: LeafWalk,
    state: CuckooCursorState,
}

// SAFETY: what a cursor holds is an index that is `Sync`, and addresses that the guard keeps alive; with a guard that may go to another
// thread, so may the cursor.
unsafe impl<S: Slot, G: Guard + Sync, const V: usize> Send for CuckooTrieCursor<'_, S, G, V> {}

impl<'g, S: Slot, G: Guard, const V: usize> CuckooTrieCursor<'g, S, G, V> {
    pub(super) fn new(index: &'g CuckooTrie<S, V>, _guard: &'g G) -> Self {
        Self { index, guard: PhantomData, walk: LeafWalk::new(), state: CuckooCursorState::Fresh }
    }

    /// Moves to the first key from `key` on, in the given direction.
    fn seek_from(&mut self, key: &[u8], inclusive: bool, forward: bool) -> bool {
        // No key is longer, so the longest prefix of it that a key could be stands for it; upward, that prefix itself is below it.
        let (key, inclusive) =
            if key.len() > MAX_KEY_LEN { (&key[..MAX_KEY_LEN], !forward) } else { (key, inclusive) };
        loop {
            self.walk.start(forward);
            if self.try_seek(key, inclusive).is_ok() && self.take_next_leaf() {
                return self.is_on();
            }
            Backoff::new().wait();
        }
    }

    /// Makes the walk ready to go on from `key`.
    fn try_seek(&mut self, key: &[u8], inclusive: bool) -> Result<(), CuckooAbort> {
        let (index, walk, symbols) = (self.index, &mut self.walk, KeySymbols::of(key));
        let forward = walk.is_forward();
        let mut pass = |named: &NamedNode| {
            if named.node.entry.kind() == CuckooNodeKind::Branch {
                walk.enter_beyond(named, symbols.at(named.depth));
            }
        };
        let stop = index.descend(&mut KeyPrefixes::of(&index.table, key), &mut pass)?;
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

    /// Goes on to the walk's next leaf, or off the end. False if the walk is broken.
    #[inline(always)]
    fn take_next_leaf(&mut self) -> bool {
        // SAFETY: the word of a leaf, read under the guard that the cursor borrows.
        match unsafe { KeyRecord::from_word(self.walk.next(self.index)) } {
            Some(record) => {
                self.state = CuckooCursorState::On(record, record.value());
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
        self.state =
            if self.walk.is_forward() { CuckooCursorState::PastLast } else { CuckooCursorState::BeforeFirst };
        true
    }

    #[inline(always)]
    fn is_on(&self) -> bool {
        matches!(self.state, CuckooCursorState::On(..))
    }

    /// Moves on from the key the cursor stands on.
    #[inline(always)]
    fn advance(&mut self, record: KeyRecord, forward: bool) -> bool {
        if self.walk.is_forward() == forward && self.take_next_leaf() {
            return self.is_on();
        }
        self.seek_from(record.key(), false, forward)
    }
}

impl<'g, S: Slot, G: Guard, const V: usize> Cursor<'g, S> for CuckooTrieCursor<'g, S, G, V> {
    fn seek(&mut self, key: &[u8]) -> bool {
        self.seek_from(key, true, true)
    }

    fn seek_back(&mut self, key: &[u8]) -> bool {
        self.seek_from(key, true, false)
    }

    fn last(&mut self) -> bool {
        loop {
            self.walk.start(false);
            self.walk.enter(self.index, &self.index.root());
            if self.take_next_leaf() {
                return self.is_on();
            }
            Backoff::new().wait();
        }
    }

    fn next(&mut self) -> bool {
        match self.state {
            CuckooCursorState::Fresh | CuckooCursorState::BeforeFirst => self.first(),
            CuckooCursorState::On(record, _) => self.advance(record, true),
            CuckooCursorState::PastLast => false,
        }
    }

    fn prev(&mut self) -> bool {
        match self.state {
            CuckooCursorState::Fresh | CuckooCursorState::PastLast => self.last(),
            CuckooCursorState::On(record, _) => self.advance(record, false),
            CuckooCursorState::BeforeFirst => false,
        }
    }

    fn key(&self) -> Option<&[u8]> {
        match self.state {
            CuckooCursorState::On(record, _) => Some(record.key()),
            _ => None,
        }
    }

    fn value(&self) -> Option<S::Ref<'g>> {
        match self.state {
            // SAFETY: the word was in the index, and is retired, if at all, under the guard or a later one.
            CuckooCursorState::On(_, word) => Some(unsafe { S::borrow(word) }),
            _ => None,
        }
    }
}
