//! Stepping backward. Links lead forward only, so a cursor that moves backward keeps a stack of
//! nodes before it.
//!
//! ```text
//!   level 4    start ───────────────────────────────────────► beyond
//!   level 0    start ─► 1 ─► 2 ─► 3 ─► 4 ─► 5 ─► 6 ─► 7 ─► cursor
//!                       └──────── kept, popped from the right ─┘
//! ```
//!
//! A search for the nodes before the cursor stops at level 4 and walks the rest of the way on level
//! 0: about sixteen nodes, which serve as many steps. The cursor's guard keeps them live. Whether a
//! node holds a key is checked when the cursor reaches it.

use std::cmp::Ordering;

use arrayvec::ArrayVec;

use super::SkipListVariant;
use super::node::{Node, SearchKey};
use super::variant::SkipListSettings;
use crate::slot::Slot;

/// The level at which the search stops. On average sixteen nodes lie between two nodes of this
/// level.
const LEVEL: usize = 4;
/// The maximum number of nodes that are kept.
const NODES: usize = 32;

/// Nodes before a cursor, the nearest last. The cursor steps back by popping them.
#[derive(Debug)]
pub(super) struct PrecedingNodes<V: SkipListSettings> {
    nodes: ArrayVec<Node<V>, NODES>,
}

impl<V: SkipListSettings> PrecedingNodes<V> {
    pub(super) fn new() -> Self {
        Self { nodes: ArrayVec::new_const() }
    }

    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<Node<V>> {
        self.nodes.pop()
    }

    /// Collects the last nodes before a key; with `inclusive`, also the node of the key.
    pub(super) fn fill<S: Slot>(&mut self, list: &SkipListVariant<S, V>, key: &[u8], inclusive: bool) {
        let target = SearchKey::of(key);
        self.collect(list, |node| match node.compare(&target) {
            Ordering::Equal if inclusive => Ordering::Less,
            order => order,
        });
    }

    /// Collects the last nodes of the list.
    pub(super) fn fill_from_end<S: Slot>(&mut self, list: &SkipListVariant<S, V>) {
        self.collect(list, |_| Ordering::Less);
    }

    fn collect<S: Slot>(&mut self, list: &SkipListVariant<S, V>, order: impl Fn(Node<V>) -> Ordering) {
        self.clear();
        let mut start = list.engine.head;
        list.descend::<false>(&order, |level, last, _| {
            if level >= LEVEL || start == list.engine.head {
                start = last;
            }
        });
        if start != list.engine.head {
            self.nodes.push(start);
        }
        let mut next = start.next(0).node();
        while let Some(node) = next.filter(|&node| order(node) == Ordering::Less) {
            if self.nodes.is_full() {
                self.nodes.drain(..NODES / 2);
            }
            self.nodes.push(node);
            next = node.next(0).node();
        }
    }
}
