//! LMDB, through the crate `heed`. Relaxed is `MDB_NOSYNC` with `MDB_WRITEMAP`.

use std::ops::Range;
use std::path::Path;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions};

use super::contender::{Contender, Level, text};
use super::rows::Rows;

/// An LMDB environment with one database.
pub struct Lmdb {
    env: Env,
    rows: Database<Bytes, Bytes>,
}

impl Contender for Lmdb {
    const NAME: &'static str = "lmdb";

    fn open(folder: &Path, level: Level) -> Result<Self, String> {
        let mut options = EnvOpenOptions::new();
        options.map_size(16 << 30);
        // SAFETY: the folder is the bench's own, so no other program changes the file under the map, and one
        // process opens it once. NO_SYNC may lose data in a crash, which is what is measured.
        let env = unsafe {
            if level == Level::Relaxed {
                options.flags(EnvFlags::NO_SYNC | EnvFlags::WRITE_MAP);
            }
            options.open(folder)
        }
        .map_err(text)?;
        let mut transaction = env.write_txn().map_err(text)?;
        let rows = env.create_database(&mut transaction, None).map_err(text)?;
        transaction.commit().map_err(text)?;
        Ok(Self { env, rows })
    }

    fn put_batch(&mut self, rows: &Rows, numbers: Range<usize>) -> Result<(), String> {
        let mut transaction = self.env.write_txn().map_err(text)?;
        for n in numbers {
            self.rows.put(&mut transaction, &Rows::key(n), &rows.value(n)).map_err(text)?;
        }
        transaction.commit().map_err(text)
    }

    fn put(&mut self, rows: &Rows, n: usize) -> Result<(), String> {
        self.put_batch(rows, n..n + 1)
    }

    fn force(&mut self) -> Result<(), String> {
        self.env.force_sync().map_err(text)
    }

    fn get_each(
        &mut self,
        numbers: &[usize],
        mut found: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), String> {
        let transaction = self.env.read_txn().map_err(text)?;
        for &n in numbers {
            found(n, self.rows.get(&transaction, &Rows::key(n)).map_err(text)?);
        }
        Ok(())
    }
}
