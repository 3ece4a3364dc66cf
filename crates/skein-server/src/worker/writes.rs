//! Consecutive writes, of one pipeline and of all connections that are ready, within one entry to the epoch and
//! with one append to the log.
//!
//! Before them, the keys are looked up as a batch whose memory reads overlap, so that the writes find their way
//! through the index in the cache.
//!
//! At durability `sync` the replies are held back until the epoch of the writes is durable. If the store
//! cannot promise that any more, none of them is sent: an error takes the place of each.
//!
//! On disk a batch is published whole, in parts if it is large. A write that fails on its way (a damaged page, say) takes what was not published with it; that is
//! not done then, and is done again one by one, so that only the one that fails is told so.

use crate::commands::{Fault, Handler, Resolved, WriteHandler};
use crate::engine::{Error, Session, Ticket, Writer};
use crate::resp::Reply;
use crate::shared::Shared;

use super::connection::Connection;
use super::output::Output;
use super::reads::BATCH;
use super::slots::Slots;

/// Fewer writes than this are not worth a batch of lookups before them.
const WARM_MIN: usize = 2;

/// The writes of one connection in the batch.
#[derive(Clone, Copy)]
struct Run {
    slot: usize,
    /// How many of its queue.
    count: usize,
    /// How many were done.
    done: usize,
    /// Where their replies begin.
    start: usize,
    /// How many of them cannot be undone, and where their replies end.
    kept: usize,
    kept_end: usize,
}

impl Run {
    fn new(slot: usize, count: usize, output: &Output) -> Self {
        let start = output.buffer.len();
        Self { slot, count, done: 0, start, kept: 0, kept_end: start }
    }

    /// Does the next write; false if there is none, or the output is full.
    fn write(
        &mut self,
        connection: &Connection,
        output: &mut Output,
        writer: &mut Writer<'_, '_>,
        output_max: usize,
    ) -> bool {
        let may_go_on = self.done < self.count && (self.done == 0 || output.pending() <= output_max);
        let Some(write) = handler(connection, self.done).filter(|_| may_go_on) else { return false };
        let args = connection.input.args(self.done);
        let mut reply = Reply::new(&mut output.buffer, connection.client.protocol);
        let start = reply.position();
        if let Err(fault) = write(writer, &args, &mut reply) {
            reply.truncate(start);
            fault.write(&mut reply);
        }
        self.done += 1;
        true
    }

    fn keep(&mut self, output: &Output) {
        (self.kept, self.kept_end) = (self.done, output.buffer.len());
    }

    /// Takes back what was not kept.
    fn undo(&mut self, output: &mut Output) {
        self.done = self.kept;
        output.buffer.truncate(self.kept_end);
    }
}

/// The batch, kept from turn to turn for its memory.
#[derive(Default)]
pub(super) struct Writes {
    runs: Vec<Run>,
    /// So many writes are done one by one, because a batch with them failed.
    alone: usize,
}

#[inline]
fn handler(connection: &Connection, index: usize) -> Option<WriteHandler> {
    match Resolved::of(connection.input.tag(index)?) {
        Resolved::Command(command) => match command.handler {
            Handler::Write(write) => Some(write),
            _ => None,
        },
        _ => None,
    }
}

