//! Many lookups at once: each goes one step, then the next one does, so that while one waits for memory the others go on.
//!
//! ```text
//!   step        asks for                        needs
//!   narrow      the line of the next prefix     the line of this one
//!   item        the item                        the longest prefix
//!   leaf        the leaf's two lines            the item
//!   record      the record                      the leaf's slots
//!   value       what the slot points to         the record
//! ```
//!
//! A lookup by itself has these reads one after the other; a group of [`GROUP`] has that many of each in flight.

use super::Wormhole;
use super::leaf::{home, looks_like};
use super::lookup::{LeafGuess, PrefixBounds};
use super::table::{MetaTrieNode, PrefixTable};
use crate::hash::PrefixHasher;
use crate::index::{IndexError, MAX_KEY_LEN, OrderedIndex};
use crate::masstree::GROUP;
use crate::record::{KeyRecord, kind_of};
use crate::slot::Slot;

use skein_sync::reclaim::{Guard, check_guard};

/// One lookup of a group.
struct WormholeLookup<'k> {
    prefixes: PrefixHasher<'k>,
    place: usize,
    known: PrefixBounds,
    /// The prefix being probed: its length and its hash.
    probe: (usize, u64),
}

impl<S: Slot, const W: usize> Wormhole<S, W> {
    /// Looks up all keys; `found` gets each one's position and its value's word.
    pub(super) fn lookup_many(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<u64>)) {
        let table = self.meta.table();
        let mut room: [WormholeLookup<'_>; GROUP] = std::array::from_fn(|_| self.idle(table));
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            let mut asked = 0;
            for (place, key) in (group * GROUP..).zip(keys) {
                if key.len() > MAX_KEY_LEN {
                    found(place, None);
                    continue;
                }
                let ask = &mut room[asked];
                ask.prefixes.set(table.hash, key);
                (ask.place, ask.known, ask.probe) = (place, self.begin(table, key), (0, 0));
                asked += 1;
            }
            self.lookup_group(table, &mut room[..asked], &mut found);
        }
    }

    /// Sets every key to the value that `value` returns for its place in `keys`, in the order of
    /// `keys`.
    ///
    /// Like one [`insert`](OrderedIndex::insert) after the other, but the memory reads of a group
    /// of keys overlap: all of a group are searched for before the first one is written. Sorted
    /// keys are faster, because neighbours share leaves.
    ///
    /// # Errors
    /// As for `insert`. Keys before the group of the one that is refused are set.
    pub fn put_many<G: Guard>(
        &self,
        keys: &[&[u8]],
        mut value: impl FnMut(usize) -> S,
        guard: &G,
    ) -> Result<(), IndexError> {
        check_guard(self.collector(), guard);
        // Made once, because to move so much costs as much as a search.
        let mut room: [WormholeLookup<'_>; GROUP] = std::array::from_fn(|_| self.idle(self.meta.table()));
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            for key in keys {
                self.base.check_write(key, MAX_KEY_LEN, || self.meta.table().growth(key.len()))?;
            }
            // The writes of a group may replace the table.
            let table = self.meta.table();
            let asks = &mut room[..keys.len()];
            for (ask, key) in asks.iter_mut().zip(keys) {
                ask.prefixes.set(table.hash, key);
                (ask.known, ask.probe) = (self.begin(table, key), (0, 0));
            }
            let targets = self.locate_many(table, asks);
            for LeafGuess { leaf, tag } in targets.into_iter().flatten() {
                leaf.prefetch_for_insert(tag);
                if let Some(next) = leaf.next() {
                    next.prefetch_first();
                }
            }
            // Writes of the group may split leaves that were found for later ones. They merge none:
            // nothing is removed.
            let targets = targets.into_iter().flatten();
            for (place, (key, target)) in (group * GROUP..).zip(keys.iter().zip(targets)) {
                self.put_near(key, target, value(place), guard);
            }
        }
        Ok(())
    }

    fn idle<'k>(&self, table: &PrefixTable) -> WormholeLookup<'k> {
        WormholeLookup {
            prefixes: PrefixHasher::empty(table.hash),
            place: 0,
            known: self.begin(table, &[]),
            probe: (0, 0),
        }
    }

    fn lookup_group(
        &self,
        table: &PrefixTable,
        asks: &mut [WormholeLookup<'_>],
        found: &mut impl FnMut(usize, Option<u64>),
    ) {
        let targets = self.locate_many(table, asks);
        let mut words = [None; GROUP];
        for ((ask, target), word) in asks.iter().zip(targets).zip(&mut words) {
            let Some(target) = target else { continue };
            *word = self.finish(ask.prefixes.bytes(), target);
            if let Some(word) = *word {
                S::prefetch(word);
            }
        }
        for (ask, word) in asks.iter().zip(words) {
            found(ask.place, word);
        }
    }

    fn locate_many(
        &self,
        table: &PrefixTable,
        asks: &mut [WormholeLookup<'_>],
    ) -> [Option<LeafGuess>; GROUP] {
        let mut narrowing = true;
        while narrowing {
            narrowing = false;
            for ask in asks.iter_mut() {
                narrowing |= Self::narrow_one(table, ask);
            }
        }
        for ask in asks.iter() {
            if let MetaTrieNode::Item(item) = ask.known.node() {
                item.prefetch();
            }
        }
        let mut targets = [None; GROUP];
        for (ask, target) in asks.iter().zip(&mut targets) {
            let key = ask.prefixes.bytes();
            let tag = self.tag(table, &ask.prefixes);
            let leaf = self.leaf_after(key, &ask.known).unwrap_or_else(|| self.locate_exactly(key));
            leaf.prefetch(tag);
            *target = Some(LeafGuess { leaf, tag });
        }
        for (ask, target) in asks.iter().zip(&targets) {
            let Some(LeafGuess { leaf, tag }) = target else { continue };
            let kind = kind_of(ask.prefixes.bytes().len());
            let words = leaf.tagged(home(*tag), *tag).map(|slot| leaf.slot(slot));
            words.filter(|&word| looks_like(word, *tag, kind)).for_each(KeyRecord::prefetch);
        }
        targets
    }

    /// Takes in the probe under way, and asks for the next. False if there is none.
    #[inline(always)]
    fn narrow_one(table: &PrefixTable, ask: &mut WormholeLookup<'_>) -> bool {
        let known = &mut ask.known;
        let (len, _) = ask.probe;
        if len > known.len && len < known.end {
            known.learn(len, Self::probe(table, &ask.prefixes, ask.probe, false));
        }
        if !known.is_open() {
            return false;
        }
        let len = known.len + (known.end - known.len) / 2;
        let hash = Self::hash(table, &ask.prefixes, len);
        table.prefetch(hash);
        ask.probe = (len, hash);
        true
    }
}
