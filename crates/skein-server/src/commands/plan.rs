//! The plan of a command: how its requests run. It is derived from the [`Handler`] that its row
//! names, and nothing else looks at that.
//!
//! ```text
//!   row                 batch                    by itself                    alone
//!   Read, Peek          lookup                   the same                     no
//!   ReadOneOrMany       lookup, if of one key    general                      no
//!   ReadOrSlices        lookup, puts off if long general, may be a task       no
//!   Write, WriteRun     write                    the same                     no
//!   WriteOrSlices       write, if short          the same; a task, if long    no
//!   General             no                       general                      no
//!   Exclusive           no                       general                      yes
//!   ExclusiveIf         no                       general                      if the request says so
//!   Blocking, Migrate,  no                       `worker::blocking`,          each decides itself
//!   Exec, Script                                 `migrations`, `exclusive`
//! ```
//!
//! The worker asks in this order: may a batch run the request ([`Plan::batched`])? If not, must it
//! be alone ([`Plan::is_alone`])? [`Plan::run_by_itself`] then runs it, in the ring of
//! `worker::ring`. A transaction and a script are alone already, so they call only the last.

use super::blocking::BlockingCommand;
use super::command_error::NOT_IN_MULTI;
use super::scripts::ScriptKind;
use super::{AfterCommand, CommandContext, CommandError, CommandResult, Replied, migrate, task};
use crate::resp::{Args, Reply};
use skein_data::{EngineWriter, RowView};

/// Replies from the row of the key in argument 1.
pub(crate) type ReadHandler = fn(Option<RowView>, &Args, &mut Reply);
/// Writes and replies. If the handler returns an error, its partial reply is discarded.
pub(crate) type WriteHandler = fn(&mut EngineWriter, &Args, &mut Reply) -> Replied;
/// Does the first requests of a run of writes as one change, and replies to each. Returns their
/// number, at least 1. If the handler returns an error, none was done.
pub(crate) type RunHandler = fn(&mut EngineWriter, &RequestRun, &mut Reply) -> CommandResult<usize>;
/// Does anything. If the handler returns an error, its partial reply is discarded.
pub(crate) type GeneralHandler = fn(&mut CommandContext, &Args, &mut Reply) -> CommandResult;

/// The handler of a command, as its row names it.
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
    /// ([`Reply::put_off`]) and the second one writes it in slices.
    ReadOrSlices(ReadHandler, GeneralHandler),
    /// Writes to single keys, the first of which is argument 1. Consecutive writes share one append
    /// to the log.
    Write(WriteHandler),
    /// Like `Write`, for requests of one command to one key that a client has sent one after the
    /// other.
    WriteRun(RunHandler),
    /// Like `Write` if the request has few arguments. Otherwise the second handler runs it in
    /// slices.
    WriteOrSlices(WriteHandler, GeneralHandler),
    /// Everything else.
    General(GeneralHandler),
    /// Like `General`, but no other worker runs a command meanwhile, and all its writes are atomic.
    /// For commands that read and write several keys. A command that only reads may look at all its
    /// keys under this exclusion and then continue in slices.
    Exclusive(GeneralHandler),
    /// Like `Exclusive` if the first function says so of a request, otherwise like `General`. For
    /// commands that read one key and may write another, or that pop from the first of several
    /// keys.
    ExclusiveIf(fn(&Args) -> bool, GeneralHandler),
    /// Serves its client from one of several keys. If none can, the client waits.
    Blocking(&'static BlockingCommand),
    /// MIGRATE: a thread talks to the target while the client waits.
    Migrate,
    /// EXEC.
    Exec,
    /// EVAL and its relatives: like EXEC, with the commands of a script.
    Script(ScriptKind),
}

/// How the requests of a command run.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// How a batch runs requests of up to `batch_args_max` arguments.
    pub(crate) batch: Option<Batched>,
    batch_args_max: u32,
    /// Says whether a general request runs while no other worker runs any.
    alone: fn(&Args) -> bool,
    /// Runs requests of more than [`task::AT_ONCE`] arguments in slices.
    long: Option<GeneralHandler>,
    pub(crate) run: Run,
}

