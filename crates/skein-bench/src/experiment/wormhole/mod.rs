//! Wormhole's figures 9 to 18 (EuroSys 2019). Figure 12 needs a server
//! (`server/wormhole_fig12.rs`); figure 16 is the experiment `memory`.
//!
//! | file | experiment | content |
//! | --- | --- | --- |
//! | `fig9.rs` | `wormhole-fig9` | threads, and processes beside them |
//! | here | `wormhole-fig10` to `-fig18` | one thread, over key sets |
//! | `targets.rs` | `wormhole-targets` | this project's targets |

pub mod fig9;
pub mod targets;

use super::findings::shown;
use super::grid::{Grid, InsertMode, of_grid, over_key_sets};
use super::loops::{GridLoop, INSERT_MIXES, LOOKUP, ranges};
use super::participants::{OURS, Participants, WORMHOLE};
use super::{BenchPlan, Experiment, Findings, Judgement};

/// The paper's key sets (its table 1); models of those that we may not distribute.
pub const SETS: [&str; 8] = ["az1", "az2", "url", "K3", "K4", "K6", "K8", "K10"];
/// The key sets of the ablation: those that differ most in shape.
const FEW_SETS: [&str; 3] = ["az1", "url", "K3"];

/// Returns the number of keys. The paper has 10 to 500 million; sets of a kilobyte per key are the
/// smallest.
fn count(plan: &BenchPlan) -> usize {
    plan.keys_or([300_000, 2_000_000, 10_000_000, 10_000_000])
}

/// The scans are so many that leaves which their first scan sorts hardly count.
pub const SCAN: GridLoop = ranges::<100, 5, false>("scan of 100");

/// Returns a grid over key sets on one thread.
fn over_sets(
    plan: &BenchPlan,
    sets: &[&str],
    loops: &'static [GridLoop],
    takes: Participants,
) -> Grid<'static> {
    let absent = if loops.iter().any(|each| each.changes) { count(plan) } else { 0 };
    let points = over_key_sets(plan.sets_or(sets), count(plan), absent);
    Grid { inserts: InsertMode::Untimed, ..Grid::new(points, loops, takes) }
}

/// The paper's B+-tree and skip list; here std's and crossbeam's.
const TREE: &str = "btreemap";
const LIST: &str = "crossbeam-skiplist";
/// The paper's other ordered indexes that are available. Its ART, `congee`, accepts keys of 8 bytes
/// only.
const RIVALS: [&str; 4] = [TREE, LIST, OURS, "congee"];

/// Returns Wormhole's ratios to another index in a measure, on the key sets that `of` admits.
fn ratios(findings: &Findings, measure: &str, other: &str, of: fn(&str) -> bool) -> Vec<(String, f64)> {
    findings.ratios_at(measure, WORMHOLE, other, of)
}

fn fig10(plan: &BenchPlan) -> Grid<'static> {
    over_sets(plan, &SETS, &[LOOKUP], Participants::Ordered)
}

pub static FIG10: Experiment = Experiment {
    name: "wormhole-fig10",
    title: "lookups on the paper's eight key sets",
    source: "Wormhole (EuroSys 2019), figure 10 and section 4.1",
    claim: "Wormhole does 1.3 to 4.2 times the lookups of the best of skip list, B+-tree, ART and \
            Masstree, on every key set",
    judge: |findings| {
        let ratios = findings.ratios_to_best("lookup", WORMHOLE, &RIVALS);
        Judgement::from_to((1.3, 4.2), "lookups, Wormhole / the best of the others", &ratios)
    },
    ..of_grid!(fig10)
};

/// The steps; each adds a feature to the one before.
const STEPS: [&str; 5] = [
    "wormhole, base",
    "wormhole + tags",
    "wormhole + tags + incremental hash",
    "wormhole + tags + incremental hash + leaf tags",
    WORMHOLE,
];

fn fig11(plan: &BenchPlan) -> Grid<'static> {
    over_sets(plan, &FEW_SETS, &[LOOKUP], Participants::Steps(WORMHOLE))
}

pub static FIG11: Experiment = Experiment {
    name: "wormhole-fig11",
    title: "lookups as the optimizations are applied one after the other, and with our additions",
    source: "Wormhole (EuroSys 2019), figure 11 and section 4.1",
    claim: "each helps: tags in the table, incremental hashing (about 3 %), leaves sorted by tag, \
            direct positions in leaves",
    judge: |findings| {
        let pairs = STEPS.windows(2).map(|pair| {
            let ratios = findings.ratios("lookup", pair[1], pair[0]);
            Judgement::at_least(1.0, &format!("{} / {}", pair[1], pair[0]), &ratios)
        });
        Judgement::all_of(pairs, "no steps")
    },
    ..of_grid!(fig11)
};

/// The paper's hash table, as a package.
const CUCKOO_HASH: &str = "libcuckoo";
/// The key set with keys of a kilobyte.
const KILOBYTES: &str = "K10";
/// "Close to", and the lower bound of "comparable to".
const CLOSE: f64 = 0.9;

fn fig13(plan: &BenchPlan) -> Grid<'static> {
    over_sets(plan, &SETS, &[LOOKUP], Participants::All)
}

