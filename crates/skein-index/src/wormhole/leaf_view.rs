//! A leaf as a cursor sees it: the number of its keys at one moment, and the prefetched records
//! from the cursor's position on.
//!
//! The view reads ranks and slots in the leaf, several at a time and some steps ahead of the
//! cursor, so that the records' cache lines are already on their way. After each such read it
//! checks the leaf's version: while the version is unchanged, ranks and slots belong together. If
//! it has changed, the view ends there, and the cursor seeks again from its current key.

use std::marker::PhantomData;

use skein_sync::version::Version;

use super::leaf::WormholeLeaf;
use super::variant::WormholeSettings;
use crate::record::KeyRecord;

/// How many words of slots a view holds; a power of two.
const LOADED: usize = 32;
/// How many words the view loads together.
const AT_ONCE: usize = 8;
/// How many words a seek loads if it has found its key. It may need only few keys.
const AT_SEEK: usize = 4;

/// A leaf at one moment.
#[derive(Debug)]
pub(super) struct LeafView<V: WormholeSettings> {
    pub(super) leaf: WormholeLeaf,
    version: Version,
    count: usize,
    pub(super) next: Option<WormholeLeaf>,
    /// The cursor's position.
    rank: usize,
    forward: bool,
    /// The number of loaded words, from the cursor's position on.
    ahead: usize,
    /// The view loads more words when it has so few.
    few: usize,
    /// The loaded words, by rank.
    words: [u64; LOADED],
    variant: PhantomData<V>,
}

/// Where in a leaf a scan starts.
#[derive(Clone, Copy, Debug)]
pub(super) enum LeafStart<'k> {
    /// At its end: at the first key of a forward scan, the last key of a backward scan.
    End,
    /// At this key, given its tag, or next to it.
    Key { key: &'k [u8], tag: u16, inclusive: bool },
}

/// The reason why a leaf cannot be viewed yet.
#[derive(Clone, Copy, Debug)]
pub(super) enum LeafUnready {
    /// Its keys are out of order.
    Unsorted,
    /// The leaf has changed.
    Changed,
}

impl<V: WormholeSettings> LeafView<V> {
    /// Views a leaf, which must have this version: makes it `view`, in place, because a view is
    /// long. After an error there is no view.
    pub(super) fn make(
        view: &mut Option<Self>,
        leaf: WormholeLeaf,
        version: Version,
        start: LeafStart<'_>,
        forward: bool,
    ) -> Result<(), LeafUnready> {
        *view = None;
        let (count, sorted) = leaf.count_and_sorted();
        if sorted < count {
            return Err(if leaf.changed::<V>(version) {
                LeafUnready::Changed
            } else {
                LeafUnready::Unsorted
            });
        }
        let (rank, is_found) = match start {
            LeafStart::End if forward => (0, false),
            LeafStart::End => (count.wrapping_sub(1), false),
            LeafStart::Key { key, tag, inclusive } => {
                rank_beside::<V>(leaf, count, (key, tag), inclusive, forward)
            }
        };
        let made = view.insert(Self {
            leaf,
            version,
            count,
            next: leaf.next(),
            rank,
            forward,
            ahead: 0,
            // A scan that enters along the list needs many keys, and a seek may need only few.
            few: if matches!(start, LeafStart::End) { 2 * AT_ONCE } else { AT_ONCE },
            words: [0; LOADED],
            variant: PhantomData,
        });
        match start {
            LeafStart::End => (0..3).for_each(|_| made.load_many()),
            LeafStart::Key { .. } if is_found => made.load(AT_SEEK),
            // The search by order has prefetched the records around its position.
            LeafStart::Key { .. } => made.load(1),
        }
        let is_valid = if made.is_past_end() { !leaf.changed::<V>(version) } else { made.ahead > 0 };
        if is_valid {
            return Ok(());
        }
        *view = None;
        Err(LeafUnready::Changed)
    }

    /// Loads [`AT_ONCE`] more words. Not inlined, since most steps load none.
    #[inline(never)]
    fn load_many(&mut self) {
        self.load(AT_ONCE);
    }

    /// Loads up to `most` more words, if the leaf has not changed.
    #[inline(always)]
    fn load(&mut self, most: usize) {
        let edge = self.further(self.ahead);
        if edge >= self.count {
            return;
        }
        let added = most.min(if self.forward { self.count - edge } else { edge + 1 });
        let (mut rank, step) = (edge, if self.forward { 1 } else { usize::MAX });
        for _ in 0..added {
            let word = self.leaf.slot(self.leaf.slot_at(rank));
            KeyRecord::prefetch(word);
            self.words[rank % LOADED] = word;
            rank = rank.wrapping_add(step);
        }
        if self.leaf.changed::<V>(self.version) {
            return;
        }
        self.ahead += added;
        if self.forward
            && edge + added == self.count
            && let Some(next) = self.next
        {
            next.prefetch_all();
        }
    }

    /// Returns the rank that is so many steps ahead.
    #[inline(always)]
    fn further(&self, steps: usize) -> usize {
        if self.forward { self.rank + steps } else { self.rank.wrapping_sub(steps) }
    }

    /// Returns whether the cursor has left the leaf.
    #[inline(always)]
    pub(super) fn is_past_end(&self) -> bool {
        self.rank >= self.count
    }

    /// Returns whether the view was loaded in this direction.
    pub(super) fn was_loaded(&self, forward: bool) -> bool {
        self.forward == forward
    }

    /// Returns the record at the cursor's position; `None` if the leaf changed before it was
    /// loaded. The position must be in the leaf.
    #[inline(always)]
    pub(super) fn record(&self) -> Option<KeyRecord> {
        if self.ahead == 0 {
            return None;
        }
        // SAFETY: validated when it was loaded; the cursor borrows a guard.
        unsafe { KeyRecord::from_word(self.words[self.rank % LOADED]) }
    }

    /// Returns the slot at the cursor's position, if the leaf has not changed.
    #[inline(always)]
    pub(super) fn slot(&self) -> usize {
        self.leaf.slot_at(self.rank)
    }

    /// Moves one position on.
    #[inline(always)]
    pub(super) fn step(&mut self) {
        self.rank = self.further(1);
        self.ahead = self.ahead.saturating_sub(1);
        if self.ahead <= self.few {
            self.load_many();
        }
    }
}

const _: () = assert!(3 * AT_ONCE <= LOADED, "a view holds all loaded words");

/// Returns the rank of the first key from `key` on in the scan's direction, and whether the key was
/// found by its tag. If there is no such key, the rank is past the end; backward, it wraps around.
#[inline(always)]
fn rank_beside<V: WormholeSettings>(
    leaf: WormholeLeaf,
    count: usize,
    (key, tag): (&[u8], u16),
    inclusive: bool,
    forward: bool,
) -> (usize, bool) {
    let found = leaf.find_at_home::<V>(key, tag).and_then(|held| leaf.rank_of(held.slot, count));
    let rank = found.unwrap_or_else(|| leaf.lower_bound(count, key));
    let is_there = || {
        let record = || leaf.record(leaf.slot_at(rank));
        found.is_some() || rank < count && record().is_some_and(|record| record.is_of(key))
    };
    // The position is the rank of the key or of the key after it, or the one before that.
    let is_at_rank = if inclusive == forward { forward } else { is_there() != forward };
    let rank = match (is_at_rank, forward) {
        (true, _) => rank,
        (false, true) => rank + 1,
        (false, false) => rank.wrapping_sub(1),
    };
    (rank, found.is_some())
}
