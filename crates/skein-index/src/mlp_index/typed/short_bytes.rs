//! Byte strings of up to eight bytes, by value.

use std::fmt;
use std::ops::Deref;

use super::super::key::{MAX_LEN, ShortKey};
use crate::index::IndexError;

/// A byte string of up to [`MAX_LEN`] bytes, by value, ordered as byte strings are.
///
/// It is the code of every [`MlpKey`](super::MlpKey) in the index, and itself a key type.
///
/// ```
/// use skein_index::{Inline, MlpMap, ShortBytes};
///
/// let map = MlpMap::new();
/// let guard = map.collector().enter();
/// map.insert(ShortBytes::new(b"geese")?, Inline(6_u64), &guard)?;
/// let (key, value) = map.lower_bound(ShortBytes::of(*b"g"), &guard)?.unwrap();
/// assert_eq!((&*key, value), (&b"geese"[..], 6));
/// # Ok::<(), skein_index::MlpError>(())
/// ```
// The derived order compares the padded bytes, then the length. The head of `key.rs` beside the
// index explains why this is the order of byte strings.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShortBytes {
    bytes: [u8; MAX_LEN],
    len: u8,
}

impl ShortBytes {
    /// Returns the byte string of a slice.
    ///
    /// # Errors
    /// [`IndexError::KeyTooLong`] if there are more than eight bytes.
    ///
    /// ```
    /// use skein_index::{IndexError, ShortBytes};
    /// assert_eq!(&*ShortBytes::new(b"swan")?, b"swan");
    /// assert_eq!(ShortBytes::new(b"nine byte"), Err(IndexError::KeyTooLong { len: 9, limit: 8 }));
    /// # Ok::<(), IndexError>(())
    /// ```
    #[inline]
    pub fn new(bytes: &[u8]) -> Result<Self, IndexError> {
        let too_long = IndexError::KeyTooLong { len: bytes.len(), limit: MAX_LEN };
        ShortKey::of(bytes).map(Self::from).ok_or(too_long)
    }

    /// Returns the byte string of an array. An array of more than eight bytes does not compile.
    ///
    /// ```
    /// assert_eq!(&*skein_index::ShortBytes::of(*b"swan"), b"swan");
    /// ```
    /// ```compile_fail,E0080
    /// skein_index::ShortBytes::of(*b"nine byte");
    /// ```
    #[inline(always)]
    pub fn of<const N: usize>(array: [u8; N]) -> Self {
        const { assert!(N <= MAX_LEN, "a short byte string has at most eight bytes") };
        let mut bytes = [0; MAX_LEN];
        bytes[..N].copy_from_slice(&array);
        Self { bytes, len: N as u8 }
    }

    /// Returns the byte string of a key in an index, which never has more than eight bytes.
    #[inline]
    pub(super) fn of_stored(bytes: &[u8]) -> Self {
        ShortKey::last_up_to(bytes).into()
    }

    /// Returns its first bytes, padded with zeros.
    ///
    /// ```
    /// use skein_index::ShortBytes;
    /// assert_eq!(ShortBytes::of([1, 2, 3]).leading::<2>(), [1, 2]);
    /// assert_eq!(ShortBytes::of([1]).leading::<2>(), [1, 0]);
    /// ```
    #[inline(always)]
    pub fn leading<const N: usize>(self) -> [u8; N] {
        const { assert!(N <= MAX_LEN, "a short byte string has at most eight bytes") };
        std::array::from_fn(|place| self.bytes[place])
    }
}

impl From<ShortKey> for ShortBytes {
    #[inline(always)]
    fn from(key: ShortKey) -> Self {
        Self { bytes: key.bytes(), len: key.len }
    }
}

impl From<ShortBytes> for ShortKey {
    #[inline(always)]
    fn from(short: ShortBytes) -> Self {
        Self { bits: u64::from_be_bytes(short.bytes), len: short.len }
    }
}

impl TryFrom<&[u8]> for ShortBytes {
    type Error = IndexError;

    fn try_from(bytes: &[u8]) -> Result<Self, IndexError> {
        Self::new(bytes)
    }
}

impl Deref for ShortBytes {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len.into()]
    }
}

impl AsRef<[u8]> for ShortBytes {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for ShortBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.escape_ascii())
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_returns_its_bytes() {
        for len in 0..=MAX_LEN {
            let bytes = &b"\0\xffa\0\0b\0\0"[..len];
            let short = ShortBytes::new(bytes).unwrap();
            assert_eq!((&*short, short.as_ref()), (bytes, bytes));
            assert_eq!(ShortBytes::from(ShortKey::from(short)), short);
            assert_eq!(ShortBytes::of_stored(bytes), short);
            assert_eq!(short.leading::<8>()[..len], *bytes);
        }
        assert_eq!(ShortBytes::try_from(&[0; 9][..]), Err(IndexError::KeyTooLong { len: 9, limit: 8 }));
        assert_eq!(format!("{:?}", ShortBytes::of(*b"a\0\xff")), "b\"a\\x00\\xff\"");
    }
}
