//! Snapshots of the pages: all pages as they were at one moment, while publications continue.
//!
//! ```text
//!   publication        table                         kept versions (kept_versions.rs)
//!   ───────────        ─────                         ────────────────────────────────
//!   page 8, version A  8 ─► frame or place of A
//!   snapshot at m      ·
//!   page 8, version B  8 ─► frame or place of B      8 until B ─► frame or place of A
//!                           ▲                                     ▲
//!   store's reads ──────────┘            the snapshot's reads ────┘  (moment_pages.rs)
//! ```
//!
//! Pages are known by their ids, and a publication replaces frames and never changes one. So a
//! snapshot is the table's state of one moment. Nothing is copied when it is taken. While it lives,
//! each publication first keeps the versions that it replaces (`keep.rs`): a version keeps its
//! frame, and its place has one more reason to be kept.
//!
//! A moment is the number of publications before it. `moment_pages` reads one page after the other,
//! and `moment_view` many pages of lookups that overlap.
//!
//! # Invariants
//! 1. A snapshot is taken under the lock `publishing`. A publication checks under the same lock
//!    that it has kept its replaced versions for all live snapshots. So for each snapshot and
//!    publication, either the snapshot has the publication, or the publication keeps for it.
//! 2. A version is kept before the frame that replaces it is in the table, and stays kept until the
//!    last snapshot that needs it has ended. So a reader looks into the table first and at the kept
//!    versions second. If no version is kept for its moment, the table did not have a newer one
//!    yet: the version from the table is the moment's.
//! 3. [`PageTableEntry::kept`](super::page_table::PageTableEntry) is true while a version of the
//!    page is kept. It changes under the lock `kept`. It is set before the replacing frame is
//!    stored, so a reader that sees the frame sees the flag (the store of the frame is a Release,
//!    and [`PROTECT`](skein_sync::reclaim::PROTECT) an Acquire). So a page without kept versions
//!    costs no lock.
//! 4. A kept version has exactly one reason of its own for its place. A dirty frame has no place
//!    yet, but the one that was promised to it. The thread that writes the frame adds the reason
//!    (`frame.rs`). So an old version can be written on a full disk, too.
//! 5. At most [`BufferManager::kept_most`] frames of kept versions, and the replaced ones of one
//!    publication, stay in memory. Before the next publication the writer writes the dirty ones
//!    among the rest to their promised places. If that fails, the publication is refused.
//! 6. A frame that leaves the kept versions is retired through the collector. A reader enters its
//!    guard before it takes the lock `kept`. So the frame that it finds stays until its guard ends.
//!
//! Locks are taken in this order: `publishing`, a page's stripe, `kept`, `places`.
//!
//! No kept version is in a header. So after a crash all their places are free.
//!
//! Design: `docs/design/disk.md`.

mod keep;
mod kept_versions;
mod moment_pages;
mod moment_view;

use std::sync::Arc;
use std::time::Duration;

use skein_sync::atomic::{AtomicUsize, Ordering};
use skein_sync::locks::lock;
use skein_sync::mutex::{self, MutexGuard, RwLock, alone, shared};

use super::BufferManager;
use super::frame::PageFrame;
use crate::page::PageId;
use crate::{DiskError, Result};
use kept_versions::{KeptVersion, KeptVersions};
pub(crate) use kept_versions::{KeptVersionKey, MomentKey};

/// The share of the cache that kept frames may have in addition, and their least number.
const KEPT_SHARE: usize = 8;
const KEPT_LEAST: usize = 8;

/// Versions that are released under one hold of the lock.
const RELEASED_AT_ONCE: usize = 64;

/// The live snapshots of the pages, and everything that is kept for them.
#[derive(Debug)]
pub(super) struct Moments {
    /// The number of live snapshots. It rises only under the lock `publishing`.
    live: AtomicUsize,
    kept: RwLock<KeptVersions>,
}

/// Numbers about snapshots.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MomentStats {
    /// Live snapshots.
    pub(crate) live: usize,
    /// The age of the oldest.
    pub(crate) oldest: Option<Duration>,
    /// Kept versions of pages, with and without a frame.
    pub(crate) in_memory: usize,
    pub(crate) in_file: usize,
}

impl Moments {
    /// Returns an empty registry.
    pub(super) fn new() -> Self {
        Self { live: AtomicUsize::new(0), kept: RwLock::new(KeptVersions::new()) }
    }

    /// Returns whether no snapshot is live. Under the lock `publishing`, none begins meanwhile.
    fn is_empty(&self) -> bool {
        // Relaxed: decides only under the lock `publishing`, which orders it (invariant 1).
        self.live.load(Ordering::Relaxed) == 0
    }
}

impl BufferManager {
    /// Returns the most frames of kept versions in memory (invariant 5).
    pub(super) fn kept_most(&self) -> usize {
        (self.room.capacity() / KEPT_SHARE).max(KEPT_LEAST)
    }

