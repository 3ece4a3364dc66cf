//! Reads and writes of a keyspace's rows.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use skeindb::Keyspace;

use crate::border::{Failure, Result, answer, call, done, found};
use crate::keyspace::{KeyspaceHandle, of};
use crate::memory::{BytesOut, Slice, array, bytes, give_slices, optional, out, range, store};
use crate::status::Status;

/// Returns the time that is so many milliseconds after 1970.
pub(crate) fn time_of(unix_ms: u64) -> Result<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(unix_ms)).ok_or_else(|| {
        Failure::misuse(format!("the time {unix_ms} ms after 1970 is beyond what the system can count"))
    })
}

/// Runs the body of a function about a key of a keyspace, with both, as [`answer`] does.
///
/// # Safety
/// Invariant 3, for the key.
pub(crate) unsafe fn at_key(
    keyspace: Option<&KeyspaceHandle>,
    (key, key_len): (*const c_void, usize),
    body: impl FnOnce(&Keyspace, &[u8]) -> Result<Status>,
) -> Status {
    answer(|| {
        // SAFETY: the caller's promise.
        let key = unsafe { bytes(key, key_len, "key")? };
        body(of(keyspace)?, key)
    })
}

/// Sets a key to a value, whatever it held.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_put(
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        at_key(keyspace, (key, key_len), |keyspace, key| {
            Ok(done(keyspace.insert(key, bytes(value, value_len, "value")?)?))
        })
    }
}

/// Sets a key to a value that expires: from `expires_unix_ms` milliseconds after 1970 on, the key
/// is absent. A later `skein_put` removes the time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_put_until(
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
            let value = bytes(value, value_len, "value")?;
            Ok(done(keyspace.insert_until(key, value, time_of(expires_unix_ms)?)?))
        })
    }
}

/// Reads the value of a key. Returns SKEIN_OK with the value in `*value` and its length in
/// `*value_len`, or SKEIN_NOT_FOUND with NULL and 0. The caller frees the value with `skein_free`.
/// A NUL byte follows it, so `value_len` may be NULL for a value that is text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_get(
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
    value: Option<&mut MaybeUninit<*mut c_char>>,
    value_len: Option<&mut MaybeUninit<usize>>,
) -> Status {
    let value = BytesOut::new(value, value_len);
    // SAFETY: the caller's promise.
    unsafe {
        at_key(keyspace, (key, key_len), |keyspace, key| value?.give_found(keyspace.get(key)?.as_deref()))
    }
}

/// Reads the values of `count` keys, as of one moment: faster than so many calls of `skein_get`. On
/// success `*values` has so many slices, in the order of `keys`. The slice of an absent key has
/// NULL. A NUL byte follows each value. The caller frees all of them by one `skein_free(values)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_get_many(
    keyspace: Option<&KeyspaceHandle>,
    keys: *const Slice,
    count: usize,
    values: Option<&mut MaybeUninit<*mut Slice>>,
) -> Status {
    call(|| {
        let values = out(values, ptr::null_mut(), "values")?;
        // SAFETY: the caller's promise.
        let keys = unsafe { array(keys, count, "keys")? };
        // SAFETY: the caller's promise, for the bytes of each slice.
        let keys = keys.iter().map(|key| unsafe { bytes(key.data.cast(), key.len, "keys[i].data") });
        *values = give_slices(&of(keyspace)?.get_many(keys.collect::<Result<Vec<_>>>()?)?)?;
        Ok(())
    })
}

/// Returns SKEIN_OK if a key is present, whatever it holds, or SKEIN_NOT_FOUND.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_contains(
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { at_key(keyspace, (key, key_len), |keyspace, key| Ok(found(keyspace.contains_key(key)?))) }
}

/// Removes a key, whatever it holds. Returns SKEIN_OK, or SKEIN_NOT_FOUND if it was absent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_delete(
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { at_key(keyspace, (key, key_len), |keyspace, key| Ok(found(keyspace.remove(key)?))) }
}

/// Sets a key to `*desired` (removes it if `desired` is NULL) if its value is `*expected` (if it is
/// absent, when `expected` is NULL). Returns SKEIN_OK if so.
///
/// Otherwise returns SKEIN_SWAP_REFUSED and changes nothing. Then `*current` is the present value,
/// which the caller frees with `skein_free`, or NULL if the key is absent. `current` and
/// `current_len` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_compare_and_swap(
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
    expected: Option<&Slice>,
    desired: Option<&Slice>,
    current: Option<&mut MaybeUninit<*mut c_char>>,
    current_len: Option<&mut MaybeUninit<usize>>,
) -> Status {
    let current = BytesOut::optional(current, current_len);
    // SAFETY: the caller's promise.
    unsafe {
        at_key(keyspace, (key, key_len), |keyspace, key| {
            let (expected, desired) = (optional(expected, "expected")?, optional(desired, "desired")?);
            let Err(refused) = keyspace.compare_and_swap(key, expected, desired)? else {
                return Ok(Status::SKEIN_OK);
            };
            if let (Some(place), Some(bytes)) = (current, refused.current) {
                place.give(&bytes)?;
            }
            Ok(Status::SKEIN_SWAP_REFUSED)
        })
    }
}

/// Adds to a value that is a decimal integer, and stores the sum in `*sum`, which may be NULL. An
/// absent key counts as 0.
///
/// Errors: SKEIN_NOT_AN_INTEGER, SKEIN_OVERFLOW.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_increment(
    keyspace: Option<&KeyspaceHandle>,
    key: *const c_void,
    key_len: usize,
    by: i64,
    sum: Option<&mut MaybeUninit<i64>>,
) -> Status {
    let sum = sum.map(|sum| sum.write(0));
    // SAFETY: the caller's promise.
    unsafe {
        at_key(keyspace, (key, key_len), |keyspace, key| {
            store(sum, keyspace.increment(key, by)?);
            Ok(Status::SKEIN_OK)
        })
    }
}

/// Removes the keys from `*from`, included, to `*to`, excluded, and stores their number in
/// `*removed`, which may be NULL. A NULL bound is open. Other threads may see a part of the
/// removal, and after an error a part may be removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_delete_range(
    keyspace: Option<&KeyspaceHandle>,
    from: Option<&Slice>,
    to: Option<&Slice>,
    removed: Option<&mut MaybeUninit<u64>>,
) -> Status {
    call(|| {
        let removed = removed.map(|removed| removed.write(0));
        // SAFETY: the caller's promise.
        let bounds = unsafe { range(from, to)? };
        store(removed, of(keyspace)?.remove_range::<&[u8]>(bounds)?);
        Ok(())
    })
}

/// Stores the number of keys from `*from`, included, to `*to`, excluded, in `*count`. A NULL bound
/// is open. It visits each key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_count(
    keyspace: Option<&KeyspaceHandle>,
    from: Option<&Slice>,
    to: Option<&Slice>,
    count: Option<&mut MaybeUninit<u64>>,
) -> Status {
    call(|| {
        let count = out(count, 0, "count")?;
        // SAFETY: the caller's promise.
        let bounds = unsafe { range(from, to)? };
        *count = of(keyspace)?.count::<&[u8]>(bounds)?;
        Ok(())
    })
}
