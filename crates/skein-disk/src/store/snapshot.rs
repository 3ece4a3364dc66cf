//! Snapshots of a store: all keys as they were at one moment, while writers continue.
//!
//! ```text
//!   transactions  ──┤ 1 ├──┤ 2 ├─────┤ 3 ├──────┤ 4 ├──►
//!   snapshot      ──────────────┤t├── shows 1 and 2 ────►  get, get_many, range, walk
//! ```
//!
//! A transaction is one publication, so a snapshot has all of it or nothing. `buffer/moments/`
//! keeps the pages that later publications replace. A trie is named by its root's page, so the same
//! moment serves each trie of the file.
//!
//! # Invariants
//! 1. The numbers of a snapshot are of its moment: a transaction stores the store's numbers while
//!    its publication still excludes snapshots (`PageWriter::publish_then`).
//! 2. A snapshot holds the folder's lock, and releases it after the file (`page_file/mapping.rs`).
//!
//! Design: `docs/design/disk.md`.

use std::sync::{Arc, Mutex};

use skein_sync::atomic::Ordering;

use super::{DiskShared, DiskStore, FolderLock, FoundValues};
use crate::buffer::{KeptVersionKey, MomentKey};
use crate::trie::{LookupProgress, ScanEntries, ScanRequest, TrieCensus, exceeds_capacity};
use crate::{KeySpace, Result};

/// All keys of a [`DiskStore`] as they were at one moment; see [`DiskStore::snapshot`].
///
/// Any number of threads may read it. A read is not repeated because of writes. Its pages are those
/// of the store's cache as long as they have not changed since. Changed pages keep their former
/// places in the file, so the file grows by the pages that are written while the snapshot lives.
/// In memory, all snapshots together take an eighth of the cache besides it, and some 100 bytes for
/// each kept page. So drop a snapshot soon.
///
/// When the store is closed or dropped, later reads return [`DiskError::Closed`]. A snapshot does
/// not survive the process.
///
/// [`DiskError::Closed`]: crate::DiskError::Closed
#[derive(Debug)]
pub struct DiskSnapshot {
    pub(super) shared: Arc<DiskShared>,
    pub(super) key: MomentKey,
    sequence: u64,
    keys: u64,
    /// Dropped last (invariant 2).
    folder: Arc<Mutex<FolderLock>>,
}

impl DiskStore {
    /// Takes a snapshot. It has every transaction that was committed before this call, and none
    /// that is committed after it; others are in it as a whole or not at all. As with a read,
    /// they may not be durable yet.
    ///
    /// The call copies nothing, and does not wait for an open transaction or a checkpoint.
    ///
    /// ```
    /// # use skein_disk::{DiskOptions, DiskStore, ScanRequest};
    /// # let folder = tempfile::tempdir()?;
    /// # let store = DiskStore::open(folder.path(), DiskOptions::default())?;
    /// store.set(b"goose", b"grey")?;
    /// let before = store.snapshot()?;
    /// store.set(b"goose", b"bean")?;
    /// store.set(b"swan", b"mute")?;
    /// assert_eq!(before.get(b"goose")?.as_deref(), Some(&b"grey"[..]));
    /// let found = before.range(&ScanRequest::default())?;
    /// assert_eq!((found.entries.len(), before.len(), store.len()), (1, 1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DiskError::TooManySnapshots`](crate::DiskError::TooManySnapshots) at the limit of live
    /// snapshots; the store is closed.
    pub fn snapshot(&self) -> Result<DiskSnapshot> {
        let shared = self.shared.clone();
        shared.check_open()?;
        let numbers = || (shared.sequence.load(Ordering::Relaxed), shared.keys.load(Ordering::Relaxed));
        let (key, (sequence, keys)) = shared.buffer.take_moment(shared.options.snapshots, numbers)?;
        Ok(DiskSnapshot { shared, key, sequence, keys, folder: self.folder.clone() })
    }
}

impl DiskSnapshot {
    /// Returns the number of the last write before the moment.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns the number of keys.
    pub fn len(&self) -> u64 {
        self.keys
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.keys == 0
    }

