//! One key by its place: `SK.FIRST`, `SK.LAST`, `SK.NEXT k`, `SK.PREV k`.

use std::ops::{Bound, ControlFlow};

use super::held::{Beside, answer};
use crate::commands::{Context, Fault, Next};
use crate::engine::Direction;
use crate::resp::{Args, Reply};

/// The key that a scan finds first, and what it holds; null if it finds none.
fn one(
    context: &mut Context<'_>,
    bounds: (Bound<&[u8]>, Bound<&[u8]>),
    direction: Direction,
    reply: &mut Reply<'_>,
) -> Result<Next, Fault> {
    let mut next = None;
    context.session.scan(bounds, direction, 1, |key, row| {
        next = Some(answer(row, Beside::Key(key.to_vec()), reply));
        ControlFlow::Break(())
    })?;
    Ok(next.unwrap_or_else(|| {
        reply.null_array();
        Next::Done
    }))
}

pub(in crate::commands) fn first(
    context: &mut Context<'_>,
    _: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Next, Fault> {
    one(context, (Bound::Unbounded, Bound::Unbounded), Direction::Forward, reply)
}

pub(in crate::commands) fn last(
    context: &mut Context<'_>,
    _: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Next, Fault> {
    one(context, (Bound::Unbounded, Bound::Unbounded), Direction::Backward, reply)
}

pub(in crate::commands) fn next(
    context: &mut Context<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Next, Fault> {
    one(context, (Bound::Excluded(args.get(1)), Bound::Unbounded), Direction::Forward, reply)
}

pub(in crate::commands) fn prev(
    context: &mut Context<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Next, Fault> {
    one(context, (Bound::Unbounded, Bound::Excluded(args.get(1))), Direction::Backward, reply)
}
