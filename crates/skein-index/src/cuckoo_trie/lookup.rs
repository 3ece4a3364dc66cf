//! Lookups: descend from a guessed node to a record, and verify the record's key. If the guess was
//! wrong, search from the root. A lookup acquires no lock and stores nothing.
//!
//! ```text
//!   begin ─► node ─► node ─► ... ─► leaf ─► record     each step finds a node in its buckets
//!                                                      and prefetches those of the next node
//! ```
//!
//! A lookup begins below the root (`search_start.rs`), a few nodes above its leaf, and skips the
//! depths inside jumps. In a batch many lookups take turns, so that each finds its buckets in the
//! cache (`batch.rs`). A single lookup that began at a hint may be many nodes above its leaf. It
//! prefetches some nodes ahead, as in section 4.1 of the paper, even though some of these depths
//! have no node.
//!
//! # Invariants
//! 1. The descent is a guess: it checks no parent's version, compares no symbols of jumps, and
//!    accepts a jump's child of any color. That is safe. A leaf in the table is part of the trie,
//!    however the lookup found it. So a record read from a leaf, in a bucket that no writer was
//!    changing, belonged to its key at that moment. If that key is the one in question, it was
//!    present then. Its value is the one that the record holds afterwards, or held when it was
//!    removed.
//! 2. Every other end proves nothing: another key, a dead leaf, or no node where one should be.
//!    Then the lookup searches from the root and checks versions (`search.rs`). Only such a search
//!    can prove that a key is absent.

use skein_sync::spin::Backoff;

use super::CuckooTrieVariant;
use super::entry::{CuckooNodeKind, UNDER_JUMP};
use super::hints::Hint;
use super::lanes::EntryQuery;
use super::prefixes::{KeyPrefix, KeyPrefixes, extend_over};
use super::search::SearchEnd;
use super::symbols::KeySymbols;
use super::table::{CuckooBucketPair, CuckooTable, LinearHashSize};
use super::variant::CuckooSettings;
use crate::hash::peelable::EMPTY_HASH;
use crate::index::MAX_KEY_LEN;
use crate::record::KeyRecord;
use crate::slot::Slot;

impl<S: Slot, V: CuckooSettings> CuckooTrieVariant<S, V> {
    /// Returns the word of `key`'s value.
    #[inline(always)]
    pub(super) fn lookup(&self, key: &[u8]) -> Option<u64> {
        let size = self.engine.table.places();
        let guess = self.lookup_path(key, size).and_then(|path| self.follow_path(path, size));
        self.word_of(key, guess)
    }

    /// Returns the word of the key's value: from the guessed record if its key matches, else from a
    /// search that begins at the root.
    #[inline(always)]
    pub(super) fn word_of(&self, key: &[u8], guess: Option<KeyRecord>) -> Option<u64> {
        match guess {
            Some(record) if record.is_of(key) => Some(record.value()),
            _ if key.len() > MAX_KEY_LEN => None,
            _ => self.lookup_from_root(key),
        }
    }

    #[inline(never)]
    fn lookup_from_root(&self, key: &[u8]) -> Option<u64> {
        let mut prefixes = KeyPrefixes::of(&self.engine.table, key);
        loop {
            if let Ok(stop) = self.descend(&mut prefixes, |_| ()) {
                return record_at(&stop).filter(|record| record.is_of(key)).map(KeyRecord::value);
            }
            Backoff::new().wait();
            prefixes.restart();
        }
    }
}

/// Returns the record of the leaf at which a search ended. The caller must hold the guard under
/// which it searched.
#[inline(always)]
fn record_at(stop: &SearchEnd) -> Option<KeyRecord> {
    let entry = stop.at.node.entry;
    // SAFETY: a leaf, read under the caller's guard.
    if entry.kind() == CuckooNodeKind::Leaf { unsafe { entry.record() } } else { None }
}

/// The path of a lookup: its key, and the node that it looks for next.
#[derive(Clone, Copy, Debug)]
pub(super) struct LookupPath<'k> {
    symbols: KeySymbols<'k>,
    /// The symbols after the node's name that are already decoded.
    window: u64,
    /// The number of symbols in the node's name.
    depth: u32,
    name: KeyPrefix,
    want: EntryQuery,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum LookupStep {
    /// A node with a child on the path. The child is prefetched.
    On,
    /// A leaf, with its record if it has one already.
    Leaf(Option<KeyRecord>),
    /// No node, or a node without a child for the key.
    Nowhere,
}

impl<'k> LookupPath<'k> {
    /// Begins at a depth, which must not be 0. Returns `None` if the key does not extend beyond it.
    #[inline(always)]
    pub(super) fn from_depth<V: CuckooSettings>(
        table: &CuckooTable<V>,
        size: LinearHashSize,
        key: &'k [u8],
        depth: u32,
    ) -> Option<Self> {
        let symbols = KeySymbols::of(key);
        // No closure: it would not always be inlined.
        if depth >= symbols.count() {
            return None;
        }
        let (mut window, mut hash) = (0, EMPTY_HASH);
        let symbol = extend_over(table, symbols, 0..depth, &mut window, &mut hash);
        Some(Self::begin(table, size, symbols, window, depth, hash, symbol))
    }

