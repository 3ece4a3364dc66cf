//! The time of one memory read, as a unit for the operations of an index: the probe's dependent
//! read, in as much memory as the index takes.

use std::time::Duration;

use super::Bench;
use super::findings::MeasureSpec;
use super::grid::GridPoint;
use crate::probe::{self, PageKind};
use crate::{Error, Result};

/// The contender's name in reports.
const READER: &str = "a read of memory";
/// The measure of its time.
pub const READ: MeasureSpec<'_> = MeasureSpec::less("a read of memory", "ns");

/// The bytes that one of our indexes takes per key, about.
const PER_KEY: u64 = 64;
/// The greatest array, in bytes.
const MOST: u64 = 1 << 30;
/// The smallest array, in bytes.
const LEAST: u64 = 1 << 20;
/// Repetitions per round. The quickest counts, because every disturbance only adds time.
const LOOKS: usize = 3;

/// Returns the size of the array for an index of this many keys.
fn array(keys: usize) -> u64 {
    (keys as u64 * PER_KEY).next_power_of_two().clamp(LEAST, MOST)
}

/// Returns the memory that the measurement needs at most: one array on huge pages, one on small
/// pages, and room to align them.
pub fn memory(keys: usize) -> u64 {
    2 * array(keys) + (16 << 20)
}

/// Measures the read once for this point; returns nanoseconds.
///
/// # Errors
/// If the system refuses the memory.
pub fn measure(bench: &mut Bench, point: &GridPoint) -> Result<f64> {
    let bytes = array(point.count);
    let plan = probe::ProbePlan {
        curve: vec![bytes],
        arrays: vec![bytes],
        groups: vec![1, 2],
        rounds: LOOKS,
        slice: Duration::from_millis(3),
    };
    let report = probe::run(&plan, &mut |_, _| ())?;
    let read = report.on(PageKind::Huge).and_then(|on| on.read_ns.last());
    let (_, ns) = *read.ok_or_else(|| Error::Failed("the probe returned no time of a read".to_owned()))?;
    let about =
        format!("the probe's dependent read of a random line, in {} on huge pages", probe::size(bytes));
    bench.findings.contender(READER, &about);
    bench.add(READ, READER, point.at.as_ref(), ns)?;
    Ok(ns)
}

/// Returns the time per operation of each contender at a point, in the last round: pairs of a name
/// and nanoseconds.
pub fn times(bench: &Bench, measure: &str, point: &GridPoint) -> Vec<(String, f64)> {
    let here = bench.findings.cells.iter().filter(|cell| cell.measure == measure && cell.at == point.at);
    here.filter_map(|cell| Some((cell.contender.clone(), 1e3 / cell.rounds.last()?))).collect()
}

/// Records the time of a measure's operations at a point, in the last round and for each contender,
/// as a number of memory reads that take `read_ns` each.
///
/// # Errors
/// If a figure is not finite.
pub fn add_in_reads(
    bench: &mut Bench,
    measure: &str,
    point: &GridPoint,
    place: MeasureSpec<'_>,
    read_ns: f64,
) -> Result<()> {
    for (name, ns) in times(bench, measure, point) {
        bench.add(place, &name, point.at.as_ref(), ns / read_ns)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_array_is_as_large_as_the_index_within_limits() {
        assert_eq!([0, 100_000, 5_000_000, 200_000_000].map(array), [LEAST, 8 << 20, 512 << 20, MOST]);
        assert!(memory(5_000_000) > 2 << 29);
    }
}
