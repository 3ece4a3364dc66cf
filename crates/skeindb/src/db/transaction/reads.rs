//! The reads of a transaction: of its snapshot, with its own writes.

use std::ops::{Bound, RangeBounds};

use skein_data::{RowView, ScanDirection};
use skein_sync::locks::lock;

use super::hidden_runs::Visible;
use super::key_intervals::Position;
use super::private_writes::value_of;
use super::read_set::RowSeen;
use super::{ReadState, Transaction};
use crate::Result;
use crate::db::iter::{Iter, Keys, Source};
use crate::db::keyspace::{key_bounds, prefix_bounds};
use crate::db::range_reader::{Chunk, ChunkRequest, borrowed, read_chunk};
use crate::db::{Expiry, Keyspace, Snapshot};

impl Transaction {
    /// Returns the snapshot that the transaction reads.
    fn snapshot(&self) -> Result<Snapshot> {
        let mut snapshot = lock(&self.snapshot);
        if let Some(snapshot) = &*snapshot {
            return Ok(snapshot.clone());
        }
        let taken = Snapshot::new(&self.shared)?;
        *snapshot = Some(taken.clone());
        Ok(taken)
    }

    /// Returns the value of a key, with this transaction's writes.
    ///
    /// # Errors
    /// As for [`Snapshot::get`]; the keyspace was dropped.
    pub fn get(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        keyspace.check_of(&self.shared)?;
        let key = keyspace.physical(key.as_ref())?;
        Ok(self.value_and_expiry(&key)?.map(|(value, _)| value))
    }

    /// Returns the value of a key of the engine, and its time of expiry.
    pub(super) fn value_and_expiry(&self, key: &[u8]) -> Result<Option<(Vec<u8>, Option<u64>)>> {
        if let Some(write) = self.writes.get(key) {
            return Ok(value_of(write).map(|(value, expires)| (value.to_vec(), expires)));
        }
        let snapshot = self.snapshot()?;
        let (version, read) = snapshot.engine_snapshot().get_with(key, |row| {
            let Some(row) = row else { return (None, Ok(None)) };
            let value = row.needed_value().map(|value| Some((value.to_vec(), row.row().expires_at())));
            (Some(row.version()), value)
        })?;
        lock(&self.reads).set.note_key(key, version);
        Ok(read?)
    }

    /// Returns when a key expires, with this transaction's writes; see [`Keyspace::expiry`].
    ///
    /// # Errors
    /// As for [`get`](Self::get), but the key may hold anything.
    pub fn expiry(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<Expiry> {
        keyspace.check_of(&self.shared)?;
        let key = keyspace.physical(key.as_ref())?;
        if let Some(write) = self.writes.get(&key) {
            return Ok(value_of(write).map_or(Expiry::Absent, |(_, expires)| Expiry::of_present(expires)));
        }
        let snapshot = self.snapshot()?;
        let (version, expiry) = snapshot
            .engine_snapshot()
            .get_with(&key, |row| (row.map(|row| row.version()), Expiry::of_row(row)))?;
        lock(&self.reads).set.note_key(&key, version);
        Ok(expiry)
    }

    /// Returns whether a key is present, with this transaction's writes.
    ///
    /// # Errors
    /// As for [`get`](Self::get), but the key may hold anything.
    pub fn contains_key(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<bool> {
        keyspace.check_of(&self.shared)?;
        let key = keyspace.physical(key.as_ref())?;
        if let Some(write) = self.writes.get(&key) {
            return Ok(value_of(write).is_some());
        }
        let snapshot = self.snapshot()?;
        let version = snapshot.engine_snapshot().get_with(&key, |row| row.map(|row| row.version()))?;
        lock(&self.reads).set.note_key(&key, version);
        Ok(version.is_some())
    }

    /// Returns an iterator over the rows of a range, with this transaction's writes. The commit
    /// checks the part of the range that it has read, in chunks: no other write may have inserted a
    /// row there.
    pub fn range<K: AsRef<[u8]>>(&self, keyspace: &Keyspace, range: impl RangeBounds<K>) -> Iter<'_> {
        Iter::new(Source::Transaction(self), keyspace, key_bounds(&range), true)
    }

    /// Returns an iterator over the rows of all keys that begin with `prefix`; as
    /// [`range`](Self::range).
    pub fn prefix(&self, keyspace: &Keyspace, prefix: impl AsRef<[u8]>) -> Iter<'_> {
        prefix_bounds(prefix.as_ref(), |bounds| Iter::new(Source::Transaction(self), keyspace, bounds, true))
    }

