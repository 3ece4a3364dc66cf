//! Figure 9: lookups from one thread to all cores; and, our own question, what threads lack of independent processes.

use linkme::distributed_slice;

use super::super::grid::INSERT;
use super::super::loops::LOOKUP;
use super::super::partakers::{OURS, WORMHOLE};
use super::super::scaling::{Scaling, beside_one_thread, beside_processes};
use super::super::{EXPERIMENTS, Experiment, Findings, Judgement};

const SCALING: Scaling = Scaling {
    keys: "az1",
    counts: [1_000_000, 5_000_000, 20_000_000, 142_000_000],
    reads: LOOKUP,
    most_operations: 2_000_000,
};

#[distributed_slice(EXPERIMENTS)]
static FIG9: Experiment = Experiment {
    name: "wormhole-fig9",
    rank: 209,
    title: "lookups and inserts per thread, from one thread to all cores, and of as many independent processes",
    source: "Wormhole (EuroSys 2019), figure 9 and section 4.1",
    claim: "Wormhole is fastest at any number of threads, 1.52 times the next with one; 16 threads do 15.4 times the lookups of one; and, our own aim, threads do 0.95 of the lookups and 0.8 of the inserts of as many independent processes",
    memory: |plan| SCALING.memory(plan),
    steps: Scaling::steps,
    run: |bench| SCALING.run(bench),
    judge,
};

fn judge(findings: &Findings) -> Judgement {
    let fastest = [OURS, "crossbeam-skiplist"].into_iter().map(|rival| {
        let ratios = findings.ratios(LOOKUP.measure, WORMHOLE, rival);
        Judgement::at_least(1.0, &format!("lookups, Wormhole / {rival}"), &ratios)
    });
    fastest
        .reduce(Judgement::and)
        .unwrap_or_else(|| Judgement::untested("nothing was measured"))
        .beside(beside_one_thread(findings, WORMHOLE, &[(LOOKUP.measure, 15.4 / 16.0)]))
        .beside(beside_processes(findings, WORMHOLE, &[(LOOKUP.measure, 0.95), (INSERT, 0.8)]))
}
