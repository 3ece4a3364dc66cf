//! The crate `fjall`. `Relaxed` is its default: it writes its journal to the system and does not
//! force it to disk.

use std::ops::Range;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::{
    BenchRows, DurabilityLevel, FoundRow, RegisteredStore, StoreContender, StoreResult, StoreRole, text,
};

pub static ENTRY: RegisteredStore = RegisteredStore {
    name: "fjall",
    about: "fjall 3.1; load by batches, then persist(SyncAll); durable puts with persist(SyncData) \
            after each; cache twice the data",
    part: StoreRole::Rows,
    durable: true,
    open: |setup| {
        let database = Database::builder(setup.folder.join("fjall")).cache_size(setup.cache_bytes());
        let database = database.open().map_err(text)?;
        let rows = database.keyspace("rows", KeyspaceCreateOptions::default).map_err(text)?;
        Ok(Box::new(Fjall { database, rows, level: setup.level }))
    },
};

/// A fjall database with one keyspace.
struct Fjall {
    database: Database,
    rows: Keyspace,
    level: DurabilityLevel,
}

impl StoreContender for Fjall {
    fn put_batch(&mut self, rows: &BenchRows, numbers: Range<usize>) -> StoreResult<()> {
        let mut batch = self.database.batch();
        for n in numbers {
            batch.insert(&self.rows, &*rows.key(n), rows.value(n));
        }
        batch.commit().map_err(text)
    }

    fn put(&mut self, rows: &BenchRows, n: usize) -> StoreResult<()> {
        self.rows.insert(&*rows.key(n), rows.value(n)).map_err(text)?;
        if self.level == DurabilityLevel::Sync {
            self.database.persist(PersistMode::SyncData).map_err(text)
        } else {
            Ok(())
        }
    }

    fn force(&mut self) -> StoreResult<()> {
        self.database.persist(PersistMode::SyncAll).map_err(text)
    }

    fn get_each(&mut self, rows: &BenchRows, numbers: &[usize], found: FoundRow<'_>) -> StoreResult<()> {
        for &n in numbers {
            let value = self.rows.get(&*rows.key(n)).map_err(text)?;
            found(n, value.as_deref());
        }
        Ok(())
    }
}
