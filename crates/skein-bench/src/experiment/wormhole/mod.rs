//! Wormhole's figures 9 to 18 (EuroSys 2019), but for figure 12, which is a server's, and 16, which is the experiment `memory`.
//!
//! | file | experiment | what |
//! | --- | --- | --- |
//! | `fig9.rs` | `wormhole-fig9` | threads, and processes beside them |
//! | here | `wormhole-fig10` to `-fig18` | one thread, over key sets |
//! | `targets.rs` | `wormhole-targets` | what this project wants of it |

mod fig9;
mod targets;

use linkme::distributed_slice;

use super::grid::{self, Grid, Inserts, Point, Weigh, over_key_sets};
use super::loops::{LOOKUP, Loop, changes, scans};
use super::partakers::{OURS, Partakers, WORMHOLE};
use super::{EXPERIMENTS, Experiment, Findings, Judgement, Plan};
use crate::workload::{mix, scan};

const SOURCE_10: &str = "Wormhole (EuroSys 2019), figure 10 and section 4.1";
const SOURCE_11: &str = "Wormhole (EuroSys 2019), figure 11 and section 4.1";
const SOURCE_13: &str = "Wormhole (EuroSys 2019), figure 13 and section 4.2";
const SOURCE_14: &str = "Wormhole (EuroSys 2019), figure 14 and section 4.2";
const SOURCE_15: &str = "Wormhole (EuroSys 2019), figure 15 and section 4.3";
const SOURCE_17: &str = "Wormhole (EuroSys 2019), figure 17 and section 4.3";
const SOURCE_18: &str = "Wormhole (EuroSys 2019), figure 18 and section 4.3";

/// The paper's key sets (its table 1), models where they are not ours to ship.
pub const SETS: [&str; 8] = ["az1", "az2", "url", "K3", "K4", "K6", "K8", "K10"];
/// Those of the ablation, whose shapes differ most.
const FEW_SETS: [&str; 3] = ["az1", "url", "K3"];

/// The paper has from 10 to 500 million keys; those of a kilobyte are the fewest.
fn count(plan: &Plan) -> usize {
    plan.keys_or([300_000, 2_000_000, 10_000_000, 10_000_000])
}

fn operations(plan: &Plan) -> usize {
    count(plan).clamp(1_000, 2_000_000)
}

/// Enough of them that leaves put in order by their first scan do not count for much.
pub const SCAN: Loop = scans("scan of 100", false, |asked, count, seed, share| {
    scan::scans(asked, count / 5, 100, false, seed, share)
});

const MIXES: [Loop; 3] = [
    changes("5 % inserts", false, |asked, count, seed, share| {
        mix::inserts_and_lookups(asked, count, 0.05, seed, share)
    }),
    changes("50 % inserts", false, |asked, count, seed, share| {
        mix::inserts_and_lookups(asked, count, 0.5, seed, share)
    }),
    changes("95 % inserts", false, |asked, count, seed, share| {
        mix::inserts_and_lookups(asked, count, 0.95, seed, share)
    }),
];

/// A grid over key sets on one thread.
fn over_sets(plan: &Plan, sets: &[&str], loops: &'static [Loop], takes: Partakers) -> Grid<'static> {
    let absent = if loops.iter().any(|each| each.changes) { count(plan) } else { 0 };
    Grid {
        points: over_key_sets(plan.sets_or(sets), count(plan), absent),
        loops,
        operations: operations(plan),
        inserts: Inserts::Untimed,
        memory: Weigh::No,
        takes,
        beside: None,
    }
}

/// Ours against the best of the others that the paper has too, in the measure.
fn against_papers(findings: &Findings, measure: &str, least: f64) -> Judgement {
    ["btreemap", "crossbeam-skiplist", OURS]
        .into_iter()
        .map(|rival| {
            Judgement::at_least(
                least,
                &format!("{measure}, Wormhole / {rival}"),
                &findings.ratios(measure, WORMHOLE, rival),
            )
        })
        .reduce(Judgement::and)
        .unwrap_or_else(|| Judgement::untested("nothing was measured"))
}

fn fig10(plan: &Plan) -> Grid<'static> {
    over_sets(plan, &SETS, &[LOOKUP], Partakers::Ordered)
}

