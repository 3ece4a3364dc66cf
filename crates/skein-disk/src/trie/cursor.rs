//! Cursors: step through keys in order, forward and backward.
//!
//! A cursor reads ahead: each walk returns several keys. It may or may not return keys that are
//! inserted or removed meanwhile, and it returns every other key exactly once.

use std::collections::VecDeque;
use std::ops::Bound;

use super::visited_records::exceeds_capacity;
use super::walk::{ScanEntry, ScanRequest, WalkDirection};
use super::{DiskTrie, Result};
use crate::buffer::{BufferManager, FrozenPages};

/// Keys of the first walk after a seek, and of each further walk.
const FIRST: usize = 8;
const FURTHER: usize = 100;
/// A walk reads no further key when its keys and values have this many bytes.
const AHEAD_BYTES: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
enum CursorPosition {
    /// Before the first key.
    Start,
    Key(Vec<u8>),
    /// After the last key.
    End,
}

/// A position in the order of a trie's keys.
#[derive(Debug)]
pub struct TrieCursor<'b> {
    buffer: &'b BufferManager,
    trie: DiskTrie,
    at: CursorPosition,
    /// The keys that were read ahead, in this direction.
    ahead: VecDeque<ScanEntry>,
    direction: WalkDirection,
    /// Keys that were read since the last seek or turn.
    scanned: u64,
}

impl<'b> TrieCursor<'b> {
    /// Returns a cursor before the first key.
    pub(super) fn new(buffer: &'b BufferManager, trie: DiskTrie) -> Self {
        let (at, ahead, direction) = (CursorPosition::Start, VecDeque::new(), WalkDirection::Forward);
        Self { buffer, trie, at, ahead, direction, scanned: 0 }
    }

    /// Moves to the first key that is not less than `key`, and returns it. Without such a key,
    /// moves past the last key and returns `None`.
    ///
    /// # Errors
    /// A page cannot be read or is damaged, or the last write to a key was interrupted. The cursor
    /// stays where it was.
    pub fn seek(&mut self, key: &[u8]) -> Result<Option<ScanEntry>> {
        self.scanned = 0;
        self.read(Bound::Included(key), WalkDirection::Forward, FIRST)?;
        Ok(self.step())
    }

    /// Moves to the last key that is not greater than `key`, and returns it. Without such a key,
    /// moves before the first key and returns `None`.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn seek_back(&mut self, key: &[u8]) -> Result<Option<ScanEntry>> {
        self.scanned = 0;
        self.read(Bound::Included(key), WalkDirection::Backward, FIRST)?;
        Ok(self.step())
    }

    /// Moves to the next key and returns it. After the last key, returns `None`.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    #[expect(clippy::should_implement_trait, reason = "a step may fail, and `prev` is the other direction")]
    pub fn next(&mut self) -> Result<Option<ScanEntry>> {
        self.go(WalkDirection::Forward)
    }

    /// Moves to the previous key and returns it. Before the first key, returns `None`.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn prev(&mut self) -> Result<Option<ScanEntry>> {
        self.go(WalkDirection::Backward)
    }

    fn go(&mut self, direction: WalkDirection) -> Result<Option<ScanEntry>> {
        if direction != self.direction || self.ahead.is_empty() {
            let at = std::mem::replace(&mut self.at, CursorPosition::Start);
            let read = match (&at, direction) {
                (CursorPosition::Start, WalkDirection::Backward)
                | (CursorPosition::End, WalkDirection::Forward) => {
                    self.ahead.clear();
                    self.direction = direction;
                    Ok(())
                }
                (CursorPosition::Key(key), _) => self.read(Bound::Excluded(key), direction, FURTHER),
                (CursorPosition::Start | CursorPosition::End, _) => {
                    self.read(Bound::Unbounded, direction, FURTHER)
                }
            };
            self.at = at;
            read?;
        }
        Ok(self.step())
    }

    fn read(&mut self, from: Bound<&[u8]>, direction: WalkDirection, limit: usize) -> Result<()> {
        self.ahead.clear();
        if self.direction != direction {
            (self.direction, self.scanned) = (direction, 0);
        }
        let from = ScanRequest::from_bound(from, direction);
        let request = ScanRequest { keys: limit, bytes: AHEAD_BYTES, ..from };
        let trie = self.trie;
        let found = self.buffer.read_pages(|pages| trie.collect(pages, &request))?;
        let before = self.scanned;
        self.scanned += found.entries.len() as u64;
        if exceeds_capacity(self.buffer.ids(), before, self.scanned) {
            let mut writer = self.buffer.write();
            let mut frozen = FrozenPages::of(&mut writer);
            trie.check(&mut frozen, |_| Ok(())).map_err(|stop| frozen.fault(stop))?;
        }
        self.ahead = found.entries.into();
        Ok(())
    }

    /// Moves to the next key that was read ahead.
    fn step(&mut self) -> Option<ScanEntry> {
        let entry = self.ahead.pop_front();
        self.at = match (&entry, self.direction) {
            (Some(entry), _) => CursorPosition::Key(entry.key.clone()),
            (None, WalkDirection::Forward) => CursorPosition::End,
            (None, WalkDirection::Backward) => CursorPosition::Start,
        };
        entry
    }
}
