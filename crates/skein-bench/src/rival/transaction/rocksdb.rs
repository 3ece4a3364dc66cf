//! `RocksDB`'s two kinds of transactions, through the C interface of the system's library.
//!
//! Both read by `GetForUpdate`. The optimistic kind notes the key and checks it at the commit. The
//! other kind locks the key at once, and detects deadlocks. Neither checks or locks the gaps of a
//! range, so another transaction may insert a row there. The bench's transactions insert none.

use std::ffi::{CString, c_char, c_uchar};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;

use super::{
    Body, CommitDurability, RegisteredTransactions, RowResult, TransactionContender, TransactionRows,
    TransactionStop, missing, number, repeat,
};
use crate::rival::store::rocksdb::{
    RocksDbPointer, checked, rocksdb_free, rocksdb_options_create, rocksdb_options_destroy,
    rocksdb_options_increase_parallelism, rocksdb_options_set_create_if_missing, rocksdb_readoptions_create,
    rocksdb_readoptions_destroy, rocksdb_writeoptions_create, rocksdb_writeoptions_destroy,
    rocksdb_writeoptions_set_sync,
};
use crate::rival::store::{StoreResult, text};

pub static OPTIMISTIC: RegisteredTransactions = RegisteredTransactions {
    name: "rocksdb-optimistic",
    about: "the system's RocksDB by its C interface, OptimisticTransactionDB, GetForUpdate; keys \
            are checked at the commit, gaps of ranges are not; a thread per core; the log \
            unforced, durable commits with sync",
    open: |folder| Ok(Box::new(RocksDb::open(folder, CheckedBy::Commit)?)),
};

pub static LOCKS: RegisteredTransactions = RegisteredTransactions {
    name: "rocksdb-locks",
    about: "the system's RocksDB by its C interface, TransactionDB, GetForUpdate; keys are locked, \
            gaps of ranges are not; deadlocks are detected; otherwise as rocksdb-optimistic",
    open: |folder| Ok(Box::new(RocksDb::open(folder, CheckedBy::Locks)?)),
};

// Declarations from `rocksdb/c.h`, which promises to stay compatible.
#[link(name = "rocksdb")]
unsafe extern "C" {
    fn rocksdb_optimistictransactiondb_open(
        options: RocksDbPointer,
        name: *const c_char,
        error: *mut *mut c_char,
    ) -> RocksDbPointer;
    fn rocksdb_optimistictransactiondb_close(db: RocksDbPointer);
    fn rocksdb_optimistictransaction_options_create() -> RocksDbPointer;
    fn rocksdb_optimistictransaction_options_destroy(options: RocksDbPointer);
    fn rocksdb_optimistictransaction_begin(
        db: RocksDbPointer,
        write: RocksDbPointer,
        options: RocksDbPointer,
        reused: RocksDbPointer,
    ) -> RocksDbPointer;
    fn rocksdb_transactiondb_options_create() -> RocksDbPointer;
    fn rocksdb_transactiondb_options_destroy(options: RocksDbPointer);
    fn rocksdb_transactiondb_open(
        options: RocksDbPointer,
        locks: RocksDbPointer,
        name: *const c_char,
        error: *mut *mut c_char,
    ) -> RocksDbPointer;
    fn rocksdb_transactiondb_close(db: RocksDbPointer);
    fn rocksdb_transaction_options_create() -> RocksDbPointer;
    fn rocksdb_transaction_options_set_deadlock_detect(options: RocksDbPointer, yes: c_uchar);
    fn rocksdb_transaction_options_destroy(options: RocksDbPointer);
    fn rocksdb_transaction_begin(
        db: RocksDbPointer,
        write: RocksDbPointer,
        options: RocksDbPointer,
        reused: RocksDbPointer,
    ) -> RocksDbPointer;
    fn rocksdb_transaction_get_for_update(
        transaction: RocksDbPointer,
        read: RocksDbPointer,
        key: *const u8,
        key_len: usize,
        len: *mut usize,
        exclusive: c_uchar,
        error: *mut *mut c_char,
    ) -> *mut u8;
    fn rocksdb_transaction_put(
        transaction: RocksDbPointer,
        key: *const u8,
        key_len: usize,
        value: *const u8,
        len: usize,
        error: *mut *mut c_char,
    );
    fn rocksdb_transaction_commit(transaction: RocksDbPointer, error: *mut *mut c_char);
    fn rocksdb_transaction_destroy(transaction: RocksDbPointer);
    fn rocksdb_transaction_create_iterator(
        transaction: RocksDbPointer,
        read: RocksDbPointer,
    ) -> RocksDbPointer;
    fn rocksdb_iter_seek(iterator: RocksDbPointer, key: *const u8, key_len: usize);
    fn rocksdb_iter_valid(iterator: RocksDbPointer) -> c_uchar;
    fn rocksdb_iter_next(iterator: RocksDbPointer);
    fn rocksdb_iter_key(iterator: RocksDbPointer, len: *mut usize) -> *const u8;
    fn rocksdb_iter_get_error(iterator: RocksDbPointer, error: *mut *mut c_char);
    fn rocksdb_iter_destroy(iterator: RocksDbPointer);
}

