//! Experiments: the papers' figures and tables, and others that users ask for.
//!
//! ```text
//!   registry ──► Experiment: what it compares, what is claimed
//!                    │ run(&mut Bench)      one step per contender and round, in turn; figures and notes
//!                    ▼
//!                Findings ──► judge(&Findings): holds, does not hold, cannot be tested here ──► result lines
//! ```
//!
//! An experiment is a file here that registers itself, and one line below. It says how much memory it is going to need, and is
//! refused before it starts if that is not there.

mod aims;
mod bench;
mod bitbase;
mod cuckoo;
mod findings;
mod grid;
mod index;
mod index_memory;
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

use linkme::distributed_slice;

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
    /// Where it stands in lists.
    pub rank: u32,
    /// What it compares, in a line.
    pub title: &'static str,
    /// The paper, with its figure, table or section; or what else it is from.
    pub source: &'static str,
    /// What is claimed, in our words.
    pub claim: &'static str,
    /// Bytes of memory that it needs at most.
    pub memory: fn(&BenchPlan) -> Result<u64>,
    /// How many steps it takes, for the progress bar.
    pub steps: fn(&BenchPlan) -> usize,
    /// Measures.
    pub run: fn(&mut Bench) -> Result<()>,
    /// Says whether the claim holds.
    pub judge: fn(&Findings) -> Judgement,
}

/// What registers here; use [`all`], which sorts.
#[distributed_slice]
pub static EXPERIMENTS: [Experiment];

/// All experiments of this build.
pub fn all() -> Vec<&'static Experiment> {
    let mut all: Vec<_> = EXPERIMENTS.iter().collect();
    all.sort_by_key(|experiment| (experiment.rank, experiment.name));
    all
}

/// The experiment of this name.
///
/// # Errors
/// If there is none; the text names those that are most like it.
pub fn named(name: &str) -> Result<&'static Experiment> {
    let all = all();
    let names: Vec<_> = all.iter().map(|experiment| experiment.name).collect();
    all.into_iter().find(|experiment| experiment.name == name).ok_or_else(|| {
        Error::Input(format!(
            "there is no experiment '{name}'; those most like it are {}; `skein bench list` shows all {}",
            nearest(name, &names),
            names.len()
        ))
    })
}
