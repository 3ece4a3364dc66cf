//! Pointers: turns the parameters from C into references, and results into handles or malloc's
//! memory.

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{ptr, slice};

use crate::border::{Failure, Result, call};
use crate::status::Status;

/// Bytes that belong to somebody else. `data` is NULL if there are no bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Slice {
    /// The first byte. There is no NUL byte behind the last one.
    pub data: *const c_char,
    /// The number of bytes.
    pub len: usize,
}

impl Slice {
    /// No bytes, which differs from the empty string.
    pub(crate) const NONE: Self = Self { data: ptr::null(), len: 0 };

    /// Borrows bytes. Their owner keeps them as long as the C program may read them.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr().cast(), len: bytes.len() }
    }
}

/// Returns a handle, or the failure that it is NULL.
pub(crate) fn handle<'h, T>(handle: Option<&'h T>, parameter: &str) -> Result<&'h T> {
    handle.ok_or_else(|| Failure::null(parameter))
}

/// Returns the bytes that C passes; NULL with length 0 is the empty string.
///
/// # Safety
/// Invariant 3.
pub(crate) unsafe fn bytes<'b>(data: *const c_void, len: usize, parameter: &str) -> Result<&'b [u8]> {
    // SAFETY: the caller's promise.
    unsafe { array(data.cast(), len, parameter) }
}

/// Returns the array that C passes; NULL with length 0 is empty.
///
/// # Safety
/// Invariant 3.
pub(crate) unsafe fn array<'b, T>(data: *const T, len: usize, parameter: &str) -> Result<&'b [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Failure::misuse(format!("the parameter `{parameter}` is NULL, but its length is {len}")));
    }
    if len > isize::MAX.cast_unsigned() / size_of::<T>().max(1) {
        return Err(Failure::misuse(format!(
            "the length of `{parameter}` is {len}, more than memory can have"
        )));
    }
    // SAFETY: not NULL, of a length that a slice can have, and invariant 3.
    Ok(unsafe { slice::from_raw_parts(data, len) })
}

/// Returns the bytes of an optional slice; a NULL pointer stands for no slice.
///
/// # Safety
/// Invariant 3, for the bytes of the slice.
pub(crate) unsafe fn optional<'b>(slice: Option<&Slice>, parameter: &str) -> Result<Option<&'b [u8]>> {
    // SAFETY: the caller's promise.
    slice.map(|slice| unsafe { bytes(slice.data.cast(), slice.len, parameter) }).transpose()
}

/// The bounds of a range of keys.
pub(crate) type Bounds<'b> = (Bound<&'b [u8]>, Bound<&'b [u8]>);

/// Returns the range of the keys from `from`, included, to `to`, excluded.
///
/// # Safety
/// Invariant 3, for the bytes of both.
pub(crate) unsafe fn range<'b>(from: Option<&Slice>, to: Option<&Slice>) -> Result<Bounds<'b>> {
    // SAFETY: the caller's promise.
    let (from, to) = unsafe { (optional(from, "from")?, optional(to, "to")?) };
    Ok((from.map_or(Bound::Unbounded, Bound::Included), to.map_or(Bound::Unbounded, Bound::Excluded)))
}

/// Returns a C string that must be UTF-8.
///
/// # Safety
/// Invariant 3.
pub(crate) unsafe fn text<'t>(text: *const c_char, parameter: &str) -> Result<&'t str> {
    // SAFETY: the caller's promise.
    let text = unsafe { c_string(text, parameter) }?;
    text.to_str()
        .map_err(|error| Failure::misuse(format!("the parameter `{parameter}` is not UTF-8: {error}")))
}

/// Returns a C string.
///
/// # Safety
/// Invariant 3.
pub(crate) unsafe fn c_string<'t>(text: *const c_char, parameter: &str) -> Result<&'t CStr> {
    if text.is_null() {
        return Err(Failure::null(parameter));
    }
    // SAFETY: not NULL, and invariant 3.
    Ok(unsafe { CStr::from_ptr(text) })
}

/// Returns the path that a C string names, in the bytes of the file system.
///
/// # Safety
/// Invariant 3.
pub(crate) unsafe fn path<'t>(text: *const c_char, parameter: &str) -> Result<&'t Path> {
    // SAFETY: the caller's promise.
    let text = unsafe { c_string(text, parameter) }?;
    Ok(Path::new(OsStr::from_bytes(text.to_bytes())))
}

/// A parameter through which a function returns something.
pub(crate) type Out<'o, T> = Option<&'o mut MaybeUninit<T>>;

/// Returns the place of a required output with its first content, which stays after a failure.
pub(crate) fn out<'o, T>(place: Out<'o, T>, first: T, parameter: &str) -> Result<&'o mut T> {
    Ok(place.ok_or_else(|| Failure::null(parameter))?.write(first))
}

/// Makes a handle of a new object (invariant 5).
pub(crate) fn give<T>(object: T) -> *mut T {
    Box::into_raw(Box::new(object))
}

/// Runs the body of a function that makes a handle, and stores the handle in `*place`; NULL after a
/// failure.
pub(crate) fn make<T>(place: Out<'_, *mut T>, parameter: &str, body: impl FnOnce() -> Result<T>) -> Status {
    call(|| {
        let place = out(place, ptr::null_mut(), parameter)?;
        *place = give(body()?);
        Ok(())
    })
}

