//! Replay: records from the logs, in any order, on several threads.
//!
//! Records are gathered into batches. A batch first looks up all its keys at once, with overlapping reads, so that
//! the index's nodes and the rows are in the cache when the records are applied one by one.

use std::sync::Mutex;

use skein_index::memory::CachePadded;
use skein_index::{Change, Guard};
use skein_sync::locks::{into_inner, lock};

use super::pending::Pending;
use crate::record::{Effect, Merge, Record, row_of_tables};
use crate::row::{Row, RowRef};
use crate::store::Inner;

/// Records in a batch.
const BATCH: usize = 64;

/// A batch is applied early when its payloads are past this.
const BATCH_BYTES: usize = 256 << 10;

const NO_COLUMNS: &str = "the record changes columns where there are none";

/// A record that cannot be applied.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) key: Vec<u8>,
    pub(super) version: u64,
    pub(super) why: String,
}

/// The state of a replay.
pub(super) struct Replay<'s> {
    inner: &'s Inner,
    threads: Box<[CachePadded<Mutex<Batch>>]>,
    pending: Pending,
    /// The first record that was refused; a batch finds it later than it was taken.
    refused: Mutex<Option<Refused>>,
}

/// One thread's records that wait, and the keys it has put tombstones at.
#[derive(Default)]
struct Batch {
    payloads: Vec<u8>,
    ends: Vec<usize>,
    tombstones: Vec<Vec<u8>>,
}

impl<'s> Replay<'s> {
    pub(super) fn new(inner: &'s Inner, threads: usize) -> Self {
        let threads = (0..threads).map(|_| CachePadded::default()).collect();
        Self { inner, threads, pending: Pending::default(), refused: Mutex::default() }
    }

    /// Takes a record that `thread` read.
    pub(super) fn take(&self, thread: usize, payload: &[u8]) -> Result<(), String> {
        if Record::parse(payload).is_none() {
            return Err("the record is whole but not one that this program writes".into());
        }
        let mut batch = lock(&self.threads[thread]);
        batch.payloads.extend_from_slice(payload);
        let end = batch.payloads.len();
        batch.ends.push(end);
        if batch.ends.len() == BATCH || end > BATCH_BYTES { self.apply(&mut batch) } else { Ok(()) }
    }

    /// Applies what waits in a batch.
    fn apply(&self, batch: &mut Batch) -> Result<(), String> {
        let guard = self.inner.index.collector().enter();
        let mut start = 0;
        let records: Vec<Record<'_>> = batch
            .ends
            .iter()
            .filter_map(|end| Record::parse(&batch.payloads[std::mem::replace(&mut start, *end)..*end]))
            .collect();
        let keys: Vec<&[u8]> = records.iter().map(|record| record.key).collect();
        // For the cache only. The versions are read, because that is the line that the records need.
        self.inner.index.get_many(&keys, &guard, |_, row| {
            std::hint::black_box(row.map(RowRef::version));
        });
        for record in &records {
            self.apply_one(record, &mut batch.tombstones, &guard).inspect_err(|why| {
                self.refuse(record.key, record.version, why);
            })?;
        }
        batch.payloads.clear();
        batch.ends.clear();
        Ok(())
    }

    fn refuse(&self, key: &[u8], version: u64, why: &str) {
        let mut refused = lock(&self.refused);
        refused.get_or_insert_with(|| Refused { key: key.to_vec(), version, why: why.to_owned() });
    }

    fn apply_one(
        &self,
        record: &Record<'_>,
        tombstones: &mut Vec<Vec<u8>>,
        guard: &impl Guard,
    ) -> Result<(), String> {
        let rows = &self.inner.rows;
        let row = match record.effect {
            Effect::Value(value) => rows.value(&[value]).map_err(|error| error.to_string())?,
            Effect::Columns(tables) => {
                row_of_tables(rows, tables).ok_or("the record's columns are not well-formed")?
            }
            Effect::Remove => {
                self.inner.stripes.raise_floor(record.key, record.version);
                Row::tombstone(rows, record.version)
            }
            Effect::Merge(merge) => return self.merge(record.key, record.version, merge, guard),
        };
        let is_tombstone = row.as_ref().is_tombstone();
        let put = self.put_if_newer(record.key, record.version, row, guard)?;
        if put && is_tombstone {
            tombstones.push(record.key.to_vec());
        }
        if put { self.merge_what_waited(record.key, record.version, guard) } else { Ok(()) }
    }