pub static FIG13: Experiment =
    Experiment {
        name: "wormhole-fig13",
        title: "lookups beside hash tables",
        source: "Wormhole (EuroSys 2019), figure 13 and section 4.2",
        claim: "Wormhole does 31 to 67 % of the lookups of a cuckoo hash table, and close to all \
                where keys have a kilobyte (K10): here, at least nine tenths",
        judge: |findings| {
            let of = |sets| ratios(findings, "lookup", CUCKOO_HASH, sets);
            let what = format!("lookups, Wormhole / {CUCKOO_HASH}");
            Judgement::from_to((0.31, 0.67), &what, &of(|set| set != KILOBYTES))
                .alongside(Judgement::at_least(CLOSE, &what, &of(|set| set == KILOBYTES)))
        },
        ..of_grid!(fig13)
    };

/// The lengths of keys, for both kinds.
const LENGTHS: [usize; 5] = [8, 32, 64, 256, 512];

fn fig14(plan: &BenchPlan) -> Grid<'static> {
    let names = ["Kshort", "Klong"].into_iter().flat_map(|kind| LENGTHS.map(|len| format!("{kind}({len})")));
    let points = over_key_sets(names.collect(), count(plan), 0);
    Grid { points, ..over_sets(plan, &[], &[LOOKUP], Participants::All) }
}

pub static FIG14: Experiment = Experiment {
    name: "wormhole-fig14",
    title: "lookups on keys that differ everywhere (Kshort) or in their last 4 bytes alone \
            (Klong), by length",
    source: "Wormhole (EuroSys 2019), figure 14 and section 4.2",
    claim: "at 512 bytes Wormhole does 78 % of the lookups of a hash table where keys differ \
            everywhere, and 40 % where they have long common prefixes; these cost the hash table \
            little",
    judge: judge_prefixes,
    ..of_grid!(fig14)
};

/// Judges Wormhole's rate against a cuckoo hash table's at 512 bytes, and the cost of prefixes for
/// both.
fn judge_prefixes(findings: &Findings) -> Judgement {
    let what = format!("lookups, Wormhole / {CUCKOO_HASH}");
    let short = ratios(findings, "lookup", CUCKOO_HASH, |set| set == "Kshort(512)");
    let long = ratios(findings, "lookup", CUCKOO_HASH, |set| set == "Klong(512)");
    let kept = |contender: &str| {
        let at = |kind: &str| findings.median("lookup", contender, Some(&format!("{kind}(512)")));
        Some(at("Klong")? / at("Kshort")?)
    };
    let lost = match (kept(WORMHOLE), kept(CUCKOO_HASH)) {
        (Some(ours), Some(theirs)) => Judgement::of(
            ours <= theirs && theirs >= CLOSE,
            format!("rate at Klong(512) / at Kshort(512): Wormhole {ours:.2}, {CUCKOO_HASH} {theirs:.2}"),
        ),
        _ => Judgement::untested(format!("{CUCKOO_HASH} was not measured")),
    };
    Judgement::at_least(0.78, &what, &short)
        .alongside(Judgement::at_least(0.40, &what, &long))
        .alongside(lost)
}

fn fig15(plan: &BenchPlan) -> Grid<'static> {
    Grid { inserts: InsertMode::Timed, ..over_sets(plan, &SETS, &[], Participants::Ordered) }
}

pub static FIG15: Experiment = Experiment {
    name: "wormhole-fig15",
    title: "inserts into an empty index by one thread",
    source: "Wormhole (EuroSys 2019), figure 15 and section 4.3",
    claim: "Wormhole's inserts are comparable to a skip list's on most key sets; on short keys \
            (K3, K4) Masstree and Wormhole are faster than B+-tree and skip list, on longer ones \
            (url) slower than on those. Comparable is, here, within a tenth either way",
    judge: judge_inserts,
    ..of_grid!(fig15)
};

/// Judges the paper's claims on inserts: comparable to a list's on most key sets, faster on short
/// keys, slower on long ones.
fn judge_inserts(findings: &Findings) -> Judgement {
    let comparable = findings.ratios("insert", WORMHOLE, LIST);
    let within = comparable.iter().filter(|(_, ratio)| (CLOSE..=1.0 / CLOSE).contains(ratio)).count();
    let most = if comparable.is_empty() {
        Judgement::untested(format!("inserts, Wormhole / {LIST}: not measured"))
    } else {
        let shown = shown(&comparable);
        let why = format!("inserts, Wormhole / {LIST}: {shown} (from 0.9 to 1.11 on most is claimed)");
        Judgement::of(2 * within > comparable.len(), why)
    };
    let short = [WORMHOLE, OURS].into_iter().flat_map(|index| {
        [TREE, LIST].map(|other| {
            let short = findings.ratios_at("insert", index, other, |set| ["K3", "K4"].contains(&set));
            Judgement::at_least(1.0, &format!("inserts of short keys, {index} / {other}"), &short)
        })
    });
    let long = [WORMHOLE, OURS].map(|index| {
        let rate = |set| findings.median("insert", index, Some(set));
        let ratio = rate("url").zip(rate("K3")).map(|(url, short)| (index.to_owned(), url / short));
        Judgement::at_most(1.0, "inserts, url / K3", ratio.as_slice())
    });
    short.chain(long).fold(most, Judgement::alongside)
}

