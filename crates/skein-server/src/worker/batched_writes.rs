//! The writes of a batch (`pipelined_writes`), connection by connection.
//!
//! ```text
//!   SADD s a   SADD s b   SADD s c   INCR n   LPUSH l x   LPUSH l y
//!   └────────── one change ───────┘  └ one ┘  └───── one change ───┘
//! ```
//!
//! Requests of one command to one key that a client has sent one after the other are done as one
//! change. This needs that no client observes keys and that memory is not limited. If one of them
//! fails, nothing is changed, and each runs by itself.

use crate::commands::command_error::OUT_OF_MEMORY;
use crate::commands::{Batched, BatchedWrite, CommandError, RequestRun, ResolvedTag, RunHandler};
use crate::notice::key_events::{CommandWatch, KeyChanges};
use crate::observe::command_kinds::CommandKind;
use crate::resp::{Args, Reply};
use crate::shared::exclusion_gate::StableDatabases;
use crate::shared::stored_request::StoredRequest;
use skein_data::{EngineWriter, Error};

use super::connection::Connection;
use super::reply_buffer::ReplyBuffer;
use super::request_timer::RequestTimer;
use super::write_allowance::WriteAllowance;

/// The most requests that are one change.
const RUN_MAX: usize = 32;

/// The writes of one connection in the batch.
#[derive(Clone, Copy)]
pub(super) struct ConnectionWrites {
    pub(super) slot: usize,
    /// The number of requests of its queue in the batch.
    pub(super) count: usize,
    /// The number of requests that were done.
    pub(super) done: usize,
    /// The start of their replies.
    pub(super) start: usize,
    /// The number of requests that cannot be undone (`kept`), and the end of their replies
    /// (`kept_end`).
    pub(super) kept: usize,
    pub(super) kept_end: usize,
    /// The requests before this one run by themselves, because one of them has failed.
    pub(super) alone_until: usize,
}

impl ConnectionWrites {
    pub(super) fn new(slot: usize, count: usize, output: &ReplyBuffer) -> Self {
        let start = output.buffer.len();
        Self { slot, count, done: 0, start, kept: 0, kept_end: start, alone_until: 0 }
    }

    /// Does the next write. Returns `false` if no write is left or the reply buffer is full. Adds a
    /// refused write to the errors.
    fn write(
        &mut self,
        connection: &Connection,
        output: &mut ReplyBuffer,
        writer: &mut EngineWriter,
        batch: &mut BatchProgress<'_>,
    ) -> bool {
        let may_go_on = self.done < self.count && (self.done == 0 || output.pending() <= batch.output_max);
        let Some((tag, write)) = handler(connection, self.done).filter(|_| may_go_on) else { return false };
        let mut reply = Reply::new(&mut output.buffer, connection.client.protocol);
        if let BatchedWrite::Run(run) = write
            && let Some(done) = self.write_run(run, connection, &mut reply, writer, batch)
        {
            self.done += done;
            return true;
        }
        let names = connection.input.args(self.done);
        let start = reply.position();
        let BatchProgress { errors, room, changes, stored, stable, .. } = batch;
        if room.admits(tag, &names) {
            let done = stored_keys(stored, connection, tag, &names, *stable).and_then(|args| {
                let watch =
                    if changes.is_on() { begin(changes, writer, connection, tag, &args) } else { None };
                let done = write.run(writer, &args, &mut reply);
                if watch.is_some() {
                    changes.end(watch, writer, done.is_ok());
                }
                done
            });
            if let Err(fault) = done {
                reply.truncate(start);
                fault.write(&mut reply);
                errors.all.push((CommandKind::plain(tag), fault));
            }
        } else {
            OUT_OF_MEMORY.write(&mut reply);
            errors.refused.push((self.slot, self.done, CommandKind::plain(tag)));
        }
        self.done += 1;
        true
    }

    /// Does the next requests that have one command and one key as one change. Returns their number;
    /// `None` if nothing was done, and the next request must run by itself.
    fn write_run(
        &mut self,
        write: RunHandler,
        connection: &Connection,
        reply: &mut Reply,
        writer: &mut EngineWriter,
        batch: &mut BatchProgress<'_>,
    ) -> Option<usize> {
        let BatchProgress { room, changes, stored, stable, .. } = batch;
        if self.done < self.alone_until || changes.is_on() || !room.is_all() {
            return None;
        }
        let tag = connection.input.tag(self.done)?;
        let first = connection.input.args(self.done);
        let (mut requests, mut len) = ([first; RUN_MAX], 1);
        let most = RUN_MAX.min(self.count - self.done);
        while len < most && connection.input.tag(self.done + len) == Some(tag) {
            requests[len] = connection.input.args(self.done + len);
            if requests[len].get(1) != first.get(1) {
                break;
            }
            len += 1;
        }
        if len == 1 {
            return None;
        }
        let start = reply.position();
        let done = stored_keys(stored, connection, tag, &first, *stable).and_then(|stored| {
            let run = RequestRun { key: stored.get(1), requests: &requests[..len] };
            write(writer, &run, reply)
        });
        if done.is_err() {
            reply.truncate(start);
            self.alone_until = self.done + len;
        }
        done.ok()
    }

