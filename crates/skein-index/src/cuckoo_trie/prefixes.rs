//! The prefixes of a key: the names of the nodes on its path, hashed as far as a search looks
//! ahead.
//!
//! The hash of a prefix follows from the hash of the previous prefix and one symbol; its buckets
//! follow from its hash. The buckets are prefetched as soon as they are known, some nodes ahead of
//! the search (Cuckoo Trie, section 4.1). A ring keeps the last prefixes.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::entry::{lane, symbol_in, with_parent};
use super::symbols::KeySymbols;
use super::table::{CuckooBucketPair, CuckooTable, LinearHashSize};
use super::transaction::CuckooAbort;
use super::variant::CuckooSettings;
use crate::hash::peelable::EMPTY_HASH;

/// For how many nodes ahead a search prefetches buckets by default. Each node has two buckets, so
/// this is about what a core can have in flight (section 4.1, which prefetches five nodes ahead).
pub const PREFETCH_DEPTH: u32 = 6;
/// The greatest number of nodes that a search can look ahead.
pub const PREFETCH_DEPTH_MAX: u32 = RING as u32 - 1;
/// For how many nodes to look ahead below the depth of most leaves: further prefetches would mostly
/// be useless.
const AHEAD_OF_FEW: u32 = 1;
/// The prefixes in the ring: that of the search, and those ahead of it.
const RING: usize = 16;

/// A prefix of a key, as the name of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyPrefix {
    pub(super) hash: u32,
    /// Its buckets when they were prefetched. They change when the table grows.
    pub(super) pair: CuckooBucketPair,
    /// The lane of a node with this name in its primary bucket, without the parent's color.
    pub(super) lane: u32,
}

impl KeyPrefix {
    #[inline(always)]
    pub(super) fn new<V: CuckooSettings>(hash: u32, symbol: u8, size: LinearHashSize) -> Self {
        Self {
            hash,
            pair: CuckooBucketPair::of::<V>(hash, size),
            lane: lane(CuckooTable::<V>::tag(hash), false, symbol, 0),
        }
    }

    /// Returns this prefix with the color of the branch above in its lane.
    #[inline(always)]
    pub(super) fn below(self, color: u8) -> Self {
        Self { lane: with_parent(self.lane, color), ..self }
    }

    #[inline(always)]
    pub(super) fn symbol(self) -> u8 {
        symbol_in(self.lane)
    }
}

/// A prefix at which a search may begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchStart {
    pub(super) prefix: KeyPrefix,
    pub(super) depth: u32,
}

