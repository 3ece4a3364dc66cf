//! Commands that run while no other worker runs any: EXEC, and commands that read and write several
//! keys as one.
//!
//! If they write, their requests form one transaction (`skein_data::EngineTransaction`); an
//! exclusive command is a transaction of one request. If they only read, running alone is
//! sufficient. The handlers are the same as outside, but a command that would run in slices runs to
//! its end. `transaction_queue.rs` has the requests of EXEC.

use std::sync::Arc;

use crate::commands::alone::run;
use crate::commands::scripts::{self, BusyServer, ScriptCall};
use crate::commands::{AfterCommand, CommandContext, CommandError, CommandSpec, ScriptKind, observed};
use crate::exclusion_gate::{GateBusy, StableDatabases};
use crate::key_events::KeyChanges;
use crate::monitors::RequestSource;
use crate::planted_bugs::{self, PlantedBug};
use crate::resp::{ReplyWriter, RequestArgs};
use skein_data::{EngineKeys, EngineSession, Ticket};

use super::blocking::serve_waiting;
use super::busy::BusyWorker;
use super::general::GeneralContext;
use super::lowered_limit::evict_excess;
use super::migrations::{moves, queue_writes_moving_key};
use super::transaction_queue::{
    QueuedScriptLimits, SCRIPT_BYTES, admit_queue, begin_queue, check_queued_scripts, queue_runs_scripts,
    run_queue,
};
use super::write_allowance::{admit, bytes_added};
use crate::client::ClientState;
use crate::shared::ServerShared;
use crate::stored_request::StoredRequest;

/// The next step of the connection, and the ticket that the reply waits for.
pub(super) type ExclusiveOutcome = (Result<AfterCommand, CommandError>, Ticket);

/// The outcome of a request that must wait, because a key has begun to move while the worker waited to
/// be alone.
pub(super) const HELD_BACK: (AfterCommand, Ticket) = (AfterCommand::HeldBack, Ticket { epoch: 0 });

/// Separates the outcome of a transaction into the next step and the ticket.
pub(super) fn outcome(done: Result<(AfterCommand, Ticket), CommandError>) -> ExclusiveOutcome {
    match done {
        Ok((next, ticket)) => (Ok(next), ticket),
        Err(fault) => (Err(fault), Ticket::default()),
    }
}

