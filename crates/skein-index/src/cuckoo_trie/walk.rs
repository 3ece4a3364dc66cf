//! The walk that a cursor's leaves come from: in order, and ahead of the cursor.
//!
//! ```text
//!   to do       branch, children h.. ─ leaf g ─ branch f ─ jump e        asked for: f's and h's first children, what e leads to
//!                                                            │           in order, the next one last: a stack
//!   leaves      ◄── d ◄── c ◄── b ◄── a ◄────────────────────┘           records asked for
//! ```
//!
//! The names of a branch's children are known, so several are asked for and read at once, and then what is below those that are no leaves, long
//! before the walk comes there; and the record of a leaf is asked for when the leaf is read, several leaves before the cursor comes there. So
//! a scan waits for memory once for many keys. The paper follows a list from leaf to leaf, one read after the other (section 4.4).
//!
//! # Invariants
//! 1. While a branch's bucket has its version, its children are those it had. So what is to do, and the leaves, miss no key that was in the
//!    index all the time since the walk began; after each look at children their parent's version is compared.
//! 2. A leaf is shown only if its bucket still has its version: then it was in the index at that moment.
//! 3. Bitmaps are turned, so that the child that comes next has the lowest bit: upward as they are, downward the other way round.

use super::CuckooTrie;
use super::bucket::Version;
use super::entry::{Entry, Kind};
use super::prefixes::Prefix;
use super::search::{Named, Node};
use super::table::{Size, Table};
use crate::record::Record;
use crate::slot::Slot;

/// Leaves that are read ahead.
const AHEAD: usize = 16;
/// Children that are read at once.
const BATCH: usize = 8;
/// Children of a child that are asked for when that is read.
const BELOW: usize = 4;

/// A bucket in which something was found, as it was then.
#[derive(Clone, Copy, Debug)]
struct Place {
    bucket: u32,
    version: Version,
}

#[derive(Clone, Copy, Debug)]
struct Leaf {
    record: u64,
    place: Place,
}

/// A branch some of whose children are still to be read.
#[derive(Clone, Copy, Debug)]
struct Branch {
    /// Those children, and those of them whose buckets were not asked for; both turned.
    rest: u64,
    unasked: u64,
    place: Place,
    hash: u32,
    color: u8,
}

/// A jump, by the name and the color of its child, which is still to be read.
#[derive(Clone, Copy, Debug)]
struct Jump {
    place: Place,
    hash: u32,
    symbol: u8,
    color: u8,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Leaf(Leaf),
    Branch(Branch),
    Jump(Jump),
}

/// A walk along the leaves, upward or downward.
#[derive(Debug)]
pub(super) struct Walk {
    todo: Vec<Part>,
    /// Whether something changed under the walk, which cannot go on then.
    broken: bool,
    /// What a bit's number differs by from the symbol's; see invariant 3.
    turn: u32,
    /// How many leaves are to be ready: few after a seek, which may be for one key.
    goal: usize,
    /// Leaves by their number, modulo what there is room for; from the next one to the last one that was read.
    leaves: [Leaf; AHEAD],
    next: usize,
    end: usize,
}

impl Walk {
    pub(super) fn new() -> Self {
        let none = Leaf { record: 0, place: Place { bucket: 0, version: Version::default() } };
        Self { todo: Vec::new(), broken: false, turn: 0, goal: 1, leaves: [none; AHEAD], next: 0, end: 0 }
    }

