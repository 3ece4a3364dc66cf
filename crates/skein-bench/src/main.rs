//! `skein-bench`: measures `SkeinDB` against its rivals.
//!
//! A figure is a ratio within one run: contenders take turns for several rounds, and the median and the spread
//! are reported. Every answer is checked. `docs/benchmarks.md` says what each loop does and how to repeat
//! what is recorded there.

mod counting;
mod index;
mod keyset;
mod machine;
mod report;
mod rival;
mod server;
mod store;
mod sys;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// Measures `SkeinDB` against its rivals. Rivals need `--features rivals`.
#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Inserts, lookups, scans and memory of the ordered indexes.
    Index(index::Args),
    /// Load, reads, durable puts and recovery of the embedded stores.
    Store(store::Args),
    /// Requests per second and CPU time per request beside Redis.
    Server(server::Args),
    /// Describes this machine: processor, caches, huge pages, latency of a random read.
    Machine,
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Index(args) => index::run(&args),
        Command::Store(args) => store::run(&args),
        Command::Server(args) => server::run(&args),
        Command::Machine => {
            println!("{}", machine::describe());
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("skein-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
