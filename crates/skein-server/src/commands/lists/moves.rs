//! LMOVE and RPOPLPUSH: move an element from one list to another, or within one.

use super::parse_end;
use crate::commands::{AfterCommand, CommandContext, CommandResult};
use crate::resp::{Args, Reply};
use skein_data::{ListEnd, RowWriter as _};

/// The ends between which an element moves.
#[derive(Clone, Copy)]
pub(super) struct MoveEnds {
    pub(super) from: ListEnd,
    pub(super) to: ListEnd,
}

impl MoveEnds {
    /// Those of RPOPLPUSH.
    pub(super) const ROTATE: Self = Self { from: ListEnd::Back, to: ListEnd::Front };

    /// Reads arguments 3 and 4.
    pub(super) fn parse(args: &Args) -> Result<Self, crate::commands::CommandError> {
        Ok(Self { from: parse_end(args.get(3))?, to: parse_end(args.get(4))? })
    }
}

pub(super) fn move_between(
    context: &mut CommandContext,
    args: &Args,
    reply: &mut Reply,
    ends: MoveEnds,
) -> CommandResult {
    let (from, to) = ((args.get(1), ends.from), (args.get(2), ends.to));
    let moved = context.write(|writer| writer.move_element(from, to));
    reply.bulk_or_null(moved?.as_deref());
    Ok(AfterCommand::Done)
}
