//! The search from the root along a key, which prefetches the buckets of the next nodes.
//!
//! ```text
//!   depth      0      1      2      3      4      5      6
//!   hash       ·──────·──────·──────·──────·──────·──────·   of the prefixes: known in advance
//!   node     root ─► branch ─► branch ─► ...   prefetched: some nodes ahead
//! ```
//!
//! A search looks for a child in both of its buckets, and then compares the parent's version. If
//! the version is unchanged, parent and child were in the trie at the same time. A child that is in
//! neither bucket was moved between the two reads, or the table has grown. Then the search looks
//! again, unless the parent has changed. Source: Cuckoo Trie, sections 4.1 and 5, Algorithms 1 and
//! 2.

use skein_sync::spin::Backoff;

use super::CuckooTrieVariant;
use super::bucket::BucketVersion;
use super::entry::{CuckooEntry, CuckooNodeKind};
use super::lanes::{EntryQuery, SLOTS};
use super::prefixes::{KeyPrefix, KeyPrefixes};
use super::table::{CuckooBucketPair, ROOT};
use super::transaction::CuckooAbort;
use super::variant::CuckooSettings;
use crate::hash::peelable::EMPTY_HASH;
use crate::slot::Slot;

/// A node as a search found it.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundNode {
    pub(super) bucket: u32,
    pub(super) slot: usize,
    pub(super) version: BucketVersion,
    pub(super) entry: CuckooEntry,
}

impl FoundNode {
    #[inline(always)]
    pub(super) fn is_none(&self) -> bool {
        self.slot == SLOTS
    }
}

/// A node with the hash and the length of its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct NamedNode {
    pub(super) node: FoundNode,
    /// The hash of the name.
    pub(super) hash: u32,
    /// The number of symbols in the name.
    pub(super) depth: u32,
}

impl NamedNode {
    /// Returns whether the node is a branch that stores the length assumed for its name.
    #[inline(always)]
    pub(super) fn is_branch_of_its_depth(&self) -> bool {
        let entry = self.node.entry;
        entry.kind() == CuckooNodeKind::Branch && entry.depth() == self.depth
    }
}

/// The end of a search along a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchEnd {
    /// The last node: a leaf, a branch without the key's next symbol, or a jump with a different
    /// symbol.
    pub(super) at: NamedNode,
    /// How many symbols of a jump the key shares.
    pub(super) shared: u32,
}

impl<S: Slot, V: CuckooSettings> CuckooTrieVariant<S, V> {
    #[inline(always)]
    pub(super) fn root(&self) -> NamedNode {
        let (entry, version) = self.engine.table.bucket(ROOT).entry(0);
        let node = FoundNode { bucket: ROOT, slot: 0, version, entry };
        NamedNode { node, hash: EMPTY_HASH, depth: 0 }
    }

    /// Returns whether the bucket of a node has changed since the node was found.
    #[inline(always)]
    pub(super) fn changed(&self, node: &FoundNode) -> bool {
        self.engine.table.bucket(node.bucket).changed(node.version)
    }

    /// Returns the child with the name `prefix`. The parent must be a branch with that symbol, or a
    /// jump that ends with it.
    ///
    /// # Errors
    /// If the parent has changed.
    #[inline(always)]
    pub(super) fn child(&self, parent: &FoundNode, prefix: KeyPrefix) -> Result<FoundNode, CuckooAbort> {
        let found = self.look_below(parent, prefix);
        if self.changed(parent) {
            return Err(CuckooAbort::Changed);
        }
        if found.is_none() { self.child_that_moves(parent, prefix.hash, prefix.symbol()) } else { Ok(found) }
    }

    /// Looks again for a child that was in neither of its buckets: it moved from one to the other,
    /// or the table changed its size.
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

