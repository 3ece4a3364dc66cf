//! The walk that a cursor's leaves come from: in order, and ahead of the cursor.
//!
//! ```text
//!   pending     branch, children h.. ─ leaf g ─ branch f ─ jump e        asked for: f's and h's first children, what e leads to
//!                                                            │           in order, the next one last: a stack
//!   leaves      ◄── d ◄── c ◄── b ◄── a ◄────────────────────┘           records asked for
//! ```
//!
//! The names of a branch's children are known, so several are asked for and read at once, and then what is below those that are no leaves, long
//! before the walk comes there; and the record of a leaf is asked for when the leaf is read, several leaves before the cursor comes there. So
//! a scan waits for memory once for many keys. The paper follows a list from leaf to leaf, one read after the other (section 4.4).
//!
//! # Invariants
//! 1. While a branch's bucket has its version, its children are those it had. So what is pending, and the leaves, miss no key that was in the
//!    index all the time since the walk began; after each look at children their parent's version is compared.
//! 2. A leaf is shown only if its bucket still has its version: then it was in the index at that moment.
//! 3. Bitmaps are turned, so that the child that comes next has the lowest bit: upward as they are, downward the other way round.

use arrayvec::ArrayVec;

use super::CuckooTrie;
use super::bucket::BucketVersion;
use super::entry::{CuckooEntry, CuckooNodeKind};
use super::prefixes::KeyPrefix;
use super::search::{FoundNode, NamedNode};
use super::table::{CuckooTable, LinearHashSize};
use crate::record::KeyRecord;
use crate::slot::Slot;

/// Leaves that are read ahead.
const AHEAD: usize = if cfg!(skein_loom) { 4 } else { 8 };
/// Children that are read at once.
const BATCH: usize = if cfg!(skein_loom) { 2 } else { 4 };
/// Children of a child that are asked for when that is read.
const BELOW: usize = 4;

/// A bucket in which something was found, as it was then.
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

/// Children of a branch that come next, and whose buckets were not asked for yet.
#[derive(Clone, Copy, Debug)]
struct UnaskedChildren {
    /// Turned.
    children: u64,
    place: SeenBucket,
    hash: u32,
    color: u8,
}

/// A child whose buckets were asked for.
#[derive(Clone, Copy, Debug)]
struct PrefetchedChild {
    /// With the parent's color, if that is a branch.
    name: KeyPrefix,
    parent: SeenBucket,
    /// The child's own color, if the parent is a jump.
    color: Option<u8>,
}

#[derive(Clone, Copy, Debug)]
enum WalkItem {
    Leaf(WalkLeaf),
    Asked(PrefetchedChild),
    Rest(UnaskedChildren),
}

/// A walk along the leaves, upward or downward.
#[derive(Debug)]
pub(super) struct LeafWalk {
    pending: Vec<WalkItem>,
    /// Whether something changed under the walk, which cannot go on then.
    broken: bool,
    /// What a bit's number differs by from the symbol's; see invariant 3.
    turn: u32,
    /// How many leaves are to be ready: few after a seek, which may be for one key.
    goal: usize,
    /// Leaves by their number, modulo what there is room for; from the next one to the last one that was read.
    leaves: [WalkLeaf; AHEAD],
    next: usize,
    end: usize,
}

impl LeafWalk {
    pub(super) fn new() -> Self {
        let none = WalkLeaf { record: 0, place: SeenBucket { bucket: 0, version: BucketVersion::default() } };
        Self { pending: Vec::new(), broken: false, turn: 0, goal: 1, leaves: [none; AHEAD], next: 0, end: 0 }
    }

    /// Begins anew: nothing is pending.
    pub(super) fn start(&mut self, forward: bool) {
        self.pending.clear();
        (self.broken, self.goal, self.next, self.end) = (false, 1, 0, 0);
        self.turn = if forward { 0 } else { u64::BITS - 1 };
    }

    #[inline(always)]
    pub(super) fn is_forward(&self) -> bool {
        self.turn == 0
    }

    /// Whether there was a change under the walk, so that there may be keys which it cannot come to.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// What is below a node comes next.
    pub(super) fn enter<S: Slot, const V: usize>(&mut self, index: &CuckooTrie<S, V>, at: &NamedNode) {
        self.add(index, index.table.places(), &at.node, at.hash, 1);
    }

    /// Those children of a branch come next that are beyond a symbol.
    #[inline(always)]
    pub(super) fn enter_beyond(&mut self, at: &NamedNode, symbol: u8) {
        let past = u64::MAX << (u32::from(symbol) ^ self.turn) << 1;
        self.push_rest(self.rest_of(&at.node, at.hash, past));
    }

    /// The word of the next leaf's record; 0 if there is none, or the walk is broken.
    #[inline(always)]
    pub(super) fn next<S: Slot, const V: usize>(&mut self, index: &CuckooTrie<S, V>) -> u64 {
        // Before the last one only in a long scan: a short one may need no more.
        let low = if self.goal == AHEAD { AHEAD / 2 } else { 0 };
        if self.end - self.next <= low && !self.pending.is_empty() {
            self.run(index);
        }
        if self.next == self.end {
            return 0;
        }
        let leaf = self.leaves[self.next % AHEAD];
        self.next += 1;
        if leaf.place.changed(index) {
            self.mark_broken();
            return 0;
        }
        leaf.record
    }

    /// Something has changed.
    #[cold]
    fn mark_broken(&mut self) {
        self.pending.clear();
        (self.broken, self.next, self.end) = (true, 0, 0);
    }

