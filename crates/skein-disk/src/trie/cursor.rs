//! Cursors: keys in their order, one after the other, both ways.
//!
//! A cursor reads ahead, some keys at a walk. What is written meanwhile it may see or not; a key that stays, it sees once.

use std::collections::VecDeque;
use std::ops::Bound;

use super::visited_records::is_beyond;
use super::walk::{ScanEntry, ScanRequest, WalkDirection};
use super::{DiskTrie, Result};
use crate::buffer::{BufferManager, FrozenPages};

/// Keys of a walk: of the first one after a seek, and of further ones.
const FIRST: usize = 8;
const FURTHER: usize = 100;
/// A walk reads no further key when those that it has are so long.
const AHEAD_BYTES: usize = 1 << 20;

/// Where a cursor is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CursorPosition {
    /// Before the first key.
    Start,
    Key(Vec<u8>),
    /// After the last key.
    End,
}

/// A place in the order of a trie's keys.
#[derive(Debug)]
pub struct TrieCursor<'b> {
    buffer: &'b BufferManager,
    trie: DiskTrie,
    at: CursorPosition,
    /// What was read ahead, and which way.
    ahead: VecDeque<ScanEntry>,
    direction: WalkDirection,
    /// Keys that were read that way.
    scanned: u64,
}

impl<'b> TrieCursor<'b> {
    /// A cursor before the first key.
    pub(super) fn new(buffer: &'b BufferManager, trie: DiskTrie) -> Self {
        let (at, ahead, direction) = (CursorPosition::Start, VecDeque::new(), WalkDirection::Forward);
        Self { buffer, trie, at, ahead, direction, scanned: 0 }
    }

    /// Goes to the first key that is not less than this one, and gives it.
    ///
    /// # Errors
    /// A page that cannot be read, or is damaged; a last write that was interrupted. The cursor stays where it was.
    pub fn seek(&mut self, key: &[u8]) -> Result<Option<ScanEntry>> {
        self.scanned = 0;
        self.read(Bound::Included(key), WalkDirection::Forward, FIRST)?;
        Ok(self.step())
    }

    /// Goes to the last key that is not greater than this one, and gives it.
    ///
    /// # Errors
    /// A page that cannot be read, or is damaged; a last write that was interrupted. The cursor stays where it was.
    pub fn seek_back(&mut self, key: &[u8]) -> Result<Option<ScanEntry>> {
        self.scanned = 0;
        self.read(Bound::Included(key), WalkDirection::Backward, FIRST)?;
        Ok(self.step())
    }

    /// Goes to the next key, and gives it; past the last one if there is none.
    ///
    /// # Errors
    /// A page that cannot be read, or is damaged; a last write that was interrupted. The cursor stays where it was.
    #[expect(clippy::should_implement_trait, reason = "a step may fail, and the other way there is `prev`")]
    pub fn next(&mut self) -> Result<Option<ScanEntry>> {
        self.go(WalkDirection::Forward)
    }

    /// Goes to the key before, and gives it; before the first one if there is none.
    ///
    /// # Errors
    /// A page that cannot be read, or is damaged; a last write that was interrupted. The cursor stays where it was.
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
        let (lower, upper) = match direction {
            WalkDirection::Forward => (from, Bound::Unbounded),
            WalkDirection::Backward => (Bound::Unbounded, from),
        };
        let portion = ScanRequest { lower, upper, direction, keys: limit, bytes: AHEAD_BYTES, values: true };
        let trie = self.trie;
        let found = self.buffer.read_with(|view| trie.collect(&mut &*view, &portion))?;
        let before = self.scanned;
        self.scanned += found.entries.len() as u64;
        if is_beyond(self.buffer.ids(), before, self.scanned) {
            let mut writer = self.buffer.write();
            let mut still = FrozenPages::of(&mut writer);
            trie.check(&mut still).map_err(|stop| still.fault(stop))?;
        }
        self.ahead = found.entries.into();
        Ok(())
    }

    /// Takes one step in what was read ahead.
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
