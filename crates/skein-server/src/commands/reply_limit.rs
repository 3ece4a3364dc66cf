//! `max-reply`, for commands that answer at once and may be asked for the same thing any number of
//! times.

use super::CommandError;
use crate::resp::ReplyWriter;
use crate::shared::ServerShared;

/// What a reply may have.
pub(super) struct ReplyLimit {
    start: usize,
    bytes_max: usize,
    /// What to do instead of asking for too much.
    way_out: &'static str,
}

impl ReplyLimit {
    /// The limit of a reply that begins here.
    pub(super) fn new(shared: &ServerShared, reply: &ReplyWriter<'_>, way_out: &'static str) -> Self {
        Self::of(shared.settings.reply_bytes_max.get(), reply, way_out)
    }

    /// This limit, of a reply that begins here.
    pub(super) fn of(bytes_max: usize, reply: &ReplyWriter<'_>, way_out: &'static str) -> Self {
        Self { start: reply.position(), bytes_max, way_out }
    }

    /// Refuses a reply that has become too long.
    pub(super) fn check(&self, reply: &ReplyWriter<'_>) -> Result<(), CommandError> {
        self.check_bytes(reply.position() - self.start)
    }

    /// Refuses a reply that would have so many bytes, if that is too long.
    pub(super) fn check_bytes(&self, bytes: usize) -> Result<(), CommandError> {
        check_reply_bytes(bytes, self.bytes_max, self.way_out)
    }
}

/// Refuses a reply of so many bytes if it has more than it may.
pub(super) fn check_reply_bytes(bytes: usize, limit: usize, way_out: &str) -> Result<(), CommandError> {
    if bytes <= limit {
        return Ok(());
    }
    Err(CommandError::owned(format!(
        "ERR the reply would be longer than the limit of {limit} bytes; {way_out}"
    )))
}
