//! Batches of single-key writes: the writes at the front of all pipelines run within one entry to
//! the epoch and with one append to the log.
//!
//! First the keys are looked up as a batch whose memory reads overlap. So the writes find the nodes
//! of the index in the cache.
//!
//! At durability `sync`, the replies wait until the epoch of the writes is durable. If the store
//! cannot promise that any more, each reply is replaced by an error.
//!
//! On disk, a batch is published as a whole, or in parts if it is large. If a write fails during
//! its execution (at a damaged page, for example), all unpublished writes are undone. They are then
//! repeated one by one, so that only the failing write reports the error.

use crate::commands::command_error::OUT_OF_MEMORY;
use crate::commands::monitor::feed;
use crate::commands::{CommandError, Handler, ResolvedTag, WriteHandler, handler_of, is_short};
use crate::key_events::{CommandWatch, KeyChanges};
use crate::monitors::RequestSource;
use crate::observe::command_kinds::CommandKind;
use crate::resp::{ReplyWriter, RequestArgs};
use crate::shared::ServerShared;
use crate::stored_request::StoredRequest;
use skein_data::{EngineKeys, EngineSession, EngineWriter, Error, Ticket};

use super::connection::Connection;
use super::connection_slots::ConnectionSlots;
use super::migrations::must_leave_batch;
use super::pipelined_reads::BATCH;
use super::prefixed_keys::PrefixedKeys;
use super::reply_buffer::ReplyBuffer;
use super::request_timer::{KindTally, RequestTimer, share};
use super::write_allowance::{WriteAllowance, bytes_added, may_grow_memory};

/// Smaller batches of writes are not worth a batch of lookups before them.
const WARM_MIN: usize = 2;

/// One batch may add at most this fraction of the memory limit. The remaining writes wait for the
/// next batch.
const PART_OF_LIMIT: usize = 16;

/// The writes of one connection in the batch.
#[derive(Clone, Copy)]
struct ConnectionWrites {
    slot: usize,
    /// The number of requests of its queue in the batch.
    count: usize,
    /// The number of requests that were done.
    done: usize,
    /// The start of their replies.
    start: usize,
    /// The number of requests that cannot be undone (`kept`), and the end of their replies
    /// (`kept_end`).
    kept: usize,
    kept_end: usize,
}

impl ConnectionWrites {
    fn new(slot: usize, count: usize, output: &ReplyBuffer) -> Self {
        let start = output.buffer.len();
        Self { slot, count, done: 0, start, kept: 0, kept_end: start }
    }

    /// Does the next write. Returns `false` if there is none or the reply buffer is full. Adds a
    /// refused write to the errors.
    fn write(
        &mut self,
        connection: &Connection,
        output: &mut ReplyBuffer,
        writer: &mut EngineWriter<'_, '_>,
        batch: &mut BatchProgress<'_>,
    ) -> bool {
        let may_go_on = self.done < self.count && (self.done == 0 || output.pending() <= batch.output_max);
        let Some((tag, write)) = handler(connection, self.done).filter(|_| may_go_on) else { return false };
        let names = connection.input.args(self.done);
        let mut reply = ReplyWriter::new(&mut output.buffer, connection.client.protocol);
        let start = reply.position();
        let BatchProgress { errors, room, changes, stored, .. } = batch;
        if room.admits(tag, &names) {
            let done = stored_keys(stored, connection, tag, &names).and_then(|args| {
                let watch =
                    if changes.is_on() { begin(changes, writer, connection, tag, &args) } else { None };
                let done = write(writer, &args, &mut reply);
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

    fn keep(&mut self, output: &ReplyBuffer) {
        (self.kept, self.kept_end) = (self.done, output.buffer.len());
    }

    /// Removes the replies of requests that were undone.
    fn undo(&mut self, output: &mut ReplyBuffer) {
        self.done = self.kept;
        output.buffer.truncate(self.kept_end);
    }
}

/// What the writes of a batch share.
struct BatchProgress<'b> {
    output_max: usize,
    errors: &'b mut BatchErrors,
    room: WriteAllowance,
    /// What they have changed, if somebody wants to know.
    changes: KeyChanges,
    stored: StoredRequest,
}

/// Returns a write with the keys that the store has for its names.
#[inline]
fn stored_keys<'s>(
    stored: &'s mut StoredRequest,
    connection: &Connection,
    tag: u16,
    names: &RequestArgs<'s>,
) -> Result<RequestArgs<'s>, CommandError> {
    if connection.client.keyspace().is_default() {
        return Ok(*names);
    }
    match ResolvedTag::of(tag) {
        ResolvedTag::Command(command) => stored.of(&connection.client, command, names),
        _ => Ok(*names),
    }
}

/// Looks at the keys of a write.
#[cold]
fn begin<'a>(
    changes: &mut KeyChanges,
    writer: &mut EngineWriter<'_, '_>,
    connection: &Connection,
    tag: u16,
    args: &RequestArgs<'a>,
) -> Option<CommandWatch<'a>> {
    let ResolvedTag::Command(command) = ResolvedTag::of(tag) else { return None };
    changes.set_client(connection.client.id);
    changes.begin(writer, command, args)
}

