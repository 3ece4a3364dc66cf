//! The Cuckoo Trie's figures 2 and 6 to 12 (SOSP 2021). Figure 13 needs a server
//! (`server/cuckoo_fig13.rs`).
//!
//! | file | experiment | content |
//! | --- | --- | --- |
//! | `fig2.rs` | `cuckoo-fig2` | the parts of a lookup's time |
//! | `fig6.rs` | `cuckoo-fig6` | threads, and processes beside them |
//! | here | `cuckoo-fig7`, `-fig8`, `-fig10` | YCSB, on one thread and on all cores |
//! | `fig9.rs` | `cuckoo-fig9` | sizes |
//! | `fig11.rs` | `cuckoo-fig11` | memory |
//! | `fig12.rs` | `cuckoo-fig12` | indexes made for keys of 8 bytes |
//! | `ablation.rs` | `cuckoo-ablation` | without prefetching; note 10 |
//! | `resize.rs` | `cuckoo-resize` | growth under load |
//! | `targets.rs` | `cuckoo-targets` | this project's targets |

pub mod ablation;
pub mod fig11;
pub mod fig12;
pub mod fig2;
pub mod fig6;
pub mod fig9;
pub mod resize;
pub mod targets;

use super::grid::{self, Grid, InsertMode, of_grid, over_key_sets};
use super::loops::{GridLoop, LoopUnit, letter};
use super::participants::{CUCKOO, OURS, Participants, WORMHOLE};
use super::scaling::cores;
use super::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::Result;

/// The paper's key sets (its table 1); models of those that we may not distribute.
pub const SETS: [&str; 5] = ["rand-8", "rand-16", "osm", HARD, "reddit"];
/// The key set that the paper calls its worst case: keys with long common prefixes.
pub const HARD: &str = "az1";

/// The paper's ART with optimistic locks, as a crate; it accepts keys of 8 bytes only.
const ART: &str = "congee";
/// The paper's B-tree; here std's.
const TREE: &str = "btreemap";
/// The paper's rivals that are available, and our Masstree.
const RIVALS: [&str; 4] = [WORMHOLE, ART, TREE, OURS];

/// Returns the number of keys; the paper has 71 to 200 million.
fn count(plan: &BenchPlan) -> usize {
    plan.keys_or([300_000, 5_000_000, 10_000_000, 70_000_000])
}

/// Returns a grid over the key sets on one thread.
fn over_sets(
    plan: &BenchPlan,
    sets: &[&str],
    loops: &'static [GridLoop],
    takes: Participants,
) -> Grid<'static> {
    let absent = if loops.iter().any(|each| each.changes) { count(plan) / 4 } else { 0 };
    Grid::new(over_key_sets(plan.sets_or(sets), count(plan), absent), loops, takes)
}

/// Returns the Cuckoo Trie's ratios to another contender in some measures, on the key sets that
/// `of` admits; each with its measure's name.
fn ratios(findings: &Findings, measures: &[&str], other: &str, of: fn(&str) -> bool) -> Vec<(String, f64)> {
    findings.ratios_in(measures, CUCKOO, other, of)
}

/// Judges whether it is at least as fast as each of the others; one verdict per measured contender.
fn ahead(findings: &Findings, measures: &[&str], others: &[&str], of: fn(&str) -> bool) -> Judgement {
    let judged = others.iter().filter_map(|other| {
        let ratios = ratios(findings, measures, other, of);
        let what = format!("Cuckoo Trie / {other}");
        (!ratios.is_empty()).then(|| Judgement::at_least(1.0, &what, &ratios))
    });
    Judgement::each_of(judged, &format!("beside {}: not measured", others.join(", ")))
}

/// Workloads of reads and updates, and D, which adds some keys.
const MIXES: [GridLoop; 5] = [
    letter!(0, "A", Uniform, Independent),
    letter!(1, "B", Uniform, Independent),
    letter!(2, "C", Uniform, Independent),
    letter!(5, "F", Uniform, Independent),
    letter!(3, "D", Latest, Independent),
];

/// The workloads in which the paper's is fastest; D and the load are among its exceptions.
const AHEAD: [&str; 4] = ["A", "B", "C", "F"];

/// Judges that it is fastest except on long common prefixes, and slower there.
fn judge_mixes(findings: &Findings) -> Judgement {
    let behind = ratios(findings, &["C"], WORMHOLE, |set| set == HARD);
    ahead(findings, &AHEAD, &RIVALS, |set| set != HARD).alongside(Judgement::at_most(
        1.0,
        &format!("Cuckoo Trie / {WORMHOLE} where prefixes are long"),
        &behind,
    ))
}

