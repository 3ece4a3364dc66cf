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
//! lookups are done again when the client has taken its replies. It also stops for one whose answer would take long: that is put off, and given in slices (see `general`).

use crate::commands::{CommandError, Handler, ReadHandler, ResolvedTag};
use crate::engine::{EngineSession, Error, RowRef};
use crate::resp::{ReplyWriter, RequestArgs};

use super::connection::Connection;
use super::connection_slots::ConnectionSlots;
use super::reply_buffer::ReplyBuffer;
use super::request_timer::{KindTally, RequestTimer, share};
use crate::client::Lookups;
use crate::observe::command_kinds::CommandKind;
use crate::shared::WorkerCounters;

/// Lookups of one batch, at most.
pub(super) const BATCH: usize = 64;

/// Bytes of answers that are kept aside, at most.
const ASIDE_BYTES_MAX: usize = 1 << 20;

/// A request of the batch.
#[derive(Clone, Copy)]
struct PlannedRead {
    slot: u32,
    /// Its place in the connection's queue, of the batch's size at most.
    index: u16,
    tag: u16,
    read: ReadHandler,
}

/// The batch, kept from turn to turn for its memory.
#[derive(Default)]
pub(super) struct PipelinedReads {
    plan: Vec<PlannedRead>,
    aside: Vec<u8>,
    /// Connections whose next answer is put off.
    put_off: Vec<u32>,
    /// Of the last batch.
    lookups: Lookups,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadState {
    Waits,
    /// Its answer lies aside, at this place, and whether its key was there.
    Aside(u32, u32, bool),
    /// Its answer cannot be kept or its connection's output is full: it is looked up again later.
    Dropped,
    /// Its answer would take long.
    PutOff,
}

/// Who answers this request as a read of one key, if it is one that the client may do.
#[inline]
fn handler(connection: &Connection, index: usize) -> Option<(u16, ReadHandler)> {
    let tag = connection.input.tag(index)?;
    let ResolvedTag::Command(command) = ResolvedTag::of(tag) else { return None };
    if !connection.client.may(tag, || connection.input.args(index)) {
        return None;
    }
    match command.handler {
        Handler::Read(read) | Handler::ReadOrSlices(read, _) => Some((tag, read)),
        Handler::ReadOneOrMany(read, _) if connection.input.args(index).len() == 2 => Some((tag, read)),
        _ => None,
    }
}

impl PipelinedReads {
    /// Runs one batch of the reads that stand first in the queues of `active`; how many were answered.
    pub(super) fn run(
        &mut self,
        slots: &mut ConnectionSlots,
        active: &[usize],
        session: &mut EngineSession,
        (output_max, counts): (usize, &WorkerCounters),
        watch: &mut RequestTimer<'_>,
    ) -> usize {
        let done = self.run_by(slots, active, output_max, watch, |keys, answers| match keys {
            [key] => session.get_with(key, |row| answers.found(0, row)),
            _ => session.get_many(keys, |i, row| answers.found(i, row)),
        });
        counts.count_lookups(std::mem::take(&mut self.lookups));
        done
    }

    /// The same with any `look_up`, which gives each key's row to the answers, in any order.
    #[inline]
    fn run_by(
        &mut self,
        slots: &mut ConnectionSlots,
        active: &[usize],
        output_max: usize,
        watch: &mut RequestTimer<'_>,
        look_up: impl FnOnce(&[&[u8]], &mut ReadReplies<'_>),
    ) -> usize {
        let ConnectionSlots { connections, outputs, .. } = slots;
        let mut keys: [&[u8]; BATCH] = [&[]; BATCH];
        let Self { plan, aside, put_off, .. } = self;
        plan.clear();
        'plan: for &slot in active {
            let Some(connection) = connections[slot].as_deref() else { continue };
            if !connection.may_batch() || outputs[slot].pending() > output_max {
                continue;
            }
            let mut index = 0;
            while let Some((tag, read)) = handler(connection, index) {
                if plan.len() == BATCH {
                    break 'plan;
                }
                keys[plan.len()] = connection.input.args(index).get(1);
                plan.push(PlannedRead { slot: slot as u32, index: index as u16, tag, read });
                index += 1;
            }
        }
        let count = plan.len();
        aside.clear();
        put_off.clear();
        if count == 0 {
            return 0;
        }
        let states = [ReadState::Waits; BATCH];
        let mut answers = ReadReplies {
            plan,
            connections,
            outputs,
            aside,
            put_off,
            states,
            next: 0,
            output_max,
            written: 0,
            lookups: Lookups::default(),
            watch,
        };
        look_up(&keys[..count], &mut answers);
        self.lookups = answers.lookups;
        let (states, answered, written) = (answers.states, answers.next.min(count), answers.written);
        let nanos_each = share(watch.lap_of_batch(), written);
        self.take(connections, &states[..answered], nanos_each, watch)
    }

