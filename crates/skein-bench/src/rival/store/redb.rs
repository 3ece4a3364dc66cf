//! The crate `redb`. `None` and `Relaxed` are `Durability::None`, with one immediate commit at the
//! end.

use std::ops::Range;

use redb::{AccessGuard, Database, Durability, ReadableDatabase, ReadableTable, Table, TableDefinition};

use super::{
    BenchRows, DurabilityLevel, FoundRow, RegisteredStore, StoreContender, StoreResult, StoreRole, one_more,
    text,
};

pub static ENTRY: RegisteredStore = RegisteredStore {
    name: "redb",
    about: "redb 4.4; load at Durability::None, then one immediate commit; durable puts at \
            Immediate; the cache that is asked for, or twice the data",
    part: StoreRole::Both,
    durable: true,
    open: |setup| {
        let mut builder = Database::builder();
        builder.set_cache_size(usize::try_from(setup.cache_bytes()).map_err(text)?);
        let database = builder.create(setup.folder.join("redb")).map_err(text)?;
        let durability = match setup.level {
            DurabilityLevel::None | DurabilityLevel::Relaxed => Durability::None,
            DurabilityLevel::Sync => Durability::Immediate,
        };
        Ok(Box::new(Redb { database, durability }))
    },
};

const ROWS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");

/// A redb database with one table.
struct Redb {
    database: Database,
    durability: Durability,
}

impl Redb {
    /// Runs one transaction on the table.
    fn write(&self, change: impl FnOnce(&mut Table<'_, &[u8], &[u8]>) -> StoreResult<()>) -> StoreResult<()> {
        let mut transaction = self.database.begin_write().map_err(text)?;
        transaction.set_durability(self.durability).map_err(text)?;
        change(&mut transaction.open_table(ROWS).map_err(text)?)?;
        transaction.commit().map_err(text)
    }
}

impl StoreContender for Redb {
    fn put_batch(&mut self, rows: &BenchRows, mut numbers: Range<usize>) -> StoreResult<()> {
        self.write(|table| {
            numbers
                .try_for_each(|n| table.insert(&rows.key(n)[..], &rows.value(n)[..]).map(drop).map_err(text))
        })
    }

    fn inc(&mut self, rows: &BenchRows, n: usize) -> StoreResult<()> {
        let key = rows.key(n);
        self.write(|table| {
            let value = one_more(table.get(&key[..]).map_err(text)?.as_ref().map(AccessGuard::value))?;
            table.insert(&key[..], value.as_bytes()).map(drop).map_err(text)
        })
    }

    fn force(&mut self) -> StoreResult<()> {
        let transaction = self.database.begin_write().map_err(text)?;
        transaction.commit().map_err(text)
    }

    fn get_each(&mut self, rows: &BenchRows, numbers: &[usize], found: FoundRow<'_>) -> StoreResult<()> {
        let transaction = self.database.begin_read().map_err(text)?;
        let table = transaction.open_table(ROWS).map_err(text)?;
        for &n in numbers {
            let value = table.get(&rows.key(n)[..]).map_err(text)?;
            found(n, value.as_ref().map(AccessGuard::value));
        }
        Ok(())
    }
}
