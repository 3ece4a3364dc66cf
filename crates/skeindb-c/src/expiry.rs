//! When keys expire: reads of the time, and changes of the time alone.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::time::UNIX_EPOCH;

use skeindb::Expiry;

use crate::border::{Result, found};
use crate::keyspace::KeyspaceHandle;
use crate::memory::{handle, out};
use crate::rows::{at_key, time_of};
use crate::snapshot::SnapshotHandle;
use crate::status::Status;
use crate::txn::{TxnHandle, txn_at_key};

/// Gives the time of expiry to the C program.
fn give(expires_unix_ms: Result<&mut u64>, expiry: Expiry) -> Result<Status> {
    let place = expires_unix_ms?;
    if let Some(since) = expiry.time().and_then(|time| time.duration_since(UNIX_EPOCH).ok()) {
        *place = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    }
    Ok(found(expiry != Expiry::Absent))
}

/// Stores in `*expires_unix_ms` when a key expires, in milliseconds after 1970, or 0 if it does
/// not. Returns SKEIN_OK, or SKEIN_NOT_FOUND with 0 if the key is absent.
///
/// `skein_put` removes the time of a key, and `skein_put_until` sets another one. `skein_increment`
/// and `skein_compare_and_swap` keep it, and so does `skein_txn_increment`. A key that was removed,
/// or has expired, and is written again does not expire.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_expiry(
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
    expires_unix_ms: Option<&mut MaybeUninit<u64>>,
) -> Status {
    let expires = out(expires_unix_ms, 0, "expires_unix_ms");
    // SAFETY: the caller's promise.
    unsafe { at_key(keyspace, (key, key_len), |keyspace, key| give(expires, keyspace.expiry(key)?)) }
}

/// Lets a key expire `expires_unix_ms` milliseconds after 1970, at once if that is past. Its value
/// stays until then. Returns SKEIN_OK, or SKEIN_NOT_FOUND if the key is absent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_expire_at(
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
    expires_unix_ms: u64,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        at_key(keyspace, (key, key_len), |keyspace, key| {
            Ok(found(keyspace.expire_at(key, time_of(expires_unix_ms)?)?))
        })
    }
}

/// Lets a key not expire. Its value stays. Returns SKEIN_OK, or SKEIN_NOT_FOUND if the key is
/// absent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_persist(
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { at_key(keyspace, (key, key_len), |keyspace, key| Ok(found(keyspace.persist(key)?))) }
}

/// Stores when a key expires that was present; as `skein_expiry`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_snapshot_expiry(
    snapshot: Option<&SnapshotHandle>,
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
    expires_unix_ms: Option<&mut MaybeUninit<u64>>,
) -> Status {
    let expires = out(expires_unix_ms, 0, "expires_unix_ms");
    // SAFETY: the caller's promise.
    unsafe {
        at_key(keyspace, (key, key_len), |keyspace, key| {
            give(expires, handle(snapshot, "snapshot")?.0.expiry(keyspace, key)?)
        })
    }
}

/// Stores when a key expires, with this transaction's writes; as `skein_expiry`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_txn_expiry(
    txn: Option<&TxnHandle>,
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
    expires_unix_ms: Option<&mut MaybeUninit<u64>>,
) -> Status {
    let expires = out(expires_unix_ms, 0, "expires_unix_ms");
    // SAFETY: the caller's promise.
    unsafe {
        txn_at_key(txn, keyspace, (key, key_len), |txn, keyspace, key| {
            give(expires, txn.read(|txn| Ok(txn.expiry(keyspace, key)?))?)
        })
    }
}

/// Lets a key expire, as `skein_expire_at`. Within the transaction it does not expire. The key must
/// hold a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_txn_expire_at(
    txn: Option<&TxnHandle>,
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
    expires_unix_ms: u64,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        txn_at_key(txn, keyspace, (key, key_len), |txn, keyspace, key| {
            let expires = time_of(expires_unix_ms)?;
            Ok(found(txn.write(|txn| txn.expire_at(keyspace, key, expires))?))
        })
    }
}

/// Lets a key not expire, as `skein_persist`. The key must hold a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_txn_persist(
    txn: Option<&TxnHandle>,
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        txn_at_key(txn, keyspace, (key, key_len), |txn, keyspace, key| {
            Ok(found(txn.write(|txn| txn.persist(keyspace, key))?))
        })
    }
}
