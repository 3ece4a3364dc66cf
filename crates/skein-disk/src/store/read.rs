//! Reads of the main key space; `space_reader.rs` performs them.

use super::{DiskStore, FoundValues};
use crate::Result;
use crate::trie::{ScanEntries, ScanRequest, TrieCursor};

impl DiskStore {
    /// Returns the value of a key.
    ///
    /// # Errors
    /// A page cannot be read or is damaged, or the last write to the key was interrupted.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.main().get(key)
    }

    /// Returns the version and the value of a key.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_entry(&self, key: &[u8]) -> Result<Option<(u64, Vec<u8>)>> {
        self.main().get_entry(key)
    }

    /// Replaces the contents of `value` by the value of a key, and returns the version. So many
    /// reads need no allocation each.
    ///
    /// ```
    /// # use skein_disk::{DiskOptions, DiskStore};
    /// # let folder = tempfile::tempdir()?;
    /// # let store = DiskStore::open(folder.path(), DiskOptions::default())?;
    /// let version = store.set(b"goose", b"honks")?;
    /// let mut value = Vec::new();
    /// assert_eq!(store.get_into(b"goose", &mut value)?, Some(version));
    /// assert_eq!(value, b"honks");
    /// assert_eq!(store.get_into(b"swan", &mut value)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_into(&self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<u64>> {
        self.main().get_into(key, value)
    }

    /// Returns the values of several keys at one moment: either all writes of a transaction or no
    /// write of it. The values may have at most `bytes_most` bytes together. The memory accesses of
    /// the lookups overlap, so this is faster than one lookup after the other.
    ///
    /// # Errors
    /// [`DiskError::ReadTooLong`](crate::DiskError::ReadTooLong); otherwise as [`get`](Self::get).
    pub fn get_many(&self, keys: &[&[u8]], bytes_most: usize) -> Result<FoundValues> {
        self.main().get_many(keys, bytes_most)
    }

    /// Looks up keys that will be written next, all at once, so that the memory accesses overlap.
    /// This is a hint: errors are ignored here, and the write returns them.
    pub fn prefetch(&self, keys: &[&[u8]]) {
        self.main().prefetch(keys);
    }

    /// Returns the versions of several keys at one moment, by index.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn versions(&self, keys: &[&[u8]]) -> Result<Vec<Option<u64>>> {
        self.main().versions(keys)
    }

    /// Returns the keys of a range in order, with their values and versions at one moment.
    ///
    /// ```
    /// # use skein_disk::{DiskOptions, DiskStore, ScanRequest};
    /// # let folder = tempfile::tempdir()?;
    /// # let store = DiskStore::open(folder.path(), DiskOptions::default())?;
    /// use std::ops::Bound::Excluded;
    ///
    /// for key in ["bean goose", "grey goose", "swan"] {
    ///     store.set(key.as_bytes(), b"")?;
    /// }
    /// let lower = Excluded(&b"bean goose"[..]);
    /// let found = store.range(&ScanRequest { lower, keys: 1, ..ScanRequest::default() })?;
    /// assert_eq!(found.entries[0].key, b"grey goose");
    /// assert!(found.more);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DiskError::NoOrder`](crate::DiskError::NoOrder) for a hash trie; otherwise as
    /// [`get`](Self::get).
    pub fn range(&self, request: &ScanRequest<'_>) -> Result<ScanEntries> {
        self.main().range(request)
    }

    /// Returns keys in the trie's own order, with their values and versions at one moment. This is
    /// the order of the keys, as in [`range`](Self::range), or, in a hash trie, the meaningless
    /// order of their hashes.
    ///
    /// A hash trie accepts forward requests without bounds, or with only a lower bound that
    /// excludes a key: the last key of the previous result, even if it was removed.
    ///
    /// ```
    /// # use skein_disk::{DiskOptions, DiskStore, ScanRequest, TrieShape};
    /// # let folder = tempfile::tempdir()?;
    /// # let options = DiskOptions { shape: TrieShape::Hash { n: 16 }, ..DiskOptions::default() };
    /// # let store = DiskStore::open(folder.path(), options)?;
    /// use std::ops::Bound::Excluded;
    ///
    /// for key in ["bean goose", "grey goose", "swan"] {
    ///     store.set(key.as_bytes(), b"")?;
    /// }
    /// let first = ScanRequest { keys: 2, ..ScanRequest::default() };
    /// let found = store.walk(&first)?;
    /// assert!(found.more);
    /// let after = Excluded(&found.entries[1].key[..]);
    /// assert_eq!(store.walk(&ScanRequest { lower: after, ..first })?.entries.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DiskError::NoOrder`](crate::DiskError::NoOrder) for other bounds of a hash
    /// trie; otherwise as [`get`](Self::get).
    pub fn walk(&self, request: &ScanRequest<'_>) -> Result<ScanEntries> {
        self.main().walk(request)
    }

    /// Returns a cursor before the first key. It reads ahead, so it may or may not see concurrent
    /// writes.
    ///
    /// # Errors
    /// The trie has no key order.
    pub fn cursor(&self) -> Result<TrieCursor<'_>> {
        self.main().cursor()
    }
}