/// How a request runs in a batch.
#[derive(Clone, Copy)]
pub(crate) enum Batched {
    Read(ReadHandler),
    /// A read that is no use of its key.
    Peek(ReadHandler),
    Write(BatchedWrite),
}

/// How a request writes in a batch of writes.
#[derive(Clone, Copy)]
pub(crate) enum BatchedWrite {
    One(WriteHandler),
    Run(RunHandler),
}

/// How a request runs by itself.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    AsBatched(Batched),
    General(GeneralHandler),
    /// These decide themselves when they are alone.
    Blocking(&'static BlockingCommand),
    Migrate,
    Exec,
    Script(ScriptKind),
}

/// The arguments of a batched request, if their number does not matter.
const ANY: u32 = u32::MAX;
/// The arguments of a request of one key that could have more.
const ONE_KEY: u32 = 2;

impl Plan {
    /// Returns the plan of a command with this handler.
    pub(crate) const fn of(handler: Handler) -> Self {
        use Batched::{Peek, Read, Write};
        use BatchedWrite::{One, Run as Several};
        match handler {
            Handler::Read(read) => Self::in_batch(Read(read), ANY, None),
            Handler::Peek(read) => Self::in_batch(Peek(read), ANY, None),
            Handler::ReadOrSlices(read, run) => Self::in_batch(Read(read), ANY, Some(run)),
            Handler::ReadOneOrMany(read, run) => Self::in_batch(Read(read), ONE_KEY, Some(run)),
            Handler::PeekOneOrMany(read, run) => Self::in_batch(Peek(read), ONE_KEY, Some(run)),
            Handler::Write(write) => Self::in_batch(Write(One(write)), ANY, None),
            Handler::WriteRun(write) => Self::in_batch(Write(Several(write)), ANY, None),
            Handler::WriteOrSlices(write, long) => {
                Self { long: Some(long), ..Self::in_batch(Write(One(write)), task::AT_ONCE as u32, None) }
            }
            Handler::General(run) => Self::by_itself(Run::General(run)),
            Handler::Exclusive(run) => Self { alone: |_| true, ..Self::by_itself(Run::General(run)) },
            Handler::ExclusiveIf(alone, run) => Self { alone, ..Self::by_itself(Run::General(run)) },
            Handler::Blocking(blocking) => Self::by_itself(Run::Blocking(blocking)),
            Handler::Migrate => Self::by_itself(Run::Migrate),
            Handler::Exec => Self::by_itself(Run::Exec),
            Handler::Script(kind) => Self::by_itself(Run::Script(kind)),
        }
    }

    /// Returns the plan of a command whose requests run in batches if they have few arguments, and
    /// otherwise by `general`, if it is there.
    const fn in_batch(batched: Batched, batch_args_max: u32, general: Option<GeneralHandler>) -> Self {
        let run = match general {
            Some(run) => Run::General(run),
            None => Run::AsBatched(batched),
        };
        Self { batch: Some(batched), batch_args_max, ..Self::by_itself(run) }
    }

    const fn by_itself(run: Run) -> Self {
        Self { batch: None, batch_args_max: ANY, alone: |_| false, long: None, run }
    }

