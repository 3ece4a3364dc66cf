//! The commands of the server: one table, and one file of handlers for each family of commands.
//!
//! ```text
//!   arguments ─► resolve ─► tag ─► Handler::Read       replies from the row of one key;
//!                                                      runs in a batch of lookups
//!                                  Handler::Write      writes within one log entry;
//!                                                      runs together with other writes
//!                                  Handler::General    everything else; runs alone
//!                                  Handler::Exclusive  several keys, atomically;
//!                                                      runs while no other worker runs a command
//! ```
//!
//! Read in this order: this file; `table` (one row for each command); `command_error` (error
//! replies); `strings` (a plain family); `task` (commands that run in slices). Design:
//! `docs/design/server.md`.

#![expect(
    clippy::unnecessary_wraps,
    reason = "handlers of one kind have one signature, whether they can fail or not"
)]

pub(crate) mod access;
pub(crate) mod client;
pub(crate) mod command_error;
pub(crate) mod configuration;
pub(crate) mod connection;
pub(crate) mod databases;
pub(crate) mod debug;
pub(crate) mod expiry;
pub(crate) mod glob;
pub(crate) mod hashes;
pub(crate) mod introspection;
pub(crate) mod keys;
pub(crate) mod latency;
pub(crate) mod memory;
pub(crate) mod multi_key;
pub(crate) mod random_entries;
mod reply_limit;
pub(crate) mod scan;
pub(crate) mod server;
pub(crate) mod skein;
pub(crate) mod slowlog;
pub(crate) mod sorted_sets;
pub(crate) mod strings;
pub(crate) mod subcommands;
pub(crate) mod table;
pub(crate) mod task;
pub(crate) mod transactions;
mod unsupported;
pub(crate) mod while_loading;

use std::sync::Arc;

use crate::client::ClientState;
use crate::resp::{ReplyWriter, RequestArgs};
use crate::shared::ServerShared;
use skein_data::{EngineWriter, Keyspace, RowView, Ticket};

pub(crate) use command_error::CommandError;
pub(crate) use task::SlicedTask;

use subcommands::Subcommands;
use table::{COMMANDS, SLOT_COUNT, SLOTS};
use while_loading::LoadingHandler;

/// Replies from the row of the key in argument 1.
pub(crate) type ReadHandler = fn(Option<RowView<'_>>, &RequestArgs<'_>, &mut ReplyWriter<'_>);
/// Writes and replies. If the handler returns an error, its partial reply is discarded.
pub(crate) type WriteHandler =
    fn(&mut EngineWriter<'_, '_>, &RequestArgs<'_>, &mut ReplyWriter<'_>) -> Result<(), CommandError>;
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
    /// Like `Read` if the request has one key, otherwise like `General`.
    ReadOneOrMany(ReadHandler, GeneralHandler),
    /// Like `Read`. If the reply would take long, the first handler defers it
    /// ([`ReplyWriter::put_off`]) and the second one writes it in slices.
    ReadOrSlices(ReadHandler, GeneralHandler),
    /// Writes to single keys, the first of which is argument 1. Consecutive writes share one append
    /// to the log.
    Write(WriteHandler),
    /// Like `Write` if the request [is short](is_short). Otherwise the second handler runs it in
    /// slices.
    WriteOrSlices(WriteHandler, GeneralHandler),
    /// Everything else.
    General(GeneralHandler),
    /// Like `General`, but no other worker runs a command meanwhile, and all its writes are atomic.
    /// For commands that read and write several keys. A command that only reads may look at all its
    /// keys under this exclusion and then continue in slices.
    Exclusive(GeneralHandler),
    /// EXEC.
    Exec,
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
            | Self::ReadOrSlices(_, run)
            | Self::Exclusive(run) => {
                return run(context, args, reply);
            }
            // EXEC is never queued, and outside MULTI the worker runs it.
            Self::Exec => return Err(command_error::NOT_IN_MULTI),
            Self::Read(read) => {
                context.look_up(args.get(1), |row| row.map(|row| read(row, args, reply)))?;
            }
            Self::Write(write) => {
                let (written, ticket) = context.session.write(|writer| write(writer, args, reply));
                context.ticket = context.ticket.max(ticket);
                written??;
            }
        }
        Ok(AfterCommand::Done)
    }
}

/// Returns whether a request has so few arguments that a write to every named key runs at once.
#[inline]
pub(crate) fn is_short(args: &RequestArgs<'_>) -> bool {
    args.len() <= task::AT_ONCE
}

/// The session, the client and the server, as a general command sees them.
pub(crate) struct CommandContext<'c> {
    pub session: Keyspace<'c>,
    pub client: &'c mut ClientState,
    pub shared: &'c Arc<ServerShared>,
    /// The reply must be held back until this ticket is durable.
    pub ticket: Ticket,
}

impl CommandContext<'_> {
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

