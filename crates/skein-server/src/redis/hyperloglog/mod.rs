//! HyperLogLogs: values that count distinct elements approximately, in Redis's format.
//!
//! ```text
//!   0      4        5        8              16
//!   ┌──────┬────────┬────────┬──────────────┬───────────────────────────────┐
//!   │ HYLL │encoding│ unused │ cached count │ 16384 registers               │
//!   └──────┴────────┴────────┴──────────────┴───────────────────────────────┘
//!            0 dense            little-       dense:  6 bits each (`dense`)
//!            1 sparse           endian        sparse: runs of equal ones (`sparse`)
//!
//!   element ─► hash: 64 bits ─► 14 bits select a register
//!                               50 bits: position of the lowest set bit, the greatest of which
//!                                        the register keeps
//!   registers ─► how many have each value ─► estimate of the count
//! ```
//!
//! The highest bit of the cached count tells that the count is out of date. The same elements make
//! the same bytes as in Redis, so a value moves between both servers. This module does not depend
//! on the server.
//!
//! Read in this order: this file; `element` (hash), `dense`, `sparse`, `estimate`. `self_test`
//! checks them against each other.
//!
//! # Invariants
//! 1. A [`HyperLogLog`] has a whole header, and all registers if it is dense.
//! 2. The runs of a sparse value may be wrong, because clients can write any value. Every function
//!    that reads all runs checks them ([`CorruptRuns`]).
//!
//! Sources: P. Flajolet, É. Fusy, O. Gandouet, F. Meunier, "HyperLogLog: the analysis of a
//! near-optimal cardinality estimation algorithm", `AofA` 2007; O. Ertl, "New cardinality
//! estimation algorithms for HyperLogLog sketches", arXiv:1702.01284, 2017 (the estimator).

mod dense;
mod element;
mod estimate;
mod self_test;
mod sparse;

pub(crate) use self_test::SelfTest;
pub(crate) use sparse::{RegisterRun, runs};

use element::position_of;
use estimate::{Histogram, estimate};
use sparse::SparseChange;

/// The number of registers.
pub(crate) const REGISTERS: usize = 1 << REGISTER_BITS;
/// Bits of the hash that select the register.
const REGISTER_BITS: u32 = 14;
/// The length of the header.
const HEADER: usize = 16;
const DENSE_LEN: usize = HEADER + dense::LEN;
const MAGIC: &[u8; 4] = b"HYLL";
const ENCODING: usize = 4;
const CACHED: std::ops::Range<usize> = 8..HEADER;
/// The bit of the last byte of the cached count that marks it as out of date.
const OUT_OF_DATE: u8 = 0x80;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Dense,
    Sparse,
}

/// The runs of a sparse value do not cover each register once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CorruptRuns;

/// A value with the form of a HyperLogLog: borrowed for reading, or owned for changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HyperLogLog<B> {
    bytes: B,
    encoding: Encoding,
}

impl<'v> HyperLogLog<&'v [u8]> {
    /// Returns the value as a HyperLogLog, or `None` if it has another form.
    pub(crate) fn of(value: &'v [u8]) -> Option<Self> {
        if value.len() < HEADER || !value.starts_with(MAGIC) {
            return None;
        }
        let encoding = match value[ENCODING] {
            0 if value.len() == DENSE_LEN => Encoding::Dense,
            1 => Encoding::Sparse,
            _ => return None,
        };
        Some(Self { bytes: value, encoding })
    }

    pub(crate) fn to_owned(&self) -> HyperLogLog<Vec<u8>> {
        HyperLogLog { bytes: self.bytes.to_vec(), encoding: self.encoding }
    }
}

impl<B: AsRef<[u8]>> HyperLogLog<B> {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the bytes of the registers.
    pub(crate) fn registers(&self) -> &[u8] {
        &self.bytes()[HEADER..]
    }

