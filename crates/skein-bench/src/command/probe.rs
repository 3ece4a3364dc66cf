//! `skein probe`: measures the cost of memory on this machine, and its consequences for SkeinDB.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use skein_bench::machine;
use skein_bench::probe::{self, ProbePlan, ProbeReport};

use skein_terminal::exit::{Exit, Failure};
use skein_terminal::progress::PercentProgress;
use skein_terminal::units::parse_size;

const EXAMPLES: &str = "\
Examples:
  skein probe
      latency by footprint, parallel reads, huge pages; under a minute
  skein probe --quick
      fewer figures, in a few seconds
  skein probe --footprint 4g
      larger arrays, for machines with large caches
  skein probe --json probe.json
      the figures also as JSON, with all groups of 1 to 120 reads
  skein probe --json - | jq .advice
      JSON alone, on standard output

It maps two arrays of the footprint (1 GiB, or less if memory is short), one on huge pages and one on small ones, and \
changes nothing on the machine. Other programs make the figures worse: run it while the machine is idle.
docs/benchmarks/ explains how each figure is measured and how to read it.";

/// Measure this machine's memory, and explain the consequences for SkeinDB.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ProbeArgs {
    /// The size of each of the two arrays; at most a quarter of the free memory [default: 1g, or an
    /// eighth of it].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    footprint: Option<u64>,
    /// Measure less, in a few seconds.
    #[arg(long)]
    quick: bool,
    /// Write the figures as JSON to this file too; `-` for standard output, without the text.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs `skein probe`.
pub fn run(args: &ProbeArgs) -> Result<Exit, Failure> {
    let free = machine::free_memory().map_err(crate::failure)?;
    let plan = if args.quick { ProbePlan::quick } else { ProbePlan::full };
    let plan = plan(args.footprint, free).map_err(crate::failure)?;
    // Open it before the measurement, so that a path that cannot be written does not cost a minute.
    let file = match args.json.as_deref().filter(|path| *path != Path::new("-")) {
        Some(path) => Some((File::create(path).map_err(|error| cannot_write(path, &error))?, path)),
        None => None,
    };
    let bar = PercentProgress::start();
    let report = probe::run(&plan, &mut |doing, done| bar.update(doing, done)).map_err(crate::failure)?;
    bar.finish();
    if let Some((file, path)) = file {
        write_json(&report, file).map_err(|error| cannot_write(path, &error))?;
    }
    let mut out = io::stdout().lock();
    let shown = if args.json.as_deref() == Some(Path::new("-")) {
        write_json(&report, out)
    } else {
        write!(out, "{report}").and_then(|()| out.flush())
    };
    match shown {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::during("cannot write the output", &error))
        }
        _ => Ok(Exit::Ok),
    }
}

fn write_json(report: &ProbeReport, mut out: impl Write) -> io::Result<()> {
    let text = serde_json::to_string(report)?;
    writeln!(out, "{text}")?;
    out.flush()
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::during(format_args!("cannot write {}", path.display()), error)
}
