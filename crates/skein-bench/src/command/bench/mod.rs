//! `skein bench`: repeats the papers' figures and tables on this machine.
//!
//! One module for each subcommand: `list` and `keysets` show the choices, `run` measures (through
//! `weigh`, for the memory of an index), `report` and `compare` read the results, `guard` counts
//! instructions in two builds.

mod compare;
mod guard;
mod keysets;
mod list;
mod report;
mod run;
mod weigh;

use std::path::{Path, PathBuf};

use skein_bench::result::{ResultLine, read};

use skein_terminal::console;
use skein_terminal::exit::{Exit, Failure};

/// The default results file.
const RESULTS: &str = "skein-bench.jsonl";

const EXAMPLES: &str = "\
Examples:
  skein bench list
      the experiments, and the papers' claims
  skein bench run scan-100 --size small
      measure, in minutes
  skein bench run masstree-fig8 --rounds 5
      more rounds, less noise
  skein bench run lookup --keys file:my-keys.txt
      your own keys, one per line
  skein bench report
      a table here, and charts in skein-bench.html
  skein bench compare old.jsonl new.jsonl
      the changes beyond the noise
  skein bench guard old/skein-bench new/skein-bench
      the instructions of every operation of every index, in two builds

Rivals are measured beside ours if this program was built with them:
  cargo build --release --features skein-bench/rivals";

/// Repeat the papers' figures and tables on this machine, beside the rivals that a user would
/// otherwise choose.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchArgs {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(clap::Subcommand)]
enum BenchCommand {
    List(list::BenchListArgs),
    Keysets(keysets::BenchKeySetsArgs),
    Run(run::BenchRunArgs),
    Report(report::BenchReportArgs),
    Compare(compare::BenchCompareArgs),
    Guard(guard::BenchGuardArgs),
    #[command(hide = true)]
    GuardLoops(guard::BenchGuardLoopsArgs),
    #[command(hide = true)]
    Weigh(weigh::BenchWeighArgs),
}

/// Runs `skein bench`.
pub fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    match &args.command {
        BenchCommand::List(args) => list::run(args),
        BenchCommand::Keysets(args) => keysets::run(args),
        BenchCommand::Run(args) => run::run(args),
        BenchCommand::Report(args) => report::run(args),
        BenchCommand::Compare(args) => compare::run(args),
        BenchCommand::Guard(args) => guard::run(args),
        BenchCommand::GuardLoops(args) => guard::run_loops(args),
        BenchCommand::Weigh(args) => weigh::run(args),
    }
}

/// Reads the lines of several results files.
fn read_all(paths: &[PathBuf]) -> Result<Vec<ResultLine>, Failure> {
    let mut lines = Vec::new();
    for path in paths {
        lines.extend(read(path).map_err(crate::failure)?);
    }
    Ok(lines)
}

/// Prints text.
fn show(text: &str) -> Result<Exit, Failure> {
    console::print(text).map(|()| Exit::Ok)
}

fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::during(format_args!("cannot write {}", path.display()), &error))
}
