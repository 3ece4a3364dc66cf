//! Cursors: along the trie, in order, both ways.
//!
//! ```text
//!   frames    root, in child 'a'  ─  branch "ab", in child 'c'  ─  branch "abcde", in child 'f'          then the leaf
//! ```
//!
//! A cursor keeps the branches above its leaf, each with its version. The next leaf is the first one below the next child of the last
//! branch that has one. While that branch's bucket has its version, so it is; if it has not, the cursor seeks anew from the key it stands on.

use std::marker::PhantomData;

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::CuckooTrie;
use super::change::Obstacle;
use super::entry::Kind;
use super::frame::{Frame, nearest};
use super::prefixes::Prefixes;
use super::search::Named;
use super::symbol::Symbols;
use crate::index::{Cursor, MAX_KEY_LEN};
use crate::record::Record;
use crate::slot::Slot;

#[derive(Clone, Copy, Debug)]
enum State {
    Fresh,
    BeforeFirst,
    /// With the value's word as it was when the cursor came here.
    On(Record, u64),
    PastLast,
}

/// A position in a [`CuckooTrie`].
#[derive(Debug)]
pub struct CuckooTrieCursor<'g, S: Slot, G: Guard, const V: usize> {
    index: &'g CuckooTrie<S, V>,
    guard: PhantomData<&'g G>,
    frames: Vec<Frame>,
    /// How many children are read at once: few after a seek, which may be for one key.
    batch: usize,
    state: State,
}

// SAFETY: what a cursor holds is an index that is `Sync`, and addresses that the guard keeps alive; with a guard that may go to another
// thread, so may the cursor.
unsafe impl<S: Slot, G: Guard + Sync, const V: usize> Send for CuckooTrieCursor<'_, S, G, V> {}

impl<'g, S: Slot, G: Guard, const V: usize> CuckooTrieCursor<'g, S, G, V> {
    pub(super) fn new(index: &'g CuckooTrie<S, V>, _guard: &'g G) -> Self {
        Self { index, guard: PhantomData, frames: Vec::new(), batch: 1, state: State::Fresh }
    }

    /// Moves to the first key from `key` on, in the given direction.
    fn seek_from(&mut self, key: &[u8], inclusive: bool, forward: bool) -> bool {
        // No key is longer, so the longest prefix of it that a key could be stands for it; upward, that prefix itself is below it.
        let (key, inclusive) =
            if key.len() > MAX_KEY_LEN { (&key[..MAX_KEY_LEN], !forward) } else { (key, inclusive) };
        self.batch = 1;
        loop {
            self.frames.clear();
            if let Ok(record) = self.try_seek(key, inclusive, forward) {
                return self.settle(record, forward);
            }
            Backoff::new().wait();
        }
    }

    fn try_seek(&mut self, key: &[u8], inclusive: bool, forward: bool) -> Result<Option<Record>, Obstacle> {
        let symbols = Symbols::of(key);
        let frames = &mut self.frames;
        let mut enter = |named: &Named| {
            if named.node.entry.kind() == Kind::Branch {
                frames.push(Frame::new(*named, symbols.at(named.depth), forward));
            }
        };
        let stop = self.index.descend(&mut Prefixes::of(&self.index.table, key), &mut enter)?;
        match stop.at.node.entry.kind() {
            Kind::Branch => enter(&stop.at),
            Kind::Jump => {
                let ours = symbols.at(stop.at.depth + stop.shared);
                if (stop.at.node.entry.jump_symbol(stop.shared) > ours) == forward {
                    return self.dive(stop.at, forward);
                }
            }
            Kind::Dead => {}
            Kind::Leaf => {
                let record = record_of(&stop.at)?;
                let found = record.key();
                if (inclusive && found == key) || found != key && (found > key) == forward {
                    return Ok(Some(record));
                }
            }
        }
        self.step(forward)
    }

    /// The nearest leaf below a node, or the next one if that is dead.
    fn dive(&mut self, from: Named, forward: bool) -> Result<Option<Record>, Obstacle> {
        let mut at = from;
        loop {
            let entry = at.node.entry;
            match entry.kind() {
                Kind::Leaf => return record_of(&at).map(Some),
                Kind::Dead => return self.step(forward),
                Kind::Jump => at = self.index.below_jump(&at)?,
                Kind::Branch => {
                    let Some(symbol) = nearest(entry.bitmap(), forward) else { return self.step(forward) };
                    self.frames.push(Frame::new(at, symbol, forward));
                    at = self.index.below_branch(&at, symbol)?;
                }
            }
        }
    }

    /// The next leaf after where the frames are.
    fn step(&mut self, forward: bool) -> Result<Option<Record>, Obstacle> {
        while let Some(frame) = self.frames.last_mut() {
            if self.index.changed(&frame.branch.node) {
                return Err(Obstacle::Changed);
            }
            let Some(child) = frame.advance(self.index, forward, &mut self.batch)? else {
                self.frames.pop();
                continue;
            };
            match child.node.entry.kind() {
                Kind::Leaf => return record_of(&child).map(Some),
                Kind::Dead => {}
                Kind::Branch | Kind::Jump => return self.dive(child, forward),
            }
        }
        Ok(None)
    }

    /// Puts the cursor on a record, or off the end.
    fn settle(&mut self, record: Option<Record>, forward: bool) -> bool {
        self.state = match record {
            Some(record) => State::On(record, record.value()),
            None if forward => State::PastLast,
            None => State::BeforeFirst,
        };
        record.is_some()
    }

    /// Moves on from the key the cursor stands on.
    fn advance(&mut self, record: Record, forward: bool) -> bool {
        match self.step(forward) {
            Ok(next) => self.settle(next, forward),
            Err(_) => self.seek_from(record.key(), false, forward),
        }
    }
}

/// The record of a leaf.
fn record_of(leaf: &Named) -> Result<Record, Obstacle> {
    // SAFETY: a leaf, read under the guard that the cursor borrows.
    unsafe { leaf.node.entry.record() }.ok_or(Obstacle::Changed)
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
            self.frames.clear();
            if let Ok(record) = self.dive(self.index.root(), false) {
                return self.settle(record, false);
            }
            Backoff::new().wait();
        }
    }

    fn next(&mut self) -> bool {
        match self.state {
            State::Fresh | State::BeforeFirst => self.first(),
            State::On(record, _) => self.advance(record, true),
            State::PastLast => false,
        }
    }

    fn prev(&mut self) -> bool {
        match self.state {
            State::Fresh | State::PastLast => self.last(),
            State::On(record, _) => self.advance(record, false),
            State::BeforeFirst => false,
        }
    }

    fn key(&self) -> Option<&[u8]> {
        match self.state {
            State::On(record, _) => Some(record.key()),
            _ => None,
        }
    }

    fn value(&self) -> Option<S::Ref<'g>> {
        match self.state {
            // SAFETY: the word was in the index, and is retired, if at all, under the guard or a later one.
            State::On(_, word) => Some(unsafe { S::borrow(word) }),
            _ => None,
        }
    }
}
