//! The keys that a client watches, and what they were.
//!
//! What is noted of a key is its version, which every write to it makes greater, a removal and a later write included. So a key that has the same version at
//! EXEC was not written since (of what changes without its row, sorted sets and many columns, the changes are counted, too), and of one that is absent both times the
//! engine in memory knows whether it came and went.

use std::collections::HashMap;

use crate::commands::CommandError;
use crate::engine::{self, Keyspace, RowRef};
use crate::resp::RequestArgs;

/// Bytes that a watched key takes besides its own, about: a table that has just grown is half
/// empty.
const PER_KEY: usize = 112;

/// What a key was when it was watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WatchedVersion {
    /// With what grows when it comes and goes.
    Absent(u64),
    Version(u64),
    /// What changes without its row: the version and how often it was changed.
    Changes(u64, u64),
}

impl WatchedVersion {
    fn of(row: RowRef<'_>) -> Self {
        match row.changes() {
            None => Self::Version(row.version()),
            Some(changes) => Self::Changes(row.version(), changes),
        }
    }
}

/// The watched keys of a client.
#[derive(Debug, Default)]
pub(crate) struct WatchedKeys {
    keys: HashMap<Box<[u8]>, WatchedVersion>,
    bytes: usize,
}

impl WatchedKeys {
    /// Watches the arguments as keys; one that is watched already stays as it was seen first. All of them together may take `limit` bytes.
    ///
    /// # Errors
    /// They would take more; a key cannot be read. Some of them may be watched then.
    pub(crate) fn add(
        &mut self,
        keyspace: &mut Keyspace<'_>,
        args: &RequestArgs<'_>,
        limit: usize,
    ) -> Result<(), CommandError> {
        let keys: Vec<&[u8]> = args.from(1).filter(|key| !self.keys.contains_key(*key)).collect();
        let bytes = keys.iter().map(|key| key.len() + PER_KEY).sum::<usize>();
        if self.bytes.saturating_add(bytes) > limit {
            return Err(CommandError::owned(format!(
                "ERR the watched keys would take more than the limit of {limit} bytes; watch fewer or raise client-query-buffer-limit"
            )));
        }
        self.bytes += bytes;
        let (mut failed, mut absent) = (None, Vec::new());
        keyspace.get_many(&keys, |at, row| match row {
            Ok(Some(row)) => _ = self.keys.entry(keys[at].into()).or_insert_with(|| WatchedVersion::of(row)),
            Ok(None) => absent.push(keys[at]),
            Err(error) => failed = Some(error),
        });
        for key in absent {
            self.keys
                .entry(key.into())
                .or_insert_with(|| WatchedVersion::Absent(keyspace.removal_counter(key)));
        }
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Bytes that they take.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.bytes
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        if !self.keys.is_empty() {
            *self = Self::default();
        }
    }

    /// Whether a key was written since it was watched. `REQUIRES:` nobody writes meanwhile.
    ///
    /// # Errors
    /// A key cannot be read.
    pub(crate) fn changed(&self, keyspace: &mut Keyspace<'_>) -> engine::Result<bool> {
        for (key, seen) in &self.keys {
            let present = keyspace.get_with(key, |row| row.map(|row| row.map(WatchedVersion::of)))?;
            if present.unwrap_or_else(|| WatchedVersion::Absent(keyspace.removal_counter(key))) != *seen {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
