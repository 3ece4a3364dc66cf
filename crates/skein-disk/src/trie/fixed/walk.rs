//! Keys in their order, both ways.
//!
//! A key comes before those that go on from it, and its children are in the order of their symbols.

use std::ops::Bound;

use super::super::core::{valid, wrong};
use super::super::symbols::Path;
use super::super::visited::Visited;
use super::super::walk::{Direction, Entries, Gathered, Portion};
use super::{Fixed, KEY_MOST, value_of};
use crate::record::{Pages, RecordId, Walked};

/// Where in a node a walk is: at the value, or at the child of a symbol; [`BEFORE`] or [`PAST`] both.
type Position = i16;
const BEFORE: Position = -2;
const VALUE: Position = -1;
const PAST: Position = 256;

/// A node on the way.
struct Frame {
    id: RecordId,
    /// Symbols that lead to it.
    depth: usize,
    children: Vec<(u8, RecordId)>,
    at: Position,
}

struct Walk<'t> {
    trie: &'t Fixed,
    direction: Direction,
    path: Path,
    stack: Vec<Frame>,
    visited: Visited,
}

impl Walk<'_> {
    /// Where a walk through all of a node begins.
    fn start(&self) -> Position {
        if self.direction == Direction::Forward { BEFORE } else { PAST }
    }

    fn enter(&mut self, pages: &mut impl Pages, id: RecordId, at: Position) -> Walked<()> {
        let depth = self.path.depth();
        if depth > self.trie.symbols.count(KEY_MOST) {
            return Err(wrong(id, "paths that lead here are longer than keys can be"));
        }
        self.visited.note(id)?;
        let children = self.trie.children(pages, id)?;
        self.trie.has_something(pages, id, &children)?;
        self.stack.push(Frame { id, depth, children, at });
        Ok(())
    }

    fn seek(&mut self, pages: &mut impl Pages, key: &[u8], is_included: bool) -> Walked<()> {
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
            (true, Direction::Forward) => BEFORE,
            (true, Direction::Backward) => 0,
        };
        self.enter(pages, at, end)
    }

    /// The next node at which a key may end; [`Walk::path`] leads there.
    fn next(&mut self, pages: &mut impl Pages) -> Walked<Option<RecordId>> {
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

/// What follows in a node: its value, or a child.
fn following(frame: &Frame, direction: Direction) -> Option<(Position, Option<(u8, RecordId)>)> {
    let child = |child: &(u8, RecordId)| (child.0.into(), Some(*child));
    let mut children = frame.children.iter();
    match direction {
        Direction::Forward if frame.at < VALUE => Some((VALUE, None)),
        Direction::Forward => children.find(|child| Position::from(child.0) > frame.at).map(child),
        Direction::Backward if frame.at > VALUE => {
            let before = children.rev().find(|child| Position::from(child.0) < frame.at);
            Some(before.map_or((VALUE, None), child))
        }
        Direction::Backward => None,
    }
}

/// The keys of a portion, in order.
pub(super) fn collect(trie: &Fixed, pages: &mut impl Pages, portion: &Portion<'_>) -> Walked<Entries> {
    let (path, stack, visited) = (Path::new(trie.symbols, 0), Vec::new(), Visited::default());
    let mut walk = Walk { trie, direction: portion.direction, path, stack, visited };
    match portion.near() {
        Bound::Unbounded => walk.enter(pages, trie.root, walk.start())?,
        Bound::Included(key) => walk.seek(pages, key, true)?,
        Bound::Excluded(key) => walk.seek(pages, key, false)?,
    }
    let mut gathered = Gathered::default();
    while let Some(id) = walk.next(pages)? {
        let Some((version, number)) = value_of(trie.node(pages, id)?) else { continue };
        let key = walk.path.key().ok_or_else(|| wrong(id, "it has a value, and no key ends there"))?;
        if !gathered.takes(portion, key) {
            break;
        }
        let value = if portion.values { number.to_string().into_bytes() } else { Vec::new() };
        gathered.push(key, valid(version, key)?, value);
    }
    Ok(gathered.found)
}