/// The errors of the batch, to be counted.
#[derive(Default)]
struct BatchErrors {
    all: Vec<(CommandKind, CommandError)>,
    /// The number of errors of requests that cannot be undone.
    kept: usize,
    /// Requests that did not run because memory was short, by slot and position in its queue. (An
    /// engine that undoes writes refuses none.)
    refused: Vec<(usize, usize, CommandKind)>,
}

impl BatchErrors {
    fn keep(&mut self) {
        self.kept = self.all.len();
    }

    /// Removes the errors of requests that were undone.
    fn undo(&mut self) {
        self.all.truncate(self.kept);
        self.refused.clear();
    }

    /// Returns whether a request was refused, so that it did not run.
    fn refused(&self, slot: usize, at: usize) -> bool {
        self.refused.iter().any(|refused| (refused.0, refused.1) == (slot, at))
    }

    fn count(&mut self, timer: &RequestTimer<'_>) {
        for (kind, fault) in self.all.drain(..) {
            timer.failed(kind, fault.bytes());
        }
        for (_, _, kind) in self.refused.drain(..) {
            timer.error(Some(kind), OUT_OF_MEMORY.bytes(), false);
        }
        self.kept = 0;
    }
}

/// The batch. The worker reuses its memory from turn to turn.
#[derive(Default)]
pub(super) struct PipelinedWrites {
    prefixed: PrefixedKeys,
    runs: Vec<ConnectionWrites>,
    /// The number of writes that must be done one by one, because a batch with them failed.
    alone: usize,
    errors: BatchErrors,
}

#[inline]
fn handler(connection: &Connection, index: usize) -> Option<(u16, WriteHandler)> {
    let tag = connection.input.tag(index)?;
    match handler_of(tag)? {
        Handler::Write(write) => Some((tag, write)),
        Handler::WriteOrSlices(write, _) if is_short(&connection.input.args(index)) => Some((tag, write)),
        _ => None,
    }
}

/// Returns whether this request is a write that the client is allowed to do.
#[inline]
fn may_write(connection: &Connection, index: usize, shared: &ServerShared) -> bool {
    let may = |tag| connection.client.may(tag, || connection.input.args(index));
    handler(connection, index).is_some()
        && connection
            .input
            .tag(index)
            .is_some_and(|tag| may(tag) && !must_be_alone(connection, tag, index, shared))
}

/// Returns whether a write makes a key that a client waits for, or writes a key that moves.
#[inline]
fn must_be_alone(connection: &Connection, tag: u16, index: usize, shared: &ServerShared) -> bool {
    (shared.waiting.count() > 0 || shared.migrations.moving.any())
        && matches!(ResolvedTag::of(tag), ResolvedTag::Command(command)
            if must_leave_batch(shared, &connection.client, command, &connection.input.args(index)))
}