    /// Takes a snapshot. Calls `at` while nothing is published, and returns its result. Does not
    /// wait for a write that has not begun its publication.
    ///
    /// # Errors
    /// [`DiskError::TooManySnapshots`]; the file is closed.
    pub(crate) fn take_moment<T>(&self, limit: usize, at: impl FnOnce() -> T) -> Result<(MomentKey, T)> {
        self.file.check_open()?;
        let _publishing = mutex::lock(&self.publishing);
        let mut kept = alone(&self.moments.kept);
        let live = kept.live();
        if live >= limit {
            return Err(DiskError::TooManySnapshots { live, limit });
        }
        let key = kept.take(self.publications());
        // Relaxed: under the lock `publishing` (invariant 1).
        self.moments.live.fetch_add(1, Ordering::Relaxed);
        Ok((key, at()))
    }

    /// Ends a snapshot. Returns the versions to pass to
    /// [`release_versions`](Self::release_versions); none if it has ended before.
    pub(crate) fn end_moment(&self, key: MomentKey) -> Vec<KeptVersionKey> {
        let mut kept = alone(&self.moments.kept);
        let before = kept.live();
        let ended = kept.end(key);
        // Relaxed: a publication that still sees the snapshot keeps for nobody.
        self.moments.live.fetch_sub(before - kept.live(), Ordering::Relaxed);
        ended
    }

    /// Gives up to `most` versions of an ended snapshot back, unless others need them. Returns
    /// whether there are more.
    pub(crate) fn release_versions(&self, ended: &mut Vec<KeptVersionKey>, most: usize) -> bool {
        let mut left = most;
        while left > 0 && !ended.is_empty() {
            let count = left.min(RELEASED_AT_ONCE);
            left -= count;
            let removed = {
                let mut kept = alone(&self.moments.kept);
                let removed = kept.release(ended, count);
                for (id, _, _) in removed.iter().filter(|(_, _, is_last)| *is_last) {
                    // Relaxed: under the lock `kept`, and no live snapshot needs a version
                    // (invariant 3).
                    self.table
                        .get(*id)
                        .into_iter()
                        .for_each(|entry| entry.kept.store(false, Ordering::Relaxed));
                }
                removed
            };
            for (_, version, _) in removed {
                self.release_version(version);
            }
        }
        !ended.is_empty()
    }

    fn release_version(&self, version: KeptVersion) {
        let frame = match version {
            KeptVersion::InFile(place) => return lock(&self.places).release(place),
            KeptVersion::InMemory(frame) => frame,
        };
        {
            let _stripe = self.lock_stripe(frame.id);
            frame.end_keep();
            match frame.place() {
                Some(place) => lock(&self.places).release(place),
                // SeqCst: see `end_keep`. If the frame is still in the table, the writer that
                // replaces it gives the promised place back.
                None if !frame.is_claimed() && !frame.is_kept() && !self.is_in_table(&frame) => {
                    drop(frame.take_reservation());
                }
                None => {}
            }
        }
        self.retired.retire(frame, &self.collector);
    }

    pub(super) fn is_in_table(&self, frame: &Arc<PageFrame>) -> bool {
        let entry = self.table.get(frame.id);
        entry.is_some_and(|entry| entry.frame.load(Ordering::SeqCst).cast_const() == Arc::as_ptr(frame))
    }

    /// Returns the number of publications so far. Exact under the writer's lock or `publishing`.
    pub(super) fn publications(&self) -> u64 {
        self.published.now() / 2
    }

    /// Takes the lock `publishing` for the writer, when the versions of the pages that it replaces
    /// are kept for all live snapshots (invariant 1).
    pub(super) fn lock_to_publish<I: Iterator<Item = PageId>>(
        &self,
        replaced: impl Fn() -> I,
    ) -> MutexGuard<'_, ()> {
        let mut kept_for = None;
        loop {
            let publishing = mutex::lock(&self.publishing);
            if self.moments.is_empty() {
                return publishing;
            }
            let taken = shared(&self.moments.kept).taken();
            if kept_for == Some(taken) {
                return publishing;
            }
            // Outside of the lock, because it waits for the pages' stripes and so for the file.
            // Another round is necessary only if a snapshot is taken meanwhile.
            drop(publishing);
            kept_for = Some(taken);
            let until = self.publications() + 1;
            replaced().for_each(|id| self.keep_replaced(KeptVersionKey { id, until }));
        }
    }

    /// Returns the place of each kept version, if it was written, and whether it is in memory.
    #[cfg(test)]
    pub(crate) fn kept_places(&self) -> Vec<(Option<crate::page::PagePlace>, bool)> {
        let place = |version: &KeptVersion| match version {
            KeptVersion::InMemory(frame) => (frame.place(), true),
            KeptVersion::InFile(place) => (Some(*place), false),
        };
        shared(&self.moments.kept).iter().map(place).collect()
    }

    /// Returns how often the frame of each kept version in memory counts as kept.
    #[cfg(test)]
    pub(crate) fn times_kept(&self) -> Vec<u32> {
        let kept = shared(&self.moments.kept);
        let count = |version: &KeptVersion| match version {
            KeptVersion::InMemory(frame) => Some(frame.times_kept()),
            KeptVersion::InFile(_) => None,
        };
        kept.iter().filter_map(count).collect()
    }

    pub(crate) fn moment_stats(&self) -> MomentStats {
        let kept = shared(&self.moments.kept);
        let (in_memory, in_file) = kept.counts();
        MomentStats {
            live: kept.live(),
            oldest: kept.oldest().map(|taken| taken.elapsed()),
            in_memory,
            in_file,
        }
    }
}
