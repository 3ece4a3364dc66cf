//! Searches. A search starts at the top of the head's tower, moves right while the next key is
//! smaller, else moves down a level.
//!
//! ```text
//!   level 2   head ─────────────► 10 ───────────────────────────► 70
//!   level 1   head ─────► 5 ────► 10 ────────► 30 ──────────────► 70
//!   level 0   head ─► 2 ─► 5 ─► 8 ─► 10 ─► 20 ─► 30 ─► 40 ─► 50 ─► 70
//!
//!             a search for 40 visits 10, 30, 40
//! ```
//!
//! Each step to the right waits for memory. A step down does not wait if the next node there has
//! been prefetched: on arrival at a node, a search prefetches the node's neighbours on the next
//! lower levels too.
//!
//! # Which nodes may be read
//! Readers unlink nothing and walk over marked nodes. Every node that a reader reaches is live if
//! its guard was taken before, for two reasons:
//!
//! 1. *Along a level.* On each level a node has one predecessor at a time. While the predecessor is
//!    marked, its link cannot change. So a node is never unlinked from a level before the marked
//!    nodes that lead to it. A reader on a node that was in the level's list under its guard
//!    therefore finds only nodes that also were in the list, or were inserted later. A node that is
//!    retired after a guard was taken stays allocated for that guard.
//! 2. *Down.* A node may be in the list of a high level and already unlinked from a low one. But
//!    marks are set from the top down: a link that is seen unmarked proves that the node was, at
//!    that moment, in the lists below as well (`node.rs`, invariant 3). So a search moves down only
//!    from nodes whose link it saw unmarked on the level it leaves. It walks past marked nodes on
//!    their level only.
//!
//! The same argument shows why a search finds every key that is present: all nodes that it meets on
//! level 0 were in the list at some moment since the search began.

use arrayvec::ArrayVec;
use std::cmp::Ordering;

use skein_sync::atomic::Ordering as Memory;
use skein_sync::spin::Backoff;

use super::SkipListVariant;
use super::link::TowerLink;
use super::node::{Node, SearchKey};
use super::variant::SkipListSettings;
use crate::slot::Slot;

/// The number of levels below its own on which a search prefetches a node's neighbours. It moves
/// down one level with a probability of a half, two with a quarter.
const BELOW: usize = 3;

/// The maximum number of levels of a variant.
pub(super) const LEVELS_MAX: usize = 32;

/// The position of a key: for each level of its node, the last node before the key and the link of
/// that node.
#[derive(Debug)]
pub(super) struct TowerPath<V: SkipListSettings> {
    /// From the top level of the key's tower down.
    steps: ArrayVec<(Node<V>, TowerLink<V>), LEVELS_MAX>,
}

impl<V: SkipListSettings> TowerPath<V> {
    /// Returns the last node before the key on `level`, and the link of that node.
    #[inline(always)]
    pub(super) fn at(&self, level: usize) -> (Node<V>, TowerLink<V>) {
        self.steps[self.steps.len() - 1 - level]
    }

    /// Returns the node of the key, or `None` if the key has no node.
    #[inline(always)]
    pub(super) fn found(&self, target: &SearchKey<'_>) -> Option<Node<V>> {
        self.at(0).1.node().filter(|node| node.compare(target) == Ordering::Equal)
    }
}

impl<S: Slot, V: SkipListSettings> SkipListVariant<S, V> {
    /// Returns the number of levels at which searches begin: at least the height of every linked
    /// node.
    #[inline(always)]
    pub(super) fn top(&self) -> usize {
        // Relaxed: a search that begins too low takes longer and finds the same. Unlinking begins
        // at the node's own height.
        self.engine.top.load(Memory::Relaxed) as usize
    }

    /// Raises the level at which searches begin to at least `height`.
    pub(super) fn raise_top(&self, height: usize) {
        if height > self.top() {
            self.engine.top.fetch_max(height as u64, Memory::Relaxed);
        }
    }

    /// Returns the first node that `order` does not put before the target (`Less`), or `None` at
    /// the end of the list.
    ///
    /// With `EXACT` it returns any unmarked node for which `order` is `Equal`, without looking on
    /// the levels below for equal nodes before it. Calls `end_of_level` for each level, from the
    /// top down, with the last unmarked node before the target and the link at which the search
    /// stopped.
    #[inline(always)]
    pub(super) fn descend<const EXACT: bool>(
        &self,
        order: impl Fn(Node<V>) -> Ordering,
        mut end_of_level: impl FnMut(usize, Node<V>, TowerLink<V>),
    ) -> Option<Node<V>> {
        let mut last = self.engine.head;
        let mut level = self.top();
        // The link that stopped the search on the level above stops it here too.
        let mut bound = TowerLink::END;
        loop {
            level -= 1;
            let mut link = last.next(level).unmarked();
            Self::prefetch_below(last, level);
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
                    Self::prefetch_below(last, level);
                }
                link = next.unmarked();
            }
            end_of_level(level, last, link);
            if level == 0 {
                return link.node();
            }
        }
    }

    /// Prefetches the nodes that a search reads first on the levels below if it moves down from
    /// `node`.
    #[inline(always)]
    fn prefetch_below(node: Node<V>, level: usize) {
        let levels = if V::PREFETCH { BELOW } else { 0 };
        for below in (level.saturating_sub(levels)..level).rev() {
            node.next(below).prefetch(below);
        }
    }

    /// Returns the node of a key, or `None`. The state of the node may say that the key is absent.
    /// The caller must hold a guard.
    #[inline(always)]
    pub(super) fn node_of(&self, key: &[u8]) -> Option<Node<V>> {
        let target = SearchKey::of(key);
        let found = self.descend::<true>(|node| node.compare(&target), |_, _, _| ());
        found.filter(|node| node.compare(&target) == Ordering::Equal)
    }

    /// Returns the path of a key whose node has `height` levels, for a writer. Unlinks marked nodes
    /// that it meets.
    ///
    /// If the key has a node, either all levels of the path show it or none does. So a node is
    /// never linked before another node of the same key, and a node that is being removed is found.
    /// The caller must hold a guard.
    pub(super) fn find(&self, target: &SearchKey<'_>, height: usize) -> TowerPath<V> {
        let mut backoff = Backoff::new();
        loop {
            if let Some(path) = self.try_find(target, height) {
                return path;
            }
            backoff.wait();
        }
    }

    /// Tries [`Self::find`] once. Returns `None` if another thread unlinks a node on the path, or
    /// has claimed a link that would have to bypass a marked node.
    #[inline(always)]
    fn try_find(&self, target: &SearchKey<'_>, height: usize) -> Option<TowerPath<V>> {
        let mut path = TowerPath { steps: ArrayVec::new_const() };
        let mut last = self.engine.head;
        // The link to the key's node, once a level shows it.
        let mut own = TowerLink::END;
        for level in (0..self.top().max(height)).rev() {
            let mut link = last.next(level);
            if link.is_marked() {
                return None;
            }
            Self::prefetch_below(last, level);
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
                Self::prefetch_below(last, level);
            }
            if level < height {
                path.steps.push((last, link));
            }
        }
        // A node that was unmarked on an upper level and is missing below has been marked above
        // meanwhile.
        (own == TowerLink::END || own == path.at(0).1).then_some(path)
    }

    /// The maximum height of a tower.
    pub(super) const LEVELS: usize = {
        assert!(V::LEVELS > 0 && V::LEVELS <= LEVELS_MAX, "a variant has 1 to 32 levels");
        V::LEVELS
    };
}
