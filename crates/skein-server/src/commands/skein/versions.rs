//! Versions: `SK.GETV k` and `SK.CAS k version value`.

use skein_syntax::number::parse_u64;

use super::held::{Beside, answer};
use crate::commands::fault::NOT_AN_INTEGER;
use crate::commands::{Context, Fault, Next};
use crate::engine::{RowRef, RowWriter as _, Writer};
use crate::resp::{Args, Reply};

/// Versions begin at 1 and rise by one per write, so they never reach 2^63.
pub(super) fn write_version(version: u64, reply: &mut Reply<'_>) {
    reply.int(i64::try_from(version).unwrap_or(i64::MAX));
}

/// Answers if that is short; else nothing is written, and the answer is a task.
fn answer_getv(row: Option<RowRef<'_>>, reply: &mut Reply<'_>) -> Next {
    let Some(row) = row else {
        reply.null_array();
        return Next::Done;
    };
    answer(row, Beside::Version(row.version()), reply)
}

pub(in crate::commands) fn getv(row: Option<RowRef<'_>>, _: &Args<'_>, reply: &mut Reply<'_>) {
    if matches!(answer_getv(row, reply), Next::Slices(_)) {
        reply.put_off();
    }
}

pub(in crate::commands) fn getv_in_slices(
    context: &mut Context<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Next, Fault> {
    Ok(context.look_up(args.get(1), |row| row.map(|row| answer_getv(row, reply)))?)
}

pub(in crate::commands) fn cas(
    writer: &mut Writer<'_, '_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Fault> {
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