    /// Begins anew: nothing is to do.
    pub(super) fn start(&mut self, forward: bool) {
        self.todo.clear();
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
    pub(super) fn enter<S: Slot, const V: usize>(&mut self, index: &CuckooTrie<S, V>, at: &Named) {
        self.add(index, index.table.places(), &at.node, at.hash, 0);
    }

    /// Those children of a branch come next that are beyond a symbol.
    #[inline(always)]
    pub(super) fn enter_beyond(&mut self, at: &Named, symbol: u8) {
        let past = u64::MAX << (u32::from(symbol) ^ self.turn) << 1;
        self.add_branch(&at.node, at.hash, past, 0);
    }

    /// The word of the next leaf's record; 0 if there is none, or the walk is broken.
    #[inline(always)]
    pub(super) fn next<S: Slot, const V: usize>(&mut self, index: &CuckooTrie<S, V>) -> u64 {
        if self.end - self.next <= self.goal / 2 && !self.todo.is_empty() {
            self.run(index);
        }
        if self.next == self.end {
            return 0;
        }
        let leaf = self.leaves[self.next % AHEAD];
        self.next += 1;
        if leaf.place.changed(index) {
            self.stop();
            return 0;
        }
        leaf.record
    }

    /// Something has changed.
    #[cold]
    fn stop(&mut self) {
        self.todo.clear();
        (self.broken, self.next, self.end) = (true, 0, 0);
    }

    /// Reads leaves until as many are ready as there are to be, and twice as many the next time.
    #[inline(never)]
    fn run<S: Slot, const V: usize>(&mut self, index: &CuckooTrie<S, V>) {
        while self.end - self.next < self.goal {
            let Some(part) = self.todo.pop() else { return };
            let intact = match part {
                Part::Leaf(leaf) => {
                    self.leaves[self.end % AHEAD] = leaf;
                    self.end += 1;
                    true
                }
                Part::Branch(branch) => self.pass_branch(index, branch),
                Part::Jump(jump) => self.pass_jump(index, jump),
            };
            if !intact {
                self.todo.clear();
                self.broken = true;
                return;
            }
        }
        self.goal = (2 * self.goal).min(AHEAD);
    }

    /// Reads some children of a branch, and asks for those after them. False if it has changed.
    #[inline(always)]
    fn pass_branch<S: Slot, const V: usize>(&mut self, index: &CuckooTrie<S, V>, branch: Branch) -> bool {
        let Branch { place, hash, color, .. } = branch;
        let size = index.table.places();
        let batch = self.goal.min(BATCH);
        let rest = without_first(branch.rest, batch);
        let few = branch.rest ^ rest;
        let later = without_first(rest, batch);
        self.ask(index, size, hash, (branch.rest ^ later) & branch.unasked);
        if rest != 0 {
            self.todo.push(Part::Branch(Branch { rest, unasked: branch.unasked & later, ..branch }));
        }
        let below = if batch == BATCH { BELOW } else { 0 };
        // The last one first: it is to lie deepest.
        let mut bits = few;
        while bits != 0 {
            let bit = bits.ilog2();
            bits ^= 1 << bit;
            let symbol = (bit ^ self.turn) as u8;
            let hash = index.table.extend(hash, symbol);
            let node = index.look_below_branch(color, Prefix::new::<V>(hash, symbol, size));
            if node.is_none() {
                // It has moved meanwhile, or the table has grown.
                return false;
            }
            self.add(index, size, &node, hash, below);
        }
        !place.changed(index)
    }

    /// Reads a jump's child. False if it has changed.
    #[inline(always)]
    fn pass_jump<S: Slot, const V: usize>(&mut self, index: &CuckooTrie<S, V>, jump: Jump) -> bool {
        let size = index.table.places();
        let node = index.look_for(Prefix::new::<V>(jump.hash, jump.symbol, size), jump.color);
        if node.is_none() || jump.place.changed(index) {
            return false;
        }
        self.add(index, size, &node, jump.hash, if self.goal >= BATCH { BELOW } else { 0 });
        true
    }

    /// What is below a node comes next. Asks for what will be read then.
    #[inline(always)]
    fn add<S: Slot, const V: usize>(
        &mut self,
        index: &CuckooTrie<S, V>,
        size: Size,
        node: &Node,
        hash: u32,
        below: usize,
    ) {
        let (entry, place) = (node.entry, Place { bucket: node.bucket, version: node.version });
        match entry.kind() {
            Kind::Leaf => {
                let record = entry.record_word();
                Record::prefetch(record);
                self.todo.push(Part::Leaf(Leaf { record, place }));
            }
            Kind::Branch => {
                let first = self.add_branch(node, hash, u64::MAX, below);
                self.ask(index, size, hash, first);
            }
            Kind::Jump => {
                let (hash, symbol) = end_of_jump(&index.table, hash, entry);
                index.table.prefetch(size.pair::<V>(hash));
                self.todo.push(Part::Jump(Jump { place, hash, symbol, color: entry.link() }));
            }
            Kind::Dead => {}
        }
    }

    /// Those children of a branch come next that are in a turned bitmap. Returns the first few.
    #[inline(always)]
    fn add_branch(&mut self, node: &Node, hash: u32, which: u64, few: usize) -> u64 {
        let bitmap = node.entry.bitmap();
        let rest = which & if self.turn == 0 { bitmap } else { bitmap.reverse_bits() };
        let unasked = without_first(rest, few);
        if rest != 0 {
            let place = Place { bucket: node.bucket, version: node.version };
            self.todo.push(Part::Branch(Branch { rest, unasked, place, hash, color: node.entry.color() }));
        }
        rest ^ unasked
    }

    /// Asks for the buckets of children of the node that has this hash.
    #[inline(always)]
    fn ask<S: Slot, const V: usize>(
        &self,
        index: &CuckooTrie<S, V>,
        size: Size,
        hash: u32,
        mut children: u64,
    ) {
        while children != 0 {
            let symbol = (children.trailing_zeros() ^ self.turn) as u8;
            children &= children - 1;
            index.table.prefetch(size.pair::<V>(index.table.extend(hash, symbol)));
        }
    }
}

impl Place {
    #[inline(always)]
    fn changed<S: Slot, const V: usize>(self, index: &CuckooTrie<S, V>) -> bool {
        index.table.bucket(self.bucket).changed(self.version)
    }
}

/// The hash and the last symbol of the name of a jump's child.
#[inline(always)]
fn end_of_jump<const V: usize>(table: &Table<V>, hash: u32, jump: Entry) -> (u32, u8) {
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
