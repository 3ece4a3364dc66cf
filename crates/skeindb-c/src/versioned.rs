//! Structs that grow: the first field is the size that the C program was compiled with.
//!
//! A program of an older version passes a shorter struct: the fields that it lacks are 0, which is
//! always the default. One of a newer version passes a longer one, which is accepted if the fields
//! that this library does not know are 0. No struct has padding, which would have no value.

use std::ptr;

use crate::border::{Failure, Result};
use crate::status::Status;

/// A struct of plain integers and pointers that begins with its size.
///
/// # Safety
/// The struct is `repr(C)`, all its fields are unsigned integers or raw pointers, the first one is
/// a `usize`, and it has no padding. So any bytes are a value, and zeros are one.
pub(crate) unsafe trait Versioned: Copy {}

pub(crate) fn zero<T: Versioned>() -> T {
    // SAFETY: zeros are a value.
    unsafe { std::mem::zeroed() }
}

/// Reads the struct that C passes; NULL means that all fields have their defaults.
///
/// # Safety
/// The pointer is NULL or points to a `usize` with the number of bytes that can be read there,
/// itself included.
pub(crate) unsafe fn read<T: Versioned>(from: *const T, parameter: &str) -> Result<T> {
    if from.is_null() {
        return Ok(zero());
    }
    // SAFETY: the caller's promise.
    let size = unsafe { size_at(from, parameter)? };
    let known = size.min(size_of::<T>());
    for at in known..size {
        // SAFETY: `at` is within the size that the caller promises.
        if unsafe { from.cast::<u8>().add(at).read() } != 0 {
            let text = format!(
                "`{parameter}` sets a field at byte {at}, but this library knows {known} bytes; use a newer library"
            );
            return Err(Failure::new(Status::SKEIN_BAD_OPTION, text));
        }
    }
    let mut read: T = zero();
    // SAFETY: both have `known` bytes, and any bytes are a value.
    unsafe { ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut read).cast(), known) };
    Ok(read)
}

/// Writes the part of a struct that C has room for, but not its size. Fields that this library does
/// not know become 0.
///
/// # Safety
/// The pointer is NULL or points to a `usize` with the number of bytes that can be written there,
/// itself included.
pub(crate) unsafe fn write<T: Versioned>(to: *mut T, from: &T, parameter: &str) -> Result<()> {
    if to.is_null() {
        return Err(Failure::null(parameter));
    }
    // SAFETY: the caller's promise.
    let size = unsafe { size_at(to, parameter)? };
    let known = size.min(size_of::<T>());
    let (to, from) = (to.cast::<u8>(), ptr::from_ref(from).cast::<u8>());
    let first = size_of::<usize>();
    // SAFETY: `first <= known <= size`, and the caller promises `size` bytes. The source has at
    // least `known`.
    unsafe {
        ptr::copy_nonoverlapping(from.add(first), to.add(first), known - first);
        ptr::write_bytes(to.add(known), 0, size - known);
    }
    Ok(())
}

/// Returns the size at the beginning of a struct.
///
/// # Safety
/// The pointer points to a `usize`.
unsafe fn size_at<T>(at: *const T, parameter: &str) -> Result<usize> {
    // SAFETY: the caller's promise.
    let size = unsafe { at.cast::<usize>().read_unaligned() };
    // No version of a struct will be larger than a page.
    if (size_of::<usize>()..=4096).contains(&size) {
        return Ok(size);
    }
    let text = format!("`{parameter}->size` is {size}; set it to the size of the struct with sizeof");
    Err(Failure::misuse(text))
}
