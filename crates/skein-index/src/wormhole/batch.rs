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
use super::lookup::{Longest, Target};
use super::table::{Node, Table};
use crate::hash::Prefixes;
use crate::index::MAX_KEY_LEN;
use crate::masstree::GROUP;
use crate::record::{Record, kind_of};
use crate::slot::Slot;

/// One lookup of a group.
struct Ask<'k> {
    prefixes: Prefixes<'k>,
    place: usize,
    known: Longest,
    /// The prefix being probed: its length and its hash.
    probe: (usize, u64),
}

impl<S: Slot, const W: usize> Wormhole<S, W> {
    /// Looks up all keys; `found` gets each one's position and its value's word.
    pub(super) fn lookup_many(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<u64>)) {
        let table = self.meta.table();
        let idle = || Ask {
            prefixes: Prefixes::empty(table.hash),
            place: 0,
            known: self.begin(table, &[]),
            probe: (0, 0),
        };
        let mut room: [Ask<'_>; GROUP] = std::array::from_fn(|_| idle());
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

    fn lookup_group(&self, table: &Table, asks: &mut [Ask<'_>], found: &mut impl FnMut(usize, Option<u64>)) {
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

    fn locate_many(&self, table: &Table, asks: &mut [Ask<'_>]) -> [Option<Target>; GROUP] {
        let mut narrowing = true;
        while narrowing {
            narrowing = false;
            for ask in asks.iter_mut() {
                narrowing |= Self::narrow_one(table, ask);
            }
        }
        for ask in asks.iter() {
            if let Node::Item(item) = ask.known.node() {
                item.prefetch();
            }
        }
        let mut targets = [None; GROUP];
        for (ask, target) in asks.iter().zip(&mut targets) {
            let key = ask.prefixes.bytes();
            let tag = self.tag(table, &ask.prefixes);
            let leaf = self.leaf_after(key, &ask.known).unwrap_or_else(|| self.locate_exactly(key));
            leaf.prefetch(tag);
            *target = Some(Target { leaf, tag });
        }
        for (ask, target) in asks.iter().zip(&targets) {
            let Some(Target { leaf, tag }) = target else { continue };
            let kind = kind_of(ask.prefixes.bytes().len());
            let words = leaf.tagged(home(*tag), *tag).map(|slot| leaf.slot(slot));
            words.filter(|&word| looks_like(word, *tag, kind)).for_each(Record::prefetch);
        }
        targets
    }

    /// Takes in the probe under way, and asks for the next. False if there is none.
    #[inline(always)]
    fn narrow_one(table: &Table, ask: &mut Ask<'_>) -> bool {
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
