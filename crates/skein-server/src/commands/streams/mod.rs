//! Commands on streams.
//!
//! ```text
//!   XADD, XACK, XCLAIM ...  Handler::Write     ─► writer.change_stream
//!   XRANGE, XPENDING ...    Handler::Read      ─► row.stream(|stream| ...)
//!   XREAD, XREADGROUP       Handler::Blocking  ─► the same, or the client waits for XADD
//! ```
//!
//! The data model has the records of a stream and their writers (`skein_data`, `streams`). Here are
//! Redis's requests and replies.
//!
//! Read in this order: `ids`, `replies`, `add` (XADD, XTRIM), `entries` (single entries, XSETID),
//! `ranges`; then groups: `groups` (XGROUP), `read` and `read_group` with `read_query` and
//! `read_task`, `pending`, `claim`, `info`.

mod add;
mod claim;
mod entries;
mod groups;
mod ids;
mod info;
mod pending;
mod ranges;
mod read;
mod read_group;
mod read_query;
mod read_task;
mod replies;
pub(crate) mod table;

pub(super) use add::GROUP;
pub(super) use ranges::{EntriesReply, write_entries};
pub(super) use read::XREAD;
pub(super) use read_group::XREADGROUP;
pub(super) use read_query::check_in_script;

use super::{CommandError, CommandResult, reply_or_error};
use crate::resp::Reply;
use skein_data::{RowView, StreamReader};

/// Replies from the stream, or from `None` for an absent key. Errors for other kinds.
fn answer_of<R>(
    row: Option<RowView>,
    reply: &mut Reply,
    answer: impl FnOnce(Option<&mut StreamReader>, &mut Reply) -> CommandResult<R>,
) -> CommandResult<R> {
    let Some(row) = row else { return answer(None, reply) };
    row.stream(|stream| answer(Some(stream), reply))?.ok_or_else(CommandError::wrong_type)?
}

/// Does the same and writes the error.
fn with_stream(
    row: Option<RowView>,
    reply: &mut Reply,
    answer: impl FnOnce(Option<&mut StreamReader>, &mut Reply),
) {
    let answered = |stream: Option<&mut StreamReader>, reply: &mut Reply| {
        answer(stream, reply);
        Ok(())
    };
    reply_or_error(reply, |reply| answer_of(row, reply, answered));
}

/// Returns the error for a group that does not exist.
fn no_group(parts: &[&[u8]]) -> CommandError {
    CommandError::owned([b"NOGROUP ", &parts.concat()[..]].concat())
}