    /// Reads leaves until as many are ready as there are to be, and twice as many the next time.
    #[inline(never)]
    fn run<S: Slot, const V: usize>(&mut self, index: &CuckooTrie<S, V>) {
        while self.end - self.next < self.goal {
            let Some(part) = self.pending.pop() else { return };
            match part {
                WalkItem::Leaf(leaf) => {
                    self.leaves[self.end % AHEAD] = leaf;
                    self.end += 1;
                }
                WalkItem::Rest(rest) => self.ask(index, index.table.places(), rest, self.goal.min(BATCH)),
                WalkItem::Asked(child) => {
                    if !self.look(index, child) {
                        self.pending.clear();
                        self.broken = true;
                        return;
                    }
                }
            }
        }
        self.goal = (2 * self.goal).min(AHEAD);
    }

    /// Looks for a child and for those after it, and asks for others. False if that cannot be said, because something has changed.
    #[inline(always)]
    fn look<S: Slot, const V: usize>(&mut self, index: &CuckooTrie<S, V>, first: PrefetchedChild) -> bool {
        let (size, most) = (index.table.places(), self.goal.min(BATCH));
        let mut batch = ArrayVec::<PrefetchedChild, BATCH>::new();
        batch.push(first);
        while batch.len() < most
            && let Some(&WalkItem::Asked(next)) = self.pending.last()
        {
            batch.push(next);
            self.pending.pop();
        }
        if let Some(&WalkItem::Rest(rest)) = self.pending.last() {
            self.pending.pop();
            self.ask(index, size, rest, most);
        }
        // The last one first: it is to lie deepest.
        while let Some(PrefetchedChild { name, parent, color }) = batch.pop() {
            let node = match color {
                None => index.look_in_both(name),
                Some(color) => index.look_for(name, color),
            };
            // If it is nowhere, it has moved meanwhile, or the table has grown.
            if node.is_none() || parent.changed(index) {
                return false;
            }
            self.add(index, size, &node, name.hash, most.min(BELOW));
        }
        true
    }

    /// What is below a node comes next. Asks for what will be read then, but for no more than `few` children.
    #[inline(always)]
    fn add<S: Slot, const V: usize>(
        &mut self,
        index: &CuckooTrie<S, V>,
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
            CuckooNodeKind::Branch => self.ask(index, size, self.rest_of(node, hash, u64::MAX), few),
            CuckooNodeKind::Jump => {
                let (hash, symbol) = end_of_jump(&index.table, hash, entry);
                let name = KeyPrefix::new::<V>(hash, symbol, size);
                self.ask_for(index, PrefetchedChild { name, color: Some(entry.link()), parent: place });
            }
            CuckooNodeKind::Dead => {}
        }
    }

    /// The children of a branch that are in a turned bitmap.
    #[inline(always)]
    fn rest_of(&self, node: &FoundNode, hash: u32, which: u64) -> UnaskedChildren {
        let bitmap = node.entry.bitmap();
        let children = which & if self.turn == 0 { bitmap } else { bitmap.reverse_bits() };
        let place = SeenBucket { bucket: node.bucket, version: node.version };
        UnaskedChildren { children, place, hash, color: node.entry.color() }
    }

    #[inline(always)]
    fn push_rest(&mut self, rest: UnaskedChildren) {
        if rest.children != 0 {
            self.pending.push(WalkItem::Rest(rest));
        }
    }

    /// Asks for a few children of a branch. They come next, and then the others.
    #[inline(always)]
    fn ask<S: Slot, const V: usize>(
        &mut self,
        index: &CuckooTrie<S, V>,
        size: LinearHashSize,
        rest: UnaskedChildren,
        few: usize,
    ) {
        let later = without_first(rest.children, few);
        self.push_rest(UnaskedChildren { children: later, ..rest });
        let mut children = rest.children ^ later;
        // The last one first: it is to lie deepest.
        while children != 0 {
            let bit = children.ilog2();
            children ^= 1 << bit;
            let symbol = (bit ^ self.turn) as u8;
            let hash = index.table.extend(rest.hash, symbol);
            let name = KeyPrefix::new::<V>(hash, symbol, size).below(rest.color);
            self.ask_for(index, PrefetchedChild { name, color: None, parent: rest.place });
        }
    }

    #[inline(always)]
    fn ask_for<S: Slot, const V: usize>(&mut self, index: &CuckooTrie<S, V>, child: PrefetchedChild) {
        index.table.prefetch(child.name.pair);
        self.pending.push(WalkItem::Asked(child));
    }
}

impl SeenBucket {
    #[inline(always)]
    fn changed<S: Slot, const V: usize>(self, index: &CuckooTrie<S, V>) -> bool {
        index.table.bucket(self.bucket).changed(self.version)
    }
}

/// The hash and the last symbol of the name of a jump's child.
#[inline(always)]
fn end_of_jump<const V: usize>(table: &CuckooTable<V>, hash: u32, jump: CuckooEntry) -> (u32, u8) {
    jump.jump_symbols(0, jump.length())
        .fold((hash, 0), |(hash, _), symbol| (table.extend(hash, symbol), symbol))
}

/// A bitmap without so many of its lowest bits.
#[inline(always)]
fn without_first(mut bitmap: u64, count: usize) -> u64 {
    for _ in 0..count {
        bitmap &= bitmap.wrapping_sub(1);
    }
    bitmap
}
