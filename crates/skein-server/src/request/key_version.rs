//! The version of a key, which tells whether the key was written since an earlier look.
//!
//! Every write to a key raises its version; a removal followed by another write does too. Sorted
//! sets and large hashes change without their row, so their changes are counted as well. For a key
//! that is absent both times, the memory engine's removal counter shows whether it was inserted and
//! removed meanwhile.

use skein_data::{EngineKeys, EntriesVersion, Result, RowView};

/// The version of a key. Two equal versions mean that the key was not written in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyVersion {
    /// With the removal counter.
    Absent(u64),
    Version(u64),
    /// A collection: the version of its row, and the number of its changes.
    Changes(u64, u64),
    /// A stream, without its groups.
    Entries(EntriesVersion),
}

impl KeyVersion {
    pub(crate) fn of(row: RowView) -> Self {
        match row.changes() {
            None => Self::Version(row.version()),
            Some(changes) => Self::Changes(row.version(), changes),
        }
    }

    /// Returns the version that WATCH compares. As in Redis, groups and consumers of a stream, and
    /// their pending entries, are no part of it.
    ///
    /// # Errors
    /// The key cannot be read.
    pub(crate) fn watched(row: RowView) -> Result<Self> {
        Ok(row.entries_version()?.map_or_else(|| Self::of(row), Self::Entries))
    }

    /// Returns the version of a key that WATCH compares.
    ///
    /// # Errors
    /// The key cannot be read.
    pub(crate) fn read_watched(keys: &mut EngineKeys, key: &[u8]) -> Result<Self> {
        Self::read_by(keys, key, Self::watched)
    }

    /// Returns the version of a key.
    ///
    /// # Errors
    /// The key cannot be read.
    pub(crate) fn read(keys: &mut EngineKeys, key: &[u8]) -> Result<Self> {
        Self::read_by(keys, key, |row| Ok(Self::of(row)))
    }

    /// Returns the version of a key by `of`, or that of an absent key.
    fn read_by(keys: &mut EngineKeys, key: &[u8], of: impl Fn(RowView) -> Result<Self>) -> Result<Self> {
        let look = |keys: &mut EngineKeys<'_>| keys.get_with(key, |row| row?.map(&of).transpose());
        if let Some(version) = look(keys)? {
            return Ok(version);
        }
        // The counter comes before the look that counts: a key that is there in between, and gone by
        // the look, raises it.
        let removals = keys.removal_counter(key);
        Ok(look(keys)?.unwrap_or(Self::Absent(removals)))
    }

    pub(crate) fn is_absent(self) -> bool {
        matches!(self, Self::Absent(_))
    }
}