fn fig17(plan: &BenchPlan) -> Grid<'static> {
    over_sets(plan, &FEW_SETS, &INSERT_MIXES, Participants::ForThreads)
}

pub static FIG17: Experiment = Experiment {
    name: "wormhole-fig17",
    title: "5, 50 and 95 % inserts among lookups, on one thread",
    source: "Wormhole (EuroSys 2019), figure 17 and section 4.3",
    claim: "Wormhole is ahead of Masstree at every share of inserts, by less the more there are",
    judge: |findings| {
        let measured = INSERT_MIXES.map(|each| {
            let ratios = findings.ratios(each.measure, WORMHOLE, OURS);
            Judgement::at_least(1.0, &format!("{}, Wormhole / our Masstree", each.measure), &ratios)
        });
        Judgement::all_of(measured, "not measured")
    },
    ..of_grid!(fig17)
};

fn fig18(plan: &BenchPlan) -> Grid<'static> {
    over_sets(plan, &SETS, &[SCAN], Participants::Ordered)
}

pub static FIG18: Experiment = Experiment {
    name: "wormhole-fig18",
    title: "scans of 100 keys",
    source: "Wormhole (EuroSys 2019), figure 18 and section 4.3",
    claim: "Wormhole scans 1.05 to 1.59 times as fast as a B+-tree, and Masstree is far behind",
    judge: |findings| {
        let tree = findings.ratios("scan of 100", WORMHOLE, TREE);
        let masstree = findings.ratios("scan of 100", WORMHOLE, OURS);
        let tree = Judgement::from_to((1.05, 1.59), &format!("scans, Wormhole / {TREE}"), &tree);
        tree.alongside(Judgement::at_least(1.0, "scans, Wormhole / our Masstree", &masstree))
    },
    ..of_grid!(fig18)
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    fn found(measure: &str, rates: &[(&str, &str, f64)]) -> Findings {
        let mut findings = Findings::default();
        for (contender, set, rate) in rates {
            findings.add_rates(measure, set, &[(contender, *rate)]);
        }
        findings
    }

    #[test]
    fn lookups_are_judged_by_both_bounds() {
        let judged = |ours, masstree| {
            let rates = [(WORMHOLE, "az1", ours), (OURS, "az1", masstree), (TREE, "az1", 1.0)];
            (FIG10.judge)(&found("lookup", &rates)).answers()
        };
        assert_eq!(judged(2.6, 2.0), [Holds, Holds]);
        assert_eq!(judged(2.4, 2.0), [DoesNotHold, Holds], "the best of the others counts");
        assert_eq!(judged(9.0, 2.0), [Holds, DoesNotHold]);
    }

    #[test]
    fn keys_of_a_kilobyte_have_a_verdict_of_their_own() {
        let judged = |ours, long| {
            let hash = CUCKOO_HASH;
            let rates = [
                (WORMHOLE, "az1", ours),
                (hash, "az1", 1.0),
                (WORMHOLE, KILOBYTES, long),
                (hash, KILOBYTES, 1.0),
            ];
            (FIG13.judge)(&found("lookup", &rates)).answers()
        };
        assert_eq!(judged(0.5, 0.95), [Holds, Holds, Holds]);
        assert_eq!(judged(0.8, 0.5), [Holds, DoesNotHold, DoesNotHold]);
        assert_eq!(judged(0.3, 0.5), [DoesNotHold, Holds, DoesNotHold]);
    }

    #[test]
    fn inserts_are_comparable_on_most_key_sets() {
        let judged = |rates: [f64; 3]| {
            let sets = ["az1", "url", "K3"].into_iter().zip(rates);
            let rates: Vec<_> =
                sets.flat_map(|(set, rate)| [(WORMHOLE, set, rate), (LIST, set, 1.0)]).collect();
            judge_inserts(&found("insert", &rates)).answers()
        };
        let beside = |most, short, long| {
            [most, CannotBeTested, short, CannotBeTested, CannotBeTested, long, CannotBeTested]
        };
        assert_eq!(judged([0.95, 1.0, 1.2]), beside(Holds, Holds, Holds));
        assert_eq!(judged([0.8, 1.2, 0.95]), beside(DoesNotHold, DoesNotHold, DoesNotHold));
    }

    #[test]
    fn prefixes_are_judged_against_a_hash_table() {
        let judged = |short, long| {
            let [a, b] = ["Kshort(512)", "Klong(512)"];
            let rates =
                [(WORMHOLE, a, short), (WORMHOLE, b, long), (CUCKOO_HASH, a, 1.0), (CUCKOO_HASH, b, 0.95)];
            judge_prefixes(&found("lookup", &rates)).answers()
        };
        assert_eq!(judged(0.8, 0.4), [Holds; 3]);
        assert_eq!(judged(0.5, 0.6), [DoesNotHold, Holds, DoesNotHold]);
    }
}
