//! Slots: how an index stores a value in one 64-bit word.
//!
//! A slot is either the value itself ([`Inline`]) or a pointer to it ([`Boxed`], or a user's record
//! type that implements [`Slot`]). An index stores and loads the word atomically, so a reader sees
//! the old value or the new one, never a mixture. A replaced value is dropped after a grace period.
//!
//! A slot may also say how its values are embedded: how an index may hold their bytes in its own
//! nodes, in place of a pointer. Of the indexes here, the page tree does so.

use std::marker::PhantomData;
use std::ptr::NonNull;

use skein_sync::reclaim::{GracePeriod, Guard};

/// A value that an index can store in one 64-bit word.
///
/// # Safety
/// - `into_word` and `from_word` are inverse to each other: the word owns everything that the slot
///   owned.
/// - `borrow` of a word stays valid for `'g` if `from_word` on it is called (and its result
///   dropped) only after `'g`. It must not require that the word is still in the index.
/// - If `OWNS` is false, dropping the slot does nothing, so an index may forget words freely.
/// - `borrow` may be called from several threads at once, and `from_word` from another thread than
///   `into_word`.
pub unsafe trait Slot: Sized + Send + Sync + 'static {
    /// The result of a lookup: a copy of an inline value, or a reference to a boxed one.
    type Ref<'g>: Copy;

    /// Whether the word owns memory. A replaced word that owns memory must be retired, not only
    /// forgotten.
    const OWNS: bool;

    /// Whether the word is always 0 or 1. An index may then store it as one bit.
    const IS_FLAG: bool = false;

    /// Converts the value into a word, which then owns it.
    fn into_word(self) -> u64;

    /// Converts a word back into the value.
    ///
    /// # Safety
    /// The word must come from `into_word` of this type, and must be converted back at most once.
    unsafe fn from_word(word: u64) -> Self;

    /// Borrows the value behind a word.
    ///
    /// # Safety
    /// The word must come from `into_word` of this type and must not be converted back before `'g`
    /// ends.
    unsafe fn borrow<'g>(word: u64) -> Self::Ref<'g>;

    /// Prefetches the memory that [`borrow`](Slot::borrow) will read; does nothing by default. Must
    /// accept any word: an index may call it before it has validated its read.
    #[inline(always)]
    fn prefetch(_word: u64) {}

    /// Whether an index may hold values of this type embedded: as bytes in its own nodes, which own
    /// nothing. The word of such a value is the address of its bytes, which are aligned to 2, and
    /// [`borrow`](Slot::borrow) accepts it until the node is freed.
    const EMBEDS: bool = false;

    /// Returns the number of bytes of this value if it is embedded. Returns `None` if it must be
    /// stored as a word, because it owns something or is long.
    fn embedded_size(&self) -> Option<usize> {
        None
    }

    /// Moves the value's bytes to `to`.
    ///
    /// # Safety
    /// [`embedded_size`](Slot::embedded_size) has returned a size, and there are as many bytes at
    /// `to`, aligned to 2 and not shared yet.
    unsafe fn embed(self, _to: NonNull<u8>) {
        unreachable!("values of this type are not embedded");
    }

    /// Returns the number of bytes of an embedded value.
    ///
    /// # Safety
    /// [`embed`](Slot::embed) wrote it, or it is a copy of such a value.
    unsafe fn embedded_size_at(_value: NonNull<u8>) -> usize {
        unreachable!("values of this type are not embedded");
    }

    /// How many bytes at the start of an embedded value may change: a multiple of 2. They are read
    /// and written as atomics of 16 bits, once the value is shared. All bytes behind them never change,
    /// so an index may copy a value at any time.
    const EMBEDDED_ATOMIC: usize = 0;
}

/// Drops the value that a word owns, if any, when no thread can see it any more.
///
/// # Safety
/// The word came from `into_word` of `S`. The index owned it and it was removed from the index: no
/// guard entered from now on finds it there.
#[inline]
pub(crate) unsafe fn retire_value<S: Slot>(word: u64, guard: &impl Guard) {
    unsafe fn reclaim<S: Slot>(pointer: *mut u8, _: &GracePeriod) {
        // SAFETY: the word is passed back once, after the grace period.
        drop(unsafe { S::from_word(pointer.addr() as u64) });
    }
    if S::OWNS {
        // SAFETY: the caller's promise.
        unsafe {
            guard.defer_retire(std::ptr::with_exposed_provenance_mut::<u8>(word as usize), reclaim::<S>);
        }
    }
}

/// A plain value of at most 8 bytes. The index stores it directly and returns copies.
///
/// ```
/// use skein_index::{Inline, Slot};
/// let word = Inline(7u64).into_word();
/// // SAFETY: the word was made on the line above.
/// assert_eq!(unsafe { Inline::<u64>::borrow(word) }, 7);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inline<T: InlineValue>(pub T);

