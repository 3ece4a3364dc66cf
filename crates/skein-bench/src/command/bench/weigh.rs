//! `skein bench weigh`: measures an index's memory in a process of its own. `bench run memory`
//! starts it for each index; it is not for people.

use std::io::stdin;

use skein_bench::experiment;

use skein_terminal::exit::{Exit, Failure};

/// Fill an index with the keys on standard input, in the bench's format, and print the memory that
/// it added to the process.
#[derive(clap::Args)]
pub struct BenchWeighArgs {
    /// The index.
    contender: String,
}

/// Runs `skein bench weigh`.
pub fn run(args: &BenchWeighArgs) -> Result<Exit, Failure> {
    let figures = experiment::weigh_here(&args.contender, &mut stdin().lock()).map_err(crate::failure)?;
    super::show(&format!("{figures}\n"))
}