    /// Returns an iterator over all rows of a keyspace; as [`range`](Self::range).
    pub fn iter(&self, keyspace: &Keyspace) -> Iter<'_> {
        Iter::new(Source::Transaction(self), keyspace, (Bound::Unbounded, Bound::Unbounded), true)
    }

    /// Returns an iterator over the keys of a range, which reads no values; as
    /// [`range`](Self::range).
    pub fn keys_in<K: AsRef<[u8]>>(&self, keyspace: &Keyspace, range: impl RangeBounds<K>) -> Keys<'_> {
        Keys(Iter::new(Source::Transaction(self), keyspace, key_bounds(&range), false))
    }

    /// Returns an iterator over all keys of a keyspace; as [`range`](Self::range).
    pub fn keys(&self, keyspace: &Keyspace) -> Keys<'_> {
        Keys(Iter::new(Source::Transaction(self), keyspace, (Bound::Unbounded, Bound::Unbounded), false))
    }

    /// Returns the first row of a keyspace, and reads no more than it.
    ///
    /// # Errors
    /// As for an item of [`Iter`].
    pub fn first(&self, keyspace: &Keyspace) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.iter(keyspace).chunk_rows(1).next().transpose()
    }

    /// Returns the last row of a keyspace, and reads no more than it.
    ///
    /// # Errors
    /// As for an item of [`Iter`].
    pub fn last(&self, keyspace: &Keyspace) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.iter(keyspace).chunk_rows(1).next_back().transpose()
    }

    /// Reads a chunk of the snapshot, notes it, and merges the private writes into it.
    pub(in crate::db) fn read_chunk(&self, keyspace: &Keyspace, request: &ChunkRequest<'_>) -> Result<Chunk> {
        keyspace.check_of(&self.shared)?;
        let snapshot = self.snapshot()?;
        let visible = lock(&self.reads).hidden.skip(request.number, request.bounds, request.direction);
        let bounds = match &visible {
            Visible::All => request.bounds,
            Visible::Part(bounds) => borrowed(bounds),
            Visible::Nothing => return Ok(Chunk::default()),
        };
        let request = ChunkRequest { bounds, ..*request };
        let mut seen = Vec::new();
        let chunk = read_chunk(&request, |bounds, each| {
            let snapshot = snapshot.engine_snapshot();
            snapshot.scan(bounds, request.direction, request.rows, |key, row: RowView<'_>| {
                seen.push(RowSeen::new(key, row.version()));
                each(key, row)
            })
        })?;
        let merged = self.writes.merge(&request, chunk);
        seen.truncate(merged.snapshot_rows);
        lock(&self.reads).note_chunk(&request, &merged.chunk, &seen, merged.hidden);
        Ok(merged.chunk)
    }
}

impl ReadState {
    /// Notes the part of a range that a chunk covers, and the hidden rows before its first one.
    fn note_chunk(&mut self, request: &ChunkRequest<'_>, chunk: &Chunk, seen: &[RowSeen], hidden: usize) {
        let (mut lower, mut upper) = request.bounds;
        let forward = request.direction == ScanDirection::Forward;
        if let Some(last) = chunk.more_after.as_deref() {
            *(if forward { &mut upper } else { &mut lower }) = Bound::Included(last);
        }
        self.set.note_range(request.number, (lower, upper), seen);
        if hidden == 0 {
            return;
        }
        let (mut lower, mut upper) = Position::of((lower, upper));
        if let Some((first, _)) = chunk.rows.first() {
            let first = request.number.stored(first).into_owned();
            if forward { upper = Position::before(&first) } else { lower = Position::behind(&first) }
        }
        self.hidden.note(request.number, lower, upper);
    }
}
