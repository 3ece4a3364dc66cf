//! Removing a value: nodes that nothing needs any more go, and pages that are left with little.
//!
//! ```text
//!   no value, no child       the node goes, and its parent has a child less; then the same there
//!   no value, one child      "he" ─l─► "lo"  ─►  "hello": the child's content comes to the node, which keeps its name
//!   a leaf in its parent     its parent's record gets shorter; then as above
//! ```
//!
//! A node that has one child and no value stays if both do not fit one prefix, or one record, or the child lies in another page and the node's has no room for it: it is no
//! fault, and takes some bytes. A removal needs no new page. The trie's root stays whatever it has.

use super::core::{DescentEnd, NodeId, RecordVisit, TrieCore, damaged_record, free_value, node, replace};
use super::decoded_node::DecodedNode;
use super::node::{PREFIX_MOST, RECORD_MOST, TrieNode};
use super::placement::{owner, room};
use super::symbols::SymbolPath;
use crate::buffer::PageWriter;
use crate::page::PageId;
use crate::record::{PageReader, RecordId, WalkResult, change, record};

/// Pages that have less than before, each once and with its owner. A page comes before the page of its owner: tidying it may need the owner's name, which changes when the
/// owner's page is tidied.
#[derive(Default)]
struct ShrunkPages(Vec<(PageId, Option<RecordId>)>);

impl ShrunkPages {
    /// Notes a page that lies above all that were noted before.
    fn push(&mut self, page: PageId, owner: Option<RecordId>) {
        if !self.has(page) {
            self.0.push((page, owner));
        }
    }

    /// Notes a page that lies below all that were noted before. If it was noted, it keeps its place: what was noted before it is empty, and needs no name.
    fn push_below(&mut self, page: PageId, owner: RecordId) {
        if !self.has(page) {
            self.0.insert(0, (page, Some(owner)));
        }
    }

    fn has(&self, page: PageId) -> bool {
        self.0.iter().any(|other| other.0 == page)
    }
}

impl TrieCore {
    /// Removes the value of a key; false if it has none.
    pub(super) fn remove(&self, writer: &mut PageWriter<'_>, key: &[u8]) -> WalkResult<bool> {
        let way = self.find(writer, key)?;
        if way.end != DescentEnd::Here {
            return Ok(false);
        }
        let id = way.last().id;
        let record = record(writer, id)?.to_vec();
        let mut content = DecodedNode::of(TrieNode::of(&record).map_err(|what| damaged_record(id, what))?);
        let leaf = way.leaf.and_then(|leaf| content.take_leaf(leaf.symbol));
        let value = match &leaf {
            Some(leaf) => TrieNode::of(leaf).map_err(|what| damaged_record(id, what))?.value,
            None => content.value.take(),
        };
        let Some(value) = value else { return Ok(false) };
        free_value(writer, Some(value))?;
        for (page, owner) in self.shrink(writer, way.trail, &content)?.0 {
            self.tidy(writer, page, owner)?;
        }
        Ok(true)
    }

    /// Writes what is left of a trail's last node; takes it away, and what it alone needed above it, if that is nothing. Deeper pages come first in what it gives.
    fn shrink(
        &self,
        writer: &mut PageWriter<'_>,
        mut trail: Vec<RecordVisit>,
        content: &DecodedNode<'_>,
    ) -> WalkResult<ShrunkPages> {
        let mut touched = ShrunkPages::default();
        let mut record = content.encode(self.layout);
        while let Some(at) = trail.last().copied() {
            let content = DecodedNode::of(TrieNode::of(&record).map_err(|what| damaged_record(at.id, what))?);
            let is_needed = at.id == self.root || content.value.is_some() || !content.is_childless();
            touched.push(at.id.page, owner(&trail));
            if is_needed {
                if let Some(page) = self.merge_child(writer, at, &content)? {
                    touched.push_below(page, at.id);
                }
                break;
            }
            change(writer, at.id.page, |records| records.remove(at.id.slot))?;
            trail.pop();
            let Some(parent) = trail.last() else { break };
            record = self.without_child(writer, parent.id, at.id)?;
        }
        Ok(touched)
    }

    /// What a node is without one of its children.
    fn without_child(
        &self,
        pages: &mut impl PageReader,
        id: RecordId,
        child: RecordId,
    ) -> WalkResult<Vec<u8>> {
        let mut content = DecodedNode::of(node(pages, id)?);
        content.children.retain(|other| other.1 != child);
        Ok(content.encode(self.layout))
    }

    /// Writes a node, together with its child if it has one and no value; gives the child's page if that is another one.
    fn merge_child(
        &self,
        writer: &mut PageWriter<'_>,
        at: RecordVisit,
        content: &DecodedNode<'_>,
    ) -> WalkResult<Option<PageId>> {
        let alone = if at.id == self.root { None } else { only_child(at.id, content) };
        // What is left is not longer than it was.
        replace(writer, at.id, &content.encode(self.layout))?;
        let Some((symbol, child)) = alone else { return Ok(None) };
        let Some(both) = self.joined_node(writer, at, content, symbol, child)? else { return Ok(None) };
        let is_here = child.record.page == at.id.page;
        let growth = both.len().saturating_sub(record(writer, at.id)?.len());
        if !is_here && growth > room(writer, at.id.page)? {
            return Ok(None);
        }
        if child.leaf.is_none() {
            change(writer, child.record.page, |records| records.remove(child.record.slot))?;
        }
        replace(writer, at.id, &both)?;
        Ok((!is_here).then_some(child.record.page))
    }

    /// The record of a node and its only child together; none if that cannot be one.
    fn joined_node(
        &self,
        pages: &mut impl PageReader,
        at: RecordVisit,
        content: &DecodedNode<'_>,
        symbol: u8,
        child: NodeId,
    ) -> WalkResult<Option<Vec<u8>>> {
        let below = node(pages, child)?;
        let mut path = SymbolPath::new(self.symbols, at.depth);
        path.push_all(&content.prefix, content.symbols).map_err(|what| damaged_record(at.id, what))?;
        path.push(symbol);
        path.push_all(below.prefix, below.symbols).map_err(|what| damaged_record(child.record, what))?;
        if path.bytes().len() > PREFIX_MOST {
            return Ok(None);
        }
        let (symbols, prefix) = (path.depth() - at.depth, path.bytes().to_vec());
        let both = DecodedNode { symbols, prefix, ..DecodedNode::of(below) }.encode(self.layout);
        Ok((both.len() <= RECORD_MOST).then_some(both))
    }
}

/// The only thing that a node has, if it is a child, and its symbol.
fn only_child(record: RecordId, content: &DecodedNode<'_>) -> Option<(u8, NodeId)> {
    match (&content.value, &content.leaves[..], &content.children[..]) {
        (None, [], [(symbol, child)]) => Some((*symbol, (*child).into())),
        (None, [(symbol, _)], []) => Some((*symbol, NodeId { record, leaf: Some(*symbol) })),
        _ => None,
    }
}
