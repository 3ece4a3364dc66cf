//! `skein bench run`: runs experiments.

use std::io::IsTerminal;
use std::path::PathBuf;

use skein_bench::experiment::{self, BenchPlan, BenchSettings, Experiment, RunSize};
use skein_bench::result::{Machine, ResultSink};
use skein_bench::sys::{LoopClock, skein_program};
use skein_bench::{machine, probe, report, rival};

use skein_terminal::console;
use skein_terminal::exit::{Exit, Failure};

/// The default seed of all random choices.
pub const SEED: u64 = 42;

/// Run experiments: contenders take turns for several rounds, and every answer is checked.
#[derive(clap::Args)]
pub struct BenchRunArgs {
    /// Experiments by name; `skein bench list` shows them.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// The size: small takes minutes, large is the size of docs/benchmarks/, paper is the paper's
    /// own size.
    #[arg(long, value_enum, default_value = "small")]
    size: RunSize,
    /// How often the contenders take turns.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// The number of keys or rows, instead of the size's.
    #[arg(long, value_parser = clap::value_parser!(u64).range(16..))]
    count: Option<u64>,
    /// A key set instead of the experiment's own; may be given more than once.
    #[arg(long, value_name = "KEYSET")]
    keys: Vec<String>,
    /// Contenders to measure, by name or by a property that distinguishes them; all if none is
    /// named.
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    only: Vec<String>,
    /// Contenders to leave out.
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    without: Vec<String>,
    /// A parameter of an experiment, such as value-bytes=1000; may be given more than once.
    #[arg(long, value_name = "NAME=N")]
    set: Vec<String>,
    /// The clock of loops on one thread: `cpu` excludes moments when other programs had the core.
    #[arg(long, value_enum, default_value = "wall")]
    clock: LoopClock,
    /// The parent folder of the stores' folders: on the disk that is to be measured.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The seed of all random choices.
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// The file to which results are appended, as JSON lines.
    #[arg(long, default_value = super::RESULTS, value_name = "FILE")]
    out: PathBuf,
    /// Do not probe the machine first; the report then lacks its memory's latency.
    #[arg(long)]
    no_probe: bool,
    /// No progress bar.
    #[arg(long)]
    quiet: bool,
}

/// Runs `skein bench run`.
pub fn run(args: &BenchRunArgs) -> Result<Exit, Failure> {
    let experiments = args.names.iter().map(|name| experiment::named(name));
    let experiments: Vec<&Experiment> = experiments.collect::<Result<_, _>>().map_err(crate::failure)?;
    check_names(args)?;
    let plan = plan(args)?;
    // Opened before the run, so that a new build during the run changes nothing.
    skein_program();
    let mut sink = ResultSink::append(&args.out).map_err(crate::failure)?;
    let machine = look_at_machine(args)?;
    let quiet = args.quiet || !std::io::stderr().is_terminal();
    let mut failures = Vec::new();
    let mut runs = Vec::new();
    for experiment in experiments {
        match experiment::run(experiment, &plan, &machine, quiet, &mut sink) {
            Ok(run) => runs.push(run.run),
            Err(error) => failures.push(format!("{}: {error}", experiment.name)),
        }
    }
    let mut lines = super::read_all(std::slice::from_ref(&args.out))?;
    lines.retain(|line| runs.iter().any(|run| run == line.run()));
    super::show(&report::table(&lines))?;
    if failures.is_empty() {
        return Ok(Exit::Ok);
    }
    Err(Failure::new(failures.join("\nskein: ")))
}

/// Rejects names that no contender of this build has. If another build could have the contender,
/// names the feature that adds it.
fn check_names(args: &BenchRunArgs) -> Result<(), Failure> {
    let Some(name) = args.only.iter().chain(&args.without).find(|name| !rival::is_known(name)) else {
        return Ok(());
    };
    let known = rival::names();
    let absent = rival::absent().into_iter().find(|(absent, _)| absent == name);
    let why = absent.map_or_else(String::new, |(_, why)| format!(" ({why})"));
    Err(Failure::usage(format!(
        "there is no contender '{name}' in this build{}; there are: {}",
        if why.is_empty() { skein_bench::did_you_mean(name, &known) } else { why },
        known.join(", ")
    )))
}

fn plan(args: &BenchRunArgs) -> Result<BenchPlan, Failure> {
    let names: Vec<&str> = args.names.iter().map(String::as_str).collect();
    Ok(BenchPlan {
        size: args.size,
        rounds: args.rounds as usize,
        count: args.count.map(|count| count as usize),
        keys: args.keys.clone(),
        only: args.only.clone(),
        without: args.without.clone(),
        settings: BenchSettings::parse(&args.set, &names).map_err(crate::failure)?,
        clock: args.clock,
        folder: args.dir.clone().unwrap_or_else(std::env::temp_dir),
        seed: args.seed,
        command: command_line(),
    })
}

/// Returns the command line in a repeatable form: with the program's name instead of its path.
fn command_line() -> String {
    let rest = std::env::args().skip(1);
    std::iter::once("skein".to_owned()).chain(rest).collect::<Vec<_>>().join(" ")
}

fn look_at_machine(args: &BenchRunArgs) -> Result<Machine, Failure> {
    if args.no_probe {
        return Ok(machine::describe());
    }
    if !args.quiet {
        console::note("probing the machine …");
    }
    probe::quick().map_err(crate::failure)
}
