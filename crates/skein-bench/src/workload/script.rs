//! Operations and their keys, in the order of their use.

use crate::keyset::{PackedKeys, mix};

/// What part of a script warms up: one operation in so many.
const WARM_UP_ONE_IN: usize = 20;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum OpKind {
    /// Sets a key, new or not.
    Put,
    /// Finds a key that is there.
    Get,
    /// Looks for a key that is not there.
    Miss,
    /// Finds the first key at or after one.
    LowerBound,
    /// Finds a key and sets it.
    ReadModifyWrite,
    /// Removes a key that is there.
    Remove,
    /// Reads keys upward.
    Scan,
    /// Reads keys downward.
    ScanBack,
}

impl OpKind {
    /// Whether a script may say what such an operation must find.
    fn expects(self) -> bool {
        matches!(self, Self::LowerBound | Self::Scan | Self::ScanBack)
    }
}

/// One operation.
#[derive(Debug, Clone, Copy)]
pub struct ScriptOp {
    /// What.
    pub kind: OpKind,
    /// How many keys a scan reads.
    pub count: u16,
    /// The number of the key in its set, by which values are known.
    pub number: u32,
}

/// What a script knows about the right answers to its scans and lower bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanExpectation {
    /// The sum of the values read, wrapping.
    pub sum: u64,
    /// How many keys.
    pub count: u32,
}

/// What one thread does.
#[derive(Debug, Default)]
pub struct Script {
    /// The operations.
    pub ops: Vec<ScriptOp>,
    /// Their keys, by position.
    pub keys: PackedKeys,
    /// For each scan and lower bound, in their order, what it must find; empty where others write meanwhile, so that only count
    /// and order of what is found can be checked.
    pub expect: Vec<ScanExpectation>,
}

/// The value that belongs to the `number`-th key: below 2^63, and never 0.
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

    /// The reads among the first twentieth: what warms an index up for the rest and changes nothing. Of D and E, reads of keys that
    /// are added meanwhile are not among them; `present` keys are there at first.
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

    /// How many operations there are.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }
}
