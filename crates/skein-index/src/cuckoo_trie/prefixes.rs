//! The prefixes of a key: names of nodes, hashed as far as a search looks ahead.
//!
//! A prefix's hash follows from that of the one before and a symbol; its buckets, from its hash. They are asked for as soon as they are known,
//! some nodes ahead of the search (Cuckoo Trie, section 4.1). The last prefixes are kept in a ring.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::entry::{lane, symbol_in, with_parent};
use super::symbols::KeySymbols;
use super::table::{CuckooBucketPair, CuckooTable, LinearHashSize};
use super::transaction::CuckooAbort;
use super::variant::{WITHOUT_PREFETCH, has};
use crate::hash::peelable::EMPTY_HASH;

/// How many nodes ahead a search asks for buckets, unless the index was told otherwise: two each, so about what a core can have in flight
/// (section 4.1, which takes five).
pub const PREFETCH_DEPTH: u32 = 6;
/// The most nodes ahead that a search can ask for.
pub const PREFETCH_DEPTH_MAX: u32 = RING as u32 - 1;
/// How many where most leaves have been passed already: further ones would mostly be asked for in vain.
const AHEAD_OF_FEW: u32 = 1;
/// Prefixes kept: that of where the search is, and of as many more as it may be ahead.
const RING: usize = 16;

/// What is known of a prefix of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyPrefix {
    pub(super) hash: u32,
    /// Its buckets when it was asked for; those of a name change when the table grows.
    pub(super) pair: CuckooBucketPair,
    /// The lane of a node of this name in its primary bucket, but for the parent's color.
    pub(super) lane: u32,
}

impl KeyPrefix {
    #[inline(always)]
    pub(super) fn new<const V: usize>(hash: u32, symbol: u8, size: LinearHashSize) -> Self {
        Self {
            hash,
            pair: CuckooBucketPair::of::<V>(hash, size),
            lane: lane(CuckooTable::<V>::tag(hash), false, symbol, 0),
        }
    }

    /// The same with the color of the branch above in its lane.
    #[inline(always)]
    pub(super) fn below(self, color: u8) -> Self {
        Self { lane: with_parent(self.lane, color), ..self }
    }

    /// The last symbol.
    #[inline(always)]
    pub(super) fn symbol(self) -> u8 {
        symbol_in(self.lane)
    }
}

/// A prefix that a search may begin at.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchStart {
    pub(super) prefix: KeyPrefix,
    pub(super) depth: u32,
}

/// Adds symbols to a hash, and gives the last one; 0 if there are none.
#[inline(always)]
pub(super) fn run<const V: usize>(
    table: &CuckooTable<V>,
    symbols: KeySymbols<'_>,
    depths: Range<u32>,
    window: &mut u64,
    hash: &mut u32,
) -> u8 {
    let mut symbol = 0;
    for depth in depths {
        symbol = symbols.next(depth, window);
        *hash = table.extend(*hash, symbol);
    }
    symbol
}

/// The prefixes of a key.
#[derive(Debug)]
pub(super) struct KeyPrefixes<'i, 'k, const V: usize> {
    table: &'i CuckooTable<V>,
    pub(super) symbols: KeySymbols<'k>,
    count: u32,
    size: LinearHashSize,
    /// How many nodes ahead buckets are asked for.
    ahead: u32,
    /// The depth that most leaves do not exceed.
    reach: u32,
    /// How many nodes ahead beyond that.
    ahead_of_few: u32,
    /// The depth that the search began at.
    first: u32,
    /// The greatest depth whose prefix is known, and the hash of that.
    known: u32,
    hash: u32,
    /// The symbols that come next, as far as they are decoded.
    window: u64,
    /// The last prefixes; those up to the first one are not initialised.
    ring: [MaybeUninit<KeyPrefix>; RING],
}

impl<'i, 'k, const V: usize> KeyPrefixes<'i, 'k, V> {
    #[inline(always)]
    pub(super) fn of(table: &'i CuckooTable<V>, key: &'k [u8]) -> Self {
        let symbols = KeySymbols::of(key);
        Self {
            table,
            symbols,
            count: symbols.count(),
            size: table.places(),
            ahead: table.ahead,
            reach: table.depths.reach(),
            ahead_of_few: AHEAD_OF_FEW,
            first: 0,
            known: 0,
            hash: EMPTY_HASH,
            window: 0,
            ring: [const { MaybeUninit::uninit() }; RING],
        }
    }

