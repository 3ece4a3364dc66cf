//! Batches of single-key writes: the writes at the front of all pipelines run within one entry to
//! the epoch and with one append to the log.
//!
//! First the keys are looked up as a batch with overlapping memory reads. So the writes find the
//! nodes of the index in the cache.
//!
//! At durability `sync`, the replies wait until the epoch of the writes is durable. If the store
//! cannot promise that any more, each reply is replaced by an error.
//!
//! On disk, a batch is published as a whole, or in parts if it is large. If a write fails during
//! its execution (at a damaged page, for example), all unpublished writes are undone. They are then
//! repeated one by one, so that only the failing write reports the error.

use crate::command_table::Flag;
use crate::commands::{Batched, Command, CommandError, ResolvedTag};
use crate::observe::command_kinds::CommandKind;
use crate::resp::Reply;
use crate::shared::ServerShared;
use crate::shared::exclusion_gate::StableDatabases;
use crate::shared::stored_request::StoredRequest;
use skein_data::{EngineSession, Error, Ticket};

use super::batch_account::BatchAccount;
use super::batched_writes::{BatchErrors, BatchProgress, ConnectionWrites, handler, write_all};
use super::connection::Connection;
use super::connection_slots::ConnectionSlots;
use super::migrations::must_leave_batch;
use super::pipelined_reads::BATCH;
use super::prefixed_keys::PrefixedKeys;
use super::reply_buffer::ReplyBuffer;
use super::request_timer::{RequestTimer, share};
use super::write_allowance::{WriteAllowance, bytes_added, may_grow_memory, note_evicted, report_evictions};

/// Smaller batches of writes are not worth a batch of lookups before them.
const WARM_MIN: usize = 2;

/// One batch may add at most this fraction of the memory limit. The remaining writes wait for the
/// next batch.
const PART_OF_LIMIT: usize = 16;

/// The batch. The worker reuses its memory from turn to turn.
#[derive(Default)]
pub(super) struct PipelinedWrites {
    prefixed: PrefixedKeys,
    parts: Vec<ConnectionWrites>,
    /// The number of writes that must be done one by one, because a batch with them failed.
    alone: usize,
    /// Whether the batch has a command that may add more than its arguments, and memory has a
    /// limit.
    may_outgrow: bool,
    errors: BatchErrors,
}

/// Returns whether this request is a write that the client is allowed to do.
#[inline]
fn may_write(
    connection: &Connection,
    index: usize,
    shared: &ServerShared,
    stable: StableDatabases<'_>,
) -> bool {
    handler(connection, index).is_some_and(|(tag, _)| {
        connection.client.may(tag, || connection.input.args(index))
            && !must_be_alone(connection, tag, index, shared, stable)
    })
}

/// Returns whether a batch of reads or of writes runs the request at a position of the queue.
#[inline]
pub(super) fn is_batched(
    connection: &Connection,
    at: usize,
    shared: &ServerShared,
    stable: StableDatabases<'_>,
) -> bool {
    connection.batched(at).is_some_and(|(tag, batched)| {
        !(matches!(batched, Batched::Write(_)) && must_be_alone(connection, tag, at, shared, stable))
            && connection.client.may(tag, || connection.input.args(at))
    })
}

/// Returns whether a write makes a key that a client waits for, or writes a key that moves.
#[inline]
fn must_be_alone(
    connection: &Connection,
    tag: u16,
    index: usize,
    shared: &ServerShared,
    stable: StableDatabases<'_>,
) -> bool {
    (shared.notices.waiting.count() > 0 || shared.data.migrations.moving.any())
        && ResolvedTag::of(tag).command().is_some_and(|command| {
            must_leave_batch(shared, &connection.client, command, &connection.input.args(index), stable)
        })
}

impl PipelinedWrites {
    /// Returns whether the batch may have added more than the room that was made for it.
    pub(super) fn may_exceed_limit(&self) -> bool {
        self.may_outgrow
    }

