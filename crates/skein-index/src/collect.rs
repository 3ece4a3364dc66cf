//! Indexes from iterators, and conversions of values into slots.

use crate::byte_index::ByteIndex;
use crate::engine::{IndexEngine, StandardEngine};
use crate::index::IndexError;
use crate::slot::{Boxed, Inline, InlineValue, Slot};

impl<T: InlineValue> From<T> for Inline<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T> From<T> for Boxed<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<S: Slot, E: IndexEngine<S>> ByteIndex<S, E> {
    /// Sets all keys of an iterator to its values. A later value of an equal key replaces an
    /// earlier one. Not atomic, and no pin is held while the iterator produces the next entry.
    ///
    /// ```
    /// use skein_index::{IndexError, Inline, MlpIndex};
    ///
    /// let index = MlpIndex::<Inline<u64>>::new();
    /// let refused = index.try_extend([("goose", 1), ("nine byte", 2), ("duck", 3)]);
    /// assert_eq!(refused, Err(IndexError::KeyTooLong { len: 9, limit: 8 }));
    /// assert!(index.pin().keys().eq([b"goose"]));
    /// ```
    ///
    /// # Errors
    /// Returns the first [`IndexError`]. The entries before it are in the index.
    pub fn try_extend<K, V>(&self, entries: impl IntoIterator<Item = (K, V)>) -> Result<(), IndexError>
    where
        K: AsRef<[u8]>,
        V: Into<S>,
    {
        for (key, value) in entries {
            self.pin().insert(key, value)?;
        }
        Ok(())
    }

    fn extend_or_panic<K: AsRef<[u8]>, V: Into<S>>(&self, entries: impl IntoIterator<Item = (K, V)>) {
        if let Err(refused) = self.try_extend(entries) {
            panic!("{refused}; or use `try_extend`, which returns this error");
        }
    }
}

/// Panics if a key is refused: see [`IndexError`]. [`ByteIndex::try_extend`] returns the error.
impl<S: Slot, E: IndexEngine<S>, K: AsRef<[u8]>, V: Into<S>> Extend<(K, V)> for ByteIndex<S, E> {
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, entries: T) {
        self.extend_or_panic(entries);
    }
}

/// Panics if a key is refused: see [`IndexError`]. [`ByteIndex::try_extend`] returns the error.
impl<S: Slot, E: IndexEngine<S>, K: AsRef<[u8]>, V: Into<S>> Extend<(K, V)> for &ByteIndex<S, E> {
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, entries: T) {
        self.extend_or_panic(entries);
    }
}

/// Panics if a key is refused: see [`IndexError`]. [`ByteIndex::try_extend`] on an empty index
/// returns the error.
///
/// ```
/// use skein_index::{Inline, Masstree};
///
/// let squares: Masstree<Inline<u64>> = (0..10_u64).map(|n| (n.to_be_bytes(), n * n)).collect();
/// assert_eq!(squares.pin().last_key_value(), Some((9_u64.to_be_bytes().to_vec(), 81)));
/// ```
impl<S: Slot, E: StandardEngine<S>, K: AsRef<[u8]>, V: Into<S>> FromIterator<(K, V)> for ByteIndex<S, E> {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(entries: T) -> Self {
        let index = Self::new();
        index.extend_or_panic(entries);
        index
    }
}

/// Panics if a key is refused: see [`IndexError`]. [`ByteIndex::try_extend`] on an empty index
/// returns the error.
impl<S: Slot, E: StandardEngine<S>, K: AsRef<[u8]>, V: Into<S>, const N: usize> From<[(K, V); N]>
    for ByteIndex<S, E>
{
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}
