//! `skein bench list`: shows the experiments.

use std::fmt::Write as _;

use skein_bench::experiment;

use skein_terminal::exit::{Exit, Failure};

/// Show each experiment: its paper, its comparison, and the paper's claim.
#[derive(clap::Args)]
pub struct BenchListArgs {
    /// Names alone, one per line, for scripts.
    #[arg(long)]
    names: bool,
}

/// Runs `skein bench list`.
pub fn run(args: &BenchListArgs) -> Result<Exit, Failure> {
    let mut text = String::new();
    for experiment in experiment::ALL {
        // Writing to a string does not fail.
        let _ = if args.names {
            writeln!(text, "{}", experiment.name)
        } else {
            let (name, source) = (experiment.name, experiment.source);
            writeln!(text, "{name:<17} {source}\n    {}\n    claim: {}\n", experiment.title, experiment.claim)
        };
    }
    super::show(&text)
}
