//! Cursors. A cursor moves along the bottom level and shows the list as it is now, or as it was at
//! a snapshot's moment.

use std::marker::PhantomData;

use skein_sync::reclaim::Guard;

use super::SkipListVariant;
use super::node::{Node, SearchKey};
use super::preceding_nodes::PrecedingNodes;
use super::scan_prefetch::ScanPrefetcher;
use super::variant::SkipListSettings;
use crate::cursor::{CursorMoves, CursorPosition};
use crate::slot::Slot;

/// The moment of a cursor that shows the current state of the list.
const NOW: u64 = u64::MAX;

/// A position in a [`SkipList`](crate::SkipList), or in a
/// [`SkipListSnapshot`](super::SkipListSnapshot) of it.
#[derive(Debug)]
pub struct SkipListCursor<'g, S: Slot, G: Guard, V: SkipListSettings> {
    list: &'g SkipListVariant<S, V>,
    guard: PhantomData<&'g G>,
    /// The cursor does not show writes after this moment.
    moment: u64,
    position: CursorPosition<Node<V>>,
    ahead: ScanPrefetcher<V>,
    behind: PrecedingNodes<V>,
}

// SAFETY: a cursor holds a reference to an index that is `Sync`, and addresses that the guard keeps
// alive. If the guard may be used by another thread, so may the cursor.
unsafe impl<S: Slot, G: Guard + Sync, V: SkipListSettings> Send for SkipListCursor<'_, S, G, V> {}

impl<'g, S: Slot, G: Guard, V: SkipListSettings> SkipListCursor<'g, S, G, V> {
    /// Returns a cursor over the current state of the list.
    pub(super) fn now(list: &'g SkipListVariant<S, V>, guard: &'g G) -> Self {
        Self::new(list, NOW, guard)
    }

    /// Returns a cursor over the list as it was at a moment.
    pub(super) fn new(list: &'g SkipListVariant<S, V>, moment: u64, _guard: &'g G) -> Self {
        let (ahead, behind) = (ScanPrefetcher::new(), PrecedingNodes::new());
        Self { list, guard: PhantomData, moment, position: CursorPosition::Fresh, ahead, behind }
    }

    /// Returns the word that a node's key has at the cursor's moment, or `None` if the key is
    /// absent then.
    #[inline(always)]
    fn word(&self, node: Node<V>) -> Option<u64> {
        let state = node.state();
        if self.moment == NOW { state.value(node) } else { state.at(self.moment).value(node) }
    }

    /// Moves to the first present key at or behind a node. Returns false at the end of the list.
    #[inline(always)]
    fn move_to_first_key(&mut self, mut from: Option<Node<V>>) -> bool {
        while let Some(node) = from {
            if let Some(word) = self.word(node) {
                self.position = CursorPosition::On(node, word);
                return true;
            }
            from = self.after(node);
        }
        self.position = CursorPosition::PastLast;
        false
    }

    /// Returns the next node on the bottom level.
    #[inline(always)]
    fn after(&mut self, node: Node<V>) -> Option<Node<V>> {
        self.ahead.advance::<S>(node);
        node.next(0).node()
    }

    /// Moves to the last present key among the nodes that `fill` collects or before them.
    fn move_to_last_key(
        &mut self,
        fill: impl FnOnce(&mut PrecedingNodes<V>, &SkipListVariant<S, V>),
    ) -> bool {
        self.ahead.clear();
        fill(&mut self.behind, self.list);
        self.step_back()
    }

    /// Moves to the last present key before the cursor. Returns false at the start of the list.
    fn step_back(&mut self) -> bool {
        let mut lowest = None;
        loop {
            while let Some(node) = self.behind.pop() {
                if let Some(word) = self.word(node) {
                    self.position = CursorPosition::On(node, word);
                    return true;
                }
                lowest = Some(node);
            }
            let Some(node) = lowest.take() else { break };
            self.behind.fill(self.list, node.key(), false);
        }
        self.position = CursorPosition::BeforeFirst;
        false
    }
}

// SAFETY: a word is loaded from a node's versions under the guard that the cursor borrows.
unsafe impl<'g, S: Slot, G: Guard, V: SkipListSettings> CursorMoves<'g, S> for SkipListCursor<'g, S, G, V> {
    type Key = Node<V>;

    #[inline(always)]
    fn position(&self) -> &CursorPosition<Node<V>> {
        &self.position
    }

    #[inline(always)]
    fn bytes<'k>(&'k self, node: &'k Node<V>) -> &'k [u8] {
        node.key()
    }

    fn seek_to(&mut self, key: &[u8], forward: bool) -> bool {
        if !forward {
            return self.move_to_last_key(|behind, list| behind.fill(list, key, true));
        }
        self.ahead.clear();
        self.behind.clear();
        let (target, ahead) = (SearchKey::of(key), &mut self.ahead);
        let found = self
            .list
            .descend::<false>(|node| node.compare(&target), |level, _, beyond| ahead.begin(level, beyond));
        self.move_to_first_key(found)
    }

    fn move_to_last(&mut self) -> bool {
        self.move_to_last_key(PrecedingNodes::fill_from_end)
    }

    #[inline]
    fn step(&mut self, node: Node<V>, forward: bool) -> bool {
        if forward {
            self.behind.clear();
            let next = self.after(node);
            return self.move_to_first_key(next);
        }
        self.ahead.clear();
        if let Some(before) = self.behind.pop()
            && let Some(word) = self.word(before)
        {
            self.position = CursorPosition::On(before, word);
            return true;
        }
        self.move_to_last_key(|behind, list| behind.fill(list, node.key(), false))
    }
}
