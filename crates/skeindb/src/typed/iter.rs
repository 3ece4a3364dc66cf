//! Iterators over typed rows and keys.

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;

use super::codec::decode_row;
use super::{AsKey, Key, StoredValue};
use crate::{Iter, Keys, Result};

/// A lazy iterator over rows of a [`TypedKeyspace`](super::TypedKeyspace), from both ends; see
/// [`Iter`]. A row that is not of the types is an error, and the iterator proceeds behind it.
#[must_use = "iterators are lazy and do nothing unless they are consumed"]
pub struct TypedIter<'a, K, V> {
    rows: Iter<'a>,
    types: PhantomData<fn() -> (K, V)>,
}

/// A lazy iterator over keys of a [`TypedKeyspace`](super::TypedKeyspace), from both ends. It reads
/// no values.
#[must_use = "iterators are lazy and do nothing unless they are consumed"]
pub struct TypedKeys<'a, K> {
    keys: Keys<'a>,
    types: PhantomData<fn() -> K>,
}

impl<'a, K, V> TypedIter<'a, K, V> {
    pub(super) fn new(rows: Iter<'a>) -> Self {
        Self { rows, types: PhantomData }
    }
}

impl<'a, K> TypedKeys<'a, K> {
    pub(super) fn new(keys: Keys<'a>) -> Self {
        Self { keys, types: PhantomData }
    }
}

impl<K: Key, V> TypedIter<'_, K, V> {
    /// Moves the front to the first key of the range that is not less than `key`; see
    /// [`Iter::seek`].
    pub fn seek(&mut self, key: &(impl AsKey<K> + ?Sized)) {
        self.rows.seek(key.to_key_bytes());
    }

    /// Moves the back to the last key of the range that is not greater than `key`; see
    /// [`Iter::seek_back`].
    pub fn seek_back(&mut self, key: &(impl AsKey<K> + ?Sized)) {
        self.rows.seek_back(key.to_key_bytes());
    }
}

impl<K: Key, V: StoredValue> Iterator for TypedIter<'_, K, V> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rows.next().map(|row| decode_row(row?))
    }
}

impl<K: Key, V: StoredValue> DoubleEndedIterator for TypedIter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.rows.next_back().map(|row| decode_row(row?))
    }
}

impl<K: Key, V: StoredValue> FusedIterator for TypedIter<'_, K, V> {}

impl<K: Key> Iterator for TypedKeys<'_, K> {
    type Item = Result<K>;

    fn next(&mut self) -> Option<Self::Item> {
        self.keys.next().map(|key| Ok(K::from_key_bytes(&key?)?))
    }
}

impl<K: Key> DoubleEndedIterator for TypedKeys<'_, K> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.keys.next_back().map(|key| Ok(K::from_key_bytes(&key?)?))
    }
}

impl<K: Key> FusedIterator for TypedKeys<'_, K> {}

impl<K, V> fmt::Debug for TypedIter<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TypedIter").field(&self.rows).finish()
    }
}

impl<K> fmt::Debug for TypedKeys<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TypedKeys").field(&self.keys).finish()
    }
}
