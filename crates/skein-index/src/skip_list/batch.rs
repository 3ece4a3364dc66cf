//! Many lookups at once: each goes one step, then the next one does, so that while one waits for a node the others go on.

use std::cmp::Ordering;

use arrayvec::ArrayVec;

use super::SkipList;
use super::link::Link;
use super::node::{Node, Target};
use crate::slot::Slot;

/// Lookups in a group.
const GROUP: usize = 32;

/// A lookup under way: what `descend` keeps in its variables.
#[derive(Debug)]
struct Lane<'k> {
    place: usize,
    target: Target<'k>,
    last: Node,
    level: usize,
    bound: Link,
    /// The link to follow next; its node has been asked for.
    link: Link,
}

impl Lane<'_> {
    /// Looks at the node that was asked for, and goes right or down, up to one that was not; true at the end of the search.
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
        while self.link == self.bound || self.link == Link::END {
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

impl<S: Slot, const V: usize> SkipList<S, V> {
    /// Looks up all keys; `found` gets each one's position and its value's word. The caller holds a guard.
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

    /// The nodes of some keys, by their places.
    fn nodes_of(&self, keys: &[&[u8]]) -> [Option<Node>; GROUP] {
        let mut nodes = [None; GROUP];
        let level = self.top() - 1;
        let link = self.head.next(level);
        let begin = |(place, target)| Lane { place, target, last: self.head, level, bound: Link::END, link };
        let targets = keys.iter().map(|key| Target::of(key));
        let mut lanes: ArrayVec<Lane<'_>, GROUP> = targets.enumerate().map(begin).collect();
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
