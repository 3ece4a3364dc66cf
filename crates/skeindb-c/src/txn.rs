//! Transactions.
//!
//! A handle and the cursors over it share the transaction, so a cursor that outlives it returns an
//! error. [`skein_transaction`] lends its transaction to a handle while the body runs.

use std::ffi::{c_char, c_int, c_void};
use std::mem::{self, MaybeUninit};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use skein_sync::locks::lock;
use skeindb::{Db, Error, Keyspace, Savepoint, Transaction};

use crate::border::{Failure, Result, call, done, found};
use crate::cursor::{CursorHandle, Source};
use crate::db::DbHandle;
use crate::keyspace::{KeyspaceHandle, of};
use crate::memory::{self, BytesOut, bytes, handle, make, out, store};
use crate::options::durability;
use crate::rows::{at_key, time_of};
use crate::status::Status;

/// A transaction. Its reads are of one moment, and its writes are private until the commit. If
/// another write has changed rows or ranges that it read, the commit fails with SKEIN_CONFLICT.
/// Keep it short.
pub struct TxnHandle {
    shared: Arc<SharedTxn>,
    /// Whether it belongs to `skein_transaction`, which commits and frees it.
    lent: bool,
}

impl TxnHandle {
    /// Returns a handle that the C program commits and frees.
    fn owned(transaction: Transaction) -> Self {
        Self { shared: SharedTxn::new(transaction), lent: false }
    }
}

/// A transaction, shared by its handle and its cursors.
pub(crate) struct SharedTxn(Mutex<TxnState>);

struct TxnState {
    /// `None` once it has ended.
    transaction: Option<Transaction>,
    savepoints: Vec<(u64, Savepoint)>,
    /// Counts the writes, so that cursors notice them.
    writes: u64,
}

impl SharedTxn {
    pub(crate) fn new(transaction: Transaction) -> Arc<Self> {
        Arc::new(Self(Mutex::new(TxnState {
            transaction: Some(transaction),
            savepoints: Vec::new(),
            writes: 0,
        })))
    }

    /// Returns the savepoint of this number. Numbers rise.
    fn savepoint(&self, number: u64) -> Option<Savepoint> {
        let savepoints = &lock(&self.0).savepoints;
        let at = savepoints.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some(savepoints[at].1)
    }

    pub(crate) fn read<R>(&self, read: impl FnOnce(&Transaction) -> Result<R>) -> Result<R> {
        read(lock(&self.0).transaction.as_ref().ok_or_else(ended)?)
    }

    pub(crate) fn write<R>(&self, write: impl FnOnce(&mut Transaction) -> skeindb::Result<R>) -> Result<R> {
        let mut state = lock(&self.0);
        state.writes += 1;
        Ok(write(state.transaction.as_mut().ok_or_else(ended)?)?)
    }

    /// Returns the number of writes so far, or an error if the transaction has ended.
    pub(crate) fn writes(&self) -> Result<u64> {
        let state = lock(&self.0);
        state.transaction.as_ref().map(|_| state.writes).ok_or_else(ended)
    }

    /// Ends the transaction for its handle and its cursors.
    fn take(&self) -> Option<Transaction> {
        lock(&self.0).transaction.take()
    }
}

fn ended() -> Failure {
    Failure::new(Status::SKEIN_TXN_ENDED, "the transaction was committed or rolled back; begin another one")
}

fn shared(txn: Option<&TxnHandle>) -> Result<&SharedTxn> {
    Ok(&handle(txn, "txn")?.shared)
}

/// Runs the body of a function about a key of a keyspace in a transaction, as [`at_key`] does.
///
/// # Safety
/// Invariant 3, for the key.
pub(crate) unsafe fn txn_at_key(
    txn: Option<&TxnHandle>,
    keyspace: Option<&KeyspaceHandle>,
    key: (*const c_void, usize),
    body: impl FnOnce(&SharedTxn, &Keyspace, &[u8]) -> Result<Status>,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { at_key(keyspace, key, |keyspace, key| body(shared(txn)?, keyspace, key)) }
}

