//! Batches of single-key reads: the reads at the front of all pipelines become one batch of lookups
//! with overlapping memory reads.
//!
//! ```text
//!   connection 3:  GET a  GET b  │ SET ...            batch:  a  b  c  d  e
//!   connection 7:  HGET c f                           owner:  3  3  7  9  9
//!   connection 9:  GET d  STRLEN e │ MGET ...
//! ```
//!
//! The store answers in any order. An answer that is next in order is written directly into the
//! reply buffer of its connection. An earlier answer is kept aside until its turn.
//!
//! If the reply buffer of a connection is full, the batch stops for it; its remaining lookups are
//! repeated after the client has read replies. The batch also stops for a connection with an answer
//! that would take long; that request runs in slices (see `general`).

use crate::commands::{Batched, CommandError, ReadHandler};
use crate::resp::{Args, Reply};
use skein_data::{EngineSession, Error, RowView};

use super::batch_account::BatchAccount;
use super::connection::Connection;
use super::connection_slots::ConnectionSlots;
use super::prefixed_keys::PrefixedKeys;
use super::reply_buffer::ReplyBuffer;
use super::request_timer::{RequestTimer, share};
use crate::notice::key_events::KeyChanges;
use crate::notice::monitors::Monitors;
use crate::observe::command_kinds::CommandKind;
use crate::observe::worker_counters::{Lookups, ReadOutcome, WorkerCounters};
use crate::shared::ServerShared;

/// The most lookups of one batch.
pub(super) const BATCH: usize = 64;

/// The most bytes of answers that are kept aside.
const ASIDE_BYTES_MAX: usize = 1 << 20;

/// A request of the batch.
#[derive(Clone, Copy)]
struct PlannedRead {
    slot: u32,
    /// Its position in the connection's queue, less than the size of a batch.
    index: u16,
    tag: u16,
    read: ReadHandler,
    /// Whether the lookup counts as a use of the key.
    is_use: bool,
}

/// The batch. The worker reuses its memory from turn to turn.
#[derive(Default)]
pub(super) struct PipelinedReads {
    plan: Vec<PlannedRead>,
    aside: Vec<u8>,
    prefixed: PrefixedKeys,
    /// Connections with a next request that must run in slices.
    put_off: Vec<u32>,
    /// The keys that the batch has not found, if clients observe misses.
    missed: Option<Vec<Box<[u8]>>>,
    /// Hits and misses of the last batch.
    lookups: Lookups,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadState {
    Waits,
    /// The answer is kept aside: its start, its length, and whether the key was found.
    Aside(u32, u32, bool),
    /// The answer was not kept, or the reply buffer of its connection is full. The lookup is
    /// repeated later.
    Dropped,
    /// The answer would take long.
    PutOff,
}

/// Returns the handler of this request if it is a read of one key that the client may do, and
/// whether it is a use of the key.
#[inline]
fn handler(connection: &Connection, index: usize) -> Option<(u16, ReadHandler, bool)> {
    let (tag, batched) = connection.batched(index)?;
    let (read, is_use) = match batched {
        Batched::Read(read) => (read, true),
        Batched::Peek(read) => (read, false),
        Batched::Write(_) => return None,
    };
    connection.client.may(tag, || connection.input.args(index)).then_some((tag, read, is_use))
}

/// Publishes that reads have found no key. A key that has expired is removed.
#[cold]
fn publish_misses(missed: &[Box<[u8]>], session: &mut EngineSession, shared: &ServerShared) {
    let mut changes = KeyChanges::of(&shared.notices.key_observer, 0);
    for key in missed {
        changes.missed(key);
    }
    changes.publish(&mut session.keys(), &shared.notices.key_observer, None);
}

impl PipelinedReads {
    /// Runs one batch of the reads at the front of the queues of `active`. Returns the number of
    /// answers.
    pub(super) fn run(
        &mut self,
        slots: &mut ConnectionSlots,
        active: &[usize],
        session: &mut EngineSession,
        shared: &ServerShared,
        counts: &WorkerCounters,
        timer: &mut RequestTimer<'_>,
    ) -> usize {
        let output_max = shared.settings.output_bytes_max.get();
        let monitors = Some(&shared.notices.monitors).filter(|monitors| monitors.any());
        self.missed = shared.notices.key_observer.level().wants_misses().then(Vec::new);
        let done = self.run_by(slots, active, output_max, monitors, timer, |keys, answers| match keys {
            [key] if answers.plan[0].is_use => session.keys().get_with(key, |row| answers.found(0, row)),
            [key] => session.keys().peek_with(key, |row| answers.found(0, row)),
            _ => {
                let plan = answers.plan;
                session.keys().get_many(keys, |i| plan[i].is_use, |i, row| answers.found(i, row));
            }
        });
        counts.count_lookups(std::mem::take(&mut self.lookups));
        if let Some(missed) = self.missed.take().filter(|missed| !missed.is_empty()) {
            publish_misses(&missed, session, shared);
        }
        done
    }

