//! Commands on databases: SELECT, MOVE, SWAPDB. DBSIZE, FLUSHDB and FLUSHALL are in `server`.

use super::{AfterCommand, CommandContext, CommandError, CommandResult};
use crate::clients::client::ClientState;
use crate::request::databases::{database_of, parse_database, parse_index};
use crate::resp::{Args, Reply};
use skein_data::RowWriter as _;

pub(super) const SAME_OBJECTS: CommandError =
    CommandError::text("ERR source and destination objects are the same");

pub(super) fn select(client: &mut ClientState, args: &Args, reply: &mut Reply) -> CommandResult {
    let database = parse_database(args.get(1), client.databases().count())?;
    client.select(database);
    reply.ok();
    Ok(AfterCommand::Done)
}

/// Returns the argument of MOVE that names another database.
#[expect(clippy::unnecessary_wraps, reason = "COPY may name none")]
pub(super) fn move_database<'a>(args: &Args<'a>) -> Option<&'a [u8]> {
    Some(args.get(2))
}

/// `MOVE key database`, with the key in the other database as one more argument
/// (`stored_request`). Without that, the number is of no database.
pub(super) fn move_key(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let to = parse_database(args.get(2), context.client.databases().count())?;
    if to == context.client.database() {
        return Err(SAME_OBJECTS);
    }
    let (from, to) = (args.get(1), args.get(3));
    let moved = context.write(|writer| writer.rename(from, to, false));
    reply.int(moved?.unwrap_or(false).into());
    Ok(AfterCommand::Done)
}

pub(super) fn swap(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
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
