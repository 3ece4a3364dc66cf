//! Merging for a compaction: leaves move into their parents' records, and the pages of each node
//! are packed.
//!
//! ```text
//!   owner ─► P 20 % │ Q 30 % │ R 90 % │ S 40 %
//!   owner ─► P 90 % │ R 90 %                      packed (pack.rs)
//!   owner ─► R 90 %                               P joins the owner's page, if it fits
//! ```
//!
//! A removal joins the pages on its path by the same steps (`join.rs`); this walk reaches all
//! pages.
//!
//! A walk visits the nodes in descending order of their paths, so it visits a node after all nodes
//! below it, and never visits a node that was moved. Each step is a write of few pages. The path of
//! the last finished node tells the next step where to begin, whatever was written between the
//! steps.

use super::KEY_MOST;
use super::core::{TrieCore, node};
use super::join::{SPARSE_MOST, fits, move_down, nodes_that_fit, pages_below};
use super::leaf_records::take_leaf_in;
use super::symbols::{SymbolPath, TrieSymbols};
use super::visited_records::VisitedRecords;
use super::walk::push_prefix;
use crate::buffer::PageWriter;
use crate::record::{RecordId, WalkResult, records};

/// A step ends behind a node when it has read this many pages besides those on its path. It reads
/// all pages of a node to plan their packing, so other writes may wait for a few hundred pages.
const READS_MOST: usize = 64;
/// A step ends when it has copied this share of the cache.
const CACHE_SHARE: usize = 4;

#[derive(Debug)]
pub(crate) struct MergeStep {
    /// Freed pages.
    pub(crate) pages: usize,
    /// Finished nodes.
    pub(crate) nodes: usize,
    /// Whether the write must be published.
    pub(crate) is_changed: bool,
    /// The next step starts before this path. `None` if no node is finished yet.
    pub(crate) before: Option<SymbolPath>,
    /// Whether the whole trie is finished.
    pub(crate) is_done: bool,
}

impl MergeStep {
    fn count_page(&mut self) {
        self.pages += 1;
        self.is_changed = true;
    }
}

/// A node on the path of the walk, with the children that are still to be visited, the last one
/// first.
struct MergeFrame {
    id: RecordId,
    /// Symbols of its path.
    depth: usize,
    children: Vec<(u8, RecordId)>,
    /// Whether an earlier step has finished it.
    is_done: bool,
}

impl TrieCore {
    /// Performs one step: continues before a path, and stops when the write is large enough or the
    /// trie is finished. If anything was changed, the caller must publish the write.
    pub(super) fn merge(
        &self,
        writer: &mut PageWriter<'_>,
        before: Option<SymbolPath>,
    ) -> WalkResult<MergeStep> {
        let (mut path, mut stack) = (SymbolPath::new(self.symbols, 0), Vec::new());
        let mut merged = MergeStep { pages: 0, nodes: 0, is_changed: false, before, is_done: false };
        let mut visited = VisitedRecords::default();
        let mut reads = 0;
        self.enter(writer, self.root, merged.before.as_ref(), &mut path, &mut stack)?;
        while let Some(frame) = stack.last_mut() {
            path.truncate(frame.depth);
            let id = frame.id;
            if let Some((symbol, child)) = frame.children.pop() {
                path.push(symbol);
                reads += usize::from(child.page != id.page);
                // Moved nodes are not visited, so each visited record has the id that it had at
                // the start of the step.
                visited.note(child)?;
                self.enter(writer, child, merged.before.as_ref(), &mut path, &mut stack)?;
                continue;
            }
            if !frame.is_done {
                let parent = stack.iter().rev().nth(1).map(|frame| frame.id);
                let is_all = self.take_leaves_in(writer, id, &mut merged)?
                    && self.merge_below(writer, id, &mut merged)?
                    && move_node_down(writer, id, parent, &mut merged)?;
                if is_all {
                    merged.nodes += 1;
                    merged.before = Some(path.clone());
                }
                // All moved nodes lie below this node, and none of them will be visited.
                if !is_all || is_step_full(writer) || reads > READS_MOST {
                    return Ok(merged);
                }
            }
            stack.pop();
        }
        merged.is_done = true;
        Ok(merged)
    }

