//! Commands that run while no other worker runs any: EXEC, and those that read and write several keys as one.
//!
//! Both are transactions (`engine::Transaction`): an exclusive command is one of a single request. What runs in one runs to its end, long ranges too, with
//! the same handlers as outside.

use crate::commands::access::denied::refuse_in_exec;
use crate::commands::fault::NOT_IN_MULTI;
use crate::commands::task::{Progress, Slice, Task};
use crate::commands::transactions::Multi;
use crate::commands::{Command, Context, Fault, Handler, Next, Resolved};
use crate::engine::{Keyspace, Session, Ticket};
use crate::observe::kinds::Kind;
use crate::resp::{Args, Reply};

use super::general::General;
use super::room::{admit, grows, needed_now};
use super::watch::Watch;
use crate::client::{Client, Replies};
use crate::shared::Shared;

/// How it goes on after a request, and until when its reply is held back.
pub(super) type Ran = (Result<Next, Fault>, Ticket);

/// What came of a transaction that was run.
fn ran(done: Result<(Next, Ticket), Fault>) -> Ran {
    match done {
        Ok((next, ticket)) => (Ok(next), ticket),
        Err(fault) => (Err(fault), Ticket::default()),
    }
}

impl General<'_> {
    /// Runs an exclusive command.
    pub(super) fn run_alone(
        &mut self,
        command: &Command,
        client: &mut Client,
        args: &Args<'_>,
        reply: &mut Reply<'_>,
    ) -> Ran {
        ran(self.try_alone(command, client, args, reply))
    }

    fn try_alone(
        &mut self,
        command: &Command,
        client: &mut Client,
        args: &Args<'_>,
        reply: &mut Reply<'_>,
    ) -> Result<(Next, Ticket), Fault> {
        let _alone = self.pass.alone();
        // It may have taken a while.
        self.session.freeze();
        if !command.has_flag("write") {
            let session = Keyspace::Session(self.session);
            let mut context = Context { session, client, shared: self.shared, ticket: Ticket::default() };
            return Ok((command.handler.run(&mut context, args, reply)?, context.ticket));
        }
        let session = Keyspace::Transaction(Box::new(self.session.begin()?));
        let context = Context { session, client, shared: self.shared, ticket: Ticket::default() };
        let (context, done) = run(context, command.handler, args, reply);
        // On disk, what fails is not done: it is dropped.
        let closes = done?;
        Ok((after(closes), context.session.commit()?))
    }

    /// EXEC: runs what the client has queued.
    pub(super) fn exec(&mut self, client: &mut Client, reply: &mut Reply<'_>) -> Ran {
        let ran = ran(self.try_exec(client, reply));
        if !client.in_multi() {
            client.card.set_queued(None);
        }
        ran
    }

    fn try_exec(&mut self, client: &mut Client, reply: &mut Reply<'_>) -> Result<(Next, Ticket), Fault> {
        let watched = std::mem::take(&mut client.watched);
        // Its card still says how many are queued, until they are run.
        let Some(multi) = client.multi.take() else {
            client.watched = watched;
            return Err(Fault::text("ERR EXEC without MULTI"));
        };
        if multi.spoiled {
            return Err(Fault::text("EXECABORT Transaction discarded because of previous errors."));
        }
        // Before the others have to wait: it may take a while, as that may.
        if self.session.memory_limit().is_some() {
            admit_queue(self.session, self.shared, &multi).map_err(|fault| fault.aborts())?;
        }
        let _alone = self.pass.alone();
        self.session.freeze();
        if watched.changed(&mut Keyspace::Session(self.session)).map_err(aborted)? {
            reply.null_array();
            return Ok((Next::Done, Ticket::default()));
        }
        let writes = multi.queue.tags().any(may_write);
        let session = if writes {
            Keyspace::Transaction(Box::new(self.session.begin().map_err(aborted)?))
        } else {
            Keyspace::Session(self.session)
        };
        let context = Context { session, client, shared: self.shared, ticket: Ticket::default() };
        run_queue(context, &multi, reply, &mut self.watch)
    }
}

/// Refuses a transaction whose writes there is no room for.
fn admit_queue(session: &mut Session, shared: &Shared, multi: &Multi) -> Result<(), Fault> {
    let mut bytes = 0_usize;
    for (tag, args) in multi.queue.iter() {
        if let Resolved::Command(command) = Resolved::of(tag)
            && grows(command)
        {
            bytes = bytes.saturating_add(needed_now(session, command, &args));
        }
    }
    if bytes > 0 { admit(session, shared, bytes).map(drop) } else { Ok(()) }
}

