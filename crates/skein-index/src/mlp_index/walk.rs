//! Walks: from leaf to leaf, in order, either way.
//!
//! ```text
//!   names of three symbols ─► inner nodes, each with the children still to come ─► leaf
//! ```
//!
//! The children of a node, and the names after this one, are known before they are looked at; so a walk asks for some of them ahead, few at first and
//! more the longer it goes on.
//!
//! # Why no key is missed
//! What a node, or the flat bitmap, has said at one moment about which children there are is good for the whole walk: a key that was there all the time is
//! below one of them. And a child, when it is read, has all keys below its name. That a child is not found says
//! nothing (`search.rs`): then the walk is broken, and begins anew after the last key that it gave.

use arrayvec::ArrayVec;

use super::MlpIndex;
use super::children::ChildSet;
use super::key::ShortKey;
use super::levels::deepest_first;
use super::name::LEVEL_MIN;
use super::node::{MlpNode, MlpNodeBody};
use super::search::{FoundRawNode, Inconclusive, MlpPath, child_name};
use super::top_bitmap::{TopPrefix, bits_from, start_of};
use crate::slot::Slot;

/// The most names or children that are asked for ahead.
const AHEAD_MAX: usize = 8;

/// An inner node on the way.
#[derive(Clone, Copy, Debug)]
struct WalkFrame {
    node: MlpNode,
    /// The children to come, and those of them that were not asked for.
    rest: ChildSet,
    unasked: ChildSet,
}

/// A walk.
#[derive(Debug)]
pub(super) struct MlpWalk {
    forward: bool,
    /// What it began from, and the way there, whose nodes are taken apart when the walk comes back to them.
    from: ShortKey,
    way: MlpPath,
    frames: ArrayVec<WalkFrame, 6>,
    /// A leaf that comes before all others.
    first: Option<(ShortKey, u64)>,
    /// The names of three symbols that come next, and the last one that was looked for.
    starts: ArrayVec<TopPrefix, AHEAD_MAX>,
    last_start: Option<TopPrefix>,
    ahead: usize,
}

impl MlpWalk {
    pub(super) fn new() -> Self {
        Self {
            forward: true,
            from: ShortKey::LAST,
            way: MlpPath::default(),
            frames: ArrayVec::new(),
            first: None,
            starts: ArrayVec::new(),
            last_start: None,
            ahead: 1,
        }
    }

    pub(super) fn is_forward(&self) -> bool {
        self.forward
    }

    /// Makes it ready to go on from a key.
    pub(super) fn seek<S: Slot, const V: usize>(
        &mut self,
        index: &MlpIndex<S, V>,
        key: ShortKey,
        inclusive: bool,
        forward: bool,
    ) -> Result<(), Inconclusive> {
        (self.forward, self.from, self.first, self.ahead) = (forward, key, None, 1);
        self.frames.clear();
        self.starts.clear();
        self.last_start = Some(start_of(key.bits));
        index.descend(key, &mut self.way)?;
        let Some(seen) = &self.way.stop else { return Ok(()) };
        let node = seen.node(&index.table.seeds);
        match node.body {
            MlpNodeBody::Leaf { value, .. } => {
                let there = node.key();
                if there == key && inclusive || there != key && (there > key) == forward {
                    self.first = Some((there, value));
                }
            }
            MlpNodeBody::Inner { depth, .. } if key.shared_bytes(node.bits) >= depth => {
                self.enter_beyond(&node)
            }
            MlpNodeBody::Inner { children, .. } => {
                if (node.bits > key.bits) == forward {
                    self.enter(index, &node, children);
                }
            }
        }
        Ok(())
    }

    /// Takes up a node, which the key it began from shares to its depth, for the children beyond the key's.
    fn enter_beyond(&mut self, node: &MlpNode) {
        if let MlpNodeBody::Inner { depth, children } = node.body {
            let symbol = self.from.symbol(depth);
            let rest = if self.forward { children.above(symbol) } else { children.below(symbol) };
            self.frames.push(WalkFrame { node: *node, rest, unasked: rest });
        }
    }

