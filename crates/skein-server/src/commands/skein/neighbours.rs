//! The neighbours of a position: `SK.FIRST`, `SK.LAST`, `SK.NEXT k`, `SK.PREV k`.

use std::ops::{Bound, ControlFlow};

use super::key_contents::{PairedWith, answer};
use crate::commands::{AfterCommand, CommandContext, CommandResult};
use crate::resp::Reply;
use skein_data::ScanDirection;

/// Replies with the first key of a scan and its contents; null if there is no key.
pub(super) fn one(
    context: &mut CommandContext,
    bounds: (Bound<&[u8]>, Bound<&[u8]>),
    direction: ScanDirection,
    reply: &mut Reply,
) -> CommandResult {
    let mut next = None;
    context.session.scan(context.client.keyspace(), bounds, direction, 1, |key, row| {
        next = Some(answer(row, PairedWith::Key(key.to_vec()), reply));
        ControlFlow::Break(())
    })?;
    next.unwrap_or_else(|| {
        reply.null_array();
        Ok(AfterCommand::Done)
    })
}