    /// Begins at the node of a hint.
    #[inline(always)]
    pub(super) fn from_hint<V: CuckooSettings>(
        table: &CuckooTable<V>,
        size: LinearHashSize,
        key: &'k [u8],
        hint: Hint,
    ) -> Self {
        let symbols = KeySymbols::of(key);
        let Hint { hash, depth } = hint;
        Self::begin(table, size, symbols, symbols.window(depth), depth, hash, symbols.at(depth - 1))
    }

    #[inline(always)]
    fn begin<V: CuckooSettings>(
        table: &CuckooTable<V>,
        size: LinearHashSize,
        symbols: KeySymbols<'k>,
        window: u64,
        depth: u32,
        hash: u32,
        symbol: u8,
    ) -> Self {
        let name = KeyPrefix::new::<V>(hash, symbol, size);
        prefetch(table, name);
        Self { symbols, window, depth, name, want: EntryQuery::by_name(name.lane) }
    }

    /// Advances to the child that is `count` symbols deeper, under a node of this color, if `has`
    /// returns true for its last symbol. Returns whether it did.
    #[inline(always)]
    fn advance<V: CuckooSettings>(
        &mut self,
        table: &CuckooTable<V>,
        size: LinearHashSize,
        count: u32,
        color: u8,
        has: impl FnOnce(u8) -> bool,
    ) -> bool {
        let depth = self.depth + count;
        let mut hash = self.name.hash;
        let symbol = extend_over(table, self.symbols, self.depth..depth, &mut self.window, &mut hash);
        let has_child = has(symbol);
        if has_child {
            self.depth = depth;
            self.name = KeyPrefix::new::<V>(hash, symbol, size);
            prefetch(table, self.name);
            self.want = EntryQuery::by_parent(self.name.below(color).lane);
        }
        has_child
    }
}

/// How far a lookup has prefetched: the depth, and the name there.
#[derive(Clone, Copy, Debug, Default)]
struct PrefetchFront {
    depth: u32,
    hash: u32,
    window: u64,
}

impl PrefetchFront {
    /// Prefetches the nodes ahead of a path, to the depth configured for the index.
    #[inline(always)]
    fn follow<V: CuckooSettings>(
        &mut self,
        table: &CuckooTable<V>,
        size: LinearHashSize,
        path: &LookupPath<'_>,
    ) {
        if self.depth < path.depth {
            *self = Self { depth: path.depth, hash: path.name.hash, window: path.window };
        }
        let end = (path.depth + table.ahead).min(path.symbols.count());
        while self.depth < end {
            self.hash = table.extend(self.hash, path.symbols.next(self.depth, &mut self.window));
            self.depth += 1;
            table.prefetch(CuckooBucketPair::of::<V>(self.hash, size));
        }
    }
}

#[inline(always)]
fn prefetch<V: CuckooSettings>(table: &CuckooTable<V>, name: KeyPrefix) {
    if V::PREFETCH {
        table.prefetch(name.pair);
    }
}

impl<S: Slot, V: CuckooSettings> CuckooTrieVariant<S, V> {
    /// Finds the next node of a path, and prefetches the one after it.
    #[inline(always)]
    pub(super) fn step(&self, path: &mut LookupPath<'_>, size: LinearHashSize) -> LookupStep {
        let node = self.look(path.name.pair, path.want);
        if node.is_none() {
            return LookupStep::Nowhere;
        }
        let entry = node.entry;
        let has_child = match entry.kind() {
            // SAFETY: a leaf, read under the caller's guard.
            CuckooNodeKind::Leaf => return LookupStep::Leaf(unsafe { entry.record() }),
            CuckooNodeKind::Dead => false,
            CuckooNodeKind::Branch => path.advance(&self.engine.table, size, 1, entry.color(), |symbol| {
                entry.bitmap() >> symbol & 1 != 0
            }),
            CuckooNodeKind::Jump => {
                path.advance(&self.engine.table, size, entry.length(), UNDER_JUMP, |_| true)
            }
        };
        if has_child { LookupStep::On } else { LookupStep::Nowhere }
    }

    /// Follows a path to its end. Returns a record that may be the key's.
    #[inline(always)]
    pub(super) fn follow_path(&self, mut path: LookupPath<'_>, size: LinearHashSize) -> Option<KeyRecord> {
        let looks_ahead = V::PREFETCH && self.engine.table.depths.start().is_none();
        let mut ahead = PrefetchFront::default();
        loop {
            if looks_ahead {
                ahead.follow(&self.engine.table, size, &path);
            }
            match self.step(&mut path, size) {
                LookupStep::On => {}
                LookupStep::Leaf(record) => return record,
                LookupStep::Nowhere => return None,
            }
        }
    }
}