    /// Asks for no bucket beyond where the leaf of the key is likely to be. A search that does not end there looks for it one node later.
    #[inline(always)]
    pub(super) fn ask_for_less(&mut self) {
        (self.reach, self.ahead_of_few) = (self.table.depths.middle(), 0);
    }

    pub(super) fn key(&self) -> &'k [u8] {
        self.symbols.key()
    }

    /// How many prefixes there are.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Makes ready for another search along the key: its first prefixes may have made way for later ones.
    pub(super) fn start_over(&mut self) {
        (self.first, self.known, self.hash) = (0, 0, EMPTY_HASH);
        self.size = self.table.places();
    }

    /// Goes on to a depth, which is not beyond the end of the key, without the prefixes before it.
    #[inline(always)]
    pub(super) fn skip_to(&mut self, depth: u32) -> SearchStart {
        self.run_over(depth);
        self.start()
    }

    /// Begins at a prefix of this hash and depth, from 1 to the end of the key, and asks from there.
    #[inline(always)]
    pub(super) fn start_at(&mut self, hash: u32, depth: u32) -> SearchStart {
        self.go_to(hash, depth);
        self.start()
    }

    #[inline(always)]
    fn go_to(&mut self, hash: u32, depth: u32) {
        (self.first, self.known, self.hash) = (depth, depth, hash);
        self.window = self.symbols.window(depth);
    }

    /// Begins at the greatest depth that is known, which is not 0, and asks from there.
    #[inline(always)]
    fn start(&mut self) -> SearchStart {
        let depth = self.known;
        let prefix = KeyPrefix::new::<V>(self.hash, self.symbols.at(depth - 1), self.size);
        if !has(V, WITHOUT_PREFETCH) {
            self.table.prefetch(prefix.pair);
        }
        self.run_to(self.reach.clamp(depth, self.count.min(depth + self.ahead)));
        SearchStart { prefix, depth }
    }

    /// Asks for the buckets of the nodes that a search which has come to a depth will need.
    #[inline(always)]
    pub(super) fn ask_from(&mut self, depth: u32) {
        let end = (depth + self.ahead).min(self.reach.max(depth + self.ahead_of_few)).min(self.count);
        if self.known < end {
            self.run_to(end);
        }
    }

    /// Goes on to a depth, which is not beyond the end of the key, and asks for buckets on the way.
    #[inline(never)]
    fn run_to(&mut self, depth: u32) {
        let (table, size) = (self.table, self.size);
        let (mut known, mut hash, mut window) = (self.known, self.hash, self.window);
        while known < depth {
            let symbol = self.symbols.next(known, &mut window);
            known += 1;
            hash = table.extend(hash, symbol);
            let prefix = KeyPrefix::new::<V>(hash, symbol, size);
            self.ring[known as usize % RING].write(prefix);
            if !has(V, WITHOUT_PREFETCH) {
                table.prefetch(prefix.pair);
            }
        }
        (self.known, self.hash, self.window) = (known, hash, window);
    }

    /// The same for a depth that a jump leads to: there are no nodes before it, so none are asked for.
    #[inline(always)]
    pub(super) fn leap(&mut self, depth: u32) -> Result<KeyPrefix, CuckooAbort> {
        if depth > self.known + 1 && depth <= self.count {
            self.run_over(depth - 1);
        }
        self.next(depth)
    }

    /// Goes on to a depth, which is not beyond the end of the key, without the prefixes before it.
    #[inline(never)]
    fn run_over(&mut self, depth: u32) {
        let (mut hash, mut window) = (self.hash, self.window);
        run(self.table, self.symbols, self.known..depth, &mut window, &mut hash);
        (self.first, self.known, self.hash, self.window) = (depth, depth, hash, window);
    }

    /// The prefix of a depth, after asking from there.
    ///
    /// # Errors
    /// The key has no such prefix after the first one: what led there has changed.
    #[inline(always)]
    pub(super) fn next(&mut self, depth: u32) -> Result<KeyPrefix, CuckooAbort> {
        if depth.wrapping_sub(self.first + 1) >= self.count - self.first {
            return Err(CuckooAbort::Changed);
        }
        self.ask_from(depth);
        debug_assert!((1..=self.known).contains(&depth) && self.known - depth < RING as u32);
        // SAFETY: `run_to` has written all prefixes after the first one up to `known`. This is one of them, as was just checked, and still in the ring:
        // searches go down, so none asked from further down, and it is never further ahead than the ring is long.
        Ok(unsafe { self.ring[depth as usize % RING].assume_init() })
    }
}
