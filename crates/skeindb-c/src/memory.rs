//! Pointers: turns the parameters from C into references, and results into handles or malloc's memory.

use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::ops::Bound;
use std::{ptr, slice};

use crate::border::{Failure, Result};
use crate::status::Status;

/// Bytes that belong to somebody else. `data` is NULL if there are none.
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

    /// Borrows bytes, whose owner keeps them as long as the C program may read them.
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
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Failure::misuse(format!("the parameter `{parameter}` is NULL, but its length is {len}")));
    }
    if isize::try_from(len).is_err() {
        return Err(Failure::misuse(format!(
            "the length of `{parameter}` is {len}, more than memory can have"
        )));
    }
    // SAFETY: not NULL, of a length that a slice can have, and invariant 3.
    Ok(unsafe { slice::from_raw_parts(data.cast(), len) })
}

/// Returns the bytes of an optional slice; a NULL pointer to it means that there are none.
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
        if let Some(len) = self.len {
            *len = bytes.len();
        }
        Ok(())
    }
}

/// Returns names as one piece of malloc's memory: pointers, NULL, and the bytes they point to.
pub(crate) fn give_names(names: &[String]) -> Result<*mut *mut c_char> {
    let table = (names.len() + 1) * size_of::<*mut c_char>();
    let bytes: usize = names.iter().map(|name| name.len() + 1).sum();
    let pointers: *mut *mut c_char = allocate(table + bytes)?.cast();
    // SAFETY: the table is within the new memory.
    let mut next: *mut u8 = unsafe { pointers.cast::<u8>().add(table) };
    for (number, name) in names.iter().enumerate() {
        // SAFETY: malloc's memory is aligned for pointers. The table has a place for each name, and
        // behind it are the bytes of each name and one more.
        unsafe {
            pointers.add(number).write(next.cast());
            ptr::copy_nonoverlapping(name.as_ptr(), next, name.len());
            next.add(name.len()).write(0);
            next = next.add(name.len() + 1);
        }
    }
    // SAFETY: the last place of the table.
    unsafe { pointers.add(names.len()).write(ptr::null_mut()) };
    Ok(pointers)
}

/// Frees a value or a list that a function has returned through a pointer. NULL is allowed. It is
/// the same as free(), if program and library have the same C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_free(memory: *mut c_void) {
    // SAFETY: the memory is malloc's (invariant 6), and the caller promises the rest.
    unsafe { libc::free(memory) }
}