impl GeneralContext<'_> {
    /// Runs an exclusive command.
    pub(super) fn run_exclusive(
        &mut self,
        command: &'static CommandSpec,
        client: &mut ClientState,
        names: &RequestArgs<'_>,
        reply: &mut ReplyWriter<'_>,
    ) -> ExclusiveOutcome {
        outcome(self.try_exclusive(command, client, names, reply))
    }

    fn try_exclusive(
        &mut self,
        command: &'static CommandSpec,
        client: &mut ClientState,
        names: &RequestArgs<'_>,
        reply: &mut ReplyWriter<'_>,
    ) -> Result<(AfterCommand, Ticket), CommandError> {
        planted_bugs::keep_early(client.keyspace());
        let alone = self.pass.alone().map_err(|GateBusy| self.shared.busy_script.refusal())?;
        let mut stored = StoredRequest::default();
        let args = &stored.of(client, command, names, alone.stable())?;
        // Waiting for the other workers may have taken a while.
        if moves(self.shared, command, args) {
            return Ok(HELD_BACK);
        }
        let (changes, _order) = self.shared.key_observer.begin(client.id);
        self.session.freeze();
        if !command.has_flag("write") {
            let session = EngineKeys::Session(self.session);
            let mut context = CommandContext::new(session, client, self.shared, changes, alone.stable());
            let watch = observed::begin(&mut context, command, args);
            let done = command.handler().run(&mut context, args, reply);
            observed::end(&mut context, watch, done.is_ok());
            context.changes.publish_in_order(&mut context.session, &self.shared.key_observer);
            return Ok((done?, context.ticket));
        }
        let table = self.shared.databases.generation();
        let (done, changes) = {
            let session = EngineKeys::Transaction(Box::new(self.session.begin()?));
            let context = CommandContext::new(session, client, self.shared, changes, alone.stable());
            let (context, done) = run(context, command, args, reply);
            let CommandContext { session, mut changes, .. } = context;
            let done = done.and_then(|closes| Ok((after(closes), session.commit()?)));
            // On disk, the transaction of a failed command is dropped, so nothing of it is done.
            if done.is_err() {
                changes.undo_writes();
            }
            (done, changes)
        };
        if done.is_err() {
            restore_databases(self.shared, table);
        }
        publish(self.session, self.shared, changes);
        evict_excess(self.session, self.shared, self.worker);
        let done = done?;
        serve_waiting(self.session, self.shared);
        Ok(done)
    }

    /// EVAL and its relatives: runs a script.
    pub(super) fn run_script(
        &mut self,
        kind: ScriptKind,
        client: &mut ClientState,
        args: &RequestArgs<'_>,
        reply: &mut ReplyWriter<'_>,
    ) -> ExclusiveOutcome {
        outcome(self.try_script(kind, client, args, reply))
    }

    fn try_script(
        &mut self,
        kind: ScriptKind,
        client: &mut ClientState,
        args: &RequestArgs<'_>,
        reply: &mut ReplyWriter<'_>,
    ) -> Result<(AfterCommand, Ticket), CommandError> {
        let feed = |fault: CommandError| {
            feed_script(self.shared, client, args);
            fault
        };
        let mut call = ScriptCall::parse(kind, self.shared, args).map_err(feed)?;
        if self.session.memory_limit().is_some()
            && admit(self.session, self.shared, bytes_added(args)).is_err()
        {
            call.memory_is_full().map_err(feed)?;
        }
        let alone = self.pass.alone().map_err(|GateBusy| feed(self.shared.busy_script.refusal()))?;
        // A script may write any key.
        if call.may_write() && self.shared.migrations.moving.any() {
            return Ok(HELD_BACK);
        }
        feed_script(self.shared, client, args);
        let (changes, _order) = self.shared.key_observer.begin(client.id);
        self.session.freeze();
        let mut busy = BusyWorker::new(&alone, self.connections);
        let table = self.shared.databases.generation();
        let around = (self.shared, alone.stable());
        let (ran, changes) =
            run_call(self.session, around, (&mut call, args), client, changes, &mut busy, reply);
        if ran.is_err() {
            restore_databases(self.shared, table);
        }
        publish(self.session, self.shared, changes);
        serve_waiting(self.session, self.shared);
        evict_excess(self.session, self.shared, self.worker);
        ran
    }

    /// EXEC: runs the requests that the client has queued.
    pub(super) fn exec(&mut self, client: &mut ClientState, reply: &mut ReplyWriter<'_>) -> ExclusiveOutcome {
        let before = self.shared.functions.generation();
        let executed = outcome(self.try_exec(client, reply));
        if executed.0.is_err() && self.shared.functions.generation() != before {
            scripts::reload_functions(self.shared);
        }
        if !client.in_multi() {
            client.record.set_queued(None);
        }
        executed
    }

    fn try_exec(
        &mut self,
        client: &mut ClientState,
        reply: &mut ReplyWriter<'_>,
    ) -> Result<(AfterCommand, Ticket), CommandError> {
        let watched = std::mem::take(&mut client.watched);
        // The client's record shows the number of queued requests until they are run.
        let Some(multi) = client.multi.take() else {
            client.watched = watched;
            return Err(CommandError::text("ERR EXEC without MULTI"));
        };
        if multi.spoiled {
            return Err(CommandError::text("EXECABORT Transaction discarded because of previous errors."));
        }
        // Before the other workers must wait: both this and that wait may take a while.
        let mut limits = QueuedScriptLimits::default();
        if self.session.memory_limit().is_some() {
            admit_queue(self.session, self.shared, client, &multi, self.pass.stable())
                .map_err(|fault| fault.aborts())?;
            limits.memory_is_full =
                queue_runs_scripts(&multi) && admit(self.session, self.shared, SCRIPT_BYTES).is_err();
            if limits.memory_is_full {
                check_queued_scripts(self.shared, &multi).map_err(|fault| fault.aborts())?;
            }
        }
        let alone = self.pass.alone().map_err(|GateBusy| self.shared.busy_script.refusal().aborts())?;
        alone.open_if_planted();
        if self.shared.migrations.moving.any() && queue_writes_moving_key(self.shared, &multi) {
            (client.multi, client.watched) = (Some(multi), watched);
            return Ok(HELD_BACK);
        }
        let (changes, _order) = self.shared.key_observer.begin(client.id);
        self.session.freeze();
        let changed = watched.changed(&mut EngineKeys::Session(self.session), &self.shared.databases);
        if changed.map_err(aborted)? && !planted_bugs::is_on(PlantedBug::UncheckedWatch) {
            reply.null_array();
            return Ok((AfterCommand::Done, Ticket::default()));
        }
        let session = begin_queue(self.session, &multi, &mut limits)?;
        let context = CommandContext::new(session, client, self.shared, changes, alone.stable());
        let mut busy = BusyWorker::new(&alone, self.connections);
        let table = self.shared.databases.generation();
        let (ran, changes) = run_queue(context, (&multi, &limits), &mut busy, reply, &mut self.timer);
        if ran.is_err() {
            restore_databases(self.shared, table);
        }
        publish(self.session, self.shared, changes);
        serve_waiting(self.session, self.shared);
        evict_excess(self.session, self.shared, self.worker);
        ran
    }
}

