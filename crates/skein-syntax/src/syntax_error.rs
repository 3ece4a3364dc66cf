//! Mistakes in a request, in Redis's words if it has some.

/// A mistake in a request. Its text is the error reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// A bound is not `-`, `+`, `[key` or `(key`.
    #[error("ERR min or max not valid string range item")]
    Bound,
    /// A word is unknown, repeated, or lacks its argument.
    #[error("ERR syntax error")]
    Syntax,
    /// A limit or a count is not a number.
    #[error("ERR value is not an integer or out of range")]
    NotAnInteger,
    /// `COLUMNS` without names.
    #[error("ERR COLUMNS takes a count of 1 or more, then the names")]
    NoColumns,
}
