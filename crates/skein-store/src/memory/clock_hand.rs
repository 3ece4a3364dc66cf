//! Which keys were not used for long: a hand that goes round the keys, at several places at once.
//!
//! ```text
//!   keys in order   a....b....c....d....e....f....g....h....        places: each goes on to the right, and from the end to the start
//!                   └─►            └─►            └─►
//!   window          32 keys at one place, then 32 at the next       ages seen of late: those beyond seven eighths of them are old
//! ```
//!
//! A window gives the old ones among its keys. What is old is told by the ages of the windows before, of all places: so where all keys are in use nearly none
//! goes, and where none is, many. If some windows have none that is old, the oldest that was seen goes: there is an end to the search whatever the ages are. The
//! keys of a window lie side by side, so that looking at them costs little; the places are so many that no part of the keys is out of sight for long.

use std::ops::{Bound, ControlFlow};

use crate::ScanDirection;
use crate::store::StoreCore;

/// Places at which the hand looks.
const PLACES: usize = 16;

/// Keys of a window.
pub(crate) const WINDOW: usize = 32;

/// Windows of a round, at least.
const ROUND_MIN: usize = 8 * PLACES;

/// Ages that are remembered.
const AGES: usize = 512;

/// Of those, the part that is old: one in so many.
const OLD: usize = 8;

/// Windows without an old key after which the oldest goes.
const PATIENCE: usize = 4;

/// Windows after which it is found out anew what is old.
const RENEWAL: usize = 4;

/// A key that may go.
#[derive(Debug)]
pub(crate) struct EvictionCandidate {
    pub(crate) key: Vec<u8>,
    /// The stamp that its row had.
    pub(crate) stamp: u64,
    age: u16,
}

/// Where the hand is, and what it has seen.
#[derive(Debug, Default)]
pub(crate) struct ClockHand {
    /// The last key seen at each place; an empty one for the start.
    places: Vec<Vec<u8>>,
    next_place: usize,
    /// Of the last keys that were seen, as a ring.
    ages: Vec<u16>,
    next_age: usize,
    /// Keys of this age, or of a greater one, are old.
    old: u16,
    windows: usize,
    /// Windows after which all keys have been seen, about, and the places are spread anew.
    round: usize,
}

impl ClockHand {
    /// Looks at some windows, and leaves in `found` keys that are old: at least one, if there are any keys.
    pub(crate) fn find(&mut self, inner: &StoreCore, found: &mut Vec<EvictionCandidate>) {
        found.clear();
        self.begin(inner);
        let mut oldest = None;
        for _ in 0..PATIENCE {
            self.look(inner, found, &mut oldest);
            if !found.is_empty() {
                return;
            }
        }
        found.extend(oldest);
    }

    /// Spreads the places over the keys: at first, when it learns their ages, too, and after each round, since keys may have come anywhere.
    fn begin(&mut self, inner: &StoreCore) {
        if self.windows < self.round {
            return;
        }
        let first = self.places.is_empty();
        self.places = inner.index.split_points(PLACES);
        self.places.truncate(PLACES - 1);
        self.places.push(Vec::new());
        (self.windows, self.round) = (0, (inner.index.len() / WINDOW).max(ROUND_MIN));
        if !first {
            return;
        }
        let (mut found, mut oldest) = (Vec::new(), None);
        for _ in 0..AGES / WINDOW {
            self.look(inner, &mut found, &mut oldest);
        }
        self.renew();
    }

    /// Looks at the next window.
    fn look(
        &mut self,
        inner: &StoreCore,
        found: &mut Vec<EvictionCandidate>,
        oldest: &mut Option<EvictionCandidate>,
    ) {
        self.next_place = (self.next_place + 1) % self.places.len();
        let mut place = std::mem::take(&mut self.places[self.next_place]);
        let (mut seen, ages) = (0, inner.rows.ages());
        let near = if place.is_empty() { Bound::Unbounded } else { Bound::Excluded(&place[..]) };
        let mut last = Vec::new();
        inner.index.scan((near, Bound::Unbounded), ScanDirection::Forward, |key, row| {
            let stamp = row.stamp();
            let age = ages.age(stamp);
            self.note(age);
            let candidate = || EvictionCandidate { key: key.to_vec(), stamp, age };
            if age >= self.old {
                found.push(candidate());
            } else if oldest.as_ref().is_none_or(|oldest| oldest.age < age) {
                *oldest = Some(candidate());
            }
            seen += 1;
            if seen < WINDOW {
                return ControlFlow::Continue(());
            }
            last.extend_from_slice(key);
            ControlFlow::Break(())
        });
        std::mem::swap(&mut place, &mut last);
        self.places[self.next_place] = place;
        self.windows += 1;
        if self.windows.is_multiple_of(RENEWAL) {
            self.renew();
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

    /// Finds out what is old, from the ages that were seen of late.
    fn renew(&mut self) {
        if self.ages.is_empty() {
            return;
        }
        let mut ages = self.ages.clone();
        let at = ages.len() - 1 - ages.len() / OLD;
        let (_, age, older) = ages.select_nth_unstable(at);
        // Keys as old as most are not old, unless none is older.
        let some_older = older.iter().any(|other| *other > *age);
        self.old = *age + u16::from(some_older);
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;
    use crate::{Eviction, Store, StoreOptions};

    /// Once, the places were spread over the keys that there were at the first eviction: over one key, one place.
    #[test]
    fn its_places_follow_the_keys() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
        store.set_memory_limit(Some(1 << 30), Eviction::Lru);
        let mut session = store.session();
        session.write(|writer| writer.put(b"a", b"1")).unwrap().0.unwrap();
        let (mut hand, mut found) = (ClockHand::default(), Vec::new());
        hand.find(store.inner(), &mut found);
        assert_eq!(found.len(), 1);
        let key = |i: u32| format!("b{i:06}").into_bytes();
        for i in 0..10_000 {
            session.write(|writer| writer.put(&key(i), b"1")).unwrap().0.unwrap();
        }
        for _ in 0..ROUND_MIN {
            hand.find(store.inner(), &mut found);
        }
        let mut places = hand.places.clone();
        places.sort();
        assert_eq!(places.len(), PLACES);
        let apart = places.windows(2).filter(|two| two[1] > two[0]).count();
        assert!(apart > PLACES / 2 && places[PLACES - 1] > key(7_500), "{places:?}");
    }
}
