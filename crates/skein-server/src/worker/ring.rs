//! The ring around a request: the steps before and after its handler, in the one order that is right.
//!
//! ```text
//!   outer    clock ─► attack? ─► form, login, rights ─► room ─► MULTI queues it, or the inner ring
//!              ─► hold the reply for its epoch ─► lookups, MONITOR, errors ─► mute ─► time, slow log
//!
//!   beside   keys ─► right to write ─► look ── handler ── look again ─► publish
//!
//!   alone    wait ─► keys ─► held back? ─► right to write, clock
//!              ─► look ── handler ── look again ─► commit
//!              ─► databases ─► publish ─► serve the waiting ─► room
//! ```
//!
//! `general` has the outer ring, `admission` its checks. A batch takes the outer steps for all of its
//! requests at once (`pipelined_reads`, `pipelined_writes`, `batch_account`). While the server loads or
//! is busy, `admission` has the outer ring without data, and there is no inner one.
//! [`run_beside`] is the first inner ring. [`Alone::wait`], [`Alone::admit`] and
//! [`AloneRing::run`] are the second: each step needs the value that the step before it returns. EXEC
//! and scripts name their keys later, so they call [`Alone::begin`] instead of `admit`. Which ring a
//! request needs is in its command's plan (`commands::plan`).
//!
//! The reasons for the outer order:
//!
//! - Rights come before room: a client must not evict keys with requests that it may not run. Room comes
//!   before MULTI, because the queue takes memory.
//! - Room is made before the worker waits to be alone: both may take a while.
//! - Monitors see a request after it ran, and before its client sees the reply. A muted reply still
//!   counts as an error, so it is removed last.
//!
//! The reasons for the inner order:
//!
//! 1. Names become keys after the wait, because a SWAPDB may end it. [`Alone::stable`] is the
//!    permission to translate them.
//! 2. After the wait, a key may have begun to move to another server. Then the request runs later.
//! 3. The right to write is acquired before the first look at the keys (`KeyObserver`, invariant
//!    1).
//! 4. The clock is read after the wait: an older time would show keys that have expired for others.
//! 5. Changes are published after the commit, so no client hears of an undone write. If the
//!    transaction failed, the table of databases is read again, since SWAPDB may be one of its
//!    requests.
//! 6. Waiting clients are served after that: the event of a push is before that of the pop which it
//!    serves. They are served while no other worker can take the elements.
//! 7. Keys are evicted last. A key that was made for a waiting client has served it by then.

use std::sync::Arc;

use crate::clients::client::ClientState;
use crate::command_table::Command;
use crate::commands::{AfterCommand, CommandContext, CommandError, CommandResult, observed};
use crate::notice::key_events::{KeyChanges, WriteOrder};
use crate::resp::Args;
use crate::shared::ServerShared;
use crate::shared::exclusion_gate::{ExclusivePass, GateBusy, SharedPass, StableDatabases};
use crate::shared::stored_request::StoredRequest;
use skein_data::{EngineKeys, EngineSession, Ticket};

use super::blocking::serve_waiting;
use super::lowered_limit::evict_excess;
use super::migrations::moves;

/// The next step of the connection, and the ticket that the reply waits for.
pub(super) type RingOutcome = (CommandResult, Ticket);

/// The outcome of a request that must wait, because a key has begun to move while the worker waited to
/// be alone.
pub(super) const HELD_BACK: (AfterCommand, Ticket) = (AfterCommand::HeldBack, Ticket { epoch: 0 });

/// Separates the outcome of a transaction into the next step and the ticket.
pub(super) fn outcome(done: Result<(AfterCommand, Ticket), CommandError>) -> RingOutcome {
    match done {
        Ok((next, ticket)) => (Ok(next), ticket),
        Err(fault) => (Err(fault), Ticket::default()),
    }
}

