//! The commands of the server: one file of handlers for each family of commands.
//!
//! ```text
//!   arguments ─► resolve ─► tag ─► Plan ─┬─► in a batch of lookups, from the row of one key
//!                                        ├─► in a batch of writes, within one log entry
//!                                        ├─► by itself, beside other workers
//!                                        └─► alone, while no other worker runs a command
//! ```
//!
//! The table of each family (`lists/table.rs`) has one row for each command, with its handler and
//! all facts about it: see `command_table`.
//!
//! - Contents: `strings`, `hashes`, `lists`, `sets`, `sorted_sets`, `streams`, `hyperloglog`,
//!   `geo`.
//! - Keys of any kind: `keys`, `expiry`, `scan`, `sort`, `dump`, `migrate`, `databases`,
//!   `multi_key`, `skein` (in order, and with versions).
//! - Clients: `connection`, `client`, `channels`, `transactions`, `scripts`, `access`, `monitor`.
//! - The server: `server`, `configuration`, `introspection`, `memory`, `latency`, `slowlog`,
//!   `debug`, `standalone`, `unsupported`.
//! - Shared by families: `blocking`, `multi_pop`, `random_entries`, `subcommands`, `reply_limit`.
//! - Ways to run: `plan`, `alone`, `observed`, `task`, `without_data`, `while_loading`,
//!   `while_busy`.
//!
//! Read in this order: this file; `plan`; `strings` (a plain family) and its table; `task` (commands that run
//! in slices). Design: `docs/design/server.md`, `docs/design/command-table.md`.

#![expect(
    clippy::unnecessary_wraps,
    reason = "handlers of one kind have one signature, whether they can fail or not"
)]

pub(crate) mod access;
pub(crate) mod alone;
pub(crate) mod blocking;
pub(crate) mod channels;
pub(crate) mod client;
pub(crate) mod configuration;
pub(crate) mod connection;
pub(crate) mod databases;
pub(crate) mod debug;
pub(crate) mod dump;
pub(crate) mod expiry;
pub(crate) mod geo;
pub(crate) mod hashes;
pub(crate) mod hyperloglog;
pub(crate) mod introspection;
pub(crate) mod keys;
pub(crate) mod latency;
pub(crate) mod lists;
pub(crate) mod memory;
pub(crate) mod migrate;
pub(crate) mod monitor;
pub(crate) mod multi_key;
mod multi_pop;
pub(crate) mod observed;
pub(crate) mod plan;
pub(crate) mod random_entries;
mod reply_limit;
pub(crate) mod scan;
pub(crate) mod scripts;
pub(crate) mod server;
pub(crate) mod sets;
pub(crate) mod skein;
pub(crate) mod slowlog;
pub(crate) mod sort;
pub(crate) mod sorted_sets;
pub(crate) mod standalone;
pub(crate) mod streams;
pub(crate) mod strings;
pub(crate) mod subcommands;
pub(crate) mod task;
pub(crate) mod transactions;
mod unsupported;
pub(crate) mod while_busy;
pub(crate) mod while_loading;
pub(crate) mod without_data;

use std::sync::Arc;
use std::time::Instant;

use crate::clients::client::ClientState;
use crate::notice::key_events::KeyChanges;
use crate::observe::worker_counters::ReadOutcome;
use crate::resp::{Args, Reply};
use crate::shared::ServerShared;
use crate::shared::exclusion_gate::StableDatabases;
use crate::shared::migrations::MigrationJob;
use skein_data::{EngineKeys, EngineWriter, RowView, Ticket};

pub(crate) use crate::command_table::{Command, Flag, ResolvedTag, find, is, plan_of, resolve, takes};
pub(crate) use crate::request::command_error::{self, CommandError, OUT_OF_MEMORY, Replied};
pub(crate) use plan::{Batched, BatchedWrite, Handler, Plan, ReadHandler, RequestRun, Run, RunHandler};
pub(crate) use scripts::{ScriptKind, ScriptSource};
pub(crate) use task::SlicedTask;
use transactions::refused;

/// The result of a part of a command; of a general handler, unless it says otherwise.
pub(crate) type CommandResult<T = AfterCommand> = Result<T, CommandError>;

/// The session, the client and the server, as a general command sees them.
pub(crate) struct CommandContext<'c> {
    pub session: EngineKeys<'c>,
    pub client: &'c mut ClientState,
    pub shared: &'c Arc<ServerShared>,
    /// The reply must be held back until this ticket is durable.
    pub ticket: Ticket,
    /// The changes of the commands, if clients observe keys.
    pub changes: KeyChanges,
    /// Permission to translate keys.
    pub stable: StableDatabases<'c>,
}

impl<'c> CommandContext<'c> {
    /// Returns the context of a command that is about to run.
    pub(crate) fn new(
        session: EngineKeys<'c>,
        client: &'c mut ClientState,
        shared: &'c Arc<ServerShared>,
        changes: KeyChanges,
        stable: StableDatabases<'c>,
    ) -> Self {
        Self { session, client, shared, ticket: Ticket::default(), changes, stable }
    }
}

