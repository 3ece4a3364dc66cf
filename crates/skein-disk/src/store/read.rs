//! Reads: each is one walk, and sees one moment.

use std::ops::Range;

use skein_sync::atomic::Ordering;

use super::{DiskShared, DiskStore};
use crate::buffer::{FrozenPages, PageWriter, WalkStop};
use crate::trie::{ScanEntries, ScanRequest, TrieCensus, TrieCursor, is_beyond};
use crate::{DiskError, Result};

/// What several keys had at one moment; see [`DiskStore::get_many`].
#[derive(Debug, Clone, Default)]
pub struct FoundValues {
    bytes: Vec<u8>,
    /// By the places of the keys: version, and where the value lies.
    places: Vec<Option<(u64, Range<usize>)>>,
}

impl FoundValues {
    /// The version and the value of the key at this place; none if it had none, or there is no such place.
    pub fn get(&self, at: usize) -> Option<(u64, &[u8])> {
        let (version, range) = self.places.get(at)?.as_ref()?;
        Some((*version, &self.bytes[range.clone()]))
    }
}

impl DiskStore {
    /// The value of a key.
    ///
    /// # Errors
    /// A page that cannot be read, or is damaged; a last write that was interrupted.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.get_entry(key)?.map(|(_, value)| value))
    }

    /// The version and the value of a key.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_entry(&self, key: &[u8]) -> Result<Option<(u64, Vec<u8>)>> {
        let mut value = Vec::new();
        Ok(self.get_into(key, &mut value)?.map(|version| (version, value)))
    }

    /// The version of a key, and its value in `value`, in place of what is there: for who reads many, without an allocation for each.
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

    /// What several keys have at one moment: all of a transaction, or nothing of it. Values may have `bytes_most` bytes together. The reads of memory
    /// of the lookups overlap, so many keys take less time than one after the other.
    ///
    /// # Errors
    /// [`DiskError::ReadTooLong`]; otherwise as [`get`](Self::get).
    pub fn get_many(&self, keys: &[&[u8]], bytes_most: usize) -> Result<FoundValues> {
        let DiskShared { buffer, trie, .. } = &*self.shared;
        let mut found = FoundValues::default();
        buffer.read_with(|view| {
            found.bytes.clear();
            found.places.clear();
            found.places.resize(keys.len(), None);
            trie.get_many(view, keys, &mut found.bytes, |which, came| {
                let len = came.as_ref().map_or(0, |came| came.1.end);
                found.places[which] = came;
                if len > bytes_most {
                    return Err(WalkStop::Failed(DiskError::ReadTooLong { len, limit: bytes_most }));
                }
                Ok(())
            })
        })?;
        Ok(found)
    }

    /// Goes to keys that are to be written next, all at once, so that their reads of memory overlap. A hint: what fails here fails again, and is told, where it
    /// matters.
    pub fn prefetch(&self, keys: &[&[u8]]) {
        let DiskShared { buffer, trie, .. } = &*self.shared;
        _ = buffer.read_with(|view| trie.prefetch(view, keys));
    }

    /// The versions of several keys at one moment, by their places.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn versions(&self, keys: &[&[u8]]) -> Result<Vec<Option<u64>>> {
        let DiskShared { buffer, trie, .. } = &*self.shared;
        buffer.read_with(|view| keys.iter().map(|key| trie.version(&mut &*view, key)).collect())
    }

    /// The keys of a portion, in order, as they are at one moment.
    ///
    /// ```
    /// # use skein_disk::{Direction, DiskOptions, DiskStore, Portion};
    /// # let folder = tempfile::tempdir()?;
    /// # let store = DiskStore::open(folder.path(), DiskOptions::default())?;
    /// use std::ops::Bound::{Excluded, Unbounded};
    ///
    /// for key in ["bean goose", "grey goose", "swan"] {
    ///     store.set(key.as_bytes(), b"")?;
    /// }
    /// let (lower, upper, direction) = (Excluded(&b"bean goose"[..]), Unbounded, Direction::Forward);
    /// let found = store.range(&Portion { lower, upper, direction, keys: 1, bytes: 1 << 20, values: true })?;
    /// assert_eq!(found.entries[0].key, b"grey goose");
    /// assert!(found.more);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] of a hash trie; otherwise as [`get`](Self::get).
    pub fn range(&self, portion: &ScanRequest<'_>) -> Result<ScanEntries> {
        let DiskShared { buffer, trie, .. } = &*self.shared;
        buffer.read_with(|view| trie.collect(&mut &*view, portion))
    }

    /// The keys of a portion in the trie's own order, as they are at one moment: that of the keys, as [`range`](Self::range) has it; of a hash trie that of their hashes, which
    /// is none that says anything. A hash trie takes portions that go forward without bounds, or from an excluded key on: that is the last key of the portion before, also if
    /// it is no more.
    ///
    /// ```
    /// # use skein_disk::{Direction, DiskOptions, DiskStore, Portion, Shape};
    /// # let folder = tempfile::tempdir()?;
    /// # let options = DiskOptions { shape: Shape::Hash { n: 16 }, ..DiskOptions::default() };
    /// # let store = DiskStore::open(folder.path(), options)?;
    /// use std::ops::Bound::{Excluded, Unbounded};
    ///
    /// for key in ["bean goose", "grey goose", "swan"] {
    ///     store.set(key.as_bytes(), b"")?;
    /// }
    /// let (upper, direction) = (Unbounded, Direction::Forward);
    /// let first = Portion { lower: Unbounded, upper, direction, keys: 2, bytes: 1 << 20, values: true };
    /// let found = store.walk(&first)?;
    /// assert!(found.more);
    /// let after = Excluded(&found.entries[1].key[..]);
    /// assert_eq!(store.walk(&Portion { lower: after, ..first })?.entries.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] for other bounds of a hash trie; otherwise as [`get`](Self::get).
    pub fn walk(&self, portion: &ScanRequest<'_>) -> Result<ScanEntries> {
        let DiskShared { buffer, trie, .. } = &*self.shared;
        buffer.read_with(|view| trie.walk(&mut &*view, portion))
    }

    /// A cursor before the first key. It reads some keys ahead: what is written meanwhile it may see or not.
    ///
    /// # Errors
    /// The trie keeps no order.
    pub fn cursor(&self) -> Result<TrieCursor<'_>> {
        self.shared.trie.cursor(&self.shared.buffer)
    }

    /// Looks at all of the trie and verifies every invariant, in time that grows with its pages. Reads go on meanwhile, and writes wait.
    ///
    /// # Errors
    /// The first thing that is not as it must be.
    pub fn check(&self) -> Result<TrieCensus> {
        self.shared.check()
    }

    /// Says whether a scan over portions, which had come to `before` keys and has come to `now`, can go on. In damaged pages whose checksums are right there may be
    /// paths without end. So where a scan has come to more keys than the pages can hold, this takes the time of a [`check`](Self::check); otherwise, none.
    ///
    /// # Errors
    /// The first thing that is not as it must be.
    ///
    /// ```
    /// # use skein_disk::{Direction, DiskOptions, DiskStore, Portion};
    /// # let folder = tempfile::tempdir()?;
    /// # let store = DiskStore::open(folder.path(), DiskOptions::default())?;
    /// use std::ops::Bound::{Excluded, Unbounded};
    ///
    /// let (mut last, mut seen) = (None::<Vec<u8>>, 0);
    /// loop {
    ///     let lower = last.as_deref().map_or(Unbounded, Excluded);
    ///     let (upper, direction) = (Unbounded, Direction::Forward);
    ///     let portion = Portion { lower, upper, direction, keys: 100, bytes: 1 << 20, values: true };
    ///     let found = store.walk(&portion)?;
    ///     let before = seen;
    ///     seen += found.entries.len() as u64;
    ///     store.check_scanned(before, seen)?;
    ///     let Some(entry) = found.entries.into_iter().next_back().filter(|_| found.more) else { break };
    ///     last = Some(entry.key);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_scanned(&self, before: u64, now: u64) -> Result<()> {
        let is_beyond = is_beyond(self.shared.buffer.ids(), before, now);
        if is_beyond { self.check().map(drop) } else { Ok(()) }
    }
}

impl DiskShared {
    /// Looks at all of the trie as published.
    pub(super) fn check(&self) -> Result<TrieCensus> {
        let mut writer = self.buffer.write();
        // Changed under the writer's lock alone.
        self.check_as(&mut writer, self.keys.load(Ordering::Relaxed))
    }

    /// Looks at all of the trie as a write sees it, where so many keys were counted.
    pub(super) fn check_as(&self, writer: &mut PageWriter<'_>, counted: u64) -> Result<TrieCensus> {
        let mut still = FrozenPages::of(writer);
        let census = self.trie.check(&mut still).map_err(|stop| still.fault(stop))?;
        if census.keys as u64 == counted {
            return Ok(census);
        }
        let what = format!("the trie has {} keys, and {counted} were counted", census.keys);
        Err(self.buffer.damaged_page(self.trie.root().page, &what))
    }
}
