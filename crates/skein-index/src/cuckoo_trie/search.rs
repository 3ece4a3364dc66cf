//! The way down: from the root along a key, with the buckets of the nodes further down asked for ahead.
//!
//! ```text
//!   depth      0      1      2      3      4      5      6
//!   hash       ·──────·──────·──────·──────·──────·──────·        of the key's prefixes: known before any node is read
//!   node     root ─► branch ─► branch ─► ...        asked for: some nodes ahead
//! ```
//!
//! A child is looked for in both of its buckets; the parent's version, compared afterwards, says that parent and child were there together. A child that
//! is in neither was moved between the two looks, or the table has grown, and is looked for again, unless the parent has changed. Source: Cuckoo
//! Trie, sections 4.1 and 5, Algorithms 1 and 2.

use skein_sync::spin::Backoff;

use super::CuckooTrie;
use super::bucket::BucketVersion;
use super::entry::{CuckooEntry, CuckooNodeKind};
use super::lanes::{EntryQuery, SLOTS};
use super::prefixes::{KeyPrefix, KeyPrefixes};
use super::table::{CuckooBucketPair, ROOT};
use super::transaction::CuckooAbort;
use crate::hash::peelable::EMPTY_HASH;
use crate::slot::Slot;

/// A node as it was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundNode {
    pub(super) bucket: u32,
    pub(super) slot: usize,
    pub(super) version: BucketVersion,
    pub(super) entry: CuckooEntry,
}

impl FoundNode {
    /// Whether a search found no node.
    #[inline(always)]
    pub(super) fn is_none(&self) -> bool {
        self.slot == SLOTS
    }
}

/// A node and what is known of its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct NamedNode {
    pub(super) node: FoundNode,
    /// The hash of the name.
    pub(super) hash: u32,
    /// How many symbols it has.
    pub(super) depth: u32,
}

impl NamedNode {
    /// Whether it is a branch, and its name has as many symbols as it is taken to have.
    #[inline(always)]
    pub(super) fn is_branch_of_its_depth(&self) -> bool {
        let entry = self.node.entry;
        entry.kind() == CuckooNodeKind::Branch && entry.depth() == self.depth
    }
}

