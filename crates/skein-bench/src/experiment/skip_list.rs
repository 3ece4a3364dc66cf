//! The skip list's cursor, which reads ahead, compared with one that does not: section 3 of the
//! paper on MlpIndex, with its table 1, and this project's aims for the list.
//!
//! The paper measures a bare list, with keys alone in its nodes, and a versioned list in a
//! database. Ours is versioned. A variant with values and without versions stands for the bare
//! list.

use super::grid::{Grid, INSERT, of_grid, over_key_sets};
use super::loops::{DEPENDENT, GridLoop, LOOKUP, scans};
use super::participants::{Participants, SKIP_LIST};
use super::{BenchPlan, Experiment, Findings, Judgement};
use crate::rival::index::{
    BARE_SKIP_LIST as BARE, BARE_SKIP_LIST_PLAIN as BARE_PLAIN, SKIP_LIST_AHEAD_4 as AHEAD_4,
    SKIP_LIST_PLAIN as PLAIN,
};
use crate::workload::scan;

const CROSSBEAM: &str = "crossbeam-skiplist";

/// The number of keys read per operation of other loops.
const KEYS_READ: usize = 4;

/// Returns scans of `LENGTH` keys from random keys on.
const fn ranges<const LENGTH: u16>(measure: &'static str) -> GridLoop {
    scans(measure, false, |asked, count, seed, share| {
        let ranges = (KEYS_READ * count / LENGTH as usize).max(1);
        scan::scans(asked, ranges, LENGTH, false, seed, share)
    })
}

const LONG: GridLoop = ranges::<1000>("scan of 1000");
const TOGETHER: GridLoop = GridLoop { threads: 2, ..ranges::<1000>("scan of 1000, two threads") };

const LOOPS: [GridLoop; 9] = [
    LOOKUP,
    DEPENDENT,
    ranges::<5>("scan of 5"),
    ranges::<10>("scan of 10"),
    ranges::<20>("scan of 20"),
    ranges::<50>("scan of 50"),
    ranges::<100>("scan of 100"),
    LONG,
    TOGETHER,
];

/// The ranges that are long enough for the paper's cursor to be faster.
const LONG_ENOUGH: [&str; 4] = ["scan of 20", "scan of 50", "scan of 100", LONG.measure];
const POINT: [&str; 3] = [INSERT, LOOKUP.measure, DEPENDENT.measure];

/// The paper's gain on a versioned list is 1.92 on one thread, and 1.54 on two threads with a core
/// each (its table 1).
const VERSIONED: f64 = 2.0;
const TWO_THREADS: f64 = 1.54;
/// The paper has about 4, for keys only.
const WITHOUT_VERSIONS: f64 = 3.0;

fn grid(plan: &BenchPlan) -> Grid<'static> {
    let count = plan.keys_or([300_000, 5_000_000, 20_000_000, 20_000_000]);
    let points = over_key_sets(plan.sets_or(&["rand-8"]), count, 0);
    let takes = Participants::Named(&[SKIP_LIST, PLAIN, AHEAD_4, BARE, BARE_PLAIN, CROSSBEAM]);
    Grid::new(points, &LOOPS, takes)
}

pub static ITERATOR: Experiment = Experiment {
    name: "skiplist-iterator",
    title: "ranges of 5 to 1000 keys with and without reading ahead, on one thread and on two; and \
            beside crossbeam-skiplist",
    source: "Haoran Xu, \"Efficient Data Structures via Memory Level Parallelism\", section 3 and table 1",
    claim: "reading ahead makes long ranges 1.92 times as fast in a database whose list is \
            versioned, 1.54 times with two threads on two cores, about 4 times on a bare list; it \
            is faster from about 20 keys on. Our own aims: twice on ranges of 1000, 3 times \
            without versions; scans 3 times and point operations 1.2 times those of \
            crossbeam-skiplist",
    judge,
    ..of_grid!(grid)
};

fn judge(findings: &Findings) -> Judgement {
    let list = |least, measures: &[&str], other| {
        judge_list(findings, least, measures, "skip list", SKIP_LIST, other)
    };
    list(VERSIONED, &[LONG.measure], PLAIN)
        .alongside(judge_list(findings, WITHOUT_VERSIONS, &[LONG.measure], BARE, BARE, BARE_PLAIN))
        .alongside(list(1.0, &LONG_ENOUGH, PLAIN))
        .alongside(list(TWO_THREADS, &[TOGETHER.measure], PLAIN))
        .alongside(list(3.0, &[LOOPS[6].measure, LONG.measure], CROSSBEAM))
        .alongside(list(1.2, &POINT, CROSSBEAM))
}

/// Judges one list, which the verdict calls `word`, against another in some measures, on all key
/// sets.
fn judge_list(
    findings: &Findings,
    least: f64,
    measures: &[&str],
    word: &str,
    list: &str,
    other: &str,
) -> Judgement {
    let ratios = findings.ratios_in(measures, list, other, |_| true);
    Judgement::at_least(least, &format!("{word} / {other}"), &ratios)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    /// Returns findings with the rates of the list, of its plain cursor, with and without versions,
    /// and of the crate.
    fn found(rates: impl Fn(&str) -> [f64; 3], bare: f64) -> Findings {
        let mut findings = Findings::default();
        for measure in LOOPS.map(|each| each.measure).into_iter().chain([INSERT]) {
            let [list, plain, crossbeam] = rates(measure);
            let lists = [(SKIP_LIST, list), (PLAIN, plain), (CROSSBEAM, crossbeam)];
            findings.add_rates(measure, "rand-8", &lists);
            findings.add_rates(measure, "rand-8", &[(BARE, bare), (BARE_PLAIN, 1.0)]);
        }
        findings
    }

    #[test]
    fn short_ranges_may_lose() {
        let rates = |measure: &str| match measure {
            "scan of 5" | "scan of 10" => [0.5, 1.0, 0.1],
            _ => [2.0, 1.0, 0.6],
        };
        assert_eq!(judge(&found(rates, 3.1)).answers(), [Holds; 6]);
    }

    #[test]
    fn each_claim_is_judged_by_its_own_measures() {
        let rates = |measure: &str| match measure {
            "scan of 20" => [0.9, 1.0, 0.3],
            "scan of 1000, two threads" => [1.5, 1.0, 0.5],
            "lookup" => [1.1, 1.1, 1.0],
            _ => [2.5, 1.0, 0.9],
        };
        let judged = [Holds, DoesNotHold, DoesNotHold, DoesNotHold, DoesNotHold, DoesNotHold];
        assert_eq!(judge(&found(rates, 2.9)).answers(), judged);
        assert_eq!(judge(&Findings::default()).answers(), [CannotBeTested; 6]);
    }
}
