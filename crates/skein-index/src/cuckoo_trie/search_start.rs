//! Where a search begins: at the root, or at a deeper node that is probably on the path of the key.
//!
//! ```text
//!   if most leaves have about the same depth:   at that depth (`LeafDepths`)
//!   else:                                       where a hint leads (`hints.rs`)
//! ```
//!
//! A deeper node is found by the hash of a name. Entries store no names, so a match does not prove
//! that the name is a prefix of the key. A leaf below proves it: a child's name extends its
//! parent's, so the key of the leaf begins with the name of the node. The start was right if both
//! hold:
//!
//! - The leaf's key begins like the key of the search.
//! - The name has the length that the search assumed. A longer or shorter prefix of the same key
//!   may have the same hash. Every branch stores the length of its name. If that is right for one
//!   branch at or below the start, it is right for all.
//!
//! The paper begins at the root. Its section 4.7 gives the cost for keys with long shared prefixes.

use skein_sync::atomic::{AtomicU64, Ordering};

use super::CuckooTrieVariant;
use super::entry::CuckooNodeKind;
use super::hints::{HintSums, HintTrail};
use super::lanes::EntryQuery;
use super::lookup::LookupPath;
use super::prefixes::{KeyPrefixes, SearchStart};
use super::search::{NamedNode, SearchEnd};
use super::symbols::KeySymbols;
use super::table::LinearHashSize;
use super::transaction::CuckooAbort;
use super::variant::CuckooSettings;
use crate::record::KeyRecord;
use crate::slot::Slot;

