//! Commands on databases. There is one, number 0.

use skein_syntax::number::parse_i64;

use super::command_error::NOT_AN_INTEGER;
use super::{AfterCommand, CommandContext, CommandError, CommandResult};
use crate::resp::{ReplyWriter, RequestArgs};

const NO_SUCH_DATABASE: CommandError = CommandError::text("ERR DB index is out of range");

/// Parses an integer of 32 bits. Returns `no_integer` for other texts and `too_large` for larger
/// numbers.
fn parse_index(text: &[u8], no_integer: CommandError, too_large: CommandError) -> Result<i32, CommandError> {
    i32::try_from(parse_i64(text).ok_or(no_integer)?).map_err(|_| too_large)
}

/// Errors if the text is not the number of the only database.
pub(super) fn check_index(text: &[u8]) -> Result<(), CommandError> {
    let out_of_range = CommandError::out_of_range(i32::MIN.into(), i32::MAX.into());
    match parse_index(text, NOT_AN_INTEGER, out_of_range)? {
        0 => Ok(()),
        _ => Err(NO_SUCH_DATABASE),
    }
}

pub(super) fn select(
    _: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> CommandResult {
    select_at(args, reply).map(|()| AfterCommand::Done)
}

pub(super) fn select_at(args: &RequestArgs<'_>, reply: &mut ReplyWriter<'_>) -> Result<(), CommandError> {
    check_index(args.get(1))?;
    reply.ok();
    Ok(())
}

pub(super) fn move_key(
    _: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    _: &mut ReplyWriter<'_>,
) -> CommandResult {
    check_index(args.get(2))?;
    Err(CommandError::text("ERR source and destination objects are the same"))
}

pub(super) fn swap(
    _: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> CommandResult {
    let (first, second) =
        (CommandError::text("ERR invalid first DB index"), CommandError::text("ERR invalid second DB index"));
    let first = parse_index(args.get(1), first.clone(), first)?;
    let second = parse_index(args.get(2), second.clone(), second)?;
    if (first, second) != (0, 0) {
        return Err(NO_SUCH_DATABASE);
    }
    reply.ok();
    Ok(AfterCommand::Done)
}
