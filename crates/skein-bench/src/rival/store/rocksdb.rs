//! `RocksDB`, through the C interface of the system's library (Debian: `librocksdb-dev`), so that
//! the bench does not have to compile it.
//!
//! `None` runs without a log, so a force flushes the memtables. `Relaxed` is its default: it writes
//! the log to the system and does not force it. If a cache size is given, half of it is for the
//! memtables, at least 8 MiB: with less, RocksDB creates so many files that it delays every write.

use std::ffi::{CString, c_char, c_int, c_uchar, c_void};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::ptr::{NonNull, null_mut};

use super::rows::BenchRowKey;
use super::{
    BenchRows, DurabilityLevel, FoundRow, RegisteredStore, StoreContender, StoreResult, StoreRole,
    StoreSetup, one_more, text,
};

/// The least bytes of its memtables.
const WRITES_LEAST: usize = 8 << 20;

pub static ENTRY: RegisteredStore = RegisteredStore {
    name: "rocksdb",
    about: "the system's RocksDB by its C interface; optimize_for_point_lookup with a cache twice \
            the data, or half of the cache that is asked for and the rest for writes, 8 MiB at \
            least; a thread per core; without a log or with the log unforced, durable puts with \
            sync",
    part: StoreRole::Both,
    durable: true,
    open: |setup| Ok(Box::new(RocksDb::open(setup)?)),
};

/// A handle of the library.
pub(in crate::rival) type RocksDbPointer = *mut c_void;

// Declarations from `rocksdb/c.h`, which promises to stay compatible.
#[link(name = "rocksdb")]
unsafe extern "C" {
    pub(in crate::rival) fn rocksdb_options_create() -> RocksDbPointer;
    pub(in crate::rival) fn rocksdb_options_set_create_if_missing(options: RocksDbPointer, yes: c_uchar);
    pub(in crate::rival) fn rocksdb_options_increase_parallelism(options: RocksDbPointer, threads: c_int);
    fn rocksdb_options_optimize_for_point_lookup(options: RocksDbPointer, cache_megabytes: u64);
    fn rocksdb_options_set_db_write_buffer_size(options: RocksDbPointer, bytes: usize);
    pub(in crate::rival) fn rocksdb_options_destroy(options: RocksDbPointer);
    fn rocksdb_open(options: RocksDbPointer, name: *const c_char, error: *mut *mut c_char) -> RocksDbPointer;
    fn rocksdb_close(db: RocksDbPointer);
    pub(in crate::rival) fn rocksdb_writeoptions_create() -> RocksDbPointer;
    pub(in crate::rival) fn rocksdb_writeoptions_set_sync(options: RocksDbPointer, yes: c_uchar);
    fn rocksdb_writeoptions_disable_WAL(options: RocksDbPointer, yes: c_int);
    pub(in crate::rival) fn rocksdb_writeoptions_destroy(options: RocksDbPointer);
    pub(in crate::rival) fn rocksdb_readoptions_create() -> RocksDbPointer;
    pub(in crate::rival) fn rocksdb_readoptions_destroy(options: RocksDbPointer);
    fn rocksdb_writebatch_create() -> RocksDbPointer;
    fn rocksdb_writebatch_put(
        batch: RocksDbPointer,
        key: *const u8,
        key_len: usize,
        value: *const u8,
        len: usize,
    );
    fn rocksdb_writebatch_destroy(batch: RocksDbPointer);
    fn rocksdb_write(
        db: RocksDbPointer,
        options: RocksDbPointer,
        batch: RocksDbPointer,
        error: *mut *mut c_char,
    );
    fn rocksdb_get(
        db: RocksDbPointer,
        options: RocksDbPointer,
        key: *const u8,
        key_len: usize,
        len: *mut usize,
        error: *mut *mut c_char,
    ) -> *mut u8;
    fn rocksdb_flushoptions_create() -> RocksDbPointer;
    fn rocksdb_flushoptions_destroy(options: RocksDbPointer);
    fn rocksdb_flush(db: RocksDbPointer, options: RocksDbPointer, error: *mut *mut c_char);
    fn rocksdb_flush_wal(db: RocksDbPointer, sync: c_uchar, error: *mut *mut c_char);
    pub(in crate::rival) fn rocksdb_free(block: *mut c_void);
}

/// A `RocksDB` database.
struct RocksDb {
    db: RocksDbPointer,
    write: RocksDbPointer,
    read: RocksDbPointer,
    is_logged: bool,
}

