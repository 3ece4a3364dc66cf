//! Reads of a key space: each is one walk and sees one moment.

use std::ops::Range;

use super::DiskStore;
use crate::buffer::{BufferManager, SharedPages, WalkStop};
use crate::record::{PageReader, WalkResult};
use crate::trie::{DiskTrie, LookupProgress, ScanEntries, ScanRequest, TrieCursor};
use crate::{DiskError, KeySpace, Result};

/// The values of several keys at one moment; see [`DiskStore::get_many`].
#[derive(Debug, Clone, Default)]
pub struct FoundValues {
    bytes: Vec<u8>,
    /// The version and the range of the value, by the index of the key.
    places: Vec<Option<(u64, Range<usize>)>>,
}

impl FoundValues {
    /// Replaces the contents by the values of several keys of a trie. The lookups overlap.
    ///
    /// # Errors
    /// [`DiskError::ReadTooLong`]; otherwise as [`DiskTrie::get_many`].
    pub(super) fn read(
        &mut self,
        trie: &DiskTrie,
        view: &impl SharedPages,
        keys: &[&[u8]],
        progress: &mut LookupProgress,
        bytes_most: usize,
    ) -> WalkResult<()> {
        self.clear(keys.len());
        let Self { bytes, places } = self;
        trie.get_many(view, keys, progress, bytes, |which, value| {
            let len = value.as_ref().map_or(0, |value| value.1.end);
            places[which] = value;
            check_len(len, bytes_most)
        })
    }

    /// Replaces the contents by the values of several keys of a trie, one after the other.
    ///
    /// # Errors
    /// [`DiskError::ReadTooLong`]; otherwise as [`DiskTrie::get_into`].
    pub(super) fn read_each(
        &mut self,
        trie: &DiskTrie,
        pages: &mut impl PageReader,
        keys: &[&[u8]],
        bytes_most: usize,
    ) -> WalkResult<()> {
        self.clear(keys.len());
        for (which, key) in keys.iter().enumerate() {
            let start = self.bytes.len();
            let version = trie.get_into(pages, key, &mut self.bytes)?;
            self.places[which] = version.map(|version| (version, start..self.bytes.len()));
            check_len(self.bytes.len(), bytes_most)?;
        }
        Ok(())
    }

    fn clear(&mut self, keys: usize) {
        self.bytes.clear();
        self.places.clear();
        self.places.resize(keys, None);
    }

    /// Returns the version and the value of the key with this index, or `None` if it had no value.
    pub fn get(&self, at: usize) -> Option<(u64, &[u8])> {
        let (version, range) = self.places.get(at)?.as_ref()?;
        Some((*version, &self.bytes[range.clone()]))
    }
}

/// Checks the length of the values that were read.
fn check_len(len: usize, limit: usize) -> WalkResult<()> {
    if len > limit { Err(WalkStop::Failed(DiskError::ReadTooLong { len, limit })) } else { Ok(()) }
}

/// The reads of one key space of a store; [`DiskStore::space`] returns it.
///
/// Each read sees one moment. Two reads may see two moments: a [`DiskSnapshot`] reads many at one.
///
/// [`DiskSnapshot`]: crate::DiskSnapshot
#[derive(Debug, Clone, Copy)]
pub struct SpaceReader<'s> {
    buffer: &'s BufferManager,
    trie: &'s DiskTrie,
}

impl DiskStore {
    /// Returns the reads of a key space. Transactions write to it
    /// ([`DiskTransaction::set_in`](crate::DiskTransaction::set_in)).
    ///
    /// ```
    /// use skein_disk::{DiskError, DiskOptions, DiskStore, KeySpace, Values};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let options = DiskOptions { values: Values::Rows, ..DiskOptions::default() };
    /// let store = DiskStore::open(folder.path(), options)?;
    /// store.write::<_, DiskError>(|transaction| {
    ///     transaction.set(b"flock", b"3 geese")?;
    ///     transaction.set_in(KeySpace::Members, b"flock/grey goose", b"honks")
    /// })?;
    /// let members = store.space(KeySpace::Members)?;
    /// assert_eq!(members.get(b"flock/grey goose")?, Some(b"honks".to_vec()));
    /// assert_eq!(members.get(b"flock")?, None);
    /// assert_eq!(store.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DiskError::NoSuchSpace`] if the store's values are plain bytes: it has only
    /// [`KeySpace::Main`].
    pub fn space(&self, space: KeySpace) -> Result<SpaceReader<'_>> {
        Ok(SpaceReader { buffer: &self.shared.buffer, trie: self.shared.spaces.get(space)? })
    }

    /// Returns the reads of the main space.
    #[inline]
    pub(super) fn main(&self) -> SpaceReader<'_> {
        SpaceReader { buffer: &self.shared.buffer, trie: self.shared.spaces.main() }
    }
}

impl<'s> SpaceReader<'s> {
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

    /// Replaces the contents of `value` by the value of a key, and returns the version; see
    /// [`DiskStore::get_into`].
    ///
    /// # Errors
    /// As [`get`](Self::get).
    #[inline]
    pub fn get_into(&self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<u64>> {
        let Self { buffer, trie } = *self;
        buffer.read_pages(|pages| {
            value.clear();
            trie.get_into(pages, key, value)
        })
    }

    /// Returns the values of several keys at one moment; see [`DiskStore::get_many`].
    ///
    /// # Errors
    /// [`DiskError::ReadTooLong`]; otherwise as [`get`](Self::get).
    pub fn get_many(&self, keys: &[&[u8]], bytes_most: usize) -> Result<FoundValues> {
        let Self { buffer, trie } = *self;
        let mut found = FoundValues::default();
        if trie.overlaps_lookups() {
            let mut progress = LookupProgress::default();
            buffer.read_with(|view| found.read(trie, view, keys, &mut progress, bytes_most))?;
        } else {
            buffer.read_pages(|pages| found.read_each(trie, pages, keys, bytes_most))?;
        }
        Ok(found)
    }

    /// Looks up keys of the next writes; see [`DiskStore::prefetch`].
    pub(super) fn prefetch(&self, keys: &[&[u8]]) {
        let mut progress = LookupProgress::default();
        _ = self.buffer.read_with(|view| self.trie.prefetch(view, keys, &mut progress));
    }

    /// Returns the versions of several keys at one moment, by index.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn versions(&self, keys: &[&[u8]]) -> Result<Vec<Option<u64>>> {
        self.buffer.read_pages(|pages| keys.iter().map(|key| self.trie.version(pages, key)).collect())
    }

    /// Returns the keys of a range in order; see [`DiskStore::range`].
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] for a hash trie; otherwise as [`get`](Self::get).
    pub fn range(&self, request: &ScanRequest<'_>) -> Result<ScanEntries> {
        self.buffer.read_pages(|pages| self.trie.collect(pages, request))
    }

    /// Returns keys in the trie's own order; see [`DiskStore::walk`].
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] for some bounds of a hash trie; otherwise as [`get`](Self::get).
    pub fn walk(&self, request: &ScanRequest<'_>) -> Result<ScanEntries> {
        self.buffer.read_pages(|pages| self.trie.walk(pages, request))
    }

    /// Returns whether the space has no keys.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn is_empty(&self) -> Result<bool> {
        let any = ScanRequest { keys: 1, values: false, ..ScanRequest::default() };
        Ok(self.walk(&any)?.entries.is_empty())
    }

    /// Returns a cursor before the first key; see [`DiskStore::cursor`].
    ///
    /// # Errors
    /// The trie has no key order.
    pub fn cursor(&self) -> Result<TrieCursor<'s>> {
        self.trie.cursor(self.buffer)
    }
}
