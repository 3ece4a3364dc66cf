//! The commands: one table, and one file of handlers per family.
//!
//! ```text
//!   arguments ─► resolve ─► tag ─► Handler::Read      one key's row → reply       runs in a batch of lookups
//!                                  Handler::Write     within one entry to the log runs with other writes
//!                                  Handler::General   all the rest                runs alone
//! ```

#![expect(
    clippy::unnecessary_wraps,
    reason = "handlers of one kind have one signature, whether they can fail or not"
)]

pub(crate) mod connection;
pub(crate) mod fault;
pub(crate) mod glob;
pub(crate) mod hashes;
pub(crate) mod keys;
pub(crate) mod scan;
pub(crate) mod server;
pub(crate) mod skein;
pub(crate) mod strings;
pub(crate) mod table;
pub(crate) mod task;

use std::sync::Arc;

use crate::client::Client;
use crate::engine::{RowRef, Session, Ticket, Writer};
use crate::resp::{Args, Reply};
use crate::shared::Shared;

pub(crate) use fault::Fault;
pub(crate) use task::Task;

use table::{COMMANDS, SLOTS};

/// Answers from the row of the key in argument 1.
pub(crate) type ReadHandler = fn(Option<RowRef<'_>>, &Args<'_>, &mut Reply<'_>);
/// Writes and answers; what it wrote to the reply before a fault is taken back.
pub(crate) type WriteHandler = fn(&mut Writer<'_, '_>, &Args<'_>, &mut Reply<'_>) -> Result<(), Fault>;
/// Does anything; likewise.
pub(crate) type GeneralHandler = fn(&mut Context<'_>, &Args<'_>, &mut Reply<'_>) -> Result<Next, Fault>;

/// How a command is run.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// One lookup; consecutive ones are one batch.
    Read(ReadHandler),
    /// One lookup if there is just one key, else `General`.
    ReadOneOrMany(ReadHandler, GeneralHandler),
    /// Writes to single keys, the first of which is argument 1; consecutive ones share one append to the log.
    Write(WriteHandler),
    /// Everything else.
    General(GeneralHandler),
}

/// What a general command has at hand.
pub(crate) struct Context<'c> {
    pub session: &'c mut Session,
    pub client: &'c mut Client,
    pub shared: &'c Arc<Shared>,
    /// Until when the reply must be held back.
    pub ticket: Ticket,
}

/// How it goes on with the connection after a general command.
pub(crate) enum Next {
    /// The reply is written.
    Done,
    /// The reply is written in slices, by this task.
    Slices(Box<Task>),
    /// A checkpoint is asked for; the reply comes when it is written.
    Checkpoint,
    /// The reply is written; the connection closes once it is sent.
    Close,
}

/// A command's row in the table.
pub(crate) struct Command {
    /// In lower case.
    pub name: &'static str,
    /// Arguments with the name; negative: at least as many.
    pub arity: i32,
    pub flags: &'static [&'static str],
    /// First key, last key (negative: from the end), step; all 0 for none.
    pub keys: (i32, i32, i32),
    pub group: &'static str,
    pub summary: &'static str,
    pub handler: Handler,
}

impl Command {
    fn takes(&self, args: usize) -> bool {
        let wanted = self.arity.unsigned_abs() as usize;
        if self.arity < 0 { args >= wanted } else { args == wanted }
    }

    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }
}

/// The tag of a request whose command is not in the table.
const UNKNOWN: u16 = u16::MAX;
/// In the tag of a request with a wrong number of arguments.
const BAD_ARITY: u16 = 1 << 15;

/// What a tag stands for.
#[derive(Clone, Copy)]
pub(crate) enum Resolved {
    Command(&'static Command),
    WrongArity(&'static Command),
    Unknown,
}

impl Resolved {
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
pub(crate) fn resolve(args: &Args<'_>) -> u16 {
    match find(args.get(0)) {
        Some(index) if COMMANDS[index].takes(args.len()) => index as u16,
        Some(index) => index as u16 | BAD_ARITY,
        None => UNKNOWN,
    }
}

/// A command's place in the table, by its name in any case.
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
    (letter(name[0]) * 7 + letter(name[len / 2]) * 31 + letter(name[len - 1]) * 101 + len * 61) % 256
}

/// The reply to a request that is not run at all.
pub(crate) fn refuse(resolved: Resolved, args: &Args<'_>, reply: &mut Reply<'_>) {
    match resolved {
        Resolved::Command(command) | Resolved::WrongArity(command) => {
            Fault::wrong_arity(command.name).write(reply);
        }
        Resolved::Unknown => unknown_command(args, reply),
    }
}

/// Redis quotes the command and the first arguments, each up to 128 bytes in all.
fn unknown_command(args: &Args<'_>, reply: &mut Reply<'_>) {
    const QUOTED_BYTES_MAX: usize = 128;
    let mut list: Vec<u8> = Vec::new();
    for arg in args.from(1) {
        if list.len() >= QUOTED_BYTES_MAX {
            break;
        }
        let room = QUOTED_BYTES_MAX - list.len();
        list.push(b'\'');
        list.extend_from_slice(&arg[..arg.len().min(room)]);
        list.extend_from_slice(b"' ");
    }
    let name = args.get(0);
    let mut text = b"ERR unknown command '".to_vec();
    text.extend_from_slice(&name[..name.len().min(QUOTED_BYTES_MAX)]);
    text.extend_from_slice(b"', with args beginning with: ");
    text.extend_from_slice(&list);
    reply.error_bytes(&text);
}

/// Whether an argument is this word, in any case.
pub(crate) fn is(arg: &[u8], word: &str) -> bool {
    arg.eq_ignore_ascii_case(word.as_bytes())
}
