//! Subcommands that another program runs: `skein bench` and `skein probe` are `skein-bench`, which
//! is installed where they are wanted.
//!
//! The program gets the whole command line. So it understands the options of `skein`, and its own
//! help and messages name the command as the user wrote it.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::exit::{Exit, Failure};

/// The program.
const PROGRAM: &str = "skein-bench";

/// The arguments, which the program parses.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct ExternalArgs {
    /// Arguments of `skein-bench`; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    _args: Vec<OsString>,
}

/// Replaces this process by the program, with the arguments of this process. Returns only if the
/// program could not be started.
///
/// # Errors
/// If the program is neither beside this one nor on the `PATH`, or if the system does not start it.
pub fn run() -> Result<Exit, Failure> {
    let beside = std::env::current_exe().ok().map(|skein| skein.with_file_name(PROGRAM));
    let programs = beside.into_iter().map(OsString::from).chain([PROGRAM.into()]);
    for program in programs {
        let error = Command::new(&program).args(std::env::args_os().skip(1)).exec();
        if error.kind() != ErrorKind::NotFound {
            return Err(not_started(&program, &error));
        }
    }
    Err(Failure::new(format!(
        "this command needs the program {PROGRAM}, which is neither beside `skein` nor on the PATH; \
         in SkeinDB's sources, `cargo build --release -p {PROGRAM}` builds it as \
         target/release/{PROGRAM}, and `cargo install --path crates/{PROGRAM}` installs it"
    )))
}

fn not_started(program: &OsString, error: &io::Error) -> Failure {
    Failure::during(format_args!("cannot start {}", program.display()), error)
}