/// Where a search along a key ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchEnd {
    /// The last node: a leaf, a branch without the key's next symbol, or a jump with another symbol.
    pub(super) at: NamedNode,
    /// How many of a jump's symbols the key shares.
    pub(super) shared: u32,
}

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// The root.
    #[inline(always)]
    pub(super) fn root(&self) -> NamedNode {
        let (entry, version) = self.table.bucket(ROOT).entry(0);
        let node = FoundNode { bucket: ROOT, slot: 0, version, entry };
        NamedNode { node, hash: EMPTY_HASH, depth: 0 }
    }

    /// Whether the bucket of a node is not what it was when the node was found.
    #[inline(always)]
    pub(super) fn changed(&self, node: &FoundNode) -> bool {
        self.table.bucket(node.bucket).changed(node.version)
    }

    /// The child of a branch by a symbol, which it has, or of a jump that ends with it. `prefix` is the child's name.
    #[inline(always)]
    pub(super) fn child(&self, parent: &FoundNode, prefix: KeyPrefix) -> Result<FoundNode, CuckooAbort> {
        let found = self.look_below(parent, prefix);
        if self.changed(parent) {
            return Err(CuckooAbort::Changed);
        }
        if found.is_none() { self.child_that_moves(parent, prefix.hash, prefix.symbol()) } else { Ok(found) }
    }

    /// The same for a child that was in neither of its buckets: it went from one to the other, or the table changed its size.
    #[cold]
    fn child_that_moves(&self, parent: &FoundNode, hash: u32, symbol: u8) -> Result<FoundNode, CuckooAbort> {
        loop {
            Backoff::new().wait();
            let found = self.look_below(parent, self.prefix(hash, symbol));
            if self.changed(parent) {
                return Err(CuckooAbort::Changed);
            }
            if !found.is_none() {
                return Ok(found);
            }
        }
    }

    /// The child of a node, in both of its buckets.
    #[inline(always)]
    fn look_below(&self, parent: &FoundNode, prefix: KeyPrefix) -> FoundNode {
        if parent.entry.kind() == CuckooNodeKind::Jump {
            self.look_for(prefix, parent.entry.link())
        } else {
            self.look_below_branch(parent.entry.color(), prefix)
        }
    }

    /// The child of a branch of a color, in both of its buckets.
    #[inline(always)]
    fn look_below_branch(&self, color: u8, prefix: KeyPrefix) -> FoundNode {
        self.look(prefix.pair, EntryQuery::by_parent(prefix.below(color).lane))
    }

    /// The node of a name and a color, in both of its buckets.
    #[inline(never)]
    pub(super) fn look_for(&self, prefix: KeyPrefix, color: u8) -> FoundNode {
        self.look(prefix.pair, EntryQuery::by_color(prefix.lane, color))
    }

    /// The child of a branch whose color is in the lane of its name, in both of its buckets at once.
    #[inline(always)]
    pub(super) fn look_in_both(&self, prefix: KeyPrefix) -> FoundNode {
        let CuckooBucketPair { primary, secondary } = prefix.pair;
        let (slot, entry, version) =
            self.table.bucket(primary).find_in_both(self.table.bucket(secondary), prefix.lane);
        let (bucket, slot) = match slot {
            0..SLOTS => (primary, slot),
            _ => (secondary, slot - SLOTS),
        };
        FoundNode { bucket, slot, version, entry }
    }

    /// What is wanted, in two buckets.
    #[inline(always)]
    pub(super) fn look(&self, pair: CuckooBucketPair, want: EntryQuery) -> FoundNode {
        let (mut bucket, mut want) = (pair.primary, want);
        loop {
            let (slot, entry, version) = self.table.bucket(bucket).find(&want);
            if slot < SLOTS || want.is_moved() {
                return FoundNode { bucket, slot, version, entry };
            }
            (bucket, want) = (pair.secondary, want.moved());
        }
    }

    /// A prefix by its hash and its last symbol.
    #[inline(always)]
    fn prefix(&self, hash: u32, symbol: u8) -> KeyPrefix {
        KeyPrefix::new::<V>(hash, symbol, self.table.places())
    }

    /// A node of a name, as it is by now; it is known by the hash, the last symbol, and its color.
    pub(super) fn again(
        &self,
        hash: u32,
        symbol: u8,
        color: u8,
        depth: u32,
    ) -> Result<NamedNode, CuckooAbort> {
        let found = self.look_for(self.prefix(hash, symbol), color);
        if found.is_none() { Err(CuckooAbort::Changed) } else { Ok(NamedNode { node: found, hash, depth }) }
    }

    /// The child of a branch by a symbol that it has.
    #[inline(always)]
    pub(super) fn below_branch(&self, branch: &NamedNode, symbol: u8) -> Result<NamedNode, CuckooAbort> {
        let hash = self.table.extend(branch.hash, symbol);
        let node = self.child(&branch.node, self.prefix(hash, symbol))?;
        Ok(NamedNode { node, hash, depth: branch.depth + 1 })
    }

    /// The child of a jump.
    pub(super) fn below_jump(&self, jump: &NamedNode) -> Result<NamedNode, CuckooAbort> {
        let entry = jump.node.entry;
        let symbols = entry.jump_symbols(0, entry.length());
        let hash = symbols.fold(jump.hash, |hash, symbol| self.table.extend(hash, symbol));
        let node = self.child(&jump.node, self.prefix(hash, entry.jump_symbol(entry.length() - 1)))?;
        Ok(NamedNode { node, hash, depth: jump.depth + entry.length() })
    }

    /// Follows a key as far as it leads, and shows `each` all nodes but the last.
    #[inline(always)]
    pub(super) fn descend(
        &self,
        prefixes: &mut KeyPrefixes<'_, '_, V>,
        each: impl FnMut(&NamedNode),
    ) -> Result<SearchEnd, CuckooAbort> {
        self.descend_from(self.root(), prefixes, each)
    }

    /// Follows a key from a node on its way.
    #[inline(always)]
    pub(super) fn descend_from(
        &self,
        mut at: NamedNode,
        prefixes: &mut KeyPrefixes<'_, '_, V>,
        mut each: impl FnMut(&NamedNode),
    ) -> Result<SearchEnd, CuckooAbort> {
        loop {
            let (entry, depth) = (at.node.entry, at.depth);
            let (prefix, below) = match entry.kind() {
                CuckooNodeKind::Leaf | CuckooNodeKind::Dead => return Ok(SearchEnd { at, shared: 0 }),
                CuckooNodeKind::Branch => {
                    let prefix = prefixes.next(depth + 1)?;
                    if entry.bitmap() >> prefix.symbol() & 1 == 0 {
                        return Ok(SearchEnd { at, shared: 0 });
                    }
                    (prefix, depth + 1)
                }
                CuckooNodeKind::Jump => {
                    let shared = entry.shared(prefixes.symbols, depth);
                    if shared < entry.length() {
                        return Ok(SearchEnd { at, shared });
                    }
                    (prefixes.leap(depth + shared)?, depth + shared)
                }
            };
            each(&at);
            let node = self.child(&at.node, prefix)?;
            at = NamedNode { node, hash: prefix.hash, depth: below };
        }
    }
}