    /// Does the same with any `look_up`, which must give each key's row to the answers, in any
    /// order.
    #[inline]
    fn run_by(
        &mut self,
        slots: &mut ConnectionSlots,
        active: &[usize],
        output_max: usize,
        monitors: Option<&Monitors>,
        timer: &mut RequestTimer<'_>,
        look_up: impl FnOnce(&[&[u8]], &mut ReadReplies<'_>),
    ) -> usize {
        let ConnectionSlots { connections, outputs, .. } = slots;
        let mut keys: [&[u8]; BATCH] = [&[]; BATCH];
        let Self { plan, aside, prefixed, put_off, missed, .. } = self;
        plan.clear();
        prefixed.clear();
        'plan: for &slot in active {
            let Some(connection) = connections[slot].as_deref() else { continue };
            if !connection.may_batch() || outputs[slot].pending() > output_max {
                continue;
            }
            let (mut index, keyspace) = (0, connection.client.keyspace());
            while let Some((tag, read, is_use)) = handler(connection, index) {
                if plan.len() == BATCH {
                    break 'plan;
                }
                let name = connection.input.args(index).get(1);
                keys[plan.len()] = name;
                prefixed.add(plan.len(), keyspace, name);
                plan.push(PlannedRead { slot: slot as u32, index: index as u16, tag, read, is_use });
                index += 1;
            }
        }
        let count = plan.len();
        prefixed.put_into(&mut keys);
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
            keys: &keys[..count],
            missed: missed.as_mut(),
            timer,
        };
        look_up(&keys[..count], &mut answers);
        self.lookups = answers.lookups;
        let (states, answered, written) = (answers.states, answers.next.min(count), answers.written);
        let nanos_each = share(timer.lap_of_batch(), written);
        self.take(connections, &states[..answered], nanos_each, monitors, timer)
    }

    /// Removes the answered requests from the queues.
    fn take(
        &self,
        connections: &mut [Option<Box<Connection>>],
        states: &[ReadState],
        nanos_each: u64,
        monitors: Option<&Monitors>,
        timer: &RequestTimer<'_>,
    ) -> usize {
        let mut total = 0;
        let mut account = BatchAccount::new(nanos_each, monitors, timer);
        for (planned, state) in self.plan.iter().zip(states) {
            if *state == ReadState::Dropped {
                continue;
            }
            if let Some(connection) = connections[planned.slot as usize].as_deref_mut() {
                account.add(CommandKind::plain(planned.tag), connection, 0);
                connection.take(1, timer.began());
                total += 1;
            }
        }
        account.end();
        for slot in &self.put_off {
            if let Some(connection) = connections[*slot as usize].as_deref_mut() {
                connection.put_off = true;
            }
        }
        total
    }
}