impl Writes {
    /// Runs one batch of the writes that stand first in the queues of `active`; how many were done, and until
    /// when their replies are held back.
    pub(super) fn run(
        &mut self,
        slots: &mut Slots,
        active: &[usize],
        session: &mut Session,
        shared: &Shared,
    ) -> (usize, Ticket) {
        let output_max = shared.options.output_bytes_max;
        let Slots { connections, outputs, .. } = &mut *slots;
        let mut keys: [&[u8]; BATCH] = [&[]; BATCH];
        let total = self.plan(connections, outputs, active, output_max, &mut keys);
        if total == 0 {
            return (0, Ticket::default());
        }
        let runs = &mut self.runs;
        let (written, ticket) = session.write(|writer| {
            if total >= WARM_MIN {
                writer.prefetch(&keys[..total]);
            }
            write_runs(runs, connections, outputs, writer, output_max)
        });
        let undone: usize = runs.iter().map(|run| run.done - run.kept).sum();
        let taken = match written.flatten() {
            Ok(()) => self.take(slots),
            Err(_) if session.undoes() && undone > 1 => {
                self.alone = undone;
                self.runs.iter_mut().for_each(|run| run.undo(&mut slots.outputs[run.slot]));
                self.take(slots)
            }
            Err(error) => self.refuse(slots, &error.into()),
        };
        if let Some(epoch) = shared.binding(ticket) {
            self.runs.iter().for_each(|run| slots.outputs[run.slot].hold(run.start, epoch));
        }
        (taken, ticket)
    }

    /// Finds the writes and their keys; how many.
    fn plan<'c>(
        &mut self,
        connections: &'c [Option<Box<Connection>>],
        outputs: &[Output],
        active: &[usize],
        output_max: usize,
        keys: &mut [&'c [u8]; BATCH],
    ) -> usize {
        self.runs.clear();
        let most = if self.alone > 0 { 1 } else { BATCH };
        self.alone = self.alone.saturating_sub(1);
        let mut total = 0;
        for &slot in active {
            let Some(connection) = connections[slot].as_deref() else { continue };
            let full = outputs[slot].pending() > output_max;
            if !connection.may_run() || !connection.client.authenticated || full {
                continue;
            }
            let before = total;
            while total < most && handler(connection, total - before).is_some() {
                keys[total] = connection.input.args(total - before).get(1);
                total += 1;
            }
            if total > before {
                self.runs.push(Run::new(slot, total - before, &outputs[slot]));
            }
        }
        total
    }

    /// Takes what was done out of the queues.
    fn take(&self, slots: &mut Slots) -> usize {
        let mut total = 0;
        for run in &self.runs {
            let Some((connection, _)) = slots.get(run.slot) else { continue };
            connection.input.take(run.done);
            total += run.done;
        }
        total
    }

    /// The store cannot keep its promise: an error in place of every reply that is not kept.
    fn refuse(&mut self, slots: &mut Slots, fault: &Fault) -> usize {
        // If the store refused at once, nothing was run, and every run has at least one request.
        let nothing_ran = self.runs.iter().all(|run| run.done == 0);
        for run in &mut self.runs {
            let Some((connection, output)) = slots.get(run.slot) else { continue };
            let count = if nothing_ran { 1 } else { run.done - run.kept };
            run.undo(output);
            let mut reply = Reply::new(&mut output.buffer, connection.client.protocol);
            (0..count).for_each(|_| fault.write(&mut reply));
            run.done += count;
        }
        self.take(slots)
    }
}

/// Does the writes of all runs, in their order; an error if what is not kept was not done.
fn write_runs(
    runs: &mut [Run],
    connections: &[Option<Box<Connection>>],
    outputs: &mut [Output],
    writer: &mut Writer<'_, '_>,
    output_max: usize,
) -> Result<(), Error> {
    for at in 0..runs.len() {
        let Some(connection) = connections[runs[at].slot].as_deref() else { continue };
        loop {
            writer.between()?;
            if writer.published() {
                keep(&mut runs[..=at], outputs);
            }
            let run = &mut runs[at];
            if !run.write(connection, &mut outputs[run.slot], writer, output_max) {
                break;
            }
            if writer.published() {
                // A part of this one cannot be undone, so its rest must be done, too.
                writer.publish()?;
                keep(&mut runs[..=at], outputs);
            }
            if writer.is_broken() {
                return writer.publish();
            }
        }
    }
    Ok(())
}

fn keep(runs: &mut [Run], outputs: &[Output]) {
    for run in runs {
        run.keep(&outputs[run.slot]);
    }
}