    /// Returns the count of the header, unless it is out of date.
    pub(crate) fn cached_count(&self) -> Option<u64> {
        let cached = self.bytes()[CACHED].first_chunk().copied()?;
        (cached[7] & OUT_OF_DATE == 0).then_some(u64::from_le_bytes(cached))
    }

    /// Computes the count of distinct elements.
    pub(crate) fn count(&self) -> Result<u64, CorruptRuns> {
        let mut histogram = Histogram::default();
        self.each_run(|run| histogram.add(run.value, run.len))?;
        Ok(estimate(&histogram))
    }

    /// Calls `each` with all registers in order, as runs of equal ones.
    fn each_run(&self, mut each: impl FnMut(RegisterRun)) -> Result<(), CorruptRuns> {
        match self.encoding {
            Encoding::Dense => {
                let registers = self.registers();
                let values = (0..REGISTERS).map(|at| dense::get(registers, at));
                values.enumerate().for_each(|(first, value)| each(RegisterRun { first, len: 1, value }));
                Ok(())
            }
            Encoding::Sparse => sparse::each_run(self.registers(), each),
        }
    }
}

impl HyperLogLog<Vec<u8>> {
    /// Returns a HyperLogLog without elements.
    pub(crate) fn new() -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[..MAGIC.len()].copy_from_slice(MAGIC);
        bytes[ENCODING] = 1;
        bytes.extend_from_slice(&sparse::EMPTY);
        Self { bytes, encoding: Encoding::Sparse }
    }

    /// Adds an element. Returns whether a register changed.
    pub(crate) fn add(&mut self, element: &[u8]) -> Result<bool, CorruptRuns> {
        let (register, value) = position_of(element);
        self.raise(register, value)
    }

    /// Raises a register to a value. Returns whether it was lower.
    pub(crate) fn raise(&mut self, register: usize, value: u8) -> Result<bool, CorruptRuns> {
        if self.encoding == Encoding::Sparse {
            match sparse::raise(&mut self.bytes, register, value)? {
                SparseChange::None => return Ok(false),
                SparseChange::Done => return Ok(true),
                SparseChange::NeedsDense => self.make_dense()?,
            }
        }
        Ok(dense::raise(&mut self.bytes[HEADER..], register, value))
    }

    /// Changes the encoding to the dense one. Returns after an error with the value unchanged.
    pub(crate) fn make_dense(&mut self) -> Result<(), CorruptRuns> {
        if self.encoding == Encoding::Dense {
            return Ok(());
        }
        let mut bytes = vec![0; DENSE_LEN];
        bytes[..HEADER].copy_from_slice(&self.bytes[..HEADER]);
        bytes[ENCODING] = 0;
        let registers = &mut bytes[HEADER..];
        self.each_run(|run| {
            (run.first..run.first + run.len).for_each(|at| dense::set(registers, at, run.value));
        })?;
        *self = Self { bytes, encoding: Encoding::Dense };
        Ok(())
    }

    /// Marks the cached count as out of date.
    pub(crate) fn forget_count(&mut self) {
        self.bytes[CACHED.end - 1] |= OUT_OF_DATE;
    }

    /// Keeps a count in the header.
    pub(crate) fn cache_count(&mut self, count: u64) {
        self.bytes[CACHED].copy_from_slice(&count.to_le_bytes());
    }
}

/// The union of several HyperLogLogs: the greatest value of each register.
pub(crate) struct RegisterUnion(Box<[u8; REGISTERS]>);

impl RegisterUnion {
    pub(crate) fn new() -> Self {
        Self(Box::new([0; REGISTERS]))
    }

    /// Adds the registers of a HyperLogLog. After an error, the union has some of them.
    pub(crate) fn add<B: AsRef<[u8]>>(&mut self, added: &HyperLogLog<B>) -> Result<(), CorruptRuns> {
        added.each_run(|run| {
            for register in &mut self.0[run.first..run.first + run.len] {
                *register = run.value.max(*register);
            }
        })
    }

    pub(crate) fn count(&self) -> u64 {
        let mut histogram = Histogram::default();
        self.0.iter().for_each(|value| histogram.add(*value, 1));
        estimate(&histogram)
    }

