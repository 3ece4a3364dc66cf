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

use skein_sync::spin::Backoff;

use super::CuckooTrie;
use super::bucket::{Version, Want};
use super::change::Obstacle;
use super::entry::{BY_COLOR, BY_PARENT, Entry, Kind, UNDER_JUMP, lane};
use super::symbol::{END, Symbols};
use super::table::{Pair, ROOT, Table};
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
    pub(super) pair: Pair,
    /// Its last symbol.
    pub(super) symbol: u8,
}

/// The prefixes of a key.
#[derive(Debug)]
pub(super) struct Prefixes<'i, 'k, const V: usize> {
    table: &'i Table<V>,
    symbols: Symbols<'k>,
    count: u32,
    ring: [Prefix; RING],
    /// The greatest depth whose prefix is in the ring.
    known: u32,
    /// The depth that most leaves do not exceed.
    reach: u32,
    size: u32,
}

impl<'i, 'k, const V: usize> Prefixes<'i, 'k, V> {
    #[inline(always)]
    pub(super) fn of(table: &'i Table<V>, key: &'k [u8]) -> Self {
        let symbols = Symbols::of(key);
        let (reach, size) = (table.reach(), table.size());
        Self { table, symbols, count: symbols.count(), ring: [EMPTY; RING], known: 0, reach, size }
    }

    /// Makes ready for another search along the key: its first prefixes may have made way for later ones.
    pub(super) fn start_over(&mut self) {
        self.ring[0] = EMPTY;
        self.known = 0;
        self.size = self.table.size();
    }

    /// Asks for the buckets of the nodes that a search which has come to a depth will need.
    #[inline(always)]
    pub(super) fn ask_from(&mut self, depth: u32) {
        self.run_to((depth + AHEAD).min(self.reach.max(depth + AHEAD_OF_FEW)));
    }

    /// Goes on to a depth, or to the end of the key, and asks for buckets on the way.
    #[inline(always)]
    fn run_to(&mut self, depth: u32) {
        let mut hash = self.ring[self.known as usize % RING].hash;
        while self.known < depth.min(self.count) {
            let symbol = self.symbols.at(self.known);
            hash = self.table.hash.extend(hash, symbol);
            self.known += 1;
            let pair = Table::<V>::pair_at(hash, self.size);
            self.ring[self.known as usize % RING] = Prefix { hash, pair, symbol };
            if !has(V, WITHOUT_PREFETCH) {
                self.table.prefetch(pair);
            }
        }
    }

    /// The prefix of a depth, which was run to not long ago.
    #[inline(always)]
    pub(super) fn at(&self, depth: u32) -> Prefix {
        self.ring[depth as usize % RING]
    }
}

