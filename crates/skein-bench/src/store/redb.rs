//! The crate `redb`. Relaxed is `Durability::None`, with one immediate commit at the end.

use std::ops::Range;
use std::path::Path;

use redb::{Database, Durability, ReadableDatabase, TableDefinition};

use super::contender::{Contender, Level, text};
use super::rows::Rows;

const ROWS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");

/// A redb database with one table.
pub struct Redb {
    database: Database,
    durability: Durability,
}

impl Redb {
    fn commit(&self, rows: &Rows, numbers: Range<usize>, durability: Durability) -> Result<(), String> {
        let mut transaction = self.database.begin_write().map_err(text)?;
        transaction.set_durability(durability).map_err(text)?;
        {
            let mut table = transaction.open_table(ROWS).map_err(text)?;
            for n in numbers {
                table.insert(&Rows::key(n)[..], &rows.value(n)[..]).map_err(text)?;
            }
        }
        transaction.commit().map_err(text)
    }
}

impl Contender for Redb {
    const NAME: &'static str = "redb";

    fn open(folder: &Path, level: Level) -> Result<Self, String> {
        let database =
            Database::builder().set_cache_size(4 << 30).create(folder.join("redb")).map_err(text)?;
        let durability = match level {
            Level::Relaxed => Durability::None,
            Level::Sync => Durability::Immediate,
        };
        Ok(Self { database, durability })
    }

    fn put_batch(&mut self, rows: &Rows, numbers: Range<usize>) -> Result<(), String> {
        self.commit(rows, numbers, self.durability)
    }

    fn put(&mut self, rows: &Rows, n: usize) -> Result<(), String> {
        self.commit(rows, n..n + 1, self.durability)
    }

    fn force(&mut self) -> Result<(), String> {
        let transaction = self.database.begin_write().map_err(text)?;
        transaction.commit().map_err(text)
    }

    fn get_each(
        &mut self,
        numbers: &[usize],
        mut found: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), String> {
        let transaction = self.database.begin_read().map_err(text)?;
        let table = transaction.open_table(ROWS).map_err(text)?;
        for &n in numbers {
            let value = table.get(&Rows::key(n)[..]).map_err(text)?;
            found(n, value.as_ref().map(redb::AccessGuard::value));
        }
        Ok(())
    }
}
