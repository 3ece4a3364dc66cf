//! Children of a node: an array with one pointer per symbol, or a chain of nodes in the order of
//! their characters.
//!
//! ```text
//!   list, k = 2      node │ next ─┼─► │ next ─┼─► │ none │         all nodes but the last are full
//!                         │ a c   │   │ d h   │   │ z    │         only the first has a value
//! ```

use super::super::core::damaged_record;
use super::FixedTrie;
use super::node::{self, BODY, FixedLayout, FixedNode};
use crate::buffer::PageWriter;
use crate::record::{PageReader, RecordId, WalkResult};

/// The most nodes of a chain: one for each character.
const CHAIN_MOST: usize = 256;

impl FixedTrie {
    /// Returns the child of a symbol.
    pub(super) fn child(
        &self,
        pages: &mut impl PageReader,
        id: RecordId,
        symbol: u8,
    ) -> WalkResult<Option<RecordId>> {
        let FixedLayout::List(k) = self.form else { return Ok(self.node(pages, id)?.in_array(symbol)) };
        let mut found = None;
        self.visit(pages, id, |_, node| {
            // The characters are in order, so the search ends at the first one that is not less.
            let mut children = node.list(k);
            found = children.find(|child| child.0 >= symbol);
            found.is_none()
        })?;
        Ok(found.filter(|child| child.0 == symbol).map(|child| child.1))
    }

    /// Returns all children with their symbols, in order.
    pub(super) fn children(
        &self,
        pages: &mut impl PageReader,
        id: RecordId,
    ) -> WalkResult<Vec<(u8, RecordId)>> {
        let mut all = Vec::new();
        match self.form {
            FixedLayout::Array(n) => {
                let node = self.node(pages, id)?;
                all.extend((0..n).filter_map(|at| Some((at as u8, node.in_array(at as u8)?))));
            }
            FixedLayout::List(k) => self.visit(pages, id, |_, node| {
                all.extend(node.list(k));
                true
            })?,
        }
        Ok(all)
    }

    /// Errors for a node that has neither a value nor a child, as `walk.rs` of the other layout
    /// does.
    pub(super) fn check_not_empty(
        &self,
        pages: &mut impl PageReader,
        id: RecordId,
        children: &[(u8, RecordId)],
    ) -> WalkResult<()> {
        if id == self.root || !children.is_empty() || self.node(pages, id)?.version() != 0 {
            return Ok(());
        }
        Err(damaged_record(id, "it has neither a value nor a child"))
    }

    pub(super) fn has_child(&self, pages: &mut impl PageReader, id: RecordId) -> WalkResult<bool> {
        Ok(!self.children(pages, id)?.is_empty())
    }

    /// Returns the nodes of a chain.
    pub(super) fn chain(&self, pages: &mut impl PageReader, id: RecordId) -> WalkResult<Vec<RecordId>> {
        let mut chain = Vec::new();
        match self.form {
            FixedLayout::Array(_) => chain.push(id),
            FixedLayout::List(_) => self.visit(pages, id, |id, _| {
                chain.push(id);
                true
            })?,
        }
        Ok(chain)
    }

    /// Calls `wants_more` with each node of a chain until it returns false.
    fn visit(
        &self,
        pages: &mut impl PageReader,
        id: RecordId,
        mut wants_more: impl FnMut(RecordId, FixedNode<'_>) -> bool,
    ) -> WalkResult<()> {
        let mut at = id;
        for _ in 0..CHAIN_MOST {
            let node = self.node(pages, at)?;
            let next = node.next();
            if !wants_more(at, node) {
                return Ok(());
            }
            match next {
                Some(next) => at = next,
                None => return Ok(()),
            }
        }
        Err(damaged_record(id, format!("more than {CHAIN_MOST} nodes have its children")))
    }

    /// Sets the child of a symbol, or removes it.
    pub(in crate::trie) fn set_child(
        &self,
        writer: &mut PageWriter<'_>,
        id: RecordId,
        symbol: u8,
        child: Option<RecordId>,
    ) -> WalkResult<()> {
        let FixedLayout::List(k) = self.form else {
            node::set_in_array(self.node_mut(writer, id)?, symbol, child);
            return Ok(());
        };
        let mut children = self.children(writer, id)?;
        let at = children.partition_point(|child| child.0 < symbol);
        let is_there = children.get(at).is_some_and(|child| child.0 == symbol);
        children.splice(at..at + usize::from(is_there), child.map(|child| (symbol, child)));
        self.write_chain(writer, id, &children, k)
    }

    /// Writes the children of a list. Leaves unchanged nodes untouched and frees surplus ones.
    fn write_chain(
        &self,
        writer: &mut PageWriter<'_>,
        id: RecordId,
        children: &[(u8, RecordId)],
        k: usize,
    ) -> WalkResult<()> {
        let mut chain = self.chain(writer, id)?;
        let count = children.len().div_ceil(k).max(1);
        while chain.len() < count {
            chain.push(self.make_node(writer)?);
        }
        for surplus in chain.split_off(count) {
            self.free_node(writer, surplus)?;
        }
        let mut pieces = children.chunks(k);
        for (at, id) in chain.iter().enumerate() {
            let part = node::list_part(pieces.next().unwrap_or(&[]), chain.get(at + 1).copied(), k);
            if self.node(writer, *id)?.0[BODY..] != part {
                self.node_mut(writer, *id)?[BODY..].copy_from_slice(&part);
            }
        }
        Ok(())
    }
}
