//! The walk behind a cursor: reads leaves in order, ahead of the cursor.
//!
//! ```text
//!   pending     branch, children h.. ─ leaf g ─ branch f ─ jump e      a stack, the next one last
//!                                                            │         prefetched: the first
//!                                                            │         children of f and h, and
//!                                                            │         the child of e
//!   leaves      ◄── d ◄── c ◄── b ◄── a ◄────────────────────┘         records prefetched
//! ```
//!
//! The names of a branch's children follow from the branch. So the walk prefetches and reads
//! several children at once, and then the nodes below them, long before it needs them. It
//! prefetches a record when it reads the leaf, several leaves ahead of the cursor. So a scan waits
//! for memory once for many keys. The paper follows a list from leaf to leaf, one read after the
//! other (section 4.4).
//!
//! # Invariants
//! 1. While the bucket of a branch has the same version, the branch has the same children. The walk
//!    compares the parent's version after each read of children. So the pending items and the
//!    leaves miss no key that has been in the index since the walk began.
//! 2. A leaf is returned only if its bucket still has its version. Then it was in the index at that
//!    moment.
//! 3. Bitmaps are oriented so that the next child has the lowest bit: unchanged for an upward walk,
//!    reversed for a downward one.

use arrayvec::ArrayVec;

use super::CuckooTrieVariant;
use super::bucket::BucketVersion;
use super::entry::{CuckooEntry, CuckooNodeKind};
use super::prefixes::KeyPrefix;
use super::search::{FoundNode, NamedNode};
use super::table::{CuckooTable, LinearHashSize};
use super::variant::CuckooSettings;
use crate::record::KeyRecord;
use crate::slot::Slot;

const LEAVES_AHEAD: usize = if cfg!(skein_loom) { 4 } else { 8 };
const CHILDREN_AT_ONCE: usize = if cfg!(skein_loom) { 2 } else { 4 };
/// The grandchildren to prefetch when a child is read.
const BELOW: usize = 4;

/// A bucket in which a node was found, with its version then.
#[derive(Clone, Copy, Debug)]
struct SeenBucket {
    bucket: u32,
    version: BucketVersion,
}

#[derive(Clone, Copy, Debug)]
struct WalkLeaf {
    record: u64,
    place: SeenBucket,
}

/// The next children of a branch, not prefetched yet.
#[derive(Clone, Copy, Debug)]
struct PendingChildren {
    /// Oriented; see invariant 3.
    children: u64,
    place: SeenBucket,
    hash: u32,
    color: u8,
}

#[derive(Clone, Copy, Debug)]
struct PrefetchedChild {
    /// Includes the parent's color if the parent is a branch.
    name: KeyPrefix,
    parent: SeenBucket,
    /// The child's own color, if the parent is a jump.
    color: Option<u8>,
}

#[derive(Clone, Copy, Debug)]
enum WalkItem {
    Leaf(WalkLeaf),
    Child(PrefetchedChild),
    Rest(PendingChildren),
}

/// A walk along the leaves, upward or downward.
#[derive(Debug)]
pub(super) struct LeafWalk {
    pending: Vec<WalkItem>,
    /// Whether a node changed under the walk, which then cannot continue.
    broken: bool,
    /// The bits in which the number of a bit differs from its symbol; see invariant 3.
    orientation: u32,
    /// How many leaves to have ready: few after a seek, which may be for one key.
    goal: usize,
    /// A ring of leaves, from number `next` to the last one read.
    leaves: [WalkLeaf; LEAVES_AHEAD],
    next: usize,
    end: usize,
}

impl LeafWalk {
    pub(super) fn new() -> Self {
        let none = WalkLeaf { record: 0, place: SeenBucket { bucket: 0, version: BucketVersion::default() } };
        Self {
            pending: Vec::new(),
            broken: false,
            orientation: 0,
            goal: 1,
            leaves: [none; LEAVES_AHEAD],
            next: 0,
            end: 0,
        }
    }

    /// Restarts the walk, with an empty stack.
    pub(super) fn start(&mut self, forward: bool) {
        self.pending.clear();
        (self.broken, self.goal, self.next, self.end) = (false, 1, 0, 0);
        self.orientation = if forward { 0 } else { u64::BITS - 1 };
    }

