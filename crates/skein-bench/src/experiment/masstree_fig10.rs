//! Masstree's figure 10: whether the rate per core stays the same as cores are added (EuroSys
//! 2012).
//!
//! The paper compares all threads of one tree with one thread. We also compare them with as many
//! independent processes.

use super::grid::INSERT;
use super::loops::GET;
use super::participants::OURS;
use super::scaling::{Scaling, beside_one_thread, beside_processes};
use super::{Experiment, Findings, Judgement};

const SCALING: Scaling = Scaling {
    keys: "decimal",
    counts: [1_000_000, 5_000_000, 20_000_000, 140_000_000],
    reads: GET,
    most_operations: 4_000_000,
};

pub static FIG10: Experiment = Experiment {
    name: "masstree-fig10",
    title: "rate per thread of gets and puts, from one thread to all cores, and of as many \
            independent processes",
    source: "Masstree (EuroSys 2012), figure 10 and section 6.5",
    claim: "at 16 cores Masstree does 12.7 times the gets and 12.5 times the puts of one core: \
            0.79 and 0.78 per core; and, our own aim, threads do 0.95 of the gets and 0.85 of the \
            puts of as many independent processes",
    memory: |plan| SCALING.memory(plan),
    steps: Scaling::steps,
    run: |bench| SCALING.run(bench),
    judge,
};

fn judge(findings: &Findings) -> Judgement {
    beside_one_thread(findings, OURS, &[(GET.measure, 0.79), (INSERT, 0.78)]).alongside(beside_processes(
        findings,
        OURS,
        &[(GET.measure, 0.95), (INSERT, 0.85)],
    ))
}
