//! Commands that run while no other worker runs any: EXEC, and commands that read and write several
//! keys as one.
//!
//! If they write, their requests form one transaction (`skein_data::EngineSession::begin`); an
//! exclusive command is a transaction of one request. If they only read, running alone is
//! sufficient. The handlers are the same as outside, but a command that would run in slices runs to
//! its end. `transaction_queue.rs` has the requests of EXEC.

use crate::clients::client::ClientState;
use crate::command_table::Flag;
use crate::commands::alone::run;
use crate::commands::scripts::{self, ScriptCall};
use crate::commands::{AfterCommand, Command, CommandError, ScriptKind, observed};
use crate::notice::monitors::RequestSource;
use crate::planted_bugs::{self, PlantedBug};
use crate::resp::{Args, Reply};
use crate::shared::ServerShared;
use crate::shared::stored_request::StoredRequest;
use skein_data::Ticket;

use super::busy::BusyWorker;
use super::general::GeneralContext;
use super::migrations::queue_writes_moving_key;
use super::ring::{Alone, AloneKeys, HELD_BACK};
use super::transaction_queue::{
    QueuedScriptLimits, SCRIPT_BYTES, admit_queue, check_queued_scripts, keys_of_queue, queue_runs_scripts,
    run_queue,
};
use super::write_allowance::{admit, bytes_added};

impl GeneralContext<'_> {
    /// Runs an exclusive command.
    pub(super) fn run_exclusive(
        &mut self,
        command: &'static Command,
        client: &mut ClientState,
        names: &Args,
        reply: &mut Reply,
    ) -> Result<(AfterCommand, Ticket), CommandError> {
        planted_bugs::keep_early(client.keyspace());
        let alone = Alone::wait(&mut self.pass, self.shared)?;
        let mut stored = StoredRequest::default();
        let admitted = alone.admit(&mut stored, (command, names), client, self.session)?;
        let Some((args, mut ring)) = admitted else { return Ok(HELD_BACK) };
        if command.has(Flag::Write) {
            return ring.run(self.session, AloneKeys::Transaction, client, |context| {
                run(context, command, &args, reply).map(after)
            });
        }
        ring.run(self.session, AloneKeys::Reads, client, |context| {
            observed::run(context, command, &args, |context| {
                command.plan.run_by_itself(context, &args, reply)
            })
        })
    }

    /// EVAL and its relatives: runs a script.
    pub(super) fn run_script(
        &mut self,
        kind: ScriptKind,
        client: &mut ClientState,
        args: &Args,
        reply: &mut Reply,
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
        let alone = Alone::wait(&mut self.pass, self.shared).map_err(feed)?;
        // A script may write any key.
        let moves = call.may_write() && self.shared.data.migrations.moving.any();
        let Some(mut ring) = alone.begin(moves, client.id, self.session) else { return Ok(HELD_BACK) };
        feed_script(self.shared, client, args);
        let mut busy = BusyWorker::new(alone.pass(), self.connections);
        let keys = if call.may_write() {
            // The script may only read then.
            AloneKeys::unless_stopped(self.session, |why| call.stop_writes(why))?
        } else {
            AloneKeys::Reads
        };
        ring.run(self.session, keys, client, |context| {
            scripts::run(context, &call, args, &mut busy, reply).map(|()| AfterCommand::Done)
        })
    }

    /// EXEC: runs the requests that the client has queued.
    pub(super) fn exec(
        &mut self,
        client: &mut ClientState,
        reply: &mut Reply,
    ) -> Result<(AfterCommand, Ticket), CommandError> {
        let before = self.shared.scripts.functions.generation();
        let executed = self.try_exec(client, reply);
        if executed.is_err() && self.shared.scripts.functions.generation() != before {
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
        reply: &mut Reply,
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
        // This is done before the other workers must wait: both this and that wait may take a
        // while.
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
        let alone = Alone::wait(&mut self.pass, self.shared).map_err(|fault| fault.aborts())?;
        alone.pass().open_if_planted();
        let moves = self.shared.data.migrations.moving.any() && queue_writes_moving_key(self.shared, &multi);
        let Some(mut ring) = alone.begin(moves, client.id, self.session) else {
            (client.multi, client.watched) = (Some(multi), watched);
            return Ok(HELD_BACK);
        };
        let changed = watched.changed(&mut self.session.keys(), &self.shared.data.databases);
        if changed.map_err(aborted)? && !planted_bugs::is_on(PlantedBug::UncheckedWatch) {
            reply.null_array();
            return Ok((AfterCommand::Done, Ticket::default()));
        }
        let mut busy = BusyWorker::new(alone.pass(), self.connections);
        let keys = keys_of_queue(self.session, &multi, &mut limits)?;
        ring.run(self.session, keys, client, |context| {
            run_queue(context, (&multi, &limits), &mut busy, reply, &mut self.timer)
        })
    }
}

/// Shows a request that runs a script to the monitors, before the commands of the script.
pub(super) fn feed_script(shared: &ServerShared, client: &ClientState, args: &Args) {
    if shared.notices.monitors.any() {
        shared.notices.monitors.feed(RequestSource::Client(&client.record), args);
    }
}

fn aborted(error: impl Into<CommandError>) -> CommandError {
    error.into().aborts()
}

pub(super) fn after(closes: bool) -> AfterCommand {
    if closes { AfterCommand::Close } else { AfterCommand::Done }
}
