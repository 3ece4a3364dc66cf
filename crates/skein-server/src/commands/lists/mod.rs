//! Commands on lists.
//!
//! ```text
//!   LPUSH ...    Handler::Write      ─► writer.change_list
//!   LRANGE ...   Handler::Read       ─► row.list(|list| ...)
//!   LMOVE ...    Handler::Exclusive  ─► writer.move_element
//!   BLPOP ...    Handler::Blocking   ─► the same, or the client waits (`waiting_clients`)
//! ```
//!
//! Read in this order: `ends` (pushes and pops), `elements` (single elements), `ranges` (LRANGE,
//! LTRIM), `positions` (LPOS), `moves` (LMOVE), `multi_pop` (LMPOP), `blocking`.

mod blocking;
mod elements;
mod ends;
mod moves;
mod multi_pop;
mod positions;
mod ranges;
pub(crate) mod table;

pub(super) use blocking::{BLMOVE, BLMPOP, BLPOP, BRPOP, BRPOPLPUSH};
pub(super) use ranges::{ElementsReply, write_elements};

use super::command_error::{NOT_AN_INTEGER, SYNTAX};
use super::{CommandError, CommandResult};
use super::{is, reply_or_error};
use crate::resp::Reply;
use skein_data::{ListEnd, ListReader, RowView};
use skein_syntax::number::parse_i64;

/// Replies from the list, or from `None` for an absent key. Errors for other kinds.
fn answer_of<R>(
    row: Option<RowView>,
    reply: &mut Reply,
    answer: impl FnOnce(Option<&ListReader>, &mut Reply) -> CommandResult<R>,
) -> CommandResult<R> {
    let Some(row) = row else { return answer(None, reply) };
    // A list that was removed since the row was read has no elements, and counts as absent.
    row.list(|list| answer(Some(list).filter(|list| !list.is_empty()), reply))?
        .ok_or_else(CommandError::wrong_type)?
}

/// Replies from a list and writes the error.
fn with_list(row: Option<RowView>, reply: &mut Reply, answer: impl FnOnce(Option<&ListReader>, &mut Reply)) {
    let answered = |list: Option<&ListReader>, reply: &mut Reply| {
        answer(list, reply);
        Ok(())
    };
    reply_or_error(reply, |reply| answer_of(row, reply, answered));
}

fn parse_integer(text: &[u8]) -> CommandResult<i64> {
    parse_i64(text).ok_or(NOT_AN_INTEGER)
}

/// Parses LEFT or RIGHT.
fn parse_end(word: &[u8]) -> CommandResult<ListEnd> {
    match word {
        _ if is(word, "LEFT") => Ok(ListEnd::Front),
        _ if is(word, "RIGHT") => Ok(ListEnd::Back),
        _ => Err(SYNTAX),
    }
}

/// Returns the index from the front for one that may count from the back (-1 is the last element).
/// `None` if it lies before the front.
fn index_from_front(index: i64, len: u64) -> Option<u64> {
    if index >= 0 { Some(index.unsigned_abs()) } else { len.checked_sub(index.unsigned_abs()) }
}
