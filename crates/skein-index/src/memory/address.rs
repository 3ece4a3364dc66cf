//! Addresses in words: how what lies in an arena is linked.

use std::ptr::NonNull;

/// An object's address, for a word that leads to it.
#[inline(always)]
pub(crate) fn address_of<T>(object: NonNull<T>) -> u64 {
    object.as_ptr().expose_provenance() as u64
}

/// The object at an address.
///
/// # Safety
/// The address came from [`address_of`] (so it is not null). That the object is live and of this type is asked of those who follow the
/// pointer.
#[inline(always)]
pub(crate) unsafe fn at_address<T>(address: u64) -> NonNull<T> {
    // SAFETY: passed on to the caller.
    unsafe { NonNull::new_unchecked(std::ptr::with_exposed_provenance_mut(address as usize)) }
}
