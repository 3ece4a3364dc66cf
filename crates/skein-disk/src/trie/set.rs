//! Setting a value: small steps, each of which leaves a trie; what does not fit is made to, and the way is gone once more.
//!
//! ```text
//!   the key ends in a node           the node gets the value
//!   it goes on, without a child      the node gets a child: a leaf with the rest of the key, or with as much of it as a prefix can be
//!   it differs within the prefix     "hello" ─► "he" ─l─► "lo": the upper half keeps the name, the lower one is a new record with all that the node had
//! ```
//!
//! # Invariants
//! 1. A node keeps its name whatever it becomes, except where it is moved and the one pointer to it is changed (`placement.rs`).
//! 2. A new leaf is whole before a pointer leads to it. A value that replaces another one is written under an invalid version (section 5).

use super::content::Content;
use super::core::{Core, Step, Visit, insert, replace, wrong};
use super::node::{
    INLINE_MOST, INVALID, Node, PREFIX_MOST, Stored, Versioned, overwrite, set_child, set_version,
};
use super::overflow::Chain;
use super::placement::owner;
use crate::buffer::Writer;
use crate::record::{RecordId, Walked, change, record};

impl Core {
    /// Sets the value of a key; true if the key had none.
    pub(super) fn set(
        &self,
        writer: &mut Writer<'_>,
        key: &[u8],
        version: u64,
        value: &[u8],
    ) -> Walked<bool> {
        let stored = match value.len() {
            ..=INLINE_MOST => Stored::Inline(value),
            _ => Stored::Overflow(Chain::write(writer, value)?),
        };
        loop {
            if let Some(is_new) = self.step_to_set(writer, key, Versioned { version, stored })? {
                return Ok(is_new);
            }
        }
    }

    /// One step; none if there are more to do.
    fn step_to_set(&self, writer: &mut Writer<'_>, key: &[u8], value: Versioned<'_>) -> Walked<Option<bool>> {
        let (trail, end) = self.find(writer, key)?;
        let at = trail[trail.len() - 1];
        if end == Step::Here
            && let Stored::Inline(bytes) = value.stored
            && change(writer, at.id.page, |records| {
                overwrite(records.get_mut(at.id.slot)?, value.version, bytes)
            })?
        {
            return Ok(Some(false));
        }
        let record = record(writer, at.id)?.to_vec();
        let node = Node::of(&record).map_err(|what| wrong(at.id, what))?;
        match end {
            Step::Here => self.set_here(writer, &trail, Content::of(node), value),
            Step::Inside(common) => {
                self.split_prefix(writer, &trail, Content::of(node), common)?;
                Ok(None)
            }
            Step::NoChild | Step::Child(_) => {
                let depth = at.depth + node.symbols;
                self.add_leaf(writer, &trail, Content::of(node), key, depth, value)
            }
        }
    }

    fn set_here<'v>(
        &self,
        writer: &mut Writer<'_>,
        trail: &[Visit],
        mut node: Content<'v>,
        value: Versioned<'v>,
    ) -> Walked<Option<bool>> {
        let id = trail[trail.len() - 1].id;
        let before = node.value.replace(Versioned { version: INVALID, ..value });
        if !self.rewrite(writer, trail, &node.encode(self.layout))? {
            return Ok(None);
        }
        change(writer, id.page, |records| set_version(records.get_mut(id.slot)?, value.version))?;
        if let Some(Versioned { stored: Stored::Overflow(chain), .. }) = before {
            chain.free(writer)?;
        }
        Ok(Some(before.is_none()))
    }

    /// Gives the last node of a trail other bytes; false if room had to be made, and nodes have moved.
    fn rewrite(&self, writer: &mut Writer<'_>, trail: &[Visit], bytes: &[u8]) -> Walked<bool> {
        let id = trail[trail.len() - 1].id;
        if change(writer, id.page, |records| records.replace(id.slot, bytes))? {
            return Ok(true);
        }
        if self.split(writer, id.page, owner(trail), bytes.len())? {
            return Ok(false);
        }
        Err(wrong(id, format!("{} bytes do not fit a page", bytes.len())))
    }

    /// Makes two nodes of one: the upper one has this much of the prefix, and the lower one as its child.
    fn split_prefix(
        &self,
        writer: &mut Writer<'_>,
        trail: &[Visit],
        node: Content<'_>,
        common: usize,
    ) -> Walked<bool> {
        let from = trail[trail.len() - 1].depth;
        let (middle, end) = (from + common, from + node.symbols);
        let cut = |symbols| self.symbols.cut(&node.prefix, from, symbols);
        let upper = Content { symbols: common, prefix: cut(from..middle), ..Content::default() };
        let symbol = self.symbols.at_in(&node.prefix, from, middle);
        let (symbols, prefix) = (end - middle - 1, cut(middle + 1..end));
        let lower = Content { symbols, prefix, ..node };
        self.adopt(writer, trail, upper, symbol, &lower.encode(self.layout))
    }

    /// Adds a leaf for a key that goes on after `depth` symbols.
    fn add_leaf(
        &self,
        writer: &mut Writer<'_>,
        trail: &[Visit],
        node: Content<'_>,
        key: &[u8],
        depth: usize,
        value: Versioned<'_>,
    ) -> Walked<Option<bool>> {
        let (from, end) = (depth + 1, self.symbols.count(key.len()));
        let symbols = (end - from).min(self.symbols.fitting(from, PREFIX_MOST));
        let is_whole = from + symbols == end;
        let prefix = self.symbols.cut(key, 0, from..from + symbols);
        let leaf = Content { symbols, prefix, value: is_whole.then_some(value), children: Vec::new() };
        let symbol = self.symbols.at(key, depth);
        let done = self.adopt(writer, trail, node, symbol, &leaf.encode(self.layout))?;
        Ok((done && is_whole).then_some(true))
    }

    /// Gives the last node of a trail a child; false if room had to be made, and nodes have moved.
    fn adopt(
        &self,
        writer: &mut Writer<'_>,
        trail: &[Visit],
        mut node: Content<'_>,
        symbol: u8,
        child: &[u8],
    ) -> Walked<bool> {
        let id = trail[trail.len() - 1].id;
        node.set_child(symbol, RecordId::NONE);
        let grown = node.encode(self.layout);
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
}
