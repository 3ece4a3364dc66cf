//! Reads: each is one walk and sees one moment.

use std::ops::Range;

use skein_sync::atomic::Ordering;

use super::{DiskShared, DiskStore};
use crate::buffer::{FrozenPages, PageWriter, SharedPages, WalkStop};
use crate::record::WalkResult;
use crate::trie::{DiskTrie, ScanEntries, ScanRequest, TrieCensus, TrieCursor, exceeds_capacity};
use crate::{DiskError, Result};

/// The values of several keys at one moment; see [`DiskStore::get_many`].
#[derive(Debug, Clone, Default)]
pub struct FoundValues {
    bytes: Vec<u8>,
    /// The version and the range of the value, by the index of the key.
    places: Vec<Option<(u64, Range<usize>)>>,
}

impl FoundValues {
    /// Replaces the contents by the values of several keys of a trie.
    ///
    /// # Errors
    /// [`DiskError::ReadTooLong`]; otherwise as [`DiskTrie::get_many`].
    pub(super) fn read(
        &mut self,
        trie: &DiskTrie,
        view: &impl SharedPages,
        keys: &[&[u8]],
        bytes_most: usize,
    ) -> WalkResult<()> {
        let Self { bytes, places } = self;
        bytes.clear();
        places.clear();
        places.resize(keys.len(), None);
        trie.get_many(view, keys, bytes, |which, value| {
            let len = value.as_ref().map_or(0, |value| value.1.end);
            places[which] = value;
            if len > bytes_most {
                return Err(WalkStop::Failed(DiskError::ReadTooLong { len, limit: bytes_most }));
            }
            Ok(())
        })
    }

    /// Returns the version and the value of the key with this index, or `None` if it had no value.
    pub fn get(&self, at: usize) -> Option<(u64, &[u8])> {
        let (version, range) = self.places.get(at)?.as_ref()?;
        Some((*version, &self.bytes[range.clone()]))
    }
}

