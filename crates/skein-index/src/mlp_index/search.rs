//! Searches: from the prefixes of a key to the node that says what there is.
//!
//! ```text
//!   lookup    asks for the levels that matter, all at once ─► the deepest node there is ─► it is the leaf, or says that there is none, or where to look
//!   descend   asks for the same ─► node by node from the top, each with its children: for writes and cursors
//! ```
//!
//! # Why one node is evidence enough
//! 1. A node in the table is in the trie: all keys that begin with its name are below it, and share what it is deep. So a leaf of another key, an inner
//!    node that is deeper than what the key shares with it, or one without a child by the key's next symbol, says that the key is not there, whatever
//!    is going on elsewhere; and so does the flat bitmap.
//! 2. That a node was not found says nothing: it may have been moved from a bucket not yet read to one already read.
//! 3. What was found contradicts what was not found only if the index has changed meanwhile. Then the search begins anew.

use arrayvec::ArrayVec;
use skein_sync::spin::Backoff;

use super::MlpIndex;
use super::key::{BYTES, Key};
use super::levels::{ALL, deepest_first};
use super::name::{HEADER, LEVEL_MIN, Name, Pair, turned, turned_back};
use super::node::{Body, Kind, Node, has_child, length_in};
use super::table::{Found, View};
use super::top::start_of;
use super::variant::{ALL_LEVELS, WITHOUT_PREFETCH, has};
use crate::linear::Size;
use crate::slot::Slot;

/// What was found does not go together: the index has changed meanwhile, or more levels have to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unsure;

/// What a node says of a key.
#[derive(Clone, Copy, Debug)]
enum Says {
    Value(u64),
    Absent,
    /// There may be a node of this level.
    Deeper(u32),
}

/// The names of some levels of a key, with their buckets, the deepest one first.
pub(super) type Names = ArrayVec<(u32, Name, Pair), 7>;

/// A node with its bucket and version.
pub(super) type Seen = Found<Node>;

/// Where a key leads.
#[derive(Debug)]
pub(super) struct Path {
    /// The inner nodes on the way, from the top, all of which the key shares to their depth and has a child of.
    pub(super) above: ArrayVec<Seen, 6>,
    /// The node that ends it: a leaf, or an inner one that the key parts from or has no child of. None if no key begins with the same three symbols.
    pub(super) stop: Option<Seen>,
}

impl<S: Slot, const V: usize> MlpIndex<S, V> {
    /// The levels to be asked for at once.
    #[inline(always)]
    pub(super) fn levels(&self) -> u32 {
        if has(V, ALL_LEVELS) { ALL } else { self.table.levels.load(skein_sync::atomic::Ordering::Relaxed) }
    }

    /// The names of a key of some levels, whose buckets are asked for.
    #[inline(always)]
    pub(super) fn ask(&self, key: Key, levels: u32, size: Size) -> Names {
        let mut names = Names::new();
        for level in deepest_first(levels) {
            let name = Name::of(key, level, &self.table.seeds);
            let pair = name.pair(size);
            if !has(V, WITHOUT_PREFETCH) {
                self.table.prefetch(pair);
            }
            names.push((level, name, pair));
        }
        if !has(V, WITHOUT_PREFETCH) {
            self.top.prefetch(start_of(key.bits));
        }
        names
    }

    /// The word of a key's value.
    #[inline(always)]
    pub(super) fn lookup(&self, key: &[u8]) -> Option<u64> {
        let key = Key::of(key)?;
        let levels = self.levels();
        match self.answer(key, levels, &self.ask(key, levels, self.table.size())) {
            Ok(answer) => answer,
            Err(Unsure) => self.lookup_again(key),
        }
    }

    /// The same, when the levels that matter were not enough, or something has changed.
    #[cold]
    #[inline(never)]
    pub(super) fn lookup_again(&self, key: Key) -> Option<u64> {
        let mut backoff = Backoff::new();
        loop {
            if let Ok(answer) = self.answer(key, ALL, &self.ask(key, ALL, self.table.size())) {
                return answer;
            }
            backoff.wait();
        }
    }

