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
use super::leaf::{LINE, home, looks_like};
use super::lookup::{Longest, Target};
use super::record::{Record, kind_of};
use super::table::{Node, Table};
use crate::hash::State;
use crate::index::MAX_KEY_LEN;
use crate::masstree::GROUP;
use crate::slot::Slot;

/// One lookup of a group.
#[derive(Clone, Copy)]
struct Ask<'k> {
    key: &'k [u8],
    place: usize,
    known: Longest,
    /// The prefix being probed.
    probe: (usize, State),
}

impl<S: Slot, const W: usize> Wormhole<S, W> {
    /// Looks up all keys; `found` gets each one's position and its value's word.
    pub(super) fn lookup_many(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<u64>)) {
        let table = self.meta.table();
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            let mut asks: [Option<Ask<'_>>; GROUP] = [None; GROUP];
            for (place, (&key, ask)) in keys.iter().zip(&mut asks).enumerate() {
                if key.len() > MAX_KEY_LEN {
                    found(group * GROUP + place, None);
                    continue;
                }
                let known = self.begin(table, key);
                *ask = Some(Ask { key, place, known, probe: (0, known.state) });
            }
            let targets = self.locate_many(table, &mut asks);
            let mut words = [None; GROUP];
            for ((ask, target), word) in asks.iter().zip(targets).zip(&mut words) {
                if let (Some(ask), Some(target)) = (ask, target) {
                    *word = self.finish(ask.key, target);
                    if let Some(word) = *word {
                        S::prefetch(word);
                    }
                }
            }
            for (ask, word) in asks.iter().zip(words) {
                if let Some(ask) = ask {
                    found(group * GROUP + ask.place, word);
                }
            }
        }
    }

    fn locate_many(&self, table: &Table, asks: &mut [Option<Ask<'_>>; GROUP]) -> [Option<Target>; GROUP] {
        let mut narrowing = true;
        while narrowing {
            narrowing = false;
            for ask in asks.iter_mut().flatten() {
                narrowing |= Self::narrow_one(table, ask);
            }
        }
        for ask in asks.iter().flatten() {
            if let Node::Item(item) = ask.known.node {
                item.prefetch();
            }
        }
        let mut targets = [None; GROUP];
        for (ask, target) in asks.iter().zip(&mut targets) {
            let Some(ask) = ask else { continue };
            let tag = self.tag(table, ask.key, &ask.known);
            let leaf = self.leaf_after(ask.key, &ask.known).unwrap_or_else(|| self.locate_exactly(ask.key));
            leaf.prefetch(tag);
            *target = Some(Target { leaf, tag });
        }
        for (ask, target) in asks.iter().zip(&targets) {
            let (Some(ask), Some(Target { leaf, tag })) = (ask, target) else { continue };
            let (kind, start) = (kind_of(ask.key.len()), home(*tag) * LINE);
            let words = (start..start + LINE).map(|slot| leaf.slot(slot));
            words.filter(|&word| looks_like(word, *tag, kind)).for_each(Record::prefetch);
        }
        targets
    }

    /// Takes in the probe under way, and asks for the next. False if there is none.
    #[inline(always)]
    fn narrow_one(table: &Table, ask: &mut Ask<'_>) -> bool {
        let known = &mut ask.known;
        let (len, state) = ask.probe;
        if len > known.len && len < known.end {
            match Self::probe(table, state, &ask.key[..len], false) {
                Some(node) => (known.len, known.state, known.node) = (len, state, node),
                None => known.end = len,
            }
        }
        if known.len + 1 >= known.end || matches!(known.node, Node::Leaf(_)) {
            return false;
        }
        let len = known.len + (known.end - known.len) / 2;
        let state = Self::state(table, ask.key, (known.len, known.state), len);
        table.prefetch(state);
        ask.probe = (len, state);
        true
    }
}
