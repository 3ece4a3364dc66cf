//! Figure 6: from one thread to all cores. Our own addition: the difference from independent
//! processes.

use super::super::grid::INSERT;
use super::super::loops::LOOKUP;
use super::super::participants::CUCKOO;
use super::super::scaling::{Scaling, beside_one_thread, beside_processes};
use super::super::{Experiment, Findings, Judgement};

const SCALING: Scaling = Scaling {
    keys: "rand-8",
    counts: [1_000_000, 5_000_000, 20_000_000, 200_000_000],
    reads: LOOKUP,
    most_operations: 2_000_000,
};

/// The fraction that counts as "almost linearly".
const LINEAR: f64 = 0.9;

pub static FIG6: Experiment = Experiment {
    name: "cuckoo-fig6",
    title: "inserts and lookups per thread, from one thread to all cores, and of as many \
            independent processes",
    source: "Cuckoo Trie (SOSP 2021), figure 6 and section 6.2",
    claim: "inserts and lookups scale almost linearly to 28 cores: here at least 0.9 per thread; \
            and, our own aim, threads do 0.95 of the lookups and 0.8 of the inserts of as many \
            independent processes",
    memory: |plan| SCALING.memory(plan),
    steps: Scaling::steps,
    run: |bench| SCALING.run(bench),
    judge,
};

fn judge(findings: &Findings) -> Judgement {
    let linear = beside_one_thread(findings, CUCKOO, &[(LOOKUP.measure, LINEAR), (INSERT, LINEAR)]);
    linear.alongside(beside_processes(findings, CUCKOO, &[(LOOKUP.measure, 0.95), (INSERT, 0.8)]))
}
