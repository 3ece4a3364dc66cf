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
use super::change::Obstacle;
use super::entry::Kind;
use super::hints::{Sums, Trail};
use super::lanes::Want;
use super::prefixes::{Prefixes, Start};
use super::search::{Named, Stop};
use super::steps::Way;
use super::symbol::Symbols;
use super::table::Size;
use crate::record::Record;
use crate::slot::Slot;

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// A lookup's way, from where it had best begin; none if that is the root.
    #[inline(always)]
    pub(super) fn way<'k>(&self, key: &'k [u8], size: Size) -> Option<Way<'k>> {
        if let Some(depth) = self.table.depths.start() {
            return Way::from_depth(&self.table, size, key, depth);
        }
        let mut sums = Sums::new();
        self.table.hints.ask(key, &mut sums);
        self.way_by_hints(key, &sums, size)
    }

    /// The same by hints that were asked for.
    #[inline(always)]
    pub(super) fn way_by_hints<'k>(&self, key: &'k [u8], sums: &Sums, size: Size) -> Option<Way<'k>> {
        let hint = self.table.hints.deepest(sums, Symbols::of(key).count())?;
        Some(Way::from_hint(&self.table, size, key, hint))
    }

    /// Where another search had best begin by hints.
    #[inline(never)]
    fn start_by_hints(&self, prefixes: &mut Prefixes<'_, '_, V>, sums: &mut Sums) -> Option<Start> {
        self.table.hints.ask(prefixes.key(), sums);
        let hint = self.table.hints.deepest(sums, prefixes.count())?;
        Some(prefixes.start_at(hint.hash, hint.depth))
    }

    /// A node that seems to be of a key's beginning: its name has the same hash and the same last symbol, and so it mostly is.
    #[inline(always)]
    pub(super) fn guess(&self, Start { prefix, depth }: Start) -> Option<Named> {
        let node = self.look(prefix.pair, Want::by_name(prefix.lane));
        (!node.is_none()).then_some(Named { node, hash: prefix.hash, depth })
    }

    /// Follows a key as far as it leads; the nodes on the way of a long one leave a trail.
    #[inline(always)]
    pub(super) fn stop(&self, key: &[u8], trail: &mut Trail) -> Result<Stop, Obstacle> {
        let mut prefixes = Prefixes::of(&self.table, key);
        if self.table.depths.start().is_some() {
            prefixes.ask_for_less();
            return self.descend(&mut prefixes, |_| ());
        }
        self.stop_of_long(&mut prefixes, trail)
    }

    #[inline(never)]
    fn stop_of_long(&self, prefixes: &mut Prefixes<'_, '_, V>, trail: &mut Trail) -> Result<Stop, Obstacle> {
        if let Some(stop) = self.stop_by_hints(prefixes, trail) {
            return Ok(stop);
        }
        prefixes.start_over();
        trail.start_over();
        self.descend(prefixes, |named| trail.meet(named))
    }

    /// Follows a key from where a hint leads; none if that was not on its way.
    #[inline(never)]
    fn stop_by_hints(&self, prefixes: &mut Prefixes<'_, '_, V>, trail: &mut Trail) -> Option<Stop> {
        let start = self.start_by_hints(prefixes, &mut trail.sums)?;
        let mut is_its_depth_known = false;
        let pass = |named: &Named| {
            is_its_depth_known |= named.is_branch_of_its_depth();
            trail.meet(named);
        };
        let stop = self.descend_from(self.guess(start)?, prefixes, pass).ok()?;
        let below =
            self.any_key_below(stop.at, |named| is_its_depth_known |= named.is_branch_of_its_depth())?;
        let begins = || Symbols::of(prefixes.key()).begins_as(Symbols::of(below), start.depth);
        (is_its_depth_known && begins()).then_some(stop)
    }

    /// The key of a leaf below a node, after `each` has seen the nodes on the way; none if something changes meanwhile.
    fn any_key_below(&self, mut at: Named, mut each: impl FnMut(&Named)) -> Option<&[u8]> {
        loop {
            each(&at);
            let entry = at.node.entry;
            at = match entry.kind() {
                // SAFETY: a leaf, read under the caller's guard.
                Kind::Leaf | Kind::Dead => return unsafe { entry.record() }.map(Record::key),
                Kind::Jump => self.below_jump(&at).ok()?,
                Kind::Branch => self.below_branch(&at, entry.first_child()?).ok()?,
            }
        }
    }

    /// Takes note of the nodes on the way of a key that was added.
    #[inline(always)]
    pub(super) fn learn(&self, trail: &Trail) {
        if self.table.hints.is_empty() {
            self.table.want_hints();
        } else {
            self.table.hints.note(trail);
        }
    }
}
