//! Our store, through one session. `Relaxed` is `buffered`, which is on disk within 200 ms.

use std::ops::Range;

use skein_store::{Durability, RowRef, Session, Store, StoreOptions};

use super::{
    BenchRows, DurabilityLevel, FoundRow, RegisteredStore, StoreContender, StoreResult, StoreRole, text,
};

/// Its name in reports.
pub const NAME: &str = "skein";

pub static ENTRY: RegisteredStore = RegisteredStore {
    name: NAME,
    about: "skein_store::Store; load at buffered, durable puts at sync; options as they come",
    part: StoreRole::Rows,
    durable: true,
    open: |setup| {
        let durability = match setup.level {
            DurabilityLevel::None => Durability::None,
            DurabilityLevel::Relaxed => Durability::Buffered,
            DurabilityLevel::Sync => Durability::Sync,
        };
        let options = StoreOptions { durability, ..StoreOptions::default() };
        let store = Store::open(setup.folder, options).map_err(text)?;
        Ok(Box::new(Skein { session: store.session(), store, level: setup.level }))
    },
};

/// `skein_store::Store`.
struct Skein {
    store: Store,
    session: Session,
    level: DurabilityLevel,
}

impl StoreContender for Skein {
    fn put_batch(&mut self, rows: &BenchRows, numbers: Range<usize>) -> StoreResult<()> {
        let owned: Vec<_> = numbers.map(|n| (rows.key(n), rows.value(n))).collect();
        let pairs: Vec<(&[u8], &[u8])> = owned.iter().map(|(key, value)| (&key[..], &value[..])).collect();
        self.session.put_all(&pairs).map(drop).map_err(text)
    }

    fn put(&mut self, rows: &BenchRows, n: usize) -> StoreResult<()> {
        let (key, value) = (rows.key(n), rows.value(n));
        let (put, ticket) = self.session.write(|writer| writer.put(&key, &value)).map_err(text)?;
        put.map_err(text)?;
        if self.level == DurabilityLevel::Sync {
            self.store.wait_durable(ticket).map_err(text)?;
        }
        Ok(())
    }

    fn force(&mut self) -> StoreResult<()> {
        self.store.flush().map_err(text)
    }

    fn get_each(&mut self, rows: &BenchRows, numbers: &[usize], found: FoundRow<'_>) -> StoreResult<()> {
        for &n in numbers {
            self.session.get_with(&rows.key(n), |row| found(n, row.and_then(RowRef::value)));
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> StoreResult<()> {
        self.store.close().map(drop).map_err(text)
    }
}
