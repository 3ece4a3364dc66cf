//! Versions: `SK.GETV k` and `SK.CAS k version value`.

use skein_syntax::number::parse_u64;

use super::key_contents::{PairedWith, answer};
use crate::commands::command_error::NOT_AN_INTEGER;
use crate::commands::task::LongReply;
use crate::commands::{AfterCommand, Replied};
use crate::resp::{Args, Reply};
use skein_data::{EngineWriter, RowView, RowWriter as _};

/// Writes a version. A version is at least 1 and counts writes, so it never reaches 2^63.
pub(super) fn write_version(version: u64, reply: &mut Reply) {
    reply.int(i64::try_from(version).unwrap_or(i64::MAX));
}

pub(super) fn getv(row: Option<RowView>, _: &Args, reply: &mut Reply, long: &mut LongReply) -> Replied {
    let Some(row) = row else {
        reply.null_array();
        return Ok(());
    };
    if let AfterCommand::Slices(task) = answer(row, PairedWith::Version(row.version()), reply)? {
        long.begin(reply, || Some(task));
    }
    Ok(())
}

pub(super) fn cas(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
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
