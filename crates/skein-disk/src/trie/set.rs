//! Setting a value: small steps, each of which leaves a trie; what does not fit is made to, and the way is gone once more.
//!
//! ```text
//!   the key ends in a node           the node gets the value
//!   it goes on, without a child      the node gets a child: a leaf with the rest of the key, or with as much of it as a prefix can be
//!   it differs within the prefix     "hello" ─► "he" ─l─► "lo": the upper half keeps the name, the lower one is a new child with all that the node had
//!   so it is with a leaf             which leaves its parent's record then, as a node of its own that has children
//! ```
//!
//! # Invariants
//! 1. A node keeps its name whatever it becomes, except where it is moved and the one pointer to it is changed (`placement.rs`).
//! 2. A new record is whole before a pointer leads to it. A value that replaces another one is written under an invalid version (section 5).

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

/// Steps of a write at most. The longest key takes one for each [`PREFIX_MOST`] bytes, and each of them makes room some times, for as many leaves as a node can have at most.
const STEPS_MOST: usize = 1 << 14;

impl TrieCore {
    /// Sets the value of a key; true if the key had none.
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
            format!("a key is not set after {STEPS_MOST} steps: pages below say what cannot be"),
        ))
    }

    /// One step; none if there are more to do.
    fn step_to_set(
        &self,
        writer: &mut PageWriter<'_>,
        key: &[u8],
        value: VersionedValue<'_>,
    ) -> WalkResult<Option<bool>> {
        let way = self.find(writer, key)?;
        let at = way.last();
        if way.end == DescentEnd::Here
            && let StoredValue::Inline(bytes) = value.stored
            && change(writer, at.id.page, |records| {
                overwrite(records.get_mut(at.id.slot)?, way.leaf_symbol(), value.version, bytes)
            })?
        {
            return Ok(Some(false));
        }
        let record = record(writer, at.id)?.to_vec();
        let node = TrieNode::of(&record).map_err(|what| damaged_record(at.id, what))?;
        let depth = at.depth + node.symbols;
        let node = DecodedNode::of(node);
        match (way.leaf, way.end) {
            (Some(leaf), end) => self.set_in_leaf(writer, &way.trail, node, leaf, end, value),
            (None, DescentEnd::Here) => self.set_here(writer, &way.trail, node, value),
            (None, DescentEnd::Inside(common)) => {
                let (upper, symbol, lower) = self.fork(node, at.depth, common);
                self.attach(writer, &way.trail, upper, symbol, &lower)?;
                Ok(None)
            }
            (None, DescentEnd::NoChild) => self.add_leaf(writer, &way.trail, node, key, depth, value),
        }
    }

    /// Sets the value of a trail's last node. There is a value there, or room for one.
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

    /// Sets the value of a key whose way ends in a leaf of a trail's last node: its own, or one that gets children now.
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

    /// Gives the last node of a trail other bytes; false if room had to be made, and nodes have moved.
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

    /// Makes two nodes of one to which `from` symbols lead: the upper one has this much of the prefix, and the lower one is to be its child of the symbol.
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

    /// Adds a leaf for a key that goes on after `depth` symbols.
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

    /// Gives the last node of a trail a child, within its record if that is a leaf that fits there. The node is to be `node`, which has no other child of this
    /// symbol. False if room had to be made, and nodes have moved.
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

    /// Gives the last node of a trail a child that has a record of its own. The node is to be `node`, which has no other child of this symbol. False if room had to
    /// be made, and nodes have moved.
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
        // First the node, so that the bytes that it gives up are there for the child.
        replace(writer, id, &grown)?;
        let slot = insert(writer, page, child)?;
        change(writer, id.page, |records| {
            set_child(records.get_mut(id.slot)?, symbol, RecordId { page, slot })
        })?;
        Ok(true)
    }

    /// Gives the longest leaf of a trail's last node a record of its own, so that the node gets shorter: a pointer in a list is shorter than a leaf, and arrays of
    /// pointers fit besides leaves. Always false: the operation is to begin again.
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
