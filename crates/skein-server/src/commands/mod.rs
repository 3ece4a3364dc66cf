//! The commands: one table, and one file of handlers per family.
//!
//! ```text
//!   arguments ─► resolve ─► tag ─► Handler::Read      one key's row → reply       runs in a batch of lookups
//!                                  Handler::Write     within one entry to the log runs with other writes
//!                                  Handler::General   all the rest                runs by itself
//!                                  Handler::Exclusive several keys as one         runs while no other worker does
//! ```

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
use crate::engine::{EngineWriter, Keyspace, RowRef, Ticket};
use crate::resp::{ReplyWriter, RequestArgs};
use crate::shared::ServerShared;

pub(crate) use command_error::CommandError;
pub(crate) use task::SlicedTask;

use subcommands::Subcommands;
use table::{COMMANDS, SLOT_COUNT, SLOTS};
use while_loading::LoadingHandler;

/// Answers from the row of the key in argument 1.
pub(crate) type ReadHandler = fn(Option<RowRef<'_>>, &RequestArgs<'_>, &mut ReplyWriter<'_>);
/// Writes and answers; what it wrote to the reply before a fault is taken back.
pub(crate) type WriteHandler =
    fn(&mut EngineWriter<'_, '_>, &RequestArgs<'_>, &mut ReplyWriter<'_>) -> Result<(), CommandError>;
/// The result of a general handler.
pub(crate) type CommandResult = Result<AfterCommand, CommandError>;
/// Does anything; likewise.
pub(crate) type GeneralHandler =
    fn(&mut CommandContext<'_>, &RequestArgs<'_>, &mut ReplyWriter<'_>) -> CommandResult;

/// How a command is run.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// One lookup; consecutive ones are one batch.
    Read(ReadHandler),
    /// One lookup if there is just one key, else `General`.
    ReadOneOrMany(ReadHandler, GeneralHandler),
    /// As `Read`, but an answer that would take long is put off ([`ReplyWriter::put_off`]), and given by the other, in slices.
    ReadOrSlices(ReadHandler, GeneralHandler),
    /// Writes to single keys, the first of which is argument 1; consecutive ones share one append to the log.
    Write(WriteHandler),
    /// As `Write`, if the request [is short](is_short); else it is done by the other, in slices.
    WriteOrSlices(WriteHandler, GeneralHandler),
    /// Everything else.
    General(GeneralHandler),
    /// As `General`, while no other worker runs anything, and all that it writes is one: for what reads and writes several keys. What only reads may look at all of them so,
    /// and go on in slices.
    Exclusive(GeneralHandler),
    /// EXEC.
    Exec,
}

impl Handler {
    /// Runs a request by itself, whatever kind its command is of; where that matters, in a transaction.
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
            // It is never queued, and else run by the worker.
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

/// Whether a request that writes to each key that it names has so few that it is done at once.
#[inline]
pub(crate) fn is_short(args: &RequestArgs<'_>) -> bool {
    args.len() <= task::AT_ONCE
}

/// What a general command has at hand.
pub(crate) struct CommandContext<'c> {
    pub session: Keyspace<'c>,
    pub client: &'c mut ClientState,
    pub shared: &'c Arc<ServerShared>,
    /// Until when the reply must be held back.
    pub ticket: Ticket,
}

impl CommandContext<'_> {
    /// Shows `look` the row of a key that a command reads: a hit or a miss.
    pub(crate) fn look_up<R>(
        &mut self,
        key: &[u8],
        look: impl FnOnce(Result<Option<RowRef<'_>>, crate::engine::Error>) -> R,
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

/// How it goes on with the connection after a general command.
pub(crate) enum AfterCommand {
    /// The reply is written.
    Done,
    /// The reply is written in slices, by this task.
    Slices(Box<SlicedTask>),
    /// The reply is written; it is sent when each other worker has ended what it was running.
    Fence,
    /// A checkpoint is asked for; the reply comes when it is written.
    Checkpoint,
    /// The reply is written; the connection closes once it is sent.
    Close,
}

/// A command's row in the table.
#[derive(Clone, Copy)]
pub(crate) struct CommandSpec {
    /// In lower case.
    pub name: &'static str,
    /// Arguments with the name; negative: at least as many.
    pub arity: i32,
    pub flags: &'static [&'static str],
    /// First key, last key (negative: from the end), step; all 0 for none.
    pub keys: (i32, i32, i32),
    /// In which argument stands how many keys follow it; 0 for none. They come after those of `keys`.
    pub key_count: usize,
    /// None for most.
    pub subcommands: Subcommands,
    /// Whether requests of it that follow each other may be timed as one: each takes so little time that the clock would cost more.
    pub timed_together: bool,
    pub group: &'static str,
    pub summary: &'static str,
    pub handler: Handler,
    /// Answers before there is data; `None` for what answers LOADING then.
    pub early: Option<LoadingHandler>,
}

impl CommandSpec {
    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }
}

/// Whether an arity allows so many arguments, with the command's name.
pub(crate) fn takes(arity: i32, args: usize) -> bool {
    let wanted = arity.unsigned_abs() as usize;
    if arity < 0 { args >= wanted } else { args == wanted }
}

/// The tag of a request whose command is not in the table.
const UNKNOWN: u16 = u16::MAX;
/// In the tag of a request with a wrong number of arguments.
pub(crate) const BAD_ARITY: u16 = 1 << 15;

/// What a tag stands for.
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

/// Finds the command of a request.
#[inline]
pub(crate) fn resolve(args: &RequestArgs<'_>) -> u16 {
    match find(args.get(0)) {
        Some(index) if takes(COMMANDS[index].arity, args.len()) => index as u16,
        Some(index) => index as u16 | BAD_ARITY,
        None => UNKNOWN,
    }
}

/// A command's place in the table, by its name in any case.
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

/// Where to look for a name first; the same for both cases of a letter. `REQUIRES: !name.is_empty()`
pub(crate) const fn hash(name: &[u8]) -> usize {
    const fn letter(byte: u8) -> usize {
        (byte | 0x20) as usize
    }
    let len = name.len();
    (letter(name[0]) * 7 + letter(name[len / 2]) * 31 + letter(name[len - 1]) * 101 + len * 61) % SLOT_COUNT
}

/// Whether a request is a line of HTTP, as a web page sends it with `fetch`: the method of its
/// first line, or the first header.
pub(crate) fn is_cross_protocol(name: &[u8]) -> bool {
    is(name, "POST") || is(name, "Host:")
}

/// The reply to a request that is not run at all.
pub(crate) fn refuse(resolved: ResolvedTag, args: &RequestArgs<'_>, reply: &mut ReplyWriter<'_>) {
    match resolved {
        ResolvedTag::Command(command) | ResolvedTag::WrongArity(command) => {
            wrong_arity(command).write(reply);
        }
        ResolvedTag::Unknown => unknown_command(args, reply),
    }
}

/// As Redis has it, an EXEC with arguments is a transaction that fails.
fn wrong_arity(command: &CommandSpec) -> CommandError {
    match command.handler {
        Handler::Exec => CommandError::text("wrong number of arguments for 'exec' command").aborts(),
        _ => CommandError::wrong_arity(command.name),
    }
}

/// Errors quote up to so many bytes of what a client sent.
pub(crate) const QUOTED_BYTES_MAX: usize = 128;

/// What an error quotes of an argument, at most `most` bytes: in Redis what it quotes ends at a byte 0.
pub(crate) fn quoted(arg: &[u8], most: usize) -> &[u8] {
    let end = arg.iter().position(|byte| *byte == 0).unwrap_or(arg.len());
    &arg[..end.min(most)]
}

/// Redis quotes the command and the first arguments, each up to 128 bytes in all. Of a family that
/// is not here it is said so after that.
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

/// Whether an argument is this word, in any case.
pub(crate) fn is(arg: &[u8], word: &str) -> bool {
    arg.eq_ignore_ascii_case(word.as_bytes())
}