    /// Takes up a node, and asks for some of its children.
    fn enter<S: Slot, const V: usize>(&mut self, index: &MlpIndex<S, V>, node: &MlpNode, children: ChildSet) {
        let mut frame = WalkFrame { node: *node, rest: children, unasked: children };
        self.ask_for_the_least(index, node);
        (0..self.ahead).for_each(|_| frame.ask(index, self.forward));
        self.frames.push(frame);
    }

    /// Asks for the nodes further down, along the least key below a node, which is known.
    fn ask_for_the_least<S: Slot, const V: usize>(&self, index: &MlpIndex<S, V>, node: &MlpNode) {
        let MlpNodeBody::Inner { depth, .. } = node.body else { return };
        let further = index.levels() & u32::MAX << (depth + 2);
        if self.forward && further != 0 {
            let size = index.table.size();
            for level in deepest_first(further) {
                index.table.prefetch(index.table.pair(node.key(), level, size));
            }
        }
    }

    /// The next leaf, its key and its value's word; none at the end.
    #[inline]
    pub(super) fn next<S: Slot, const V: usize>(
        &mut self,
        index: &MlpIndex<S, V>,
    ) -> Result<Option<(ShortKey, u64)>, Inconclusive> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        loop {
            let Some(seen) = self.next_node(index)? else { return Ok(None) };
            let node = seen.node(&index.table.seeds);
            match node.body {
                MlpNodeBody::Leaf { value, .. } => return Ok(Some((node.key(), value))),
                MlpNodeBody::Inner { children, .. } => self.enter(index, &node, children),
            }
        }
    }

    /// The next child of the innermost node that has one, or the next one from the top; none at the end.
    #[inline]
    fn next_node<S: Slot, const V: usize>(
        &mut self,
        index: &MlpIndex<S, V>,
    ) -> Result<Option<FoundRawNode>, Inconclusive> {
        loop {
            while let Some(frame) = self.frames.last_mut() {
                if let Some(symbol) = frame.take(self.forward) {
                    frame.ask(index, self.forward);
                    return index.child(&frame.node, symbol).map(Some);
                }
                self.frames.pop();
            }
            let Some(seen) = self.way.above.pop() else { break };
            self.enter_beyond(&seen.node(&index.table.seeds));
        }
        self.next_start(index).map(|start| index.node(least_of(start), LEVEL_MIN)).transpose()
    }

    /// The next name of three symbols; asks for those after it.
    fn next_start<S: Slot, const V: usize>(&mut self, index: &MlpIndex<S, V>) -> Option<TopPrefix> {
        while self.starts.len() < self.ahead {
            let next = self.last_start.and_then(|last| index.top.beyond(last, self.forward));
            self.last_start = next;
            let Some(start) = next else { break };
            index.table.prefetch(index.table.pair(least_of(start), LEVEL_MIN, index.table.size()));
            self.starts.push(start);
        }
        self.ahead = (2 * self.ahead).min(AHEAD_MAX);
        self.starts.pop_at(0)
    }
}

impl WalkFrame {
    /// The next child.
    fn take(&mut self, forward: bool) -> Option<u8> {
        let symbol = if forward { self.rest.first() } else { self.rest.last() }?;
        self.rest.remove(symbol);
        Some(symbol)
    }

    /// Asks for another child.
    fn ask<S: Slot, const V: usize>(&mut self, index: &MlpIndex<S, V>, forward: bool) {
        let symbol = if forward { self.unasked.first() } else { self.unasked.last() };
        if let Some(symbol) = symbol {
            self.unasked.remove(symbol);
            if let Some((key, level)) = child_name(&self.node, symbol) {
                index.table.prefetch(index.table.pair(key, level, index.table.size()));
            }
        }
    }
}

/// A key that begins so.
fn least_of(start: TopPrefix) -> ShortKey {
    ShortKey { bits: bits_from(start), len: 0 }
}
