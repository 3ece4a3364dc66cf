//! `skein bench weigh`: what `bench run memory` starts for each index, so that it is weighed in a process of its own. Not for people.

use std::io::stdin;

use skein_bench::experiment;

use crate::exit::{Exit, Failure};

/// Fill an index with the keys on standard input, as the bench writes them, and print what it added to the process.
#[derive(clap::Args)]
pub struct BenchWeighArgs {
    /// The index.
    contender: String,
}

/// Runs `skein bench weigh`.
pub fn run(args: &BenchWeighArgs) -> Result<Exit, Failure> {
    let figures = experiment::weigh_here(&args.contender, &mut stdin().lock()).map_err(super::failure)?;
    super::show(&format!("{figures}\n"))
}