    /// Returns how a batch runs a request, if one may.
    #[inline]
    pub(crate) fn batched<'a>(&self, args: impl FnOnce() -> Args<'a>) -> Option<Batched> {
        self.batch.filter(|_| self.batch_args_max == ANY || args().len() <= self.batch_args_max as usize)
    }

    /// Returns whether a general request runs while no other worker runs any.
    pub(crate) fn is_alone(&self, args: &Args) -> bool {
        (self.alone)(args)
    }

    /// Returns whether a request has so many arguments that it writes in slices. Each slice is
    /// observed by itself.
    #[inline]
    pub(crate) fn is_long(&self, args: &Args) -> bool {
        self.long.is_some() && args.len() > task::AT_ONCE
    }

    /// Returns whether the command is EXEC.
    pub(crate) fn is_exec(&self) -> bool {
        matches!(self.run, Run::Exec)
    }

    /// Returns the kind of script that the command runs, if it runs one.
    pub(crate) fn script(&self) -> Option<ScriptKind> {
        if let Run::Script(kind) = self.run { Some(kind) } else { None }
    }

    /// Returns how the clients of the command wait, if they may wait.
    pub(crate) fn blocking(&self) -> Option<&'static BlockingCommand> {
        if let Run::Blocking(blocking) = self.run { Some(blocking) } else { None }
    }

    /// Runs one request by itself; in a transaction too.
    pub(crate) fn run_by_itself(
        &self,
        context: &mut CommandContext,
        args: &Args,
        reply: &mut Reply,
    ) -> CommandResult {
        match (self.long, self.run) {
            (Some(run), _) if self.is_long(args) => return run(context, args, reply),
            (_, Run::General(run)) => return run(context, args, reply),
            (_, Run::Blocking(blocking)) => return blocking.run_at_once(context, args, reply),
            (_, Run::Migrate) => return migrate::at_once(context, args, reply),
            // EXEC is never queued, and no script runs a script. Otherwise the worker runs them.
            (_, Run::Exec | Run::Script(_)) => return Err(NOT_IN_MULTI),
            (_, Run::AsBatched(Batched::Read(read))) => {
                context.read(args.get(1), |row| read_by_itself(read, row?, args, reply))?;
            }
            (_, Run::AsBatched(Batched::Peek(read))) => {
                context.look_up_unused(args.get(1), |row| read_by_itself(read, row?, args, reply))?;
            }
            (_, Run::AsBatched(Batched::Write(write))) => {
                context.write(|writer| write.run(writer, args, reply))?;
            }
        }
        Ok(AfterCommand::Done)
    }
}

/// Runs one read of a batch. An error is returned, as from all other handlers: those who observe
/// keys must not take it for a miss.
fn read_by_itself(read: ReadHandler, row: Option<RowView>, args: &Args, reply: &mut Reply) -> Replied {
    let start = reply.position();
    read(row, args, reply);
    let Some(text) = reply.written(start).strip_prefix(b"-") else { return Ok(()) };
    let error = CommandError::owned(text.trim_ascii_end());
    reply.truncate(start);
    Err(error)
}

impl BatchedWrite {
    /// Runs one request.
    pub(crate) fn run(self, writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
        match self {
            Self::One(write) => write(writer, args, reply),
            Self::Run(write) => write(writer, &RequestRun::of_one(args), reply).map(drop),
        }
    }
}

/// Requests of one command to one key, in the order in which a client has sent them; at least one.
#[derive(Clone, Copy)]
pub(crate) struct RequestRun<'r> {
    /// The key as the store has it.
    pub key: &'r [u8],
    /// The requests as they were sent.
    pub requests: &'r [Args<'r>],
}

impl<'r> RequestRun<'r> {
    /// Returns a run of one request.
    fn of_one(request: &'r Args<'r>) -> Self {
        Self { key: request.get(1), requests: std::slice::from_ref(request) }
    }

    /// Returns the first requests for which `belongs` is true. REQUIRES: the first request is one.
    pub(crate) fn first_that(&self, belongs: impl Fn(&Args<'r>) -> bool) -> Self {
        let count = self.requests.iter().take_while(|request| belongs(request)).count();
        Self { key: self.key, requests: &self.requests[..count.max(1)] }
    }

    /// Returns the arguments behind the keys, of all requests.
    pub(crate) fn values(&self) -> impl Iterator<Item = &'r [u8]> + Clone + use<'r> {
        self.requests.iter().flat_map(|request| request.from(2))
    }
}