impl<S: Slot, V: CuckooSettings> CuckooTrieVariant<S, V> {
    /// Returns the path of a lookup from the best node to begin at, or `None` if that is the root.
    #[inline(always)]
    pub(super) fn lookup_path<'k>(&self, key: &'k [u8], size: LinearHashSize) -> Option<LookupPath<'k>> {
        if let Some(depth) = self.engine.table.depths.start() {
            return LookupPath::from_depth(&self.engine.table, size, key, depth);
        }
        let mut sums = HintSums::new();
        self.engine.table.hints.prefetch(key, &mut sums);
        self.lookup_path_by_hints(key, &sums, size)
    }

    /// Does the same from hints that were already prefetched.
    #[inline(always)]
    pub(super) fn lookup_path_by_hints<'k>(
        &self,
        key: &'k [u8],
        sums: &HintSums,
        size: LinearHashSize,
    ) -> Option<LookupPath<'k>> {
        let hint = self.engine.table.hints.deepest(sums, KeySymbols::of(key).count())?;
        Some(LookupPath::from_hint(&self.engine.table, size, key, hint))
    }

    /// Returns the prefix at which a search should begin by the hints, if there is one.
    #[inline(never)]
    fn start_by_hints(
        &self,
        prefixes: &mut KeyPrefixes<'_, '_, V>,
        sums: &mut HintSums,
    ) -> Option<SearchStart> {
        self.engine.table.hints.prefetch(prefixes.key(), sums);
        let hint = self.engine.table.hints.deepest(sums, prefixes.count())?;
        Some(prefixes.start_at(hint.hash, hint.depth))
    }

    /// Returns a node that probably has the start's name: it has the same hash and the same last
    /// symbol.
    #[inline(always)]
    pub(super) fn guess(&self, SearchStart { prefix, depth }: SearchStart) -> Option<NamedNode> {
        let node = self.look(prefix.pair, EntryQuery::by_name(prefix.lane));
        (!node.is_none()).then_some(NamedNode { node, hash: prefix.hash, depth })
    }

    /// Follows a key to the end of its path. For a long key, records the nodes on the path in
    /// `trail`.
    #[inline(always)]
    pub(super) fn search(&self, key: &[u8], trail: &mut HintTrail) -> Result<SearchEnd, CuckooAbort> {
        let mut prefixes = KeyPrefixes::of(&self.engine.table, key);
        if self.engine.table.depths.start().is_some() {
            prefixes.limit_prefetch();
            return self.descend(&mut prefixes, |_| ());
        }
        self.search_by_hint_or_root(&mut prefixes, trail)
    }

    #[inline(never)]
    fn search_by_hint_or_root(
        &self,
        prefixes: &mut KeyPrefixes<'_, '_, V>,
        trail: &mut HintTrail,
    ) -> Result<SearchEnd, CuckooAbort> {
        if let Some(stop) = self.search_by_hints(prefixes, trail) {
            return Ok(stop);
        }
        prefixes.restart();
        trail.clear();
        self.descend(prefixes, |named| trail.meet(named))
    }

    /// Follows a key from the node of a hint. Returns `None` if that node was not on the path of
    /// the key.
    #[inline(never)]
    fn search_by_hints(
        &self,
        prefixes: &mut KeyPrefixes<'_, '_, V>,
        trail: &mut HintTrail,
    ) -> Option<SearchEnd> {
        let start = self.start_by_hints(prefixes, &mut trail.sums)?;
        let mut is_its_depth_known = false;
        let pass = |named: &NamedNode| {
            is_its_depth_known |= named.is_branch_of_its_depth();
            trail.meet(named);
        };
        let stop = self.descend_from(self.guess(start)?, prefixes, pass).ok()?;
        let below =
            self.any_key_below(stop.at, |named| is_its_depth_known |= named.is_branch_of_its_depth())?;
        let begins = || KeySymbols::of(prefixes.key()).begins_as(KeySymbols::of(below), start.depth);
        (is_its_depth_known && begins()).then_some(stop)
    }

    /// Returns the key of some leaf below a node, after calling `each` for the nodes on the way.
    /// Returns `None` if a node changes meanwhile.
    fn any_key_below(&self, mut at: NamedNode, mut each: impl FnMut(&NamedNode)) -> Option<&[u8]> {
        loop {
            each(&at);
            let entry = at.node.entry;
            at = match entry.kind() {
                CuckooNodeKind::Leaf | CuckooNodeKind::Dead => {
                    // SAFETY: a leaf, read under the caller's guard.
                    return unsafe { entry.record() }.map(KeyRecord::key);
                }
                CuckooNodeKind::Jump => self.below_jump(&at).ok()?,
                CuckooNodeKind::Branch => self.below_branch(&at, entry.first_child()?).ok()?,
            }
        }
    }

    /// Records hints for the nodes on the path of a key that was added.
    #[inline(always)]
    pub(super) fn learn(&self, trail: &HintTrail) {
        if self.engine.table.hints.is_empty() {
            self.engine.table.want_hints();
        } else {
            self.engine.table.hints.note(trail);
        }
    }
}

const RECORDED_ONE_IN: u32 = 16;
/// Depths are stored in this many parts.
const ONE: u64 = 256;
/// A leaf above the start depth moves it up by the step `UP`, and a leaf below moves it down by
/// `DOWN`. The start settles where one leaf in twelve is above.
const UP: u64 = 44;
const DOWN: u64 = 4;
/// The share of failed trials is stored in this many parts. Searches use the start depth while at
/// most `FAILURES_MAX` parts failed.
const SURE: u64 = 1 << 16;
const FAILURES_MAX: u64 = SURE / 8;

