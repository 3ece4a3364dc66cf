//! A leaf with a record of its own moves into the record of its parent: a step of a removal and of
//! a compaction.
//!
//! ```text
//!   parent ─a─► record with children        parent, leaf b ─a─► record with children
//!          ─b─► record without children  ─►
//! ```
//!
//! A node without children has a record if the parent's leaves had no room for it when it was
//! added, or if it had children before.

use super::core::{TrieCore, damaged_record, replace};
use super::decoded_node::DecodedNode;
use super::node::{RECORD_MOST, TrieNode};
use super::placement::room;
use crate::buffer::PageWriter;
use crate::record::{RecordId, WalkResult, change, record};

impl TrieCore {
    /// Returns the record of a node with its child of this symbol as a leaf. Returns `None` if the
    /// child is no leaf, or does not fit.
    pub(super) fn record_with_leaf(
        &self,
        writer: &mut PageWriter<'_>,
        id: RecordId,
        (symbol, child): (u8, RecordId),
    ) -> WalkResult<Option<Vec<u8>>> {
        let leaf = record(writer, child)?;
        if TrieNode::of_leaf(leaf).is_err() {
            // A damaged record, too, stays as it is.
            return Ok(None);
        }
        let leaf = leaf.to_vec();
        let before = record(writer, id)?.to_vec();
        let mut content = DecodedNode::of(TrieNode::of(&before).map_err(|what| damaged_record(id, what))?);
        if !content.takes_leaf(symbol, leaf.len(), self.layout) {
            return Ok(None);
        }
        let freed = if child.page == id.page { leaf.len() } else { 0 };
        content.children.retain(|other| other.0 != symbol);
        content.set_leaf(symbol, leaf.into());
        let after = content.encode(self.layout);
        let fits = after.len() <= RECORD_MOST && after.len() <= before.len() + freed + room(writer, id.page)?;
        Ok(fits.then_some(after))
    }
}

/// Replaces a node by `with_leaf` ([`TrieCore::record_with_leaf`]), and removes the child's record.
pub(super) fn take_leaf_in(
    writer: &mut PageWriter<'_>,
    id: RecordId,
    child: RecordId,
    with_leaf: &[u8],
) -> WalkResult<()> {
    change(writer, child.page, |records| records.remove(child.slot))?;
    Ok(replace(writer, id, with_leaf)?)
}
