//! Blocking commands: their clients wait, and are served by the command that makes a key.
//!
//! ```text
//!   run_blocking ─► alone: try the keys ─► nothing there: wait (`waiting_clients`) ─┐
//!                                                                                   │
//!   LPUSH, EXEC, EVAL … ─► alone: run, then serve_waiting ─► claim, pop ─► mail ────┤
//!   a key expired, or was evicted ─► mail ─► worker 0, alone: serve_waiting ─► mail ┤
//!   the client's worker ─► the deadline, CLIENT UNBLOCK ─► withdraw ────────────────┴─► answer
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use crate::clients::client::ClientState;
use crate::clients::client_registry::ClientLocation;
use crate::clients::waiting_clients::{WaitingClient, WaitingClients};
use crate::command_table::request_keys::keys_of;
use crate::commands::blocking::{BlockingCommand, BlockingQuery};
use crate::commands::{AfterCommand, Command, CommandContext, CommandError, KeyWait, observed};
use crate::notice::key_events::KeyChanges;
use crate::planted_bugs::{self, PlantedBug};
use crate::resp::{ArgList, Args, Reply};
use crate::shared::stored_request::StoredRequest;
use crate::shared::{ServerShared, WaitAnswer};
use skein_data::{EngineSession, Ticket};

use super::Worker;
use super::connections::WorkerConnections;
use super::general::GeneralContext;
use super::ring::{Alone, AloneKeys, HELD_BACK, run_beside};

/// When the clients of a worker stop to wait: their deadlines, with slot and number.
#[derive(Debug, Default)]
pub(super) struct WaitDeadlines(BTreeSet<(Instant, usize, u64)>);

impl WaitDeadlines {
    /// Returns the next deadline.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.first().map(|(deadline, ..)| *deadline)
    }

    /// Notes until when a client waits. May be called again for the same wait.
    pub(super) fn note(&mut self, wait: KeyWait, slot: usize, client: u64) {
        if let Some(deadline) = wait.until {
            self.0.insert((deadline, slot, client));
        }
    }

    /// Removes the deadline of a client that does not wait any more.
    pub(super) fn forget(&mut self, wait: KeyWait, slot: usize, client: u64) {
        if let Some(deadline) = wait.until {
            self.0.remove(&(deadline, slot, client));
        }
    }
}

/// Whether one of the keys that the request may make has a waiting client. Then the request must
/// run alone, to serve it.
pub(super) fn wakes_someone(waiting: &WaitingClients, command: &Command, args: &Args) -> bool {
    command.may_wake(waiting)
        && (command.removes_all_keys()
            || keys_of(command, args).is_some_and(|keys| keys.all().iter().any(|key| waiting.waits_for(key))))
}

/// Returns whether a request of a client may do so: with the names that the client has sent. If these
/// are not the keys of the store, any waiting client counts.
pub(super) fn may_wake_someone(
    waiting: &WaitingClients,
    client: &ClientState,
    command: &Command,
    names: &Args,
) -> bool {
    if client.keyspace().is_default() {
        wakes_someone(waiting, command, names)
    } else {
        command.may_wake(waiting)
    }
}

/// Serves the clients that wait for the keys that were noted. REQUIRES: no other worker runs
/// requests, and this worker may write (`KeyObserver::begin`).
pub(super) fn serve_waiting(session: &mut EngineSession, shared: &Arc<ServerShared>) {
    let mut later = Vec::new();
    while let Some(key) = shared.notices.waiting.take_noted() {
        while let Some((place, client)) = claim(session, shared, &key) {
            let mut bytes = Vec::new();
            let mut reply = Reply::new(&mut bytes, client.protocol);
            let ticket = match serve(session, shared, &client, &key, &mut reply) {
                Ok(ticket) => ticket,
                // The client waits on: the key is as it was.
                Err(fault) if fault.stops_writes() => {
                    shared.notices.waiting.wait_at(place, client);
                    later.push(key);
                    break;
                }
                Err(fault) => {
                    reply.truncate(0);
                    fault.write(&mut reply);
                    Ticket::default()
                }
            };
            shared.workers.answer_waiting(client.record.place, bytes, ticket);
            if planted_bugs::is_on(PlantedBug::LostWaiter) {
                break;
            }
        }
    }
    for key in &later {
        shared.notices.waiting.note(key);
    }
}

