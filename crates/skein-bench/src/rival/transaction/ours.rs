//! The library's database, once for each engine. `Relaxed` is `buffered`, which is on disk within
//! 200 ms.

use skeindb::{Db, Durability, Engine, Keyspace, Transaction};

use super::{
    Body, CommitDurability, RegisteredTransactions, RowResult, TransactionContender, TransactionRows, failed,
    fill, found,
};
use crate::rival::store::{OURS, StoreResult, text};

/// The name of the engine in memory in reports.
pub const MEMORY: &str = OURS;
/// The name of the disk engine in reports.
pub const DISK: &str = "skein-disk";

pub static IN_MEMORY: RegisteredTransactions = RegisteredTransactions {
    name: MEMORY,
    about: "skeindb::Db, engine in memory, Db::transaction; serializable, checked at the commit; \
            buffered, durable commits at sync; options as they come",
    open: |folder| Ok(Box::new(Skein::open(Db::builder(folder.join("skein")).engine(Engine::Memory))?)),
};

pub static ON_DISK: RegisteredTransactions = RegisteredTransactions {
    name: DISK,
    about: "skeindb::Db, disk engine, cache of 256 MiB; otherwise as the engine in memory",
    open: |folder| Ok(Box::new(Skein::open(Db::builder(folder.join("skein")).engine(Engine::Disk))?)),
};

/// A database with one keyspace.
struct Skein {
    db: Db,
    rows: Keyspace,
}

impl Skein {
    fn open(builder: skeindb::DbBuilder) -> StoreResult<Self> {
        let db = builder.durability(Durability::Buffered).open().map_err(text)?;
        Ok(Self { rows: db.keyspace("rows").map_err(text)?, db })
    }
}

impl TransactionContender for Skein {
    fn transact(&self, durability: CommitDurability, body: Body<'_>) -> StoreResult<u64> {
        let mut attempts = 0;
        let done = self.db.transaction(|transaction| {
            attempts += 1;
            if durability == CommitDurability::Sync {
                transaction.set_durability(Durability::Sync)?;
            }
            body(&mut SkeinRows { transaction, rows: &self.rows }).map_err(skeindb::Error::other)
        });
        done.map_err(text)?;
        Ok(attempts - 1)
    }

    fn close(self: Box<Self>) -> StoreResult<()> {
        self.db.close().map_err(text)
    }
}

/// The rows of an open transaction.
struct SkeinRows<'t> {
    transaction: &'t mut Transaction,
    rows: &'t Keyspace,
}

impl TransactionRows for SkeinRows<'_> {
    fn get(&mut self, key: u64) -> RowResult<u64> {
        found(key, self.transaction.get(self.rows, key.to_be_bytes()))
    }

    fn scan(&mut self, from: u64, values: &mut [u64]) -> RowResult<()> {
        let to = from + values.len() as u64;
        let rows = self.transaction.range(self.rows, from.to_be_bytes()..to.to_be_bytes());
        fill(from, values, rows.map(|row| row.map(|(_, value)| value)))
    }

    fn put(&mut self, key: u64, value: u64) -> RowResult<()> {
        self.transaction.insert(self.rows, key.to_be_bytes(), value.to_be_bytes()).map_err(failed)
    }
}
