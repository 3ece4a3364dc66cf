//! The kept versions of pages, and the live snapshots that need them.
//!
//! ```text
//!   publications   1     2     3     4     5     6
//!   page 8         ├─ A ─┼────── B ────────┼─ C ─┼─ D ──►  in the table
//!   snapshots         a        b     c
//!   kept           A until 2, B until 5; no snapshot needs C
//!   lists          a: A, c: B; when c ends, b: B
//! ```
//!
//! A version's lifetime begins with the publication that made it and ends before the one that
//! replaced it. A snapshot needs the versions that were alive at its moment. Each kept version is
//! in the list of one snapshot that needs it, normally the newest one. When that snapshot ends, the
//! version moves to the list of an older one, or is removed. So the work of an end depends on the
//! versions of that snapshot and not on all kept ones.
//!
//! # Invariants
//! 1. If a live snapshot needs a replaced version, the version is here.
//! 2. Take a version, and the kept version of its page before it. No live snapshot has a moment
//!    between the `until` of the one before and the beginning of the version: it would need a
//!    version in between, which would be here. So this `until` can stand for the beginning.
//! 3. `in_memory` has the keys of exactly the versions in memory. The frame of each of them counts
//!    it (`PageFrame::keep`): from [`KeptVersions::insert`] or [`KeptVersions::load`] on, to
//!    [`KeptVersions::unload`] or the end of the version.
//!
//! Source: ours. ZFS has such lists of blocks on disk ("dead lists").

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Instant;

use crate::buffer::frame::PageFrame;
use crate::page::{PageId, PagePlace};

/// The name of a kept version: its page, and the publication that replaced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeptVersionKey {
    pub(super) id: PageId,
    pub(super) until: u64,
}

/// The bytes of a kept version.
#[derive(Clone, Debug)]
pub(super) enum KeptVersion {
    /// In memory. If the frame was written, its place has a reason to be kept for this version.
    InMemory(Arc<PageFrame>),
    /// At a place that has a reason to be kept for this version.
    InFile(PagePlace),
}

/// The name of a live snapshot: the number of publications before it, and a serial number, because
/// several snapshots may have one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MomentKey {
    pub(super) moment: u64,
    serial: u64,
}

#[derive(Debug)]
struct LiveMoment {
    taken: Instant,
    /// The versions that are listed here.
    versions: Vec<KeptVersionKey>,
}

/// A version to write before it can leave the memory.
pub(super) type UnwrittenVersion = (KeptVersionKey, Arc<PageFrame>);

#[derive(Debug)]
pub(super) struct KeptVersions {
    live: BTreeMap<MomentKey, LiveMoment>,
    versions: BTreeMap<KeptVersionKey, KeptVersion>,
    /// See invariant 3.
    in_memory: BTreeSet<KeptVersionKey>,
    /// The clock hand: the version in memory that was examined last.
    hand: KeptVersionKey,
    /// The number of snapshots so far.
    taken: u64,
}

impl KeptVersions {
    pub(super) fn new() -> Self {
        Self {
            live: BTreeMap::new(),
            versions: BTreeMap::new(),
            in_memory: BTreeSet::new(),
            hand: KeptVersionKey { id: PageId(0), until: 0 },
            taken: 0,
        }
    }

    /// Adds a live snapshot of a moment that is not before those of others.
    pub(super) fn take(&mut self, moment: u64) -> MomentKey {
        self.taken += 1;
        let key = MomentKey { moment, serial: self.taken };
        self.live.insert(key, LiveMoment { taken: Instant::now(), versions: Vec::new() });
        key
    }

    /// Removes a live snapshot. Returns its list. Other snapshots may still need versions in the
    /// list ([`release`](Self::release)).
    pub(super) fn end(&mut self, key: MomentKey) -> Vec<KeptVersionKey> {
        self.live.remove(&key).map(|ended| ended.versions).unwrap_or_default()
    }

    /// Returns the number of snapshots so far.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the number of live snapshots.
    pub(super) fn live(&self) -> usize {
        self.live.len()
    }