/// Types that fit into a word: booleans, integers and floats of up to 64 bits, and `()`. Sealed.
pub trait InlineValue: Copy + Send + Sync + 'static + sealed::Sealed {
    /// Whether the word is always 0 or 1.
    const IS_FLAG: bool = false;
    /// Whether there is only one value, so that a key needs no memory for it.
    const IS_UNIT: bool = false;
    /// Returns the value's bits in a word.
    fn to_word(self) -> u64;
    /// Returns the value from the bits in `word`.
    fn from_word(word: u64) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! inline_integers {
    ($($t:ty),*) => {$(
        impl sealed::Sealed for $t {}
        #[allow(
            clippy::cast_lossless,
            clippy::cast_sign_loss,
            clippy::cast_possible_wrap,
            reason = "one text for all widths and signs; a word holds the bits of each"
        )]
        impl InlineValue for $t {
            #[inline(always)]
            fn to_word(self) -> u64 { self as u64 }
            #[inline(always)]
            fn from_word(word: u64) -> Self { word as $t }
        }
    )*};
}
inline_integers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

impl sealed::Sealed for bool {}
impl InlineValue for bool {
    const IS_FLAG: bool = true;

    #[inline(always)]
    fn to_word(self) -> u64 {
        self.into()
    }
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        word != 0
    }
}

impl sealed::Sealed for () {}
impl InlineValue for () {
    const IS_FLAG: bool = true;
    const IS_UNIT: bool = true;

    #[inline(always)]
    fn to_word(self) -> u64 {
        0
    }
    #[inline(always)]
    fn from_word(_: u64) -> Self {}
}

impl sealed::Sealed for f64 {}
impl InlineValue for f64 {
    #[inline(always)]
    fn to_word(self) -> u64 {
        self.to_bits()
    }
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        f64::from_bits(word)
    }
}

// SAFETY: the word is the value's own bits; it owns nothing, so nothing can dangle.
unsafe impl<T: InlineValue> Slot for Inline<T> {
    type Ref<'g> = T;
    const OWNS: bool = false;
    const IS_FLAG: bool = T::IS_FLAG;

    #[inline(always)]
    fn into_word(self) -> u64 {
        self.0.to_word()
    }
    #[inline(always)]
    unsafe fn from_word(word: u64) -> Self {
        Self(T::from_word(word))
    }
    #[inline(always)]
    unsafe fn borrow<'g>(word: u64) -> Self::Ref<'g> {
        T::from_word(word)
    }

    const EMBEDS: bool = T::IS_UNIT;

    #[inline(always)]
    fn embedded_size(&self) -> Option<usize> {
        T::IS_UNIT.then_some(0)
    }
    #[inline(always)]
    unsafe fn embed(self, _to: NonNull<u8>) {}
    #[inline(always)]
    unsafe fn embedded_size_at(_value: NonNull<u8>) -> usize {
        0
    }
}

/// A value on the heap. Lookups return a reference, and the index frees the value after a grace
/// period.
#[derive(Debug)]
pub struct Boxed<T> {
    pointer: NonNull<T>,
    owns: PhantomData<T>,
}

impl<T> Boxed<T> {
    /// Moves `value` to the heap.
    pub fn new(value: T) -> Self {
        Self { pointer: NonNull::from(Box::leak(Box::new(value))), owns: PhantomData }
    }
}

impl<T> Drop for Boxed<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `Box::leak`, and `into_word` forgets `self`, so this runs
        // once.
        drop(unsafe { Box::from_raw(self.pointer.as_ptr()) });
    }
}

// SAFETY: a `Boxed<T>` behaves as a `Box<T>`.
unsafe impl<T: Send> Send for Boxed<T> {}
// SAFETY: as above; a shared `Boxed` only gives out `&T`.
unsafe impl<T: Sync> Sync for Boxed<T> {}

// SAFETY: the word is the box's address; `borrow` reads through it while the caller keeps it alive.
unsafe impl<T: Send + Sync + 'static> Slot for Boxed<T> {
    type Ref<'g> = &'g T;
    const OWNS: bool = true;

    #[inline(always)]
    fn into_word(self) -> u64 {
        let word = self.pointer.as_ptr().expose_provenance() as u64;
        std::mem::forget(self);
        word
    }
    #[inline(always)]
    unsafe fn from_word(word: u64) -> Self {
        // SAFETY: the address came from a `NonNull` in `into_word`.
        let pointer = unsafe { NonNull::new_unchecked(std::ptr::with_exposed_provenance_mut(word as usize)) };
        Self { pointer, owns: PhantomData }
    }
    #[inline(always)]
    unsafe fn borrow<'g>(word: u64) -> Self::Ref<'g> {
        // SAFETY: the caller guarantees that the box outlives `'g`.
        unsafe { &*std::ptr::with_exposed_provenance(word as usize) }
    }
    #[inline(always)]
    fn prefetch(word: u64) {
        crate::memory::prefetch_read(std::ptr::with_exposed_provenance::<T>(word as usize));
    }
}
