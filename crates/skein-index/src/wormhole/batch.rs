//! Batched lookups with overlapping memory reads: the lookups of a group take turns, so while one
//! waits for memory the others run.
//!
//! ```text
//!   step        prefetches                      needs
//!   narrow      the line of the next prefix     the line of this one
//!   item        the item                        the longest prefix
//!   leaf        the leaf's two lines            the item
//!   record      the record                      the leaf's slots
//!   value       the slot's target               the record
//! ```
//!
//! A single lookup performs these reads one after the other. A group of [`GROUP`] lookups has that
//! many of each in flight.

use super::WormholeVariant;
use super::leaf::{home, looks_like};
use super::lookup::{LeafGuess, PrefixBounds};
use super::table::{MetaTrieNode, PrefixTable};
use super::variant::WormholeSettings;
use crate::hash::PrefixHasher;
use crate::index::{IndexError, MAX_KEY_LEN, OrderedIndex};
use crate::masstree::GROUP;
use crate::record::{KeyRecord, kind_of};
use crate::slot::Slot;

use skein_sync::reclaim::{Guard, check_guard};

/// One lookup of a group.
struct WormholeLookup<'k> {
    prefixes: PrefixHasher<'k>,
    position: usize,
    bounds: PrefixBounds,
    /// The prefix that is being probed: its length and its hash.
    probe: (usize, u64),
}

impl<S: Slot, V: WormholeSettings> WormholeVariant<S, V> {
    /// Looks up all keys. Calls `found` with each key's position and the word of its value.
    pub(super) fn lookup_many(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<u64>)) {
        let table = self.engine.meta.table();
        let mut buffer: [WormholeLookup<'_>; GROUP] = std::array::from_fn(|_| self.empty_lookup(table));
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            let mut count = 0;
            for (position, key) in (group * GROUP..).zip(keys) {
                if key.len() > MAX_KEY_LEN {
                    found(position, None);
                    continue;
                }
                let lookup = &mut buffer[count];
                lookup.prefixes.set(table.hash, key);
                (lookup.position, lookup.bounds, lookup.probe) =
                    (position, self.initial_bounds(table, key), (0, 0));
                count += 1;
            }
            self.lookup_group(table, &mut buffer[..count], &mut found);
        }
    }

    /// Sets every key to the value that `value` returns for its position in `keys`, in the order of
    /// `keys`.
    ///
    /// Has the effect of one [`insert`](OrderedIndex::insert) after the other, but the memory reads
    /// of a group of keys overlap: all keys of a group are searched for before the first one is
    /// written. Sorted keys are faster, because neighbours share leaves.
    ///
    /// # Errors
    /// As for `insert`. The keys before the failing key's group are set.
    pub fn put_many<G: Guard>(
        &self,
        keys: &[&[u8]],
        mut value: impl FnMut(usize) -> S,
        guard: &G,
    ) -> Result<(), IndexError> {
        check_guard(self.collector(), guard);
        // Created once, because moving so many bytes costs as much as a search.
        let mut buffer: [WormholeLookup<'_>; GROUP] =
            std::array::from_fn(|_| self.empty_lookup(self.engine.meta.table()));
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            for key in keys {
                self.base.check_write(key, MAX_KEY_LEN, || self.engine.meta.table().growth(key.len()))?;
            }
            // The writes of a group may replace the table.
            let table = self.engine.meta.table();
            let lookups = &mut buffer[..keys.len()];
            for (lookup, key) in lookups.iter_mut().zip(keys) {
                lookup.prefixes.set(table.hash, key);
                (lookup.bounds, lookup.probe) = (self.initial_bounds(table, key), (0, 0));
            }
            let targets = self.locate_many(table, lookups);
            for LeafGuess { leaf, tag } in targets.into_iter().flatten() {
                leaf.prefetch_for_insert(tag);
                if let Some(next) = leaf.next() {
                    next.prefetch_first();
                }
            }
            // Writes of the group may split leaves that were found for later keys. They merge no
            // leaves, because nothing is removed.
            let targets = targets.into_iter().flatten();
            for (position, (key, target)) in (group * GROUP..).zip(keys.iter().zip(targets)) {
                self.put_near(key, target, value(position), guard);
            }
        }
        Ok(())
    }

    fn empty_lookup<'k>(&self, table: &PrefixTable) -> WormholeLookup<'k> {
        WormholeLookup {
            prefixes: PrefixHasher::empty(table.hash),
            position: 0,
            bounds: self.initial_bounds(table, &[]),
            probe: (0, 0),
        }
    }

    fn lookup_group(
        &self,
        table: &PrefixTable,
        lookups: &mut [WormholeLookup<'_>],
        found: &mut impl FnMut(usize, Option<u64>),
    ) {
        let targets = self.locate_many(table, lookups);
        let mut words = [None; GROUP];
        for ((lookup, target), word) in lookups.iter().zip(targets).zip(&mut words) {
            let Some(target) = target else { continue };
            *word = self.finish(lookup.prefixes.bytes(), target);
            if let Some(word) = *word {
                S::prefetch(word);
            }
        }
        for (lookup, word) in lookups.iter().zip(words) {
            found(lookup.position, word);
        }
    }

    fn locate_many(
        &self,
        table: &PrefixTable,
        lookups: &mut [WormholeLookup<'_>],
    ) -> [Option<LeafGuess>; GROUP] {
        let mut narrowing = true;
        while narrowing {
            narrowing = false;
            for lookup in lookups.iter_mut() {
                narrowing |= Self::narrow_one(table, lookup);
            }
        }
        for lookup in lookups.iter() {
            if let MetaTrieNode::Item(item) = lookup.bounds.node() {
                item.prefetch();
            }
        }
        let mut targets = [None; GROUP];
        for (lookup, target) in lookups.iter().zip(&mut targets) {
            let key = lookup.prefixes.bytes();
            let tag = self.tag(table, &lookup.prefixes);
            let leaf = self.leaf_after(key, &lookup.bounds).unwrap_or_else(|| self.locate_exactly(key));
            leaf.prefetch(tag);
            *target = Some(LeafGuess { leaf, tag });
        }
        for (lookup, target) in lookups.iter().zip(&targets) {
            let Some(LeafGuess { leaf, tag }) = target else { continue };
            let kind = kind_of(lookup.prefixes.bytes().len());
            let words = leaf.tagged(home(*tag), *tag).map(|slot| leaf.slot(slot));
            words.filter(|&word| looks_like(word, *tag, kind)).for_each(KeyRecord::prefetch);
        }
        targets
    }

    /// Evaluates the current probe and prefetches the line of the next. Returns false if no other
    /// probe is needed.
    #[inline(always)]
    fn narrow_one(table: &PrefixTable, lookup: &mut WormholeLookup<'_>) -> bool {
        let bounds = &mut lookup.bounds;
        let (len, _) = lookup.probe;
        if len > bounds.len && len < bounds.end {
            bounds.narrow_to(len, Self::probe(table, &lookup.prefixes, lookup.probe, false));
        }
        if !bounds.is_open() {
            return false;
        }
        let len = bounds.len + (bounds.end - bounds.len) / 2;
        let hash = Self::hash(table, &lookup.prefixes, len);
        table.prefetch(hash);
        lookup.probe = (len, hash);
        true
    }
}
