//! The way down: from the root along a key, with the buckets of the nodes further down asked for ahead.
//!
//! ```text
//!   depth      0      1      2      3      4      5      6
//!   hash       ·──────·──────·──────·──────·──────·──────·        of the key's prefixes: known before any node is read
//!   node     root ─► branch ─► branch ─► ...        asked for: up to AHEAD nodes ahead
//! ```
//!
//! A child is looked for in both of its buckets; the parent's version, compared afterwards, says that parent and child were there together. A child that
//! is in neither was moved between the two looks, or the table has grown, and is looked for again, unless the parent has changed. Source: Cuckoo
//! Trie, sections 4.1 and 5, Algorithms 1 and 2.

use std::mem::MaybeUninit;

use skein_sync::spin::Backoff;

use super::CuckooTrie;
use super::bucket::{SLOTS, Version, Want};
use super::change::Obstacle;
use super::entry::{Entry, Kind, lane, symbol_in, with_parent};
use super::symbol::Symbols;
use super::table::{Pair, ROOT, Size, Table};
use super::variant::{WITHOUT_PREFETCH, has};
use crate::hash::peelable::EMPTY_HASH;
use crate::slot::Slot;

/// How many nodes ahead buckets are asked for: two each, so about what a core can have in flight (section 4.1).
const AHEAD: u32 = 6;
/// How many where most leaves have been passed already: further ones would mostly be asked for in vain.
const AHEAD_OF_FEW: u32 = 2;
/// Prefixes kept: those of a jump and of `AHEAD` more.
const RING: usize = 32;

/// A node as it was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) bucket: u32,
    pub(super) slot: usize,
    pub(super) version: Version,
    pub(super) entry: Entry,
}

impl Node {
    /// Whether a search found no node.
    #[inline(always)]
    fn is_none(&self) -> bool {
        self.slot == SLOTS
    }
}

/// A node and what is known of its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    pub(super) node: Node,
    /// The hash of the name.
    pub(super) hash: u32,
    /// How many symbols it has.
    pub(super) depth: u32,
}

/// Where a search along a key ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    /// The last node: a leaf, a branch without the key's next symbol, or a jump with another symbol.
    pub(super) at: Named,
    /// How many of a jump's symbols the key shares.
    pub(super) shared: u32,
}

/// What is known of a prefix of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix {
    pub(super) hash: u32,
    /// Its buckets when it was asked for; those of a name change when the table grows.
    pair: Pair,
    /// The lane of a node of this name in its primary bucket, but for the parent's color.
    lane: u32,
}

impl Prefix {
    #[inline(always)]
    fn new<const V: usize>(hash: u32, symbol: u8, size: Size) -> Self {
        Self { hash, pair: size.pair::<V>(hash), lane: lane(Table::<V>::tag(hash), false, symbol, 0) }
    }

    /// The last symbol.
    #[inline(always)]
    fn symbol(self) -> u8 {
        symbol_in(self.lane)
    }
}

/// A prefix that a search may begin at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    prefix: Prefix,
    depth: u32,
}

/// The prefixes of a key.
#[derive(Debug)]
pub(super) struct Prefixes<'i, 'k, const V: usize> {
    table: &'i Table<V>,
    symbols: Symbols<'k>,
    count: u32,
    size: Size,
    /// The depth that most leaves do not exceed.
    reach: u32,
    /// The depth that the search began at.
    first: u32,
    /// The greatest depth whose prefix is known, and the hash of that.
    known: u32,
    hash: u32,
    /// The symbols that come next, as far as they are decoded.
    window: u64,
    /// The last prefixes; those up to the first one are not initialised.
    ring: [MaybeUninit<Prefix>; RING],
}