/// Ends the transaction of a handle that the C program may end.
fn take(txn: Option<&TxnHandle>) -> Result<Transaction> {
    let txn = handle(txn, "txn")?;
    if txn.lent {
        return Err(Failure::misuse("skein_transaction ends the transaction; return from its body instead"));
    }
    txn.shared.take().ok_or_else(ended)
}

/// Begins a transaction, which the caller ends with `skein_txn_commit` or `skein_txn_rollback` and
/// frees with `skein_txn_free`. On an error `*txn` is NULL. `skein_transaction` does all of that.
#[unsafe(no_mangle)]
pub extern "C" fn skein_txn_begin(
    db: Option<&DbHandle>,
    txn: Option<&mut MaybeUninit<*mut TxnHandle>>,
) -> Status {
    make(txn, "txn", || Ok(TxnHandle::owned(handle(db, "db")?.0.begin()?)))
}

/// Begins an exclusive transaction, as `skein_txn_begin`: from now to its end all other writes
/// wait, so it cannot conflict. Reads continue. See `skein_transaction_exclusive`. End it on this
/// thread: only here a write beside it is SKEIN_MISUSE, and on another thread that write would wait
/// for ever.
///
/// Errors: SKEIN_MISUSE if this thread has an exclusive transaction open.
#[unsafe(no_mangle)]
pub extern "C" fn skein_txn_begin_exclusive(
    db: Option<&DbHandle>,
    txn: Option<&mut MaybeUninit<*mut TxnHandle>>,
) -> Status {
    make(txn, "txn", || Ok(TxnHandle::owned(handle(db, "db")?.0.begin_exclusive()?)))
}

/// Reads the value of a key, with this transaction's writes; as `skein_get`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_txn_get(
    txn: Option<&TxnHandle>,
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
    value: Option<&mut MaybeUninit<*mut c_char>>,
    value_len: Option<&mut MaybeUninit<usize>>,
) -> Status {
    let value = BytesOut::new(value, value_len);
    // SAFETY: the caller's promise.
    unsafe {
        txn_at_key(txn, keyspace, (key, key_len), |txn, keyspace, key| {
            value?.give_found(txn.read(|txn| Ok(txn.get(keyspace, key)?))?.as_deref())
        })
    }
}

/// Returns SKEIN_OK if a key is present, with this transaction's writes, or SKEIN_NOT_FOUND.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_txn_contains(
    txn: Option<&TxnHandle>,
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        txn_at_key(txn, keyspace, (key, key_len), |txn, keyspace, key| {
            Ok(found(txn.read(|txn| Ok(txn.contains_key(keyspace, key)?))?))
        })
    }
}

/// Sets a key to a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_txn_put(
    txn: Option<&TxnHandle>,
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        txn_at_key(txn, keyspace, (key, key_len), |txn, keyspace, key| {
            let value = bytes(value, value_len, "value")?;
            txn.write(|txn| txn.insert(keyspace, key, value)).map(done)
        })
    }
}

/// Sets a key to a value that expires, as `skein_put_until`. Within the transaction it does not
/// expire.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_txn_put_until(
    txn: Option<&TxnHandle>,
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    expires_unix_ms: u64,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        txn_at_key(txn, keyspace, (key, key_len), |txn, keyspace, key| {
            let (value, expires) = (bytes(value, value_len, "value")?, time_of(expires_unix_ms)?);
            txn.write(|txn| txn.insert_until(keyspace, key, value, expires)).map(done)
        })
    }
}

/// Removes a key, whatever it holds. Returns SKEIN_OK, or SKEIN_NOT_FOUND if it was absent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_txn_delete(
    txn: Option<&TxnHandle>,
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        txn_at_key(txn, keyspace, (key, key_len), |txn, keyspace, key| {
            Ok(found(txn.write(|txn| txn.remove(keyspace, key))?))
        })
    }
}

/// Adds to a value that is a decimal integer; as `skein_increment`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_txn_increment(
    txn: Option<&TxnHandle>,
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
    by: i64,
    sum: Option<&mut MaybeUninit<i64>>,
) -> Status {
    let sum = sum.map(|sum| sum.write(0));
    // SAFETY: the caller's promise.
    unsafe {
        txn_at_key(txn, keyspace, (key, key_len), |txn, keyspace, key| {
            store(sum, txn.write(|txn| txn.increment(keyspace, key, by))?);
            Ok(Status::SKEIN_OK)
        })
    }
}

