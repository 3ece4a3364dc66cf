//! The timed loops. The compiler instantiates each for each contender. They check every answer.

use std::hint::black_box;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::script::{OpKind, ScanExpectation, Script, ScriptOp, value_of};
use crate::keyset::PackedKeys;
use crate::rival::index::IndexContender;
use crate::sys::LoopClock;

/// The number of keys per pin: enough that a pin costs little, few enough that freed memory is
/// reclaimed soon.
const PINNED: usize = 1024;

/// The mode of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunMode {
    /// The clock.
    pub clock: LoopClock,
    /// The dependence between operations.
    pub style: LoopStyle,
}

/// The dependence of an operation on the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopStyle {
    /// Operations run in sequence; the processor may overlap one with the next.
    Independent,
    /// The position of the next operation depends on the last answer, so the figure is a single
    /// query's latency.
    Dependent,
    /// Batched lookups of this many keys; for scripts of lookups only.
    Batches(usize),
    /// Operations run in sequence; each is timed.
    Timed,
}

/// The time and the answers of a loop.
#[derive(Debug)]
pub struct LoopOutcome {
    /// The number of operations.
    pub operations: usize,
    /// The number of keys that scans and lower bounds read.
    pub keys_read: usize,
    /// The time of the whole loop.
    pub took: Duration,
    /// The number of wrong answers.
    pub wrong: usize,
    /// The nanoseconds per operation, with [`LoopStyle::Timed`].
    pub latency_ns: Option<Histogram<u64>>,
}

impl LoopOutcome {
    /// Returns millions of operations per second.
    pub fn mops(&self) -> f64 {
        self.operations as f64 / self.took.as_secs_f64() / 1e6
    }

    /// Returns millions of keys read per second.
    pub fn mkeys(&self) -> f64 {
        self.keys_read as f64 / self.took.as_secs_f64() / 1e6
    }
}

/// Inserts every `step`-th key from `first` on.
pub fn fill<C: IndexContender>(
    index: &C,
    keys: &PackedKeys,
    first: usize,
    step: usize,
    clock: LoopClock,
) -> LoopOutcome {
    let start = clock.now();
    let (mut n, mut operations) = (first, 0);
    while n < keys.len() {
        let pin = index.pin();
        let mut left = PINNED;
        while n < keys.len() && left > 0 {
            index.insert(&pin, keys.get(n), value_of(n));
            n += step;
            left -= 1;
            operations += 1;
        }
    }
    LoopOutcome { operations, keys_read: 0, took: clock.since(start), wrong: 0, latency_ns: None }
}

/// Runs a script.
pub fn run<C: IndexContender>(index: &C, script: &Script, how: RunMode) -> LoopOutcome {
    let mut state = ScriptRun { script, expect: &script.expect, keys_read: 0, wrong: 0 };
    let mut latency = None;
    let start = how.clock.now();
    match how.style {
        LoopStyle::Independent => one_by_one(index, script, |pin, at| state.step(index, pin, at)),
        LoopStyle::Dependent => dependent(index, script, &mut state),
        LoopStyle::Batches(size) => batches(index, script, size, &mut state),
        LoopStyle::Timed => latency = Some(timed(index, script, &mut state, how.clock)),
    }
    let took = how.clock.since(start);
    LoopOutcome {
        operations: script.len(),
        keys_read: state.keys_read,
        took,
        wrong: state.wrong,
        latency_ns: latency,
    }
}

/// Calls `step` with the position of each operation, and renews the pin every [`PINNED`] keys.
#[inline(always)]
fn one_by_one<'a, C: IndexContender>(
    index: &'a C,
    script: &Script,
    mut step: impl FnMut(&C::Pin<'a>, usize) -> usize,
) {
    let mut at = 0;
    while at < script.len() {
        let pin = index.pin();
        let mut touched = 0;
        while at < script.len() && touched < PINNED {
            touched += usize::from(script.ops[at].count).max(1);
            step(&pin, at);
            at += 1;
        }
    }
}

fn dependent<C: IndexContender>(index: &C, script: &Script, state: &mut ScriptRun<'_>) {
    // Values are below 2^63, so this stays 0; but the processor must wait for the answer to know.
    let mut carry = 0;
    one_by_one(index, script, |pin, at| {
        let answer = state.step(index, pin, at + carry);
        carry = black_box(answer) >> 63;
        carry
    });
}

fn timed<C: IndexContender>(
    index: &C,
    script: &Script,
    state: &mut ScriptRun<'_>,
    clock: LoopClock,
) -> Histogram<u64> {
    // Three digits up to a minute need 64 KiB, and the histogram's limit is a minute, so neither
    // call fails.
    let mut latency = Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("good bounds");
    one_by_one(index, script, |pin, at| {
        let start = clock.now();
        let answer = state.step(index, pin, at);
        latency.saturating_record(clock.since(start).as_nanos() as u64);
        answer
    });
    latency
}

