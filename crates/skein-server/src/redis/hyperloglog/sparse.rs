//! The sparse encoding: runs of registers with the same value.
//!
//! ```text
//!   00llllll            l + 1 zeros                up to 64
//!   01llllll llllllll   l + 1 zeros                up to 16384
//!   1vvvvvll            l + 1 registers of v + 1   up to 4, values up to 32
//! ```
//!
//! To raise a register, its run is split into up to three. Then neighbours with the same value are
//! joined. The result is not always the shortest one, but the bytes are those of Redis, step by
//! step. The same runs are split, and the same five runs are examined for joining.

use super::{CorruptRuns, HEADER, REGISTERS};

/// All registers are 0.
pub(super) const EMPTY: [u8; 2] = [0x7f, 0xff];
/// A value with more bytes becomes dense: Redis's default of `hll-sparse-max-bytes`.
pub(crate) const SPARSE_BYTES_MAX: usize = 3000;
/// The greatest value of a register in a run.
const VALUE_MAX: u8 = 32;
/// The most registers in a run with a value.
const VALUES_MAX: usize = 4;
/// The most registers in a run of zeros of one byte.
const ZEROS_MAX: usize = 64;
/// The number of runs that are looked at for joining, from the one before the change on.
const JOINED_MAX: usize = 5;

/// Registers with the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RegisterRun {
    pub first: usize,
    pub len: usize,
    pub value: u8,
}

/// A run, as it is encoded.
#[derive(Debug, Clone, Copy)]
struct EncodedRun {
    len: usize,
    value: u8,
    /// Bytes that it takes.
    width: usize,
}

impl EncodedRun {
    /// Reads the run at a position. A missing second byte counts as 0. REQUIRES: there is a byte.
    fn at(bytes: &[u8], position: usize) -> Self {
        let byte = bytes[position];
        let low = usize::from(byte & 0x3f);
        match byte >> 6 {
            0 => Self { len: low + 1, value: 0, width: 1 },
            1 => {
                let next = bytes.get(position + 1).copied().unwrap_or(0);
                Self { len: (low << 8 | usize::from(next)) + 1, value: 0, width: 2 }
            }
            _ => Self { len: (low & 3) + 1, value: (byte >> 2 & 0x1f) + 1, width: 1 },
        }
    }
}

/// Returns the byte of a run with a value. REQUIRES: value and length are in range.
fn encode(value: u8, len: usize) -> u8 {
    0x80 | (value - 1) << 2 | (len - 1) as u8
}

/// Appends a run of this value, unless it is empty. REQUIRES: value and length are in range.
fn push_run(out: &mut Vec<u8>, value: u8, len: usize) {
    match len {
        0 => {}
        _ if value > 0 => out.push(encode(value, len)),
        1..=ZEROS_MAX => out.push((len - 1) as u8),
        _ => out.extend_from_slice(&(0x4000 | (len - 1) as u16).to_be_bytes()),
    }
}

/// Returns all runs in order, with the kind of their encoding: whether it has two bytes. They are
/// not checked: they may cover too few or too many registers.
pub(crate) fn runs(bytes: &[u8]) -> impl Iterator<Item = (RegisterRun, bool)> {
    let (mut position, mut first) = (0, 0);
    std::iter::from_fn(move || {
        if position >= bytes.len() {
            return None;
        }
        let EncodedRun { len, value, width } = EncodedRun::at(bytes, position);
        let run = RegisterRun { first, len, value };
        position += width;
        first += len;
        Some((run, width == 2))
    })
}

/// Calls `each` with all runs in order. Errors if they do not cover each register once; `each` may
/// have been called with some of them.
pub(super) fn each_run(bytes: &[u8], mut each: impl FnMut(RegisterRun)) -> Result<(), CorruptRuns> {
    let mut end = 0;
    for (run, _) in runs(bytes) {
        end = run.first + run.len;
        if end > REGISTERS {
            return Err(CorruptRuns);
        }
        each(run);
    }
    if end == REGISTERS { Ok(()) } else { Err(CorruptRuns) }
}

/// The outcome of raising a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SparseChange {
    /// The register has the value already, or a greater one.
    None,
    Done,
    /// The new value does not fit. Nothing has changed.
    NeedsDense,
}

/// The run of a register.
struct FoundRun {
    /// Its position, and that of the run before it.
    at: usize,
    before: Option<usize>,
    /// Its first register.
    first: usize,
    run: EncodedRun,
}

impl FoundRun {
    fn of(value: &[u8], register: usize) -> Result<Self, CorruptRuns> {
        let (mut at, mut before, mut first) = (HEADER, None, 0);
        while at < value.len() {
            let run = EncodedRun::at(value, at);
            if register < first + run.len {
                return Ok(Self { at, before, first, run });
            }
            before = Some(at);
            at += run.width;
            first += run.len;
        }
        Err(CorruptRuns)
    }
}

