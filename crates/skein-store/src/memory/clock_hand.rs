//! The clock hand: finds keys to evict. It moves around the keys in a circle, at several places at
//! once. It visits all keys, or the keys of the expiry index if only keys that expire are evicted.
//!
//! ```text
//!   keys in order   a....b....c....d....e....f....g....h....    each place moves to the right,
//!                   └─►            └─►            └─►            and from the end to the start
//!   window          32 keys at one place, then 32 at the next
//!   recent ages     keys with an age beyond seven eighths of them are old
//! ```
//!
//! | policy | the age of a key here |
//! | --- | --- |
//! | least recently used | ticks of the clock since its last use (`row/age_clock.rs`) |
//! | least frequently used | the greater the less it is used (`row/use_count.rs`) |
//! | random | a random number |
//!
//! A window returns the old ones among its keys. The threshold is computed from the ages in recent
//! windows of all places. If all keys are in use, nearly no key is old; if no key is in use, many
//! are. If some windows in a row have no old key, the oldest key that was seen is returned, so the
//! search always ends. The keys of a window are adjacent, so reading them is cheap. There are
//! enough places that no part of the keys stays unvisited for long.

use std::ops::{Bound, ControlFlow};

use skein_model::RowRef;
use skein_model::row::random;

use crate::ScanDirection;
use crate::expiry::parts;
use crate::options::Eviction;
use crate::store_keys::StoreKeys;

/// The number of places of the hand.
const PLACES: usize = 16;

/// The number of keys of a window.
pub(crate) const WINDOW: usize = 32;

/// The smallest number of windows of a round.
const ROUND_MIN: usize = 8 * PLACES;

/// The number of ages that are remembered.
const AGES: usize = 512;

/// The oldest of every this many remembered ages counts as old.
const OLD: usize = 8;

/// After this many windows without an old key, the oldest key is returned.
const PATIENCE: usize = 4;

/// The threshold is computed again after this many windows.
const RENEWAL: usize = 4;

/// A key that may be evicted.
#[derive(Debug)]
pub(crate) struct EvictionCandidate {
    pub(crate) key: Vec<u8>,
    /// The stamp of its row when it was seen.
    pub(crate) stamp: u64,
    age: u16,
}

/// The positions of the hand, and the ages that it has seen.
#[derive(Debug, Default)]
pub(crate) struct ClockHand {
    eviction: Eviction,
    /// The last key seen at each place, or the last entry of the expiry index; empty for the start.
    places: Vec<Vec<u8>>,
    next_place: usize,
    /// A ring of the last ages that were seen.
    ages: Vec<u16>,
    next_age: usize,
    /// Keys of this age or a greater one are old.
    old: u16,
    windows: usize,
    /// After this many windows about all keys were seen, and the places are distributed again.
    round: usize,
}

impl ClockHand {
    /// Visits some windows and stores old keys in `found`: at least one key, if there are any keys.
    pub(crate) fn find(&mut self, keys: &StoreKeys, eviction: Eviction, found: &mut Vec<EvictionCandidate>) {
        found.clear();
        if self.eviction != eviction {
            *self = Self { eviction, ..Self::default() };
        }
        self.begin(keys);
        let mut oldest = None;
        for _ in 0..PATIENCE {
            self.look(keys, found, &mut oldest);
            if !found.is_empty() {
                return;
            }
        }
        found.extend(oldest);
    }

    /// Distributes the places over the keys: at first, when it also samples their ages, and after
    /// each round, because keys may have been inserted anywhere.
    fn begin(&mut self, keys: &StoreKeys) {
        if self.windows < self.round {
            return;
        }
        let first = self.places.is_empty();
        let len;
        (self.places, len) = if self.eviction.is_volatile() {
            (keys.expiry_index.split_points(PLACES), keys.expiry_index.len())
        } else {
            (keys.index.split_points(PLACES), keys.index.len())
        };
        self.places.truncate(PLACES - 1);
        self.places.push(Vec::new());
        (self.windows, self.round) = (0, (len / WINDOW).max(ROUND_MIN));
        if !first {
            return;
        }
        let (mut found, mut oldest) = (Vec::new(), None);
        for _ in 0..AGES / WINDOW {
            self.look(keys, &mut found, &mut oldest);
        }
        self.renew();
    }

    /// Visits the next window.
    fn look(
        &mut self,
        keys: &StoreKeys,
        found: &mut Vec<EvictionCandidate>,
        oldest: &mut Option<EvictionCandidate>,
    ) {
        self.next_place = (self.next_place + 1) % self.places.len();
        let place = std::mem::take(&mut self.places[self.next_place]);
        self.places[self.next_place] = if self.eviction.is_volatile() {
            self.look_at_expiring(keys, &place, found, oldest)
        } else {
            self.look_at_all(keys, &place, found, oldest)
        };
        self.windows += 1;
        if self.windows.is_multiple_of(RENEWAL) {
            self.renew();
        }
    }

