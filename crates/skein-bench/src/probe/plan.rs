//! The plan of a probe: footprints, groups and rounds.

use std::time::Duration;

use crate::{Error, Result};

/// The least footprint; a smaller one would fit the caches even of small machines.
pub const LEAST: u64 = 32 << 20;
/// The default footprint, if memory allows it.
const USUAL: u64 = 1 << 30;
/// The first footprint of the curve: within the first cache.
const CURVE_FROM: u64 = 4 << 10;
/// The greatest group, as in the paper.
const GREATEST_GROUP: usize = 120;

/// The plan of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbePlan {
    /// The footprints of the latency curve, rising; the last is the size of the mapped arrays.
    pub curve: Vec<u64>,
    /// The sizes of the arrays in which groups of reads are timed, rising; powers of two.
    pub arrays: Vec<u64>,
    /// The numbers of reads in a group, rising from 1.
    pub groups: Vec<usize>,
    /// The number of rounds per figure. The least time counts, because every disturbance only adds
    /// time.
    pub rounds: usize,
    /// The length of each measurement: shorter than the system's time slices.
    pub slice: Duration,
}

impl ProbePlan {
    /// Returns the full plan: about twenty seconds on an idle machine, under a minute on a busy
    /// one.
    ///
    /// # Errors
    /// If the footprint is too small, or too large for the memory that is free.
    pub fn full(footprint: Option<u64>, free: u64) -> Result<Self> {
        let footprint = allowed(footprint, free)?;
        let greatest = power(footprint);
        Ok(Self {
            curve: steps(CURVE_FROM, footprint),
            arrays: vec![greatest >> 4, greatest >> 2, greatest],
            groups: (1..=GREATEST_GROUP).collect(),
            rounds: 5,
            slice: Duration::from_millis(3),
        })
    }

    /// Returns the plan for the figures that every run carries, in a few seconds: powers of two,
    /// few groups, one array.
    ///
    /// # Errors
    /// As [`Self::full`].
    pub fn quick(footprint: Option<u64>, free: u64) -> Result<Self> {
        let full = Self::full(footprint, free)?;
        let last = full.curve.len() - 1;
        Ok(Self {
            curve: (0..=last)
                .filter(|at| full.curve[*at].is_power_of_two() || *at == last)
                .map(|at| full.curve[at])
                .collect(),
            arrays: full.arrays.last().copied().into_iter().collect(),
            groups: vec![1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, GREATEST_GROUP],
            rounds: 5,
            slice: Duration::from_millis(3),
        })
    }

    /// Returns the size of each of the two arrays.
    pub fn footprint(&self) -> u64 {
        self.curve.last().copied().unwrap_or(0)
    }
}

/// Returns the footprint to use. With the default, both arrays together take at most a quarter of
/// the free memory; a requested footprint may take a quarter for each.
fn allowed(asked: Option<u64>, free: u64) -> Result<u64> {
    let mebibytes = |bytes: u64| format!("{} MiB", bytes >> 20);
    let Some(asked) = asked else {
        let footprint = power(free / 8).min(USUAL);
        return if footprint >= LEAST {
            Ok(footprint)
        } else {
            Err(Error::Failed(format!(
                "{} of memory are free, but the probe needs {} to be free, of which it takes a \
                 quarter; stop other programs first",
                mebibytes(free),
                mebibytes(8 * LEAST)
            )))
        };
    };
    if asked < LEAST {
        return Err(Error::Input(format!(
            "a footprint of {asked} bytes is too small to exceed the caches; the least is {}",
            mebibytes(LEAST)
        )));
    }
    if asked > free / 4 {
        return Err(Error::Input(format!(
            "a footprint of {} is too large: two arrays of that size are mapped, each may take a \
             quarter of the free memory, and {} are free; the greatest footprint is {}",
            mebibytes(asked),
            mebibytes(free),
            mebibytes(free / 4)
        )));
    }
    Ok(asked)
}

/// Returns the greatest power of two that is at most `bytes`; 0 for 0.
fn power(bytes: u64) -> u64 {
    bytes.checked_ilog2().map_or(0, |log| 1 << log)
}

/// Returns 2, 3, 4, 6, 8, 12, ...: powers of two and the numbers half-way between them, from the
/// power `from` up to `to`.
pub fn steps(from: u64, to: u64) -> Vec<u64> {
    let pairs = (0..).map(|n| from << n).take_while(|&power| power <= to);
    pairs.flat_map(|power| [power, power + power / 2]).filter(|&step| step <= to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn steps_are_powers_and_half_way() {
        assert_eq!(steps(4, 13), [4, 6, 8, 12]);
        assert!(steps(4, 3).is_empty());
    }

    #[test]
    fn the_usual_footprint_leaves_memory_to_others() {
        for (free, footprint) in [(100 * GIB, GIB), (8 * GIB, GIB), (7 * GIB, GIB / 2), (GIB / 4, LEAST)] {
            let plan = ProbePlan::full(None, free).expect("enough");
            assert_eq!(plan.footprint(), footprint);
            assert!(2 * footprint <= free / 4);
            assert_eq!(plan.arrays.last(), Some(&footprint));
        }
        let error = ProbePlan::full(None, GIB / 8).expect_err("too little").to_string();
        assert!(error.contains("128 MiB") && error.contains("256 MiB"), "{error}");
        assert!(ProbePlan::full(None, 0).is_err());
    }

    #[test]
    fn a_requested_footprint_is_used_or_rejected() {
        let plan = ProbePlan::full(Some(3 * GIB), 16 * GIB).expect("it fits");
        assert_eq!((plan.footprint(), plan.arrays.last()), (3 * GIB, Some(&(2 * GIB))));
        let error = ProbePlan::full(Some(5 * GIB), 16 * GIB).expect_err("too large").to_string();
        assert!(error.contains("5120 MiB") && error.contains("4096 MiB"), "{error}");
        let error = ProbePlan::full(Some(1), 16 * GIB).expect_err("too small").to_string();
        assert!(error.contains("1 bytes") && error.contains("32 MiB"), "{error}");
        assert!(ProbePlan::full(Some(u64::MAX), u64::MAX - 7).is_err());
    }

    #[test]
    fn plans_begin_with_one_read_and_fill_their_arrays() {
        for plan in [
            ProbePlan::full(None, 16 * GIB),
            ProbePlan::quick(None, 16 * GIB),
            ProbePlan::quick(Some(100 << 20), GIB),
        ] {
            let plan = plan.expect("it fits");
            assert_eq!((plan.groups[0], plan.groups.last()), (1, Some(&120)));
            assert!(plan.curve.is_sorted() && plan.arrays.is_sorted());
            assert!(plan.arrays.iter().all(|&bytes| bytes.is_power_of_two() && bytes <= plan.footprint()));
            assert!(plan.rounds >= 1);
        }
    }
}
