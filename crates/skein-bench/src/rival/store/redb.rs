//! The crate `redb`. Relaxed is `Durability::None`, with one immediate commit at the end.

use std::ops::Range;

use linkme::distributed_slice;
use redb::{Database, Durability, ReadableDatabase, TableDefinition};

use super::{Contender, Entry, Level, Outcome, Rows, STORES, text};

#[distributed_slice(STORES)]
static ENTRY: Entry = Entry {
    name: "redb",
    about: "redb 4.4; load at Durability::None, then one immediate commit; durable puts at Immediate; cache twice the data",
    rank: 20,
    open: |setup| {
        let mut builder = Database::builder();
        builder.set_cache_size(usize::try_from(setup.cache_bytes()).map_err(text)?);
        let database = builder.create(setup.folder.join("redb")).map_err(text)?;
        let durability = match setup.level {
            Level::Relaxed => Durability::None,
            Level::Sync => Durability::Immediate,
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

impl Contender for Redb {
    fn put_batch(&mut self, rows: &Rows, numbers: Range<usize>) -> Outcome<()> {
        let mut transaction = self.database.begin_write().map_err(text)?;
        transaction.set_durability(self.durability).map_err(text)?;
        {
            let mut table = transaction.open_table(ROWS).map_err(text)?;
            for n in numbers {
                table.insert(&rows.key(n)[..], &rows.value(n)[..]).map_err(text)?;
            }
        }
        transaction.commit().map_err(text)
    }

    fn put(&mut self, rows: &Rows, n: usize) -> Outcome<()> {
        self.put_batch(rows, n..n + 1)
    }

    fn force(&mut self) -> Outcome<()> {
        let transaction = self.database.begin_write().map_err(text)?;
        transaction.commit().map_err(text)
    }

    fn get_each(
        &mut self,
        rows: &Rows,
        numbers: &[usize],
        found: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Outcome<()> {
        let transaction = self.database.begin_read().map_err(text)?;
        let table = transaction.open_table(ROWS).map_err(text)?;
        for &n in numbers {
            let value = table.get(&rows.key(n)[..]).map_err(text)?;
            found(n, value.as_ref().map(redb::AccessGuard::value));
        }
        Ok(())
    }
}
