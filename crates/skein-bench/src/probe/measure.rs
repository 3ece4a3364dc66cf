//! The rounds of the probe: huge and small pages take turns at every figure, and the least time of
//! the rounds counts.

use super::ProbeWatcher;
use super::array::{Array, LINE, PageKind};
use super::fit::fit;
use super::loops::{ExtraRead, LinkWalk, RandomReads};
use super::plan::{LEAST, ProbePlan};
use super::plateau::plateaus;
use super::report::{NeighbourCosts, PageKindReport, ReadGroups};
use crate::machine::CpuCache;
use crate::result::Summary;
use crate::{Error, Result};

/// The steps that load lines into the caches before a walk is timed: more than a second cache has
/// lines.
const WARM_STEPS: usize = 1 << 17;
/// The same for the first caches, between rounds.
const NEAR_STEPS: usize = 1 << 14;
/// The approximate share of the time of each of the three measurements.
const SHARES: [f64; 3] = [0.3, 0.05, 0.65];

/// The figures, in the order of the fields of [`super::ProbeReport`].
pub struct ProbeMeasurements {
    pub pages: Vec<PageKindReport>,
    pub neighbours: NeighbourCosts,
    pub noise: f64,
}

/// Returns the least of several rounds and records how far the median was above it.
#[derive(Debug, Default)]
struct Noise(Vec<f64>);

impl Noise {
    fn least(&mut self, rounds: &[f64]) -> f64 {
        let summary = Summary::of(rounds);
        self.0.push(summary.median / summary.least - 1.0);
        summary.least
    }
}

/// Measures everything on the calling thread, which must be pinned.
pub fn measure(plan: &ProbePlan, caches: &[CpuCache], watch: ProbeWatcher<'_>) -> Result<ProbeMeasurements> {
    let mut noise = Noise::default();
    let mut arrays =
        [Array::map(plan.footprint(), PageKind::Huge)?, Array::map(plan.footprint(), PageKind::Small)?];
    let curves = curves(plan, &mut arrays, &mut noise, &mut |done| watch("latency", SHARES[0] * done));
    let neighbours = neighbours(plan, caches, &arrays[0], &mut |done| {
        watch("neighbours", SHARES[0] + SHARES[1] * done);
    });
    let groups = groups(plan, &arrays, &mut noise, &mut |done| {
        watch("parallel reads", SHARES[0] + SHARES[1] + SHARES[2] * done);
    })?;
    let mut pages = Vec::new();
    for (((kind, array), read_ns), groups) in
        [PageKind::Huge, PageKind::Small].into_iter().zip(&arrays).zip(curves).zip(groups)
    {
        let plateaus = plateaus(&read_ns, caches);
        let (bytes, huge_bytes) = (plan.footprint(), array.huge_bytes()?);
        pages.push(PageKindReport { pages: kind, bytes, huge_bytes, read_ns, plateaus, groups });
    }
    Ok(ProbeMeasurements { pages, neighbours, noise: Summary::of(&noise.0).median })
}

type ShareCallback<'a> = &'a mut dyn FnMut(f64);

/// Fills the arrays, from footprint to footprint, and times a walk at each.
fn curves(
    plan: &ProbePlan,
    arrays: &mut [Array; 2],
    noise: &mut Noise,
    watch: ShareCallback<'_>,
) -> [Vec<(u64, f64)>; 2] {
    let mut curves = [Vec::new(), Vec::new()];
    // Large footprints take long to fill, small ones to time; the logarithm is a compromise.
    for (number, &bytes) in plan.curve.iter().enumerate() {
        watch(share(number, plan.curve.len()));
        for array in arrays.iter_mut() {
            array.fill(bytes);
        }
        let mut walks = [LinkWalk::new(arrays[0].lines()), LinkWalk::new(arrays[1].lines())];
        for walk in &mut walks {
            walk.go(WARM_STEPS);
        }
        let mut rounds = [Vec::new(), Vec::new()];
        for _ in 0..plan.rounds {
            for (walk, rounds) in walks.iter_mut().zip(&mut rounds) {
                // The other array's walk has evicted this one's lines from the near caches.
                walk.go(((bytes / LINE) as usize).min(NEAR_STEPS));
                rounds.push(walk.time(plan.slice));
            }
        }
        for (curve, rounds) in curves.iter_mut().zip(&rounds) {
            curve.push((bytes, noise.least(rounds)));
        }
    }
    curves
}