    #[inline(always)]
    pub(super) fn is_forward(&self) -> bool {
        self.orientation == 0
    }

    /// Returns whether a node changed under the walk, so that the walk may miss keys.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Continues with everything below a node.
    pub(super) fn enter<S: Slot, V: CuckooSettings>(
        &mut self,
        index: &CuckooTrieVariant<S, V>,
        at: &NamedNode,
    ) {
        self.add(index, index.engine.table.places(), &at.node, at.hash, 1);
    }

    /// Continues with the children of a branch beyond a symbol.
    #[inline(always)]
    pub(super) fn enter_beyond(&mut self, at: &NamedNode, symbol: u8) {
        let past = u64::MAX << (u32::from(symbol) ^ self.orientation) << 1;
        self.push_rest(self.rest_of(&at.node, at.hash, past));
    }

    /// Returns the word of the next leaf's record, or 0 at the end of the walk or if the walk is
    /// broken.
    #[inline(always)]
    pub(super) fn next<S: Slot, V: CuckooSettings>(&mut self, index: &CuckooTrieVariant<S, V>) -> u64 {
        // Only a long scan reads more before the last leaf is used. A short one may need no more.
        let low = if self.goal == LEAVES_AHEAD { LEAVES_AHEAD / 2 } else { 0 };
        if self.end - self.next <= low && !self.pending.is_empty() {
            self.read_ahead(index);
        }
        if self.next == self.end {
            return 0;
        }
        let leaf = self.leaves[self.next % LEAVES_AHEAD];
        self.next += 1;
        if leaf.place.changed(index) {
            self.mark_broken();
            return 0;
        }
        leaf.record
    }

    #[cold]
    fn mark_broken(&mut self) {
        self.pending.clear();
        (self.broken, self.next, self.end) = (true, 0, 0);
    }

    /// Reads leaves until `goal` are ready, and doubles the goal for the next time.
    #[inline(never)]
    fn read_ahead<S: Slot, V: CuckooSettings>(&mut self, index: &CuckooTrieVariant<S, V>) {
        while self.end - self.next < self.goal {
            let Some(part) = self.pending.pop() else { return };
            match part {
                WalkItem::Leaf(leaf) => {
                    self.leaves[self.end % LEAVES_AHEAD] = leaf;
                    self.end += 1;
                }
                WalkItem::Rest(rest) => {
                    self.prefetch_children(
                        index,
                        index.engine.table.places(),
                        rest,
                        self.goal.min(CHILDREN_AT_ONCE),
                    );
                }
                WalkItem::Child(child) => {
                    if !self.look(index, child) {
                        self.pending.clear();
                        self.broken = true;
                        return;
                    }
                }
            }
        }
        self.goal = (2 * self.goal).min(LEAVES_AHEAD);
    }

    /// Reads a child and some of those after it, and prefetches others. Returns false if a node has
    /// changed.
    #[inline(always)]
    fn look<S: Slot, V: CuckooSettings>(
        &mut self,
        index: &CuckooTrieVariant<S, V>,
        first: PrefetchedChild,
    ) -> bool {
        let (size, most) = (index.engine.table.places(), self.goal.min(CHILDREN_AT_ONCE));
        let mut batch = ArrayVec::<PrefetchedChild, CHILDREN_AT_ONCE>::new();
        batch.push(first);
        while batch.len() < most
            && let Some(&WalkItem::Child(next)) = self.pending.last()
        {
            batch.push(next);
            self.pending.pop();
        }
        if let Some(&WalkItem::Rest(rest)) = self.pending.last() {
            self.pending.pop();
            self.prefetch_children(index, size, rest, most);
        }
        // The last one first, so that the next one is on top of the stack.
        while let Some(PrefetchedChild { name, parent, color }) = batch.pop() {
            let node = match color {
                None => index.look_in_both(name),
                Some(color) => index.look_for(name, color),
            };
            // If a child is in neither bucket, it has moved meanwhile, or the table has grown.
            if node.is_none() || parent.changed(index) {
                return false;
            }
            self.add(index, size, &node, name.hash, most.min(BELOW));
        }
        true
    }

