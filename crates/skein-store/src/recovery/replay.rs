//! Replay: applies records from the logs, in any order, on several threads.
//!
//! Records are collected in batches. A batch first looks up all its keys at once, with overlapping
//! reads. So the nodes of the index and the rows are in the cache when the records are applied one
//! by one.

use std::sync::Mutex;

use skein_index::memory::CachePadded;
use skein_index::{ComputeAction, LocalGuard};
use skein_model::{Row, RowRef};
use skein_sync::locks::{into_inner, lock};

use super::pending_deltas::PendingDeltas;
use crate::index::StoreIndex;
use crate::record::{NO_MEMBER, RecordEffect, RowDelta, StoreRecord, row_of_tables};
use crate::store_keys::{Loader, LoaderGuards};

const BATCH: usize = 64;

/// Bytes of a record in the log besides its payload.
const RECORD_OVERHEAD: usize = 16;

/// A batch is applied early when its payloads are larger than this.
const BATCH_BYTES: usize = 256 << 10;

const CANCELLED: &str = "opening was cancelled";

const NO_BASE: &str = "the record changes columns where there are none, or the time of an absent key";

/// A record that cannot be applied.
#[derive(Debug)]
pub(super) struct RefusedRecord {
    pub(super) key: Vec<u8>,
    pub(super) version: u64,
    pub(super) why: String,
}

pub(super) struct Replay<'s> {
    loader: &'s Loader<'s>,
    threads: Box<[CachePadded<Mutex<ReplayBatch>>]>,
    pending: PendingDeltas,
    /// The first record that was refused. It is found when its batch is applied, later than it was
    /// read.
    refused: Mutex<Option<RefusedRecord>>,
}

/// The records of one thread that are not applied yet, and the keys at which the thread put
/// tombstones.
#[derive(Default)]
struct ReplayBatch {
    payloads: Vec<u8>,
    ends: Vec<usize>,
    /// Each with whether it belongs to the member index.
    tombstones: Vec<(bool, Vec<u8>)>,
}

impl<'s> Replay<'s> {
    pub(super) fn new(loader: &'s Loader<'s>) -> Self {
        let threads = (0..loader.threads).map(|_| CachePadded::default()).collect();
        Self { loader, threads, pending: PendingDeltas::default(), refused: Mutex::default() }
    }

    /// Adds a record that `thread` has read to the thread's batch. Applies the batch if it is full.
    pub(super) fn take(&self, thread: usize, payload: &[u8]) -> Result<(), String> {
        if StoreRecord::parse(payload).is_none() {
            return Err("the record is whole but not one that this program writes".into());
        }
        let mut batch = lock(&self.threads[thread]);
        batch.payloads.extend_from_slice(payload);
        let end = batch.payloads.len();
        batch.ends.push(end);
        if batch.ends.len() == BATCH || end > BATCH_BYTES { self.apply(&mut batch) } else { Ok(()) }
    }

    /// Applies the records of a batch.
    fn apply(&self, batch: &mut ReplayBatch) -> Result<(), String> {
        let guards = self.loader.enter();
        let mut start = 0;
        let records: Vec<StoreRecord<'_>> = batch
            .ends
            .iter()
            .filter_map(|end| StoreRecord::parse(&batch.payloads[std::mem::replace(&mut start, *end)..*end]))
            .collect();
        for member in [false, true] {
            let some: Vec<_> = records.iter().filter(|record| record.member == member).collect();
            fetch(self.loader.index(member), &some, guards.of(member));
        }
        for record in &records {
            self.apply_one(record, &mut batch.tombstones, &guards).inspect_err(|why| {
                self.refuse(record.key, record.version, why);
            })?;
        }
        let (bytes, count) = (batch.payloads.len(), records.len());
        let bytes = bytes + count * RECORD_OVERHEAD;
        let goes_on = self.loader.progress.advance(bytes as u64, count as u64);
        batch.payloads.clear();
        batch.ends.clear();
        if goes_on { Ok(()) } else { Err(CANCELLED.into()) }
    }

    fn refuse(&self, key: &[u8], version: u64, why: &str) {
        let mut refused = lock(&self.refused);
        refused.get_or_insert_with(|| RefusedRecord { key: key.to_vec(), version, why: why.to_owned() });
    }

