//! Our store, by one session. Relaxed is `buffered`, which is on disk within 200 ms.

use std::ops::Range;
use std::path::Path;

use skein_store::{Durability, RowRef, Session, Store, StoreOptions};

use super::contender::{Contender, Level, text};
use super::rows::Rows;

/// `skein_store::Store`.
pub struct Skein {
    store: Store,
    session: Session,
    level: Level,
}

impl Contender for Skein {
    const NAME: &'static str = "skein";

    fn open(folder: &Path, level: Level) -> Result<Self, String> {
        let durability = match level {
            Level::Relaxed => Durability::Buffered,
            Level::Sync => Durability::Sync,
        };
        let store =
            Store::open(folder, StoreOptions { durability, ..StoreOptions::default() }).map_err(text)?;
        Ok(Self { session: store.session(), store, level })
    }

    fn put_batch(&mut self, rows: &Rows, numbers: Range<usize>) -> Result<(), String> {
        let owned: Vec<_> = numbers.map(|n| (Rows::key(n), rows.value(n))).collect();
        let pairs: Vec<(&[u8], &[u8])> = owned.iter().map(|(key, value)| (&key[..], &value[..])).collect();
        self.session.put_all(&pairs).map(drop).map_err(text)
    }

    fn put(&mut self, rows: &Rows, n: usize) -> Result<(), String> {
        let (key, value) = (Rows::key(n), rows.value(n));
        let (put, ticket) = self.session.write(|writer| writer.put(&key, &value)).map_err(text)?;
        put.map_err(text)?;
        if self.level == Level::Sync {
            self.store.wait_durable(ticket).map_err(text)?;
        }
        Ok(())
    }

    fn force(&mut self) -> Result<(), String> {
        self.store.flush().map_err(text)
    }

    fn get_each(
        &mut self,
        numbers: &[usize],
        mut found: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), String> {
        for &n in numbers {
            self.session.get_with(&Rows::key(n), |row| found(n, row.and_then(RowRef::value)));
        }
        Ok(())
    }
}

impl Drop for Skein {
    fn drop(&mut self) {
        // Another process of the bench may open the folder next; a failure shows there.
        let _ = self.store.close();
    }
}