/// The empty prefix; its buckets are not looked at.
const EMPTY: Prefix = Prefix { hash: EMPTY_HASH, pair: Pair { primary: ROOT, secondary: ROOT }, symbol: END };

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// The root.
    #[inline(always)]
    pub(super) fn root(&self) -> Named {
        let want = Want::new(Entry::root().lane, BY_PARENT, None);
        let found = self.table.bucket(ROOT).find(&want);
        let (slot, entry, version) = found.expect("the root is always there");
        let node = Node { bucket: ROOT, slot, version, entry };
        Named { node, hash: EMPTY_HASH, depth: 0 }
    }

    /// Whether the bucket of a node is not what it was when the node was found.
    #[inline(always)]
    pub(super) fn changed(&self, node: &Node) -> bool {
        self.table.bucket(node.bucket).changed(node.version)
    }

    /// The child of a branch by a symbol, which it has, or of a jump that ends with it. `prefix` is the child's name.
    #[inline(always)]
    pub(super) fn child(&self, parent: &Node, mut prefix: Prefix) -> Result<Node, Obstacle> {
        let (parent_color, mask, color) = match parent.entry.kind() {
            Kind::Jump => (UNDER_JUMP, BY_COLOR, Some(parent.entry.link())),
            _ => (parent.entry.color(), BY_PARENT, None),
        };
        loop {
            let found = self.look_for(prefix, parent_color, mask, color);
            if self.changed(parent) {
                return Err(Obstacle::Changed);
            }
            if let Some(node) = found {
                return Ok(node);
            }
            Backoff::new().wait();
            prefix.pair = self.table.pair(prefix.hash);
        }
    }

    /// The node of a name, by what `mask` leaves of its lane and by its color, in both of its buckets.
    #[inline(always)]
    fn look_for(&self, prefix: Prefix, parent: u8, mask: u32, color: Option<u8>) -> Option<Node> {
        let tag = Table::<V>::tag(prefix.hash);
        for (bucket, secondary) in [(prefix.pair.primary, false), (prefix.pair.secondary, true)] {
            let want = Want::new(lane(tag, secondary, prefix.symbol, parent), mask, color);
            if let Some((slot, entry, version)) = self.table.bucket(bucket).find(&want) {
                return Some(Node { bucket, slot, version, entry });
            }
        }
        None
    }

    /// A prefix by its hash and its last symbol.
    #[inline(always)]
    fn prefix(&self, hash: u32, symbol: u8) -> Prefix {
        Prefix { hash, pair: self.table.pair(hash), symbol }
    }

    /// A node of a name, as it is by now; it is known by the hash, the last symbol, and its color.
    pub(super) fn again(&self, hash: u32, symbol: u8, color: u8, depth: u32) -> Result<Named, Obstacle> {
        let found = self.look_for(self.prefix(hash, symbol), UNDER_JUMP, BY_COLOR, Some(color));
        found.map(|node| Named { node, hash, depth }).ok_or(Obstacle::Changed)
    }

    /// The child of a branch by a symbol that it has.
    #[inline(always)]
    pub(super) fn below_branch(&self, branch: &Named, symbol: u8) -> Result<Named, Obstacle> {
        let hash = self.table.hash.extend(branch.hash, symbol);
        let node = self.child(&branch.node, self.prefix(hash, symbol))?;
        Ok(Named { node, hash, depth: branch.depth + 1 })
    }

    /// Asks for the buckets of the child of a branch.
    #[inline(always)]
    pub(super) fn ask_below_branch(&self, branch: &Named, symbol: u8) {
        self.table.prefetch(self.table.pair(self.table.hash.extend(branch.hash, symbol)));
    }

    /// The child of a jump.
    pub(super) fn below_jump(&self, jump: &Named) -> Result<Named, Obstacle> {
        let entry = jump.node.entry;
        let symbols = entry.jump_symbols(0, entry.length());
        let hash = symbols.fold(jump.hash, |hash, symbol| self.table.hash.extend(hash, symbol));
        let node = self.child(&jump.node, self.prefix(hash, entry.jump_symbol(entry.length() - 1)))?;
        Ok(Named { node, hash, depth: jump.depth + entry.length() })
    }

    /// Follows a key as far as it leads, and shows `each` all nodes but the last.
    #[inline(always)]
    pub(super) fn descend(
        &self,
        prefixes: &mut Prefixes<'_, '_, V>,
        mut each: impl FnMut(&Named),
    ) -> Result<Stop, Obstacle> {
        let mut at = self.root();
        prefixes.ask_from(0);
        loop {
            let entry = at.node.entry;
            let steps = match entry.kind() {
                Kind::Leaf | Kind::Dead => return Ok(Stop { at, shared: 0 }),
                Kind::Branch => {
                    if entry.bitmap() >> prefixes.at(at.depth + 1).symbol & 1 == 0 {
                        return Ok(Stop { at, shared: 0 });
                    }
                    1
                }
                Kind::Jump => {
                    let length = entry.length();
                    prefixes.run_to(at.depth + length);
                    let same =
                        |&index: &u32| entry.jump_symbol(index) == prefixes.at(at.depth + index + 1).symbol;
                    let shared = (0..length).take_while(same).count() as u32;
                    if shared < length {
                        return Ok(Stop { at, shared });
                    }
                    length
                }
            };
            each(&at);
            let depth = at.depth + steps;
            prefixes.ask_from(depth);
            let prefix = prefixes.at(depth);
            let node = self.child(&at.node, prefix)?;
            at = Named { node, hash: prefix.hash, depth };
        }
    }

    /// Follows a key as far as it leads.
    #[inline(always)]
    pub(super) fn stop(&self, key: &[u8]) -> Result<Stop, Obstacle> {
        self.descend(&mut Prefixes::of(&self.table, key), |_| ())
    }
}