/// What the worker does with the connection after a general command.
pub(crate) enum AfterCommand {
    /// The reply is written.
    Done,
    /// This task writes the reply, in slices.
    Slices(Box<SlicedTask>),
    /// The reply is written. It is sent after every other worker has finished its current command.
    Fence,
    /// A checkpoint is requested. The reply is sent when the checkpoint is complete.
    Checkpoint,
    /// The reply is written. The connection closes after it is sent.
    Close,
}

/// A command's row in the table.
#[derive(Clone, Copy)]
pub(crate) struct CommandSpec {
    /// In lower case.
    pub name: &'static str,
    /// Number of arguments, including the name. If negative, the minimum.
    pub arity: i32,
    pub flags: &'static [&'static str],
    /// First key, last key (negative: counted from the end), step; all 0 if there are no such keys.
    pub keys: (i32, i32, i32),
    /// Index of the argument that holds a number of keys; 0 if there is no such argument. Those
    /// keys follow it, and they come after the keys of `keys`.
    pub key_count: usize,
    /// Empty for most commands.
    pub subcommands: Subcommands,
    /// Whether consecutive requests of this command may be timed as one. Such a request takes so
    /// little time that reading the clock would cost more.
    pub timed_together: bool,
    pub group: &'static str,
    pub summary: &'static str,
    pub handler: Handler,
    /// Replies while the data is still loading. With `None` the command replies LOADING then.
    pub early: Option<LoadingHandler>,
}

impl CommandSpec {
    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }
}

/// Returns whether an arity allows this number of arguments, including the command's name.
pub(crate) fn takes(arity: i32, args: usize) -> bool {
    let wanted = arity.unsigned_abs() as usize;
    if arity < 0 { args >= wanted } else { args == wanted }
}

/// The tag of a request whose command is not in the table.
const UNKNOWN: u16 = u16::MAX;
/// Bit in the tag of a request with a wrong number of arguments.
pub(crate) const BAD_ARITY: u16 = 1 << 15;

/// The meaning of a tag.
#[derive(Clone, Copy)]
pub(crate) enum ResolvedTag {
    Command(&'static CommandSpec),
    WrongArity(&'static CommandSpec),
    Unknown,
}

impl ResolvedTag {
    #[inline]
    pub(crate) fn of(tag: u16) -> Self {
        match COMMANDS.get((tag & !BAD_ARITY) as usize) {
            Some(command) if tag & BAD_ARITY == 0 => Self::Command(command),
            Some(command) => Self::WrongArity(command),
            None => Self::Unknown,
        }
    }
}

/// Returns the tag of a request: the index of its command in the table, or a mark of its fault.
#[inline]
pub(crate) fn resolve(args: &RequestArgs<'_>) -> u16 {
    match find(args.get(0)) {
        Some(index) if takes(COMMANDS[index].arity, args.len()) => index as u16,
        Some(index) => index as u16 | BAD_ARITY,
        None => UNKNOWN,
    }
}

/// Returns a command's index in the table. Ignores the case of the name.
#[inline(always)]
pub(crate) fn find(name: &[u8]) -> Option<usize> {
    if name.is_empty() {
        return None;
    }
    let mut slot = hash(name);
    loop {
        match SLOTS[slot] {
            0 => return None,
            entry => {
                let index = entry as usize - 1;
                if COMMANDS[index].name.as_bytes().eq_ignore_ascii_case(name) {
                    return Some(index);
                }
            }
        }
        slot = (slot + 1) % SLOTS.len();
    }
}

/// Returns the slot where the search for a name starts. Ignores the case of letters. `REQUIRES:
/// !name.is_empty()`
pub(crate) const fn hash(name: &[u8]) -> usize {
    const fn letter(byte: u8) -> usize {
        (byte | 0x20) as usize
    }
    let len = name.len();
    (letter(name[0]) * 7 + letter(name[len / 2]) * 31 + letter(name[len - 1]) * 101 + len * 61) % SLOT_COUNT
}

/// Returns whether a request is a line of HTTP, as a web page sends it with `fetch`: the method of
/// its first line, or the first header.
pub(crate) fn is_cross_protocol(name: &[u8]) -> bool {
    is(name, "POST") || is(name, "Host:")
}

/// Writes the reply to a request that does not run at all.
pub(crate) fn refuse(resolved: ResolvedTag, args: &RequestArgs<'_>, reply: &mut ReplyWriter<'_>) {
    match resolved {
        ResolvedTag::Command(command) | ResolvedTag::WrongArity(command) => {
            wrong_arity(command).write(reply);
        }
        ResolvedTag::Unknown => unknown_command(args, reply),
    }
}

/// Returns the error for a wrong number of arguments. As in Redis, an EXEC with arguments aborts
/// the transaction.
fn wrong_arity(command: &CommandSpec) -> CommandError {
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

/// Returns whether an argument is this word. Ignores the case.
pub(crate) fn is(arg: &[u8], word: &str) -> bool {
    arg.eq_ignore_ascii_case(word.as_bytes())
}
