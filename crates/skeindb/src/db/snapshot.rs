//! Snapshots: all keyspaces as they were at one moment.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use skein_data::EngineSnapshot;

use super::iter::{Iter, Keys, Source};
use super::keyspace::{key_bounds, prefix_bounds};
use super::range_reader::{Chunk, ChunkRequest, read_chunk};
use super::{DbShared, Entry, Keyspace};
use crate::{Error, Result};

/// All keyspaces as they were at one moment, while writers continue. Clones are cheap and share it.
///
/// It is a transaction that only reads: its reads never fail because of writers, and never delay
/// them. While it lives, replaced values are kept, in memory or in the file, so drop it soon.
/// With a memory limit the engine in memory ends the oldest snapshot when all of them keep more
/// than a quarter of the limit; then reads return an error that says so.
#[derive(Debug, Clone)]
pub struct Snapshot {
    shared: Arc<DbShared>,
    snapshot: Arc<EngineSnapshot>,
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        // In a forked child the locks that the end of a snapshot takes may be held for ever. One
        // more handle keeps the snapshot from ending.
        if self.shared.check_process().is_err() {
            std::mem::forget(self.snapshot.clone());
        }
    }
}

impl Snapshot {
    pub(super) fn new(shared: &Arc<DbShared>) -> Result<Self> {
        shared.check_usable()?;
        Ok(Self { shared: shared.clone(), snapshot: Arc::new(shared.engine.snapshot()?) })
    }

    /// Checks that the snapshot can be read: a program that keeps rows which it has read may ask
    /// before it uses them further.
    ///
    /// # Errors
    /// The database is closed, or was opened before a fork; the snapshot was ended because of the
    /// memory that it kept.
    pub fn check_usable(&self) -> Result<()> {
        self.shared.check_usable()?;
        Ok(self.snapshot.check()?)
    }

    /// Checks that a keyspace can be read here. A dropped one can.
    pub(super) fn check(&self, keyspace: &Keyspace) -> Result<()> {
        if !Arc::ptr_eq(&self.shared, keyspace.shared()) {
            return Err(Error::Foreign { what: "keyspace", of: "database" });
        }
        self.shared.check_usable()
    }

    /// Returns the value that a key had.
    ///
    /// # Errors
    /// The key held columns or a set, or is longer than the limit; a page cannot be read; the
    /// database is closed or the snapshot has ended.
    pub fn get(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.check(keyspace)?;
        let key = keyspace.physical(key.as_ref())?;
        self.value_and_version(&key)?.map(|(value, _)| value).transpose()
    }

    /// Returns the value of a key of the engine, or why it had none, and its version.
    pub(super) fn value_and_version(&self, key: &[u8]) -> Result<Option<(Result<Vec<u8>>, u64)>> {
        Ok(self.snapshot.get_with(key, |row| {
            row.map(|row| (row.needed_value().map(<[u8]>::to_vec).map_err(Error::from), row.version()))
        })?)
    }

    /// Returns whether a key was present.
    ///
    /// # Errors
    /// As for [`get`](Self::get), but the key may hold anything.
    pub fn contains_key(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<bool> {
        self.check(keyspace)?;
        let key = keyspace.physical(key.as_ref())?;
        Ok(self.snapshot.get_with(&key, |row| row.is_some())?)
    }

    /// Returns the contents that a key had, whatever their kind.
    ///
    /// # Errors
    /// As for [`get`](Self::get), but the key may hold anything.
    pub fn entry(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<Option<Entry>> {
        self.check(keyspace)?;
        let key = keyspace.physical(key.as_ref())?;
        self.snapshot.get_with(&key, |row| row.map(Entry::of).transpose())?
    }

    /// Returns an iterator over the rows that were within a range; see [`Iter`].
    pub fn range<K: AsRef<[u8]>>(&self, keyspace: &Keyspace, range: impl RangeBounds<K>) -> Iter<'static> {
        Iter::new(Source::Snapshot(self.clone()), keyspace, key_bounds(&range), true)
    }

    /// Returns an iterator over the rows of all keys that begin with `prefix`.
    pub fn prefix(&self, keyspace: &Keyspace, prefix: impl AsRef<[u8]>) -> Iter<'static> {
        let source = Source::Snapshot(self.clone());
        prefix_bounds(prefix.as_ref(), |bounds| Iter::new(source, keyspace, bounds, true))
    }

    /// Returns an iterator over all rows of a keyspace.
    pub fn iter(&self, keyspace: &Keyspace) -> Iter<'static> {
        let all = (Bound::Unbounded, Bound::Unbounded);
        Iter::new(Source::Snapshot(self.clone()), keyspace, all, true)
    }

    /// Returns an iterator over the keys that were within a range, which reads no values.
    pub fn keys_in<K: AsRef<[u8]>>(&self, keyspace: &Keyspace, range: impl RangeBounds<K>) -> Keys<'static> {
        Keys(Iter::new(Source::Snapshot(self.clone()), keyspace, key_bounds(&range), false))
    }

    /// Returns an iterator over all keys of a keyspace, which reads no values.
    pub fn keys(&self, keyspace: &Keyspace) -> Keys<'static> {
        let all = (Bound::Unbounded, Bound::Unbounded);
        Keys(Iter::new(Source::Snapshot(self.clone()), keyspace, all, false))
    }

    pub(super) fn read_chunk(&self, keyspace: &Keyspace, request: &ChunkRequest<'_>) -> Result<Chunk> {
        self.check(keyspace)?;
        read_chunk(request, |bounds, each| {
            self.snapshot.scan(bounds, request.direction, request.rows, |key, row| each(key, row))
        })
    }

    pub(super) fn engine_snapshot(&self) -> &EngineSnapshot {
        &self.snapshot
    }
}
