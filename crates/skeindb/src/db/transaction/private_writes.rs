//! The writes of a transaction, which nobody else sees before the commit, and its savepoints.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{self, AtomicU64};

use skein_data::{Batch, BatchWrite, EngineBounds, ScanDirection};

use crate::db::Keyspace;
use crate::db::physical_key::KeyspaceNumber;
use crate::db::range_reader::{Chunk, ChunkRequest, RowRead};
use crate::{Error, Result};

/// The last write to each key of the engine.
#[derive(Debug, Default)]
pub(super) struct PrivateWrites {
    by_key: BTreeMap<Vec<u8>, BatchWrite>,
    /// What each write since the first savepoint replaced, for rolling back.
    undo: Vec<(Vec<u8>, Option<BatchWrite>)>,
    /// Tells the savepoints of this transaction from those of others; 0 before the first.
    identity: u64,
    /// The live savepoints: their serial numbers, and the lengths of `undo` there.
    savepoints: Vec<(u64, usize)>,
    serial: u64,
    keyspaces: Vec<Keyspace>,
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
        self.by_key.get(key)
    }

    pub(super) fn put(&mut self, keyspace: &Keyspace, key: &[u8], write: BatchWrite) {
        let old = self.by_key.insert(key.to_vec(), write);
        if !self.savepoints.is_empty() {
            self.undo.push((key.to_vec(), old));
        }
        if !self.keyspaces.iter().any(|known| known.is_same(keyspace)) {
            self.keyspaces.push(keyspace.clone());
        }
    }

    /// Returns the writes, and the keyspaces that are written or were before a rollback.
    pub(super) fn into_batch(self) -> (Batch, Vec<Keyspace>) {
        let mut batch = Batch::new();
        for (key, write) in self.by_key {
            batch.push(key, write);
        }
        (batch, self.keyspaces)
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

    pub(super) fn rollback_to(&mut self, place: Place) -> Result<()> {
        if place.identity != self.identity {
            return Err(Error::Foreign { what: "savepoint", of: "transaction" });
        }
        let at = self.savepoints.iter().position(|(serial, _)| *serial == place.serial);
        let at = at.ok_or(Error::SavepointGone)?;
        self.savepoints.truncate(at + 1);
        let undone = self.undo.split_off(self.savepoints[at].1);
        for (key, old) in undone.into_iter().rev() {
            match old {
                Some(write) => _ = self.by_key.insert(key, write),
                None => _ = self.by_key.remove(&key),
            }
        }
        Ok(())
    }

    /// Merges the writes into rows of the snapshot, until there are as many rows as the request asks
    /// for. Visits no more writes than that, and those of removed rows between.
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
                merged.chunk.more_after = merged.chunk.rows.last().map(|(key, _)| request.number.key_of(key));
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
        number: KeyspaceNumber,
        forward: bool,
    ) -> impl Iterator<Item = (&Vec<u8>, &BatchWrite)> {
        let mut parts = KeyspaceNumber::parts(bounds, number);
        if !forward {
            parts.reverse();
        }
        let parts = parts.into_iter().flatten().filter(|(lower, upper)| !is_empty(*lower, *upper));
        parts.flat_map(move |part| {
            let mut writes = self.by_key.range::<[u8], _>(part);
            std::iter::from_fn(move || {
                #[cfg(test)]
                super::step_count::step();
                if forward { writes.next() } else { writes.next_back() }
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