    /// Returns when the oldest live snapshot was taken.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.live.first_key_value().map(|(_, live)| live.taken)
    }

    /// Returns the number of kept versions, in memory and in the file only.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.in_memory.len(), self.versions.len() - self.in_memory.len())
    }

    /// Returns the newest live snapshot that needs a version, which publication `born` or a later
    /// one made, and which the publication of the key replaces.
    pub(super) fn needs(&self, key: KeptVersionKey, born: u64) -> Option<MomentKey> {
        let earlier = KeptVersionKey { until: 0, ..key }..key;
        let previous = self.versions.range(earlier).next_back().map_or(0, |(key, _)| key.until);
        let newest = self.live.range(..MomentKey { moment: key.until, serial: 0 }).next_back()?.0;
        (newest.moment >= born.max(previous)).then_some(*newest)
    }

    pub(super) fn contains(&self, key: KeptVersionKey) -> bool {
        self.versions.contains_key(&key)
    }

    /// Adds a version, in the list of a live snapshot that needs it. If it is in memory, the caller
    /// has counted it (invariant 3).
    pub(super) fn insert(&mut self, key: KeptVersionKey, version: KeptVersion, needs: MomentKey) {
        let Some(live) = self.live.get_mut(&needs) else { return };
        live.versions.push(key);
        self.put(key, version);
    }

    fn put(&mut self, key: KeptVersionKey, version: KeptVersion) {
        match version {
            KeptVersion::InMemory(_) => self.in_memory.insert(key),
            KeptVersion::InFile(_) => self.in_memory.remove(&key),
        };
        self.versions.insert(key, version);
    }

    /// Returns the kept version of a page that a live snapshot of this moment sees. Without one,
    /// the snapshot sees the version in the table.
    pub(super) fn find(&self, id: PageId, moment: u64) -> Option<(KeptVersionKey, &KeptVersion)> {
        let after = Bound::Excluded(KeptVersionKey { id, until: moment });
        let found = self.versions.range((after, Bound::Unbounded)).next();
        found.filter(|(key, _)| key.id == id).map(|(key, version)| (*key, version))
    }

    /// Stores the frame of a version that is in the file only, and counts it. Returns false if it
    /// is in memory already.
    pub(super) fn load(&mut self, key: KeptVersionKey, frame: &Arc<PageFrame>) -> bool {
        let is_missing = matches!(self.versions.get(&key), Some(KeptVersion::InFile(_)));
        if is_missing {
            frame.keep();
            self.put(key, KeptVersion::InMemory(frame.clone()));
        }
        is_missing
    }

    /// Removes the frame of a written version from memory, if it is there.
    pub(super) fn unload(&mut self, key: KeptVersionKey) -> Option<Arc<PageFrame>> {
        let Some(KeptVersion::InMemory(frame)) = self.versions.get(&key) else { return None };
        let (frame, place) = (frame.clone(), frame.place()?);
        // The reason for the place goes on, for the version in the file.
        frame.end_keep();
        self.put(key, KeptVersion::InFile(place));
        Some(frame)
    }

    /// Removes frames from memory until at most `most` are left, those without recent uses first
    /// (CLOCK), and adds them to `unloaded`. Stops at a frame that must be written first, and
    /// returns it.
    pub(super) fn shrink(
        &mut self,
        most: usize,
        unloaded: &mut Vec<Arc<PageFrame>>,
    ) -> Option<UnwrittenVersion> {
        while self.in_memory.len() > most {
            let after = (Bound::Excluded(self.hand), Bound::Unbounded);
            let next = self.in_memory.range(after).next().or_else(|| self.in_memory.first());
            self.hand = *next?;
            let Some(KeptVersion::InMemory(frame)) = self.versions.get(&self.hand) else { return None };
            if frame.take_use() {
                continue;
            }
            if frame.is_dirty() {
                return Some((self.hand, frame.clone()));
            }
            unloaded.extend(self.unload(self.hand));
        }
        None
    }

    /// Examines up to `most` versions of ended snapshots. Moves those that an older snapshot needs
    /// to its list, and removes the others. Returns these, with whether it was the last kept
    /// version of its page. The frames among them still count it.
    pub(super) fn release(
        &mut self,
        ended: &mut Vec<KeptVersionKey>,
        most: usize,
    ) -> Vec<(PageId, KeptVersion, bool)> {
        let mut removed = Vec::new();
        for key in ended.drain(ended.len() - ended.len().min(most)..) {
            if let Some(needs) = self.needs(key, 0)
                && let Some(live) = self.live.get_mut(&needs)
            {
                live.versions.push(key);
                continue;
            }
            self.in_memory.remove(&key);
            let Some(version) = self.versions.remove(&key) else { continue };
            removed.push((key.id, version, self.find(key.id, 0).is_none()));
        }
        removed
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &KeptVersion> {
        self.versions.values()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAGES: u32 = 4;

    #[derive(Clone, Debug)]
    enum KeptStep {
        Publish(u32),
        Take,
        End(usize),
        Release(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<KeptStep>> {
        let step = prop_oneof![
            6 => (1..1_u32 << PAGES).prop_map(KeptStep::Publish),
            3 => Just(KeptStep::Take),
            2 => any::<usize>().prop_map(KeptStep::End),
            2 => (1..5_usize).prop_map(KeptStep::Release),
        ];
        prop::collection::vec(step, 1..120)
    }

    /// A replaced version: its page and lifetime. Its place stands for its bytes.
    #[derive(Debug)]
    struct Lifetime {
        key: KeptVersionKey,
        born: u64,
        place: PagePlace,
    }

    proptest! {
        /// The kept versions are those that were alive at the moment of a live snapshot, and those
        /// of ended snapshots that are not examined yet.
        #[test]
        fn versions_are_kept_for_exactly_the_live_snapshots(steps in steps()) {
            let mut kept = KeptVersions::new();
            let (mut now, mut born) = (0, [0; PAGES as usize]);
            let mut past: Vec<Lifetime> = Vec::new();
            let mut live: Vec<MomentKey> = Vec::new();
            let mut ended = Vec::new();
            for step in steps {
                match step {
                    KeptStep::Publish(pages) => {
                        now += 1;
                        for id in (0..PAGES).filter(|id| pages >> id & 1 == 1) {
                            let key = KeptVersionKey { id: PageId(id), until: now };
                            let made = std::mem::replace(&mut born[id as usize], now);
                            let place = PagePlace(past.len() as u32);
                            if let Some(needs) = kept.needs(key, made) {
                                kept.insert(key, KeptVersion::InFile(place), needs);
                            }
                            past.push(Lifetime { key, born: made, place });
                        }
                    }
                    KeptStep::Take => live.push(kept.take(now)),
                    KeptStep::End(which) if !live.is_empty() => {
                        ended.extend(kept.end(live.swap_remove(which % live.len())));
                    }
                    KeptStep::End(_) => {}
                    KeptStep::Release(most) => _ = kept.release(&mut ended, most),
                }
                for key in &live {
                    for id in (0..PAGES).map(PageId) {
                        let is_seen = |version: &&Lifetime| {
                            version.key.id == id && (version.born..version.key.until).contains(&key.moment)
                        };
                        let seen = past.iter().find(is_seen).map(|version| version.place);
                        let found = kept.find(id, key.moment).map(|(_, version)| match version {
                            KeptVersion::InFile(place) => *place,
                            KeptVersion::InMemory(_) => panic!("no version has a frame"),
                        });
                        prop_assert_eq!(found, seen);
                    }
                }
            }
            while !ended.is_empty() {
                kept.release(&mut ended, 3);
            }
            let needed = past.iter().filter(|version| {
                live.iter().any(|key| (version.born..version.key.until).contains(&key.moment))
            });
            let needed: BTreeSet<_> = needed.map(|version| version.key).collect();
            prop_assert!(kept.versions.keys().eq(&needed), "{:?} and {:?}", kept.versions, needed);
            for key in live {
                ended.extend(kept.end(key));
            }
            kept.release(&mut ended, usize::MAX);
            prop_assert!(kept.versions.is_empty() && kept.live() == 0);
        }
    }
}
