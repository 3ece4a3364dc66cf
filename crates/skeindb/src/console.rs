//! What is said to people, on standard output and standard error.
//!
//! The standard library's printing macros panic when a stream cannot be written, and one that leads to a file on a full
//! disk cannot. So this crate denies them, and all that is printed goes through here.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use tracing_subscriber::filter::LevelFilter;

use crate::exit::Failure;

/// Prints a command's answer.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// How writing an answer went: a reader that has enough, as `head` has, is no failure.
pub fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::during("cannot write the output", &error))
        }
        _ => Ok(()),
    }
}

/// Says something beside the answer, on standard error. If that cannot be written there is nobody left to tell.
pub fn note(text: impl Display) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Logs to standard error from now on; what cannot be written there is lost.
pub fn log(level: impl Into<LevelFilter>) {
    use std::io::IsTerminal;

    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        // It would report a failed write by `eprintln`, which panics.
        .log_internal_errors(false)
        .init();
}