    /// Returns the values of all registers.
    pub(crate) fn values(&self) -> &[u8] {
        &self.0[..]
    }

    /// Returns the registers that are not 0.
    pub(crate) fn set(&self) -> impl Iterator<Item = (usize, u8)> {
        self.0.iter().copied().enumerate().filter(|(_, value)| *value > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(count: u32) -> HyperLogLog<Vec<u8>> {
        let mut value = HyperLogLog::new();
        for number in 0..count {
            value.add(number.to_string().as_bytes()).expect("a right value");
        }
        value
    }

    #[test]
    fn a_new_one_is_sparse_and_empty() {
        let new = HyperLogLog::new();
        assert_eq!(new.bytes(), b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\0\x7f\xff");
        assert_eq!((new.cached_count(), new.count()), (Some(0), Ok(0)));
    }

    #[test]
    fn both_encodings_count_alike() {
        for count in [0, 1, 2, 100, 900, 1_500] {
            let value = with(count);
            let mut dense = value.clone();
            dense.make_dense().expect("a right value");
            assert_eq!(dense.count(), value.count());
            let of = HyperLogLog::of(dense.bytes()).expect("a dense value");
            assert_eq!((of.encoding(), of.bytes().len()), (Encoding::Dense, DENSE_LEN));
            assert!(
                value.count().expect("a count").abs_diff(count.into()) <= u64::from(count / 20),
                "{count}"
            );
        }
    }

    #[test]
    fn many_elements_need_the_dense_encoding() {
        assert_eq!(with(500).encoding(), Encoding::Sparse);
        let many = with(20_000);
        assert_eq!(many.encoding(), Encoding::Dense);
        assert!(many.count().expect("a count").abs_diff(20_000) < 600);
    }

    #[test]
    fn an_element_changes_a_register_once() {
        let mut value = HyperLogLog::new();
        assert_eq!((value.add(b"a"), value.add(b"a"), value.add(b"b")), (Ok(true), Ok(false), Ok(true)));
    }

    #[test]
    fn a_union_has_the_elements_of_both() {
        let (one, other) = (with(300), with(5_000));
        let mut union = RegisterUnion::new();
        assert_eq!((union.add(&one), union.add(&other)), (Ok(()), Ok(())));
        assert_eq!(Ok(union.count()), other.count());
    }

    #[test]
    fn the_cached_count_is_forgotten_and_kept() {
        let mut value = with(3);
        value.forget_count();
        assert_eq!(value.cached_count(), None);
        value.cache_count(3);
        assert_eq!(value.cached_count(), Some(3));
    }

    #[test]
    fn other_values_are_none() {
        let dense = {
            let mut dense = with(1);
            dense.make_dense().expect("a right value");
            dense.bytes().to_vec()
        };
        for value in [
            &b""[..],
            b"HYLL",
            b"HYLX\x01\0\0\0\0\0\0\0\0\0\0\0",
            b"HYLL\x02\0\0\0\0\0\0\0\0\0\0\0",
            &dense[1..],
            &dense[..DENSE_LEN - 1],
        ] {
            assert_eq!(HyperLogLog::of(value), None);
        }
        // Without runs, it has the form, but not the registers.
        let empty = HyperLogLog::of(b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80").expect("a header");
        assert_eq!((empty.count(), empty.to_owned().add(b"a")), (Err(CorruptRuns), Err(CorruptRuns)));
    }

    proptest::proptest! {
        #[test]
        fn any_value_is_read_without_a_panic(runs: Vec<u8>, elements: Vec<u16>) {
            let bytes = [&b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80"[..], &runs].concat();
            let mut value = HyperLogLog::of(&bytes).expect("a header").to_owned();
            let _ = value.count();
            for element in elements {
                let _ = value.add(&element.to_le_bytes());
            }
            let _ = (RegisterUnion::new().add(&value), value.make_dense());
        }
    }
}
