//! Searches: from the top of the head's tower, to the right while keys are smaller, else down.
//!
//! ```text
//!   level 2   head ─────────────► 10 ───────────────────────────► 70
//!   level 1   head ─────► 5 ────► 10 ────────► 30 ──────────────► 70
//!   level 0   head ─► 2 ─► 5 ─► 8 ─► 10 ─► 20 ─► 30 ─► 40 ─► 50 ─► 70        a search for 40 goes 10, 30, 40
//! ```
//!
//! Each step to the right is a dependent read; each step down is none, if the node that comes next there has been asked for: on arrival
//! at a node a search asks for its neighbours on the next levels too.
//!
//! # Which nodes may be read
//! Readers unlink nothing, and walk over marked nodes. Why what they reach is live, under a guard that was taken before:
//!
//! 1. *Along a level.* On each level a node has one predecessor at a time, and while that is marked, its link cannot change: so a node is
//!    never unlinked from a level before a marked node that leads to it. Who stands on a node that was in the level's list under his guard
//!    finds only nodes that were, too, or came later; and what is retired after a guard was taken is kept for it.
//! 2. *Down.* A node may be in the list of a high level, and long gone from a low one. But marks go from the top downward: a link seen
//!    unmarked says that the node was, then, in the lists below as well (`node.rs`, invariant 3). So a search goes down only from nodes
//!    whose link it has seen unmarked on the level that it comes from; marked ones it passes on that level alone.
//!
//! The same says why a search finds a key that is there: all nodes that it meets on level 0 were in the list at some moment since it began.

use arrayvec::ArrayVec;
use std::cmp::Ordering;

use skein_sync::atomic::Ordering as Memory;
use skein_sync::spin::Backoff;

use super::SkipList;
use super::link::TowerLink;
use super::node::{Node, SearchKey};
use super::variant::{WITHOUT_PREFETCH, has, levels};
use crate::slot::Slot;

/// On how many levels below its own a search asks for a node's neighbours: it goes down one with a chance of a half, two with a quarter.
const BELOW: usize = 3;

/// The most levels that a variant may say.
pub(super) const LEVELS_MAX: usize = 32;

/// Where a key is or belongs: on each level that its node has, the last node before it and what that leads to.
#[derive(Debug)]
pub(super) struct TowerPath<const V: usize> {
    /// From the top level of the key's tower downward.
    steps: ArrayVec<(Node<V>, TowerLink<V>), LEVELS_MAX>,
}

impl<const V: usize> TowerPath<V> {
    /// The last node before the key on a level, and its link there.
    #[inline(always)]
    pub(super) fn at(&self, level: usize) -> (Node<V>, TowerLink<V>) {
        self.steps[self.steps.len() - 1 - level]
    }

    /// The node of the key.
    #[inline(always)]
    pub(super) fn found(&self, target: &SearchKey<'_>) -> Option<Node<V>> {
        self.at(0).1.node().filter(|node| node.compare(target) == Ordering::Equal)
    }
}

impl<S: Slot, const V: usize> SkipList<S, V> {
    /// How many levels searches begin with: at least those of every node that is linked.
    #[inline(always)]
    pub(super) fn top(&self) -> usize {
        // Relaxed: a search that begins too low is a longer one, and finds the same. Who unlinks begins at the node's own height.
        self.top.load(Memory::Relaxed) as usize
    }

    /// Lets searches begin as high as this.
    pub(super) fn raise_top(&self, height: usize) {
        if height > self.top() {
            self.top.fetch_max(height as u64, Memory::Relaxed);
        }
    }

    /// The first node whose `order` to what is looked for is not `Less`; one that is `Equal` is enough if `EXACT`, if others
    /// may come before it on the levels below.
    /// `pass` is told, level by level, the last node before it that has been seen unmarked, and what stopped the search there.
    #[inline(always)]
    pub(super) fn descend<const EXACT: bool>(
        &self,
        order: impl Fn(Node<V>) -> Ordering,
        mut pass: impl FnMut(usize, Node<V>, TowerLink<V>),
    ) -> Option<Node<V>> {
        let mut last = self.head;
        let mut level = self.top();
        // What stopped the search on the level above stops it here, too.
        let mut bound = TowerLink::END;
        loop {
            level -= 1;
            let mut link = last.next(level).unmarked();
            Self::look_below(last, level);
            while link != bound
                && let Some(node) = link.node()
            {
                let order = order(node);
                if order != Ordering::Less {
                    if EXACT && order == Ordering::Equal && !node.next(level).is_marked() {
                        return Some(node);
                    }
                    bound = link;
                    break;
                }
                let next = node.next(level);
                if !next.is_marked() {
                    last = node;
                    Self::look_below(last, level);
                }
                link = next.unmarked();
            }
            pass(level, last, link);
            if level == 0 {
                return link.node();
            }
        }
    }

    /// Asks for what the search of the levels below will look at first, if it goes down from here.
    #[inline(always)]
    fn look_below(node: Node<V>, level: usize) {
        let levels = if has(V, WITHOUT_PREFETCH) { 0 } else { BELOW };
        for below in (level.saturating_sub(levels)..level).rev() {
            node.next(below).prefetch(below);
        }
    }

    /// The node of a key, if there is one; its state may say that the key is absent. The caller holds a guard.
    #[inline(always)]
    pub(super) fn node_of(&self, key: &[u8]) -> Option<Node<V>> {
        let target = SearchKey::of(key);
        let found = self.descend::<true>(|node| node.compare(&target), |_, _, _| ());
        found.filter(|node| node.compare(&target) == Ordering::Equal)
    }

    /// The path of a key whose node has `height` levels, for a writer. Marked nodes on the way are unlinked; a node of the key itself is on all
    /// levels of the path the same, or was on none of them: so no node is ever linked before another one of its key, and one that goes is found.
    /// The caller holds a guard.
    pub(super) fn find(&self, target: &SearchKey<'_>, height: usize) -> TowerPath<V> {
        let mut backoff = Backoff::new();
        loop {
            if let Some(path) = self.try_find(target, height) {
                return path;
            }
            backoff.wait();
        }
    }

    /// The same, unless another thread unlinks there, or claims a link that is to lead past a marked node.
    #[inline(always)]
    fn try_find(&self, target: &SearchKey<'_>, height: usize) -> Option<TowerPath<V>> {
        let mut path = TowerPath { steps: ArrayVec::new_const() };
        let mut last = self.head;
        // The key's node, if a level has one.
        let mut own = TowerLink::END;
        for level in (0..self.top().max(height)).rev() {
            let mut link = last.next(level);
            if link.is_marked() {
                return None;
            }
            Self::look_below(last, level);
            while let Some(node) = link.node() {
                let order = node.compare(target);
                if order == Ordering::Greater {
                    break;
                }
                let next = node.next(level);
                if next.is_marked() {
                    if !last.replace_link(level, link, next.unmarked()) {
                        return None;
                    }
                    link = next.unmarked();
                    continue;
                }
                if order == Ordering::Equal {
                    own = link;
                    break;
                }
                (last, link) = (node, next);
                Self::look_below(last, level);
            }
            if level < height {
                path.steps.push((last, link));
            }
        }
        // One that was unmarked above, and gone below by the time the search came there, has been marked above since.
        (own == TowerLink::END || own == path.at(0).1).then_some(path)
    }

    /// The most levels that a tower has.
    pub(super) const LEVELS: usize = {
        assert!(levels(V) > 0 && levels(V) <= LEVELS_MAX, "a variant has 1 to 32 levels");
        levels(V)
    };
}
