//! The crate `redb`: one transaction writes at a time, and others wait for it.

use redb::{Database, Durability, ReadableTable, Table, TableDefinition};

use super::{
    Body, CommitDurability, RegisteredTransactions, RowResult, TransactionContender, TransactionRows, failed,
    missing, repeat,
};
use crate::rival::store::{StoreResult, text};

pub static ENTRY: RegisteredTransactions = RegisteredTransactions {
    name: "redb",
    about: "redb 4.4, keys and values u64; serializable, one writer at a time; Durability::None, \
            durable commits at Immediate; cache of 1 GiB",
    open: |folder| Ok(Box::new(Redb(Database::create(folder.join("redb")).map_err(text)?))),
};

const ROWS: TableDefinition<'_, u64, u64> = TableDefinition::new("rows");

/// A redb database with one table.
struct Redb(Database);

impl TransactionContender for Redb {
    fn transact(&self, durability: CommitDurability, body: Body<'_>) -> StoreResult<u64> {
        repeat(|| {
            let mut transaction = self.0.begin_write().map_err(failed)?;
            let durability = match durability {
                CommitDurability::Relaxed => Durability::None,
                CommitDurability::Sync => Durability::Immediate,
            };
            transaction.set_durability(durability).map_err(failed)?;
            body(&mut RedbRows(transaction.open_table(ROWS).map_err(failed)?))?;
            transaction.commit().map_err(failed)
        })
    }
}

/// The rows of an open transaction.
struct RedbRows<'t>(Table<'t, u64, u64>);

impl TransactionRows for RedbRows<'_> {
    fn get(&mut self, key: u64) -> RowResult<u64> {
        let value = self.0.get(key).map_err(failed)?;
        Ok(value.ok_or_else(|| missing(key))?.value())
    }

    fn scan(&mut self, from: u64, values: &mut [u64]) -> RowResult<()> {
        let mut rows = self.0.range(from..from + values.len() as u64).map_err(failed)?;
        for (key, value) in (from..).zip(values) {
            let (_, found) = rows.next().ok_or_else(|| missing(key))?.map_err(failed)?;
            *value = found.value();
        }
        Ok(())
    }

    fn put(&mut self, key: u64, value: u64) -> RowResult<()> {
        self.0.insert(key, value).map(drop).map_err(failed)
    }
}