    /// Runs one batch of the writes at the front of the queues of `active`. Returns the number of
    /// writes, and the ticket that their replies wait for.
    pub(super) fn run(
        &mut self,
        slots: &mut ConnectionSlots,
        active: &[usize],
        session: &mut EngineSession,
        (shared, stable): (&ServerShared, StableDatabases<'_>),
        timer: &mut RequestTimer<'_>,
    ) -> (usize, Ticket) {
        let output_max = shared.settings.output_bytes_max.get();
        let ConnectionSlots { connections, outputs, .. } = &mut *slots;
        let mut keys: [&[u8]; BATCH] = [&[]; BATCH];
        let mut prefixed = std::mem::take(&mut self.prefixed);
        prefixed.clear();
        let (mut total, looked_up) =
            self.plan(connections, outputs, active, (shared, stable), &mut keys, &mut prefixed);
        prefixed.put_into(&mut keys);
        if total == 0 {
            return (0, Ticket::default());
        }
        let observer = &shared.notices.key_observer;
        let (mut changes, order) = observer.begin(0);
        report_evictions(session, observer, &changes);
        self.may_outgrow = false;
        let asked = match session.memory_limit() {
            Some(limit) => {
                let bytes = self.cut(connections, limit / PART_OF_LIMIT);
                total = self.parts.iter().map(|run| run.count).sum();
                make_room(bytes, session, shared)
            }
            None => Ok(WriteAllowance::ALL),
        };
        note_evicted(session, observer, &mut changes);
        let room = match asked {
            Ok(room) => room,
            Err(error) => {
                changes.publish_in_order(&mut session.keys(), observer);
                let taken = self.refuse(slots, &error.into(), timer.lap_of_batch(), shared, timer);
                self.errors.count(timer);
                return (taken, Ticket::default());
            }
        };
        let Self { parts, errors, .. } = self;
        let stored = StoredRequest::default();
        let mut batch = BatchProgress { output_max, errors, room, changes, stored, stable };
        let (written, ticket) = session.keys().write(|writer| {
            let looked_up = looked_up.min(total);
            if looked_up >= WARM_MIN {
                writer.prefetch(&keys[..looked_up]);
            }
            write_all(parts, connections, outputs, writer, &mut batch)
        });
        let mut changes = batch.changes;
        self.prefixed = prefixed;
        let nanos = timer.lap_of_batch();
        let undone: usize = parts.iter().map(|run| run.done - run.kept).sum();
        let written = written.and_then(|written| written);
        if written.is_err() && session.can_roll_back() {
            changes.undo();
        }
        let taken = match written {
            Ok(()) => self.take(slots, nanos, shared, timer),
            Err(_) if session.can_roll_back() && undone > 1 => {
                self.alone = undone;
                self.errors.undo();
                self.parts.iter_mut().for_each(|run| run.undo(&mut slots.outputs[run.slot]));
                self.take(slots, nanos, shared, timer)
            }
            Err(error) => self.refuse(slots, &error.into(), nanos, shared, timer),
        };
        self.errors.count(timer);
        changes.publish_in_order(&mut session.keys(), observer);
        drop(order);
        if let Some(epoch) = shared.data.epoch_to_wait_for(ticket) {
            self.parts.iter().for_each(|run| slots.outputs[run.slot].hold(run.start, epoch));
        }
        (taken, ticket)
    }

    /// Collects the writes, and their keys. Of equal keys in a row, it collects one. Returns the numbers
    /// of both.
    fn plan<'c>(
        &mut self,
        connections: &'c [Option<Box<Connection>>],
        outputs: &[ReplyBuffer],
        active: &[usize],
        (shared, stable): (&ServerShared, StableDatabases<'_>),
        keys: &mut [&'c [u8]; BATCH],
        prefixed: &mut PrefixedKeys,
    ) -> (usize, usize) {
        let output_max = shared.settings.output_bytes_max.get();
        self.parts.clear();
        let most = if self.alone > 0 { 1 } else { BATCH };
        self.alone = self.alone.saturating_sub(1);
        let (mut total, mut looked_up) = (0, 0);
        for &slot in active {
            let Some(connection) = connections[slot].as_deref() else { continue };
            if !connection.may_batch() || outputs[slot].pending() > output_max {
                continue;
            }
            let (before, keyspace) = (total, connection.client.keyspace());
            let mut last = None;
            while total < most && may_write(connection, total - before, shared, stable) {
                let name = connection.input.args(total - before).get(1);
                if last.replace(name) != Some(name) {
                    keys[looked_up] = name;
                    prefixed.add(looked_up, keyspace, name);
                    looked_up += 1;
                }
                total += 1;
            }
            if total > before {
                self.parts.push(ConnectionWrites::new(slot, total - before, &outputs[slot]));
            }
        }
        (total, looked_up)
    }

    /// Leaves the writes after `most` added bytes to the next batch, so that no batch evicts many
    /// keys at once. Returns the bytes that this batch adds.
    fn cut(&mut self, connections: &[Option<Box<Connection>>], most: usize) -> usize {
        let (mut bytes, mut parts) = (0, 0);
        for run in &mut self.parts {
            let Some(connection) = connections[run.slot].as_deref() else { break };
            let mut count = 0;
            while count < run.count && (bytes < most || bytes == 0) {
                if let Some(command) = growing(connection, count) {
                    bytes += bytes_added(&connection.input.args(count));
                    self.may_outgrow |= command.has(Flag::OutgrowsArguments);
                }
                count += 1;
            }
            run.count = count;
            if count == 0 {
                break;
            }
            parts += 1;
        }
        self.parts.truncate(parts);
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
        let total = self.parts.iter().map(|run| run.done).sum();
        let nanos_each = share(nanos, total);
        let monitors = Some(&shared.notices.monitors).filter(|monitors| monitors.any());
        let mut account = BatchAccount::new(nanos_each, monitors, timer);
        for run in &self.parts {
            let Some((connection, _)) = slots.get(run.slot) else { continue };
            for at in 0..run.done {
                let Some(kind) = connection.input.tag(at).map(CommandKind::plain) else { continue };
                if !self.errors.refused(run.slot, at) {
                    account.add(kind, connection, at);
                }
            }
            connection.take(run.done, timer.began());
        }
        account.end();
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
        let nothing_ran = self.parts.iter().all(|run| run.done == 0);
        for run in &mut self.parts {
            let Some((connection, output)) = slots.get(run.slot) else { continue };
            let count = if nothing_ran { 1 } else { run.done - run.kept };
            run.undo(output);
            let mut reply = Reply::new(&mut output.buffer, connection.client.protocol);
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

/// Returns the command of a queued write if it may make memory grow.
fn growing(connection: &Connection, at: usize) -> Option<&'static Command> {
    ResolvedTag::of(connection.input.tag(at)?).command().filter(|command| may_grow_memory(command))
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