impl PipelinedWrites {
    /// Runs one batch of the writes at the front of the queues of `active`. Returns the number of
    /// writes, and the ticket that their replies wait for.
    pub(super) fn run(
        &mut self,
        slots: &mut ConnectionSlots,
        active: &[usize],
        session: &mut EngineSession,
        shared: &ServerShared,
        timer: &mut RequestTimer<'_>,
    ) -> (usize, Ticket) {
        let output_max = shared.settings.output_bytes_max.get();
        let ConnectionSlots { connections, outputs, .. } = &mut *slots;
        let mut keys: [&[u8]; BATCH] = [&[]; BATCH];
        let mut prefixed = std::mem::take(&mut self.prefixed);
        prefixed.clear();
        let mut total = self.plan(connections, outputs, active, shared, &mut keys, &mut prefixed);
        prefixed.put_into(&mut keys);
        if total == 0 {
            return (0, Ticket::default());
        }
        let observer = &shared.key_observer;
        let (mut changes, order) = observer.begin(0);
        session.report_evictions(changes.is_on());
        let asked = match session.memory_limit() {
            Some(limit) => {
                let bytes = self.cut(connections, limit / PART_OF_LIMIT);
                total = self.runs.iter().map(|run| run.count).sum();
                make_room(bytes, session, shared)
            }
            None => Ok(WriteAllowance::ALL),
        };
        changes.evicted(session);
        let room = match asked {
            Ok(room) => room,
            Err(error) => {
                changes.publish_in_order(&mut EngineKeys::Session(session), observer);
                let taken = self.refuse(slots, &error.into(), timer.lap_of_batch(), shared, timer);
                self.errors.count(timer);
                return (taken, Ticket::default());
            }
        };
        let Self { runs, errors, .. } = self;
        let stored = StoredRequest::default();
        let mut batch = BatchProgress { output_max, errors, room, changes, stored };
        let (written, ticket) = session.write(|writer| {
            if total >= WARM_MIN {
                writer.prefetch(&keys[..total]);
            }
            write_runs(runs, connections, outputs, writer, &mut batch)
        });
        let mut changes = batch.changes;
        self.prefixed = prefixed;
        let nanos = timer.lap_of_batch();
        let undone: usize = runs.iter().map(|run| run.done - run.kept).sum();
        let written = written.and_then(|runs| runs);
        if written.is_err() && session.can_roll_back() {
            changes.undo();
        }
        let taken = match written {
            Ok(()) => self.take(slots, nanos, shared, timer),
            Err(_) if session.can_roll_back() && undone > 1 => {
                self.alone = undone;
                self.errors.undo();
                self.runs.iter_mut().for_each(|run| run.undo(&mut slots.outputs[run.slot]));
                self.take(slots, nanos, shared, timer)
            }
            Err(error) => self.refuse(slots, &error.into(), nanos, shared, timer),
        };
        self.errors.count(timer);
        changes.publish_in_order(&mut EngineKeys::Session(session), observer);
        drop(order);
        if let Some(epoch) = shared.epoch_to_wait_for(ticket) {
            self.runs.iter().for_each(|run| slots.outputs[run.slot].hold(run.start, epoch));
        }
        (taken, ticket)
    }

    /// Collects the writes and their keys. Returns their number.
    fn plan<'c>(
        &mut self,
        connections: &'c [Option<Box<Connection>>],
        outputs: &[ReplyBuffer],
        active: &[usize],
        shared: &ServerShared,
        keys: &mut [&'c [u8]; BATCH],
        prefixed: &mut PrefixedKeys,
    ) -> usize {
        let output_max = shared.settings.output_bytes_max.get();
        self.runs.clear();
        let most = if self.alone > 0 { 1 } else { BATCH };
        self.alone = self.alone.saturating_sub(1);
        let mut total = 0;
        for &slot in active {
            let Some(connection) = connections[slot].as_deref() else { continue };
            if !connection.may_batch() || outputs[slot].pending() > output_max {
                continue;
            }
            let (before, keyspace) = (total, connection.client.keyspace());
            while total < most && may_write(connection, total - before, shared) {
                let name = connection.input.args(total - before).get(1);
                keys[total] = name;
                prefixed.add(total, keyspace, name);
                total += 1;
            }
            if total > before {
                self.runs.push(ConnectionWrites::new(slot, total - before, &outputs[slot]));
            }
        }
        total
    }

    /// Leaves the writes after `most` added bytes to the next batch, so that no batch evicts many
    /// keys at once. Returns the bytes that this batch adds.
    fn cut(&mut self, connections: &[Option<Box<Connection>>], most: usize) -> usize {
        let (mut bytes, mut runs) = (0, 0);
        for run in &mut self.runs {
            let Some(connection) = connections[run.slot].as_deref() else { break };
            let mut count = 0;
            while count < run.count && (bytes < most || bytes == 0) {
                bytes += bytes_added_by(connection, count);
                count += 1;
            }
            run.count = count;
            if count == 0 {
                break;
            }
            runs += 1;
        }
        self.runs.truncate(runs);
        bytes
    }