fn fig7(plan: &BenchPlan) -> Grid<'static> {
    over_sets(plan, &SETS, &MIXES, Participants::Ordered)
}

pub static FIG7: Experiment = Experiment {
    name: "cuckoo-fig7",
    title: "the load (insert) and YCSB A, B, C, D, F on the paper's five key sets, one thread",
    source: "Cuckoo Trie (SOSP 2021), figure 7 and section 6.2",
    claim: "on most workloads and key sets the Cuckoo Trie is fastest: on C with osm up to 1.2 \
            times ARTOLC, 1.5 times Wormhole, 4.6 times a B-tree. Exceptions: az, the load and D, \
            where ARTOLC is faster. Here: at least as fast in A, B, C and F on all key sets but \
            az1, and behind Wormhole there",
    judge: judge_leads,
    ..of_grid!(fig7)
};

/// The paper's greatest leads, which are on C with osm.
const LEADS: [(&str, f64); 3] = [(ART, 1.2), (WORMHOLE, 1.5), (TREE, 4.6)];

/// Judges the mixes and the paper's leads.
fn judge_leads(findings: &Findings) -> Judgement {
    let leads = LEADS.map(|(other, least)| {
        let ratios = ratios(findings, &["C"], other, |set| set == "osm");
        Judgement::at_least(least, &format!("Cuckoo Trie / {other}"), &ratios)
    });
    leads.into_iter().fold(judge_mixes(findings), Judgement::alongside)
}

/// Returns the same loops on all cores at once.
fn together(loops: &[GridLoop]) -> Vec<GridLoop> {
    let on_all =
        |each: &GridLoop| GridLoop { threads: cores(), counts: LoopUnit::OperationsPerThread, ..*each };
    loops.iter().map(on_all).collect()
}

/// Without crossbeam's skip list: an insert of a present key removes it first, so other threads
/// miss it for a moment, and their answers are wrong.
const FOR_THREADS: [&str; 6] = [CUCKOO, WORMHOLE, OURS, "masstree-crate", ART, "btreemap-rwlock"];

fn fig8(plan: &BenchPlan) -> Grid<'static> {
    let (inserts, takes) = (InsertMode::Together(cores()), Participants::Named(&FOR_THREADS));
    Grid { inserts, takes, ..fig7(plan) }
}

pub static FIG8: Experiment = Experiment {
    name: "cuckoo-fig8",
    title: "the same on all cores, in one index",
    source: "Cuckoo Trie (SOSP 2021), figure 8 and section 6.2",
    claim: "as on one thread: the results of figure 7 for concurrent indexes extrapolate to 28 cores",
    run: |bench| {
        bench.set("threads", cores());
        grid::run(bench, &Grid { loops: &together(&MIXES), ..fig8(&bench.plan) })
    },
    judge: judge_mixes,
    ..of_grid!(fig8)
};

const ONE: &str = "E";
const ALL: &str = "E, all cores";
const SCANS: [GridLoop; 2] =
    [letter!(4, "E", Uniform, Independent), letter!(4, "E, all cores", Uniform, Independent)];

fn fig10(plan: &BenchPlan) -> Grid<'static> {
    Grid { inserts: InsertMode::Untimed, ..over_sets(plan, &SETS, &SCANS, Participants::Ordered) }
}

pub static FIG10: Experiment = Experiment {
    name: "cuckoo-fig10",
    title: "YCSB E (95 % scans of up to 100 keys), on one thread and on all cores",
    source: "Cuckoo Trie (SOSP 2021), figure 10 and section 6.4",
    claim: "scans that do nothing with the keys they read are slower than those of the other \
            indexes. Our own aim: at least half of Wormhole's rate",
    run: run_scans,
    judge: judge_scans,
    ..of_grid!(fig10)
};

fn run_scans(bench: &mut Bench) -> Result<()> {
    bench.set("threads", cores());
    let [one, all] = SCANS;
    let loops = [one, together(&[all]).swap_remove(0)];
    grid::run(bench, &Grid { loops: &loops, ..fig10(&bench.plan) })
}

fn judge_scans(findings: &Findings) -> Judgement {
    let measures = [ONE, ALL];
    let slower = RIVALS.iter().filter_map(|other| {
        let ratios = ratios(findings, &measures, other, |_| true);
        (!ratios.is_empty()).then(|| Judgement::at_most(1.0, &format!("Cuckoo Trie / {other}"), &ratios))
    });
    let half = ratios(findings, &measures, WORMHOLE, |_| true);
    Judgement::each_of(slower, "the others were not measured").alongside(Judgement::at_least(
        0.5,
        &format!("our aim: Cuckoo Trie / {WORMHOLE}"),
        &half,
    ))
}

#[cfg(test)]
mod tests;