#[distributed_slice(EXPERIMENTS)]
static FIG10: Experiment = Experiment {
    name: "wormhole-fig10",
    rank: 210,
    title: "lookups on the paper's eight key sets",
    source: SOURCE_10,
    claim: "Wormhole does 1.3 to 4.2 times the lookups of the best of skip list, B+-tree, ART and Masstree, on every key set",
    memory: |plan| fig10(plan).memory(),
    steps: |plan| fig10(plan).steps(plan),
    run: |bench| grid::run(bench, &fig10(&bench.plan)),
    judge: |findings| against_papers(findings, "lookup", 1.3),
};

/// From the plainest on, each with what the one before lacks.
const STEPS: [&str; 5] = [
    "wormhole, base",
    "wormhole + tags",
    "wormhole + tags + incremental hash",
    "wormhole + tags + incremental hash + leaf tags",
    WORMHOLE,
];

fn fig11(plan: &Plan) -> Grid<'static> {
    over_sets(plan, &FEW_SETS, &[LOOKUP], Partakers::Steps(WORMHOLE))
}

#[distributed_slice(EXPERIMENTS)]
static FIG11: Experiment = Experiment {
    name: "wormhole-fig11",
    rank: 211,
    title: "lookups as the optimizations are applied one after the other, and with what we add",
    source: SOURCE_11,
    claim: "each helps: tags in the table, incremental hashing (about 3 %), leaves sorted by tag, direct positions in leaves",
    memory: |plan| fig11(plan).memory(),
    steps: |plan| fig11(plan).steps(plan),
    run: |bench| grid::run(bench, &fig11(&bench.plan)),
    judge: |findings| {
        let pairs = STEPS.windows(2).map(|pair| {
            let ratios = findings.ratios("lookup", pair[1], pair[0]);
            Judgement::at_least(1.0, &format!("{} / {}", pair[1], pair[0]), &ratios)
        });
        pairs.reduce(Judgement::and).unwrap_or_else(|| Judgement::untested("no steps"))
    },
};

fn fig13(plan: &Plan) -> Grid<'static> {
    over_sets(plan, &SETS, &[LOOKUP], Partakers::All)
}

#[distributed_slice(EXPERIMENTS)]
static FIG13: Experiment = Experiment {
    name: "wormhole-fig13",
    rank: 213,
    title: "lookups beside hash tables",
    source: SOURCE_13,
    claim: "Wormhole does 31 to 67 % of the lookups of a cuckoo hash table, and close to all where keys have a kilobyte",
    memory: |plan| fig13(plan).memory(),
    steps: |plan| fig13(plan).steps(plan),
    run: |bench| grid::run(bench, &fig13(&bench.plan)),
    judge: |findings| {
        let ratios = findings.ratios("lookup", WORMHOLE, "libcuckoo");
        Judgement::at_least(0.31, "lookups, Wormhole / libcuckoo", &ratios)
    },
};

/// Lengths of keys, for both kinds.
const LENGTHS: [usize; 5] = [8, 32, 64, 256, 512];

fn fig14_points(plan: &Plan) -> Vec<Point> {
    let names = ["Kshort", "Klong"].into_iter().flat_map(|kind| LENGTHS.map(|len| format!("{kind}({len})")));
    over_key_sets(names.collect(), count(plan), 0)
}

fn fig14(plan: &Plan) -> Grid<'static> {
    Grid { points: fig14_points(plan), ..over_sets(plan, &[], &[LOOKUP], Partakers::All) }
}