    /// Removes the finished requests from the queues.
    fn take(
        &self,
        slots: &mut ConnectionSlots,
        nanos: u64,
        shared: &ServerShared,
        timer: &RequestTimer<'_>,
    ) -> usize {
        let total = self.runs.iter().map(|run| run.done).sum();
        let nanos_each = share(nanos, total);
        let (slow, monitored) = (timer.is_slow(nanos_each), shared.monitors.any());
        let mut tally = KindTally::new(nanos_each);
        for run in &self.runs {
            let Some((connection, _)) = slots.get(run.slot) else { continue };
            for at in 0..run.done {
                let Some(kind) = connection.input.tag(at).map(CommandKind::plain) else { continue };
                if self.errors.refused(run.slot, at) {
                    continue;
                }
                tally.add(kind, timer);
                if slow | monitored {
                    let (args, record) = (connection.input.args(at), &connection.client.record);
                    if slow {
                        timer.slow(kind, nanos_each, &args, record);
                    }
                    feed(shared, kind.command(), RequestSource::Client(record), &args);
                }
            }
            connection.take(run.done, timer.began());
        }
        tally.end(timer);
        total
    }

    /// Handles a store that cannot keep its promise: replaces every reply that is not kept by an
    /// error.
    fn refuse(
        &mut self,
        slots: &mut ConnectionSlots,
        fault: &CommandError,
        nanos: u64,
        shared: &ServerShared,
        timer: &RequestTimer<'_>,
    ) -> usize {
        // If the store refused immediately, nothing ran, and every connection has at least one
        // request.
        self.errors.undo();
        let nothing_ran = self.runs.iter().all(|run| run.done == 0);
        for run in &mut self.runs {
            let Some((connection, output)) = slots.get(run.slot) else { continue };
            let count = if nothing_ran { 1 } else { run.done - run.kept };
            run.undo(output);
            let mut reply = ReplyWriter::new(&mut output.buffer, connection.client.protocol);
            for at in run.done..run.done + count {
                fault.write(&mut reply);
                let kind = connection.input.tag(at).map(CommandKind::plain);
                self.errors.all.extend(kind.map(|kind| (kind, fault.clone())));
            }
            run.done += count;
        }
        self.take(slots, nanos, shared, timer)
    }
}

/// Returns about how many bytes a queued write may add.
fn bytes_added_by(connection: &Connection, at: usize) -> usize {
    match connection.input.tag(at).map(ResolvedTag::of) {
        Some(ResolvedTag::Command(command)) if may_grow_memory(command) => {
            bytes_added(&connection.input.args(at))
        }
        _ => 0,
    }
}

/// Makes room for writes that may add `bytes`. The evictions are in the log before the writes are.
fn make_room(
    bytes: usize,
    session: &mut EngineSession,
    shared: &ServerShared,
) -> Result<WriteAllowance, Error> {
    if bytes == 0 {
        Ok(WriteAllowance::ALL)
    } else {
        Ok(WriteAllowance::make_room(session, shared, bytes)?.0)
    }
}

/// Does the writes of all connections, in order. Errors if writes that are not kept were not done.
fn write_runs(
    runs: &mut [ConnectionWrites],
    connections: &[Option<Box<Connection>>],
    outputs: &mut [ReplyBuffer],
    writer: &mut EngineWriter<'_, '_>,
    batch: &mut BatchProgress<'_>,
) -> Result<(), Error> {
    for at in 0..runs.len() {
        let Some(connection) = connections[runs[at].slot].as_deref() else { continue };
        loop {
            writer.publish_if_many()?;
            if writer.published() {
                keep(&mut runs[..=at], outputs, batch);
            }
            let run = &mut runs[at];
            if !run.write(connection, &mut outputs[run.slot], writer, batch) {
                break;
            }
            if writer.published() {
                // A part of this request cannot be undone, so the rest of it must be done too.
                writer.publish()?;
                keep(&mut runs[..=at], outputs, batch);
            }
            if writer.is_broken() {
                return writer.publish();
            }
        }
    }
    Ok(())
}

fn keep(runs: &mut [ConnectionWrites], outputs: &[ReplyBuffer], batch: &mut BatchProgress<'_>) {
    batch.errors.keep();
    batch.changes.keep();
    for run in runs {
        run.keep(&outputs[run.slot]);
    }
}
