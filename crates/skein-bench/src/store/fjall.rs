//! The crate `fjall`. Relaxed is its default: the journal is written to the system, not forced.

use std::ops::Range;
use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::contender::{Contender, Level, text};
use super::rows::Rows;

/// A fjall database with one keyspace.
pub struct Fjall {
    database: Database,
    rows: Keyspace,
    level: Level,
}

impl Contender for Fjall {
    const NAME: &'static str = "fjall";

    fn open(folder: &Path, level: Level) -> Result<Self, String> {
        let database = Database::builder(folder.join("fjall")).cache_size(4 << 30).open().map_err(text)?;
        let rows = database.keyspace("rows", KeyspaceCreateOptions::default).map_err(text)?;
        Ok(Self { database, rows, level })
    }

    fn put_batch(&mut self, rows: &Rows, numbers: Range<usize>) -> Result<(), String> {
        let mut batch = self.database.batch();
        for n in numbers {
            batch.insert(&self.rows, Rows::key(n), rows.value(n));
        }
        batch.commit().map_err(text)
    }

    fn put(&mut self, rows: &Rows, n: usize) -> Result<(), String> {
        self.rows.insert(Rows::key(n), rows.value(n)).map_err(text)?;
        if self.level == Level::Sync {
            self.database.persist(PersistMode::SyncData).map_err(text)
        } else {
            Ok(())
        }
    }

    fn force(&mut self) -> Result<(), String> {
        self.database.persist(PersistMode::SyncAll).map_err(text)
    }

    fn get_each(
        &mut self,
        numbers: &[usize],
        mut found: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), String> {
        for &n in numbers {
            let value = self.rows.get(Rows::key(n)).map_err(text)?;
            found(n, value.as_deref());
        }
        Ok(())
    }
}