fn batches<C: IndexContender>(index: &C, script: &Script, size: usize, state: &mut ScriptRun<'_>) {
    let mut keys: Vec<&[u8]> = Vec::with_capacity(size);
    let mut first = 0;
    while first < script.len() {
        let pin = index.pin();
        let under_pin = (first + PINNED.next_multiple_of(size)).min(script.len());
        while first < under_pin {
            let end = (first + size).min(script.len());
            keys.clear();
            keys.extend((first..end).map(|at| script.keys.get(at)));
            let mut right = 0;
            index.get_many(&pin, &keys, |position, answer| {
                right += usize::from(answer == wanted(script.ops[first + position]));
            });
            state.wrong += keys.len() - right;
            first = end;
        }
    }
}

/// Returns the correct answer of a lookup.
#[inline(always)]
fn wanted(op: ScriptOp) -> Option<u64> {
    (op.kind != OpKind::Miss).then(|| value_of(op.number as usize))
}

struct ScriptRun<'s> {
    script: &'s Script,
    /// The correct answers of the remaining scans.
    expect: &'s [ScanExpectation],
    keys_read: usize,
    wrong: usize,
}

impl ScriptRun<'_> {
    /// Runs one operation and checks its answer; returns bits of the answer.
    #[inline(always)]
    fn step<'a, C: IndexContender>(&mut self, index: &'a C, pin: &C::Pin<'a>, at: usize) -> usize {
        let (op, key) = (self.script.ops[at], self.script.keys.get(at));
        let value = value_of(op.number as usize);
        match op.kind {
            OpKind::Get | OpKind::Miss => self.lookup(index, pin, op, key),
            OpKind::Put => {
                index.insert(pin, key, value);
                0
            }
            OpKind::ReadModifyWrite => {
                let answer = self.lookup(index, pin, op, key);
                index.insert(pin, key, value);
                answer
            }
            OpKind::Remove => {
                self.wrong += usize::from(!index.remove(pin, key));
                0
            }
            OpKind::LowerBound => {
                let mut reader = ScanReader::new(key, false);
                index.scan(pin, key, 1, |key, value| reader.read(key, value));
                self.close(&reader, 1)
            }
            OpKind::Scan => {
                let mut reader = ScanReader::new(key, false);
                index.scan(pin, key, usize::from(op.count), |key, value| reader.read(key, value));
                self.close(&reader, op.count)
            }
            OpKind::ScanBack => {
                let mut reader = ScanReader::new(key, true);
                index.scan_back(pin, key, usize::from(op.count), |key, value| reader.read(key, value));
                self.close(&reader, op.count)
            }
        }
    }

    #[inline(always)]
    fn lookup<'a, C: IndexContender>(
        &mut self,
        index: &'a C,
        pin: &C::Pin<'a>,
        op: ScriptOp,
        key: &[u8],
    ) -> usize {
        let answer = index.get(pin, key);
        self.wrong += usize::from(answer != wanted(op));
        answer.unwrap_or(0) as usize
    }

    /// Checks the keys that a scan read: exactly if the script has the answer, else by count and
    /// order.
    #[inline(always)]
    fn close(&mut self, reader: &ScanReader, limit: u16) -> usize {
        self.keys_read += reader.found.count as usize;
        let right = match self.expect.split_first() {
            Some((expected, rest)) => {
                self.expect = rest;
                reader.found == *expected
            }
            None => reader.found.count <= u32::from(limit),
        };
        self.wrong += usize::from(!(right && reader.ordered));
        // The result is below 2^63, so that a dependent loop keeps its position.
        black_box(reader.last_bytes) & (usize::MAX >> 1)
    }
}

/// The visitor of a scan: reads each key to its last byte.
struct ScanReader {
    found: ScanExpectation,
    last_bytes: usize,
    /// The head of the last key, and whether all heads were in order so far.
    edge: u64,
    down: bool,
    ordered: bool,
}

impl ScanReader {
    #[inline(always)]
    fn new(from: &[u8], down: bool) -> Self {
        Self {
            found: ScanExpectation { sum: 0, count: 0 },
            last_bytes: 0,
            edge: head(from),
            down,
            ordered: true,
        }
    }

    #[inline(always)]
    fn read(&mut self, key: &[u8], value: u64) {
        self.found.sum = self.found.sum.wrapping_add(value);
        self.found.count += 1;
        self.last_bytes += key.last().map_or(0, |&byte| usize::from(byte));
        let place = head(key);
        self.ordered &= if self.down { place <= self.edge } else { place >= self.edge };
        self.edge = place;
    }
}

/// Returns the first 8 bytes as an integer that sorts as they do.
#[inline(always)]
pub fn head(key: &[u8]) -> u64 {
    if let Some(bytes) = key.first_chunk() {
        return u64::from_be_bytes(*bytes);
    }
    let mut bytes = [0; 8];
    bytes[..key.len()].copy_from_slice(key);
    u64::from_be_bytes(bytes)
}
