//! The commands of the server: one file of handlers for each family of commands.
//!
//! ```text
//!   arguments ─► resolve ─► tag ─► Handler::Read       replies from the row of one key;
//!                                                      runs in a batch of lookups
//!                                  Handler::Write      writes within one log entry;
//!                                                      runs together with other writes
//!                                  Handler::WriteRun   the same for requests to one key in a row,
//!                                                      as one change
//!                                  Handler::General    everything else; runs alone
//!                                  Handler::Exclusive  several keys, atomically;
//!                                                      runs while no other worker runs a command
//! ```
//!
//! The table of each family (`lists/table.rs`) has one row for each command, with its handler and all
//! facts about it: see `command_table`.
//!
//! - Contents: `strings`, `hashes`, `lists`, `sets`, `sorted_sets`, `streams`, `hyperloglog`, `geo`.
//! - Keys of any kind: `keys`, `expiry`, `scan`, `sort`, `dump`, `migrate`, `databases`, `multi_key`,
//!   `skein` (in order, and with versions).
//! - Clients: `connection`, `client`, `channels`, `transactions`, `scripts`, `access`, `monitor`.
//! - The server: `server`, `configuration`, `introspection`, `memory`, `latency`, `slowlog`, `debug`,
//!   `standalone`, `unsupported`.
//! - Shared by families: `blocking`, `multi_pop`, `random_entries`, `subcommands`, `reply_limit`.
//! - Ways to run: `alone`, `observed`, `task`, `while_loading`, `while_busy`.
//!
//! Read in this order: this file; `strings` (a plain family) and its table; `task` (commands that run
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

use std::sync::Arc;
use std::time::Instant;

use crate::clients::client::ClientState;
use crate::notice::key_events::KeyChanges;
use crate::resp::{ReplyWriter, RequestArgs};
use crate::shared::ServerShared;
use crate::shared::exclusion_gate::StableDatabases;
use crate::shared::migrations::MigrationJob;
use skein_data::{EngineKeys, EngineWriter, RowView, Ticket};

pub(crate) use crate::command_table::{Command, Flag, ResolvedTag, find, handler_of, is, resolve, takes};
pub(crate) use crate::request::command_error::{self, CommandError, OUT_OF_MEMORY};
use blocking::BlockingCommand;
pub(crate) use scripts::{ScriptKind, ScriptSource};
pub(crate) use task::SlicedTask;