/// How a store finds that transactions conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckedBy {
    /// By a check at the commit.
    Commit,
    /// By locks of the keys.
    Locks,
}

/// A `RocksDB` database with transactions, and its options.
///
/// # Invariants
/// All pointers are valid from `open` until `drop`, and nothing changes the options meanwhile.
struct RocksDb {
    db: RocksDbPointer,
    checked_by: CheckedBy,
    relaxed: RocksDbPointer,
    sync: RocksDbPointer,
    read: RocksDbPointer,
    transaction: RocksDbPointer,
}

// SAFETY: a database may be used by several threads at once, and options that nothing changes too;
// see the invariants.
unsafe impl Sync for RocksDb {}

impl RocksDb {
    fn open(folder: &Path, checked_by: CheckedBy) -> StoreResult<Self> {
        let name = CString::new(folder.join("rocksdb").as_os_str().as_bytes()).map_err(text)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // SAFETY: handles are used only between their creation and their destruction; `name` lives
        // through the call.
        unsafe {
            let options = rocksdb_options_create();
            rocksdb_options_set_create_if_missing(options, 1);
            rocksdb_options_increase_parallelism(options, i32::try_from(cores).unwrap_or(1));
            let db = match checked_by {
                CheckedBy::Commit => {
                    checked(|error| rocksdb_optimistictransactiondb_open(options, name.as_ptr(), error))
                }
                CheckedBy::Locks => {
                    let locks = rocksdb_transactiondb_options_create();
                    let db =
                        checked(|error| rocksdb_transactiondb_open(options, locks, name.as_ptr(), error));
                    rocksdb_transactiondb_options_destroy(locks);
                    db
                }
            };
            rocksdb_options_destroy(options);
            let db = db?;
            let sync = rocksdb_writeoptions_create();
            rocksdb_writeoptions_set_sync(sync, 1);
            let transaction = match checked_by {
                CheckedBy::Commit => rocksdb_optimistictransaction_options_create(),
                CheckedBy::Locks => {
                    let options = rocksdb_transaction_options_create();
                    rocksdb_transaction_options_set_deadlock_detect(options, 1);
                    options
                }
            };
            let (relaxed, read) = (rocksdb_writeoptions_create(), rocksdb_readoptions_create());
            Ok(Self { db, checked_by, relaxed, sync, read, transaction })
        }
    }

    fn begin(&self, durability: CommitDurability) -> RocksDbRows<'_> {
        let write = match durability {
            CommitDurability::Relaxed => self.relaxed,
            CommitDurability::Sync => self.sync,
        };
        // SAFETY: the invariants; there is no transaction to reuse.
        let transaction = unsafe {
            match self.checked_by {
                CheckedBy::Commit => {
                    rocksdb_optimistictransaction_begin(self.db, write, self.transaction, null_mut())
                }
                CheckedBy::Locks => rocksdb_transaction_begin(self.db, write, self.transaction, null_mut()),
            }
        };
        RocksDbRows { transaction, store: self }
    }
}

impl TransactionContender for RocksDb {
    fn transact(&self, durability: CommitDurability, body: Body<'_>) -> StoreResult<u64> {
        repeat(|| {
            let mut rows = self.begin(durability);
            body(&mut rows)?;
            // SAFETY: the transaction is open; its drop destroys it.
            answer(|error| unsafe { rocksdb_transaction_commit(rows.transaction, error) })
        })
    }
}

impl Drop for RocksDb {
    fn drop(&mut self) {
        // SAFETY: all were made in `open`, no transaction borrows the store any more, and nothing
        // uses the pointers afterwards.
        unsafe {
            rocksdb_readoptions_destroy(self.read);
            rocksdb_writeoptions_destroy(self.relaxed);
            rocksdb_writeoptions_destroy(self.sync);
            match self.checked_by {
                CheckedBy::Commit => {
                    rocksdb_optimistictransaction_options_destroy(self.transaction);
                    rocksdb_optimistictransactiondb_close(self.db);
                }
                CheckedBy::Locks => {
                    rocksdb_transaction_options_destroy(self.transaction);
                    rocksdb_transactiondb_close(self.db);
                }
            }
        }
    }
}