impl<'i, 'k, const V: usize> Prefixes<'i, 'k, V> {
    #[inline(always)]
    pub(super) fn of(table: &'i Table<V>, key: &'k [u8]) -> Self {
        let symbols = Symbols::of(key);
        Self {
            table,
            symbols,
            count: symbols.count(),
            size: table.places(),
            reach: table.depths.reach(),
            first: 0,
            known: 0,
            hash: EMPTY_HASH,
            window: 0,
            ring: [const { MaybeUninit::uninit() }; RING],
        }
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
    pub(super) fn skip_to(&mut self, depth: u32) -> Start {
        self.run_over(depth);
        self.start_at(self.hash, depth)
    }

    /// Begins at a prefix of this hash and depth, from 1 to the end of the key, and asks from there.
    #[inline(always)]
    pub(super) fn start_at(&mut self, hash: u32, depth: u32) -> Start {
        let prefix = Prefix::new::<V>(hash, self.symbols.at(depth - 1), self.size);
        let start = Start { prefix, depth };
        self.resume(start);
        if !has(V, WITHOUT_PREFETCH) {
            self.table.prefetch(prefix.pair);
        }
        self.run_to(self.reach.clamp(depth, self.count.min(depth + AHEAD)));
        start
    }

    /// Is where another search along the key began.
    #[inline(always)]
    pub(super) fn resume(&mut self, Start { prefix, depth }: Start) {
        (self.first, self.known, self.hash) = (depth, depth, prefix.hash);
        self.window = self.symbols.block(depth / 8) >> (8 * (depth % 8));
    }

    /// Asks for the buckets of the nodes that a search which has come to a depth will need.
    #[inline(always)]
    pub(super) fn ask_from(&mut self, depth: u32) {
        let end = (depth + AHEAD).min(self.reach.max(depth + AHEAD_OF_FEW)).min(self.count);
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
            if known.is_multiple_of(8) {
                window = self.symbols.block(known / 8);
            }
            let symbol = window as u8;
            window >>= 8;
            known += 1;
            hash = table.extend(hash, symbol);
            let prefix = Prefix::new::<V>(hash, symbol, size);
            self.ring[known as usize % RING].write(prefix);
            if !has(V, WITHOUT_PREFETCH) {
                table.prefetch(prefix.pair);
            }
        }
        (self.known, self.hash, self.window) = (known, hash, window);
    }

    /// The same for a depth that a jump leads to: there are no nodes before it, so none are asked for.
    #[inline(always)]
    fn leap(&mut self, depth: u32) -> Result<Prefix, Obstacle> {
        if depth > self.known + 1 && depth <= self.count {
            self.run_over(depth - 1);
        }
        self.next(depth)
    }

    /// Goes on to a depth, which is not beyond the end of the key, without the prefixes before it.
    #[inline(never)]
    fn run_over(&mut self, depth: u32) {
        let (mut hash, mut window) = (self.hash, self.window);
        for known in self.known..depth {
            if known.is_multiple_of(8) {
                window = self.symbols.block(known / 8);
            }
            hash = self.table.extend(hash, window as u8);
            window >>= 8;
        }
        (self.first, self.known, self.hash, self.window) = (depth, depth, hash, window);
    }