/// Opens a cursor over a keyspace with this transaction's writes, also those that follow; as
/// `skein_cursor_open`. Once the transaction has ended, the cursor returns SKEIN_TXN_ENDED.
///
/// The commit checks the ranges that the cursor has read, in steps of some rows: give it a range,
/// so that it reads no rows that do not matter.
#[unsafe(no_mangle)]
pub extern "C" fn skein_txn_cursor(
    txn: Option<&TxnHandle>,
    keyspace: Option<&KeyspaceHandle>,
    cursor: Option<&mut MaybeUninit<*mut CursorHandle>>,
) -> Status {
    make(cursor, "cursor", || {
        let source = Source::Transaction(handle(txn, "txn")?.shared.clone());
        Ok(CursorHandle::new(source, of(keyspace)?))
    })
}

/// Makes a savepoint, and stores its number in `*savepoint`. It needs no free.
#[unsafe(no_mangle)]
pub extern "C" fn skein_txn_savepoint(
    txn: Option<&TxnHandle>,
    savepoint: Option<&mut MaybeUninit<u64>>,
) -> Status {
    // Numbers are not used again, so that one of another transaction is noticed.
    static NEXT: AtomicU64 = AtomicU64::new(1);
    call(|| {
        let savepoint = out(savepoint, 0, "savepoint")?;
        let mut state = lock(&shared(txn)?.0);
        let made = state.transaction.as_mut().ok_or_else(ended)?.savepoint();
        *savepoint = NEXT.fetch_add(1, Ordering::Relaxed);
        state.savepoints.push((*savepoint, made));
        Ok(())
    })
}

/// Undoes the writes after a savepoint, which stays. Reads since then are still checked at the
/// commit.
///
/// Errors: SKEIN_SAVEPOINT_GONE if an earlier savepoint was rolled back to, SKEIN_FOREIGN for a
/// savepoint of another transaction.
#[unsafe(no_mangle)]
pub extern "C" fn skein_txn_rollback_to(txn: Option<&TxnHandle>, savepoint: u64) -> Status {
    call(|| {
        let txn = shared(txn)?;
        let Some(savepoint) = txn.savepoint(savepoint) else {
            txn.writes()?;
            return Err(Error::Foreign { what: "savepoint", of: "transaction" }.into());
        };
        txn.write(|txn| txn.rollback_to(savepoint))
    })
}

/// Sets how durable the commit is when it returns: SKEIN_DURABILITY_*. By default it is as durable
/// as the database promises.
///
/// Errors: SKEIN_BAD_OPTION.
#[unsafe(no_mangle)]
pub extern "C" fn skein_txn_set_durability(txn: Option<&TxnHandle>, level: u32) -> Status {
    call(|| {
        let level = durability(level)?;
        shared(txn)?.write(|txn| level.map_or(Ok(()), |level| txn.set_durability(level)))
    })
}

/// Applies all writes, if nothing that was read has changed, and ends the transaction, also if it
/// returns an error. The caller still frees it.
///
/// Errors: SKEIN_CONFLICT if another write has changed it; otherwise those of `skein_put`. Nothing
/// was written then. If writes are stopped while the commit becomes durable, the writes may be lost
/// or not.
#[unsafe(no_mangle)]
pub extern "C" fn skein_txn_commit(txn: Option<&TxnHandle>) -> Status {
    call(|| Ok(take(txn)?.commit()?))
}

/// Ends the transaction and undoes everything, as `skein_txn_free` does without it.
#[unsafe(no_mangle)]
pub extern "C" fn skein_txn_rollback(txn: Option<&TxnHandle>) -> Status {
    call(|| {
        take(txn)?.rollback();
        Ok(())
    })
}

/// Frees a transaction; one that was not committed is rolled back. NULL is allowed, and the
/// transaction of `skein_transaction` is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn skein_txn_free(txn: Option<Box<TxnHandle>>) {
    call(|| {
        match txn {
            // `skein_transaction` owns it.
            Some(txn) if txn.lent => mem::forget(txn),
            // Its cursors may live longer.
            Some(txn) => drop(txn.shared.take()),
            None => {}
        }
        Ok(())
    });
}