    /// Takes what was answered out of the queues.
    fn take(
        &self,
        connections: &mut [Option<Box<Connection>>],
        states: &[ReadState],
        nanos_each: u64,
        watch: &RequestTimer<'_>,
    ) -> usize {
        let mut total = 0;
        let slow = watch.is_slow(nanos_each);
        let mut tally = KindTally::new(nanos_each);
        for (planned, state) in self.plan.iter().zip(states) {
            if *state == ReadState::Dropped {
                continue;
            }
            if let Some(connection) = connections[planned.slot as usize].as_deref_mut() {
                let kind = CommandKind::plain(planned.tag);
                tally.add(kind, watch);
                if slow {
                    watch.slow(kind, nanos_each, &connection.input.args(0), &connection.client.card);
                }
                connection.take(1, watch.began());
                total += 1;
            }
        }
        tally.end(watch);
        for slot in &self.put_off {
            if let Some(connection) = connections[*slot as usize].as_deref_mut() {
                connection.put_off = true;
            }
        }
        total
    }
}

/// Answers from a key's row, or says why it could not be read; false if the answer is put off.
#[inline]
fn answer(
    read: ReadHandler,
    row: Result<Option<RowRef<'_>>, Error>,
    args: &RequestArgs<'_>,
    mut reply: ReplyWriter<'_>,
) -> bool {
    match row {
        Ok(row) => read(row, args, &mut reply),
        Err(error) => CommandError::from(error).write(&mut reply),
    }
    !reply.is_put_off()
}

struct ReadReplies<'b> {
    plan: &'b [PlannedRead],
    connections: &'b [Option<Box<Connection>>],
    outputs: &'b mut [ReplyBuffer],
    aside: &'b mut Vec<u8>,
    put_off: &'b mut Vec<u32>,
    states: [ReadState; BATCH],
    /// The first request whose answer is not in its output yet.
    next: usize,
    output_max: usize,
    /// How many answers are in their outputs.
    written: usize,
    lookups: Lookups,
    watch: &'b RequestTimer<'b>,
}

impl ReadReplies<'_> {
    #[inline]
    fn found(&mut self, i: usize, row: Result<Option<RowRef<'_>>, Error>) {
        if self.states[i] != ReadState::Waits {
            return;
        }
        let PlannedRead { slot, index, tag, read } = self.plan[i];
        let Some(connection) = self.connections[slot as usize].as_deref() else { return };
        let args = connection.input.args(index as usize);
        let protocol = connection.client.protocol;
        let there = matches!(row, Ok(Some(_)));
        if i != self.next {
            if self.aside.len() > ASIDE_BYTES_MAX {
                self.states[i] = ReadState::Dropped;
                return;
            }
            let start = self.aside.len();
            let answered = answer(read, row, &args, ReplyWriter::new(self.aside, protocol));
            let len = self.aside.len() - start;
            self.states[i] =
                if answered { ReadState::Aside(start as u32, len as u32, there) } else { ReadState::PutOff };
            return;
        }
        let buffer = &mut self.outputs[slot as usize].buffer;
        let start = buffer.len();
        if answer(read, row, &args, ReplyWriter::new(buffer, protocol)) {
            self.watch.check(CommandKind::plain(tag), &buffer[start..]);
            self.advance(slot, there);
        } else {
            self.states[i] = ReadState::PutOff;
        }
        self.catch_up();
    }

    /// The answer at `next` is written, and so its lookup counts: what is dropped is looked up again. If that filled its connection's output, the rest of that
    /// connection is dropped.
    #[inline(always)]
    fn advance(&mut self, slot: u32, there: bool) {
        self.lookups.note(there);
        self.next += 1;
        self.written += 1;
        if self.outputs[slot as usize].pending() > self.output_max {
            let rest = self.plan[self.next..].iter().take_while(|planned| planned.slot == slot).count();
            self.states[self.next..self.next + rest].fill(ReadState::Dropped);
        }
    }

    /// Passes over what is settled: answers that came early, and dropped ones.
    #[inline]
    fn catch_up(&mut self) {
        while self.next < self.plan.len() {
            let slot = self.plan[self.next].slot;
            match self.states[self.next] {
                ReadState::Waits => return,
                ReadState::Aside(start, len, there) => {
                    let answer = &self.aside[start as usize..start as usize + len as usize];
                    self.watch.check(CommandKind::plain(self.plan[self.next].tag), answer);
                    self.outputs[slot as usize].buffer.extend_from_slice(answer);
                    self.advance(slot, there);
                }
                ReadState::PutOff | ReadState::Dropped => {
                    if self.states[self.next] == ReadState::PutOff {
                        self.put_off.push(slot);
                    }
                    // Replies keep their order, so nothing of this connection after it counts either.
                    let rest =
                        self.plan[self.next..].iter().take_while(|planned| planned.slot == slot).count();
                    self.states[self.next..self.next + rest].fill(ReadState::Dropped);
                    self.next += rest;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