/// Runs a call within a transaction. The statuses `Busy`, `TimedOut` and `TryAgain`, which the C
/// interface returns as texts alone, are conflicts.
fn answer<T>(call: impl FnOnce(*mut *mut c_char) -> T) -> RowResult<T> {
    checked(call).map_err(|error| {
        let conflicts = ["Resource busy", "Operation timed out", "Operation failed. Try again"];
        if conflicts.iter().any(|status| error.starts_with(status)) {
            TransactionStop::Conflict
        } else {
            TransactionStop::Failed(error)
        }
    })
}

/// An open transaction.
struct RocksDbRows<'s> {
    transaction: RocksDbPointer,
    store: &'s RocksDb,
}

impl RocksDbRows<'_> {
    fn get_for_update(&self, key: u64) -> RowResult<u64> {
        let (bytes, mut len) = (key.to_be_bytes(), 0);
        // SAFETY: the transaction is open; the key lives through the call.
        let value = answer(|error| unsafe {
            let (at, key_len) = (bytes.as_ptr(), bytes.len());
            let (read, len) = (self.store.read, &raw mut len);
            rocksdb_transaction_get_for_update(self.transaction, read, at, key_len, len, 1, error)
        })?;
        if value.is_null() {
            return Err(missing(key));
        }
        // SAFETY: the library returned `len` bytes, which the caller must free.
        unsafe {
            let found = number(key, std::slice::from_raw_parts(value, len));
            rocksdb_free(value.cast());
            found
        }
    }
}

impl TransactionRows for RocksDbRows<'_> {
    fn get(&mut self, key: u64) -> RowResult<u64> {
        self.get_for_update(key)
    }

    fn scan(&mut self, from: u64, values: &mut [u64]) -> RowResult<()> {
        let rows = RowIterator::new(self, from);
        for (key, value) in (from..).zip(values) {
            if rows.key()? != Some(key) {
                return Err(missing(key));
            }
            // An iterator neither locks nor notes its rows.
            *value = self.get_for_update(key)?;
            rows.advance();
        }
        Ok(())
    }

    fn put(&mut self, key: u64, value: u64) -> RowResult<()> {
        let (key, value) = (key.to_be_bytes(), value.to_be_bytes());
        // SAFETY: the transaction is open, and it copies key and value.
        answer(|error| unsafe {
            let (at, value_at) = (key.as_ptr(), value.as_ptr());
            rocksdb_transaction_put(self.transaction, at, key.len(), value_at, value.len(), error);
        })
    }
}

impl Drop for RocksDbRows<'_> {
    fn drop(&mut self) {
        // SAFETY: `begin` made it, and nothing uses it afterwards. It rolls back if it is open.
        unsafe { rocksdb_transaction_destroy(self.transaction) }
    }
}

/// An iterator over the rows of an open transaction.
struct RowIterator<'t> {
    iterator: RocksDbPointer,
    _open: PhantomData<&'t RocksDbRows<'t>>,
}

impl<'t> RowIterator<'t> {
    fn new(rows: &'t RocksDbRows<'_>, from: u64) -> Self {
        let from = from.to_be_bytes();
        // SAFETY: the transaction is open; the key lives through the call.
        unsafe {
            let iterator = rocksdb_transaction_create_iterator(rows.transaction, rows.store.read);
            rocksdb_iter_seek(iterator, from.as_ptr(), from.len());
            Self { iterator, _open: PhantomData }
        }
    }

    /// Returns the present row's key; `None` at the end.
    fn key(&self) -> RowResult<Option<u64>> {
        // SAFETY: the iterator was made in `new`; the key's bytes are valid until it moves.
        unsafe {
            if rocksdb_iter_valid(self.iterator) == 0 {
                return answer(|error| rocksdb_iter_get_error(self.iterator, error)).map(|()| None);
            }
            let mut len = 0;
            let key = rocksdb_iter_key(self.iterator, &raw mut len);
            Ok(std::slice::from_raw_parts(key, len).try_into().ok().map(u64::from_be_bytes))
        }
    }

    fn advance(&self) {
        // SAFETY: the iterator was made in `new`, and `key` found it at a row.
        unsafe { rocksdb_iter_next(self.iterator) }
    }
}

impl Drop for RowIterator<'_> {
    fn drop(&mut self) {
        // SAFETY: it was made in `new`, and nothing uses it afterwards.
        unsafe { rocksdb_iter_destroy(self.iterator) }
    }
}