/// Claims the next client that the key can serve, with its place in the order of waiting. If its row
/// cannot be read, the clients wait on.
fn claim(session: &mut EngineSession, shared: &ServerShared, key: &[u8]) -> Option<(u64, WaitingClient)> {
    session.keys().get_with(key, |row| {
        let row = row.ok()?;
        shared.notices.waiting.claim(key, |client| {
            let (blocking, args) = (client.command.plan.blocking(), client.request.args());
            blocking.zip(args).is_some_and(|(blocking, args)| (blocking.can_serve)(row, &args, key))
        })
    })
}

/// Serves one client from a key that can serve it.
fn serve(
    session: &mut EngineSession,
    shared: &ServerShared,
    client: &WaitingClient,
    key: &[u8],
    reply: &mut Reply,
) -> Result<Ticket, CommandError> {
    let (Some(blocking), Some(args)) = (client.command.plan.blocking(), client.request.args()) else {
        return Ok(Ticket::default());
    };
    let mut changes = KeyChanges::of(&shared.notices.key_observer, 0);
    let mut keys = session.begin()?;
    let watch = changes.begin(&mut keys, client.command, &args);
    let (served, ticket) = (blocking.serve)(&mut keys, &args, key, reply);
    changes.end(watch, &mut keys, served.is_ok());
    if !served? {
        (blocking.nothing)(reply);
    }
    let ticket = keys.commit()?.max(ticket);
    changes.publish_in_order(&mut session.keys(), &shared.notices.key_observer);
    shared.notices.note_made_keys(&mut session.keys(), client.command, &args);
    Ok(ticket)
}

impl GeneralContext<'_> {
    /// Tries to serve a client of one key beside other workers. No client waits for a key that can
    /// serve, so this passes no other client.
    fn try_beside(
        &mut self,
        command: &'static Command,
        blocking: &BlockingCommand,
        client: &mut ClientState,
        query: &BlockingQuery,
        names: &Args,
        reply: &mut Reply,
    ) -> Result<(Option<AfterCommand>, Ticket), CommandError> {
        let mut stored = StoredRequest::default();
        let args = &stored.of(client, command, names, self.pass.stable())?;
        let around = (self.shared, self.pass.stable());
        let (served, ticket) = run_beside(self.session, client, around, (command, args), |context| {
            (blocking.at_once)(blocking, context, query, args, reply)
        });
        Ok((served?, ticket))
    }

    /// Runs a blocking command: serves the client, or makes it wait.
    pub(super) fn run_blocking(
        &mut self,
        command: &'static Command,
        blocking: &BlockingCommand,
        client: &mut ClientState,
        names: &Args,
        reply: &mut Reply,
    ) -> Result<(AfterCommand, Ticket), CommandError> {
        let query = (blocking.query)(names)?;
        let is_of_one_key = (blocking.is_of_one_key)(&query);
        if is_of_one_key {
            let (served, ticket) = self.try_beside(command, blocking, client, &query, names, reply)?;
            if let Some(after) = served {
                return Ok((after, ticket));
            }
            if !query.waits {
                (blocking.nothing)(reply);
                return Ok((AfterCommand::Done, ticket));
            }
        }
        planted_bugs::keep_early(client.keyspace());
        let alone = Alone::wait(&mut self.pass, self.shared)?;
        let mut stored = StoredRequest::default();
        let admitted = alone.admit(&mut stored, (command, names), client, self.session)?;
        let Some((args, mut ring)) = admitted else { return Ok(HELD_BACK) };
        // Requests that ran meanwhile may have killed the client, and then made its key.
        let skips = is_of_one_key && planted_bugs::is_on(PlantedBug::NoSecondLook);
        let looks = !skips && !client.record.is_killed();
        // While writes are stopped, a client may still wait for a key that is absent.
        let keys = AloneKeys::unless_stopped(self.session, |_| Ok(()))?;
        let (tried, ticket) = ring.run(self.session, keys, client, |context| {
            try_alone(context, (command, blocking), (&query, &args), looks, reply)
        })?;
        match tried {
            TriedWait::Served(after) => Ok((after, ticket)),
            TriedWait::Nothing => {
                (blocking.nothing)(reply);
                Ok((AfterCommand::Done, Ticket::default()))
            }
            TriedWait::Waits(request) => {
                let waiting = WaitingClient {
                    record: Arc::clone(&client.record),
                    protocol: client.protocol,
                    command,
                    database: client.database(),
                    request,
                    needs_key: blocking.needs_key,
                    keys: query.keys.clone().map(|at| args.get(at).to_vec()).collect(),
                };
                let wait = KeyWait { until: query.until(Instant::now()), bytes: waiting.memory() };
                self.shared.notices.waiting.wait(waiting);
                Ok((AfterCommand::Wait(wait), Ticket::default()))
            }
        }
    }
}

