//! What can go wrong with a measurement.

use std::io;
use std::path::Path;

/// An error of the bench. Every text names the value, the limit and the way out, where there are such.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What was asked for makes no sense: an unknown name, a size beyond memory, a file that is none of ours.
    #[error("{0}")]
    Input(String),
    /// A contender, or the system, failed.
    #[error("{0}")]
    Failed(String),
    /// A contender gave wrong answers, so its figures mean nothing.
    #[error(
        "{contender} gave {wrong} wrong answers in '{measure}'; its figures are worth nothing, so the run ends"
    )]
    Wrong {
        /// Who.
        contender: String,
        /// In which loop.
        measure: String,
        /// How many.
        wrong: usize,
    },
    /// A server answered with other bytes than it must.
    #[error(
        "{contender} gave a wrong reply in '{measure}': \"{got}\" where \"{expected}\" was due; its figures are worth nothing, so the \
         run ends"
    )]
    WrongReply {
        /// Who.
        contender: String,
        /// In which loop.
        measure: String,
        /// The bytes that came, as far as they matter.
        got: String,
        /// The bytes that were due.
        expected: String,
    },
}

/// A result of the bench.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A failure to do something with a file.
    #[expect(clippy::needless_pass_by_value, reason = "whoever has an error gives it away")]
    pub fn io(doing: &str, path: &Path, error: io::Error) -> Self {
        Self::Failed(format!("cannot {doing} {}: {error}", path.display()))
    }
}
