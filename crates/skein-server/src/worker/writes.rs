//! Consecutive writes, of one pipeline and of all connections that are ready, within one entry to the epoch and
//! with one append to the log.
//!
//! Before them, the keys are looked up as a batch whose memory reads overlap, so that the writes find their way
//! through the index in the cache.
//!
//! At durability `sync` the replies are held back until the epoch of the writes is durable. If the store
//! cannot promise that any more, none of them is sent: an error takes the place of each.

use crate::commands::{Fault, Handler, Resolved, WriteHandler};
use crate::engine::{Session, Ticket, Writer};
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
}

impl Run {
    /// Does the writes, until the output is full.
    fn write(
        &mut self,
        connection: &Connection,
        output: &mut Output,
        writer: &mut Writer<'_>,
        output_max: usize,
    ) {
        self.start = output.buffer.len();
        while self.done < self.count && (self.done == 0 || output.pending() <= output_max) {
            let Some(write) = handler(connection, self.done) else { break };
            let args = connection.input.args(self.done);
            let mut reply = Reply::new(&mut output.buffer, connection.client.protocol);
            let start = reply.position();
            if let Err(fault) = write(writer, &args, &mut reply) {
                reply.truncate(start);
                fault.write(&mut reply);
            }
            self.done += 1;
        }
    }
}

/// The batch, kept from turn to turn for its memory.
#[derive(Default)]
pub(super) struct Writes {
    runs: Vec<Run>,
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
        let written = session.write(|writer| {
            if total >= WARM_MIN {
                writer.prefetch(&keys[..total]);
            }
            for run in runs.iter_mut() {
                let Some(connection) = connections[run.slot].as_deref() else { continue };
                run.write(connection, &mut outputs[run.slot], writer, output_max);
            }
        });
        match written {
            Ok(((), ticket)) => (self.take(slots, shared.binding(ticket)), ticket),
            Err(error) => (self.refuse(slots, &error.into()), Ticket::default()),
        }
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
        let mut total = 0;
        for &slot in active {
            let Some(connection) = connections[slot].as_deref() else { continue };
            let full = outputs[slot].pending() > output_max;
            if !connection.may_run() || !connection.client.authenticated || full {
                continue;
            }
            let before = total;
            while total < BATCH && handler(connection, total - before).is_some() {
                keys[total] = connection.input.args(total - before).get(1);
                total += 1;
            }
            if total > before {
                self.runs.push(Run { slot, count: total - before, done: 0, start: 0 });
            }
        }
        total
    }

    /// Takes what was done out of the queues.
    fn take(&self, slots: &mut Slots, hold_until: Option<u64>) -> usize {
        let mut total = 0;
        for run in &self.runs {
            let Some((connection, output)) = slots.get(run.slot) else { continue };
            connection.input.take(run.done);
            total += run.done;
            if let Some(epoch) = hold_until {
                output.hold(run.start, epoch);
            }
        }
        total
    }

    /// The store cannot keep its promise: an error in place of every reply.
    fn refuse(&self, slots: &mut Slots, fault: &Fault) -> usize {
        let mut total = 0;
        for run in &self.runs {
            let Some((connection, output)) = slots.get(run.slot) else { continue };
            let protocol = connection.client.protocol;
            // If the store refused at once, nothing was run, and every run has at least one request.
            let count = run.done.max(1);
            if run.done > 0 {
                output.buffer.truncate(run.start);
            }
            let mut reply = Reply::new(&mut output.buffer, protocol);
            (0..count).for_each(|_| fault.write(&mut reply));
            connection.input.take(count);
            total += count;
        }
        total
    }
}