/// Runs a transaction: calls `body` with it and `context`, and commits if `body` returns 0. If
/// another write has changed rows or ranges that it read, calls `body` again with a new
/// transaction, up to 1,000 times. `body` must neither end nor free the transaction, nor use it
/// after its return, nor leave by longjmp or a C++ exception.
///
/// If `body` returns a negative skein_status, nothing is written, and `skein_transaction` returns
/// the same, SKEIN_CONFLICT of another transaction too. For any other number it returns
/// SKEIN_ABORTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_transaction(
    db: Option<&DbHandle>,
    body: Option<unsafe extern "C" fn(txn: *const TxnHandle, context: *mut c_void) -> c_int>,
    context: *mut c_void,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { run(db, body, context, |db, body| db.transaction(body)) }
}

/// Runs an exclusive transaction, as `skein_transaction`: from before `body` to the end of the
/// commit no other thread writes, so it cannot conflict, and `body` is called once. Reads continue.
/// Use it for work that reads many rows that others keep changing. Keep it short, because all other
/// writes wait.
///
/// `body` must write through the transaction alone: another write on its thread returns
/// SKEIN_MISUSE. It must not wait for another thread that writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_transaction_exclusive(
    db: Option<&DbHandle>,
    body: Option<unsafe extern "C" fn(txn: *const TxnHandle, context: *mut c_void) -> c_int>,
    context: *mut c_void,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { run(db, body, context, |db, body| db.transaction_exclusive(body)) }
}

/// The body of a transaction in C.
type BodyFn = unsafe extern "C" fn(txn: *const TxnHandle, context: *mut c_void) -> c_int;

/// Runs a transaction with a body in C, as `transact` does.
///
/// # Safety
/// As for [`lend`].
unsafe fn run(
    db: Option<&DbHandle>,
    body: Option<BodyFn>,
    context: *mut c_void,
    transact: impl FnOnce(&Db, &mut dyn FnMut(&mut Transaction) -> skeindb::Result<()>) -> skeindb::Result<()>,
) -> Status {
    call(|| {
        let db = &handle(db, "db")?.0;
        let body = body.ok_or_else(|| Failure::null("body"))?;
        let mut returned = 0;
        let done = transact(db, &mut |transaction| {
            // SAFETY: the caller's promise.
            unsafe { lend(db, transaction, body, context, &mut returned) }
        });
        ended_by(done, returned)
    })
}

/// Calls `body` with a handle of the transaction, which is taken back afterwards. Stores the value
/// that `body` returned.
///
/// # Safety
/// `body` may be called with a handle of a transaction and with `context`.
unsafe fn lend(
    db: &Db,
    transaction: &mut Transaction,
    body: BodyFn,
    context: *mut c_void,
    returned: &mut c_int,
) -> skeindb::Result<()> {
    let shared = SharedTxn::new(mem::replace(transaction, db.begin()?));
    let lent = memory::give(TxnHandle { shared, lent: true });
    // SAFETY: the caller's promise; the handle lives until `body` has returned.
    *returned = unsafe { body(lent, context) };
    // SAFETY: from `give`, and `skein_txn_free` leaves such a handle alone.
    let lent = unsafe { Box::from_raw(lent) };
    // No one else can end it.
    *transaction = lent.shared.take().ok_or(Error::Closed)?;
    match Status::of_number(*returned) {
        Some(Status::SKEIN_OK) => Ok(()),
        Some(Status::SKEIN_CONFLICT) => Err(Error::Conflict { attempts: 1 }),
        _ => Err(Error::abort(format_args!("its body returned {returned}"))),
    }
}

/// Returns the answer of a transaction after its body returned this number.
fn ended_by(done: skeindb::Result<()>, returned: c_int) -> Result<()> {
    match (done, Status::of_number(returned)) {
        // The call in `body` that failed has stored its text.
        (Err(Error::Aborted { .. }), Some(status)) if returned < 0 && status != Status::SKEIN_ABORTED => {
            Err(Failure::reported(status))
        }
        (done, _) => Ok(done?),
    }
}