    /// What the nodes of some levels say of a key.
    #[inline(always)]
    pub(super) fn answer(&self, key: Key, levels: u32, names: &Names) -> Result<Option<u64>, Unsure> {
        for (level, name, pair) in names {
            if let Some(found) = self.table.find(name, *pair, |view| says(view, key, *level)) {
                return self.follow(key, levels, found.what);
            }
        }
        if levels & 1 << LEVEL_MIN != 0 && !self.top.has(start_of(key.bits)) { Ok(None) } else { Err(Unsure) }
    }

    /// Goes on from what a node says, the deepest one of the levels that were looked at.
    #[inline(always)]
    fn follow(&self, key: Key, levels: u32, mut says: Says) -> Result<Option<u64>, Unsure> {
        loop {
            match says {
                Says::Value(value) => return Ok(Some(value)),
                Says::Absent => return Ok(None),
                Says::Deeper(level) if levels & 1 << level != 0 => return Err(Unsure),
                Says::Deeper(level) => says = self.look(key, level)?,
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn look(&self, key: Key, level: u32) -> Result<Says, Unsure> {
        let name = Name::of(key, level, &self.table.seeds);
        let pair = name.pair(self.table.size());
        self.table.find(&name, pair, |view| says(view, key, level)).map(|found| found.what).ok_or(Unsure)
    }

    /// Goes along a key from the top.
    pub(super) fn descend(&self, key: Key) -> Result<Path, Unsure> {
        let size = self.table.size();
        self.ask(key, self.levels(), size);
        let mut path = Path { above: ArrayVec::new(), stop: None };
        let mut level = LEVEL_MIN;
        loop {
            let name = Name::of(key, level, &self.table.seeds);
            let Some(seen) = self.table.node(&name, name.pair(size)) else {
                // Without the node there must be no key; further down, its parent has just said that there is one.
                let is_empty = level == LEVEL_MIN && !self.top.has(start_of(key.bits));
                return if is_empty { Ok(path) } else { Err(Unsure) };
            };
            match seen.what.body {
                Body::Inner { depth, children }
                    if key.shared_bytes(seen.what.bits) >= depth && children.contains(key.symbol(depth)) =>
                {
                    level = depth + 1;
                    path.above.push(seen);
                }
                _ => {
                    path.stop = Some(seen);
                    return Ok(path);
                }
            }
        }
    }

    /// The child of an inner node by a symbol that it has.
    pub(super) fn child(&self, parent: &Node, symbol: u8) -> Result<Seen, Unsure> {
        let name = self.child_name(parent, symbol).ok_or(Unsure)?;
        self.table.node(&name, name.pair(self.table.size())).ok_or(Unsure)
    }

    /// The name of the child of an inner node by a symbol; none if it is a leaf.
    #[inline(always)]
    pub(super) fn child_name(&self, parent: &Node, symbol: u8) -> Option<Name> {
        let Body::Inner { depth, .. } = parent.body else { return None };
        let key = if depth < BYTES {
            let shift = 56 - 8 * depth;
            Key { bits: parent.bits & !(0xff << shift) | u64::from(symbol) << shift, len: 0 }
        } else {
            Key { bits: parent.bits, len: symbol }
        };
        Some(Name::of(key, depth + 1, &self.table.seeds))
    }
}

/// What a node of a level, whose name the key begins with, says of the key.
#[inline(always)]
fn says(view: View<'_>, key: Key, level: u32) -> Says {
    let head = view.word(0);
    let kind = Kind::of(head);
    // The name is the same, with the bits that stand where the header is.
    let differing = (head ^ turned(key.bits, level)) & !HEADER;
    if kind == Kind::Leaf {
        let same = differing == 0 && length_in(head) == u32::from(key.len);
        return if same { Says::Value(view.word(1)) } else { Says::Absent };
    }
    let depth = length_in(head);
    if turned_back(differing, level).leading_zeros() < 8 * depth {
        return Says::Absent;
    }
    let has = has_child(kind, key.symbol(depth), |word| view.word(word));
    if has { Says::Deeper(depth + 1) } else { Says::Absent }
}
