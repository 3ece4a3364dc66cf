//! Figure 2: the parts of a lookup's time.
//!
//! The paper uses the processor's counters to split a lookup's cycles into executing and waiting
//! for memory. Most virtual machines have no such counters. So the same lookups run once more on a
//! few keys of the same index, because the lines of these keys stay in the caches: that time is
//! execution, and the rest is waiting. It is slightly too low, because branches are predicted
//! better for a few keys than for all.

use super::super::findings::MeasureSpec;
use super::super::grid::{Grid, GridPoint, InsertMode, of_grid, over_key_sets};
use super::super::loops::{DEPENDENT, GridLoop, PreparedLoop, reads};
use super::super::memory_read::{self, times};
use super::super::participants::{CUCKOO, Participants};
use super::super::{Bench, BenchPlan, Experiment, Findings, Judgement};
use super::RIVALS;
use crate::Result;
use crate::keyset::KeySet;
use crate::workload::lookup;
use crate::workload::run::LoopStyle;

/// The number of keys so small that all lines of their lookups fit the first caches.
const FEW: usize = 32;

const CACHED: GridLoop =
    reads("lookup, dependent, of 32 keys", LoopStyle::Dependent, |asked, count, seed, share| {
        lookup::of_few(asked, count, FEW, seed, share)
    });

const LOOPS: [GridLoop; 2] = [DEPENDENT, CACHED];

const TIME: MeasureSpec<'_> = MeasureSpec::less("time of a lookup", "ns");
const EXECUTING: MeasureSpec<'_> = MeasureSpec::less("time of a lookup, all in the caches", "ns");
const WAITING: MeasureSpec<'_> = MeasureSpec::less("time of a lookup, waiting for memory", "ns");
const IN_READS: MeasureSpec<'_> = MeasureSpec::less("waiting for memory, in reads of memory", "reads");

fn count(plan: &BenchPlan) -> usize {
    plan.keys_or([1_000_000, 10_000_000, 20_000_000, 200_000_000])
}

fn grid(plan: &BenchPlan) -> Grid<'static> {
    let points = over_key_sets(plan.sets_or(&["rand-8"]), count(plan), 0);
    let grid = Grid::new(points, &LOOPS, Participants::Ordered);
    Grid { inserts: InsertMode::Untimed, side_measurement: Some(split), ..grid }
}

pub static FIG2: Experiment = Experiment {
    name: "cuckoo-fig2",
    title: "the parts of a lookup's time: executing, and waiting for memory; beside one memory read",
    source: "Cuckoo Trie (SOSP 2021), figure 2 and section 3.2",
    claim: "a whole lookup in the Cuckoo Trie takes less time than one in any other index waits \
            for memory, although it reads more lines. Here: waiting is the additional time over a \
            lookup whose lines are in the caches",
    memory: |plan| Ok(grid(plan).memory()? + memory_read::memory(count(plan))),
    judge,
    ..of_grid!(grid)
};

/// Splits the times of a round.
fn split(bench: &mut Bench, point: &GridPoint, _: &KeySet, _: &[PreparedLoop]) -> Result<()> {
    let read = memory_read::measure(bench, point)?;
    let cached = times(bench, CACHED.measure, point);
    for ((name, all), (_, executing)) in times(bench, DEPENDENT.measure, point).into_iter().zip(cached) {
        let waiting = (all - executing).max(0.0);
        let split = [(TIME, all), (EXECUTING, executing), (WAITING, waiting), (IN_READS, waiting / read)];
        for (place, figure) in split {
            bench.add(place, &name, point.at.as_ref(), figure)?;
        }
    }
    Ok(())
}

fn judge(findings: &Findings) -> Judgement {
    let judged = RIVALS.iter().filter_map(|rival| {
        let at = |label: Option<&str>| {
            let waits = findings.median(WAITING.measure, rival, label)?;
            let whole = findings.median(TIME.measure, CUCKOO, label)?;
            Some((label.unwrap_or_default().to_owned(), waits / whole))
        };
        let ratios: Vec<_> = findings.labels(TIME.measure).into_iter().filter_map(at).collect();
        let what = format!("{rival} waits / a whole lookup in the Cuckoo Trie");
        (!ratios.is_empty()).then(|| Judgement::at_least(1.0, &what, &ratios))
    });
    Judgement::each_of(judged, "the others were not measured")
}

#[cfg(test)]
mod tests {
    use super::super::super::participants::{OURS, WORMHOLE};
    use super::*;
    use crate::result::{AxisPoint, ClaimAnswer};

    #[test]
    fn a_lookup_is_compared_with_the_others_waiting() {
        let mut findings = Findings::default();
        assert_eq!(judge(&findings).answer, ClaimAnswer::CannotBeTested);
        let at = AxisPoint::name("key set", "rand-8");
        findings.add(TIME, CUCKOO, Some(&at), 300.0);
        for (rival, waits) in [(WORMHOLE, 400.0), (OURS, 299.0)] {
            findings.add(TIME, rival, Some(&at), 2.0 * waits);
            findings.add(WAITING, rival, Some(&at), waits);
        }
        let judged = judge(&findings).each();
        let answers: Vec<_> = judged.iter().map(|judged| judged.answer).collect();
        assert_eq!(answers, [ClaimAnswer::Holds, ClaimAnswer::DoesNotHold], "{judged:?}");
        assert!(judged[0].why.contains("rand-8: 1.33"), "{judged:?}");
    }
}