    fn apply_one(
        &self,
        record: &StoreRecord<'_>,
        tombstones: &mut Vec<(bool, Vec<u8>)>,
        guards: &LoaderGuards<'_>,
    ) -> Result<(), String> {
        let keys = self.loader.keys;
        let rows = &keys.rows;
        let row = match record.effect {
            RecordEffect::Value(value) => {
                rows.value_until(&[value], record.expires).map_err(|error| error.to_string())?
            }
            RecordEffect::Columns(tables) => row_of_tables(rows, tables, record.expires)
                .ok_or("the record's columns are not well-formed")?,
            RecordEffect::Remove => {
                keys.stripes.raise_floor(record.key, record.version);
                Row::tombstone(rows, record.version)
            }
            RecordEffect::Collection(kind, id) => {
                rows.collection(keys.members.collection(kind, id), record.expires)
            }
            RecordEffect::Packed(packed) => {
                rows.packed(packed, record.expires).map_err(|error| error.to_string())?
            }
            RecordEffect::Delta(delta) => {
                return self.change(record.key, record.version, delta, &guards.main);
            }
        };
        let is_tombstone = row.as_ref().is_tombstone();
        if record.member && !keys.members.note_key(record.key) {
            return Err(NO_MEMBER.into());
        }
        let (index, guard) = (self.loader.index(record.member), guards.of(record.member));
        let put = Self::put_if_newer(index, record.key, record.version, row, guard)?;
        if put && is_tombstone {
            tombstones.push((record.member, record.key.to_vec()));
        }
        if put && !record.member { self.apply_pending(record.key, record.version, guard) } else { Ok(()) }
    }

    /// Puts a row unless the key has this version or a greater one. Returns whether it was put.
    fn put_if_newer(
        index: &StoreIndex,
        key: &[u8],
        version: u64,
        mut row: Row,
        guard: &LocalGuard<'_>,
    ) -> Result<bool, String> {
        let put = index.compute(
            key,
            |current| {
                if current.is_some_and(|current| current.version() >= version) {
                    return ComputeAction::Keep;
                }
                row.set_version(version);
                ComputeAction::Put(row)
            },
            guard,
        );
        put.map(|put| put.changed).map_err(|refused| index.refusal_reason(refused))
    }

    /// Applies a change if its base, the version just before, is present. Otherwise keeps it until
    /// the base is replayed.
    fn change(
        &self,
        key: &[u8],
        version: u64,
        delta: RowDelta<'_>,
        guard: &LocalGuard<'_>,
    ) -> Result<(), String> {
        let mut waits = false;
        loop {
            let seen = self.loader.keys.index.get(key, guard);
            match seen {
                Some(base) if base.version() >= version => return Ok(()),
                Some(base) if base.version() + 1 == version => {
                    let row = delta.onto(&self.loader.keys.rows, base).ok_or(NO_BASE)?;
                    if Self::put_if_newer(&self.loader.keys.index, key, version, row, guard)? {
                        return self.apply_pending(key, version, guard);
                    }
                }
                _ if waits => return Ok(()),
                _ => {
                    self.pending.add(key, version, delta.to_vec());
                    waits = true;
                }
            }
        }
    }

    /// Applies the changes that waited for `version` of `key`, one after the other.
    fn apply_pending(&self, key: &[u8], mut version: u64, guard: &LocalGuard<'_>) -> Result<(), String> {
        while let Some(delta) = self.pending.take(key, version) {
            version += 1;
            let Some(base) =
                self.loader.keys.index.get(key, guard).filter(|base| base.version() + 1 == version)
            else {
                // The key has a newer row by now. The thread that put it applies the changes that
                // wait for it.
                return Ok(());
            };
            let row = RowDelta::of(&delta).and_then(|delta| delta.onto(&self.loader.keys.rows, base));
            let row = row.ok_or(NO_BASE).inspect_err(|why| {
                // The refused record is the change that waited, not the record that put the row.
                self.refuse(key, version, why);
            })?;
            if !Self::put_if_newer(&self.loader.keys.index, key, version, row, guard)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the refused record, if there is one.
    pub(super) fn refused(self) -> Option<RefusedRecord> {
        into_inner(self.refused)
    }

    /// Applies the rest of all batches and removes the tombstones.
    pub(super) fn finish(&self) -> Result<(), String> {
        for batch in &self.threads {
            self.apply(&mut lock(batch))?;
        }
        let (index, mut guards) = (&self.loader.keys.index, self.loader.enter());
        for (key, version) in self.pending.drain() {
            if index.get(&key, &guards.main).is_none_or(|row| row.version() < version) {
                let why = "the record is a change, and its base is neither in the logs nor in a checkpoint";
                self.refuse(&key, version, why);
                return Err(why.into());
            }
        }
        for batch in &self.threads {
            let tombstones = std::mem::take(&mut lock(batch).tombstones);
            for chunk in tombstones.chunks(BATCH) {
                for (member, key) in chunk {
                    let remove = |row: Option<RowRef<'_>>| match row {
                        Some(row) if row.is_tombstone() => ComputeAction::Remove,
                        _ => ComputeAction::Keep,
                    };
                    let removed = self.loader.index(*member).compute(key, remove, guards.of(*member));
                    removed.map_err(|refused| refused.to_string())?;
                }
                guards.refresh();
            }
        }
        Ok(())
    }
}

/// Looks up the keys of the records, only to fill the cache. It reads the versions, because
/// applying the records reads the same cache line.
fn fetch(index: &StoreIndex, records: &[&StoreRecord<'_>], guard: &LocalGuard<'_>) {
    let keys: Vec<&[u8]> = records.iter().map(|record| record.key).collect();
    index.look_up(&keys, guard, &mut |_, row| {
        std::hint::black_box(row.map(RowRef::version));
    });
}
