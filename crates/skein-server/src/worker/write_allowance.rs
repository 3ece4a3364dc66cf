//! The memory that writes may add under a memory limit. It is requested before anything is changed,
//! once per batch.
//!
//! ```text
//!   batch of writes ─► bytes that they add ─► make_room ─┬─ enough ───► all are done
//!                                                        └─ too few ──► those that fit are done,
//!                                                                       the others answer OOM
//! ```
//!
//! A request counts with the bytes of its arguments, even if it replaces a larger value. Requests
//! that only read or remove are never refused.

use crate::clients::client::ClientState;
use crate::command_table::{Flag, has_word};
use crate::commands::command_error::OUT_OF_MEMORY;
use crate::commands::{Command, CommandError, ResolvedTag};
use crate::notice::key_events::{KeyChanges, KeyObserver};
use crate::resp::Args;
use crate::shared::ServerShared;
use crate::shared::exclusion_gate::StableDatabases;
use crate::shared::stored_request::StoredRequest;
use skein_data::{EngineSession, Ticket};

/// The approximate bytes that a request takes besides its arguments.
const PER_REQUEST: usize = 64;

/// The bytes that may be added.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriteAllowance(usize);

impl WriteAllowance {
    /// No limit.
    pub(super) const ALL: Self = Self(usize::MAX);

    /// Returns whether there is no limit.
    pub(super) fn is_all(self) -> bool {
        self.0 == usize::MAX
    }

    /// Evicts keys until requests that add about `bytes` fit. Returns the allowance, and the ticket
    /// of the evictions, which the replies must wait for.
    pub(super) fn make_room(
        session: &mut EngineSession,
        shared: &ServerShared,
        bytes: usize,
    ) -> Result<(Self, Ticket), skein_data::Error> {
        let (left, ticket) = session.make_room(bytes, shared.memory_outside_store())?;
        Ok((Self(left), ticket))
    }

    /// Takes the part of a request if it needs one. Returns whether the allowance was sufficient.
    #[inline]
    pub(super) fn admits(&mut self, tag: u16, args: &Args) -> bool {
        self.is_all() || self.takes_part_of(tag, args)
    }

    fn takes_part_of(&mut self, tag: u16, args: &Args) -> bool {
        let grows = ResolvedTag::of(tag).command().is_some_and(may_grow_memory);
        !grows || self.take(bytes_added(args))
    }

    /// Takes `bytes`. Returns `false`, and takes nothing, if fewer are left.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

/// Returns whether a command may make memory grow.
pub(super) fn may_grow_memory(command: &Command) -> bool {
    command.has(Flag::DenyOom)
}

/// Returns about how many bytes a request may add to memory.
pub(super) fn bytes_added(args: &Args) -> usize {
    PER_REQUEST + args.from(1).map(<[u8]>::len).sum::<usize>()
}

/// Does the same as [`bytes_added`] for a request that is about to run, and adds the bytes that it
/// copies from other keys, if they are known. An intersection, a difference or a range may be
/// almost empty, so no key is evicted for their result beforehand.
pub(super) fn bytes_added_now(
    session: &mut EngineSession,
    client: &ClientState,
    command: &'static Command,
    names: &Args,
    stable: StableDatabases<'_>,
) -> usize {
    if !command.has(Flag::CopiesSources) {
        return bytes_added(names);
    }
    let mut stored = StoredRequest::default();
    // A request with a wrong key fails.
    let Ok(args) = stored.of(client, command, names, stable) else { return bytes_added(names) };
    // A union has at least the members of its largest source, and BITOP's result its length.
    let specs = command.key_specs.as_slice().iter().filter(|spec| has_word(spec.flags, "RO"));
    let copied = specs.filter_map(|spec| spec.positions(names)).flatten().map(|at| {
        let key = args.get(at);
        session.keys().get_with(key, |row| row.ok().flatten().map_or(0, |row| row.usage(key)))
    });
    bytes_added(&args).saturating_add(copied.max().unwrap_or(0))
}

/// Lets a session report the keys that it evicts, if clients observe them.
pub(super) fn report_evictions(session: &mut EngineSession, observer: &KeyObserver, changes: &KeyChanges) {
    session.report_evictions(changes.is_on() || observer.has_waiting());
}

/// Notes the keys that a session has evicted, and tells the clients that wait for them.
pub(super) fn note_evicted(session: &mut EngineSession, observer: &KeyObserver, changes: &mut KeyChanges) {
    let keys = session.take_evicted();
    observer.tell_waiting(keys.iter().map(Vec::as_slice));
    changes.evicted(&keys);
}

/// Makes room for a request that adds `bytes`.
///
/// # Errors
/// If there is not enough memory, or the store accepts no writes.
pub(super) fn admit(
    session: &mut EngineSession,
    shared: &ServerShared,
    bytes: usize,
) -> Result<Ticket, CommandError> {
    let observer = &shared.notices.key_observer;
    let (mut changes, _order) = observer.begin(0);
    report_evictions(session, observer, &changes);
    let made = WriteAllowance::make_room(session, shared, bytes);
    note_evicted(session, observer, &mut changes);
    changes.publish_in_order(&mut session.keys(), observer);
    let (mut room, ticket) = made?;
    if room.take(bytes) { Ok(ticket) } else { Err(OUT_OF_MEMORY) }
}
