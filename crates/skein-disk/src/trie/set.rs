//! Inserts or updates a value, in small steps. Each step leaves a valid trie.
//!
//! ```text
//!   key ends at a node       the node gets the value
//!   no child for the symbol  new child with the rest of the key, at most one prefix of it
//!   key differs in a prefix  fork: "hello" ─► "he" ─l─► "lo"
//!                            the upper node keeps its id, the lower one keeps the rest
//!   key differs in a leaf    the leaf leaves its parent's record and becomes a node with children
//! ```
//!
//! If a step finds no room, it makes room by moving nodes, and the operation restarts from the
//! root. So no step has to know where nodes have moved.
//!
//! # Invariants
//! 1. A node keeps its id when it changes. Only a move changes the id, together with the one
//!    pointer to it (`placement.rs`).
//! 2. A new record is complete before a pointer leads to it. While a value is replaced, its version
//!    is invalid (section 5).

use super::core::{
    DescentEnd, LeafVisit, RecordVisit, TrieCore, damaged_record, free_value, insert, replace,
};
use super::decoded_node::DecodedNode;
use super::node::{PREFIX_MOST, RECORD_MOST, TrieNode, overwrite, set_child, set_writing};
use super::overflow::OverflowChain;
use super::placement::owner;
use super::value::{INLINE_MOST, StoredValue, VersionedValue};
use crate::buffer::PageWriter;
use crate::record::{RecordId, WalkResult, change, record};

/// The maximum number of steps of a write. The longest key takes one for each [`PREFIX_MOST`]
/// bytes, and each of them may make room several times, as often as a node can have leaves.
const STEPS_MOST: usize = 1 << 14;

impl TrieCore {
    /// Sets the value of a key. Returns true if the key had no value.
    pub(super) fn set(
        &self,
        writer: &mut PageWriter<'_>,
        key: &[u8],
        version: u64,
        value: &[u8],
    ) -> WalkResult<bool> {
        let stored = match value.len() {
            ..=INLINE_MOST => StoredValue::Inline(value),
            _ => StoredValue::Overflow(OverflowChain::write(writer, value)?),
        };
        for _ in 0..STEPS_MOST {
            if let Some(is_new) = self.step_to_set(writer, key, VersionedValue { version, stored })? {
                return Ok(is_new);
            }
        }
        Err(damaged_record(
            self.root,
            format!("a key was not set in {STEPS_MOST} steps: the pages below are damaged"),
        ))
    }

    /// Performs one step. Returns `None` if more steps are needed.
    fn step_to_set(
        &self,
        writer: &mut PageWriter<'_>,
        key: &[u8],
        value: VersionedValue<'_>,
    ) -> WalkResult<Option<bool>> {
        let descent = self.find(writer, key)?;
        let at = descent.last();
        if descent.end == DescentEnd::Here
            && let StoredValue::Inline(bytes) = value.stored
            && change(writer, at.id.page, |records| {
                overwrite(records.get_mut(at.id.slot)?, descent.leaf_symbol(), value.version, bytes)
            })?
        {
            return Ok(Some(false));
        }
        let record = record(writer, at.id)?.to_vec();
        let node = TrieNode::of(&record).map_err(|what| damaged_record(at.id, what))?;
        let depth = at.depth + node.symbols;
        let node = DecodedNode::of(node);
        match (descent.leaf, descent.end) {
            (Some(leaf), end) => self.set_in_leaf(writer, &descent.trail, node, leaf, end, value),
            (None, DescentEnd::Here) => self.set_here(writer, &descent.trail, node, value),
            (None, DescentEnd::Inside(common)) => {
                let (upper, symbol, lower) = self.fork(node, at.depth, common);
                self.attach(writer, &descent.trail, upper, symbol, &lower)?;
                Ok(None)
            }
            (None, DescentEnd::NoChild) => self.add_leaf(writer, &descent.trail, node, key, depth, value),
        }
    }

