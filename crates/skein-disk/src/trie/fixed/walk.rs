//! Walks over keys in order, forward and backward.
//!
//! A key precedes its extensions, and children are in the order of their symbols.

use std::ops::Bound;

use super::super::core::{damaged_record, valid};
use super::super::symbols::SymbolPath;
use super::super::visited_records::VisitedRecords;
use super::super::walk::{GatheredEntries, ScanEntries, ScanRequest, WalkDirection};
use super::{FixedTrie, KEY_MOST, value_of};
use crate::record::{PageReader, RecordId, WalkResult};

/// The position of a walk in a node: at the value, or at the child of a symbol. [`BEFORE`] and
/// [`PAST`] are both.
type FixedWalkPosition = i16;
const BEFORE: FixedWalkPosition = -2;
const VALUE: FixedWalkPosition = -1;
const PAST: FixedWalkPosition = 256;

/// A node on the path of the walk.
struct FixedWalkFrame {
    id: RecordId,
    /// Symbols that lead to it.
    depth: usize,
    children: Vec<(u8, RecordId)>,
    at: FixedWalkPosition,
}

struct FixedTrieWalk<'t> {
    trie: &'t FixedTrie,
    direction: WalkDirection,
    path: SymbolPath,
    stack: Vec<FixedWalkFrame>,
    visited: VisitedRecords,
}

impl FixedTrieWalk<'_> {
    /// Returns the position where a walk through a whole node starts.
    fn start(&self) -> FixedWalkPosition {
        if self.direction == WalkDirection::Forward { BEFORE } else { PAST }
    }

    fn enter(&mut self, pages: &mut impl PageReader, id: RecordId, at: FixedWalkPosition) -> WalkResult<()> {
        let depth = self.path.depth();
        if depth > self.trie.symbols.count(KEY_MOST) {
            return Err(damaged_record(id, "paths that lead here are longer than keys can be"));
        }
        self.visited.note(id)?;
        let children = self.trie.children(pages, id)?;
        self.trie.check_not_empty(pages, id, &children)?;
        self.stack.push(FixedWalkFrame { id, depth, children, at });
        Ok(())
    }

    fn seek(&mut self, pages: &mut impl PageReader, key: &[u8], is_included: bool) -> WalkResult<()> {
        let symbols = self.trie.symbols;
        let mut at = self.trie.root;
        for index in 0..symbols.count(key.len()) {
            let symbol = symbols.at(key, index);
            self.enter(pages, at, symbol.into())?;
            match self.trie.child(pages, at, symbol)? {
                Some(child) => at = child,
                None => return Ok(()),
            }
            self.path.push(symbol);
        }
        let end = match (is_included, self.direction) {
            (false, _) => VALUE,
            (true, WalkDirection::Forward) => BEFORE,
            (true, WalkDirection::Backward) => 0,
        };
        self.enter(pages, at, end)
    }

    /// Returns the next node at which a key may end; [`FixedTrieWalk::path`] leads there.
    fn next(&mut self, pages: &mut impl PageReader) -> WalkResult<Option<RecordId>> {
        while let Some(frame) = self.stack.last_mut() {
            self.path.truncate(frame.depth);
            match following(frame, self.direction) {
                None => _ = self.stack.pop(),
                Some((at, child)) => {
                    frame.at = at;
                    match child {
                        None => return Ok(Some(frame.id)),
                        Some((symbol, child)) => {
                            self.path.push(symbol);
                            self.enter(pages, child, self.start())?;
                        }
                    }
                }
            }
        }
        Ok(None)
    }
}

/// Returns what follows a position in a node: its value (`None`) or a child.
fn following(
    frame: &FixedWalkFrame,
    direction: WalkDirection,
) -> Option<(FixedWalkPosition, Option<(u8, RecordId)>)> {
    let child = |child: &(u8, RecordId)| (child.0.into(), Some(*child));
    let mut children = frame.children.iter();
    match direction {
        WalkDirection::Forward if frame.at < VALUE => Some((VALUE, None)),
        WalkDirection::Forward => {
            children.find(|child| FixedWalkPosition::from(child.0) > frame.at).map(child)
        }
        WalkDirection::Backward if frame.at > VALUE => {
            let before = children.rev().find(|child| FixedWalkPosition::from(child.0) < frame.at);
            Some(before.map_or((VALUE, None), child))
        }
        WalkDirection::Backward => None,
    }
}

impl FixedTrie {
    /// Returns the keys of a range in order.
    pub(in crate::trie) fn collect(
        &self,
        pages: &mut impl PageReader,
        request: &ScanRequest<'_>,
    ) -> WalkResult<ScanEntries> {
        let (path, stack, visited) =
            (SymbolPath::new(self.symbols, 0), Vec::new(), VisitedRecords::default());
        let mut walk = FixedTrieWalk { trie: self, direction: request.direction, path, stack, visited };
        match request.near() {
            Bound::Unbounded => walk.enter(pages, self.root, walk.start())?,
            Bound::Included(key) => walk.seek(pages, key, true)?,
            Bound::Excluded(key) => walk.seek(pages, key, false)?,
        }
        let mut gathered = GatheredEntries::default();
        while let Some(id) = walk.next(pages)? {
            let Some((version, number)) = value_of(self.node(pages, id)?) else { continue };
            let key =
                walk.path.key().ok_or_else(|| damaged_record(id, "it has a value, but no key ends there"))?;
            if !gathered.takes(request, key) {
                break;
            }
            let value = if request.values { number.to_string().into_bytes() } else { Vec::new() };
            gathered.push(key, valid(version, key)?, value);
        }
        Ok(gathered.found)
    }
}