/// Runs a request beside other workers. Its keys are those of the store. The writes of a failed
/// request stay, so its error waits for the ticket, too.
pub(super) fn run_beside<R>(
    session: &mut EngineSession,
    client: &mut ClientState,
    (shared, stable): (&Arc<ServerShared>, StableDatabases<'_>),
    (command, args): (&'static Command, &Args),
    handler: impl FnOnce(&mut CommandContext) -> Result<R, CommandError>,
) -> (Result<R, CommandError>, Ticket) {
    let observer = &shared.notices.key_observer;
    let changes = KeyChanges::of(observer, client.id);
    let order = (changes.is_on() && command.may_write).then(|| observer.order());
    let mut context = CommandContext::new(session.keys(), client, shared, changes, stable);
    let done = observed::run(&mut context, command, args, handler);
    context.changes.publish(&mut context.session, observer, order.as_ref());
    (done, context.ticket)
}

/// A worker that is alone, before it knows the keys of its request.
pub(super) struct Alone<'p, 'g> {
    pass: ExclusivePass<'p, 'g>,
    shared: &'p Arc<ServerShared>,
}

impl<'p, 'g> Alone<'p, 'g> {
    /// Waits until no other worker runs requests. None runs until the returned value is dropped.
    ///
    /// # Errors
    /// If a script of another worker keeps the server busy.
    pub(super) fn wait(
        pass: &'p mut SharedPass<'g>,
        shared: &'p Arc<ServerShared>,
    ) -> Result<Self, CommandError> {
        let pass = pass.alone().map_err(|GateBusy| shared.scripts.busy.refusal())?;
        Ok(Self { pass, shared })
    }

    /// Returns the pass, for a script that lets other workers answer BUSY.
    pub(super) fn pass(&self) -> &ExclusivePass<'p, 'g> {
        &self.pass
    }

    /// Permits to translate names into keys.
    pub(super) fn stable(&self) -> StableDatabases<'_> {
        self.pass.stable()
    }

    /// Begins one request of a client. Returns it as the store has it, or `None` if it writes a key
    /// that moves.
    pub(super) fn admit<'r>(
        &'r self,
        stored: &'r mut StoredRequest,
        (command, names): (&'static Command, &Args<'r>),
        client: &ClientState,
        session: &mut EngineSession,
    ) -> Result<Option<(Args<'r>, AloneRing<'r, 'p, 'g>)>, CommandError> {
        let args = stored.of(client, command, names, self.stable())?;
        let moves = moves(&self.shared.data.migrations, command, &args);
        Ok(self.begin(moves, client.id, session).map(|ring| (args, ring)))
    }

    /// Begins the requests of a client. Returns `None` if one of them writes a key that moves.
    pub(super) fn begin(
        &self,
        moves: bool,
        client: u64,
        session: &mut EngineSession,
    ) -> Option<AloneRing<'_, 'p, 'g>> {
        if moves {
            return None;
        }
        let (changes, order) = self.shared.notices.key_observer.begin(client);
        session.freeze();
        let table = self.shared.data.databases.generation();
        Some(AloneRing { alone: self, _order: order, changes, table })
    }
}

/// The keys of requests that run alone.
#[derive(Clone, Copy)]
pub(super) enum AloneKeys {
    /// Those of a transaction.
    Transaction,
    /// Those of the session: the requests only read.
    Reads,
}

impl AloneKeys {
    /// Returns those of a transaction. While writes are stopped, calls `stopped` with the reason; unless
    /// that is an error, the requests may read.
    pub(super) fn unless_stopped(
        session: &mut EngineSession,
        stopped: impl FnOnce(CommandError) -> Result<(), CommandError>,
    ) -> Result<Self, CommandError> {
        match session.begin().err() {
            None => Ok(Self::Transaction),
            Some(why) => stopped(why.into()).map(|()| Self::Reads),
        }
    }
}

/// Requests that run alone, with the right to write.
pub(super) struct AloneRing<'a, 'p, 'g> {
    alone: &'a Alone<'p, 'g>,
    _order: Option<WriteOrder<'a>>,
    /// The unpublished changes.
    pub changes: KeyChanges,
    /// The generation of the table of databases at the begin.
    table: u64,
}

impl AloneRing<'_, '_, '_> {
    /// Runs requests with these keys, commits them, and ends the ring.
    ///
    /// # Errors
    /// Those of the requests and of the commit, or the reason why no transaction begins. Nothing may be
    /// acknowledged then; on disk, nothing was done.
    pub(super) fn run<R>(
        &mut self,
        session: &mut EngineSession,
        keys: AloneKeys,
        client: &mut ClientState,
        requests: impl FnOnce(&mut CommandContext) -> Result<R, CommandError>,
    ) -> Result<(R, Ticket), CommandError> {
        let open = match keys {
            AloneKeys::Transaction => session.begin()?,
            AloneKeys::Reads => session.keys(),
        };
        let done = self.run_and_commit(open, client, requests);
        self.end(session);
        done
    }

    fn run_and_commit<R>(
        &mut self,
        keys: EngineKeys,
        client: &mut ClientState,
        requests: impl FnOnce(&mut CommandContext) -> Result<R, CommandError>,
    ) -> Result<(R, Ticket), CommandError> {
        let changes = std::mem::take(&mut self.changes);
        let mut context = CommandContext::new(keys, client, self.alone.shared, changes, self.alone.stable());
        let done = requests(&mut context);
        let CommandContext { session: keys, ticket, changes, .. } = context;
        self.changes = changes;
        let done = done.and_then(|done| Ok((done, keys.commit()?.max(ticket))));
        if done.is_err() {
            self.changes.undo_writes();
            self.restore_databases();
        }
        done
    }

    /// Publishes the changes, serves the clients that wait for changed keys, and makes room.
    pub(super) fn end(&mut self, session: &mut EngineSession) {
        let shared = self.alone.shared;
        self.changes.publish_in_order(&mut session.keys(), &shared.notices.key_observer);
        serve_waiting(session, shared);
        evict_excess(session, shared, self.alone.pass.worker());
    }

    /// Reads the table of databases again if requests that may have been undone have changed it.
    fn restore_databases(&self) {
        let shared = self.alone.shared;
        if shared.data.databases.generation() != self.table {
            shared.data.databases.reload(&shared.data.store);
            shared.notices.waiting.move_keyspaces(|database| shared.data.databases.keyspace(database));
        }
    }
}

impl Drop for AloneRing<'_, '_, '_> {
    fn drop(&mut self) {
        let is_told = self.changes.is_empty() || std::thread::panicking();
        debug_assert!(is_told, "changes of a request were not published: {:?}", self.changes);
    }
}
