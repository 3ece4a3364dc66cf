//! What generators share: a key set with what is known about its order, and a thread's share of the work.

use super::script::{OpKind, ScanExpectation, Script, ScriptOp, value_of};
use crate::keyset::{KeySet, PackedKeys, SeededRandom};

/// A key set being asked about.
#[derive(Debug)]
pub struct RankedKeySet<'a> {
    /// The keys.
    pub set: &'a KeySet,
    /// The numbers of the keys, in their order.
    order: Vec<u32>,
    /// For each key, by number, its place in that order.
    ranks: Vec<u32>,
    /// Sums of the values of the first so many keys in order, wrapping.
    sums: Vec<u64>,
}

/// One thread's share: which one it is, and of how many.
#[derive(Debug, Clone, Copy)]
pub struct ThreadShare {
    /// Counted from 0.
    pub thread: usize,
    /// How many there are.
    pub of: usize,
}

impl ThreadShare {
    /// All of the work.
    pub const ALL: Self = Self { thread: 0, of: 1 };

    /// The numbers below `items` that are this thread's.
    pub fn of(self, items: usize) -> std::iter::StepBy<std::ops::Range<usize>> {
        (self.thread..items).step_by(self.of)
    }

    /// A generator of its own for each thread.
    pub fn random(self, seed: u64) -> SeededRandom {
        SeededRandom::new(seed ^ (self.thread as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }
}

impl<'a> RankedKeySet<'a> {
    /// Finds the order of a set.
    pub fn new(set: &'a KeySet) -> Self {
        let order = set.order();
        let mut ranks = vec![0; order.len()];
        let mut sums = Vec::with_capacity(order.len() + 1);
        sums.push(0u64);
        for (place, &number) in order.iter().enumerate() {
            ranks[number as usize] = place as u32;
            sums.push(sums[place].wrapping_add(value_of(number as usize)));
        }
        Self { set, order, ranks, sums }
    }

    /// The keys.
    pub fn keys(&self) -> &'a PackedKeys {
        &self.set.keys
    }

    /// What a scan of `count` keys from a present one must find in the set as it was made.
    pub fn scanned(&self, number: usize, count: usize, back: bool) -> ScanExpectation {
        let place = self.ranks[number] as usize;
        let (from, to) = if back {
            ((place + 1).saturating_sub(count), place + 1)
        } else {
            (place, (place + count).min(self.order.len()))
        };
        ScanExpectation { sum: self.sums[to].wrapping_sub(self.sums[from]), count: (to - from) as u32 }
    }

    /// What a lower bound of any key must find.
    pub fn lower_bound(&self, key: &[u8]) -> ScanExpectation {
        let place = self.order.partition_point(|&number| self.keys().get(number as usize) < key);
        let Some(&number) = self.order.get(place) else { return ScanExpectation { sum: 0, count: 0 } };
        ScanExpectation { sum: value_of(number as usize), count: 1 }
    }

    /// Adds an operation on a key of the set.
    pub fn push(&self, script: &mut Script, kind: OpKind, number: usize, count: u16) {
        script.push(ScriptOp { kind, count, number: number as u32 }, self.keys().get(number));
    }

    /// Adds an operation on one of the absent keys; its value's number lies past those of the set.
    pub fn push_absent(&self, script: &mut Script, kind: OpKind, absent: usize) {
        let number = (self.keys().len() + absent) as u32;
        script.push(ScriptOp { kind, count: 0, number }, self.set.absent.get(absent));
    }
}
