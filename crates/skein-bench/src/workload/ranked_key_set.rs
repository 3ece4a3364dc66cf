//! The input of script generators: a key set with its order, and a thread's share of the work.

use super::script::{OpKind, ScanExpectation, Script, ScriptOp, value_of};
use crate::keyset::{KeySet, PackedKeys, SeededRandom};

/// A key set with the ranks of its keys.
#[derive(Debug)]
pub struct RankedKeySet<'a> {
    /// The keys.
    pub set: &'a KeySet,
    /// The key numbers, in key order.
    order: Vec<u32>,
    /// The rank of each key in that order, by key number.
    ranks: Vec<u32>,
    /// The sums of the values of the first n keys in order, wrapping.
    sums: Vec<u64>,
}

/// A thread's share of the work.
#[derive(Debug, Clone, Copy)]
pub struct ThreadShare {
    /// The number of the thread, from 0.
    pub thread: usize,
    /// The number of threads.
    pub of: usize,
}

impl ThreadShare {
    /// All of the work.
    pub const ALL: Self = Self { thread: 0, of: 1 };

    /// Returns those numbers below `items` that belong to this thread.
    pub fn of(self, items: usize) -> std::iter::StepBy<std::ops::Range<usize>> {
        (self.thread..items).step_by(self.of)
    }

    /// Returns this thread's generator of random numbers.
    pub fn random(self, seed: u64) -> SeededRandom {
        SeededRandom::new(seed ^ (self.thread as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }
}

impl<'a> RankedKeySet<'a> {
    /// Sorts the keys of a set.
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

    /// Returns the keys.
    pub fn keys(&self) -> &'a PackedKeys {
        &self.set.keys
    }

    /// Returns the correct answer of a scan of `count` keys from a present key, on the unchanged
    /// set.
    pub fn scanned(&self, number: usize, count: usize, back: bool) -> ScanExpectation {
        let place = self.ranks[number] as usize;
        let (from, to) = if back {
            ((place + 1).saturating_sub(count), place + 1)
        } else {
            (place, (place + count).min(self.order.len()))
        };
        ScanExpectation { sum: self.sums[to].wrapping_sub(self.sums[from]), count: (to - from) as u32 }
    }

    /// Returns the correct answer of a lower bound from any key.
    pub fn lower_bound(&self, key: &[u8]) -> ScanExpectation {
        let place = self.order.partition_point(|&number| self.keys().get(number as usize) < key);
        let Some(&number) = self.order.get(place) else { return ScanExpectation { sum: 0, count: 0 } };
        ScanExpectation { sum: value_of(number as usize), count: 1 }
    }

    /// Adds an operation on a key of the set.
    pub fn push(&self, script: &mut Script, kind: OpKind, number: usize, count: u16) {
        script.push(ScriptOp { kind, count, number: number as u32 }, self.keys().get(number));
    }

    /// Adds an operation on an absent key. Absent keys are numbered after those of the set.
    pub fn push_absent(&self, script: &mut Script, kind: OpKind, absent: usize) {
        let number = (self.keys().len() + absent) as u32;
        script.push(ScriptOp { kind, count: 0, number }, self.set.absent.get(absent));
    }
}
