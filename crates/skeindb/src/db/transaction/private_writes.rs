//! The writes of a transaction, which nobody else sees before the commit, and its savepoints.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::atomic::{self, AtomicU64};

use skein_data::{Batch, BatchWrite, EngineBounds, ScanDirection, StoredKeyspace};

use crate::db::Keyspace;
use crate::db::physical_key::KeyspaceKeys as _;
use crate::db::range_reader::{Chunk, ChunkRequest, RowRead};
use crate::{Error, Result};

/// The last write to each key of the engine.
#[derive(Debug, Default)]
pub(super) struct PrivateWrites {
    by_key: BTreeMap<Vec<u8>, PrivateWrite>,
    /// The values before the first write to each key since each savepoint, for rolling back. Later
    /// writes to that key add nothing.
    undo: Vec<UndoneWrite>,
    /// Tells the savepoints of this transaction from those of others; 0 before the first.
    identity: u64,
    /// The live savepoints: their serial numbers, and the lengths of `undo` there.
    savepoints: Vec<(u64, usize)>,
    serial: u64,
    /// The keyspaces that are written or were before a rollback, by their identity.
    keyspaces: HashMap<usize, Keyspace>,
}

/// A write, and the serial number of the newest savepoint before it; 0 if there was none.
#[derive(Debug)]
struct PrivateWrite {
    write: BatchWrite,
    since: u64,
}

/// A key, and the write to it that a later one has replaced, if there was one.
#[derive(Debug)]
struct UndoneWrite {
    number: StoredKeyspace,
    key: Vec<u8>,
    old: Option<PrivateWrite>,
}

/// A savepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    identity: u64,
    serial: u64,
}

/// A chunk of the snapshot with the writes.
#[derive(Debug)]
pub(super) struct MergedChunk {
    pub(super) chunk: Chunk,
    /// The number of rows of the snapshot up to the end of the chunk.
    pub(super) snapshot_rows: usize,
    /// The number of removed rows before the first one.
    pub(super) hidden: usize,
}

/// Returns the value that a write leaves, and its time of expiry, if it leaves one.
pub(super) fn value_of(write: &BatchWrite) -> Option<(&[u8], Option<u64>)> {
    match write {
        BatchWrite::Put(value, expires) => Some((value, *expires)),
        BatchWrite::PutColumns(_) | BatchWrite::Remove => None,
    }
}

impl PrivateWrites {
    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&BatchWrite> {
        self.by_key.get(key).map(|private| &private.write)
    }

    pub(super) fn put(&mut self, keyspace: &Keyspace, key: &[u8], write: BatchWrite) {
        let since = self.savepoints.last().map_or(0, |(serial, _)| *serial);
        let old = self.by_key.insert(key.to_vec(), PrivateWrite { write, since });
        if since > 0 && old.as_ref().is_none_or(|old| old.since < since) {
            self.undo.push(UndoneWrite { number: keyspace.number(), key: key.to_vec(), old });
        }
        self.keyspaces.entry(keyspace.identity()).or_insert_with(|| keyspace.clone());
    }

    /// Returns the writes, and the keyspaces that are written or were before a rollback.
    pub(super) fn into_batch(self) -> (Batch, Vec<Keyspace>) {
        let mut batch = Batch::new();
        for (key, private) in self.by_key {
            batch.push(key, private.write);
        }
        (batch, self.keyspaces.into_values().collect())
    }

    pub(super) fn savepoint(&mut self) -> Place {
        static IDENTITIES: AtomicU64 = AtomicU64::new(1);
        if self.identity == 0 {
            self.identity = IDENTITIES.fetch_add(1, atomic::Ordering::Relaxed);
        }
        self.serial += 1;
        self.savepoints.push((self.serial, self.undo.len()));
        Place { identity: self.identity, serial: self.serial }
    }

