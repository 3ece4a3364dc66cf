//! Whether the entries of a stream have changed.

use skein_store::ScanDirection;

use super::id::StreamId;
use crate::{Error, Result, RowView};

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

impl RowView<'_> {
    /// Returns the state of the entries of the key's stream; `None` if the key holds something
    /// else.
    ///
    /// # Errors
    /// A page of the disk engine cannot be read or is damaged.
    pub fn entries_version(self) -> Result<Option<EntriesVersion>> {
        let row = self.stored_collection().map_or_else(|| self.version(), |head| head.id);
        let expires = self.expires_at();
        let found = self.stream(|stream| {
            let (head, last) = (stream.head(), stream.edge(ScanDirection::Backward)?);
            Ok::<_, Error>(EntriesVersion { row, expires, added: head.added, len: head.len, last })
        })?;
        found.transpose()
    }
}
