//! Commands on databases: SELECT, MOVE, SWAPDB. DBSIZE, FLUSHDB and FLUSHALL are in `server`.

use skein_syntax::number::parse_i64;

use super::command_error::NOT_AN_INTEGER;
use super::{AfterCommand, CommandContext, CommandError, CommandResult};
use crate::clients::client::ClientState;
use crate::resp::{ReplyWriter, RequestArgs};
use skein_data::RowWriter as _;

const NO_SUCH_DATABASE: CommandError = CommandError::text("ERR DB index is out of range");

pub(super) const SAME_OBJECTS: CommandError =
    CommandError::text("ERR source and destination objects are the same");

/// Parses an integer of 32 bits. Returns `no_integer` for other texts and `too_large` for larger
/// numbers.
fn parse_index(text: &[u8], no_integer: CommandError, too_large: CommandError) -> Result<i32, CommandError> {
    i32::try_from(parse_i64(text).ok_or(no_integer)?).map_err(|_| too_large)
}

/// Returns the database of this number.
fn database_of(index: i32, count: u32) -> Result<u32, CommandError> {
    u32::try_from(index).ok().filter(|database| *database < count).ok_or(NO_SUCH_DATABASE)
}

/// Parses the number of one of `count` databases.
pub(crate) fn parse_database(text: &[u8], count: u32) -> Result<u32, CommandError> {
    let out_of_range = CommandError::out_of_range(i32::MIN.into(), i32::MAX.into());
    database_of(parse_index(text, NOT_AN_INTEGER, out_of_range)?, count)
}

pub(super) fn select(
    client: &mut ClientState,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> CommandResult {
    let database = parse_database(args.get(1), client.databases().count())?;
    client.select(database);
    reply.ok();
    Ok(AfterCommand::Done)
}

/// Returns the argument of MOVE that names another database.
#[expect(clippy::unnecessary_wraps, reason = "COPY may name none")]
pub(super) fn move_database<'a>(args: &RequestArgs<'a>) -> Option<&'a [u8]> {
    Some(args.get(2))
}

/// `MOVE key database`, with the key in the other database as one more argument
/// (`stored_request`). Without that, the number is of no database.
pub(super) fn move_key(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> CommandResult {
    let to = parse_database(args.get(2), context.client.databases().count())?;
    if to == context.client.database() {
        return Err(SAME_OBJECTS);
    }
    let (from, to) = (args.get(1), args.get(3));
    let moved = context.write(|writer| writer.rename(from, to, false));
    reply.int(moved?.unwrap_or(false).into());
    Ok(AfterCommand::Done)
}

pub(super) fn swap(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> CommandResult {
    let (first, second) =
        (CommandError::text("ERR invalid first DB index"), CommandError::text("ERR invalid second DB index"));
    let first = parse_index(args.get(1), first.clone(), first)?;
    let second = parse_index(args.get(2), second.clone(), second)?;
    let databases = context.client.databases().clone();
    let (first, second) = (database_of(first, databases.count())?, database_of(second, databases.count())?);
    if first != second {
        context.ticket = databases.swap(&mut context.session, first, second)?;
        // Waiting clients wait for keys of their database, whatever its keyspace.
        context.shared.notices.waiting.move_keyspaces(|database| databases.keyspace(database));
    }
    reply.ok();
    Ok(AfterCommand::Done)
}
