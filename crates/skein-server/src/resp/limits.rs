//! The limits of requests, and the errors for requests that exceed them.

/// The limits of requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestLimits {
    /// Bytes of a whole request on the wire.
    pub request_bytes: usize,
    /// Bytes of one argument.
    pub arg_bytes: usize,
    /// Arguments of a request.
    pub args: usize,
    /// Requests of one connection that are parsed before they run.
    pub pipeline: usize,
}

/// The client sent bytes that are not a request. It receives the error and is disconnected, because
/// the bytes after it cannot be interpreted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProtocolError {
    #[error("too big mbulk count string")]
    CountLineTooLong,
    #[error("too big bulk count string")]
    LengthLineTooLong,
    #[error("too big inline request")]
    InlineTooLong,
    #[error("unbalanced quotes in request")]
    UnbalancedQuotes,
    #[error("invalid multibulk length")]
    BadCount,
    #[error("unauthenticated multibulk length")]
    CountBeforePassword,
    #[error("invalid bulk length")]
    BadLength,
    #[error("unauthenticated bulk length")]
    LengthBeforePassword,
    #[error("expected '$', got '{}'", char::from(*.0))]
    NoDollar(u8),
    #[error("request is longer than the limit of {limit} bytes; split it or raise the limit")]
    RequestTooLong { limit: usize },
}