impl DiskStore {
    /// Returns the value of a key.
    ///
    /// # Errors
    /// A page cannot be read or is damaged, or the last write to the key was interrupted.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.get_entry(key)?.map(|(_, value)| value))
    }

    /// Returns the version and the value of a key.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_entry(&self, key: &[u8]) -> Result<Option<(u64, Vec<u8>)>> {
        let mut value = Vec::new();
        Ok(self.get_into(key, &mut value)?.map(|version| (version, value)))
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
        let DiskShared { buffer, trie, .. } = &*self.shared;
        buffer.read_with(|view| {
            value.clear();
            trie.get_into(&mut &*view, key, value)
        })
    }

    /// Returns the values of several keys at one moment: either all writes of a transaction or no
    /// write of it. The values may have at most `bytes_most` bytes together. The memory accesses of
    /// the lookups overlap, so this is faster than one lookup after the other.
    ///
    /// # Errors
    /// [`DiskError::ReadTooLong`]; otherwise as [`get`](Self::get).
    pub fn get_many(&self, keys: &[&[u8]], bytes_most: usize) -> Result<FoundValues> {
        let DiskShared { buffer, trie, .. } = &*self.shared;
        let mut found = FoundValues::default();
        buffer.read_with(|view| found.read(trie, view, keys, bytes_most))?;
        Ok(found)
    }

    /// Looks up keys that will be written next, all at once, so that the memory accesses overlap.
    /// This is a hint: errors are ignored here, and the write returns them.
    pub fn prefetch(&self, keys: &[&[u8]]) {
        let DiskShared { buffer, trie, .. } = &*self.shared;
        _ = buffer.read_with(|view| trie.prefetch(view, keys));
    }

    /// Returns the versions of several keys at one moment, by index.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn versions(&self, keys: &[&[u8]]) -> Result<Vec<Option<u64>>> {
        let DiskShared { buffer, trie, .. } = &*self.shared;
        buffer.read_with(|view| keys.iter().map(|key| trie.version(&mut &*view, key)).collect())
    }

    /// Returns the keys of a range in order, with their values and versions at one moment.
    ///
    /// ```
    /// # use skein_disk::{DiskOptions, DiskStore, ScanRequest, WalkDirection};
    /// # let folder = tempfile::tempdir()?;
    /// # let store = DiskStore::open(folder.path(), DiskOptions::default())?;
    /// use std::ops::Bound::{Excluded, Unbounded};
    ///
    /// for key in ["bean goose", "grey goose", "swan"] {
    ///     store.set(key.as_bytes(), b"")?;
    /// }
    /// let found = store.range(&ScanRequest {
    ///     lower: Excluded(b"bean goose"),
    ///     upper: Unbounded,
    ///     direction: WalkDirection::Forward,
    ///     keys: 1,
    ///     bytes: 1 << 20,
    ///     values: true,
    /// })?;
    /// assert_eq!(found.entries[0].key, b"grey goose");
    /// assert!(found.more);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] for a hash trie; otherwise as [`get`](Self::get).
    pub fn range(&self, request: &ScanRequest<'_>) -> Result<ScanEntries> {
        let DiskShared { buffer, trie, .. } = &*self.shared;
        buffer.read_with(|view| trie.collect(&mut &*view, request))
    }

    /// Returns keys in the trie's own order, with their values and versions at one moment. This is
    /// the order of the keys, as in [`range`](Self::range), or, in a hash trie, the meaningless
    /// order of their hashes.
    ///
    /// A hash trie accepts forward requests without bounds, or with only a lower bound that
    /// excludes a key: the last key of the previous result, even if it was removed.
    ///
    /// ```
    /// # use skein_disk::{DiskOptions, DiskStore, ScanRequest, TrieShape, WalkDirection};
    /// # let folder = tempfile::tempdir()?;
    /// # let options = DiskOptions { shape: TrieShape::Hash { n: 16 }, ..DiskOptions::default() };
    /// # let store = DiskStore::open(folder.path(), options)?;
    /// use std::ops::Bound::{Excluded, Unbounded};
    ///
    /// for key in ["bean goose", "grey goose", "swan"] {
    ///     store.set(key.as_bytes(), b"")?;
    /// }
    /// let first = ScanRequest {
    ///     lower: Unbounded,
    ///     upper: Unbounded,
    ///     direction: WalkDirection::Forward,
    ///     keys: 2,
    ///     bytes: 1 << 20,
    ///     values: true,
    /// };
    /// let found = store.walk(&first)?;
    /// assert!(found.more);
    /// let after = Excluded(&found.entries[1].key[..]);
    /// assert_eq!(store.walk(&ScanRequest { lower: after, ..first })?.entries.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] for other bounds of a hash trie; otherwise as [`get`](Self::get).
    pub fn walk(&self, request: &ScanRequest<'_>) -> Result<ScanEntries> {
        let DiskShared { buffer, trie, .. } = &*self.shared;
        buffer.read_with(|view| trie.walk(&mut &*view, request))
    }

    /// Returns a cursor before the first key. It reads ahead, so it may or may not see concurrent
    /// writes.
    ///
    /// # Errors
    /// The trie has no key order.
    pub fn cursor(&self) -> Result<TrieCursor<'_>> {
        self.shared.trie.cursor(&self.shared.buffer)
    }

    /// Checks the whole trie and every invariant, in time proportional to its pages. Reads continue
    /// meanwhile and writes wait.
    ///
    /// # Errors
    /// The first violation of an invariant.
    pub fn check(&self) -> Result<TrieCensus> {
        self.shared.check()
    }

    /// Checks whether a scan that continues from `before` keys to `now` keys can continue. Damaged
    /// pages with correct checksums may have endless paths. So if the scan has returned more keys
    /// than the pages can hold, this takes the time of a [`check`](Self::check); otherwise it
    /// returns at once.
    ///
    /// # Errors
    /// The first violation of an invariant.
    ///
    /// ```
    /// # use skein_disk::{DiskOptions, DiskStore, ScanRequest, WalkDirection};
    /// # let folder = tempfile::tempdir()?;
    /// # let store = DiskStore::open(folder.path(), DiskOptions::default())?;
    /// use std::ops::Bound::{Excluded, Unbounded};
    ///
    /// let (mut last, mut seen) = (None::<Vec<u8>>, 0);
    /// loop {
    ///     let lower = last.as_deref().map_or(Unbounded, Excluded);
    ///     let found = store.walk(&ScanRequest {
    ///         lower,
    ///         upper: Unbounded,
    ///         direction: WalkDirection::Forward,
    ///         keys: 100,
    ///         bytes: 1 << 20,
    ///         values: true,
    ///     })?;
    ///     let before = seen;
    ///     seen += found.entries.len() as u64;
    ///     store.check_scanned(before, seen)?;
    ///     if !found.more {
    ///         break;
    ///     }
    ///     last = found.entries.into_iter().next_back().map(|entry| entry.key);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_scanned(&self, before: u64, now: u64) -> Result<()> {
        let exceeds_capacity = exceeds_capacity(self.shared.buffer.ids(), before, now);
        if exceeds_capacity { self.check().map(drop) } else { Ok(()) }
    }
}

impl DiskShared {
    /// Checks the whole trie as published.
    pub(super) fn check(&self) -> Result<TrieCensus> {
        let mut writer = self.buffer.write();
        // The number changes only under the writer's lock.
        self.check_as(&mut writer, self.keys.load(Ordering::Relaxed))
    }

    /// Checks the whole trie as a write sees it, against a number of keys.
    pub(super) fn check_as(&self, writer: &mut PageWriter<'_>, counted: u64) -> Result<TrieCensus> {
        let mut frozen = FrozenPages::of(writer);
        let census = self.trie.check(&mut frozen).map_err(|stop| frozen.fault(stop))?;
        if census.keys as u64 == counted {
            return Ok(census);
        }
        let what = format!("the trie has {} keys, but {counted} were counted", census.keys);
        Err(self.buffer.damaged_page(self.trie.root().page, &what))
    }
}
