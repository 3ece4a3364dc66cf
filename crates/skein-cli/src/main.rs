//! The `skein` command.
//!
//! ```text
//!   words ─► commands ─┬─► remote   a server or a cluster: connections, requests, replies
//!            config    ├─► disk     a folder of the disk engine
//!                      └─► format   the text of dumps and loads
//! ```
//!
//! `target` chooses between a server and a folder. `bounds` parses the ends of a range, and
//! `stream_payload` the streams of Redis. `interrupt` (signals), `threads` and `foreign_folder`
//! (rejects folders with other people's files) serve several commands.
#![deny(clippy::print_stdout, clippy::print_stderr, reason = "they panic on a full disk; see `console`")]

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
// Here, so that the modules find them beside their own.
use skein_terminal::log::LogArgs;
use skein_terminal::{console, exit, progress, units};

use crate::config::OptionOrigins;
use crate::exit::{EXIT_CODES, Failure, report};

mod bounds;
mod commands;
mod config;
mod disk;
mod foreign_folder;
mod format;
mod interrupt;
mod remote;
mod stream_payload;
mod target;
mod threads;

/// A store makes many small allocations from many threads. mimalloc is measurably faster at them
/// than the system's allocator, and builds in seconds.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const EXAMPLES: &str = "\
Examples:
  skein serve
      serve ./skein-data on 127.0.0.1:6380
  skein config > skein.toml
      a file of all options, to edit and serve with
  skein load paths.txt --to 127.0.0.1:6380
      one key per line, into a running server
  skein dump --from 127.0.0.1:6380 --prefix bin/
      keys and values, in order
  skein range --cluster 10.0.0.1:7000 --prefix bin/
      keys of a whole Redis cluster that has the module skein
  skein count --prefix bin/
      the number of keys
  skein stats --watch
      a server's activity, second by second
  skein check ./skein-data
      read a data folder, change nothing
  skein compact ./disk-data
      return the unused space of a disk store's file
  skein copy --from 127.0.0.1:6379
      all keys of a Redis into a running server
  skein probe
      measure this machine's memory
  skein bench run scan-100
      measure the indexes, and their rivals
";

/// SkeinDB: a durable, ordered key-value store that any Redis client can use.
#[derive(Parser)]
#[command(name = "skein", version, after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
struct Cli {
    #[command(flatten)]
    log: LogArgs,
    #[command(subcommand)]
    command: SkeinCommand,
}

#[derive(Subcommand)]
enum SkeinCommand {
    Serve(Box<commands::serve::ServeArgs>),
    Config(commands::config::ConfigArgs),
    Load(commands::load::LoadArgs),
    Dump(commands::dump::DumpArgs),
    Range(commands::range::RangeCommandArgs),
    Count(commands::count::CountArgs),
    Check(commands::check::CheckArgs),
    Compact(commands::compact::CompactArgs),
    Copy(commands::copy::CopyArgs),
    Stats(commands::stats::StatsArgs),
    /// Measure this machine's memory, and explain the consequences for SkeinDB.
    ///
    /// The program `skein-bench` does it, which must be beside `skein` or on the PATH.
    Probe(commands::external::ExternalArgs),
    /// Repeat the papers' figures and tables on this machine, beside rivals.
    ///
    /// The program `skein-bench` does it, which must be beside `skein` or on the PATH.
    Bench(commands::external::ExternalArgs),
}

fn main() -> ExitCode {
    let cli = match cli(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(failure) => return report(&failure),
    };
    #[cfg(feature = "planted-bugs")]
    plant_bug();
    let log = cli.log.start();
    let result = match &cli.command {
        SkeinCommand::Serve(args) => commands::serve::run(args, log),
        SkeinCommand::Config(args) => commands::config::run(args, Cli::command()),
        SkeinCommand::Load(args) => commands::load::run(args),
        SkeinCommand::Dump(args) => commands::dump::run(args),
        SkeinCommand::Range(args) => commands::range::run(args),
        SkeinCommand::Count(args) => commands::count::run(args),
        SkeinCommand::Check(args) => commands::check::run(args),
        SkeinCommand::Compact(args) => commands::compact::run(args),
        SkeinCommand::Copy(args) => commands::copy::run(args),
        SkeinCommand::Stats(args) => commands::stats::run(args),
        SkeinCommand::Probe(_) | SkeinCommand::Bench(_) => commands::external::run(),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => report(&failure),
    }
}

/// Parses the command line, together with the configuration file that it names.
fn cli(args: Vec<OsString>) -> Result<Cli, Failure> {
    config::matches(Cli::command(), args).map(parsed)
}

/// Checks whether `skein serve --config FILE` would start, as far as it can without starting. Names
/// all mistakes of the file.
fn check_file(file: &Path) -> Result<(), Failure> {
    let text = config::file::read(file)
        .map_err(|error| Failure::usage(format!("cannot read --config {}: {error}", file.display())))?;
    config::all_mistakes::check(&Cli::command(), file, &text, |matches, origins| {
        match parsed((matches, origins)).command {
            SkeinCommand::Serve(args) => args.options().map(drop),
            _ => Ok(()),
        }
    })
}

/// Checks whether a server would start with these arguments and a file of this text.
fn check(args: Vec<OsString>, file: &Path, text: &str) -> Result<(), Failure> {
    let matches = Cli::command().try_get_matches_from(&args);
    let matches = matches.map_err(|error| Failure::usage(error.to_string()))?;
    let Some((_, given)) = matches.subcommand() else { return Ok(()) };
    match parsed(config::with_file(Cli::command(), args, given, file, text)?).command {
        SkeinCommand::Serve(args) => args.options().map(drop),
        _ => Ok(()),
    }
}

fn parsed((matches, origins): (ArgMatches, OptionOrigins)) -> Cli {
    let mut cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if let SkeinCommand::Serve(args) = &mut cli.command {
        args.origins = origins;
    }
    cli
}

/// Switches on the mistake that `SKEIN_PLANTED_BUG` names, so that `.ci/planted` can show that the
/// tests notice it.
#[cfg(feature = "planted-bugs")]
fn plant_bug() {
    use skein_log::planted_bugs::{PlantedBug, set};

    let Ok(name) = std::env::var("SKEIN_PLANTED_BUG") else { return };
    match name.as_str() {
        "early-acknowledgement" => set(PlantedBug::EarlyAcknowledgement, true),
        "skipped-crc" => set(PlantedBug::SkippedCrc, true),
        _ => panic!("SKEIN_PLANTED_BUG={name}: there is no such bug"),
    }
    console::note(format_args!("skein: WRONG ON PURPOSE: {name}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    /// Incident: examples were wider than a terminal, and wrapped in the middle of a column.
    /// Consequence: a reader could not tell a command from its explanation. Fix: an indented line
    /// must fit 80 columns, and is printed as written.
    #[test]
    fn help_fits_a_terminal() {
        skein_terminal::help::assert_fits_a_terminal(&mut Cli::command());
    }

    #[test]
    fn exit_codes_are_as_documented() {
        for exit in [Exit::Ok, Exit::Failed, Exit::Usage, Exit::Damage, Exit::Partial] {
            assert!(EXIT_CODES.contains(&format!("\n  {}  ", exit as u8)), "{exit:?} is not in the table");
        }
    }
}