/// Runs a call that reports errors as C strings, and returns its error as text.
pub(in crate::rival) fn checked<T>(call: impl FnOnce(*mut *mut c_char) -> T) -> StoreResult<T> {
    let mut error = null_mut();
    let done = call(&raw mut error);
    match NonNull::new(error) {
        None => Ok(done),
        Some(error) => {
            // SAFETY: on failure the library stores a C string that it allocated and that the
            // caller must free.
            unsafe {
                let text = std::ffi::CStr::from_ptr(error.as_ptr()).to_string_lossy().into_owned();
                rocksdb_free(error.as_ptr().cast());
                Err(text)
            }
        }
    }
}

impl RocksDb {
    fn open(setup: &StoreSetup<'_>) -> StoreResult<Self> {
        let name = CString::new(setup.folder.join("rocksdb").as_os_str().as_bytes()).map_err(text)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // SAFETY: handles are used only between their creation and their destruction, all on this
        // thread; `name` lives through the call.
        unsafe {
            let options = rocksdb_options_create();
            rocksdb_options_set_create_if_missing(options, 1);
            rocksdb_options_increase_parallelism(options, c_int::try_from(cores).unwrap_or(1));
            let cache = setup.cache.map_or(setup.cache_bytes(), |bytes| bytes / 2);
            rocksdb_options_optimize_for_point_lookup(options, (cache >> 20).max(1));
            if let Some(bytes) = setup.cache {
                let writes = usize::try_from(bytes / 2).map_err(text)?.max(WRITES_LEAST);
                rocksdb_options_set_db_write_buffer_size(options, writes);
            }
            let db = checked(|error| rocksdb_open(options, name.as_ptr(), error));
            rocksdb_options_destroy(options);
            let db = db?;
            let write = rocksdb_writeoptions_create();
            rocksdb_writeoptions_set_sync(write, c_uchar::from(setup.level == DurabilityLevel::Sync));
            let is_logged = setup.level != DurabilityLevel::None;
            rocksdb_writeoptions_disable_WAL(write, c_int::from(!is_logged));
            Ok(Self { db, write, read: rocksdb_readoptions_create(), is_logged })
        }
    }

    /// Writes one batch; all or nothing.
    fn put_pairs<'k>(&self, pairs: impl Iterator<Item = (BenchRowKey<'k>, Vec<u8>)>) -> StoreResult<()> {
        // SAFETY: as in `open`; the batch copies keys and values.
        unsafe {
            let batch = rocksdb_writebatch_create();
            for (key, value) in pairs {
                rocksdb_writebatch_put(batch, key.as_ptr(), key.len(), value.as_ptr(), value.len());
            }
            let done = checked(|error| rocksdb_write(self.db, self.write, batch, error));
            rocksdb_writebatch_destroy(batch);
            done
        }
    }

    /// Calls `look` with a key's value.
    fn look_up<T>(&self, key: &[u8], look: impl FnOnce(Option<&[u8]>) -> T) -> StoreResult<T> {
        let mut len = 0;
        // SAFETY: the database is open; the key lives through the call.
        let value = checked(|error| unsafe {
            rocksdb_get(self.db, self.read, key.as_ptr(), key.len(), &raw mut len, error)
        })?;
        if value.is_null() {
            return Ok(look(None));
        }
        // SAFETY: the library returned `len` bytes, which the caller must free.
        unsafe {
            let seen = look(Some(std::slice::from_raw_parts(value, len)));
            rocksdb_free(value.cast());
            Ok(seen)
        }
    }
}

impl StoreContender for RocksDb {
    fn put_batch(&mut self, rows: &BenchRows, numbers: Range<usize>) -> StoreResult<()> {
        self.put_pairs(numbers.map(|n| (rows.key(n), rows.value(n))))
    }

    fn inc(&mut self, rows: &BenchRows, n: usize) -> StoreResult<()> {
        let key = rows.key(n);
        let value = self.look_up(&key, one_more)??;
        self.put_pairs(std::iter::once((key, value.into_bytes())))
    }

    fn force(&mut self) -> StoreResult<()> {
        // SAFETY: the database is open; the options live through the call.
        unsafe {
            if self.is_logged {
                return checked(|error| rocksdb_flush_wal(self.db, 1, error));
            }
            let options = rocksdb_flushoptions_create();
            let done = checked(|error| rocksdb_flush(self.db, options, error));
            rocksdb_flushoptions_destroy(options);
            done
        }
    }

    fn get_each(&mut self, rows: &BenchRows, numbers: &[usize], found: FoundRow<'_>) -> StoreResult<()> {
        numbers.iter().try_for_each(|&n| self.look_up(&rows.key(n), |value| found(n, value)))
    }
}

impl Drop for RocksDb {
    fn drop(&mut self) {
        // SAFETY: all three were made in `open`, and nothing uses them afterwards.
        unsafe {
            rocksdb_readoptions_destroy(self.read);
            rocksdb_writeoptions_destroy(self.write);
            rocksdb_close(self.db);
        }
    }
}
