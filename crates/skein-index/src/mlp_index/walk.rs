//! The walk behind a cursor: from leaf to leaf, in order, in both directions.
//!
//! ```text
//!   names of three symbols ─► inner nodes, each with its remaining children ─► leaf
//! ```
//!
//! The children of a node, and the names of three symbols after this one, are known before they are
//! read. So a walk prefetches some of them, few at first and more as it continues.
//!
//! # Why no key is missed
//! A walk may use the set of children that a node or the flat bitmap had at one moment until it
//! ends: a key that was present all the time is below one of these children. And a child, when it
//! is read, has all keys below its name. A child that is not found proves nothing (`search.rs`).
//! Then the walk fails, and the cursor begins another one after the last returned key.

use arrayvec::ArrayVec;

use super::MlpIndexVariant;
use super::children::ChildSet;
use super::key::ShortKey;
use super::levels::deepest_first;
use super::name::LEVEL_MIN;
use super::node::{MlpNode, MlpNodeBody};
use super::search::{FoundRawNode, Inconclusive, MlpPath, child_name};
use super::top_bitmap::{TopPrefix, bits_from, start_of};
use super::variant::MlpSettings;
use crate::slot::Slot;

/// The most names or children to prefetch.
const AHEAD_MAX: usize = 8;

/// An inner node on the path of the walk.
#[derive(Clone, Copy, Debug)]
struct WalkFrame {
    node: MlpNode,
    /// The remaining children, and those of them that are not prefetched yet.
    rest: ChildSet,
    to_prefetch: ChildSet,
}

#[derive(Debug)]
pub(super) struct MlpWalk {
    forward: bool,
    /// The key of the seek, and its path. The walk decodes the nodes of the path when it returns to
    /// them.
    from: ShortKey,
    path: MlpPath,
    frames: ArrayVec<WalkFrame, 6>,
    /// A leaf to return before all others.
    first: Option<(ShortKey, u64)>,
    /// The next names of three symbols, and the last one that was looked up.
    starts: ArrayVec<TopPrefix, AHEAD_MAX>,
    last_start: Option<TopPrefix>,
    ahead: usize,
}

