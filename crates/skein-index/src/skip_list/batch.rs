//! Batched lookups. The lookups of a group take turns, one step each, so that their memory accesses
//! overlap.

use std::cmp::Ordering;

use arrayvec::ArrayVec;

use super::SkipListVariant;
use super::link::TowerLink;
use super::node::{Node, SearchKey};
use super::variant::SkipListSettings;
use crate::slot::Slot;

/// The number of lookups in a group.
const GROUP: usize = 32;

/// A lookup under way: the local variables of `descend`.
#[derive(Debug)]
struct SkipListLookup<'k, V: SkipListSettings> {
    place: usize,
    target: SearchKey<'k>,
    last: Node<V>,
    level: usize,
    bound: TowerLink<V>,
    /// The link to follow next. Its node has been prefetched.
    link: TowerLink<V>,
}

impl<V: SkipListSettings> SkipListLookup<'_, V> {
    /// Reads the prefetched node and moves right or down until it reaches a node that must be
    /// prefetched. Returns true at the end of the search.
    #[inline(always)]
    fn step(&mut self) -> bool {
        if let Some(node) = self.link.node() {
            if node.compare(&self.target) == Ordering::Less {
                let next = node.next(self.level);
                if !next.is_marked() {
                    self.last = node;
                }
                self.link = next.unmarked();
            } else {
                self.bound = self.link;
            }
        }
        while self.link == self.bound || self.link == TowerLink::END {
            if self.level == 0 {
                return true;
            }
            self.level -= 1;
            self.link = self.last.next(self.level).unmarked();
        }
        self.link.prefetch(self.level);
        false
    }
}

impl<S: Slot, V: SkipListSettings> SkipListVariant<S, V> {
    /// Looks up all keys and passes each key's position and its value's word to `found`. The caller
    /// must hold a guard.
    pub(super) fn lookup_many(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<u64>)) {
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            let nodes = &self.nodes_of(keys)[..keys.len()];
            for node in nodes.iter().flatten() {
                node.state().prefetch();
            }
            let words: ArrayVec<Option<u64>, GROUP> =
                nodes.iter().map(|node| node.and_then(|node| node.state().value(node))).collect();
            words.iter().flatten().for_each(|&word| S::prefetch(word));
            for (place, word) in words.into_iter().enumerate() {
                found(group * GROUP + place, word);
            }
        }
    }

    /// Returns the nodes of up to [`GROUP`] keys, in the order of the keys.
    fn nodes_of(&self, keys: &[&[u8]]) -> [Option<Node<V>>; GROUP] {
        let mut nodes = [None; GROUP];
        let level = self.top() - 1;
        let link = self.engine.head.next(level);
        let begin = |(place, target)| SkipListLookup {
            place,
            target,
            last: self.engine.head,
            level,
            bound: TowerLink::END,
            link,
        };
        let targets = keys.iter().map(|key| SearchKey::of(key));
        let mut lanes: ArrayVec<SkipListLookup<'_, V>, GROUP> = targets.enumerate().map(begin).collect();
        while !lanes.is_empty() {
            let mut at = 0;
            while let Some(lane) = lanes.get_mut(at) {
                if !lane.step() {
                    at += 1;
                    continue;
                }
                nodes[lane.place] =
                    lane.link.node().filter(|node| node.compare(&lane.target) == Ordering::Equal);
                lanes.swap_remove(at);
            }
        }
        nodes
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::SkipList;
    use super::super::variant::SkipListOf;
    use super::*;
    use crate::index::OrderedIndex;
    use crate::slot::Inline;

    fn key(n: u64) -> Vec<u8> {
        let tail = "/a tail".repeat(n as usize % 4);
        [&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[..], tail.as_bytes()].concat()
    }

    #[test]
    fn batches_of_every_length_answer_in_order() {
        let list = SkipList::<Inline<u64>>::new();
        let guard = list.collector().enter();
        for n in 0..5_000 {
            list.insert(&key(n), Inline(n), &guard).unwrap();
            // Some keys get a version in a block of its own.
            if n % 3 == 0 {
                list.insert(&key(n), Inline(n), &guard).unwrap();
            }
        }
        for len in [0, 1, GROUP - 1, GROUP, GROUP + 1, 5 * GROUP + 7] {
            let keys: Vec<Vec<u8>> = (0..len as u64).map(|at| key(at * 97 % 6_000)).collect();
            let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            let mut values = Vec::new();
            list.get_many(&keys, &guard, |place, value| {
                assert_eq!(place, values.len());
                values.push(value);
            });
            let expected = (0..len as u64).map(|at| at * 97 % 6_000).map(|n| (n < 5_000).then_some(n));
            assert!(values.into_iter().eq(expected), "{len} keys");
        }
    }

    #[test]
    fn batches_find_stable_keys_while_their_neighbours_change() {
        let list = SkipListVariant::<Inline<u64>, SkipListOf<4, 0>>::with_variant(std::sync::Arc::default());
        let put = |n| list.insert(&key(n), Inline(n), &list.collector().enter()).unwrap();
        (0..600).step_by(10).for_each(|n| assert_eq!(put(n), None));
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in (0..30_000).map(|turn| turn % 600).filter(|n| n % 10 != 0) {
                    if list.remove(&key(n), &list.collector().enter()).is_none() {
                        put(n);
                    }
                }
                done.store(true, Ordering::Relaxed);
            });
            let keys: Vec<Vec<u8>> = (0..600).step_by(10).map(key).collect();
            let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            while !done.load(Ordering::Relaxed) {
                let guard = list.collector().enter();
                list.get_many(&keys, &guard, |place, value| assert_eq!(value, Some(10 * place as u64)));
            }
        });
    }
}
