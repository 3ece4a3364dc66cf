//! Merging for a compact: leaves go to their parents' records, and pages that have little are joined, owner by owner.
//!
//! ```text
//!   owner ─► P 20 % │ Q 30 % │ R 90 % │ S 10 %      ─►      owner ─► P 50 % │ R 90 %       and S to the owner's page, if it has room
//! ```
//!
//! Only pages of one owner can be one page (invariant 1 of `placement.rs`), and its own page. A page that has little and cannot go anywhere takes its owner, with all
//! that is below that in its page: then it is a page of the owner's parent, with others to be merged with. A walk goes backward through the nodes by their paths, so that
//! it comes to a node after all that is below it, and what is moved there is never still to be visited. It goes in steps, each of which is a write of few pages; the path
//! of the last node that is done says where the next one begins, whatever was written meanwhile.

use super::KEY_MOST;
use super::core::{TrieCore, damaged_record, node, replace};
use super::decoded_node::DecodedNode;
use super::node::{RECORD_MOST, TrieNode};
use super::placement::{relocate, room};
use super::symbols::{SymbolPath, TrieSymbols};
use super::visited_records::VisitedRecords;
use super::walk::push_prefix;
use crate::buffer::PageWriter;
use crate::page::PageId;
use crate::record::{BODY, PageReader, RecordId, SLOT, WalkResult, change, record, records};

/// Room that is left in a page that others come to, so that not every write splits it again.
const SPARE: usize = BODY / 16;
/// A page that has no more has little.
const LITTLE: usize = BODY / 2;
/// Pages that a step looks at, at most, besides those on its way; so a write waits for no more.
const LOOK: usize = 64;
/// A step ends when it has so much of the cache.
const SHARE: usize = 4;

/// What a step did.
#[derive(Debug)]
pub(crate) struct MergeStep {
    /// Pages that were given back.
    pub(crate) pages: usize,
    /// Nodes that were done.
    pub(crate) nodes: usize,
    /// Whether there is anything to be published.
    pub(crate) is_changed: bool,
    /// The node before which the next step begins; none if no node has been done yet.
    pub(crate) before: Option<SymbolPath>,
    /// Whether all has been done.
    pub(crate) is_done: bool,
}

impl MergeStep {
    fn count_page(&mut self) {
        self.pages += 1;
        self.is_changed = true;
    }
}

/// A node on the way, whose children are still to be visited, the last one first.
struct MergeFrame {
    id: RecordId,
    /// Symbols of its path.
    depth: usize,
    children: Vec<(u8, RecordId)>,
    /// An earlier step has done it.
    is_done: bool,
}

impl TrieCore {
    /// Does a step: goes on before a node, to the next one and as far as a write should go. It is to be published if anything was changed.
    pub(super) fn merge(
        &self,
        writer: &mut PageWriter<'_>,
        before: Option<SymbolPath>,
    ) -> WalkResult<MergeStep> {
        let (mut path, mut stack) = (SymbolPath::new(self.symbols, 0), Vec::new());
        let mut merged = MergeStep { pages: 0, nodes: 0, is_changed: false, before, is_done: false };
        let mut visited = VisitedRecords::default();
        let mut looked = 0;
        self.enter(writer, self.root, merged.before.as_ref(), &mut path, &mut stack)?;
        while let Some(frame) = stack.last_mut() {
            path.truncate(frame.depth);
            let id = frame.id;
            if let Some((symbol, child)) = frame.children.pop() {
                path.push(symbol);
                looked += usize::from(child.page != id.page);
                // What was moved is not visited any more, so each record that is has the name that it had when the step began.
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
                // What was moved lies below the node, and none of that is still to be visited.
                if !is_all || is_step_full(writer) || looked > LOOK {
                    return Ok(merged);
                }
            }
            stack.pop();
        }
        merged.is_done = true;
        Ok(merged)
    }

    /// Goes to a node; of its children, to those that are still to be done.
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