/// Replies from the row of the key in argument 1.
pub(crate) type ReadHandler = fn(Option<RowView<'_>>, &RequestArgs<'_>, &mut ReplyWriter<'_>);
/// Writes and replies. If the handler returns an error, its partial reply is discarded.
pub(crate) type WriteHandler =
    fn(&mut EngineWriter<'_, '_>, &RequestArgs<'_>, &mut ReplyWriter<'_>) -> Result<(), CommandError>;
/// Does the first requests of a run of writes as one change, and replies to each. Returns their number,
/// at least 1. If the handler returns an error, none was done.
pub(crate) type RunHandler =
    fn(&mut EngineWriter<'_, '_>, &RequestRun<'_>, &mut ReplyWriter<'_>) -> Result<usize, CommandError>;
/// The result of a general handler.
pub(crate) type CommandResult = Result<AfterCommand, CommandError>;
/// Does anything. If the handler returns an error, its partial reply is discarded.
pub(crate) type GeneralHandler =
    fn(&mut CommandContext<'_>, &RequestArgs<'_>, &mut ReplyWriter<'_>) -> CommandResult;

/// Says how a command runs.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// One lookup. Consecutive reads form one batch.
    Read(ReadHandler),
    /// Like `Read`, but not a use of the key.
    Peek(ReadHandler),
    /// Like `Read` if the request has one key, otherwise like `General`.
    ReadOneOrMany(ReadHandler, GeneralHandler),
    /// Like `ReadOneOrMany`, but not a use of the keys.
    PeekOneOrMany(ReadHandler, GeneralHandler),
    /// Like `Read`. If the reply would take long, the first handler defers it
    /// ([`ReplyWriter::put_off`]) and the second one writes it in slices.
    ReadOrSlices(ReadHandler, GeneralHandler),
    /// Writes to single keys, the first of which is argument 1. Consecutive writes share one append
    /// to the log.
    Write(WriteHandler),
    /// Like `Write`, for requests of one command to one key that a client has sent one after the other.
    WriteRun(RunHandler),
    /// Like `Write` if the request [is short](is_short). Otherwise the second handler runs it in
    /// slices.
    WriteOrSlices(WriteHandler, GeneralHandler),
    /// Everything else.
    General(GeneralHandler),
    /// Like `General`, but no other worker runs a command meanwhile, and all its writes are atomic.
    /// For commands that read and write several keys. A command that only reads may look at all its
    /// keys under this exclusion and then continue in slices.
    Exclusive(GeneralHandler),
    /// Like `Exclusive` if the first function says so of a request, otherwise like `General`. For
    /// commands that read one key and may write another, or that pop from the first of several keys.
    ExclusiveIf(fn(&RequestArgs<'_>) -> bool, GeneralHandler),
    /// Serves its client from one of several keys. If none can, the client waits.
    Blocking(&'static BlockingCommand),
    /// MIGRATE: a thread talks to the target while the client waits.
    Migrate,
    /// EXEC.
    Exec,
    /// EVAL and its relatives: like EXEC, with the commands of a script.
    Script(ScriptKind),
}

impl Handler {
    /// Runs one request by itself, whatever the kind of its command; in a transaction too.
    pub(crate) fn run(
        self,
        context: &mut CommandContext<'_>,
        args: &RequestArgs<'_>,
        reply: &mut ReplyWriter<'_>,
    ) -> Result<AfterCommand, CommandError> {
        match self {
            Self::WriteOrSlices(write, _) if is_short(args) => {
                return Self::Write(write).run(context, args, reply);
            }
            Self::General(run)
            | Self::WriteOrSlices(_, run)
            | Self::ReadOneOrMany(_, run)
            | Self::PeekOneOrMany(_, run)
            | Self::ReadOrSlices(_, run)
            | Self::Exclusive(run)
            | Self::ExclusiveIf(_, run) => {
                return run(context, args, reply);
            }
            // EXEC is never queued, and no script runs a script. Otherwise the worker runs them.
            Self::Exec | Self::Script(_) => return Err(command_error::NOT_IN_MULTI),
            Self::Migrate => return migrate::at_once(context, args, reply),
            Self::Blocking(blocking) => return blocking.run_at_once(context, args, reply),
            Self::Read(read) => {
                context.look_up(args.get(1), |row| row.map(|row| read(row, args, reply)))?;
            }
            Self::Peek(read) => {
                context.look_up_unused(args.get(1), |row| row.map(|row| read(row, args, reply)))?;
            }
            Self::Write(write) => {
                let (written, ticket) = context.session.write(|writer| write(writer, args, reply));
                context.ticket = context.ticket.max(ticket);
                written??;
            }
            Self::WriteRun(write) => {
                let run = RequestRun::of_one(args);
                let (written, ticket) = context.session.write(|writer| write(writer, &run, reply));
                context.ticket = context.ticket.max(ticket);
                written??;
            }
        }
        Ok(AfterCommand::Done)
    }
}

/// Requests of one command to one key, in the order in which a client has sent them; at least one.
#[derive(Clone, Copy)]
pub(crate) struct RequestRun<'r> {
    /// The key as the store has it.
    pub key: &'r [u8],
    /// The requests as they were sent.
    pub requests: &'r [RequestArgs<'r>],
}

impl<'r> RequestRun<'r> {
    /// Returns a run of one request.
    pub(crate) fn of_one(request: &'r RequestArgs<'r>) -> Self {
        Self { key: request.get(1), requests: std::slice::from_ref(request) }
    }

    /// Returns the first requests for which `belongs` is true. REQUIRES: the first request is one.
    pub(crate) fn first_that(&self, belongs: impl Fn(&RequestArgs<'r>) -> bool) -> Self {
        let count = self.requests.iter().take_while(|request| belongs(request)).count();
        Self { key: self.key, requests: &self.requests[..count.max(1)] }
    }

    /// Returns the arguments behind the keys, of all requests.
    pub(crate) fn values(&self) -> impl Iterator<Item = &'r [u8]> + Clone + use<'r> {
        self.requests.iter().flat_map(|request| request.from(2))
    }
}

/// Returns whether a request has so few arguments that a write to every named key runs at once.
#[inline]
pub(crate) fn is_short(args: &RequestArgs<'_>) -> bool {
    args.len() <= task::AT_ONCE
}

/// The session, the client and the server, as a general command sees them.
pub(crate) struct CommandContext<'c> {
    pub session: EngineKeys<'c>,
    pub client: &'c mut ClientState,
    pub shared: &'c Arc<ServerShared>,
    /// The reply must be held back until this ticket is durable.
    pub ticket: Ticket,
    /// The changes of the commands, if somebody listens.
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

    /// Does the same as [`look_up`](Self::look_up) without counting as a use of the key.
    pub(crate) fn look_up_unused<R>(
        &mut self,
        key: &[u8],
        look: impl FnOnce(Result<Option<RowView<'_>>, skein_data::Error>) -> R,
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
        look: impl FnOnce(Result<Option<RowView<'_>>, skein_data::Error>) -> R,
    ) -> R {
        let mut found = false;
        let answer = self.session.get_with(key, |row| {
            found = matches!(row, Ok(Some(_)));
            look(row)
        });
        self.client.lookups.note(found);
        answer
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
    Slices(Box<SlicedTask>),
    /// The reply is written. It is sent after every other worker has finished its current command.
    Fence,
    /// A checkpoint is requested. The reply is sent when the checkpoint is complete.
    Checkpoint,
    /// The reply is written. It is sent when this ticket is durable, at every level that keeps a log.
    Durable(Ticket),
    /// The client waits for a key.
    Wait(KeyWait),
    /// Nothing is done: while the worker waited to be alone, a key of the request has begun to move to
    /// another server. The request runs later.
    HeldBack,
    /// A thread runs this job. The reply is sent when it has ended.
    Migrate(Box<MigrationJob>),
    /// The reply is written. The connection closes after it is sent.
    Close,
}

/// The error for a request that names a reserved key.
pub(crate) const RESERVED_KEY_NAMED: CommandError = CommandError::text(
    "ERR keys that begin with \\xffSK\\x00 are reserved for databases and keyspaces; use another key",
);

/// Writes the reply to a request that does not run at all.
pub(crate) fn refuse(resolved: ResolvedTag, args: &RequestArgs<'_>, reply: &mut ReplyWriter<'_>) {
    match resolved {
        ResolvedTag::Command(command) | ResolvedTag::WrongArity(command) => {
            wrong_arity(command).write(reply);
        }
        ResolvedTag::ReservedKey(_) => RESERVED_KEY_NAMED.write(reply),
        ResolvedTag::Unknown => unknown_command(args, reply),
    }
}

/// Returns the error for a wrong number of arguments. As in Redis, an EXEC with arguments aborts
/// the transaction.
fn wrong_arity(command: &Command) -> CommandError {
    match command.handler {
        Handler::Exec => CommandError::text("wrong number of arguments for 'exec' command").aborts(),
        _ => CommandError::wrong_arity(command.name),
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

/// Writes the error for an unknown command. Like Redis it quotes the command, and the first
/// arguments up to 128 bytes in all. If the command belongs to a family that SkeinDB does not
/// support, the error says so at the end.
fn unknown_command(args: &RequestArgs<'_>, reply: &mut ReplyWriter<'_>) {
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
    reply.error_bytes(&text);
}