/// Publishes the changes of a transaction that is committed. REQUIRES: this worker may write.
pub(super) fn publish(session: &mut EngineSession, shared: &ServerShared, mut changes: KeyChanges) {
    changes.publish_in_order(&mut EngineKeys::Session(session), &shared.key_observer);
}

/// Commits what commands have done, or undoes it after an error. Returns the changes to publish.
pub(super) fn end(
    context: CommandContext<'_>,
    done: Result<AfterCommand, CommandError>,
) -> (Result<(AfterCommand, Ticket), CommandError>, KeyChanges) {
    let CommandContext { session, ticket, mut changes, .. } = context;
    let committed = done.and_then(|next| Ok((next, session.commit()?.max(ticket))));
    if committed.is_err() {
        changes.undo();
    }
    (committed, changes)
}

/// Reads the table of databases again, after a transaction that may have been undone, if it was
/// another one (`before`). REQUIRES: no other worker runs requests.
fn restore_databases(shared: &ServerShared, before: u64) {
    if shared.databases.generation() != before {
        shared.databases.reload(&shared.store);
        shared.waiting.move_keyspaces(|database| shared.databases.keyspace(database));
    }
}

/// Runs a script in one transaction. REQUIRES: no other worker runs requests.
fn run_call(
    session: &mut EngineSession,
    (shared, stable): (&Arc<ServerShared>, StableDatabases<'_>),
    (call, args): (&mut ScriptCall, &RequestArgs<'_>),
    client: &mut ClientState,
    changes: KeyChanges,
    busy: &mut dyn BusyServer,
    reply: &mut ReplyWriter<'_>,
) -> (Result<(AfterCommand, Ticket), CommandError>, KeyChanges) {
    let session = if !call.may_write() {
        EngineKeys::Session(session)
    } else if let Some(why) = session.begin().err() {
        // A script may write, or only read. Reads continue while writes are stopped.
        if let Err(fault) = call.stop_writes(why.into()) {
            return (Err(fault), changes);
        }
        EngineKeys::Session(session)
    } else {
        match session.begin() {
            Ok(transaction) => EngineKeys::Transaction(Box::new(transaction)),
            Err(error) => return (Err(error.into()), changes),
        }
    };
    let context = CommandContext::new(session, client, shared, changes, stable);
    let (context, done) = scripts::run(context, call, args, busy, reply);
    end(context, done.map(|()| AfterCommand::Done))
}

/// Shows a request that runs a script to the monitors, before the commands of the script.
pub(super) fn feed_script(shared: &ServerShared, client: &ClientState, args: &RequestArgs<'_>) {
    if shared.monitors.any() {
        shared.monitors.feed(RequestSource::Client(&client.record), args);
    }
}

pub(super) fn aborted(error: impl Into<CommandError>) -> CommandError {
    error.into().aborts()
}

pub(super) fn after(closes: bool) -> AfterCommand {
    if closes { AfterCommand::Close } else { AfterCommand::Done }
}
