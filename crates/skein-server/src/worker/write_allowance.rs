//! Room for writes, where memory has a limit: asked for before anything is changed, once for a batch.
//!
//! ```text
//!   batch of writes ─► bytes that they bring ─► make_room ─┬─ enough ──────► all are done
//!                                                          └─ for some ────► those that fit are done, the others answer OOM
//! ```
//!
//! A request counts with what it brings, whatever it replaces. Those that only read or remove are never refused.

use crate::commands::command_error::OUT_OF_MEMORY;
use crate::commands::{CommandError, CommandSpec, ResolvedTag};
use crate::engine::{EngineSession, Ticket};
use crate::resp::RequestArgs;
use crate::shared::ServerShared;

/// What a request takes besides its bytes, about.
const PER_REQUEST: usize = 64;

/// Bytes that may be added.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriteAllowance(usize);

impl WriteAllowance {
    /// No limit.
    pub(super) const ALL: Self = Self(usize::MAX);

    /// Room for requests that bring about `bytes`; until when the replies are held back, because of what was evicted.
    pub(super) fn ask(
        session: &mut EngineSession,
        shared: &ServerShared,
        bytes: usize,
    ) -> Result<(Self, Ticket), crate::engine::Error> {
        let (left, ticket) = session.make_room(bytes, shared.memory_outside_store())?;
        Ok((Self(left), ticket))
    }

    /// Takes a request's part, if it needs one; whether there is enough.
    #[inline]
    pub(super) fn admits(&mut self, tag: u16, args: &RequestArgs<'_>) -> bool {
        self.0 == usize::MAX || self.takes(tag, args)
    }

    fn takes(&mut self, tag: u16, args: &RequestArgs<'_>) -> bool {
        match ResolvedTag::of(tag) {
            ResolvedTag::Command(command) if grows(command) => self.take(needed(args)),
            _ => true,
        }
    }

    /// Takes some bytes; whether there are so many.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

/// Whether a command may make memory grow.
pub(super) fn grows(command: &CommandSpec) -> bool {
    command.has_flag("denyoom")
}

/// What a request may add to memory, about.
pub(super) fn needed(args: &RequestArgs<'_>) -> usize {
    PER_REQUEST + args.from(1).map(<[u8]>::len).sum::<usize>()
}

/// As [`needed`], of a request that is about to run: with what it copies of other keys, as far as that is known. An intersection, a difference or a range may have next to
/// nothing, so nothing goes for them beforehand.
pub(super) fn needed_now(
    session: &mut EngineSession,
    command: &CommandSpec,
    args: &RequestArgs<'_>,
) -> usize {
    let sources = match command.name {
        "copy" => 1..2,
        "zunionstore" => 3..args.len().min(3 + number(args.get(2))),
        _ => return needed(args),
    };
    // A union has the members of each.
    let copied = sources.map(|at| {
        let key = args.get(at);
        session.get_with(key, |row| row.ok().flatten().map_or(0, |row| row.usage(key)))
    });
    needed(args).saturating_add(copied.max().unwrap_or(0))
}

fn number(arg: &[u8]) -> usize {
    std::str::from_utf8(arg).ok().and_then(|arg| arg.parse().ok()).unwrap_or(0).min(u16::MAX.into())
}

/// Refuses requests that bring `bytes` if there is no room for them.
///
/// # Errors
/// There is none; writes are stopped.
pub(super) fn admit(
    session: &mut EngineSession,
    shared: &ServerShared,
    bytes: usize,
) -> Result<Ticket, CommandError> {
    let (mut room, ticket) = WriteAllowance::ask(session, shared, bytes)?;
    if room.take(bytes) { Ok(ticket) } else { Err(OUT_OF_MEMORY) }
}
