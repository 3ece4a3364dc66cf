//! Removes a value, then nodes that are no longer needed and pages that became sparse.
//!
//! ```text
//!   no value, no child     the node is removed from its parent; then the same for the parent
//!   no value, one child    "he" ─l─► "lo"  ─►  "hello": merged into the node, which keeps its id
//!   a leaf in its parent   the parent's record gets shorter; then as above
//!   value, no child left   in an array of children, the node moves into its parent's record
//!                          (leaf_records.rs)
//! ```
//!
//! A node with one child and no value stays if both do not fit one prefix or one record, or if the
//! child lies in another page and the node's page has no room. That is valid and costs only a few
//! bytes. A removal allocates no page. The root always stays.

use super::core::{DescentEnd, NodeId, RecordVisit, TrieCore, damaged_record, free_value, node, replace};
use super::decoded_node::DecodedNode;
use super::join::ShrunkPage;
use super::leaf_records::take_leaf_in;
use super::node::{ChildLayout, PREFIX_MOST, RECORD_MOST, TrieNode};
use super::placement::{owner, room};
use super::symbols::SymbolPath;
use crate::buffer::PageWriter;
use crate::page::PageId;
use crate::record::{PageReader, RecordId, SLOT, WalkResult, change, record, records};

/// Pages that have lost records, each once, deeper ones first.
#[derive(Default)]
struct ShrunkPages(Vec<ShrunkPage>);

impl ShrunkPages {
    /// Adds the page of the trail's last node before it changes. It lies above all pages in the
    /// list.
    fn push(&mut self, pages: &mut impl PageReader, trail: &[RecordVisit]) -> WalkResult<()> {
        let Some(page) = trail.last().map(|visit| visit.id.page) else { return Ok(()) };
        if !self.has(page) {
            let before = records(pages, page)?.used();
            self.0.push(ShrunkPage { page, owner: owner(trail), before });
        }
        Ok(())
    }

    /// Adds a page of `owner` that lies below all pages in the list, after `lost` bytes of it were
    /// removed.
    fn push_below(
        &mut self,
        pages: &mut impl PageReader,
        page: PageId,
        owner: RecordId,
        lost: usize,
    ) -> WalkResult<()> {
        if !self.has(page) {
            let before = records(pages, page)?.used() + lost;
            self.0.insert(0, ShrunkPage { page, owner: Some(owner), before });
        }
        Ok(())
    }

    fn has(&self, page: PageId) -> bool {
        self.0.iter().any(|other| other.page == page)
    }
}

impl TrieCore {
    /// Removes the value of a key. Returns false if it has none.
    pub(super) fn remove(&self, writer: &mut PageWriter<'_>, key: &[u8]) -> WalkResult<bool> {
        let descent = self.find(writer, key)?;
        if descent.end != DescentEnd::Here {
            return Ok(false);
        }
        let id = descent.last().id;
        let record = record(writer, id)?.to_vec();
        let mut content = DecodedNode::of(TrieNode::of(&record).map_err(|what| damaged_record(id, what))?);
        let leaf = descent.leaf.and_then(|leaf| content.take_leaf(leaf.symbol));
        let value = match &leaf {
            Some(leaf) => TrieNode::of(leaf).map_err(|what| damaged_record(id, what))?.value,
            None => content.value.take(),
        };
        let Some(value) = value else { return Ok(false) };
        free_value(writer, Some(value))?;
        let shrunk = self.shrink(writer, &descent.trail, &content)?;
        self.tidy(writer, &descent.trail, &shrunk.0)?;
        Ok(true)
    }

    /// Writes the remaining content of the trail's last node. If nothing remains, removes the node
    /// and all ancestors that are not needed any more. Returns the changed pages, deeper ones
    /// first.
    fn shrink(
        &self,
        writer: &mut PageWriter<'_>,
        mut trail: &[RecordVisit],
        content: &DecodedNode<'_>,
    ) -> WalkResult<ShrunkPages> {
        let mut touched = ShrunkPages::default();
        let mut record = content.encode(self.layout);
        while let Some((at, above)) = trail.split_last() {
            let at = *at;
            let content = DecodedNode::of(TrieNode::of(&record).map_err(|what| damaged_record(at.id, what))?);
            let is_needed = at.id == self.root || content.value.is_some() || !content.is_childless();
            touched.push(writer, trail)?;
            if is_needed {
                if let Some((page, lost)) = self.merge_child(writer, at, &content)? {
                    touched.push_below(writer, page, at.id, lost)?;
                }
                self.take_in(writer, trail)?;
                break;
            }
            change(writer, at.id.page, |records| records.remove(at.id.slot))?;
            trail = above;
            let Some(parent) = above.last() else { break };
            record = self.without_child(writer, parent.id, at.id)?;
        }
        Ok(touched)
    }

    /// Moves the trail's last node into the record of its parent in the same page, if the node has
    /// become a leaf and fits. A parent whose children are all leaves needs no array of pointers.
    /// With a list of children this saves few bytes, and costs time, also when the leaf gets a
    /// child again.
    fn take_in(&self, writer: &mut PageWriter<'_>, trail: &[RecordVisit]) -> WalkResult<()> {
        let [.., RecordVisit { id: parent, .. }, RecordVisit { id, .. }] = *trail else { return Ok(()) };
        // In another page it would be one more page that the write changes.
        let is_here = id.page == parent.page;
        if self.layout == ChildLayout::List || !is_here || TrieNode::of_leaf(record(writer, id)?).is_err() {
            return Ok(());
        }
        let child = node(writer, parent)?.children.iter().find(|child| child.1 == id);
        let Some(child) = child else { return Ok(()) };
        if let Some(with_leaf) = self.record_with_leaf(writer, parent, child)? {
            take_leaf_in(writer, parent, id, &with_leaf)?;
        }
        Ok(())
    }

    /// Returns the record of a node without one of its children.
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

    /// Writes a node, merged with its child if it has one child and no value. Returns the child's
    /// page if it is another one, and the bytes that this page has lost.
    fn merge_child(
        &self,
        writer: &mut PageWriter<'_>,
        at: RecordVisit,
        content: &DecodedNode<'_>,
    ) -> WalkResult<Option<(PageId, usize)>> {
        let alone = if at.id == self.root { None } else { only_child(at.id, content) };
        // The new bytes are not longer than the old ones.
        replace(writer, at.id, &content.encode(self.layout))?;
        let Some((symbol, child)) = alone else { return Ok(None) };
        let Some(both) = self.joined_node(writer, at, content, symbol, child)? else { return Ok(None) };
        let is_here = child.record.page == at.id.page;
        let growth = both.len().saturating_sub(record(writer, at.id)?.len());
        if !is_here && growth > room(writer, at.id.page)? {
            return Ok(None);
        }
        let mut lost = 0;
        if child.leaf.is_none() {
            lost = record(writer, child.record)?.len() + SLOT;
            change(writer, child.record.page, |records| records.remove(child.record.slot))?;
        }
        replace(writer, at.id, &both)?;
        Ok((!is_here).then_some((child.record.page, lost)))
    }

    /// Returns the record of a node merged with its only child, or `None` if they do not fit one
    /// record.
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

/// Returns a node's only child and its symbol, if the node has one child and no value.
fn only_child(record: RecordId, content: &DecodedNode<'_>) -> Option<(u8, NodeId)> {
    match (&content.value, &content.leaves[..], &content.children[..]) {
        (None, [], [(symbol, child)]) => Some((*symbol, (*child).into())),
        (None, [(symbol, _)], []) => Some((*symbol, NodeId { record, leaf: Some(*symbol) })),
        _ => None,
    }
}