    /// Takes leaves that have records of their own into their parent's, as far as they fit there: it may have had more when they came. False if the write has enough
    /// before all is done.
    fn take_leaves_in(
        &self,
        writer: &mut PageWriter<'_>,
        id: RecordId,
        merged: &mut MergeStep,
    ) -> WalkResult<bool> {
        for (symbol, child) in node(writer, id)?.children.iter().collect::<Vec<_>>() {
            writer.release_many_reads();
            let leaf = record(writer, child)?;
            let below = TrieNode::of(leaf).map_err(|what| damaged_record(child, what))?;
            if below.value.is_none() || !DecodedNode::of(below).is_childless() {
                continue;
            }
            let leaf = leaf.to_vec();
            let before = record(writer, id)?.to_vec();
            let mut content =
                DecodedNode::of(TrieNode::of(&before).map_err(|what| damaged_record(id, what))?);
            if !content.takes_leaf(symbol, leaf.len(), self.layout) {
                continue;
            }
            let freed = if child.page == id.page { leaf.len() } else { 0 };
            content.children.retain(|other| other.0 != symbol);
            content.set_leaf(symbol, leaf.into());
            let after = content.encode(self.layout);
            if after.len() > RECORD_MOST || after.len() > before.len() + freed + room(writer, id.page)? {
                continue;
            }
            if is_step_full(writer) {
                return Ok(false);
            }
            change(writer, child.page, |records| records.remove(child.slot))?;
            replace(writer, id, &after)?;
            merged.is_changed = true;
            if child.page != id.page && records(writer, child.page)?.len() == 0 {
                writer.free(child.page);
                merged.pages += 1;
            }
        }
        Ok(true)
    }

    /// Merges the pages that a node owns; false if the write has enough before all is done.
    fn merge_below(
        &self,
        writer: &mut PageWriter<'_>,
        owner: RecordId,
        merged: &mut MergeStep,
    ) -> WalkResult<bool> {
        let mut left: Vec<PageId> = Vec::new();
        for page in pages_below(writer, owner)? {
            writer.release_many_reads();
            if is_step_full(writer) {
                return Ok(false);
            }
            match left.last() {
                Some(to) if fits(writer, page, *to)? => {
                    self.move_all_nodes(writer, page, owner, *to)?;
                    merged.count_page();
                }
                _ => left.push(page),
            }
        }
        for page in left {
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

/// Moves a node, with all that is below it in its page, to a page of its own that has little: so that page is its parent's then, who may have others to merge it
/// with. False if the write has enough before.
fn move_node_down(
    writer: &mut PageWriter<'_>,
    id: RecordId,
    parent: Option<RecordId>,
    merged: &mut MergeStep,
) -> WalkResult<bool> {
    let Some(parent) = parent else { return Ok(true) };
    for page in pages_below(writer, id)? {
        writer.release_many_reads();
        let here = records(writer, page)?;
        let (used, room) = (here.used(), here.room().unwrap_or(0));
        if used > LITTLE {
            continue;
        }
        let (names, bytes) = below(writer, id)?;
        if bytes + SPARE > room {
            continue;
        }
        if is_step_full(writer) {
            return Ok(false);
        }
        relocate(writer, &names, parent, page)?;
        merged.is_changed = true;
        if records(writer, id.page)?.len() == 0 {
            writer.free(id.page);
            merged.count_page();
        }
        break;
    }
    Ok(true)
}

/// Records of a page from one on down, and the bytes that they take.
fn below(pages: &mut impl PageReader, id: RecordId) -> WalkResult<(Vec<RecordId>, usize)> {
    let (mut names, mut at, mut bytes) = (vec![id], 0, 0);
    // Pointers in a ring would go on for ever; a page has no more than its bytes.
    while at < names.len() && bytes <= BODY {
        bytes += record(pages, names[at])?.len() + SLOT;
        let children = node(pages, names[at])?.children.iter().map(|child| child.1);
        names.extend(children.filter(|child| child.page == id.page));
        at += 1;
    }
    Ok((names, bytes))
}

/// Where a node is, as a walk backward sees it.
enum MergePosition {
    /// It and all below it are still to be done.
    Before,
    /// It is on the way to the place: it is to be done, and so are its children up to that of a symbol.
    Above(u8),
    /// It and all below it have been done.
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

/// Whether a write is as large as one should be. Something was merged then.
fn is_step_full(writer: &PageWriter<'_>) -> bool {
    writer.copies() > (writer.cache() / SHARE).min(LOOK)
}

/// The pages that a node owns, in the order of its children.
fn pages_below(pages: &mut impl PageReader, owner: RecordId) -> WalkResult<Vec<PageId>> {
    let mut below: Vec<PageId> = Vec::new();
    for (_, child) in node(pages, owner)?.children.iter() {
        if child.page != owner.page && !below.contains(&child.page) {
            below.push(child.page);
        }
    }
    Ok(below)
}

/// Whether all that a page has fits another one.
fn fits(pages: &mut impl PageReader, page: PageId, to: PageId) -> WalkResult<bool> {
    let used = records(pages, page)?.used();
    Ok(records(pages, to)?.room().is_some_and(|room| used + SLOT + SPARE <= room))
}