impl MlpWalk {
    pub(super) fn new() -> Self {
        Self {
            forward: true,
            from: ShortKey::LAST,
            path: MlpPath::default(),
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

    /// Prepares the walk to continue from a key.
    pub(super) fn seek<S: Slot, V: MlpSettings>(
        &mut self,
        index: &MlpIndexVariant<S, V>,
        key: ShortKey,
        inclusive: bool,
        forward: bool,
    ) -> Result<(), Inconclusive> {
        (self.forward, self.from, self.first, self.ahead) = (forward, key, None, 1);
        self.frames.clear();
        self.starts.clear();
        self.last_start = Some(start_of(key.bits));
        index.descend(key, &mut self.path)?;
        let Some(seen) = &self.path.stop else { return Ok(()) };
        let node = seen.node(&index.engine.table.seeds);
        match node.body {
            MlpNodeBody::Leaf { value, .. } => {
                let there = node.key();
                if there == key && inclusive || there != key && (there > key) == forward {
                    self.first = Some((there, value));
                }
            }
            MlpNodeBody::Inner { depth, .. } if key.shared_bytes(node.bits) >= depth => {
                self.enter_beyond(&node);
            }
            MlpNodeBody::Inner { children, .. } => {
                if (node.bits > key.bits) == forward {
                    self.enter(index, &node, children);
                }
            }
        }
        Ok(())
    }

    /// Continues with the children of a node beyond the symbol of the seek's key. The key must
    /// share all symbols of the node.
    fn enter_beyond(&mut self, node: &MlpNode) {
        if let MlpNodeBody::Inner { depth, children } = node.body {
            let symbol = self.from.symbol(depth);
            let rest = if self.forward { children.above(symbol) } else { children.below(symbol) };
            self.frames.push(WalkFrame { node: *node, rest, to_prefetch: rest });
        }
    }

    /// Continues with the children of a node, and prefetches some of them.
    fn enter<S: Slot, V: MlpSettings>(
        &mut self,
        index: &MlpIndexVariant<S, V>,
        node: &MlpNode,
        children: ChildSet,
    ) {
        let mut frame = WalkFrame { node: *node, rest: children, to_prefetch: children };
        self.prefetch_least(index, node);
        (0..self.ahead).for_each(|_| frame.prefetch_next(index, self.forward));
        self.frames.push(frame);
    }

    /// Prefetches the deeper nodes along the least key below a node, which is known.
    fn prefetch_least<S: Slot, V: MlpSettings>(&self, index: &MlpIndexVariant<S, V>, node: &MlpNode) {
        let MlpNodeBody::Inner { depth, .. } = node.body else { return };
        let further = index.levels() & u32::MAX << (depth + 2);
        if self.forward && further != 0 {
            let size = index.engine.table.size();
            for level in deepest_first(further) {
                index.engine.table.prefetch(index.engine.table.pair(node.key(), level, size));
            }
        }
    }

    /// Returns the key and the value's word of the next leaf, or `None` at the end.
    #[inline]
    pub(super) fn next<S: Slot, V: MlpSettings>(
        &mut self,
        index: &MlpIndexVariant<S, V>,
    ) -> Result<Option<(ShortKey, u64)>, Inconclusive> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        loop {
            let Some(seen) = self.next_node(index)? else { return Ok(None) };
            let node = seen.node(&index.engine.table.seeds);
            match node.body {
                MlpNodeBody::Leaf { value, .. } => return Ok(Some((node.key(), value))),
                MlpNodeBody::Inner { children, .. } => self.enter(index, &node, children),
            }
        }
    }

    /// Returns the next child of the innermost node that has one, or the next node of the top.
    /// Returns `None` at the end.
    #[inline]
    fn next_node<S: Slot, V: MlpSettings>(
        &mut self,
        index: &MlpIndexVariant<S, V>,
    ) -> Result<Option<FoundRawNode>, Inconclusive> {
        loop {
            while let Some(frame) = self.frames.last_mut() {
                if let Some(symbol) = frame.take(self.forward) {
                    frame.prefetch_next(index, self.forward);
                    return index.child(&frame.node, symbol).map(Some);
                }
                self.frames.pop();
            }
            let Some(seen) = self.path.above.pop() else { break };
            self.enter_beyond(&seen.node(&index.engine.table.seeds));
        }
        self.next_start(index).map(|start| index.node(least_of(start), LEVEL_MIN)).transpose()
    }

    /// Returns the next name of three symbols, and prefetches those after it.
    fn next_start<S: Slot, V: MlpSettings>(&mut self, index: &MlpIndexVariant<S, V>) -> Option<TopPrefix> {
        while self.starts.len() < self.ahead {
            let next = self.last_start.and_then(|last| index.engine.top.beyond(last, self.forward));
            self.last_start = next;
            let Some(start) = next else { break };
            index.engine.table.prefetch(index.engine.table.pair(
                least_of(start),
                LEVEL_MIN,
                index.engine.table.size(),
            ));
            self.starts.push(start);
        }
        self.ahead = (2 * self.ahead).min(AHEAD_MAX);
        self.starts.pop_at(0)
    }
}

impl WalkFrame {
    fn take(&mut self, forward: bool) -> Option<u8> {
        let symbol = if forward { self.rest.first() } else { self.rest.last() }?;
        self.rest.remove(symbol);
        Some(symbol)
    }

    fn prefetch_next<S: Slot, V: MlpSettings>(&mut self, index: &MlpIndexVariant<S, V>, forward: bool) {
        let symbol = if forward { self.to_prefetch.first() } else { self.to_prefetch.last() };
        if let Some(symbol) = symbol {
            self.to_prefetch.remove(symbol);
            if let Some((key, level)) = child_name(&self.node, symbol) {
                index.engine.table.prefetch(index.engine.table.pair(key, level, index.engine.table.size()));
            }
        }
    }
}

/// Returns a key that begins with this name.
fn least_of(start: TopPrefix) -> ShortKey {
    ShortKey { bits: bits_from(start), len: 0 }
}