    /// Sets the value of the trail's last node.
    fn set_here<'v>(
        &self,
        writer: &mut PageWriter<'_>,
        trail: &[RecordVisit],
        mut node: DecodedNode<'v>,
        value: VersionedValue<'v>,
    ) -> WalkResult<Option<bool>> {
        let id = trail[trail.len() - 1].id;
        let before = node.value.replace(value);
        let mut record = node.encode(self.layout);
        if record.len() > RECORD_MOST {
            self.move_leaf_out(writer, trail)?;
            return Ok(None);
        }
        set_writing(&mut record, None, true).map_err(|what| damaged_record(id, what))?;
        if !self.rewrite(writer, trail, &record)? {
            return Ok(None);
        }
        change(writer, id.page, |records| set_writing(records.get_mut(id.slot)?, None, false))?;
        free_value(writer, before)?;
        Ok(Some(before.is_none()))
    }

    /// Sets the value of a key whose descent ends in a leaf of the trail's last node. Either the
    /// leaf is the key's node, or it gets a child.
    fn set_in_leaf<'v>(
        &self,
        writer: &mut PageWriter<'_>,
        trail: &[RecordVisit],
        mut node: DecodedNode<'v>,
        leaf: LeafVisit,
        end: DescentEnd,
        value: VersionedValue<'v>,
    ) -> WalkResult<Option<bool>> {
        let at = trail[trail.len() - 1];
        let bytes = node.take_leaf(leaf.symbol).unwrap_or_default();
        let mut content = DecodedNode::of_leaf(&bytes).map_err(|what| damaged_record(at.id, what))?;
        match end {
            DescentEnd::Here => {
                let before = content.value.replace(value);
                let is_done = self.attach(writer, trail, node, leaf.symbol, &content)?;
                if is_done {
                    free_value(writer, before)?;
                }
                Ok(is_done.then_some(false))
            }
            DescentEnd::Inside(common) => {
                let (mut upper, symbol, lower) = self.fork(content, leaf.depth, common);
                upper.set_leaf(symbol, lower.encode(self.layout).into());
                self.adopt(writer, trail, node, leaf.symbol, &upper.encode(self.layout))?;
                Ok(None)
            }
            DescentEnd::NoChild => {
                self.adopt(writer, trail, node, leaf.symbol, &bytes)?;
                Ok(None)
            }
        }
    }

    /// Replaces the bytes of the trail's last node. Returns false if room had to be made and nodes
    /// have moved.
    fn rewrite(&self, writer: &mut PageWriter<'_>, trail: &[RecordVisit], bytes: &[u8]) -> WalkResult<bool> {
        let id = trail[trail.len() - 1].id;
        if change(writer, id.page, |records| records.replace(id.slot, bytes))? {
            return Ok(true);
        }
        if self.split(writer, id.page, owner(trail), bytes.len())? {
            return Ok(false);
        }
        Err(damaged_record(id, format!("{} bytes do not fit a page", bytes.len())))
    }

    /// Splits a node within its prefix. `from` symbols lead to the node; the upper half keeps
    /// `common` symbols of the prefix. Returns the upper node, the symbol of its new child, and
    /// this child.
    fn fork<'v>(
        &self,
        node: DecodedNode<'v>,
        from: usize,
        common: usize,
    ) -> (DecodedNode<'static>, u8, DecodedNode<'v>) {
        let (middle, end) = (from + common, from + node.symbols);
        let cut = |symbols| self.symbols.cut(&node.prefix, from, symbols);
        let upper = DecodedNode { symbols: common, prefix: cut(from..middle), ..DecodedNode::default() };
        let symbol = self.symbols.at_in(&node.prefix, from, middle);
        let (symbols, prefix) = (end - middle - 1, cut(middle + 1..end));
        (upper, symbol, DecodedNode { symbols, prefix, ..node })
    }

    /// Adds a leaf for the rest of a key behind `depth` symbols.
    fn add_leaf(
        &self,
        writer: &mut PageWriter<'_>,
        trail: &[RecordVisit],
        node: DecodedNode<'_>,
        key: &[u8],
        depth: usize,
        value: VersionedValue<'_>,
    ) -> WalkResult<Option<bool>> {
        let (from, end) = (depth + 1, self.symbols.count(key.len()));
        let symbols = (end - from).min(self.symbols.fitting(from, PREFIX_MOST));
        let is_whole = from + symbols == end;
        let prefix = self.symbols.cut(key, 0, from..from + symbols);
        let leaf =
            DecodedNode { symbols, prefix, value: is_whole.then_some(value), ..DecodedNode::default() };
        let symbol = self.symbols.at(key, depth);
        let done = self.attach(writer, trail, node, symbol, &leaf)?;
        Ok((done && is_whole).then_some(true))
    }

    /// Replaces the trail's last node by `node` with a new child `child` for `symbol`. A small leaf
    /// is stored in the node's record. `node` must not have another child of this symbol. Returns
    /// false if room had to be made and nodes have moved.
    fn attach(
        &self,
        writer: &mut PageWriter<'_>,
        trail: &[RecordVisit],
        mut node: DecodedNode<'_>,
        symbol: u8,
        child: &DecodedNode<'_>,
    ) -> WalkResult<bool> {
        let id = trail[trail.len() - 1].id;
        let bytes = child.encode(self.layout);
        let is_leaf = child.value.is_some() && child.is_childless();
        if !is_leaf || !node.takes_leaf(symbol, bytes.len(), self.layout) {
            return self.adopt(writer, trail, node, symbol, &bytes);
        }
        node.set_leaf(symbol, bytes.into());
        let mut record = node.encode(self.layout);
        if record.len() > RECORD_MOST {
            let bytes = node.take_leaf(symbol).unwrap_or_default();
            return self.adopt(writer, trail, node, symbol, &bytes);
        }
        set_writing(&mut record, Some(symbol), true).map_err(|what| damaged_record(id, what))?;
        if !self.rewrite(writer, trail, &record)? {
            return Ok(false);
        }
        change(writer, id.page, |records| set_writing(records.get_mut(id.slot)?, Some(symbol), false))?;
        Ok(true)
    }

    /// Replaces the trail's last node by `node` with a new child for `symbol`, as a record of its
    /// own. `node` must not have another child of this symbol. Returns false if room had to be made
    /// and nodes have moved.
    fn adopt(
        &self,
        writer: &mut PageWriter<'_>,
        trail: &[RecordVisit],
        mut node: DecodedNode<'_>,
        symbol: u8,
        child: &[u8],
    ) -> WalkResult<bool> {
        let id = trail[trail.len() - 1].id;
        node.set_child(symbol, RecordId::NONE);
        let grown = node.encode(self.layout);
        if grown.len() > RECORD_MOST {
            return self.move_leaf_out(writer, trail);
        }
        let growth = grown.len().saturating_sub(record(writer, id)?.len());
        let Some(page) = self.place_child(writer, trail, &node, symbol, growth, child.len())? else {
            return Ok(false);
        };
        // The node first: it may shrink and so leave room for the child.
        replace(writer, id, &grown)?;
        let slot = insert(writer, page, child)?;
        change(writer, id.page, |records| {
            set_child(records.get_mut(id.slot)?, symbol, RecordId { page, slot })
        })?;
        Ok(true)
    }

    /// Moves the longest leaf of the trail's last node to a record of its own, so that the node
    /// gets shorter: a pointer in a list is shorter than a leaf, and arrays have room for all
    /// pointers beside the leaves. Always returns false: the operation must restart.
    fn move_leaf_out(&self, writer: &mut PageWriter<'_>, trail: &[RecordVisit]) -> WalkResult<bool> {
        let id = trail[trail.len() - 1].id;
        let record = record(writer, id)?.to_vec();
        let mut node = DecodedNode::of(TrieNode::of(&record).map_err(|what| damaged_record(id, what))?);
        let none = || damaged_record(id, "it has no leaves, and does not fit a page");
        let (symbol, leaf) = node.take_longest_leaf().ok_or_else(none)?;
        self.adopt(writer, trail, node, symbol, &leaf)?;
        Ok(false)
    }
}
