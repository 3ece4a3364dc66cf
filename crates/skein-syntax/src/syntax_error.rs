//! What is wrong with a request, in Redis's words where it has some.

/// A mistake in a request. Its text is what the client hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// A bound is none of `-`, `+`, `[key`, `(key`.
    #[error("ERR min or max not valid string range item")]
    Bound,
    /// A word that is none, that stands twice, or that lacks what follows it.
    #[error("ERR syntax error")]
    Syntax,
    /// A limit or a count that is no number.
    #[error("ERR value is not an integer or out of range")]
    NotAnInteger,
    /// `COLUMNS` without names.
    #[error("ERR COLUMNS takes a count of 1 or more, then the names")]
    NoColumns,
}