/// Runs the body of a function that frees a handle.
pub(crate) fn free<T>(handle: Option<Box<T>>) {
    call(|| {
        drop(handle);
        Ok(())
    });
}

/// Stores a number where the caller wants it, if anywhere.
pub(crate) fn store<T>(place: Option<&mut T>, number: T) {
    if let Some(place) = place {
        *place = number;
    }
}

/// Returns `len` bytes of malloc's memory (invariant 6), which are not initialized.
pub(crate) fn allocate(len: usize) -> Result<*mut u8> {
    // SAFETY: any length is allowed. The pointer is checked below.
    let memory = unsafe { libc::malloc(len.max(1)) };
    if memory.is_null() {
        return Err(Failure::new(Status::SKEIN_NO_MEMORY, format!("no memory for {len} bytes; free some")));
    }
    Ok(memory.cast())
}

/// The outputs of a function that returns bytes: their first one, and their number.
pub(crate) struct BytesOut<'o> {
    data: &'o mut *mut c_char,
    len: Option<&'o mut usize>,
}

impl<'o> BytesOut<'o> {
    /// Takes the two parameters. The length may be NULL, because a NUL byte follows the bytes.
    pub(crate) fn new(data: Out<'o, *mut c_char>, len: Out<'o, usize>) -> Result<Self> {
        let len = len.map(|len| len.write(0));
        Ok(Self { data: out(data, ptr::null_mut(), "value")?, len })
    }

    /// As [`new`](Self::new), for a caller that may not want the bytes.
    pub(crate) fn optional(data: Out<'o, *mut c_char>, len: Out<'o, usize>) -> Option<Self> {
        let len = len.map(|len| len.write(0));
        data.map(|data| Self { data: data.write(ptr::null_mut()), len })
    }

    /// Gives the bytes if there are some, and returns whether there were.
    pub(crate) fn give_found(self, bytes: Option<&[u8]>) -> Result<Status> {
        let Some(bytes) = bytes else { return Ok(Status::SKEIN_NOT_FOUND) };
        self.give(bytes)?;
        Ok(Status::SKEIN_OK)
    }

    /// Copies the bytes into memory that the C program frees, with a NUL byte behind them.
    pub(crate) fn give(self, bytes: &[u8]) -> Result<()> {
        let memory = allocate(bytes.len() + 1)?;
        // SAFETY: the new memory has a byte more than the bytes, and nobody else knows it.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len());
            memory.add(bytes.len()).write(0);
        }
        *self.data = memory.cast();
        store(self.len, bytes.len());
        Ok(())
    }
}

/// Returns names as one piece of malloc's memory: pointers, NULL, and the bytes they point to.
pub(crate) fn give_names(names: &[String]) -> Result<*mut *mut c_char> {
    let names = names.iter().map(|name| Some(name.as_bytes()));
    give_table(&names.chain([None]).collect::<Vec<_>>(), |name, _| name)
}

/// Returns values as one piece of malloc's memory: slices, and the bytes they point to.
pub(crate) fn give_slices(values: &[Option<Vec<u8>>]) -> Result<*mut Slice> {
    let values = values.iter().map(Option::as_deref);
    give_table(&values.collect::<Vec<_>>(), |data, len| Slice { data, len })
}

/// Returns pieces of bytes as one piece of malloc's memory: a table, and behind it the bytes, each
/// piece with a NUL byte. `entry` makes the entry of a piece of its first byte and its length, or
/// of NULL and 0 if there is no piece.
fn give_table<T>(pieces: &[Option<&[u8]>], entry: impl Fn(*mut c_char, usize) -> T) -> Result<*mut T> {
    const { assert!(align_of::<T>() <= align_of::<usize>(), "malloc aligns for it") };
    let bytes: usize = pieces.iter().flatten().map(|piece| piece.len() + 1).sum();
    let table: *mut T = allocate(pieces.len() * size_of::<T>() + bytes)?.cast();
    // SAFETY: the new memory has the whole table before the bytes.
    let mut next: *mut u8 = unsafe { table.add(pieces.len()) }.cast();
    for (number, piece) in pieces.iter().enumerate() {
        let made = piece.map_or_else(|| entry(ptr::null_mut(), 0), |piece| entry(next.cast(), piece.len()));
        // SAFETY: the table has a place for each piece, and malloc's memory is aligned for it.
        unsafe { table.add(number).write(made) };
        let Some(piece) = piece else { continue };
        // SAFETY: behind the table are the bytes of each piece and one more.
        unsafe {
            ptr::copy_nonoverlapping(piece.as_ptr(), next, piece.len());
            next.add(piece.len()).write(0);
            next = next.add(piece.len() + 1);
        }
    }
    Ok(table)
}

/// Frees a value or a list that a function has returned through a pointer. NULL is allowed. It is
/// the same as free(), if program and library have the same C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_free(memory: *mut c_void) {
    // SAFETY: the memory is malloc's (invariant 6), and the caller promises the rest.
    unsafe { libc::free(memory) }
}
