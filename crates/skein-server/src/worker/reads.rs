//! Consecutive single-key reads, of one pipeline and of all connections that are ready, as one batch of
//! lookups whose memory reads overlap.
//!
//! ```text
//!   connection 3:  GET a  GET b  │ SET ...            batch:  a  b  c  d  e
//!   connection 7:  HGET c f                           owner:  3  3  7  9  9
//!   connection 9:  GET d  STRLEN e │ MGET ...
//! ```
//!
//! The store answers in any order. What comes in order is written straight into the output of its connection;
//! what comes early is kept aside until its turn. The batch stops for a connection whose output is full: those
//! lookups are done again when the client has taken its replies.

use crate::commands::{Fault, Handler, ReadHandler, Resolved};
use crate::engine::{Error, RowRef, Session};
use crate::resp::{Args, Reply};

use super::connection::Connection;
use super::output::Output;
use super::slots::Slots;

/// Lookups of one batch, at most.
pub(super) const BATCH: usize = 64;

/// Bytes of answers that are kept aside, at most.
const ASIDE_BYTES_MAX: usize = 1 << 20;

/// A request of the batch.
#[derive(Clone, Copy)]
struct Planned {
    slot: u32,
    /// Its place in the connection's queue.
    index: u32,
    read: ReadHandler,
}

/// The batch, kept from turn to turn for its memory.
#[derive(Default)]
pub(super) struct Reads {
    plan: Vec<Planned>,
    aside: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waits,
    /// Its answer lies aside, at this place.
    Aside(u32, u32),
    /// Its answer cannot be kept or its connection's output is full: it is looked up again later.
    Dropped,
}

/// Who answers this request as a read of one key, if it is one.
#[inline]
fn handler(connection: &Connection, index: usize) -> Option<ReadHandler> {
    let Resolved::Command(command) = Resolved::of(connection.input.tag(index)?) else { return None };
    match command.handler {
        Handler::Read(read) => Some(read),
        Handler::ReadOneOrMany(read, _) if connection.input.args(index).len() == 2 => Some(read),
        _ => None,
    }
}

impl Reads {
    /// Runs one batch of the reads that stand first in the queues of `active`; how many were answered.
    pub(super) fn run(
        &mut self,
        slots: &mut Slots,
        active: &[usize],
        session: &mut Session,
        output_max: usize,
    ) -> usize {
        self.run_by(slots, active, output_max, |keys, answers| match keys {
            [key] => session.get_with(key, |row| answers.found(0, row)),
            _ => session.get_many(keys, |i, row| answers.found(i, row)),
        })
    }

    /// The same with any `look_up`, which gives each key's row to the answers, in any order.
    #[inline]
    fn run_by(
        &mut self,
        slots: &mut Slots,
        active: &[usize],
        output_max: usize,
        look_up: impl FnOnce(&[&[u8]], &mut Answers<'_>),
    ) -> usize {
        let Slots { connections, outputs, .. } = slots;
        let mut keys: [&[u8]; BATCH] = [&[]; BATCH];
        let Self { plan, aside } = self;
        plan.clear();
        'plan: for &slot in active {
            let Some(connection) = connections[slot].as_deref() else { continue };
            if !connection.may_run()
                || !connection.client.authenticated
                || outputs[slot].pending() > output_max
            {
                continue;
            }
            let mut index = 0;
            while let Some(read) = handler(connection, index) {
                if plan.len() == BATCH {
                    break 'plan;
                }
                keys[plan.len()] = connection.input.args(index).get(1);
                plan.push(Planned { slot: slot as u32, index: index as u32, read });
                index += 1;
            }
        }
        let count = plan.len();
        aside.clear();
        let mut answers =
            Answers { plan, connections, outputs, aside, states: [State::Waits; BATCH], next: 0, output_max };
        if count == 0 {
            return 0;
        }
        look_up(&keys[..count], &mut answers);
        let (states, answered) = (answers.states, answers.next.min(count));
        self.take(connections, &states[..count], answered)
    }

    /// Takes what was answered out of the queues.
    fn take(&self, connections: &mut [Option<Box<Connection>>], states: &[State], answered: usize) -> usize {
        let mut total = 0;
        for (planned, state) in self.plan[..answered].iter().zip(states) {
            if *state == State::Dropped {
                continue;
            }
            if let Some(connection) = connections[planned.slot as usize].as_deref_mut() {
                connection.input.take(1);
                total += 1;
            }
        }
        total
    }
}

/// Answers from a key's row, or says why it could not be read.
#[inline]
fn answer(read: ReadHandler, row: Result<Option<RowRef<'_>>, Error>, args: &Args<'_>, reply: &mut Reply<'_>) {
    match row {
        Ok(row) => read(row, args, reply),
        Err(error) => Fault::from(error).write(reply),
    }
}

struct Answers<'b> {
    plan: &'b [Planned],
    connections: &'b [Option<Box<Connection>>],
    outputs: &'b mut [Output],
    aside: &'b mut Vec<u8>,
    states: [State; BATCH],
    /// The first request whose answer is not in its output yet.
    next: usize,
    output_max: usize,
}

impl Answers<'_> {
    #[inline]
    fn found(&mut self, i: usize, row: Result<Option<RowRef<'_>>, Error>) {
        if self.states[i] != State::Waits {
            return;
        }
        let Planned { slot, index, read } = self.plan[i];
        let Some(connection) = self.connections[slot as usize].as_deref() else { return };
        let args = connection.input.args(index as usize);
        let protocol = connection.client.protocol;
        if i != self.next {
            if self.aside.len() > ASIDE_BYTES_MAX {
                self.states[i] = State::Dropped;
                return;
            }
            let start = self.aside.len();
            answer(read, row, &args, &mut Reply::new(self.aside, protocol));
            self.states[i] = State::Aside(start as u32, (self.aside.len() - start) as u32);
            return;
        }
        answer(read, row, &args, &mut Reply::new(&mut self.outputs[slot as usize].buffer, protocol));
        self.advance(slot);
        self.catch_up();
    }

    /// The answer at `next` is written. If that filled its connection's output, the rest of that connection is dropped.
    #[inline]
    fn advance(&mut self, slot: u32) {
        self.next += 1;
        if self.outputs[slot as usize].pending() > self.output_max {
            let rest = self.plan[self.next..].iter().take_while(|planned| planned.slot == slot).count();
            self.states[self.next..self.next + rest].fill(State::Dropped);
        }
    }

    /// Passes over what is settled: answers that came early, and dropped ones.
    #[inline]
    fn catch_up(&mut self) {
        while self.next < self.plan.len() {
            let slot = self.plan[self.next].slot;
            match self.states[self.next] {
                State::Waits => return,
                State::Aside(start, len) => {
                    let answer = &self.aside[start as usize..start as usize + len as usize];
                    self.outputs[slot as usize].buffer.extend_from_slice(answer);
                    self.advance(slot);
                }
                State::Dropped => {
                    // Replies keep their order, so nothing of this connection after it counts either.
                    let rest =
                        self.plan[self.next..].iter().take_while(|planned| planned.slot == slot).count();
                    self.states[self.next..self.next + rest].fill(State::Dropped);
                    self.next += rest;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