/// The result of a blocking command that runs alone.
enum TriedWait {
    Served(AfterCommand),
    Nothing,
    /// The client waits with this request.
    Waits(ArgList),
}

/// Serves a client if one of its keys can. Otherwise returns the request with which it waits, if it
/// waits.
fn try_alone(
    context: &mut CommandContext,
    (command, blocking): (&'static Command, &BlockingCommand),
    (query, args): (&BlockingQuery, &Args),
    looks: bool,
    reply: &mut Reply,
) -> Result<TriedWait, CommandError> {
    if looks
        && let Some(after) = observed::run(context, command, args, |context| {
            (blocking.at_once)(blocking, context, query, args, reply)
        })?
    {
        context.shared.notices.note_made_keys(&mut context.session, command, args);
        return Ok(TriedWait::Served(after));
    }
    if !query.waits {
        return Ok(TriedWait::Nothing);
    }
    Ok(TriedWait::Waits((blocking.request)(context, args)?))
}

impl Worker {
    /// Serves the clients that wait for keys which no command has removed: an XREADGROUP waits in
    /// vain then. They wait on while a pause or a script holds writes back.
    pub(super) fn serve_removed(&mut self) {
        if self.connections.removed_keys.is_empty() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let mut pass = shared.workers.gate.enter(self.connections.number);
        if shared.clients.pause.now().is_none()
            && let Ok(alone) = Alone::wait(&mut pass, &shared)
            && let Some(mut ring) = alone.begin(false, 0, &mut self.session)
        {
            self.connections.removed_keys.drain(..).for_each(|key| shared.notices.waiting.note(&key));
            ring.end(&mut self.session);
        }
        self.connections.holds |= !self.connections.removed_keys.is_empty();
    }
}

impl WorkerConnections {
    /// Answers the clients with an expired deadline.
    pub(super) fn end_waits(&mut self) {
        let now = Instant::now();
        while let Some(&entry) = self.deadlines.0.first().filter(|(deadline, ..)| *deadline <= now) {
            self.deadlines.0.remove(&entry);
            let (_, slot, client) = entry;
            // A client that is not there any more was served, and its answer is on its way.
            if let Some(waiting) = self.shared.notices.waiting.withdraw(client) {
                let mut bytes = Vec::new();
                Reply::new(&mut bytes, waiting.protocol).null_array();
                let who = ClientLocation { worker: self.number, slot, client };
                self.take_wait_answer(WaitAnswer { who, bytes, ticket: Ticket::default() });
            }
        }
    }

    /// Ends the wait of a client with this answer.
    pub(super) fn take_wait_answer(&mut self, answer: WaitAnswer) {
        let WaitAnswer { who, bytes, ticket } = answer;
        let Some((connection, _)) = self.slots.get(who.slot) else { return };
        if connection.client.id != who.client {
            return;
        }
        let Some(wait) = connection.blocked.take() else { return };
        connection.client.record.set_blocked(false);
        self.deadlines.forget(wait, who.slot, who.client);
        self.ticket = self.ticket.max(ticket);
        self.reply_after_wait(who.slot, &bytes, ticket);
    }
}
