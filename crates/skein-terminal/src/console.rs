//! Output for people, on standard output and standard error.
//!
//! The printing macros of the standard library panic if the stream cannot be written, for example
//! because it leads to a file on a full disk. So the commands deny them and print through this
//! module.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use crate::exit::Failure;

/// Prints a command's answer.
///
/// # Errors
/// As [`written`].
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Converts the result of writing an answer. A reader that closes early, as `head` does, is not a
/// failure.
///
/// # Errors
/// If the answer could not be written, but its reader still reads.
pub fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::during("cannot write the output", &error))
        }
        _ => Ok(()),
    }
}

/// Prints a note on standard error, beside the answer. A failure is ignored: there is nobody left
/// to tell.
pub fn note(text: impl Display) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}