    /// Undoes the writes behind a savepoint. `undone` is called with each key that they wrote.
    pub(super) fn rollback_to(
        &mut self,
        place: Place,
        mut undone: impl FnMut(StoredKeyspace, &[u8]),
    ) -> Result<()> {
        if place.identity != self.identity {
            return Err(Error::Foreign { what: "savepoint", of: "transaction" });
        }
        // Serial numbers rise.
        let at = self.savepoints.binary_search_by_key(&place.serial, |(serial, _)| *serial);
        let at = at.map_err(|_| Error::SavepointGone)?;
        self.savepoints.truncate(at + 1);
        for UndoneWrite { number, key, old } in self.undo.drain(self.savepoints[at].1..).rev() {
            #[cfg(test)]
            super::step_count::step();
            undone(number, &key);
            match old {
                Some(private) => _ = self.by_key.insert(key, private),
                None => _ = self.by_key.remove(&key),
            }
        }
        Ok(())
    }

    /// Merges the writes into rows of the snapshot, until there are as many rows as the request
    /// asks for. Visits no more writes than that, and those of removed rows between.
    pub(super) fn merge(&self, request: &ChunkRequest<'_>, read: Chunk) -> MergedChunk {
        let forward = request.direction == ScanDirection::Forward;
        let (mut lower, mut upper) = request.bounds;
        if let Some(last) = read.more_after.as_deref() {
            *(if forward { &mut upper } else { &mut lower }) = Bound::Included(last);
        }
        let mut own = self.within((lower, upper), request.number, forward).peekable();
        if own.peek().is_none() {
            drop(own);
            return MergedChunk { snapshot_rows: read.rows.len(), hidden: 0, chunk: read };
        }
        let mut rows = read.rows.into_iter().peekable();
        let mut merged = MergedChunk { snapshot_rows: 0, hidden: 0, chunk: Chunk::default() };
        let mut bytes = 0;
        while own.peek().is_some() || rows.peek().is_some() {
            if merged.chunk.rows.len() >= request.rows || bytes >= request.bytes {
                merged.chunk.more_after =
                    merged.chunk.rows.last().map(|(key, _)| request.number.stored(key).into_owned());
                return merged;
            }
            let order = match (own.peek(), rows.peek()) {
                (Some((key, _)), Some((row, _))) => {
                    let order = request.number.logical(key).cmp(row);
                    if forward { order } else { order.reverse() }
                }
                (Some(_), None) => Ordering::Less,
                (None, _) => Ordering::Greater,
            };
            // A write replaces the row of its key.
            let of_snapshot = if order.is_ge() { rows.next() } else { None };
            merged.snapshot_rows += usize::from(of_snapshot.is_some());
            let row = if order.is_le() {
                own.next().and_then(|(key, write)| row_of(request, key, write))
            } else {
                of_snapshot
            };
            match row {
                Some(row) => {
                    bytes += row.0.len() + row.1.as_ref().map_or(0, Vec::len);
                    merged.chunk.rows.push(row);
                }
                None => merged.hidden += usize::from(merged.chunk.rows.is_empty()),
            }
        }
        drop(own);
        merged.chunk.more_after = read.more_after;
        merged
    }

    /// Returns the writes to the keys of a keyspace within bounds, in order.
    fn within(
        &self,
        bounds: EngineBounds<'_>,
        number: StoredKeyspace,
        forward: bool,
    ) -> impl Iterator<Item = (&Vec<u8>, &BatchWrite)> {
        let mut parts = number.pieces(bounds);
        if !forward {
            parts.reverse();
        }
        let parts = parts.into_iter().flatten().filter(|(lower, upper)| !is_empty(*lower, *upper));
        parts.flat_map(move |part| {
            let mut writes = self.by_key.range::<[u8], _>(part);
            std::iter::from_fn(move || {
                #[cfg(test)]
                super::step_count::step();
                let next = if forward { writes.next() } else { writes.next_back() };
                next.map(|(key, private)| (key, &private.write))
            })
        })
    }
}

/// Returns whether no key is within the bounds, for which a tree map would panic.
fn is_empty(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
    match (lower, upper) {
        (Bound::Excluded(a), Bound::Excluded(b)) => a >= b,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => a > b,
        _ => false,
    }
}

fn row_of(request: &ChunkRequest<'_>, key: &[u8], write: &BatchWrite) -> Option<RowRead> {
    let (value, _) = value_of(write)?;
    let value = if request.values { value.to_vec() } else { Vec::new() };
    Some((request.number.logical(key).to_vec(), Ok(value)))
}
