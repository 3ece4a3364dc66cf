//! A lookup's way to its key: the one node that it looks for, and the step to the next.
//!
//! ```text
//!   begin ─► node ─► node ─► ... ─► leaf ─► record         each step finds a node in its buckets, and asks for those of the node below
//! ```
//!
//! Lookups begin below the root (`begin.rs`), a few nodes above their leaf, and skip what jumps leave out. Many of them go on in turns, so that each
//! finds its buckets in the cache (`batch.rs`). One by itself, whose leaf may be many nodes below its hint, asks for some nodes ahead, as in
//! the paper's section 4.1, though there may be none at some of these depths.
//!
//! # Invariants
//! 1. All that a way comes to is a guess: it looks at no version of the node above, compares no symbols of jumps, and takes a jump's child for
//!    one of any color. A leaf in the table is in the trie, whatever led there, so a record read from one, in a bucket that nobody was
//!    changing, was its key's at that moment. If its key is the one that is looked for, the key was there then, and its value is the one that
//!    the record has afterwards, or had when it went.
//! 2. What comes to anything else, another key, a dead leaf, no node where one should be, says nothing: the lookup begins anew at
//!    the root, by a search that looks at versions (`search.rs`). So a key is found absent by such a search alone.

use super::CuckooTrie;
use super::entry::{CuckooNodeKind, UNDER_JUMP};
use super::hints::Hint;
use super::lanes::EntryQuery;
use super::prefixes::{KeyPrefix, run};
use super::symbols::KeySymbols;
use super::table::{CuckooBucketPair, CuckooTable, LinearHashSize};
use super::variant::{WITHOUT_PREFETCH, has};
use crate::hash::peelable::EMPTY_HASH;
use crate::record::KeyRecord;
use crate::slot::Slot;

/// A key, and the node on its way that is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct LookupPath<'k> {
    symbols: KeySymbols<'k>,
    /// The symbols that come after the node's name, as far as they are decoded.
    window: u64,
    /// How many symbols the name has.
    depth: u32,
    name: KeyPrefix,
    want: EntryQuery,
}

/// What a step comes to.
#[derive(Clone, Copy, Debug)]
pub(super) enum LookupStep {
    /// A node with another one below, which is asked for.
    On,
    /// A leaf, with its record if that is known.
    Leaf(Option<KeyRecord>),
    /// No node, or one without a child that the key leads to.
    Nowhere,
}

impl<'k> LookupPath<'k> {
    /// Begins at a depth, which is not 0; none if the key does not go beyond.
    #[inline(always)]
    pub(super) fn from_depth<const V: usize>(
        table: &CuckooTable<V>,
        size: LinearHashSize,
        key: &'k [u8],
        depth: u32,
    ) -> Option<Self> {
        let symbols = KeySymbols::of(key);
        (depth < symbols.count()).then(|| {
            let (mut window, mut hash) = (0, EMPTY_HASH);
            let symbol = run(table, symbols, 0..depth, &mut window, &mut hash);
            Self::begin(table, size, symbols, window, depth, (hash, symbol))
        })
    }

    /// Begins where a hint leads.
    #[inline(always)]
    pub(super) fn from_hint<const V: usize>(
        table: &CuckooTable<V>,
        size: LinearHashSize,
        key: &'k [u8],
        hint: Hint,
    ) -> Self {
        let symbols = KeySymbols::of(key);
        let Hint { hash, depth } = hint;
        Self::begin(table, size, symbols, symbols.window(depth), depth, (hash, symbols.at(depth - 1)))
    }

    #[inline(always)]
    fn begin<const V: usize>(
        table: &CuckooTable<V>,
        size: LinearHashSize,
        symbols: KeySymbols<'k>,
        window: u64,
        depth: u32,
        (hash, symbol): (u32, u8),
    ) -> Self {
        let name = KeyPrefix::new::<V>(hash, symbol, size);
        ask(table, name);
        Self { symbols, window, depth, name, want: EntryQuery::by_name(name.lane) }
    }

    /// Goes on to the node that is deeper by `count`, a child of a node of a color, if it `has` one by the last symbol.
    #[inline(always)]
    fn go_on<const V: usize>(
        &mut self,
        table: &CuckooTable<V>,
        size: LinearHashSize,
        count: u32,
        color: u8,
        has: impl FnOnce(u8) -> bool,
    ) -> bool {
        let depth = self.depth + count;
        let mut hash = self.name.hash;
        let symbol = run(table, self.symbols, self.depth..depth, &mut self.window, &mut hash);
        let goes_on = has(symbol);
        if goes_on {
            self.depth = depth;
            self.name = KeyPrefix::new::<V>(hash, symbol, size);
            ask(table, self.name);
            self.want = EntryQuery::by_parent(self.name.below(color).lane);
        }
        goes_on
    }
}

/// The depth down to which nodes were asked for, and the name there.
#[derive(Clone, Copy, Debug, Default)]
struct PrefetchFront {
    depth: u32,
    hash: u32,
    window: u64,
}

impl PrefetchFront {
    /// Asks for the nodes ahead of a way, as many as the index says.
    #[inline(always)]
    fn follow<const V: usize>(&mut self, table: &CuckooTable<V>, size: LinearHashSize, way: &LookupPath<'_>) {
        if self.depth < way.depth {
            *self = Self { depth: way.depth, hash: way.name.hash, window: way.window };
        }
        let end = (way.depth + table.ahead).min(way.symbols.count());
        while self.depth < end {
            self.hash = table.extend(self.hash, way.symbols.next(self.depth, &mut self.window));
            self.depth += 1;
            table.prefetch(CuckooBucketPair::of::<V>(self.hash, size));
        }
    }
}

#[inline(always)]
fn ask<const V: usize>(table: &CuckooTable<V>, name: KeyPrefix) {
    if !has(V, WITHOUT_PREFETCH) {
        table.prefetch(name.pair);
    }
}

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// Finds the node that is looked for, and asks for the one below.
    #[inline(always)]
    pub(super) fn step(&self, way: &mut LookupPath<'_>, size: LinearHashSize) -> LookupStep {
        let node = self.look(way.name.pair, way.want);
        if node.is_none() {
            return LookupStep::Nowhere;
        }
        let entry = node.entry;
        let goes_on = match entry.kind() {
            // SAFETY: a leaf, read under the caller's guard.
            CuckooNodeKind::Leaf => return LookupStep::Leaf(unsafe { entry.record() }),
            CuckooNodeKind::Dead => false,
            CuckooNodeKind::Branch => {
                way.go_on(&self.table, size, 1, entry.color(), |symbol| entry.bitmap() >> symbol & 1 != 0)
            }
            CuckooNodeKind::Jump => way.go_on(&self.table, size, entry.length(), UNDER_JUMP, |_| true),
        };
        if goes_on { LookupStep::On } else { LookupStep::Nowhere }
    }

    /// Goes all the way by itself, to a record that may be the key's.
    #[inline(always)]
    pub(super) fn follow_path(&self, mut way: LookupPath<'_>, size: LinearHashSize) -> Option<KeyRecord> {
        let asks_ahead = !has(V, WITHOUT_PREFETCH) && self.table.depths.start().is_none();
        let mut ahead = PrefetchFront::default();
        loop {
            if asks_ahead {
                ahead.follow(&self.table, size, &way);
            }
            match self.step(&mut way, size) {
                LookupStep::On => {}
                LookupStep::Leaf(record) => return record,
                LookupStep::Nowhere => return None,
            }
        }
    }
}