#[distributed_slice(EXPERIMENTS)]
static FIG14: Experiment = Experiment {
    name: "wormhole-fig14",
    rank: 214,
    title: "lookups on keys that differ everywhere (Kshort) or in their last 4 bytes alone (Klong), by length",
    source: SOURCE_14,
    claim: "long common prefixes cost Wormhole up to half its lookups at 512 bytes, and a hash table nothing",
    memory: |plan| fig14(plan).memory(),
    steps: |plan| fig14(plan).steps(plan),
    run: |bench| grid::run(bench, &fig14(&bench.plan)),
    judge: |findings| {
        let kept = |contender: &str| {
            let at = |kind: &str| findings.median("lookup", contender, Some(&format!("{kind}(512)")));
            Some(at("Klong")? / at("Kshort")?)
        };
        match (kept(WORMHOLE), kept("hashbrown")) {
            (Some(ours), Some(theirs)) => Judgement::of(
                (0.5..=1.05).contains(&ours) && ours <= theirs,
                format!(
                    "of the rate at Kshort(512) is left at Klong(512): Wormhole {ours:.2}, hashbrown {theirs:.2}"
                ),
            ),
            _ => Judgement::untested("not measured"),
        }
    },
};

fn fig15(plan: &Plan) -> Grid<'static> {
    Grid { inserts: Inserts::Timed, ..over_sets(plan, &SETS, &[], Partakers::Ordered) }
}

#[distributed_slice(EXPERIMENTS)]
static FIG15: Experiment = Experiment {
    name: "wormhole-fig15",
    rank: 215,
    title: "inserts into an empty index by one thread",
    source: SOURCE_15,
    claim: "Wormhole inserts about as fast as a skip list on most key sets, and faster than B+-tree and skip list on short keys",
    memory: |plan| fig15(plan).memory(),
    steps: |plan| fig15(plan).steps(plan),
    run: |bench| grid::run(bench, &fig15(&bench.plan)),
    judge: |findings| {
        let ratios = findings.ratios("insert", WORMHOLE, "crossbeam-skiplist");
        Judgement::at_least(0.9, "inserts, Wormhole / crossbeam-skiplist", &ratios)
    },
};

fn fig17(plan: &Plan) -> Grid<'static> {
    over_sets(plan, &FEW_SETS, &MIXES, Partakers::ForThreads)
}

#[distributed_slice(EXPERIMENTS)]
static FIG17: Experiment = Experiment {
    name: "wormhole-fig17",
    rank: 217,
    title: "5, 50 and 95 % inserts among lookups, on one thread",
    source: SOURCE_17,
    claim: "Wormhole is ahead of Masstree at every share of inserts, by less the more there are",
    memory: |plan| fig17(plan).memory(),
    steps: |plan| fig17(plan).steps(plan),
    run: |bench| grid::run(bench, &fig17(&bench.plan)),
    judge: |findings| {
        let measured = MIXES.map(|each| {
            let ratios = findings.ratios(each.measure, WORMHOLE, OURS);
            Judgement::at_least(1.0, &format!("{}, Wormhole / our Masstree", each.measure), &ratios)
        });
        measured.into_iter().reduce(Judgement::and).unwrap_or_else(|| Judgement::untested("not measured"))
    },
};

fn fig18(plan: &Plan) -> Grid<'static> {
    over_sets(plan, &SETS, &[SCAN], Partakers::Ordered)
}

#[distributed_slice(EXPERIMENTS)]
static FIG18: Experiment = Experiment {
    name: "wormhole-fig18",
    rank: 218,
    title: "scans of 100 keys",
    source: SOURCE_18,
    claim: "Wormhole scans 1.05 to 1.59 times as fast as a B+-tree, and Masstree is far behind",
    memory: |plan| fig18(plan).memory(),
    steps: |plan| fig18(plan).steps(plan),
    run: |bench| grid::run(bench, &fig18(&bench.plan)),
    judge: |findings| {
        let tree = findings.ratios("scan of 100", WORMHOLE, "btreemap");
        let masstree = findings.ratios("scan of 100", WORMHOLE, OURS);
        Judgement::at_least(1.05, "scans, Wormhole / btreemap", &tree).and(Judgement::at_least(
            1.0,
            "scans, Wormhole / our Masstree",
            &masstree,
        ))
    },
};
