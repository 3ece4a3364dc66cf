//! PFSELFTEST: checks the encodings and the estimates against each other, in steps.
//!
//! 1. Random values of all registers are read as they were written.
//! 2. Elements are added to a dense and to a sparse value. At each power of ten both have the same
//!    count, and its error is at most six times the expected one.

use super::{Encoding, HyperLogLog, REGISTERS, dense, sparse};
use crate::redis::random::CommandRng;

/// How often all registers are written and read.
const CYCLES: u32 = 100;
/// Cycles of one step.
const STEP_CYCLES: u32 = 4;
/// The number of added elements.
const ELEMENTS: u64 = 1_000_000;
/// Elements of one step.
const STEP_ELEMENTS: u64 = 20_000;
/// The expected error of a count: 1.04 / √16384.
const EXPECTED_ERROR: f64 = 1.04 / 128.0;

/// A test that has not ended.
pub(crate) struct SelfTest {
    rng: CommandRng,
    cycles: u32,
    registers: Vec<u8>,
    /// Changes the elements from test to test.
    seed: u64,
    added: u64,
    /// The next number of elements at which the counts are checked.
    checked: u64,
    dense: HyperLogLog<Vec<u8>>,
    any: HyperLogLog<Vec<u8>>,
}

impl SelfTest {
    pub(crate) fn new() -> Self {
        let mut rng = CommandRng::new();
        let mut dense = HyperLogLog::new();
        let seed = rng.below(usize::MAX) as u64;
        // An empty value has right runs.
        let _ = dense.make_dense();
        Self {
            rng,
            cycles: 0,
            registers: vec![0; dense::LEN],
            seed,
            added: 0,
            checked: 1,
            dense,
            any: HyperLogLog::new(),
        }
    }

    /// Returns the bytes that it takes.
    pub(crate) fn memory(&self) -> usize {
        self.registers.capacity() + self.dense.bytes().len() + self.any.bytes().len()
    }

    /// Takes one step. Returns whether all is done, or a failure.
    pub(crate) fn step(&mut self) -> Result<bool, String> {
        if self.cycles < CYCLES {
            (0..STEP_CYCLES).try_for_each(|_| self.check_registers())?;
            self.cycles += STEP_CYCLES;
            return Ok(false);
        }
        for _ in 0..STEP_ELEMENTS {
            self.added += 1;
            let element = (self.added ^ self.seed).to_le_bytes();
            let added = self.dense.add(&element).and_then(|_| self.any.add(&element));
            added.map_err(|_| "the runs became wrong".to_owned())?;
            if self.added == self.checked {
                self.check_counts()?;
                self.checked *= 10;
            }
        }
        Ok(self.added >= ELEMENTS)
    }

    fn check_registers(&mut self) -> Result<(), String> {
        let values: Vec<u8> = (0..REGISTERS).map(|_| self.rng.below(64) as u8).collect();
        for (register, value) in values.iter().enumerate() {
            dense::set(&mut self.registers, register, *value);
        }
        for (register, value) in values.iter().enumerate() {
            let found = dense::get(&self.registers, register);
            if found != *value {
                return Err(format!("Register {register} should be {value} but is {found}"));
            }
        }
        Ok(())
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn check_counts(&self) -> Result<(), String> {
        let few = self.added < sparse::SPARSE_BYTES_MAX as u64 / 2;
        if few && self.any.encoding() != Encoding::Sparse {
            return Err("sparse encoding not used".to_owned());
        }
        let (Ok(count), Ok(other)) = (self.dense.count(), self.any.count()) else {
            return Err("the runs became wrong".to_owned());
        };
        if count != other {
            return Err("dense/sparse disagree".to_owned());
        }
        // Of ten elements, two in one register are already a great error.
        let most = if self.added == 10 { 1.0 } else { (EXPECTED_ERROR * 6.0 * self.added as f64).ceil() };
        let error = count.abs_diff(self.added);
        if error as f64 > most {
            return Err(format!("Too big error. card:{} abserr:{error}", self.added));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_passes() {
        // The first counts are enough here; the command's own test runs all of it.
        let mut test = SelfTest { cycles: CYCLES - STEP_CYCLES, ..SelfTest::new() };
        while test.added < 200_000 {
            assert_eq!(test.step(), Ok(false));
        }
        assert_eq!(test.any.encoding(), Encoding::Dense);
    }

    #[test]
    fn it_finds_a_wrong_count() {
        let mut test = SelfTest::new();
        test.any.add(b"one more").expect("right runs");
        test.added = 1;
        assert_eq!(test.check_counts(), Err("dense/sparse disagree".to_owned()));
    }
}
