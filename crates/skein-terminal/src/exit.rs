//! Exit codes, and the error type that carries one.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use crate::console;

/// The result of a command. The numbers are a promise: scripts read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Ok = 0,
    /// Not done; the message says why. Also used if the system refuses a file, a port or a
    /// connection.
    Failed = 1,
    /// The command line is wrong; the command did nothing. The argument parser uses this number
    /// too.
    Usage = 2,
    /// A data folder is damaged: a file of it is not as it was written, is missing, or has a format
    /// that no program is known to write.
    Damage = 3,
    /// Done, but some of the input was rejected. Each rejection is named or counted.
    Partial = 4,
}

/// The table for `--help`.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed; the last line on standard error says why
  2  wrong command line; nothing was tried
  3  the data folder is damaged, or a part of it is missing
  4  done, but part of the input was refused (load, dump, range, copy)";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// A command's error: one line for the user, and the exit code.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// The problem, with the value, the limit and the way out, if any.
    pub message: String,
}

impl Failure {
    /// Returns a failure with exit code 1.
    pub fn new(message: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, message: message.into() }
    }

    /// Returns a usage error that the argument parser cannot detect.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into() }
    }

    /// Turns the failure into a usage error.
    #[must_use]
    pub fn into_usage(self) -> Self {
        Self { exit: Exit::Usage, ..self }
    }

    /// Returns a failure that happened while doing `what`.
    pub fn during(what: impl Display, error: &io::Error) -> Self {
        Self::new(format!("{what}: {error}"))
    }
}

/// Prints why a command failed, and returns its exit code.
pub fn report(failure: &Failure) -> ExitCode {
    console::note(format_args!("skein: {}", failure.message));
    failure.exit.into()
}