/// Raises a register of a whole value, which begins with the header.
pub(super) fn raise(value: &mut Vec<u8>, register: usize, to: u8) -> Result<SparseChange, CorruptRuns> {
    if to > VALUE_MAX {
        return Ok(SparseChange::NeedsDense);
    }
    let FoundRun { at, before, first, run } = FoundRun::of(value, register)?;
    if run.value >= to {
        return Ok(SparseChange::None);
    }
    let mut split = Vec::with_capacity(5);
    push_run(&mut split, run.value, register - first);
    push_run(&mut split, to, 1);
    push_run(&mut split, run.value, first + run.len - register - 1);
    let len = value.len() + split.len() - run.width;
    if split.len() > run.width && len > SPARSE_BYTES_MAX {
        return Ok(SparseChange::NeedsDense);
    }
    // Of a run that is cut off at the end, one byte is missing.
    let end = (at + run.width).min(value.len());
    value.splice(at..end, split);
    value.truncate(len);
    join_neighbours(value, before.unwrap_or(HEADER));
    Ok(SparseChange::Done)
}

/// Joins neighbours with the same value, among the runs from a position on.
fn join_neighbours(value: &mut Vec<u8>, mut at: usize) {
    for _ in 0..JOINED_MAX {
        if at >= value.len() {
            return;
        }
        let run = EncodedRun::at(value, at);
        if run.value > 0 && at + 1 < value.len() {
            let next = EncodedRun::at(value, at + 1);
            if next.value == run.value && run.len + next.len <= VALUES_MAX {
                value[at + 1] = encode(run.value, run.len + next.len);
                value.remove(at);
                continue;
            }
        }
        at += run.width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(runs: &[u8]) -> Vec<u8> {
        [&[0; HEADER][..], runs].concat()
    }

    fn values(bytes: &[u8]) -> Vec<u8> {
        runs(bytes).flat_map(|(run, _)| vec![run.value; run.len]).collect()
    }

    #[test]
    fn a_run_is_split_around_a_register() {
        for (register, runs) in [
            (0, &[0x80, 0x7f, 0xfe][..]),
            (1, &[0x00, 0x80, 0x7f, 0xfd]),
            (64, &[0x3f, 0x80, 0x7f, 0xbe]),
            (65, &[0x40, 0x40, 0x80, 0x7f, 0xbd]),
            (REGISTERS - 65, &[0x7f, 0xbe, 0x80, 0x3f]),
            (REGISTERS - 1, &[0x7f, 0xfe, 0x80]),
        ] {
            let mut empty = value(&EMPTY);
            assert_eq!(raise(&mut empty, register, 1), Ok(SparseChange::Done));
            assert_eq!(empty[HEADER..], *runs, "{register}");
            let found = values(&empty[HEADER..]);
            assert_eq!((found.len(), found[register]), (REGISTERS, 1));
        }
    }

    #[test]
    fn neighbours_with_one_value_are_joined() {
        let mut joined = value(&EMPTY);
        for register in [10, 12, 11, 13, 14] {
            assert_eq!(raise(&mut joined, register, 3), Ok(SparseChange::Done));
        }
        assert_eq!(joined[HEADER..], [9, encode(3, 4), encode(3, 1), 0x7f, 0xf0]);
        assert_eq!(raise(&mut joined, 11, 3), Ok(SparseChange::None));
        assert_eq!(raise(&mut joined, 11, 5), Ok(SparseChange::Done));
        assert_eq!(joined[HEADER..][..4], [9, encode(3, 1), encode(5, 1), encode(3, 3)]);
    }

    #[test]
    fn a_great_value_or_a_long_one_needs_the_other_encoding() {
        let mut long = value(&EMPTY);
        assert_eq!(raise(&mut long, 0, VALUE_MAX + 1), Ok(SparseChange::NeedsDense));
        let full = (0..REGISTERS)
            .step_by(2)
            .find(|at| raise(&mut long, *at, (at % 31 + 1) as u8) == Ok(SparseChange::NeedsDense));
        assert!(full.is_some() && long.len() <= SPARSE_BYTES_MAX && long.len() > SPARSE_BYTES_MAX - 3);
    }

    #[test]
    fn wrong_runs_are_errors() {
        for runs in [&b""[..], b"\x00", b"\x7f\xff\x00", b"\x7f\xff\xff", b"\x7f", b"\x7f\xfe"] {
            assert_eq!(each_run(runs, |_| {}), Err(CorruptRuns), "{runs:?}");
        }
        assert_eq!(each_run(&EMPTY, |_| {}), Ok(()));
        assert_eq!(raise(&mut value(b"\x00"), 1, 1), Err(CorruptRuns));
    }
}
