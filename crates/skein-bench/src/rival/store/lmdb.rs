//! LMDB, through the crate `heed`. `None` and `Relaxed` are `MDB_NOSYNC` with `MDB_WRITEMAP`. Its
//! cache is always the system's, so the setting of the cache size has no effect.

use std::ops::Range;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions};

use super::{
    BenchRows, DurabilityLevel, FoundRow, RegisteredStore, StoreContender, StoreResult, StoreRole,
    StoreSetup, one_more, text,
};

pub static ENTRY: RegisteredStore = RegisteredStore {
    name: "lmdb",
    about: "LMDB by heed 0.22; load with NO_SYNC | WRITE_MAP, then force_sync; durable puts with \
            default flags; its cache is the system's",
    part: StoreRole::Both,
    durable: true,
    open: |setup| Ok(Box::new(Lmdb::open(setup)?)),
};

/// An LMDB environment with one database.
struct Lmdb {
    env: Env,
    rows: Database<Bytes, Bytes>,
}

impl Lmdb {
    fn open(setup: &StoreSetup<'_>) -> StoreResult<Self> {
        let mut options = EnvOpenOptions::new();
        // An address range, not memory. Random inserts leave pages half full, and commits keep old
        // pages for a while, so the range is generous.
        let room = (6 * setup.bytes).max(16 << 30).next_multiple_of(1 << 20);
        options.map_size(usize::try_from(room).map_err(text)?);
        // SAFETY: the folder belongs to the bench, so no other program changes the file under the
        // map, and one process opens it once. NO_SYNC may lose data in a crash, which is the level
        // being measured.
        let env = unsafe {
            if setup.level != DurabilityLevel::Sync {
                options.flags(EnvFlags::NO_SYNC | EnvFlags::WRITE_MAP);
            }
            options.open(setup.folder)
        }
        .map_err(text)?;
        let mut transaction = env.write_txn().map_err(text)?;
        let rows = env.create_database(&mut transaction, None).map_err(text)?;
        transaction.commit().map_err(text)?;
        Ok(Self { env, rows })
    }
}

impl StoreContender for Lmdb {
    fn put_batch(&mut self, rows: &BenchRows, numbers: Range<usize>) -> StoreResult<()> {
        let mut transaction = self.env.write_txn().map_err(text)?;
        for n in numbers {
            self.rows.put(&mut transaction, &rows.key(n), &rows.value(n)).map_err(text)?;
        }
        transaction.commit().map_err(text)
    }

    fn inc(&mut self, rows: &BenchRows, n: usize) -> StoreResult<()> {
        let (key, mut transaction) = (rows.key(n), self.env.write_txn().map_err(text)?);
        let value = one_more(self.rows.get(&transaction, &key).map_err(text)?)?;
        self.rows.put(&mut transaction, &key, value.as_bytes()).map_err(text)?;
        transaction.commit().map_err(text)
    }

    fn force(&mut self) -> StoreResult<()> {
        self.env.force_sync().map_err(text)
    }

    fn get_each(&mut self, rows: &BenchRows, numbers: &[usize], found: FoundRow<'_>) -> StoreResult<()> {
        let transaction = self.env.read_txn().map_err(text)?;
        for &n in numbers {
            found(n, self.rows.get(&transaction, &rows.key(n)).map_err(text)?);
        }
        Ok(())
    }
}
