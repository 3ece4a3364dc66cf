//! Conversion between pointers and addresses in words. Objects in an arena are linked by such
//! words.

use std::ptr::NonNull;

/// Returns an object's address, to be stored in a word.
#[inline(always)]
pub(crate) fn address_of<T>(object: NonNull<T>) -> u64 {
    object.as_ptr().expose_provenance() as u64
}

/// Returns a pointer to the object at an address.
///
/// # Safety
/// The address must be a result of [`address_of`] (so it is not null). Code that dereferences the
/// pointer must know that the object is live and of this type.
#[inline(always)]
pub(crate) unsafe fn at_address<T>(address: u64) -> NonNull<T> {
    // SAFETY: the caller's contract.
    unsafe { NonNull::new_unchecked(std::ptr::with_exposed_provenance_mut(address as usize)) }
}
