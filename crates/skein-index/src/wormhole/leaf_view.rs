//! A leaf as a cursor sees it: its order at one moment, and the records around the cursor's place, fetched ahead.
//!
//! Words of slots are loaded some steps before the cursor comes there, so that the records' cache lines are on their way meanwhile.
//! Each load is followed by a look at the version: as long as it has not changed, ranks and slots belong together. If it has, the view
//! ends there, and the cursor seeks anew from the key it stands on.

use skein_sync::version::Version;

use super::leaf::{LeafRanks, WormholeLeaf};
use crate::record::KeyRecord;

/// How far ahead records are fetched; a power of two.
const AHEAD: usize = 16;

/// A leaf at one moment.
#[derive(Debug)]
pub(super) struct LeafView<const W: usize> {
    pub(super) leaf: WormholeLeaf,
    version: Version,
    ranks: LeafRanks,
    pub(super) next: Option<WormholeLeaf>,
    /// The cursor's place.
    rank: usize,
    forward: bool,
    /// The rank that is loaded next; none if the leaf has changed or ends there.
    edge: Option<usize>,
    /// What was loaded, by rank; 0 elsewhere.
    words: [u64; 2 * AHEAD],
}

/// Where in a leaf to begin.
#[derive(Clone, Copy, Debug)]
pub(super) enum LeafStart<'k> {
    /// At its end: the first key of a scan up, the last of a scan down.
    End,
    /// At this key, whose tag is given, or beside it.
    Key { key: &'k [u8], tag: u16, inclusive: bool },
}

/// Why a leaf cannot be viewed yet.
#[derive(Clone, Copy, Debug)]
pub(super) enum LeafUnready {
    /// Its keys are out of order.
    Unsorted,
    /// Something has changed.
    Changed,
}

impl<const W: usize> LeafView<W> {
    /// Looks at a leaf, which is to have this version.
    pub(super) fn of(
        leaf: WormholeLeaf,
        version: Version,
        start: LeafStart<'_>,
        forward: bool,
    ) -> Result<Self, LeafUnready> {
        let (ranks, next) = (leaf.ranks(), leaf.next());
        if ranks.sorted < ranks.count {
            return Err(if leaf.changed::<W>(version) {
                LeafUnready::Changed
            } else {
                LeafUnready::Unsorted
            });
        }
        let rank = match start {
            LeafStart::End if forward => 0,
            LeafStart::End => ranks.count.wrapping_sub(1),
            LeafStart::Key { key, tag, inclusive } => {
                rank_beside::<W>(leaf, &ranks, key, tag, inclusive, forward)
            }
        };
        let mut view =
            Self { leaf, version, ranks, next, rank, forward, edge: Some(rank), words: [0; 2 * AHEAD] };
        if leaf.changed::<W>(version) {
            return Err(LeafUnready::Changed);
        }
        // A seek may be for few keys; who comes along the list wants many.
        let at_once = if matches!(start, LeafStart::End) { AHEAD } else { AHEAD / 4 };
        for _ in 0..at_once {
            view.load();
        }
        if view.is_past_end() || view.record().is_some() { Ok(view) } else { Err(LeafUnready::Changed) }
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
        if self.leaf.changed::<W>(self.version) {
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

    /// Whether the cursor has left the leaf.
    #[inline(always)]
    pub(super) fn is_past_end(&self) -> bool {
        self.rank >= self.ranks.count
    }

    /// Whether the view goes this way.
    pub(super) fn is_deleted(&self, forward: bool) -> bool {
        self.forward == forward
    }

    /// The record at the cursor's place, which is in the leaf; none if the leaf changed before it was loaded.
    #[inline(always)]
    pub(super) fn record(&self) -> Option<KeyRecord> {
        // SAFETY: validated when it was loaded; the cursor borrows a guard.
        unsafe { KeyRecord::from_word(self.words[self.rank % (2 * AHEAD)]) }
    }

    /// The slot at the cursor's place. REQUIRES: a place that is not past the end.
    #[inline(always)]
    pub(super) fn slot(&self) -> usize {
        self.ranks.slots[self.rank].into()
    }

    /// Moves one place on.
    #[inline(always)]
    pub(super) fn step(&mut self) {
        self.words[self.rank % (2 * AHEAD)] = 0;
        self.rank = if self.forward { self.rank + 1 } else { self.rank.wrapping_sub(1) };
        self.load();
        // After a seek the lead grows with the steps taken.
        if self.edge.is_some_and(|edge| edge.abs_diff(self.rank) < AHEAD) {
            self.load();
        }
    }
}

/// The rank of the first key from `key` on in the scan's direction; past the end, or before the start wrapped around, if there is
/// none.
fn rank_beside<const W: usize>(
    leaf: WormholeLeaf,
    ranks: &LeafRanks,
    key: &[u8],
    tag: u16,
    inclusive: bool,
    forward: bool,
) -> usize {
    let held = leaf.find::<W>(key, tag).held;
    let present =
        held.and_then(|held| ranks.as_slice().iter().position(|&slot| usize::from(slot) == held.slot));
    match (present, forward) {
        (Some(rank), _) if inclusive => rank,
        (Some(rank), true) => rank + 1,
        (None, true) => leaf.lower_bound(ranks, key),
        (Some(rank), false) => rank.wrapping_sub(1),
        (None, false) => leaf.lower_bound(ranks, key).wrapping_sub(1),
    }
}
