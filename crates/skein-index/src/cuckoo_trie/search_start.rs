//! Where searches begin: at the root, or at a node further down that is probably on the key's way.
//!
//! ```text
//!   most keys are about as deep:   at that depth (`depths.rs`)
//!   or not:                        where a hint leads (`hints.rs`)
//! ```
//!
//! Such a node is found by the hash of a name; that the name is the key's beginning, nothing says at first, since entries hold no names. But each node below is
//! the child of the one above, so a leaf below has a key that begins with the name. If that key begins as the one that is searched for, and the name is as long as it was
//! taken to be, the search was on its way all the time. The length is not to be taken for granted: a longer or shorter beginning of the same key may have the same hash. A branch
//! says how long its name is, and if that is right for one below the node, it is for all. The paper begins at the root (section 4.7 names what that costs where keys share
//! much).

use super::CuckooTrie;
use super::entry::CuckooNodeKind;
use super::hints::{HintSums, HintTrail};
use super::lanes::EntryQuery;
use super::lookup_path::LookupPath;
use super::prefixes::{KeyPrefixes, SearchStart};
use super::search::{NamedNode, SearchEnd};
use super::symbols::KeySymbols;
use super::table::LinearHashSize;
use super::transaction::CuckooAbort;
use crate::record::KeyRecord;
use crate::slot::Slot;

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// A lookup's way, from where it had best begin; none if that is the root.
    #[inline(always)]
    pub(super) fn lookup_path<'k>(&self, key: &'k [u8], size: LinearHashSize) -> Option<LookupPath<'k>> {
        if let Some(depth) = self.table.depths.start() {
            return LookupPath::from_depth(&self.table, size, key, depth);
        }
        let mut sums = HintSums::new();
        self.table.hints.ask(key, &mut sums);
        self.lookup_path_by_hints(key, &sums, size)
    }

    /// The same by hints that were asked for.
    #[inline(always)]
    pub(super) fn lookup_path_by_hints<'k>(
        &self,
        key: &'k [u8],
        sums: &HintSums,
        size: LinearHashSize,
    ) -> Option<LookupPath<'k>> {
        let hint = self.table.hints.deepest(sums, KeySymbols::of(key).count())?;
        Some(LookupPath::from_hint(&self.table, size, key, hint))
    }

    /// Where another search had best begin by hints.
    #[inline(never)]
    fn start_by_hints(
        &self,
        prefixes: &mut KeyPrefixes<'_, '_, V>,
        sums: &mut HintSums,
    ) -> Option<SearchStart> {
        self.table.hints.ask(prefixes.key(), sums);
        let hint = self.table.hints.deepest(sums, prefixes.count())?;
        Some(prefixes.start_at(hint.hash, hint.depth))
    }

    /// A node that seems to be of a key's beginning: its name has the same hash and the same last symbol, and so it mostly is.
    #[inline(always)]
    pub(super) fn guess(&self, SearchStart { prefix, depth }: SearchStart) -> Option<NamedNode> {
        let node = self.look(prefix.pair, EntryQuery::by_name(prefix.lane));
        (!node.is_none()).then_some(NamedNode { node, hash: prefix.hash, depth })
    }

    /// Follows a key as far as it leads; the nodes on the way of a long one leave a trail.
    #[inline(always)]
    pub(super) fn search(&self, key: &[u8], trail: &mut HintTrail) -> Result<SearchEnd, CuckooAbort> {
        let mut prefixes = KeyPrefixes::of(&self.table, key);
        if self.table.depths.start().is_some() {
            prefixes.ask_for_less();
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
        prefixes.start_over();
        trail.start_over();
        self.descend(prefixes, |named| trail.meet(named))
    }

    /// Follows a key from where a hint leads; none if that was not on its way.
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

    /// The key of a leaf below a node, after `each` has seen the nodes on the way; none if something changes meanwhile.
    fn any_key_below(&self, mut at: NamedNode, mut each: impl FnMut(&NamedNode)) -> Option<&[u8]> {
        loop {
            each(&at);
            let entry = at.node.entry;
            at = match entry.kind() {
                // SAFETY: a leaf, read under the caller's guard.
                CuckooNodeKind::Leaf | CuckooNodeKind::Dead => {
                    return unsafe { entry.record() }.map(KeyRecord::key);
                }
                CuckooNodeKind::Jump => self.below_jump(&at).ok()?,
                CuckooNodeKind::Branch => self.below_branch(&at, entry.first_child()?).ok()?,
            }
        }
    }

    /// Takes note of the nodes on the way of a key that was added.
    #[inline(always)]
    pub(super) fn learn(&self, trail: &HintTrail) {
        if self.table.hints.is_empty() {
            self.table.want_hints();
        } else {
            self.table.hints.note(trail);
        }
    }
}
