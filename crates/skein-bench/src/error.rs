//! The errors of a measurement.

use std::io;
use std::path::Path;

/// An error of the bench. Every text names the value, the limit and the way out, if there are such.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request makes no sense: an unknown name, a size beyond memory, a file in another format.
    #[error("{0}")]
    Input(String),
    /// A contender or the system failed.
    #[error("{0}")]
    Failed(String),
    /// A contender returned wrong answers, so its figures mean nothing.
    #[error(
        "{contender} returned {wrong} wrong answers in '{measure}'; the run stops, because its \
         figures mean nothing"
    )]
    Wrong {
        /// The contender's name.
        contender: String,
        /// The loop's measure.
        measure: String,
        /// The number of wrong answers.
        wrong: usize,
    },
    /// A server sent a reply with wrong bytes.
    #[error(
        "{contender} sent a wrong reply in '{measure}': \"{got}\" instead of \"{expected}\"; the \
         run stops, because its figures mean nothing"
    )]
    WrongReply {
        /// The server's name.
        contender: String,
        /// The loop's measure.
        measure: String,
        /// The bytes received, from shortly before the first wrong one.
        got: String,
        /// The bytes that should have been received.
        expected: String,
    },
}

/// The result type of the bench.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Returns an error if a contender returned wrong answers.
    ///
    /// # Errors
    /// If `wrong`, the number of wrong answers, is not 0.
    pub fn check_answers(contender: &str, measure: &str, wrong: usize) -> Result<()> {
        if wrong == 0 {
            return Ok(());
        }
        Err(Self::Wrong { contender: contender.to_owned(), measure: measure.to_owned(), wrong })
    }

    /// Returns the error for a failed operation on a file.
    #[expect(clippy::needless_pass_by_value, reason = "callers pass ownership of the error")]
    pub fn io(doing: &str, path: &Path, error: io::Error) -> Self {
        Self::Failed(format!("cannot {doing} {}: {error}", path.display()))
    }
}