    /// The prefix of a depth, after asking from there.
    ///
    /// # Errors
    /// The key has no such prefix after the first one: what led there has changed.
    #[inline(always)]
    pub(super) fn next(&mut self, depth: u32) -> Result<Prefix, Obstacle> {
        if depth.wrapping_sub(self.first + 1) >= self.count - self.first {
            return Err(Obstacle::Changed);
        }
        self.ask_from(depth);
        debug_assert!((1..=self.known).contains(&depth) && self.known - depth < RING as u32);
        // SAFETY: `run_to` has written all prefixes after the first one up to `known`. This is one of them, as was just checked, and still in the ring:
        // searches go down, so none asked from further down, and `AHEAD` is less than the ring has.
        Ok(unsafe { self.ring[depth as usize % RING].assume_init() })
    }
}

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// The root.
    #[inline(always)]
    pub(super) fn root(&self) -> Named {
        let (entry, version) = self.table.bucket(ROOT).entry(0);
        let node = Node { bucket: ROOT, slot: 0, version, entry };
        Named { node, hash: EMPTY_HASH, depth: 0 }
    }

    /// Whether the bucket of a node is not what it was when the node was found.
    #[inline(always)]
    pub(super) fn changed(&self, node: &Node) -> bool {
        self.table.bucket(node.bucket).changed(node.version)
    }

    /// The child of a branch by a symbol, which it has, or of a jump that ends with it. `prefix` is the child's name.
    #[inline(always)]
    pub(super) fn child(&self, parent: &Node, prefix: Prefix) -> Result<Node, Obstacle> {
        let found = self.look_below(parent, prefix);
        if self.changed(parent) {
            return Err(Obstacle::Changed);
        }
        if found.is_none() { self.child_that_moves(parent, prefix.hash, prefix.symbol()) } else { Ok(found) }
    }

    /// The same for a child that was in neither of its buckets: it went from one to the other, or the table changed its size.
    #[cold]
    fn child_that_moves(&self, parent: &Node, hash: u32, symbol: u8) -> Result<Node, Obstacle> {
        loop {
            Backoff::new().wait();
            let found = self.look_below(parent, self.prefix(hash, symbol));
            if self.changed(parent) {
                return Err(Obstacle::Changed);
            }
            if !found.is_none() {
                return Ok(found);
            }
        }
    }

    /// The child of a node, in both of its buckets.
    #[inline(always)]
    fn look_below(&self, parent: &Node, prefix: Prefix) -> Node {
        if parent.entry.kind() == Kind::Jump {
            self.look_for(prefix, parent.entry.link())
        } else {
            self.look(prefix.pair, Want::by_parent(with_parent(prefix.lane, parent.entry.color())))
        }
    }

    /// The node of a name and a color, in both of its buckets.
    #[inline(never)]
    fn look_for(&self, prefix: Prefix, color: u8) -> Node {
        self.look(prefix.pair, Want::by_color(prefix.lane, color))
    }

    /// What is wanted, in two buckets.
    #[inline(always)]
    fn look(&self, pair: Pair, want: Want) -> Node {
        let (mut bucket, mut want) = (pair.primary, want);
        loop {
            let (slot, entry, version) = self.table.bucket(bucket).find(&want);
            if slot < SLOTS || want.is_moved() {
                return Node { bucket, slot, version, entry };
            }
            (bucket, want) = (pair.secondary, want.moved());
        }
    }

    /// A prefix by its hash and its last symbol.
    #[inline(always)]
    fn prefix(&self, hash: u32, symbol: u8) -> Prefix {
        Prefix::new::<V>(hash, symbol, self.table.places())
    }

    /// A node of a name, as it is by now; it is known by the hash, the last symbol, and its color.
    pub(super) fn again(&self, hash: u32, symbol: u8, color: u8, depth: u32) -> Result<Named, Obstacle> {
        let found = self.look_for(self.prefix(hash, symbol), color);
        if found.is_none() { Err(Obstacle::Changed) } else { Ok(Named { node: found, hash, depth }) }
    }

    /// The child of a branch by a symbol that it has.
    #[inline(always)]
    pub(super) fn below_branch(&self, branch: &Named, symbol: u8) -> Result<Named, Obstacle> {
        let hash = self.table.extend(branch.hash, symbol);
        let node = self.child(&branch.node, self.prefix(hash, symbol))?;
        Ok(Named { node, hash, depth: branch.depth + 1 })
    }

    /// Asks for the buckets of the child of a branch.
    #[inline(always)]
    pub(super) fn ask_below_branch(&self, branch: &Named, symbol: u8) {
        self.table.prefetch(self.table.pair(self.table.extend(branch.hash, symbol)));
    }

    /// The child of a jump.
    pub(super) fn below_jump(&self, jump: &Named) -> Result<Named, Obstacle> {
        let entry = jump.node.entry;
        let symbols = entry.jump_symbols(0, entry.length());
        let hash = symbols.fold(jump.hash, |hash, symbol| self.table.extend(hash, symbol));
        let node = self.child(&jump.node, self.prefix(hash, entry.jump_symbol(entry.length() - 1)))?;
        Ok(Named { node, hash, depth: jump.depth + entry.length() })
    }

    /// Follows a key as far as it leads, and shows `each` all nodes but the last.
    #[inline(always)]
    pub(super) fn descend(
        &self,
        prefixes: &mut Prefixes<'_, '_, V>,
        each: impl FnMut(&Named),
    ) -> Result<Stop, Obstacle> {
        self.descend_from(self.root(), prefixes, each)
    }

    /// Follows a key from a node on its way.
    #[inline(always)]
    pub(super) fn descend_from(
        &self,
        mut at: Named,
        prefixes: &mut Prefixes<'_, '_, V>,
        mut each: impl FnMut(&Named),
    ) -> Result<Stop, Obstacle> {
        loop {
            let (entry, depth) = (at.node.entry, at.depth);
            let (prefix, below) = match entry.kind() {
                Kind::Leaf | Kind::Dead => return Ok(Stop { at, shared: 0 }),
                Kind::Branch => {
                    let prefix = prefixes.next(depth + 1)?;
                    if entry.bitmap() >> prefix.symbol() & 1 == 0 {
                        return Ok(Stop { at, shared: 0 });
                    }
                    (prefix, depth + 1)
                }
                Kind::Jump => {
                    let shared = entry.shared(prefixes.symbols, depth);
                    if shared < entry.length() {
                        return Ok(Stop { at, shared });
                    }
                    (prefixes.leap(depth + shared)?, depth + shared)
                }
            };
            each(&at);
            let node = self.child(&at.node, prefix)?;
            at = Named { node, hash: prefix.hash, depth: below };
        }
    }

    /// A node that seems to be of a key's beginning: its name has the same hash and the same last symbol, and so it mostly is.
    #[inline(always)]
    pub(super) fn guess(&self, Start { prefix, depth }: Start) -> Option<Named> {
        let node = self.look(prefix.pair, Want::by_name(prefix.lane));
        (!node.is_none()).then_some(Named { node, hash: prefix.hash, depth })
    }

    /// Follows a key as far as it leads.
    #[inline(always)]
    pub(super) fn stop(&self, key: &[u8]) -> Result<Stop, Obstacle> {
        self.descend(&mut Prefixes::of(&self.table, key), |_| ())
    }
}
