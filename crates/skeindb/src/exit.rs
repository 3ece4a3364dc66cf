//! Exit codes, and the error that carries one.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

/// How a command ended. The numbers are a promise: scripts read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Ok = 0,
    /// Not done; the message says why. Also for what the system refused: files, ports, connections.
    Failed = 1,
    /// The command line is wrong; nothing was tried. (The argument parser uses this number too.)
    Usage = 2,
    /// A data folder is damaged.
    Damage = 3,
    /// Done, but some of the input was refused; each refusal is named or counted.
    Partial = 4,
}

/// The table for `--help`.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed; the last line on standard error says why
  2  wrong command line; nothing was tried
  3  the data folder is damaged
  4  done, but part of the input was refused (load, dump, range, copy)";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// A command's error: one line for the user, and the exit code.
#[derive(Debug)]
pub struct Failure {
    /// What to exit with.
    pub exit: Exit,
    /// What went wrong, with the value, the limit and the way out where there is one.
    pub message: String,
}

impl Failure {
    /// A plain failure.
    pub fn new(message: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, message: message.into() }
    }

    /// A wrong use that the argument parser cannot see.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into() }
    }

    /// The same, as a wrong use.
    pub fn into_usage(self) -> Self {
        Self { exit: Exit::Usage, ..self }
    }

    /// A failure while doing `what`.
    pub fn during(what: impl Display, error: &io::Error) -> Self {
        Self::new(format!("{what}: {error}"))
    }
}
