//! Experiments: figures and tables of the papers, and further comparisons that users ask for.
//!
//! ```text
//!   ALL  ──────► Experiment: a comparison and its claim
//!                    │ run(&mut Bench)   a step per contender and round; adds figures and notes
//!                    ▼
//!                Findings ──► judge(&Findings): holds, does not, cannot be tested ──► result lines
//! ```
//!
//! An experiment is a file here, its `mod` line and its line in [`ALL`]. `memory` returns the bytes
//! that it is going to need. If the machine has less free memory, the experiment is rejected before
//! it starts.
//!
//! Order of reading: `plan.rs` (the request), `bench.rs` (the runner), `findings.rs` (figures and
//! judgements), then `grid/` and `loops.rs`, which most index experiments are built from.
//!
//! The experiments:
//!
//! - By paper: `masstree_fig8`, `masstree_fig9`, `masstree_fig10`, `masstree_fig11`, `wormhole`,
//!   `cuckoo`, `mlpindex`, `bitbase` (the disk engine).
//! - By subject: `index`, `cells` (the aims for the page tree), `memory`, `scaling`, `skip_list`,
//!   `store`, `server`, `self_test` (the bench itself).
//!
//! Their common parts:
//!
//! - Choices: `setting`, `participants` (contenders), `key_lengths` (keys that all accept).
//! - Measures: `index_memory`, `resident_size`, `memory_read` (the unit of time), `latency`.
//! - A run: `progress`, `scratch` (its folder). Judgement: `aims`.
//!
//! `instructions` counts the operations of our indexes in two builds; it is no experiment.

mod aims;
mod bench;
mod bitbase;
mod cells;
mod cuckoo;
mod findings;
mod grid;
mod index;
mod index_memory;
pub mod instructions;
mod key_lengths;
mod latency;
mod loops;
mod masstree_fig10;
mod masstree_fig11;
mod masstree_fig8;
mod masstree_fig9;
mod memory;
mod memory_read;
mod mlpindex;
mod participants;
mod plan;
mod progress;
mod resident_size;
mod scaling;
mod scratch;
mod self_test;
mod server;
pub mod setting;
mod skip_list;
mod store;
mod wormhole;

use crate::{Error, Result, nearest};

pub use bench::{Bench, run};
pub use findings::{Findings, Judgement};
pub use plan::{BenchPlan, RunSize};
pub use resident_size::weigh_here;
pub use setting::BenchSettings;

/// One figure, table or comparison.
#[derive(Debug)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// The comparison, in one line.
    pub title: &'static str,
    /// The paper, with its figure, table or section; or another source.
    pub source: &'static str,
    /// The claim, in our words.
    pub claim: &'static str,
    /// Returns the bytes of memory that it needs at most.
    pub memory: fn(&BenchPlan) -> Result<u64>,
    /// Returns the number of steps, for the progress bar.
    pub steps: fn(&BenchPlan) -> usize,
    /// Measures.
    pub run: fn(&mut Bench) -> Result<()>,
    /// Judges whether the claim holds.
    pub judge: fn(&Findings) -> Judgement,
}

/// All experiments, in the order of lists.
pub static ALL: [&Experiment; 63] = [
    &index::LOOKUPS_OF_ALL,
    &index::SCAN_100,
    &index::YCSB_EXPERIMENT,
    &index::MIX,
    &index::GROWTH,
    &cells::CELLS,
    &memory::MEMORY,
    &self_test::SELF_TEST,
    &store::masstree_sec5::SEC5,
    &masstree_fig8::FIG8,
    &masstree_fig9::FIG9,
    &masstree_fig10::FIG10,
    &masstree_fig11::FIG11,
    &server::masstree_fig13::FIG13,
    &masstree_fig9::FLEXIBILITY,
    &mlpindex::fig1::FIG1,
    &mlpindex::fig1::FIG2,
    &skip_list::ITERATOR,
    &mlpindex::fig9::FIG9,
    &mlpindex::fig9::FIG10,
    &mlpindex::table2::TABLE2,
    &mlpindex::targets::TARGETS,
    &wormhole::fig9::FIG9,
    &wormhole::FIG10,
    &wormhole::FIG11,
    &server::wormhole_fig12::FIG12,
    &wormhole::FIG13,
    &wormhole::FIG14,
    &wormhole::FIG15,
    &wormhole::FIG17,
    &wormhole::FIG18,
    &wormhole::targets::TARGETS_OF_WORMHOLE,
    &cuckoo::fig2::FIG2,
    &cuckoo::fig6::FIG6,
    &cuckoo::FIG7,
    &cuckoo::FIG8,
    &cuckoo::fig9::FIG9,
    &cuckoo::FIG10,
    &cuckoo::fig11::FIG11,
    &cuckoo::fig12::FIG12,
    &server::cuckoo_fig13::FIG13,
    &cuckoo::ablation::ABLATION,
    &cuckoo::targets::TARGETS,
    &cuckoo::resize::RESIZE,
    &bitbase::length::FIG4,
    &bitbase::length::FIG5,
    &bitbase::length::FIG6,
    &bitbase::node_size::FIG7,
    &bitbase::cache::FIG8,
    &bitbase::space::FIG9,
    &bitbase::growth::GROWTH,
    &bitbase::policy::CACHE,
    &bitbase::sets::SPACE_OF_SETS,
    &bitbase::rivals::RIVALS,
    &server::redis_benchmark::EXPERIMENT,
    &store::STORE,
    &store::levels::LEVELS_EXPERIMENT,
    &store::transactions::TRANSACTIONS,
    &server::SERVER,
    &server::sorted_set_members::MEMBERS,
    &server::neighbour::NEIGHBOUR,
    &server::families::FAMILIES,
    &server::memory_by_kind::MEMORY_BY_KIND,
];

/// Returns the experiment of this name.
///
/// # Errors
/// If there is no such experiment. The text names the most similar ones.
pub fn named(name: &str) -> Result<&'static Experiment> {
    let names = ALL.map(|experiment| experiment.name);
    ALL.into_iter().find(|experiment| experiment.name == name).ok_or_else(|| {
        Error::Input(format!(
            "there is no experiment '{name}'; the most similar names are {}; `skein bench list` shows all {}",
            nearest(name, &names),
            names.len()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_of_an_index_is_registered() {
        let figures = [2, 6, 7, 8, 9, 10, 11, 12].map(|number| format!("cuckoo-fig{number}"));
        let others = [
            "cuckoo-ablation",
            "cuckoo-resize",
            "cuckoo-targets",
            "mlpindex-fig9",
            "mlpindex-fig10",
            "mlpindex-table2",
            "mlpindex-targets",
            "skiplist-iterator",
        ];
        for name in figures.iter().map(String::as_str).chain(others) {
            named(name).expect("registered");
        }
    }

    #[test]
    fn every_experiment_needs_more_memory_for_more_keys() {
        let plan = |count| BenchPlan { count: Some(count), ..BenchPlan::of_a_test() };
        for experiment in ALL {
            let memory = |count| (experiment.memory)(&plan(count)).expect("good names of key sets");
            assert!(memory(1_000) > 0 && memory(1_000_000) > memory(1_000), "{}", experiment.name);
            assert!((experiment.steps)(&plan(1_000)) > 0, "{}", experiment.name);
        }
    }
}
