//! The writes of a transaction, which nobody else sees before the commit, and its savepoints.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};

use skein_data::{Batch, BatchWrite};

use crate::db::Keyspace;
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

/// Returns the value that a write leaves, if it leaves one.
pub(super) fn value_of(write: &BatchWrite) -> Option<&[u8]> {
    match write {
        BatchWrite::Put(value, _) => Some(value),
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
            self.identity = IDENTITIES.fetch_add(1, Ordering::Relaxed);
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

    /// Merges the writes within the part of the range that a chunk covers into the chunk.
    pub(super) fn merge(&self, request: &ChunkRequest<'_>, chunk: Chunk, forward: bool) -> Chunk {
        let (mut lower, mut upper) = request.bounds;
        if let Some(last) = chunk.more_after.as_deref() {
            *(if forward { &mut upper } else { &mut lower }) = Bound::Included(last);
        }
        if is_empty(lower, upper) {
            return chunk;
        }
        let mut own: Vec<(&Vec<u8>, &BatchWrite)> = self.by_key.range::<[u8], _>((lower, upper)).collect();
        own.retain(|(key, _)| request.number.owns(key));
        if own.is_empty() {
            return chunk;
        }
        if !forward {
            own.reverse();
        }
        let before = |a: &[u8], b: &[u8]| if forward { a < b } else { a > b };
        let (mut rows, mut own) =
            (Vec::with_capacity(chunk.rows.len() + own.len()), own.into_iter().peekable());
        for read in chunk.rows {
            let key = &read.0;
            let mut replaced = false;
            while let Some((own_key, write)) =
                own.next_if(|(own_key, _)| !before(key, request.number.logical(own_key)))
            {
                replaced |= request.number.logical(own_key) == key;
                rows.extend(row_of(request, own_key, write));
            }
            if !replaced {
                rows.push(read);
            }
        }
        rows.extend(own.filter_map(|(key, write)| row_of(request, key, write)));
        Chunk { rows, more_after: chunk.more_after }
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
    let value = value_of(write)?;
    let value = if request.values { value.to_vec() } else { Vec::new() };
    Some((request.number.logical(key).to_vec(), Ok(value)))
}
