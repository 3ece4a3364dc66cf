//! The program behind `skein bench` and `skein probe`: `skein` starts it with its own command line.
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic on a full disk; see `skein_terminal::console`"
)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use skein_bench::counting::LiveByteAllocator;
use skein_terminal::exit::{EXIT_CODES, Failure, report};
use skein_terminal::log::LogArgs;

mod command;

/// The allocator of `skein`, so that the bench measures the same program as users run. It can count
/// the bytes that the bench weighs.
#[global_allocator]
static ALLOCATOR: LiveByteAllocator = LiveByteAllocator;

/// The part of `skein` that measures: `skein bench ...` and `skein probe ...` start this program.
#[derive(Parser)]
#[command(name = "skein", bin_name = "skein", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    log: LogArgs,
    #[command(subcommand)]
    command: BenchProgramCommand,
}

#[derive(Subcommand)]
enum BenchProgramCommand {
    Probe(command::probe::ProbeArgs),
    Bench(command::bench::BenchArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    cli.log.start();
    let result = match &cli.command {
        BenchProgramCommand::Probe(args) => command::probe::run(args),
        BenchProgramCommand::Bench(args) => command::bench::run(args),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => report(&failure),
    }
}

/// Converts the bench's error into a command's failure.
fn failure(error: skein_bench::Error) -> Failure {
    match error {
        skein_bench::Error::Input(text) => Failure::usage(text),
        other => Failure::new(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn arguments_are_consistent_and_help_fits_a_terminal() {
        Cli::command().debug_assert();
        skein_terminal::help::assert_fits_a_terminal(&mut Cli::command());
    }
}
