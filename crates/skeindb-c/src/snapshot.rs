//! Snapshots: all keyspaces as they were at one moment.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;

use skeindb::Snapshot;

use crate::border::found;
use crate::cursor::{CursorHandle, Source};
use crate::db::DbHandle;
use crate::keyspace::{KeyspaceHandle, of};
use crate::memory::{BytesOut, free, handle, make};
use crate::rows::at_key;
use crate::status::Status;

/// All keyspaces as they were at one moment, while writers continue. Replaced values are kept as
/// long as it lives, so free it soon.
pub struct SnapshotHandle(pub(crate) Snapshot);

/// Takes a snapshot, which the caller frees with `skein_snapshot_free`. On an error `*snapshot` is
/// NULL.
///
/// Errors: SKEIN_TOO_MANY_SNAPSHOTS.
#[unsafe(no_mangle)]
pub extern "C" fn skein_snapshot_new(
    db: Option<&DbHandle>,
    snapshot: Option<&mut MaybeUninit<*mut SnapshotHandle>>,
) -> Status {
    make(snapshot, "snapshot", || Ok(SnapshotHandle(handle(db, "db")?.0.snapshot()?)))
}

/// Reads the value that a key had; as `skein_get`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_snapshot_get(
    snapshot: Option<&SnapshotHandle>,
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
    value: Option<&mut MaybeUninit<*mut c_char>>,
    value_len: Option<&mut MaybeUninit<usize>>,
) -> Status {
    let value = BytesOut::new(value, value_len);
    // SAFETY: the caller's promise.
    unsafe {
        at_key(keyspace, (key, key_len), |keyspace, key| {
            value?.give_found(handle(snapshot, "snapshot")?.0.get(keyspace, key)?.as_deref())
        })
    }
}

/// Returns SKEIN_OK if a key was present, or SKEIN_NOT_FOUND.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_snapshot_contains(
    snapshot: Option<&SnapshotHandle>,
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        at_key(keyspace, (key, key_len), |keyspace, key| {
            Ok(found(handle(snapshot, "snapshot")?.0.contains_key(keyspace, key)?))
        })
    }
}

/// Opens a cursor over a keyspace as it was; as `skein_cursor_open`. The cursor keeps the snapshot
/// alive.
#[unsafe(no_mangle)]
pub extern "C" fn skein_snapshot_cursor(
    snapshot: Option<&SnapshotHandle>,
    keyspace: Option<&KeyspaceHandle>,
    cursor: Option<&mut MaybeUninit<*mut CursorHandle>>,
) -> Status {
    make(cursor, "cursor", || {
        let source = Source::Snapshot(handle(snapshot, "snapshot")?.0.clone());
        Ok(CursorHandle::new(source, of(keyspace)?))
    })
}

/// Frees a snapshot. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn skein_snapshot_free(snapshot: Option<Box<SnapshotHandle>>) {
    free(snapshot);
}
