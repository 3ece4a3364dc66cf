//! Batches: writes that are applied together.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::Mutex;

use skein_sync::locks::lock;
use skeindb::Batch;

use crate::border::{Result, call, done};
use crate::db::DbHandle;
use crate::keyspace::KeyspaceHandle;
use crate::memory::{bytes, free, handle, make};
use crate::rows::{at_key, time_of};
use crate::status::Status;

/// Writes to any keyspaces of one database, which are applied together.
pub struct BatchHandle(Mutex<Batch>);

/// Makes an empty batch, which the caller frees with `skein_batch_free`.
#[unsafe(no_mangle)]
pub extern "C" fn skein_batch_new(batch: Option<&mut MaybeUninit<*mut BatchHandle>>) -> Status {
    make(batch, "batch", || Ok(BatchHandle(Mutex::default())))
}

/// Adds a write to a batch.
fn add(batch: Option<&BatchHandle>, write: impl FnOnce(&mut Batch)) -> Result<()> {
    write(&mut lock(&handle(batch, "batch")?.0));
    Ok(())
}

/// Adds: set a key to a value. A key that is too long is an error of `skein_batch_apply`. Of two
/// writes to one key the last counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_batch_put(
    batch: Option<&BatchHandle>,
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        at_key(keyspace, (key, key_len), |keyspace, key| {
            let value = bytes(value, value_len, "value")?;
            add(batch, |batch| _ = batch.insert(keyspace, key, value)).map(done)
        })
    }
}

/// Adds: set a key to a value that expires, as `skein_put_until`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_batch_put_until(
    batch: Option<&BatchHandle>,
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    expires_unix_ms: u64,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        at_key(keyspace, (key, key_len), |keyspace, key| {
            let (value, expires) = (bytes(value, value_len, "value")?, time_of(expires_unix_ms)?);
            add(batch, |batch| _ = batch.insert_until(keyspace, key, value, expires)).map(done)
        })
    }
}

/// Adds: remove a key, whatever it holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_batch_delete(
    batch: Option<&BatchHandle>,
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        at_key(keyspace, (key, key_len), |keyspace, key| {
            add(batch, |batch| _ = batch.remove(keyspace, key)).map(done)
        })
    }
}

/// Applies all writes of a batch, or none of them: on disk, for snapshots and for readers. The
/// batch stays as it is, so it can be applied again; `skein_batch_clear` empties it.
///
/// Errors: SKEIN_FOREIGN, SKEIN_KEYSPACE_DROPPED, and those of `skein_put`.
#[unsafe(no_mangle)]
pub extern "C" fn skein_batch_apply(db: Option<&DbHandle>, batch: Option<&BatchHandle>) -> Status {
    call(|| {
        let (db, batch) = (handle(db, "db")?, lock(&handle(batch, "batch")?.0));
        Ok(db.0.apply(&*batch)?)
    })
}

/// Removes all writes from a batch.
#[unsafe(no_mangle)]
pub extern "C" fn skein_batch_clear(batch: Option<&BatchHandle>) -> Status {
    call(|| add(batch, |batch| *batch = Batch::new()))
}

/// Returns the number of writes in a batch; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn skein_batch_len(batch: Option<&BatchHandle>) -> usize {
    batch.map_or(0, |batch| lock(&batch.0).len())
}

/// Frees a batch. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn skein_batch_free(batch: Option<Box<BatchHandle>>) {
    free(batch);
}
