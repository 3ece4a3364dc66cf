//! `max-reply`, for commands that reply at once and may name the same thing any number of times.

use super::{CommandError, CommandResult, Replied};
use crate::resp::Reply;
use crate::shared::ServerShared;

/// The limit on one reply.
pub(super) struct ReplyLimit {
    start: usize,
    bytes_max: usize,
    /// The advice in the error.
    way_out: &'static str,
}

impl ReplyLimit {
    /// Returns the server's limit for a reply that begins here.
    pub(super) fn new(shared: &ServerShared, reply: &Reply, way_out: &'static str) -> Self {
        Self::of(shared.settings.reply_bytes_max.get(), reply, way_out)
    }

    /// Returns this limit for a reply that begins here.
    pub(super) fn of(bytes_max: usize, reply: &Reply, way_out: &'static str) -> Self {
        Self { start: reply.position(), bytes_max, way_out }
    }

    /// Errors if the reply has become too long.
    pub(super) fn check(&self, reply: &Reply) -> Replied {
        self.check_bytes(reply.position() - self.start)
    }

    /// Errors if a reply of this number of bytes would be too long.
    pub(super) fn check_bytes(&self, bytes: usize) -> CommandResult<()> {
        check_reply_bytes(bytes, self.bytes_max, self.way_out)
    }
}

/// Errors if a reply of this number of bytes would exceed the limit.
pub(super) fn check_reply_bytes(bytes: usize, limit: usize, way_out: &str) -> CommandResult<()> {
    if bytes <= limit { Ok(()) } else { Err(reply_too_long(limit, way_out)) }
}

/// Returns the error for a reply that would exceed the limit.
pub(super) fn reply_too_long(limit: usize, way_out: &str) -> CommandError {
    CommandError::owned(format!("ERR the reply would be longer than the limit of {limit} bytes; {way_out}"))
}
