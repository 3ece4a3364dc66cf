//! Keyspaces: named tables of a database.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr;

use skeindb::Keyspace;

use crate::border::{Result, answer, call, found};
use crate::db::DbHandle;
use crate::memory::{self, BytesOut, free, give_names, handle, make, out, store, text};
use crate::status::Status;

/// A keyspace: an ordered table of keys and values. A key has at most 65,535 bytes, 8 less in a
/// named keyspace; a value has less than 512 MiB.
pub struct KeyspaceHandle(pub(crate) Keyspace);

/// Returns the keyspace of a handle.
pub(crate) fn of(keyspace: Option<&KeyspaceHandle>) -> Result<&Keyspace> {
    Ok(&handle(keyspace, "keyspace")?.0)
}

/// Opens the keyspace of this name, and creates it if it is missing. On success `*keyspace` is a
/// handle, which the caller frees with `skein_keyspace_free`; otherwise NULL.
///
/// A name is UTF-8 of 1 to 255 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_keyspace_open(
    db: Option<&DbHandle>,
    name: *const c_char,
    keyspace: Option<&mut MaybeUninit<*mut KeyspaceHandle>>,
) -> Status {
    make(keyspace, "keyspace", || {
        // SAFETY: the caller's promise.
        let name = unsafe { text(name, "name")? };
        Ok(KeyspaceHandle(handle(db, "db")?.0.keyspace(name)?))
    })
}

/// As `skein_keyspace_open`, but returns SKEIN_NOT_FOUND if there is no keyspace of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_keyspace_find(
    db: Option<&DbHandle>,
    name: *const c_char,
    keyspace: Option<&mut MaybeUninit<*mut KeyspaceHandle>>,
) -> Status {
    answer(|| {
        let keyspace = out(keyspace, ptr::null_mut(), "keyspace")?;
        // SAFETY: the caller's promise.
        let name = unsafe { text(name, "name")? };
        let existing = handle(db, "db")?.0.existing_keyspace(name)?;
        let exists = existing.is_some();
        *keyspace = existing.map_or(ptr::null_mut(), |existing| memory::give(KeyspaceHandle(existing)));
        Ok(found(exists))
    })
}

/// Opens the default keyspace, which has no name: the keys that a server of the folder serves.
/// `*keyspace` as for `skein_keyspace_open`.
#[unsafe(no_mangle)]
pub extern "C" fn skein_keyspace_default(
    db: Option<&DbHandle>,
    keyspace: Option<&mut MaybeUninit<*mut KeyspaceHandle>>,
) -> Status {
    make(keyspace, "keyspace", || Ok(KeyspaceHandle(handle(db, "db")?.0.default_keyspace())))
}

/// Frees a handle of a keyspace; the keyspace stays. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn skein_keyspace_free(keyspace: Option<Box<KeyspaceHandle>>) {
    free(keyspace);
}

/// Stores the present name of a keyspace in `*name` and its length in `*name_len`, which may be
/// NULL. The caller frees the name with `skein_free`. The default keyspace has an empty name.
#[unsafe(no_mangle)]
pub extern "C" fn skein_keyspace_name(
    keyspace: Option<&KeyspaceHandle>,
    name: Option<&mut MaybeUninit<*mut c_char>>,
    name_len: Option<&mut MaybeUninit<usize>>,
) -> Status {
    call(|| BytesOut::new(name, name_len)?.give(of(keyspace)?.name().as_bytes()))
}

/// Stores the names of all named keyspaces in `*names`, in order, with a NULL behind the last one,
/// and their number in `*count`, which may be NULL. The caller frees the whole list by one
/// `skein_free(names)`. Names are C strings; those with a NUL byte, which other languages can make,
/// seem to end there.
#[unsafe(no_mangle)]
pub extern "C" fn skein_keyspace_list(
    db: Option<&DbHandle>,
    names: Option<&mut MaybeUninit<*mut *mut c_char>>,
    count: Option<&mut MaybeUninit<usize>>,
) -> Status {
    call(|| {
        let count = count.map(|count| count.write(0));
        let names = out(names, ptr::null_mut(), "names")?;
        let listed = handle(db, "db")?.0.keyspaces()?;
        *names = give_names(&listed)?;
        store(count, listed.len());
        Ok(())
    })
}

/// Drops a keyspace with all its keys. Returns SKEIN_NOT_FOUND if no keyspace has this name.
/// Snapshots still show it. Its handles return SKEIN_KEYSPACE_DROPPED and must still be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_keyspace_drop(db: Option<&DbHandle>, name: *const c_char) -> Status {
    answer(|| {
        // SAFETY: the caller's promise.
        let name = unsafe { text(name, "name")? };
        Ok(found(handle(db, "db")?.0.drop_keyspace(name)?))
    })
}

/// Renames a keyspace. Its handles stay valid.
///
/// Errors: SKEIN_NO_KEYSPACE if there is no `from`, SKEIN_KEYSPACE_EXISTS if there is a `to`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_keyspace_rename(
    db: Option<&DbHandle>,
    from: *const c_char,
    to: *const c_char,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (from, to) = unsafe { (text(from, "from")?, text(to, "to")?) };
        Ok(handle(db, "db")?.0.rename_keyspace(from, to)?)
    })
}