impl CommandContext<'_> {
    /// Returns the number of keys of the selected database.
    pub(crate) fn keys(&mut self) -> usize {
        self.session.keyspace_stats(self.client.keyspace()).keys
    }

    /// Runs single-key writes. The reply waits until they are durable.
    pub(crate) fn write<R, E: Into<CommandError>>(
        &mut self,
        writes: impl FnOnce(&mut EngineWriter<'_, '_>) -> Result<R, E>,
    ) -> CommandResult<R> {
        let (written, ticket) = self.session.write(writes);
        self.ticket = self.ticket.max(ticket);
        written?.map_err(E::into)
    }

    /// Does the same as [`look_up`](Self::look_up) without counting as a use of the key.
    pub(crate) fn look_up_unused<R>(
        &mut self,
        key: &[u8],
        look: impl FnOnce(Result<Option<RowView>, skein_data::Error>) -> R,
    ) -> R {
        let mut found = false;
        let answer = self.session.peek_with(key, |row| {
            found = matches!(row, Ok(Some(_)));
            look(row)
        });
        self.client.lookups.note(found);
        answer
    }

    /// Calls `look` with the row of a key that a command reads, and counts a hit or a miss.
    pub(crate) fn look_up<R>(
        &mut self,
        key: &[u8],
        look: impl FnOnce(Result<Option<RowView>, skein_data::Error>) -> R,
    ) -> R {
        let mut found = false;
        let answer = self.session.get_with(key, |row| {
            found = matches!(row, Ok(Some(_)));
            look(row)
        });
        self.client.lookups.note(found);
        answer
    }

    /// Does the same as [`look_up`](Self::look_up) for a command that reads its arguments only with
    /// the row. If it refuses them, the lookup does not count.
    pub(crate) fn read<R>(
        &mut self,
        key: &[u8],
        look: impl FnOnce(Result<Option<RowView>, skein_data::Error>) -> Result<R, CommandError>,
    ) -> Result<R, CommandError> {
        let mut lookups = self.client.lookups;
        self.look_up(key, look).inspect_err(|error| {
            lookups.count(ReadOutcome::of_error(error.bytes()));
            self.client.lookups = lookups;
        })
    }
}

/// A client's wait for a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyWait {
    /// Its end, if it has one.
    pub until: Option<Instant>,
    /// The bytes that the server keeps of its request meanwhile, about.
    pub bytes: usize,
}

/// The next step of the worker on the connection after a general command.
pub(crate) enum AfterCommand {
    /// The reply is written.
    Done,
    /// This task writes the reply, in slices.
    Slices(Box<dyn SlicedTask>),
    /// The reply is written. It is sent after every other worker has finished its current command.
    Fence,
    /// A checkpoint is requested. The reply is sent when the checkpoint is complete.
    Checkpoint,
    /// The reply is written. It is sent when this ticket is durable, at every level that keeps a
    /// log.
    Durable(Ticket),
    /// The client waits for a key.
    Wait(KeyWait),
    /// Nothing is done: while the worker waited to be alone, a key of the request has begun to move
    /// to another server. The request runs later.
    HeldBack,
    /// A thread runs this job. The reply is sent when it has ended.
    Migrate(Box<MigrationJob>),
    /// The reply is written. The connection closes after it is sent.
    Close,
}

impl AfterCommand {
    /// Returns the step that runs a task.
    pub(crate) fn slices(task: impl SlicedTask + 'static) -> Self {
        Self::Slices(Box::new(task))
    }
}

/// The error for a request that names a reserved key.
pub(crate) const RESERVED_KEY_NAMED: CommandError = CommandError::text(
    "ERR keys that begin with \\xffSK\\x00 are reserved for databases and keyspaces; use another key",
);

/// Returns the error of a request that is none of a command's, and notes it in the client's transaction.
pub(crate) fn refuse(resolved: ResolvedTag, client: &mut ClientState, args: &Args) -> CommandError {
    match resolved {
        ResolvedTag::WrongArity(command) | ResolvedTag::Command(command) => {
            let fault = if command.plan.is_exec() {
                CommandError::text("wrong number of arguments for 'exec' command")
            } else {
                CommandError::wrong_arity(command.name)
            };
            refused(client, command, fault)
        }
        ResolvedTag::ReservedKey(command) => refused(client, command, RESERVED_KEY_NAMED),
        ResolvedTag::Unknown => {
            client.mark_multi_failed();
            unknown_command(args)
        }
    }
}

/// Replies with `answer`, or with its error instead.
#[inline]
fn reply_or_error(reply: &mut Reply, answer: impl FnOnce(&mut Reply) -> CommandResult<()>) {
    let start = reply.position();
    if let Err(fault) = answer(reply) {
        reply.truncate(start);
        fault.write(reply);
    }
}

/// Errors quote at most this number of bytes of a client's input.
pub(crate) const QUOTED_BYTES_MAX: usize = 128;

/// Returns the part of an argument that an error quotes: at most `most` bytes. As in Redis, the
/// quote ends at a zero byte.
pub(crate) fn quoted(arg: &[u8], most: usize) -> &[u8] {
    let end = arg.iter().position(|byte| *byte == 0).unwrap_or(arg.len());
    &arg[..end.min(most)]
}

/// Returns the error for an unknown command. Like Redis it quotes the command, and the first
/// arguments up to 128 bytes in all. If the command belongs to a family that SkeinDB does not
/// support, the error says so at the end.
fn unknown_command(args: &Args) -> CommandError {
    let mut list: Vec<u8> = Vec::new();
    for arg in args.from(1) {
        if list.len() >= QUOTED_BYTES_MAX {
            break;
        }
        let room = QUOTED_BYTES_MAX - list.len();
        list.push(b'\'');
        list.extend_from_slice(quoted(arg, room));
        list.extend_from_slice(b"' ");
    }
    let mut text = b"ERR unknown command '".to_vec();
    text.extend_from_slice(quoted(args.get(0), QUOTED_BYTES_MAX));
    text.extend_from_slice(b"', with args beginning with: ");
    text.extend_from_slice(&list);
    if let Some(what) = unsupported::family_of(args.get(0)) {
        text.extend_from_slice(format!("({what})").as_bytes());
    }
    CommandError::owned(text)
}
