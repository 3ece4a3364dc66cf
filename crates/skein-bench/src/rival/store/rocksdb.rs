//! `RocksDB`, through the C interface of the system's library (Debian: `librocksdb-dev`), so that the bench does not
//! have to compile it. Relaxed is its default: the log is written to the system, not forced.

use std::ffi::{CString, c_char, c_int, c_uchar, c_void};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::ptr::{NonNull, null_mut};

use linkme::distributed_slice;

use super::{Contender, Entry, Level, Outcome, Rows, STORES, Setup, text};

#[distributed_slice(STORES)]
static ENTRY: Entry = Entry {
    name: "rocksdb",
    about: "the system's RocksDB by its C interface; optimize_for_point_lookup with a cache twice the data, a thread per core; load with the log unforced, durable puts with sync",
    rank: 40,
    open: |setup| Ok(Box::new(RocksDb::open(setup)?)),
};

type Handle = *mut c_void;

// From `rocksdb/c.h`, which promises to stay compatible.
#[link(name = "rocksdb")]
unsafe extern "C" {
    fn rocksdb_options_create() -> Handle;
    fn rocksdb_options_set_create_if_missing(options: Handle, yes: c_uchar);
    fn rocksdb_options_increase_parallelism(options: Handle, threads: c_int);
    fn rocksdb_options_optimize_for_point_lookup(options: Handle, cache_megabytes: u64);
    fn rocksdb_options_destroy(options: Handle);
    fn rocksdb_open(options: Handle, name: *const c_char, error: *mut *mut c_char) -> Handle;
    fn rocksdb_close(db: Handle);
    fn rocksdb_writeoptions_create() -> Handle;
    fn rocksdb_writeoptions_set_sync(options: Handle, yes: c_uchar);
    fn rocksdb_writeoptions_destroy(options: Handle);
    fn rocksdb_readoptions_create() -> Handle;
    fn rocksdb_readoptions_destroy(options: Handle);
    fn rocksdb_writebatch_create() -> Handle;
    fn rocksdb_writebatch_put(batch: Handle, key: *const u8, key_len: usize, value: *const u8, len: usize);
    fn rocksdb_writebatch_destroy(batch: Handle);
    fn rocksdb_write(db: Handle, options: Handle, batch: Handle, error: *mut *mut c_char);
    fn rocksdb_get(
        db: Handle,
        options: Handle,
        key: *const u8,
        key_len: usize,
        len: *mut usize,
        error: *mut *mut c_char,
    ) -> *mut u8;
    fn rocksdb_flush_wal(db: Handle, sync: c_uchar, error: *mut *mut c_char);
    fn rocksdb_free(block: *mut c_void);
}

/// A `RocksDB` database.
struct RocksDb {
    db: Handle,
    write: Handle,
    read: Handle,
}

/// Runs a call that reports errors as C strings.
fn checked<T>(call: impl FnOnce(*mut *mut c_char) -> T) -> Outcome<T> {
    let mut error = null_mut();
    let done = call(&raw mut error);
    match NonNull::new(error) {
        None => Ok(done),
        Some(error) => {
            // SAFETY: on failure the library stores a C string of its own making, to be freed by us.
            unsafe {
                let text = std::ffi::CStr::from_ptr(error.as_ptr()).to_string_lossy().into_owned();
                rocksdb_free(error.as_ptr().cast());
                Err(text)
            }
        }
    }
}

impl RocksDb {
    fn open(setup: &Setup<'_>) -> Outcome<Self> {
        let name = CString::new(setup.folder.join("rocksdb").as_os_str().as_bytes()).map_err(text)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // SAFETY: handles are used between their creation and their destruction only, all on this thread;
        // `name` lives through the call.
        unsafe {
            let options = rocksdb_options_create();
            rocksdb_options_set_create_if_missing(options, 1);
            rocksdb_options_increase_parallelism(options, c_int::try_from(cores).unwrap_or(1));
            rocksdb_options_optimize_for_point_lookup(options, setup.cache_bytes() >> 20);
            let db = checked(|error| rocksdb_open(options, name.as_ptr(), error));
            rocksdb_options_destroy(options);
            let db = db?;
            let write = rocksdb_writeoptions_create();
            rocksdb_writeoptions_set_sync(write, c_uchar::from(setup.level == Level::Sync));
            Ok(Self { db, write, read: rocksdb_readoptions_create() })
        }
    }
}

impl Contender for RocksDb {
    fn put_batch(&mut self, rows: &Rows, numbers: Range<usize>) -> Outcome<()> {
        // SAFETY: as in `open`; the batch copies keys and values.
        unsafe {
            let batch = rocksdb_writebatch_create();
            for n in numbers {
                let (key, value) = (rows.key(n), rows.value(n));
                rocksdb_writebatch_put(batch, key.as_ptr(), key.len(), value.as_ptr(), value.len());
            }
            let done = checked(|error| rocksdb_write(self.db, self.write, batch, error));
            rocksdb_writebatch_destroy(batch);
            done
        }
    }

    fn put(&mut self, rows: &Rows, n: usize) -> Outcome<()> {
        self.put_batch(rows, n..n + 1)
    }

    fn force(&mut self) -> Outcome<()> {
        // SAFETY: the database is open.
        checked(|error| unsafe { rocksdb_flush_wal(self.db, 1, error) })
    }

    fn get_each(
        &mut self,
        rows: &Rows,
        numbers: &[usize],
        found: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Outcome<()> {
        for &n in numbers {
            let (key, mut len) = (rows.key(n), 0);
            // SAFETY: the database is open; the key lives through the call.
            let value = checked(|error| unsafe {
                rocksdb_get(self.db, self.read, key.as_ptr(), key.len(), &raw mut len, error)
            })?;
            if value.is_null() {
                found(n, None);
                continue;
            }
            // SAFETY: the library gave `len` bytes, ours to free.
            unsafe {
                found(n, Some(std::slice::from_raw_parts(value, len)));
                rocksdb_free(value.cast());
            }
        }
        Ok(())
    }
}

impl Drop for RocksDb {
    fn drop(&mut self) {
        // SAFETY: all three were made in `open` and are used no more.
        unsafe {
            rocksdb_readoptions_destroy(self.read);
            rocksdb_writeoptions_destroy(self.write);
            rocksdb_close(self.db);
        }
    }
}