    /// Returns the value that a key had.
    ///
    /// # Errors
    /// As [`get_into`](Self::get_into).
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut value = Vec::new();
        Ok(self.get_into(key, &mut value)?.map(|_| value))
    }

    /// Replaces the contents of `value` by the value that a key had, and returns its version.
    ///
    /// # Errors
    /// A page cannot be read or is damaged, the last write to the key was interrupted, or the store
    /// is closed.
    pub fn get_into(&self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<u64>> {
        self.get_in(KeySpace::Main, key, value)
    }

    /// Returns the values that several keys had. They may have at most `bytes_most` bytes together.
    /// The memory accesses of the lookups overlap.
    ///
    /// # Errors
    /// [`DiskError::ReadTooLong`](crate::DiskError::ReadTooLong); otherwise as
    /// [`get_into`](Self::get_into).
    pub fn get_many(&self, keys: &[&[u8]], bytes_most: usize) -> Result<FoundValues> {
        let (mut found, buffer, trie) =
            (FoundValues::default(), &self.shared.buffer, self.shared.spaces.main());
        if trie.overlaps_lookups() {
            let mut progress = LookupProgress::default();
            buffer.read_many_at(self.key, |view| found.read(trie, view, keys, &mut progress, bytes_most))?;
        } else {
            buffer.read_at(self.key, |pages| found.read_each(trie, pages, keys, bytes_most))?;
        }
        Ok(found)
    }

    /// Replaces the contents of `value` by the value that a key of a space had, and returns its
    /// version.
    ///
    /// # Errors
    /// As [`get_into`](Self::get_into), and [`DiskError::NoSuchSpace`] if the store does not have
    /// the space.
    ///
    /// [`DiskError::NoSuchSpace`]: crate::DiskError::NoSuchSpace
    pub fn get_in(&self, space: KeySpace, key: &[u8], value: &mut Vec<u8>) -> Result<Option<u64>> {
        let trie = self.shared.spaces.get(space)?;
        value.clear();
        self.shared.buffer.read_at(self.key, |pages| trie.get_into(pages, key, value))
    }

    /// Returns the keys that a range of a space had, in order; as [`range`](Self::range).
    ///
    /// # Errors
    /// As [`range`](Self::range), and [`DiskError::NoSuchSpace`] if the store does not have the
    /// space.
    ///
    /// [`DiskError::NoSuchSpace`]: crate::DiskError::NoSuchSpace
    pub fn range_in(&self, space: KeySpace, request: &ScanRequest<'_>) -> Result<ScanEntries> {
        let trie = self.shared.spaces.get(space)?;
        self.shared.buffer.read_at(self.key, |pages| trie.collect(pages, request))
    }

    /// Returns the keys that a range had, in order, with their values and versions; see
    /// [`DiskStore::range`].
    ///
    /// # Errors
    /// [`DiskError::NoOrder`](crate::DiskError::NoOrder) for a hash trie; otherwise as
    /// [`get_into`](Self::get_into).
    pub fn range(&self, request: &ScanRequest<'_>) -> Result<ScanEntries> {
        self.range_in(KeySpace::Main, request)
    }

    /// Returns keys in the trie's own order, with their values and versions; see
    /// [`DiskStore::walk`].
    ///
    /// # Errors
    /// [`DiskError::NoOrder`](crate::DiskError::NoOrder) for some bounds of a hash trie; otherwise
    /// as [`get_into`](Self::get_into).
    pub fn walk(&self, request: &ScanRequest<'_>) -> Result<ScanEntries> {
        let trie = self.shared.spaces.main();
        self.shared.buffer.read_at(self.key, |pages| trie.walk(pages, request))
    }

    /// Checks whether a scan that continues from `before` keys to `now` keys can continue; see
    /// [`DiskStore::check_scanned`].
    ///
    /// # Errors
    /// The first violation of an invariant.
    pub fn check_scanned(&self, before: u64, now: u64) -> Result<()> {
        if exceeds_capacity(self.shared.buffer.ids(), before, now) { self.check().map(drop) } else { Ok(()) }
    }

    /// Checks the main space of the moment and every invariant, in time proportional to its pages.
    /// Reads and writes continue meanwhile.
    ///
    /// # Errors
    /// The first violation of an invariant.
    pub fn check(&self) -> Result<TrieCensus> {
        let DiskShared { buffer, spaces, .. } = &*self.shared;
        let trie = spaces.main();
        let census = buffer.read_all_at(self.key, |pages| trie.check(pages, |_| Ok(())))?;
        if census.keys as u64 == self.keys {
            return Ok(census);
        }
        let what = format!("the trie had {} keys, but {} were counted", census.keys, self.keys);
        Err(buffer.damaged_page(trie.root().page, &what))
    }

    /// Ends the snapshot and gives its pages back step by step, for callers that must not be
    /// delayed. A drop gives all of them back at once, in about a microsecond each.
    ///
    /// ```
    /// # use skein_disk::{DiskOptions, DiskStore};
    /// # let folder = tempfile::tempdir()?;
    /// # let store = DiskStore::open(folder.path(), DiskOptions::default())?;
    /// let mut release = store.snapshot()?.release();
    /// while release.step(1_000) {
    ///     // Here is time for something else.
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn release(self) -> DiskSnapshotRelease {
        let (shared, folder) = (self.shared.clone(), self.folder.clone());
        DiskSnapshotRelease { rest: shared.buffer.end_moment(self.key), shared, _folder: folder }
    }
}

impl Drop for DiskSnapshot {
    fn drop(&mut self) {
        let buffer = &self.shared.buffer;
        // No versions if `release` has ended the snapshot.
        let mut rest = buffer.end_moment(self.key);
        buffer.release_versions(&mut rest, usize::MAX);
    }
}

/// The pages of a [`DiskSnapshot`] that has ended; see [`DiskSnapshot::release`]. A drop gives the
/// rest back at once.
#[derive(Debug)]
pub struct DiskSnapshotRelease {
    shared: Arc<DiskShared>,
    rest: Vec<KeptVersionKey>,
    /// Dropped last (invariant 2).
    _folder: Arc<Mutex<FolderLock>>,
}

impl DiskSnapshotRelease {
    /// Gives up to `most` pages back. Returns whether there are more.
    pub fn step(&mut self, most: usize) -> bool {
        self.shared.buffer.release_versions(&mut self.rest, most)
    }
}

impl Drop for DiskSnapshotRelease {
    fn drop(&mut self) {
        self.step(usize::MAX);
    }
}
