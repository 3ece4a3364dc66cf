//! Allocation of nodes, one behind the other, and the free list.
//!
//! ```text
//!   first page, from 0   │ last page 4 │ nodes allocated there 4 │ first free node 8 │ zeros 8 │
//! ```

use super::super::core::damaged_record;
use super::FixedTrie;
use super::node::{self, FixedLayout, FixedNode};
use crate::Result;
use crate::buffer::PageWriter;
use crate::page::{DiskPageKind, PageId, u32_at};
use crate::record::{BODY, POINTER, PageReader, RecordId, WalkResult, body};

/// Bytes of the allocation's state.
const STATE: usize = 24;
const FREE: usize = 8;

/// The state of the allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeAllocation {
    /// The last page.
    pub(super) last: PageId,
    /// Nodes that were allocated there.
    pub(super) made: usize,
    pub(super) free: Option<RecordId>,
}

impl NodeAllocation {
    fn of(body: &[u8]) -> Self {
        let free = Some(RecordId::of(&body[FREE..FREE + POINTER])).filter(|id| *id != RecordId::NONE);
        Self { last: PageId(u32_at(body, 0)), made: u32_at(body, 4) as usize, free }
    }

    pub(super) fn write(self, body: &mut [u8]) {
        body[..4].copy_from_slice(&self.last.0.to_le_bytes());
        body[4..FREE].copy_from_slice(&(self.made as u32).to_le_bytes());
        body[FREE..FREE + POINTER].copy_from_slice(&self.free.unwrap_or(RecordId::NONE).bytes());
    }
}

/// Makes the first page with an empty root.
pub(crate) fn create(writer: &mut PageWriter<'_>, form: FixedLayout) -> Result<RecordId> {
    let page = writer.make(DiskPageKind::Nodes)?;
    let body = writer.page_mut(page)?.body_mut();
    NodeAllocation { last: page, made: 1, free: None }.write(body);
    body[STATE..STATE + form.len()].copy_from_slice(&node::empty(form));
    Ok(RecordId { page, slot: 0 })
}

impl FixedTrie {
    /// Returns the offset of a page's first node.
    fn begin(&self, page: PageId) -> usize {
        if page == self.root.page { STATE } else { 0 }
    }

    /// Returns how many nodes fit a page.
    pub(super) fn capacity(&self, page: PageId) -> usize {
        (BODY - self.begin(page)) / self.form.len()
    }

    fn range(&self, id: RecordId) -> WalkResult<std::ops::Range<usize>> {
        let index = usize::from(id.slot);
        if index >= self.capacity(id.page) {
            return Err(damaged_record(id, "its page has no such node"));
        }
        let start = self.begin(id.page) + index * self.form.len();
        Ok(start..start + self.form.len())
    }

    /// Returns the bytes of a node.
    pub(super) fn node<'p>(&self, pages: &'p mut impl PageReader, id: RecordId) -> WalkResult<FixedNode<'p>> {
        let range = self.range(id)?;
        Ok(FixedNode(&body(pages, id.page, DiskPageKind::Nodes)?[range]))
    }

    /// Returns the bytes of a node for changing.
    pub(in crate::trie) fn node_mut<'w>(
        &self,
        writer: &'w mut PageWriter<'_>,
        id: RecordId,
    ) -> WalkResult<&'w mut [u8]> {
        let range = self.range(id)?;
        body(writer, id.page, DiskPageKind::Nodes)?;
        Ok(&mut writer.page_mut(id.page)?.body_mut()[range])
    }

    pub(super) fn state(&self, pages: &mut impl PageReader) -> WalkResult<NodeAllocation> {
        Ok(NodeAllocation::of(body(pages, self.root.page, DiskPageKind::Nodes)?))
    }

    fn set_state(&self, writer: &mut PageWriter<'_>, state: NodeAllocation) -> Result<()> {
        state.write(writer.page_mut(self.root.page)?.body_mut());
        Ok(())
    }

    /// Allocates an empty node: a free one, or the next one of the last page.
    pub(in crate::trie) fn make_node(&self, writer: &mut PageWriter<'_>) -> WalkResult<RecordId> {
        let mut state = self.state(writer)?;
        let id = if let Some(id) = state.free {
            state.free = self.next_free(writer, id)?;
            id
        } else {
            if state.made >= self.capacity(state.last) {
                (state.last, state.made) = (writer.make(DiskPageKind::Nodes)?, 0);
            }
            state.made += 1;
            RecordId { page: state.last, slot: (state.made - 1) as u16 }
        };
        self.set_state(writer, state)?;
        self.node_mut(writer, id)?.copy_from_slice(&node::empty(self.form));
        Ok(id)
    }

    /// Returns the node behind a free node in the free list.
    pub(super) fn next_free(
        &self,
        pages: &mut impl PageReader,
        id: RecordId,
    ) -> WalkResult<Option<RecordId>> {
        let node = self.node(pages, id)?;
        Ok(Some(RecordId::of(&node.0[..POINTER])).filter(|id| *id != RecordId::NONE))
    }

    /// Frees a node. No pointer may lead to it.
    pub(super) fn free_node(&self, writer: &mut PageWriter<'_>, id: RecordId) -> WalkResult<()> {
        if id == self.root {
            return Err(damaged_record(id, "a pointer leads to the root"));
        }
        let state = self.state(writer)?;
        let node = self.node_mut(writer, id)?;
        node.fill(0);
        node[..POINTER].copy_from_slice(&state.free.unwrap_or(RecordId::NONE).bytes());
        Ok(self.set_state(writer, NodeAllocation { free: Some(id), ..state })?)
    }
}

/// Returns whether a root fits the first page beside the allocation's state.
pub(crate) const fn fits(form: FixedLayout) -> bool {
    STATE + form.len() <= BODY
}
