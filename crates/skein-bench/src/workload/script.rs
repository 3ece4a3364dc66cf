//! Scripts: operations and their keys, in the order of their use.

use crate::keyset::{PackedKeys, mix};

/// A warm-up runs one in this many operations of a script.
const WARM_UP_ONE_IN: usize = 20;

/// The kinds of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum OpKind {
    /// Sets a key, present or not.
    Put,
    /// Looks up a present key.
    Get,
    /// Looks up an absent key.
    Miss,
    /// Finds the first key at or after a given one.
    LowerBound,
    /// Looks up a key and sets it.
    ReadModifyWrite,
    /// Removes a present key.
    Remove,
    /// Reads keys upward.
    Scan,
    /// Reads keys downward.
    ScanBack,
}

impl OpKind {
    /// Returns whether a script may hold the expected answer of such an operation.
    fn expects(self) -> bool {
        matches!(self, Self::LowerBound | Self::Scan | Self::ScanBack)
    }
}

/// One operation.
#[derive(Debug, Clone, Copy)]
pub struct ScriptOp {
    /// Its kind.
    pub kind: OpKind,
    /// The number of keys that a scan reads.
    pub count: u16,
    /// The number of the key in its set. Its value is computed from this number.
    pub number: u32,
}

/// The correct answer of a scan or a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanExpectation {
    /// The sum of the values read, wrapping.
    pub sum: u64,
    /// The number of keys.
    pub count: u32,
}

/// The operations of one thread.
#[derive(Debug, Default)]
pub struct Script {
    /// The operations.
    pub ops: Vec<ScriptOp>,
    /// Their keys, by position.
    pub keys: PackedKeys,
    /// The correct answer of each scan and lower bound, in order. Empty if other threads write
    /// meanwhile; then the loop checks only the count and the order of keys.
    pub expect: Vec<ScanExpectation>,
}

/// Returns the value of the `number`-th key: below 2^63, and never 0.
#[inline(always)]
pub fn value_of(number: usize) -> u64 {
    (mix(number as u64) >> 1) | 1
}

impl Script {
    /// Adds an operation on a key.
    pub fn push(&mut self, op: ScriptOp, key: &[u8]) {
        self.ops.push(op);
        self.keys.push(key);
    }

    /// Returns the reads among the first twentieth of the operations: they warm the index up and
    /// change nothing. Reads of keys that workloads D and E add during the run are left out;
    /// `present` keys are there at first.
    #[must_use]
    pub fn warm_up(&self, present: usize) -> Self {
        let mut warm_up = Self::default();
        for at in 0..self.len() / WARM_UP_ONE_IN {
            let op = self.ops[at];
            let reads = match op.kind {
                OpKind::Put | OpKind::ReadModifyWrite | OpKind::Remove => false,
                OpKind::Miss | OpKind::LowerBound => true,
                OpKind::Get | OpKind::Scan | OpKind::ScanBack => (op.number as usize) < present,
            };
            if reads {
                warm_up.push(op, self.keys.get(at));
            }
        }
        let scans = warm_up.ops.iter().filter(|op| op.kind.expects()).count();
        warm_up.expect.extend(self.expect.iter().take(scans));
        warm_up
    }

    /// Returns the number of operations.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Returns whether there are no operations.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }
}
