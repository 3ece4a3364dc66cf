//! The keys on disk with the writes of an open transaction, which it alone sees.

use std::cell::RefCell;

use skein_disk::DiskError;
use skein_model::{KeyspaceStats, StoredKeyspace};
use skein_store::StoreStats;

use super::DiskWriter;
use super::expiry_entries::ExpiryEntries as _;
use super::keyspaces::counted_under;
use super::reader::TransactionReads;
use super::row_reads::RowReads;
use crate::keys::{Flow, FoundRow, Keys, Removed, Visit};
use crate::range_steps::REMOVALS;
use crate::{EngineBounds, EngineWriter, KeyState, Result, RowView, Ticket};

/// An open transaction of the disk engine. The ticket of its commit covers its writes.
#[derive(Debug)]
pub(crate) struct OpenTransaction<'t>(pub(super) DiskWriter<'t>);

impl OpenTransaction<'_> {
    pub(crate) fn is_broken(&self) -> bool {
        self.0.is_broken()
    }

    pub(crate) fn commit(mut self) -> Result<Ticket> {
        self.0.publish()?;
        Ok(self.0.ticket())
    }

    /// Returns the numbers of keys of a keyspace, including the writes of this transaction.
    pub(crate) fn keyspace_stats(&mut self, keyspace: StoredKeyspace) -> KeyspaceStats {
        let (engine, now, transaction) = (self.0.engine(), self.0.now(), self.0.parts().1);
        let (keys, reserved) = (transaction.keys(), transaction.reserved_count(counted_under(keyspace)));
        engine.keyspace_stats_with(keyspace, keys, reserved, now, &&RefCell::new(transaction))
    }

    /// Returns the engine's statistics, with the numbers of keys after the writes of this
    /// transaction.
    pub(crate) fn stats(&mut self) -> StoreStats {
        let (engine, now, transaction) = (self.0.engine(), self.0.now(), self.0.parts().1);
        let keys = transaction.keys();
        let transaction = RefCell::new(transaction);
        let entries = &&transaction;
        engine.stats_with(engine.without_expired(keys, now, entries), entries.expiring(now))
    }

    /// Calls `read` with the reads of the transaction.
    fn reading<R>(&mut self, read: impl FnOnce(RowReads<'_, TransactionReads<'_, '_, '_>>) -> R) -> R {
        let now = self.0.now();
        let (reader, transaction) = self.0.parts();
        let transaction = RefCell::new(transaction);
        read(RowReads { reads: &transaction, reader, now })
    }
}

impl Keys for OpenTransaction<'_> {
    fn now(&self) -> u64 {
        self.0.now()
    }

    fn get_with<R>(&mut self, key: &[u8], look: impl FnOnce(FoundRow<'_>) -> R) -> R {
        self.reading(|reads| reads.get_with(key, look))
    }

    fn key_state(&mut self, key: &[u8]) -> KeyState {
        self.reading(|reads| reads.key_state(key))
    }

    fn get_many_atomic(
        &mut self,
        keys: &[&[u8]],
        bytes_most: usize,
        mut found: impl FnMut(usize, Option<RowView<'_>>),
    ) -> Result<()> {
        let mut bytes = 0;
        for (at, key) in keys.iter().enumerate() {
            self.get_with(key, |row| -> Result<()> {
                let row = row?;
                bytes += row.map_or(0, |row| row.content_len());
                if bytes > bytes_most {
                    return Err(DiskError::ReadTooLong { len: bytes, limit: bytes_most }.into());
                }
                found(at, row);
                Ok(())
            })?;
        }
        Ok(())
    }

    fn is_ordered(&self) -> bool {
        self.0.is_ordered()
    }

    fn visit(&mut self, visit: Visit<'_>, each: impl FnMut(&[u8], RowView<'_>) -> Flow) -> Result<()> {
        self.reading(|reads| reads.visit(visit, each))
    }

    fn count_first(&mut self, bounds: EngineBounds<'_>, most: usize) -> Result<(usize, Option<Vec<u8>>)> {
        self.reading(|reads| reads.count_first(bounds, most))
    }

    fn write<R>(&mut self, writes: impl FnOnce(&mut EngineWriter<'_, '_>) -> R) -> (Result<R>, Ticket) {
        (Ok(writes(&mut EngineWriter::Disk(&mut self.0))), Ticket::default())
    }

    fn put_all(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<Ticket> {
        self.0.put_all(pairs).map(|()| Ticket::default())
    }

    fn remove_some(&mut self, bounds: EngineBounds<'_>, of: Option<StoredKeyspace>) -> Removed {
        match of {
            Some(keyspace) => self.0.remove_range_of(keyspace, bounds, REMOVALS),
            None => self.0.remove_range(bounds, REMOVALS),
        }
    }
}
