//! The length of a cache line, and a type that fills its own lines.

use std::ops::{Deref, DerefMut};

/// The size of a cache line, in bytes, on all processors that we tune for.
pub const CACHE_LINE: usize = 64;

/// A value that shares no cache line with its neighbours, so that threads that write neighbours do
/// not slow each other down.
///
/// The alignment is two lines: Intel's adjacent-line prefetcher fetches lines in pairs, and Apple's
/// lines are 128 bytes.
///
/// ```
/// use skein_sync::cache::CachePadded;
/// let counters: [CachePadded<u64>; 2] = Default::default();
/// assert_eq!(size_of_val(&counters), 256);
/// ```
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[repr(align(128))]
pub struct CachePadded<T>(pub T);

impl<T> CachePadded<T> {
    /// Pads `value`.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for CachePadded<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for CachePadded<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
