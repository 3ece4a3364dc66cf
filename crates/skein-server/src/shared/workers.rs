//! The workers of a server, for all threads: their mail, their counts, and the gate between them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mio::Waker;

use crate::clients::client_registry::ClientLocation;
use crate::observe::CommandTotals;
use crate::observe::worker_counters::WorkerCounters;
use crate::request::command_error::CommandError;
use crate::shared::exclusion_gate::ExclusionGate;
use crate::shared::mailbox::{Mailbox, WaitAnswer};
use skein_data::Ticket;

/// The workers and the acceptor, as other threads reach them.
#[derive(Debug)]
pub(crate) struct WorkerAccess {
    pub gate: ExclusionGate,
    /// One per worker.
    pub mailboxes: Arc<[Mailbox]>,
    /// Wakes the acceptor.
    acceptor: Waker,
    stop: AtomicBool,
}

impl WorkerAccess {
    pub(crate) fn new(mailboxes: Vec<Mailbox>, acceptor: Waker) -> Self {
        let gate = ExclusionGate::new(mailboxes.len());
        Self { gate, mailboxes: mailboxes.into(), acceptor, stop: AtomicBool::new(false) }
    }

    /// Tells all threads to stop.
    pub(super) fn stop(&self) {
        // Release: pairs with the Acquire in `stopping`. The wakes deliver the message; this only
        // orders it.
        self.stop.store(true, Ordering::Release);
        if let Err(cause) = self.acceptor.wake() {
            tracing::error!(%cause, "cannot wake the acceptor");
        }
        self.wake();
    }

    pub(crate) fn stopping(&self) -> bool {
        // Acquire: pairs with the Release in `stop`.
        self.stop.load(Ordering::Acquire)
    }

    /// Wakes all workers, so that they notice changes.
    pub(crate) fn wake(&self) {
        self.mailboxes.iter().for_each(Mailbox::wake);
    }

    /// Answers the clients that asked for a checkpoint.
    pub(crate) fn report_checkpoint(&self, askers: Vec<ClientLocation>, done: &Result<(), CommandError>) {
        for who in askers {
            self.mailboxes[who.worker].send(|mail| mail.checkpoints.push((who, done.clone())));
        }
    }

    /// Sends the answer to a client that was taken from the waiting ones.
    pub(crate) fn answer_waiting(&self, who: ClientLocation, bytes: Vec<u8>, ticket: Ticket) {
        let answer = WaitAnswer { who, bytes, ticket };
        self.mailboxes[who.worker].send(|mail| mail.wait_answers.push(answer));
    }

    /// Returns the number of current connections.
    pub(crate) fn connections(&self) -> usize {
        self.mailboxes.iter().map(|mailbox| mailbox.counts.connections.load(Ordering::Relaxed)).sum()
    }

    /// Returns the counts of commands since the start.
    pub(crate) fn observed(&self) -> CommandTotals {
        CommandTotals::of(self.mailboxes.iter().map(|mailbox| &mailbox.observed))
    }

    /// Returns the duration of the longest current turn of a server that has started then. Memory that
    /// was replaced or removed since the start of the turn is freed only after its end.
    pub(crate) fn oldest_turn(&self, started: Instant) -> Duration {
        let began = self.mailboxes.iter().map(|mailbox| mailbox.counts.turn_began.load(Ordering::Relaxed));
        let first = began.filter(|began| *began > 0).min();
        first.map_or(Duration::ZERO, |began| started.elapsed().saturating_sub(Duration::from_nanos(began)))
    }

    /// Returns the bytes of all connections and of their buffers.
    pub(crate) fn buffer_bytes(&self) -> usize {
        usize::try_from(self.total(|counts| &counts.buffers)).unwrap_or(usize::MAX)
    }

    /// Returns a sum over the workers.
    pub(crate) fn total(&self, counter: impl Fn(&WorkerCounters) -> &AtomicU64) -> u64 {
        self.mailboxes.iter().map(|mailbox| counter(&mailbox.counts).load(Ordering::Relaxed)).sum()
    }
}