fn aborted(error: impl Into<Fault>) -> Fault {
    error.into().aborts()
}

/// Whether a queued request may write.
pub(super) fn may_write(tag: u16) -> bool {
    match Resolved::of(tag) {
        Resolved::Command(command) => {
            matches!(command.handler, Handler::Write(_)) || command.has_flag("write")
        }
        _ => false,
    }
}

/// Runs the requests of a transaction; the reply is the array of theirs.
fn run_queue(
    mut context: Context<'_>,
    multi: &Multi,
    reply: &mut Reply<'_>,
    watch: &mut Watch<'_>,
) -> Result<(Next, Ticket), Fault> {
    let start = reply.position();
    let most = context.shared.settings.reply_bytes_max.get();
    let mut closes = false;
    reply.array(multi.queue.len());
    drop_unwanted(context.client, context.client.replies, start, reply);
    for (tag, args) in multi.queue.iter() {
        let (before, replies) = (reply.position(), context.client.replies);
        let Resolved::Command(command) = Resolved::of(tag) else { continue };
        let kind = Kind::of(tag, &args);
        // What was before belongs to no command of the transaction.
        let _ = watch.lap();
        let ran;
        (context, ran) = match context.client.check(tag, &args) {
            Ok(()) => run(context, command.handler, &args, reply),
            Err(denied) => {
                let fault = refuse_in_exec(context.shared, context.client, &denied);
                (context, Err(fault))
            }
        };
        let fault = match ran {
            Ok(ends) => {
                closes |= ends;
                (reply.position() - start > most).then(|| too_long(most))
            }
            Err(fault) => Some(fault),
        };
        if let Some(fault) = fault {
            if context.session.is_broken() {
                return Err(fault.aborts());
            }
            reply.truncate(before);
            fault.write(reply);
        }
        watch.check(kind, reply.written(before));
        let nanos = watch.lap();
        watch.done(kind, 1, nanos);
        if watch.is_slow(nanos) {
            watch.slow(kind, nanos, &args, &context.client.card);
        }
        drop_unwanted(context.client, replies, before, reply);
    }
    let ticket = context.ticket;
    Ok((after(closes), context.session.commit()?.max(ticket)))
}

/// Drops a part of the reply from `start` on, if none was wanted before (see CLIENT REPLY) and none
/// is now; else keeps it, whatever follows.
fn drop_unwanted(client: &mut Client, before: Replies, start: usize, reply: &mut Reply<'_>) {
    if before.are_muted() && client.replies.are_muted() {
        reply.truncate(start);
    } else if before.are_muted() || client.replies.are_muted() {
        client.replies.keep_parts();
    }
}

fn after(closes: bool) -> Next {
    if closes { Next::Close } else { Next::Done }
}

fn too_long(limit: usize) -> Fault {
    Fault::owned(format!(
        "ERR the replies of the transaction would be longer than the limit of {limit} bytes; this command was run, its reply is left out; read less at a time"
    ))
}

/// Runs one request to its end; whether the connection is to be closed after it.
fn run<'c>(
    mut context: Context<'c>,
    handler: Handler,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> (Context<'c>, Result<bool, Fault>) {
    match handler.run(&mut context, args, reply) {
        // Nobody runs beside it, so there is nobody to wait for.
        Ok(Next::Done | Next::Fence) => (context, Ok(false)),
        Ok(Next::Close) => (context, Ok(true)),
        Ok(Next::Slices(task)) => {
            let (context, done) = finish(context, *task, reply);
            (context, done.map(|()| false))
        }
        Ok(Next::Checkpoint) => (context, Err(NOT_IN_MULTI)),
        Err(fault) => (context, Err(fault)),
    }
}

/// Does all slices of a task.
fn finish<'c>(
    context: Context<'c>,
    mut task: Task,
    reply: &mut Reply<'_>,
) -> (Context<'c>, Result<(), Fault>) {
    let Context { session, client, shared, ticket } = context;
    let start = if task.writes_open_array() { reply.begin_open_array() } else { reply.position() };
    let mut slice = Slice { session, ticket, reply_bytes_max: shared.settings.reply_bytes_max.get(), start };
    let done = loop {
        match task.step(&mut slice, reply) {
            Ok(Progress::More) => {}
            Ok(Progress::Done) => break Ok(()),
            Ok(Progress::DoneArray(len)) => {
                reply.close_open_array(start, len);
                break Ok(());
            }
            Err(fault) => break Err(fault),
        }
    };
    (Context { session: slice.session, client, shared, ticket: slice.ticket }, done)
}