    /// Enters a node, with those of its children that are not finished yet.
    fn enter(
        &self,
        writer: &mut PageWriter<'_>,
        id: RecordId,
        before: Option<&SymbolPath>,
        path: &mut SymbolPath,
        stack: &mut Vec<MergeFrame>,
    ) -> WalkResult<()> {
        writer.release_many_reads();
        let node = node(writer, id)?;
        push_prefix(path, id, &node, self.symbols.count(KEY_MOST))?;
        let mut frame = MergeFrame { id, depth: path.depth(), children: Vec::new(), is_done: false };
        match before.map(|before| merge_position(self.symbols, path, before)) {
            None | Some(MergePosition::Before) => frame.children.extend(node.children.iter()),
            Some(MergePosition::Above(symbol)) => {
                frame.children.extend(node.children.iter().take_while(|child| child.0 <= symbol));
            }
            Some(MergePosition::Done) => frame.is_done = true,
        }
        stack.push(frame);
        Ok(())
    }

    /// Moves leaves with records of their own into their parent's record while they fit. When they
    /// were added, the parent may have had less room. Returns false if the write became large
    /// enough before the end.
    fn take_leaves_in(
        &self,
        writer: &mut PageWriter<'_>,
        id: RecordId,
        merged: &mut MergeStep,
    ) -> WalkResult<bool> {
        for (symbol, child) in node(writer, id)?.children.iter().collect::<Vec<_>>() {
            writer.release_many_reads();
            let Some(with_leaf) = self.record_with_leaf(writer, id, (symbol, child))? else { continue };
            if is_step_full(writer) {
                return Ok(false);
            }
            take_leaf_in(writer, id, child, &with_leaf)?;
            merged.is_changed = true;
            if child.page != id.page && records(writer, child.page)?.len() == 0 {
                writer.free(child.page);
                merged.pages += 1;
            }
        }
        Ok(true)
    }

    /// Packs the pages that a node owns, and joins them with its own page. Returns false if the
    /// write became large enough before the end.
    fn merge_below(
        &self,
        writer: &mut PageWriter<'_>,
        owner: RecordId,
        merged: &mut MergeStep,
    ) -> WalkResult<bool> {
        for planned in self.plan_packing(writer, owner)? {
            writer.release_many_reads();
            if is_step_full(writer) {
                return Ok(false);
            }
            if !planned.execute(writer, owner)? {
                continue;
            }
            merged.is_changed = true;
            let page = planned.child.page;
            if records(writer, page)?.len() == 0 {
                writer.free(page);
                merged.count_page();
            }
        }
        for page in pages_below(writer, owner)? {
            writer.release_many_reads();
            if is_step_full(writer) {
                return Ok(false);
            }
            if fits(writer, page, owner.page)? {
                self.move_all_nodes(writer, page, owner, owner.page)?;
                merged.count_page();
            }
        }
        Ok(true)
    }
}

/// Moves a node, with all nodes below it in its page, into a sparse page that it owns. Returns
/// false if the write is already large enough.
fn move_node_down(
    writer: &mut PageWriter<'_>,
    id: RecordId,
    parent: Option<RecordId>,
    merged: &mut MergeStep,
) -> WalkResult<bool> {
    let Some(parent) = parent else { return Ok(true) };
    for page in pages_below(writer, id)? {
        writer.release_many_reads();
        if records(writer, page)?.used() > SPARSE_MOST {
            continue;
        }
        let Some(ids) = nodes_that_fit(writer, id, page)? else { continue };
        if is_step_full(writer) {
            return Ok(false);
        }
        merged.is_changed = true;
        if move_down(writer, &ids, parent, page)? {
            merged.count_page();
        }
        break;
    }
    Ok(true)
}

/// The position of a node relative to the path where a step starts.
enum MergePosition {
    /// The node and all nodes below it are unfinished.
    Before,
    /// The node is an ancestor of the start: it is unfinished, and so are its children up to this
    /// symbol.
    Above(u8),
    /// The node and all nodes below it are finished.
    Done,
}

fn merge_position(symbols: TrieSymbols, path: &SymbolPath, before: &SymbolPath) -> MergePosition {
    let of = |path: &SymbolPath, at| symbols.at_in(path.bytes(), 0, at);
    let most = path.depth().min(before.depth());
    match (0..most).find(|at| of(path, *at) != of(before, *at)) {
        Some(at) if of(path, at) < of(before, at) => MergePosition::Before,
        None if path.depth() < before.depth() => MergePosition::Above(of(before, path.depth())),
        _ => MergePosition::Done,
    }
}

/// Returns whether the write is large enough. Something was merged then.
fn is_step_full(writer: &PageWriter<'_>) -> bool {
    writer.copies() > (writer.cache() / CACHE_SHARE).min(READS_MOST)
}
