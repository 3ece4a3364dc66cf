//! `skein config`: prints a configuration file with all options and their defaults, or checks
//! whether a server would start with a file.

use std::path::PathBuf;

use clap::Command;

use crate::config::template;
use crate::console;
use crate::exit::{Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  skein config > skein.toml         all options, commented out
  skein config --check skein.toml   check the edited file, start nothing
  skein serve --config skein.toml   serve with it";

/// Print a configuration file for `skein serve --config`: all options, with their help and
/// defaults.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ConfigArgs {
    /// Print nothing; check whether a server would start with this file, and the files that it
    /// names. Names each mistake with its line. Exit code 2 if there is one.
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
}

/// Runs `skein config`. `skein` is the definition of the whole command line.
pub fn run(args: &ConfigArgs, mut skein: Command) -> Result<Exit, Failure> {
    if let Some(file) = &args.check {
        crate::check_file(file).map_err(Failure::into_usage)?;
        console::print(&format!("{}: fine\n", file.display()))?;
        return Ok(Exit::Ok);
    }
    skein.build();
    let serve = skein.find_subcommand("serve").map_or_else(Command::default, Clone::clone);
    console::print(&template::text(&serve))?;
    Ok(Exit::Ok)
}
