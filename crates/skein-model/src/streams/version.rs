//! Whether the entries of a stream have changed.

use std::ops::Deref;

use super::StreamId;
use super::stream::Stream;
use crate::{Members, Result, ScanDirection};

/// A state of a stream, without its groups. If two states of a key are equal, no entry was added or
/// removed in between, and the key was not written as a whole.
///
/// Entries that were added and removed again may go unnoticed if `XSETID` has reset the number of
/// added entries since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntriesVersion {
    /// The version of the row in memory, where members change without it; on disk the number of the
    /// collection.
    row: u64,
    expires: Option<u64>,
    added: u64,
    len: u64,
    last: Option<StreamId>,
}

impl<M: Deref<Target: Members>> Stream<'_, M> {
    /// Returns the state of the entries. `row` is a number of the row that does not change with its
    /// members, and `expires` the time at which the row expires.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn entries_version(&mut self, row: u64, expires: Option<u64>) -> Result<EntriesVersion> {
        let (head, last) = (self.head(), self.edge(ScanDirection::Backward)?);
        Ok(EntriesVersion { row, expires, added: head.added, len: head.len, last })
    }
}
