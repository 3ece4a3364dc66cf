//! Commands that read and write several keys atomically: RENAME, RENAMENX, COPY, MSETNX.
//!
//! All are exclusive (`Handler::Exclusive`): no client sees a part of their writes, and recovery
//! restores all of them or none. Every check that can reject such a command runs before its first
//! write.

use super::command_error::SYNTAX;
use super::databases::SAME_OBJECTS;
use super::strings::pairs_of;
use super::{AfterCommand, CommandContext, CommandError, CommandResult, is};
use crate::request::databases::parse_database;
use crate::resp::{Args, Reply};
use skein_data::RowWriter as _;

/// Renames a key. Returns false if the new name exists and `replace` is false.
fn move_key(context: &mut CommandContext, from: &[u8], to: &[u8], replace: bool) -> CommandResult<bool> {
    context.write(|writer| writer.rename(from, to, replace))?.ok_or(CommandError::text("ERR no such key"))
}

pub(super) fn rename(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    move_key(context, args.get(1), args.get(2), true)?;
    reply.ok();
    Ok(AfterCommand::Done)
}

pub(super) fn rename_nx(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let moved = move_key(context, args.get(1), args.get(2), false)?;
    reply.int(moved.into());
    Ok(AfterCommand::Done)
}

/// Returns the argument of COPY that names another database.
pub(super) fn copy_database<'a>(args: &Args<'a>) -> Option<&'a [u8]> {
    let (mut number, mut rest) = (None, args.from(3));
    while let Some(word) = rest.next() {
        if is(word, "DB") {
            number = rest.next();
        }
    }
    number
}

/// Runs `COPY source destination [DB database] [REPLACE]`.
pub(super) fn copy(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let mut replace = false;
    let mut rest = args.from(3);
    while let Some(word) = rest.next() {
        if is(word, "REPLACE") {
            replace = true;
        } else if is(word, "DB") {
            // The key is that of this database already (`stored_request`).
            parse_database(rest.next().ok_or(SYNTAX)?, context.client.databases().count())?;
        } else {
            return Err(SYNTAX);
        }
    }
    let (from, to) = (args.get(1), args.get(2));
    if from == to {
        return Err(SAME_OBJECTS);
    }
    let copied = context.write(|writer| writer.copy(from, to, replace));
    reply.int(copied?.unwrap_or(false).into());
    Ok(AfterCommand::Done)
}

pub(super) fn mset_nx(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    if args.len().is_multiple_of(2) {
        return Err(CommandError::wrong_arity("msetnx"));
    }
    let pairs = pairs_of(args);
    let keys: Vec<&[u8]> = pairs.iter().map(|(key, _)| *key).collect();
    let free = context.session.count_present(&keys, true)? == 0;
    if free {
        context.ticket = context.session.put_all(&pairs)?;
    }
    reply.int(free.into());
    Ok(AfterCommand::Done)
}