/// Times the reads after eight others, and subtracts the time of the eight.
///
/// The least of such differences means nothing. The lower quartile is hardly affected by
/// disturbances in some of the rounds.
fn neighbours(
    plan: &ProbePlan,
    caches: &[CpuCache],
    array: &Array,
    watch: ShareCallback<'_>,
) -> NeighbourCosts {
    let bytes = beyond(caches, plan.arrays.last().copied().unwrap_or(LINE));
    let mut reads = RandomReads::new(&array.lines()[..(bytes / LINE) as usize], 1);
    // The differences are small compared with the times, so many short rounds are needed, all under
    // the same conditions.
    let (many, slice) = (20 * plan.rounds, plan.slice / 3);
    let mut rounds = [const { Vec::new() }; ExtraRead::ALL.len()];
    for round in 0..many {
        watch(share(round, many));
        for (after, rounds) in ExtraRead::ALL.into_iter().zip(&mut rounds) {
            rounds.push(reads.time_after(after, slice));
        }
    }
    let [nothing, rest @ ..] = rounds.map(lower_quartile);
    let [same_ns, neighbour_ns, across_ns, random_ns] = rest.map(|ns| (ns - nothing).max(0.0));
    NeighbourCosts { bytes, random_ns, same_ns, neighbour_ns, across_ns }
}

/// Returns the size of an array larger than all caches, but no larger than needed, since larger
/// arrays give less even times. At most `greatest`.
fn beyond(caches: &[CpuCache], greatest: u64) -> u64 {
    let last = caches.last().map_or(0, |last| last.bytes);
    (2 * last).next_power_of_two().max(LEAST).min(greatest)
}

fn lower_quartile(mut rounds: Vec<f64>) -> f64 {
    rounds.sort_by(f64::total_cmp);
    rounds.get(rounds.len() / 4).copied().unwrap_or(f64::NAN)
}

/// Times groups of every size in every array.
fn groups(
    plan: &ProbePlan,
    arrays: &[Array; 2],
    noise: &mut Noise,
    watch: ShareCallback<'_>,
) -> Result<[Vec<ReadGroups>; 2]> {
    let mut found = [Vec::new(), Vec::new()];
    let all = plan.arrays.len() * plan.rounds;
    for (number, &bytes) in plan.arrays.iter().enumerate() {
        let mut reads =
            arrays.each_ref().map(|array| RandomReads::new(&array.lines()[..(bytes / LINE) as usize], bytes));
        let mut times = [vec![Vec::new(); plan.groups.len()], vec![Vec::new(); plan.groups.len()]];
        for round in 0..plan.rounds {
            watch(share(number * plan.rounds + round, all));
            for (at, &k) in plan.groups.iter().enumerate() {
                for (reads, times) in reads.iter_mut().zip(&mut times) {
                    // All other times are divided by the time of one read, so that one is measured
                    // more often.
                    for _ in 0..if k == 1 { 4 } else { 1 } {
                        times[at].push(reads.time_groups(k, plan.slice));
                    }
                }
            }
        }
        for (found, times) in found.iter_mut().zip(&times) {
            let least = times.iter().map(|rounds| noise.least(rounds));
            let group_ns: Vec<(usize, f64)> = plan.groups.iter().copied().zip(least).collect();
            let fit = fit(&group_ns).ok_or_else(|| {
                Error::Failed(
                    "the thread's clock gave no usable times (clock_gettime, CLOCK_THREAD_CPUTIME_ID)"
                        .to_owned(),
                )
            })?;
            found.push(ReadGroups { bytes, group_ns, fit });
        }
    }
    Ok(found)
}

fn share(done: usize, of: usize) -> f64 {
    super::fit::real(done) / super::fit::real(of.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_read_past_the_caches() {
        let last = |mebibytes: u64| {
            [CpuCache { level: 1, bytes: 1 << 15 }, CpuCache { level: 3, bytes: mebibytes << 20 }]
        };
        assert_eq!(beyond(&last(36), 1 << 30), 128 << 20);
        assert_eq!(beyond(&last(2), 1 << 30), LEAST);
        assert_eq!(beyond(&last(800), 1 << 30), 1 << 30);
        assert_eq!(beyond(&[], 1 << 30), LEAST);
        assert_eq!(beyond(&last(36), 1 << 20), 1 << 20);
    }

    #[test]
    fn the_least_and_the_lower_quartile_of_rounds() {
        assert!((lower_quartile(vec![9.0, 1.0, 3.0, 2.0, 50.0]) - 2.0).abs() < 1e-9);
        assert!(lower_quartile(Vec::new()).is_nan());
        let mut noise = Noise::default();
        assert!((noise.least(&[4.0, 2.0, 3.0]) - 2.0).abs() < 1e-9);
        assert!((noise.0[0] - 0.5).abs() < 1e-9, "{noise:?}");
    }
}