/// Extends a hash by the symbols at these depths. Returns the last symbol, or 0 for an empty range.
#[inline(always)]
pub(super) fn extend_over<V: CuckooSettings>(
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

/// The prefixes of a key, computed in step with a search.
#[derive(Debug)]
pub(super) struct KeyPrefixes<'i, 'k, V: CuckooSettings> {
    table: &'i CuckooTable<V>,
    pub(super) symbols: KeySymbols<'k>,
    count: u32,
    size: LinearHashSize,
    ahead: u32,
    reach: u32,
    /// For how many nodes to look ahead beyond that depth.
    ahead_of_few: u32,
    /// The depth at which the search began.
    first: u32,
    /// The depth and the hash of the longest known prefix.
    known: u32,
    hash: u32,
    /// The next symbols that are already decoded.
    window: u64,
    /// The last prefixes. Those up to depth `first` are not initialized.
    ring: [MaybeUninit<KeyPrefix>; RING],
}

impl<'i, 'k, V: CuckooSettings> KeyPrefixes<'i, 'k, V> {
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

    /// Limits prefetches to the average depth of the leaves. A search that does not end there
    /// prefetches one node late.
    #[inline(always)]
    pub(super) fn limit_prefetch(&mut self) {
        (self.reach, self.ahead_of_few) = (self.table.depths.average(), 0);
    }

    pub(super) fn key(&self) -> &'k [u8] {
        self.symbols.key()
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Prepares for another search along the same key: later prefixes may have replaced the first
    /// ones in the ring.
    pub(super) fn restart(&mut self) {
        (self.first, self.known, self.hash) = (0, 0, EMPTY_HASH);
        self.size = self.table.places();
    }

    /// Skips to a depth, which must not be beyond the end of the key, and returns the prefix there.
    #[inline(always)]
    pub(super) fn skip_to(&mut self, depth: u32) -> SearchStart {
        self.skip_over(depth);
        self.start()
    }

    /// Begins at a prefix with this hash and depth, and prefetches from there. The depth must be at
    /// least 1 and not beyond the end of the key.
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

    /// Begins at the greatest known depth, which must not be 0, and prefetches from there.
    #[inline(always)]
    fn start(&mut self) -> SearchStart {
        let depth = self.known;
        let prefix = KeyPrefix::new::<V>(self.hash, self.symbols.at(depth - 1), self.size);
        if V::PREFETCH {
            self.table.prefetch(prefix.pair);
        }
        self.prefetch_to(self.reach.clamp(depth, self.count.min(depth + self.ahead)));
        SearchStart { prefix, depth }
    }

    /// Prefetches the buckets that a search at `depth` will need next.
    #[inline(always)]
    pub(super) fn prefetch_from(&mut self, depth: u32) {
        let end = (depth + self.ahead).min(self.reach.max(depth + self.ahead_of_few)).min(self.count);
        if self.known < end {
            self.prefetch_to(end);
        }
    }

    /// Advances to a depth, which must not be beyond the end of the key, and prefetches the buckets
    /// of every prefix on the way.
    #[inline(never)]
    fn prefetch_to(&mut self, depth: u32) {
        let (table, size) = (self.table, self.size);
        let (mut known, mut hash, mut window) = (self.known, self.hash, self.window);
        while known < depth {
            let symbol = self.symbols.next(known, &mut window);
            known += 1;
            hash = table.extend(hash, symbol);
            let prefix = KeyPrefix::new::<V>(hash, symbol, size);
            self.ring[known as usize % RING].write(prefix);
            if V::PREFETCH {
                table.prefetch(prefix.pair);
            }
        }
        (self.known, self.hash, self.window) = (known, hash, window);
    }

    /// Returns the prefix at the end of a jump. There are no nodes at the depths before it, so
    /// their buckets are not prefetched.
    #[inline(always)]
    pub(super) fn jump_to(&mut self, depth: u32) -> Result<KeyPrefix, CuckooAbort> {
        if depth > self.known + 1 && depth <= self.count {
            self.skip_over(depth - 1);
        }
        self.next(depth)
    }

    /// Advances to a depth, which must not be beyond the end of the key, without prefetches.
    #[inline(never)]
    fn skip_over(&mut self, depth: u32) {
        let (mut hash, mut window) = (self.hash, self.window);
        extend_over(self.table, self.symbols, self.known..depth, &mut window, &mut hash);
        (self.first, self.known, self.hash, self.window) = (depth, depth, hash, window);
    }

    /// Returns the prefix at a depth, and prefetches from there.
    ///
    /// # Errors
    /// If the key has no prefix at this depth below the first one. Then a node on the path has
    /// changed.
    #[inline(always)]
    pub(super) fn next(&mut self, depth: u32) -> Result<KeyPrefix, CuckooAbort> {
        if depth.wrapping_sub(self.first + 1) >= self.count - self.first {
            return Err(CuckooAbort::Changed);
        }
        self.prefetch_from(depth);
        debug_assert!((1..=self.known).contains(&depth) && self.known - depth < RING as u32);
        // SAFETY: `prefetch_to` has written all prefixes after depth `first` up to `known`. The
        // check above shows that this is one of them. It is still in the ring: a search only
        // descends, so no earlier call was for a greater depth, and `known` is never further ahead
        // than the length of the ring.
        Ok(unsafe { self.ring[depth as usize % RING].assume_init() })
    }
}
