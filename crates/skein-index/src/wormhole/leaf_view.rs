//! A leaf as a cursor sees it: the order of its keys at one moment, and the prefetched records
//! around the cursor's position.
//!
//! The view loads the words of slots some steps ahead of the cursor, so that the records' cache
//! lines are already on their way. After each load it checks the leaf's version: while the version
//! is unchanged, ranks and slots belong together. If it has changed, the view ends there, and the
//! cursor seeks again from its current key.

use std::marker::PhantomData;

use skein_sync::version::Version;

use super::leaf::{LeafRanks, WormholeLeaf};
use super::variant::WormholeSettings;
use crate::record::KeyRecord;

/// How many records ahead of the cursor are prefetched; a power of two.
const AHEAD: usize = 16;

/// A leaf at one moment.
#[derive(Debug)]
pub(super) struct LeafView<V: WormholeSettings> {
    pub(super) leaf: WormholeLeaf,
    version: Version,
    ranks: LeafRanks,
    pub(super) next: Option<WormholeLeaf>,
    /// The cursor's position.
    rank: usize,
    forward: bool,
    /// The rank that is loaded next; `None` if the leaf has changed or ends there.
    edge: Option<usize>,
    /// The loaded words, by rank; 0 elsewhere.
    words: [u64; 2 * AHEAD],
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
        let (ranks, next) = (leaf.ranks(), leaf.next());
        if ranks.sorted < ranks.count {
            return Err(if leaf.changed::<V>(version) {
                LeafUnready::Changed
            } else {
                LeafUnready::Unsorted
            });
        }
        let rank = match start {
            LeafStart::End if forward => 0,
            LeafStart::End => ranks.count.wrapping_sub(1),
            LeafStart::Key { key, tag, inclusive } => {
                rank_beside::<V>(leaf, &ranks, key, tag, inclusive, forward)
            }
        };
        if leaf.changed::<V>(version) {
            return Err(LeafUnready::Changed);
        }
        let made = view.insert(Self {
            leaf,
            version,
            ranks,
            next,
            rank,
            forward,
            edge: Some(rank),
            words: [0; 2 * AHEAD],
            variant: PhantomData,
        });
        // A seek may need only few keys. A scan that enters along the list needs many.
        let at_once = if matches!(start, LeafStart::End) { AHEAD } else { AHEAD / 4 };
        for _ in 0..at_once {
            made.load();
        }
        if made.is_past_end() || made.record().is_some() {
            return Ok(());
        }
        *view = None;
        Err(LeafUnready::Changed)
    }

    /// Loads one more word.
    #[inline(always)]
    fn load(&mut self) {
        let Some(edge) = self.edge else { return };
        self.edge = None;
        if edge >= self.ranks.count {
            return;
        }
        let word = self.leaf.slot(self.ranks.slots[edge].into());
        if self.leaf.changed::<V>(self.version) {
            return;
        }
        KeyRecord::prefetch(word);
        self.words[edge % (2 * AHEAD)] = word;
        self.edge = Some(if self.forward { edge + 1 } else { edge.wrapping_sub(1) });
        if edge + 1 == self.ranks.count
            && self.forward
            && let Some(next) = self.next
        {
            next.prefetch_all();
        }
    }

    /// Returns whether the cursor has left the leaf.
    #[inline(always)]
    pub(super) fn is_past_end(&self) -> bool {
        self.rank >= self.ranks.count
    }

    /// Returns whether the view was loaded in this direction.
    pub(super) fn was_loaded(&self, forward: bool) -> bool {
        self.forward == forward
    }

    /// Returns the record at the cursor's position; `None` if the leaf changed before it was
    /// loaded. The position must be in the leaf.
    #[inline(always)]
    pub(super) fn record(&self) -> Option<KeyRecord> {
        // SAFETY: validated when it was loaded; the cursor borrows a guard.
        unsafe { KeyRecord::from_word(self.words[self.rank % (2 * AHEAD)]) }
    }

    /// Returns the slot at the cursor's position, which must not be past the end.
    #[inline(always)]
    pub(super) fn slot(&self) -> usize {
        self.ranks.slots[self.rank].into()
    }

    /// Moves one position on.
    #[inline(always)]
    pub(super) fn step(&mut self) {
        self.words[self.rank % (2 * AHEAD)] = 0;
        self.rank = if self.forward { self.rank + 1 } else { self.rank.wrapping_sub(1) };
        self.load();
        // After a seek, the number of prefetched records grows with the steps.
        if self.edge.is_some_and(|edge| edge.abs_diff(self.rank) < AHEAD) {
            self.load();
        }
    }
}

/// Returns the rank of the first key from `key` on in the scan's direction. If there is no such
/// key, the rank is past the end; backward, it wraps around.
fn rank_beside<V: WormholeSettings>(
    leaf: WormholeLeaf,
    ranks: &LeafRanks,
    key: &[u8],
    tag: u16,
    inclusive: bool,
    forward: bool,
) -> usize {
    let present = leaf.find::<V>(key, tag).held.and_then(|held| ranks.rank_of(held.slot));
    match (present, forward) {
        (Some(rank), _) if inclusive => rank,
        (Some(rank), true) => rank + 1,
        (None, true) => leaf.lower_bound(ranks, key),
        (Some(rank), false) => rank.wrapping_sub(1),
        (None, false) => leaf.lower_bound(ranks, key).wrapping_sub(1),
    }
}
