//! `skein bench compare`: shows the changes between two results files.

use std::path::PathBuf;

use skein_bench::report;

use skein_terminal::exit::{Exit, Failure};

/// Show which figures changed beyond the noise from one results file to another.
#[derive(clap::Args)]
pub struct BenchCompareArgs {
    /// The earlier results.
    before: PathBuf,
    /// The later results.
    after: PathBuf,
    /// Fail if a figure got worse beyond the noise, for scripts.
    #[arg(long)]
    fail_if_worse: bool,
}

/// Runs `skein bench compare`.
pub fn run(args: &BenchCompareArgs) -> Result<Exit, Failure> {
    let before = super::read_all(std::slice::from_ref(&args.before))?;
    let after = super::read_all(std::slice::from_ref(&args.after))?;
    let comparison = report::compare(&before, &after);
    super::show(&format!("{comparison}\n"))?;
    match comparison.worse() {
        worse if args.fail_if_worse && worse > 0 => Err(Failure::new(format!("{worse} figures got worse"))),
        _ => Ok(Exit::Ok),
    }
}
