//! A branch above a cursor's leaf, with the children that come next.
//!
//! ```text
//!   children    a   b   c   d   e   f   g   h   i   j   k   l
//!               passed  │ symbol │ ready: read   │ asked for │
//! ```
//!
//! The names of a branch's children are known, so the buckets of several are asked for at once, and the records of those that are leaves, or the first
//! buckets of those that are branches: a scan waits for memory once for several keys. The paper follows a list from leaf to leaf, one
//! read after the other (section 4.4).

use arrayvec::ArrayVec;

use super::CuckooTrie;
use super::change::Obstacle;
use super::entry::Kind;
use super::search::Named;
use crate::record::Record;
use crate::slot::Slot;

/// Children that are read at once.
pub(super) const READY_MAX: usize = 8;
/// Children of a child that are asked for when that is read.
const BELOW: usize = 4;

/// A branch above the cursor's leaf.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) branch: Named,
    /// The child that the cursor is in, or beside.
    symbol: u8,
    forward: bool,
    /// Children that come next, as they were while the branch was as it is, and how many of them were passed.
    ready: ArrayVec<(u8, Named), READY_MAX>,
    passed: usize,
    /// Children whose buckets were asked for.
    asked: u64,
}

impl Frame {
    pub(super) fn new(branch: Named, symbol: u8, forward: bool) -> Self {
        Self { branch, symbol, forward, ready: ArrayVec::new(), passed: 0, asked: 0 }
    }

    /// Goes on to the next child; none if there is no other. Reads up to `batch` children if none is ready, and twice as many the next time.
    #[inline(always)]
    pub(super) fn advance<S: Slot, const V: usize>(
        &mut self,
        index: &CuckooTrie<S, V>,
        forward: bool,
        batch: &mut usize,
    ) -> Result<Option<Named>, Obstacle> {
        if self.forward != forward {
            self.ready.clear();
            (self.passed, self.forward) = (0, forward);
        }
        if self.passed == self.ready.len() {
            self.read(index, *batch)?;
            *batch = (2 * *batch).min(READY_MAX);
        }
        let Some(&(symbol, child)) = self.ready.get(self.passed) else { return Ok(None) };
        self.passed += 1;
        self.symbol = symbol;
        Ok(Some(child))
    }

    /// Reads the next children, and asks for those after them.
    fn read<S: Slot, const V: usize>(
        &mut self,
        index: &CuckooTrie<S, V>,
        batch: usize,
    ) -> Result<(), Obstacle> {
        let forward = self.forward;
        let rest = children_beyond(self.branch.node.entry.bitmap(), self.symbol, forward);
        let few = first_few(rest, 2 * batch, forward);
        in_order(few & !self.asked, forward).for_each(|symbol| index.ask_below_branch(&self.branch, symbol));
        self.asked |= few;
        self.ready.clear();
        self.passed = 0;
        for symbol in in_order(rest, forward).take(batch) {
            let child = index.below_branch(&self.branch, symbol)?;
            let entry = child.node.entry;
            match entry.kind() {
                Kind::Leaf => Record::prefetch(entry.record_word()),
                Kind::Branch if batch == READY_MAX => {
                    in_order(entry.bitmap(), forward)
                        .take(BELOW)
                        .for_each(|symbol| index.ask_below_branch(&child, symbol));
                }
                _ => {}
            }
            self.ready.push((symbol, child));
        }
        Ok(())
    }
}

/// The children of a bitmap after one of them, or before it.
#[inline(always)]
fn children_beyond(bitmap: u64, symbol: u8, forward: bool) -> u64 {
    let before = (1 << symbol) - 1;
    if forward { bitmap & !before & !(1 << symbol) } else { bitmap & before }
}

/// The first child, or the last one.
#[inline(always)]
pub(super) fn nearest(bitmap: u64, forward: bool) -> Option<u8> {
    if bitmap == 0 {
        return None;
    }
    Some(if forward { bitmap.trailing_zeros() } else { bitmap.ilog2() } as u8)
}

/// The children of a bitmap, upward or downward.
#[inline(always)]
fn in_order(mut bitmap: u64, forward: bool) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let symbol = nearest(bitmap, forward)?;
        bitmap &= !(1 << symbol);
        Some(symbol)
    })
}

/// The first so many children of a bitmap, or the last ones.
#[inline(always)]
fn first_few(bitmap: u64, count: usize, forward: bool) -> u64 {
    in_order(bitmap, forward).take(count).fold(0, |few, symbol| few | 1 << symbol)
}