    /// Looks for the child of a node in both of its buckets.
    #[inline(always)]
    fn look_below(&self, parent: &FoundNode, prefix: KeyPrefix) -> FoundNode {
        if parent.entry.kind() == CuckooNodeKind::Jump {
            self.look_for(prefix, parent.entry.link())
        } else {
            self.look_below_branch(parent.entry.color(), prefix)
        }
    }

    /// Looks for the child of a branch with this color in both of its buckets.
    #[inline(always)]
    fn look_below_branch(&self, color: u8, prefix: KeyPrefix) -> FoundNode {
        self.look(prefix.pair, EntryQuery::by_parent(prefix.below(color).lane))
    }

    /// Looks for the node with this name and color in both of its buckets.
    #[inline(never)]
    pub(super) fn look_for(&self, prefix: KeyPrefix, color: u8) -> FoundNode {
        self.look(prefix.pair, EntryQuery::by_color(prefix.lane, color))
    }

    /// Looks for the child of a branch in both of its buckets at once. The lane of `prefix` must
    /// have the branch's color.
    #[inline(always)]
    pub(super) fn look_in_both(&self, prefix: KeyPrefix) -> FoundNode {
        let CuckooBucketPair { primary, secondary } = prefix.pair;
        let (slot, entry, version) =
            self.engine.table.bucket(primary).find_in_both(self.engine.table.bucket(secondary), prefix.lane);
        let (bucket, slot) = match slot {
            0..SLOTS => (primary, slot),
            _ => (secondary, slot - SLOTS),
        };
        FoundNode { bucket, slot, version, entry }
    }

    /// Looks for an entry in two buckets, one after the other.
    #[inline(always)]
    pub(super) fn look(&self, pair: CuckooBucketPair, want: EntryQuery) -> FoundNode {
        let (mut bucket, mut want) = (pair.primary, want);
        loop {
            let (slot, entry, version) = self.engine.table.bucket(bucket).find(&want);
            if slot < SLOTS || want.is_moved() {
                return FoundNode { bucket, slot, version, entry };
            }
            (bucket, want) = (pair.secondary, want.moved());
        }
    }

    #[inline(always)]
    fn prefix(&self, hash: u32, symbol: u8) -> KeyPrefix {
        KeyPrefix::new::<V>(hash, symbol, self.engine.table.places())
    }

    /// Finds a node again. The hash, the last symbol and the color identify it.
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

    /// Returns the child of a branch by a symbol, which the branch must have.
    #[inline(always)]
    pub(super) fn below_branch(&self, branch: &NamedNode, symbol: u8) -> Result<NamedNode, CuckooAbort> {
        let hash = self.engine.table.extend(branch.hash, symbol);
        let node = self.child(&branch.node, self.prefix(hash, symbol))?;
        Ok(NamedNode { node, hash, depth: branch.depth + 1 })
    }

    pub(super) fn below_jump(&self, jump: &NamedNode) -> Result<NamedNode, CuckooAbort> {
        let entry = jump.node.entry;
        let symbols = entry.jump_symbols(0, entry.length());
        let hash = symbols.fold(jump.hash, |hash, symbol| self.engine.table.extend(hash, symbol));
        let node = self.child(&jump.node, self.prefix(hash, entry.jump_symbol(entry.length() - 1)))?;
        Ok(NamedNode { node, hash, depth: jump.depth + entry.length() })
    }

    /// Follows a key from the root to the end of its path. Calls `each` for all nodes but the last.
    #[inline(always)]
    pub(super) fn descend(
        &self,
        prefixes: &mut KeyPrefixes<'_, '_, V>,
        each: impl FnMut(&NamedNode),
    ) -> Result<SearchEnd, CuckooAbort> {
        self.descend_from(self.root(), prefixes, each)
    }

    /// Follows a key from a node on its path.
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
                    (prefixes.jump_to(depth + shared)?, depth + shared)
                }
            };
            each(&at);
            let node = self.child(&at.node, prefix)?;
            at = NamedNode { node, hash: prefix.hash, depth: below };
        }
    }
}
