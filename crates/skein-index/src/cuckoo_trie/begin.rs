//! Where searches begin: at the root, or at a node further down that is probably on the key's way.
//!
//! ```text
//!   most keys are about as deep:   at that depth (`depths.rs`)
//!   or not:                        where a hint leads (`hints.rs`)
//! ```
//!
//! Such a node is found by the hash of a name; that the name is the key's beginning, nothing says at first, since entries hold no names. But each node below is
//! the child of the one above, so a leaf below has a key that begins with the name: if that key begins as the one that is searched for,
//! the search was on its way all the time. The paper begins at the root (section 4.7 names what that costs where keys share much).

use super::CuckooTrie;
use super::bucket::Want;
use super::change::Obstacle;
use super::entry::Kind;
use super::hints::{Hint, Sums};
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
    fn start_by_hints(&self, prefixes: &mut Prefixes<'_, '_, V>) -> Option<Start> {
        let mut sums = Sums::new();
        self.table.hints.ask(prefixes.key(), &mut sums);
        let hint = self.table.hints.deepest(&sums, prefixes.count())?;
        Some(prefixes.start_at(hint.hash, hint.depth))
    }

    /// A node that seems to be of a key's beginning: its name has the same hash and the same last symbol, and so it mostly is.
    #[inline(always)]
    pub(super) fn guess(&self, Start { prefix, depth }: Start) -> Option<Named> {
        let node = self.look(prefix.pair, Want::by_name(prefix.lane));
        (!node.is_none()).then_some(Named { node, hash: prefix.hash, depth })
    }

    /// Follows a key as far as it leads.
    #[inline(always)]
    pub(super) fn stop(&self, key: &[u8]) -> Result<Stop, Obstacle> {
        let mut prefixes = Prefixes::of(&self.table, key);
        if self.table.depths.start().is_none()
            && let Some(stop) = self.stop_by_hints(&mut prefixes)
        {
            return Ok(stop);
        }
        prefixes.start_over();
        self.descend(&mut prefixes, |_| ())
    }

    /// Follows a key from where a hint leads; none if that was not on its way.
    #[inline(never)]
    fn stop_by_hints(&self, prefixes: &mut Prefixes<'_, '_, V>) -> Option<Stop> {
        let start = self.start_by_hints(prefixes)?;
        let stop = self.descend_from(self.guess(start)?, prefixes, |_| ()).ok()?;
        let below = self.any_key_below(stop.at)?;
        Symbols::of(prefixes.key()).begins_as(Symbols::of(below), start.depth).then_some(stop)
    }

    /// The key of a leaf below a node; none if something changes meanwhile.
    fn any_key_below(&self, mut at: Named) -> Option<&[u8]> {
        loop {
            let entry = at.node.entry;
            at = match entry.kind() {
                // SAFETY: a leaf, read under the caller's guard.
                Kind::Leaf | Kind::Dead => return unsafe { entry.record() }.map(Record::key),
                Kind::Jump => self.below_jump(&at).ok()?,
                Kind::Branch => self.below_branch(&at, entry.first_child()?).ok()?,
            }
        }
    }

    /// Takes note of the nodes on a key's way.
    #[cold]
    #[inline(never)]
    pub(super) fn learn(&self, key: &[u8]) {
        let hints = &self.table.hints;
        if hints.is_empty() {
            self.table.want_hints();
        }
        if hints.is_empty() {
            return;
        }
        let mut notes = hints.notes(key);
        let mut prefixes = Prefixes::of(&self.table, key);
        let from = self.start_by_hints(&mut prefixes).and_then(|start| self.guess(start));
        let from = from.unwrap_or_else(|| {
            prefixes.start_over();
            self.root()
        });
        // What is not found is not noted.
        let _ = self.descend_from(from, &mut prefixes, |named| {
            notes.note(Hint { hash: named.hash, depth: named.depth });
        });
    }
}