/// Estimates of the leaves' depths.
///
/// One word: average depth, 24 bits; start depth, 24 bits; share of failed trials, 16 bits.
#[derive(Debug)]
pub(super) struct LeafDepths(AtomicU64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DepthStats {
    average: u64,
    start: u64,
    failures: u64,
}

const FIELD: u32 = 24;
const FIELD_MAX: u64 = (1 << FIELD) - 1;

impl DepthStats {
    fn of(word: u64) -> Self {
        Self { average: word & FIELD_MAX, start: word >> FIELD & FIELD_MAX, failures: word >> (2 * FIELD) }
    }

    fn word(self) -> u64 {
        self.average | self.start << FIELD | self.failures << (2 * FIELD)
    }

    fn start(self) -> u32 {
        ((self.start + ONE / 2) / ONE) as u32
    }

    /// Returns the estimates after another leaf at `depth`. `found` tells whether its key has a
    /// node at the start depth.
    fn with(self, depth: u32, found: bool) -> Self {
        let depth = (u64::from(depth) * ONE).min(FIELD_MAX);
        let start = if depth < self.start {
            self.start.saturating_sub(UP).max(depth)
        } else {
            (self.start + DOWN).min(depth)
        };
        let failed = if found { 0 } else { SURE / 64 };
        Self {
            average: self.average - self.average / ONE + depth / ONE,
            start,
            failures: (self.failures - self.failures / 64 + failed).min(SURE - 1),
        }
    }
}

impl Default for LeafDepths {
    fn default() -> Self {
        Self(AtomicU64::new(DepthStats { average: 0, start: 0, failures: SURE - 1 }.word()))
    }
}

impl LeafDepths {
    // Relaxed, here and below: hints. A lost update does no harm.
    #[inline(always)]
    fn known(&self) -> DepthStats {
        DepthStats::of(self.0.load(Ordering::Relaxed))
    }

    /// Returns a depth that most leaves do not exceed.
    #[inline(always)]
    pub(super) fn reach(&self) -> u32 {
        (self.known().average / ONE) as u32 + 1
    }

    #[inline(always)]
    pub(super) fn average(&self) -> u32 {
        ((self.known().average + ONE / 2) / ONE) as u32
    }

    /// Returns a depth, not 0, at which most keys have a node, or `None` if there is no such depth.
    #[inline(always)]
    pub(super) fn start(&self) -> Option<u32> {
        let known = self.known();
        Some(known.start()).filter(|&start| start > 0 && known.failures <= FAILURES_MAX)
    }

    /// Records some of the added leaves, selected by the hash of their name. `is_there` must tell
    /// whether the key of the leaf has a node at a depth.
    #[inline(always)]
    pub(super) fn note(&self, hash: u32, depth: u32, is_there: impl FnOnce(u32) -> bool) {
        if hash.is_multiple_of(RECORDED_ONE_IN) {
            let known = self.known();
            let start = known.start();
            // The leaf itself is not in the table yet.
            let found = start > 0 && (depth == start || depth > start && is_there(start));
            self.0.store(known.with(depth, found).word(), Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    fn noted(depths: impl Iterator<Item = u32>, is_there: impl Fn(u32) -> bool) -> LeafDepths {
        let known = LeafDepths::default();
        depths.for_each(|depth| known.note(0, depth, &is_there));
        known
    }

    #[test]
    fn searches_begin_at_a_depth_that_most_leaves_reach() {
        let depths = noted((0..10_000).map(|leaf| 5 + leaf % 7 / 4), |_| true);
        assert_eq!((depths.start(), depths.reach()), (Some(5), 6));
        let depths = noted((0..10_000).map(|leaf| if leaf % 4 == 0 { 4 } else { 7 }), |_| true);
        assert_eq!(depths.start(), Some(4));
    }

    #[test]
    fn no_search_begins_at_the_root_by_a_hint() {
        let depths = noted((0..10_000).map(|leaf| if leaf < 5_000 { 5 } else { 0 }), |_| true);
        assert_eq!(depths.start(), None);
    }

    /// Incident: the share of failures overflowed its field and became 0. Consequence: now and then
    /// a table of long keys was taken for one of random keys, and lookups began where they found no
    /// node. Fix: the share saturates at the maximum of its field.
    #[test]
    fn no_search_begins_where_all_trials_fail() {
        let depths = LeafDepths::default();
        for leaf in 0..10_000 {
            depths.note(0, 30 + leaf % 40, |_| false);
            assert_eq!(depths.start(), None, "after {leaf} more");
        }
    }

    #[test]
    fn searches_begin_at_the_root_if_depths_vary() {
        let depths = noted((0..10_000).map(|leaf| 30 + leaf % 40), |start| start < 20);
        assert_eq!(depths.start(), None);
    }
}