    /// Continues with everything below a node. Prefetches the nodes to be read next, but no more
    /// than `few` children.
    #[inline(always)]
    fn add<S: Slot, V: CuckooSettings>(
        &mut self,
        index: &CuckooTrieVariant<S, V>,
        size: LinearHashSize,
        node: &FoundNode,
        hash: u32,
        few: usize,
    ) {
        let (entry, place) = (node.entry, SeenBucket { bucket: node.bucket, version: node.version });
        match entry.kind() {
            CuckooNodeKind::Leaf => {
                let record = entry.record_word();
                KeyRecord::prefetch(record);
                self.pending.push(WalkItem::Leaf(WalkLeaf { record, place }));
            }
            CuckooNodeKind::Branch => {
                self.prefetch_children(index, size, self.rest_of(node, hash, u64::MAX), few);
            }
            CuckooNodeKind::Jump => {
                let (hash, symbol) = end_of_jump(&index.engine.table, hash, entry);
                let name = KeyPrefix::new::<V>(hash, symbol, size);
                self.prefetch_child(
                    index,
                    PrefetchedChild { name, color: Some(entry.link()), parent: place },
                );
            }
            CuckooNodeKind::Dead => {}
        }
    }

    /// Returns the children of a branch that are in an oriented bitmap.
    #[inline(always)]
    fn rest_of(&self, node: &FoundNode, hash: u32, which: u64) -> PendingChildren {
        let bitmap = node.entry.bitmap();
        let children = which & if self.orientation == 0 { bitmap } else { bitmap.reverse_bits() };
        let place = SeenBucket { bucket: node.bucket, version: node.version };
        PendingChildren { children, place, hash, color: node.entry.color() }
    }

    #[inline(always)]
    fn push_rest(&mut self, rest: PendingChildren) {
        if rest.children != 0 {
            self.pending.push(WalkItem::Rest(rest));
        }
    }

    /// Prefetches a few children of a branch. They are next, then the other children.
    #[inline(always)]
    fn prefetch_children<S: Slot, V: CuckooSettings>(
        &mut self,
        index: &CuckooTrieVariant<S, V>,
        size: LinearHashSize,
        rest: PendingChildren,
        few: usize,
    ) {
        let later = without_first(rest.children, few);
        self.push_rest(PendingChildren { children: later, ..rest });
        let mut children = rest.children ^ later;
        // The last one first, so that the next one is on top of the stack.
        while children != 0 {
            let bit = children.ilog2();
            children ^= 1 << bit;
            let symbol = (bit ^ self.orientation) as u8;
            let hash = index.engine.table.extend(rest.hash, symbol);
            let name = KeyPrefix::new::<V>(hash, symbol, size).below(rest.color);
            self.prefetch_child(index, PrefetchedChild { name, color: None, parent: rest.place });
        }
    }

    #[inline(always)]
    fn prefetch_child<S: Slot, V: CuckooSettings>(
        &mut self,
        index: &CuckooTrieVariant<S, V>,
        child: PrefetchedChild,
    ) {
        index.engine.table.prefetch(child.name.pair);
        self.pending.push(WalkItem::Child(child));
    }
}

impl SeenBucket {
    #[inline(always)]
    fn changed<S: Slot, V: CuckooSettings>(self, index: &CuckooTrieVariant<S, V>) -> bool {
        index.engine.table.bucket(self.bucket).changed(self.version)
    }
}

/// Returns the hash and the last symbol of the name of a jump's child.
#[inline(always)]
fn end_of_jump<V: CuckooSettings>(table: &CuckooTable<V>, hash: u32, jump: CuckooEntry) -> (u32, u8) {
    jump.jump_symbols(0, jump.length())
        .fold((hash, 0), |(hash, _), symbol| (table.extend(hash, symbol), symbol))
}

#[inline(always)]
fn without_first(mut bitmap: u64, count: usize) -> u64 {
    for _ in 0..count {
        bitmap &= bitmap.wrapping_sub(1);
    }
    bitmap
}
