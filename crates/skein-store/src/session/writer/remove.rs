//! Removals of single keys: by a caller, by the expiry thread and by evictions.

use std::sync::Arc;

use skein_index::ComputeAction;
use skein_model::{RowRef, RowUpdate};
use skein_sync::atomic::Ordering;

use super::Writer;
use crate::Result;
use crate::collection::SharedCollection;
use crate::record;
use crate::session::undo_journal::ReplacedRow;
use crate::store_core::StoreCore;

pub(in crate::session) struct Removal {
    pub(in crate::session) version: u64,
    /// The removed row. The caller must release its collection.
    pub(in crate::session) replaced: ReplacedRow,
}

impl Removal {
    /// Releases the collection of the removed row, if any. Returns about how many bytes it used.
    pub(in crate::session) fn release_collection(self) -> usize {
        self.replaced.collection.map_or(0, |collection| collection.remove_main_row())
    }
}

/// Tells a collection that its main row was removed. The caller must not hold the lock of a
/// collection.
pub(in crate::session) fn release_collection(collection: Option<Arc<SharedCollection>>) {
    if let Some(collection) = collection {
        collection.remove_main_row();
    }
}

impl Writer<'_> {
    /// Removes a key; `existed` tells whether it was present.
    ///
    /// # Errors
    /// The key is over its limit.
    pub fn remove(&mut self, key: &[u8]) -> Result<RowUpdate> {
        self.begin_write()?;
        self.remove_now(key)
    }

    pub(in crate::session) fn remove_now(&mut self, key: &[u8]) -> Result<RowUpdate> {
        let time = self.time();
        let mut existed = false;
        let removal = self.remove_if(key, |row| {
            existed = time.shows(row);
            true
        })?;
        let version = removal.as_ref().map_or(0, |removal| removal.version);
        if let Some(removal) = removal {
            self.note_replaced(removal.replaced, version, true);
        }
        // An expired key is removed too, but did not exist.
        Ok(RowUpdate { existed, changed: existed, version })
    }

    /// Removes a key if it has expired. Returns whether it was removed. Counts it as the expiry
    /// thread does.
    ///
    /// # Errors
    /// The key is over its limit.
    pub fn remove_expired(&mut self, key: &[u8]) -> Result<bool> {
        self.begin_write()?;
        let time = self.time();
        let Some(Removal { version, replaced }) = self.remove_if(key, |row| !time.shows(row))? else {
            return Ok(false);
        };
        self.note_replaced(replaced, version, true);
        // Relaxed: a count.
        self.core.expired.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    /// Removes a key that the expiry index lists at the time `at`, if its row expires before `end`.
    /// Returns whether it was removed.
    pub(crate) fn remove_overdue(&mut self, key: &[u8], at: u64, end: u64) -> Result<bool> {
        self.begin_write()?;
        let removed = self.remove_if(key, |row| row.has_expired(end))?;
        if removed.is_none() {
            // A writer that has changed the row is about to update the expiry index. If it never
            // does, the stale entry would block the search.
            self.update_expiry_index(key, Some(at), None);
        }
        let done = removed.is_some();
        removed.map(Removal::release_collection);
        Ok(done)
    }

    /// Removes a key if `wanted` accepts its row.
    pub(in crate::session) fn remove_if(
        &mut self,
        key: &[u8],
        wanted: impl FnOnce(RowRef<'_>) -> bool,
    ) -> Result<Option<Removal>> {
        StoreCore::check_key(key)?;
        let core = self.core;
        if key.len() > core.options.index.key_bytes_max() {
            // The index cannot hold this key, so it is absent.
            return Ok(None);
        }
        let (mut version, mut epoch, mut replaced) = (0, 0, None);
        let start = self.records.begin(|out| record::write_remove(out, key, 0));
        let removed = self.compute(key, |current| {
            let Some(row) = current.filter(|row| wanted(*row)) else { return ComputeAction::Keep };
            (version, epoch, replaced) = (row.version() + 1, core.commit.epoch(), row.expires_at());
            core.keys.stripes.raise_floor(key, version);
            ComputeAction::Remove
        });
        let gone = match removed {
            Ok((true, gone)) => gone,
            kept => {
                self.records.cancel(start);
                return kept.map(|_| None);
            }
        };
        self.recorded(start, version, epoch);
        self.update_expiry_index(key, replaced, None);
        Ok(Some(Removal { version, replaced: gone }))
    }
}