    /// Visits the window after `place`. Returns its end.
    fn look_at_all(
        &mut self,
        keys: &StoreKeys,
        place: &[u8],
        found: &mut Vec<EvictionCandidate>,
        oldest: &mut Option<EvictionCandidate>,
    ) -> Vec<u8> {
        let (mut seen, mut last) = (0, Vec::new());
        let near = if place.is_empty() { Bound::Unbounded } else { Bound::Excluded(place) };
        keys.index.scan((near, Bound::Unbounded), ScanDirection::Forward, |key, row| {
            seen += 1;
            self.judge(keys, key, row, found, oldest);
            if seen < WINDOW {
                return ControlFlow::Continue(());
            }
            last.extend_from_slice(key);
            ControlFlow::Break(())
        });
        last
    }

    /// Visits the window of the expiry index after `place`. Returns its end.
    fn look_at_expiring(
        &mut self,
        keys: &StoreKeys,
        place: &[u8],
        found: &mut Vec<EvictionCandidate>,
        oldest: &mut Option<EvictionCandidate>,
    ) -> Vec<u8> {
        let mut entries = keys.expiry_index.entries_after(place, WINDOW);
        let guard = keys.index.collector().enter();
        for entry in &entries {
            let (at, key) = parts(entry);
            if let Some(row) = keys.index.get(key, &guard).filter(|row| row.expires_at() == Some(at)) {
                self.judge(keys, key, row, found, oldest);
            }
        }
        if entries.len() < WINDOW { Vec::new() } else { entries.pop().unwrap_or_default() }
    }

    /// Notes the age of a key, and stores the key in `found` or `oldest`.
    fn judge(
        &mut self,
        keys: &StoreKeys,
        key: &[u8],
        row: RowRef<'_>,
        found: &mut Vec<EvictionCandidate>,
        oldest: &mut Option<EvictionCandidate>,
    ) {
        if !keys.is_evictable(key) {
            return;
        }
        let ages = keys.rows.ages();
        let stamp = row.settle(ages.now());
        let age = match self.eviction {
            Eviction::Random | Eviction::VolatileRandom => random() as u16,
            _ => ages.rank(stamp),
        };
        self.note(age);
        let candidate = || EvictionCandidate { key: key.to_vec(), stamp, age };
        if age >= self.old {
            found.push(candidate());
        } else if oldest.as_ref().is_none_or(|oldest| oldest.age < age) {
            *oldest = Some(candidate());
        }
    }

    fn note(&mut self, age: u16) {
        if self.ages.len() < AGES {
            self.ages.push(age);
        } else {
            self.ages[self.next_age] = age;
            self.next_age = (self.next_age + 1) % AGES;
        }
    }

    /// Computes the threshold from the recent ages.
    fn renew(&mut self) {
        if self.ages.is_empty() {
            return;
        }
        let mut ages = self.ages.clone();
        let at = ages.len() - 1 - ages.len() / OLD;
        let (_, age, older) = ages.select_nth_unstable(at);
        // If most keys have the threshold age, they are not old, unless no key is older.
        let some_older = older.iter().any(|other| *other > *age);
        self.old = age.saturating_add(u16::from(some_older));
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;
    use crate::{Store, StoreOptions};

    /// Once, the places were distributed over the keys at the first eviction: over one key, so
    /// there was one place.
    #[test]
    fn the_places_of_the_hand_follow_the_keys() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
        store.set_memory_limit(Some(1 << 30), Eviction::Lru);
        let mut session = store.session();
        session.write(|writer| writer.put(b"a", b"1")).unwrap().0.unwrap();
        let (mut hand, mut found) = (ClockHand::default(), Vec::new());
        hand.find(&store.core().keys, Eviction::Lru, &mut found);
        assert_eq!(found.len(), 1);
        let key = |i: u32| format!("b{i:06}").into_bytes();
        for i in 0..10_000 {
            session.write(|writer| writer.put(&key(i), b"1")).unwrap().0.unwrap();
        }
        for _ in 0..ROUND_MIN {
            hand.find(&store.core().keys, Eviction::Lru, &mut found);
        }
        let mut places = hand.places.clone();
        places.sort();
        assert_eq!(places.len(), PLACES);
        let apart = places.windows(2).filter(|two| two[1] > two[0]).count();
        assert!(apart > PLACES / 2 && places[PLACES - 1] > key(7_500), "{places:?}");
    }
}
