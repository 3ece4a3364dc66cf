//! Versions: `SK.GETV k` and `SK.CAS k version value`.

use skein_syntax::number::parse_u64;

use super::key_contents::{PairedWith, answer};
use crate::commands::command_error::NOT_AN_INTEGER;
use crate::commands::{AfterCommand, CommandContext, CommandError};
use crate::resp::{ReplyWriter, RequestArgs};
use skein_data::{EngineWriter, RowView, RowWriter as _};

/// Writes a version. A version is at least 1 and counts writes, so it never reaches 2^63.
pub(super) fn write_version(version: u64, reply: &mut ReplyWriter<'_>) {
    reply.int(i64::try_from(version).unwrap_or(i64::MAX));
}

/// Replies at once if the contents are short. Otherwise writes nothing and returns a task.
fn answer_getv(row: Option<RowView<'_>>, reply: &mut ReplyWriter<'_>) -> Result<AfterCommand, CommandError> {
    let Some(row) = row else {
        reply.null_array();
        return Ok(AfterCommand::Done);
    };
    answer(row, PairedWith::Version(row.version()), reply)
}

pub(in crate::commands) fn getv(row: Option<RowView<'_>>, _: &RequestArgs<'_>, reply: &mut ReplyWriter<'_>) {
    match answer_getv(row, reply) {
        Ok(AfterCommand::Slices(_)) => reply.put_off(),
        Ok(_) => {}
        Err(fault) => fault.write(reply),
    }
}

pub(in crate::commands) fn getv_in_slices(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    context.look_up(args.get(1), |row| answer_getv(row?, reply))
}

pub(in crate::commands) fn cas(
    writer: &mut EngineWriter<'_, '_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<(), CommandError> {
    let version = parse_u64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    let (swapped, version) = match writer.compare_and_swap(args.get(1), version, args.get(3))? {
        Ok(new) => (1, new),
        Err(present) => (0, present),
    };
    reply.array(2);
    reply.int(swapped);
    write_version(version, reply);
    Ok(())
}