    /// Puts a row unless the key has a version at least as great; returns whether it did.
    fn put_if_newer(&self, key: &[u8], version: u64, row: Row, guard: &impl Guard) -> Result<bool, String> {
        let mut row = Some(row);
        let put = self.inner.index.compute(
            key,
            |current| {
                if current.is_some_and(|current| current.version() >= version) {
                    return Change::Keep;
                }
                row.take().map_or(Change::Keep, |mut row| {
                    row.set_version(version);
                    Change::Put(row)
                })
            },
            guard,
        );
        put.map(|put| put.changed).map_err(|refused| self.why(refused))
    }

    /// Why the index takes a key not, that another index took in an earlier run.
    fn why(&self, refused: skein_index::Refused) -> String {
        match refused {
            skein_index::Refused::KeyTooLong { len, limit } => format!(
                "it has a key of {len} bytes, and the index {} takes keys of up to {limit}; open it with another index",
                self.inner.options.index
            ),
            refused => refused.to_string(),
        }
    }

    /// Applies a merge, or lets it wait for the version just before it.
    fn merge(&self, key: &[u8], version: u64, merge: Merge<'_>, guard: &impl Guard) -> Result<(), String> {
        let mut waits = false;
        loop {
            let seen = self.inner.index.get(key, guard);
            match seen {
                Some(base) if base.version() >= version => return Ok(()),
                Some(base) if base.version() + 1 == version => {
                    let row = merge.onto(&self.inner.rows, base).filter(|_| base.has_columns());
                    let row = row.ok_or(NO_COLUMNS)?;
                    if self.put_if_newer(key, version, row, guard)? {
                        return self.merge_what_waited(key, version, guard);
                    }
                }
                _ if waits => return Ok(()),
                _ => {
                    self.pending.add(key, version, merge.to_vec());
                    waits = true;
                }
            }
        }
    }

    /// Applies the merges that waited for `version` of `key`, one after the other.
    fn merge_what_waited(&self, key: &[u8], mut version: u64, guard: &impl Guard) -> Result<(), String> {
        while let Some(merge) = self.pending.take(key, version) {
            version += 1;
            let Some(base) = self.inner.index.get(key, guard).filter(|base| base.version() + 1 == version)
            else {
                // A newer row came: what it waits for, its own bringer applies.
                return Ok(());
            };
            let row = Merge::of(&merge).onto(&self.inner.rows, base).filter(|_| base.has_columns());
            let row = row.ok_or(NO_COLUMNS).inspect_err(|why| {
                // Not the record at hand, which brought the row.
                self.refuse(key, version, why);
            })?;
            if !self.put_if_newer(key, version, row, guard)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The record that was refused, if one was.
    pub(super) fn refused(self) -> Option<Refused> {
        into_inner(self.refused)
    }

    /// Applies what waits, and clears the tombstones away.
    pub(super) fn finish(&self) -> Result<(), String> {
        for batch in &self.threads {
            self.apply(&mut lock(batch))?;
        }
        let index = &self.inner.index;
        let mut guard = index.collector().enter();
        for (key, version) in self.pending.drain() {
            if index.get(&key, &guard).is_none_or(|row| row.version() < version) {
                let why = "the record changes columns of its key, and what it changes is neither in the logs nor in \
                           a checkpoint";
                self.refuse(&key, version, why);
                return Err(why.into());
            }
        }
        for batch in &self.threads {
            let tombstones = std::mem::take(&mut lock(batch).tombstones);
            for chunk in tombstones.chunks(BATCH) {
                for key in chunk {
                    let remove = |row: Option<RowRef<'_>>| match row {
                        Some(row) if row.is_tombstone() => Change::Remove,
                        _ => Change::Keep,
                    };
                    index.compute(key, remove, &guard).map_err(|refused| refused.to_string())?;
                }
                guard.refresh();
            }
        }
        Ok(())
    }
}
