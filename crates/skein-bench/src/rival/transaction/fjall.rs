//! The crate `fjall`: transactions that are checked at the commit.

use fjall::{
    Guard, KeyspaceCreateOptions, OptimisticTxDatabase, OptimisticTxKeyspace, OptimisticWriteTx, PersistMode,
    Readable,
};

use super::{
    Body, CommitDurability, RegisteredTransactions, RowResult, TransactionContender, TransactionRows,
    TransactionStop, failed, fill, found, repeat,
};
use crate::rival::store::{StoreResult, text};

pub static ENTRY: RegisteredTransactions = RegisteredTransactions {
    name: "fjall",
    about: "fjall 3.1, OptimisticTxDatabase; serializable, checked at the commit; its default \
            persist mode, durable commits with SyncData; options as they come",
    open: |folder| {
        let database = OptimisticTxDatabase::builder(folder.join("fjall")).open().map_err(text)?;
        let rows = database.keyspace("rows", KeyspaceCreateOptions::default).map_err(text)?;
        Ok(Box::new(Fjall { database, rows }))
    },
};

/// A fjall database with one keyspace.
struct Fjall {
    database: OptimisticTxDatabase,
    rows: OptimisticTxKeyspace,
}

impl TransactionContender for Fjall {
    fn transact(&self, durability: CommitDurability, body: Body<'_>) -> StoreResult<u64> {
        repeat(|| {
            let mut transaction = self.database.write_tx().map_err(failed)?;
            if durability == CommitDurability::Sync {
                transaction = transaction.durability(Some(PersistMode::SyncData));
            }
            let mut rows = FjallRows { transaction, rows: &self.rows };
            body(&mut rows)?;
            rows.transaction.commit().map_err(failed)?.map_err(|_| TransactionStop::Conflict)
        })
    }
}

/// The rows of an open transaction.
struct FjallRows<'t> {
    transaction: OptimisticWriteTx,
    rows: &'t OptimisticTxKeyspace,
}

impl TransactionRows for FjallRows<'_> {
    fn get(&mut self, key: u64) -> RowResult<u64> {
        found(key, self.transaction.get(self.rows, key.to_be_bytes()))
    }

    fn scan(&mut self, from: u64, values: &mut [u64]) -> RowResult<()> {
        let to = from + values.len() as u64;
        let rows = self.transaction.range(self.rows, from.to_be_bytes()..to.to_be_bytes());
        fill(from, values, rows.map(Guard::value))
    }

    fn put(&mut self, key: u64, value: u64) -> RowResult<()> {
        self.transaction.insert(self.rows, key.to_be_bytes(), value.to_be_bytes());
        Ok(())
    }
}