    pub(super) fn keep(&mut self, output: &ReplyBuffer) {
        (self.kept, self.kept_end) = (self.done, output.buffer.len());
    }

    /// Removes the replies of requests that were undone.
    pub(super) fn undo(&mut self, output: &mut ReplyBuffer) {
        self.done = self.kept;
        output.buffer.truncate(self.kept_end);
    }
}

/// The state that the writes of a batch share.
pub(super) struct BatchProgress<'b> {
    pub(super) output_max: usize,
    pub(super) errors: &'b mut BatchErrors,
    pub(super) room: WriteAllowance,
    /// Their changes, if clients observe keys.
    pub(super) changes: KeyChanges,
    pub(super) stored: StoredRequest,
    pub(super) stable: StableDatabases<'b>,
}

/// Returns a write with the keys that the store has for its names.
#[inline]
fn stored_keys<'s>(
    stored: &'s mut StoredRequest,
    connection: &Connection,
    tag: u16,
    names: &Args<'s>,
    stable: StableDatabases<'s>,
) -> Result<Args<'s>, CommandError> {
    if connection.client.keyspace().is_default() {
        return Ok(*names);
    }
    let Some(command) = ResolvedTag::of(tag).command() else { return Ok(*names) };
    stored.of(&connection.client, command, names, stable)
}

/// Looks at the keys of a write.
#[cold]
fn begin<'a>(
    changes: &mut KeyChanges,
    writer: &mut EngineWriter,
    connection: &Connection,
    tag: u16,
    args: &Args<'a>,
) -> Option<CommandWatch<'a>> {
    let command = ResolvedTag::of(tag).command()?;
    changes.set_client(connection.client.id);
    changes.begin(writer, command, args)
}

/// The errors of the batch, to be counted.
#[derive(Default)]
pub(super) struct BatchErrors {
    pub(super) all: Vec<(CommandKind, CommandError)>,
    /// The number of errors of requests that cannot be undone.
    pub(super) kept: usize,
    /// Requests that did not run because memory was short, by slot and position in its queue. (An
    /// engine that undoes writes refuses none.)
    pub(super) refused: Vec<(usize, usize, CommandKind)>,
}

impl BatchErrors {
    pub(super) fn keep(&mut self) {
        self.kept = self.all.len();
    }

    /// Removes the errors of requests that were undone.
    pub(super) fn undo(&mut self) {
        self.all.truncate(self.kept);
        self.refused.clear();
    }

    /// Returns whether a request was refused, so that it did not run.
    pub(super) fn refused(&self, slot: usize, at: usize) -> bool {
        self.refused.iter().any(|refused| (refused.0, refused.1) == (slot, at))
    }

    pub(super) fn count(&mut self, timer: &RequestTimer<'_>) {
        for (kind, fault) in self.all.drain(..) {
            timer.failed(kind, fault.bytes());
        }
        for (_, _, kind) in self.refused.drain(..) {
            timer.error(Some(kind), OUT_OF_MEMORY.bytes(), false);
        }
        self.kept = 0;
    }
}

/// Returns the tag of a queued request, and how it writes; `None` if it is no write of a batch.
#[inline]
pub(super) fn handler(connection: &Connection, index: usize) -> Option<(u16, BatchedWrite)> {
    let (tag, batched) = connection.batched(index)?;
    if let Batched::Write(write) = batched { Some((tag, write)) } else { None }
}

/// Does the writes of all connections, in order. Errors if writes that are not kept were not done.
pub(super) fn write_all(
    parts: &mut [ConnectionWrites],
    connections: &[Option<Box<Connection>>],
    outputs: &mut [ReplyBuffer],
    writer: &mut EngineWriter,
    batch: &mut BatchProgress<'_>,
) -> Result<(), Error> {
    for at in 0..parts.len() {
        let Some(connection) = connections[parts[at].slot].as_deref() else { continue };
        loop {
            writer.publish_if_many()?;
            if writer.published() {
                keep(&mut parts[..=at], outputs, batch);
            }
            let part = &mut parts[at];
            if !part.write(connection, &mut outputs[part.slot], writer, batch) {
                break;
            }
            if writer.published() {
                // A part of this request cannot be undone, so the rest of it must be done too.
                writer.publish()?;
                keep(&mut parts[..=at], outputs, batch);
            }
            if writer.is_broken() {
                return writer.publish();
            }
        }
    }
    Ok(())
}

fn keep(parts: &mut [ConnectionWrites], outputs: &[ReplyBuffer], batch: &mut BatchProgress<'_>) {
    batch.errors.keep();
    batch.changes.keep();
    for part in parts {
        part.keep(&outputs[part.slot]);
    }
}