/// Writes the answer from a key's row, or the error of its lookup. Returns `false` if the answer is
/// put off.
#[inline]
fn answer(read: ReadHandler, row: Result<Option<RowView>, Error>, args: &Args, mut reply: Reply) -> bool {
    match row {
        Ok(row) => read(row, args, &mut reply),
        Err(error) => CommandError::from(error).write(&mut reply),
    }
    !reply.is_put_off()
}

/// Counts the error of an answer, if it is one. Returns what the lookup counts as.
#[inline]
fn checked(timer: &RequestTimer, tag: u16, answer: &[u8], there: bool) -> ReadOutcome {
    if timer.check(CommandKind::plain(tag), answer) {
        return ReadOutcome::of_error(&answer[1..]);
    }
    if there { ReadOutcome::Found } else { ReadOutcome::Missed }
}

struct ReadReplies<'b> {
    plan: &'b [PlannedRead],
    connections: &'b [Option<Box<Connection>>],
    outputs: &'b mut [ReplyBuffer],
    aside: &'b mut Vec<u8>,
    put_off: &'b mut Vec<u32>,
    states: [ReadState; BATCH],
    /// The first request with an answer that is not in its reply buffer yet.
    next: usize,
    output_max: usize,
    /// The number of answers in their reply buffers.
    written: usize,
    lookups: Lookups,
    keys: &'b [&'b [u8]],
    /// The keys that were not found, if clients observe misses.
    missed: Option<&'b mut Vec<Box<[u8]>>>,
    timer: &'b RequestTimer<'b>,
}

impl ReadReplies<'_> {
    #[inline]
    fn found(&mut self, i: usize, row: Result<Option<RowView>, Error>) {
        if self.states[i] != ReadState::Waits {
            return;
        }
        let PlannedRead { slot, index, tag, read, .. } = self.plan[i];
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
            let answered = answer(read, row, &args, Reply::new(self.aside, protocol));
            let len = self.aside.len() - start;
            self.states[i] =
                if answered { ReadState::Aside(start as u32, len as u32, there) } else { ReadState::PutOff };
            return;
        }
        let buffer = &mut self.outputs[slot as usize].buffer;
        let start = buffer.len();
        if answer(read, row, &args, Reply::new(buffer, protocol)) {
            let outcome = checked(self.timer, tag, &buffer[start..], there);
            self.advance(slot, outcome);
        } else {
            self.states[i] = ReadState::PutOff;
        }
        self.catch_up();
    }

    /// Counts the answer at `next`, which was just written, and its lookup. (Lookups of dropped
    /// answers are repeated, so they must not count.) If the answer filled its reply buffer, drops
    /// the remaining answers of that connection.
    #[inline(always)]
    fn advance(&mut self, slot: u32, outcome: ReadOutcome) {
        self.lookups.count(outcome);
        if outcome == ReadOutcome::Missed
            && let Some(missed) = &mut self.missed
        {
            missed.push(self.keys[self.next].into());
        }
        self.next += 1;
        self.written += 1;
        if self.outputs[slot as usize].pending() > self.output_max {
            let rest = self.plan[self.next..].iter().take_while(|planned| planned.slot == slot).count();
            self.states[self.next..self.next + rest].fill(ReadState::Dropped);
        }
    }

    /// Advances over the requests with a final state: answers kept aside, and dropped ones.
    #[inline]
    fn catch_up(&mut self) {
        while self.next < self.plan.len() {
            let slot = self.plan[self.next].slot;
            match self.states[self.next] {
                ReadState::Waits => return,
                ReadState::Aside(start, len, there) => {
                    let answer = &self.aside[start as usize..start as usize + len as usize];
                    let outcome = checked(self.timer, self.plan[self.next].tag, answer, there);
                    self.outputs[slot as usize].buffer.extend_from_slice(answer);
                    self.advance(slot, outcome);
                }
                ReadState::PutOff | ReadState::Dropped => {
                    if self.states[self.next] == ReadState::PutOff {
                        self.put_off.push(slot);
                    }
                    // Replies keep their order, so the later answers of this connection are dropped
                    // too.
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
