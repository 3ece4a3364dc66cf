//! Figure 9: lookups from one thread to all cores. Our own addition: the difference from
//! independent processes.

use super::super::grid::INSERT;
use super::super::loops::LOOKUP;
use super::super::participants::{OURS, WORMHOLE};
use super::super::scaling::{Scaling, beside_one_thread, beside_processes};
use super::super::{Experiment, Findings, Judgement};

const SCALING: Scaling = Scaling {
    keys: "az1",
    counts: [1_000_000, 5_000_000, 20_000_000, 142_000_000],
    reads: LOOKUP,
    most_operations: 2_000_000,
};

pub static FIG9: Experiment = Experiment {
    name: "wormhole-fig9",
    title: "lookups and inserts per thread, from one thread to all cores, and of as many \
            independent processes",
    source: "Wormhole (EuroSys 2019), figure 9 and section 4.1",
    claim: "Wormhole is fastest at any number of threads, 1.52 times the next with one; 16 threads \
            do 15.4 times the lookups of one; and, our own aim, threads do 0.95 of the lookups and \
            0.8 of the inserts of as many independent processes",
    memory: |plan| SCALING.memory(plan),
    steps: Scaling::steps,
    run: |bench| SCALING.run(bench),
    judge,
};

/// The paper's rivals for several threads that are available.
const RIVALS: [&str; 2] = [OURS, "crossbeam-skiplist"];
/// The paper's ratio to the lookups of the next index on one thread.
const ON_ONE: f64 = 1.52;

fn judge(findings: &Findings) -> Judgement {
    let best = findings.ratios_to_best(LOOKUP.measure, WORMHOLE, &RIVALS);
    let one: Vec<_> = best.iter().filter(|(threads, _)| threads == "1").cloned().collect();
    Judgement::at_least(1.0, "lookups, Wormhole / the best of the others", &best)
        .alongside(Judgement::at_least(ON_ONE, "the same on one thread", &one))
        .alongside(beside_one_thread(findings, WORMHOLE, &[(LOOKUP.measure, 15.4 / 16.0)]))
        .alongside(beside_processes(findings, WORMHOLE, &[(LOOKUP.measure, 0.95), (INSERT, 0.8)]))
}
