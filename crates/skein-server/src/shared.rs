//! What the threads of a server share.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use mio::Waker;
use mio::net::TcpStream;
use skein_sync::locks::lock;

use crate::cursors::Cursors;
use crate::engine::{Durability, Engine, Ticket};
use crate::{ServerOptions, engine};

/// The server, as all its threads see it.
#[derive(Debug)]
pub(crate) struct Shared {
    pub options: ServerOptions,
    pub address: SocketAddr,
    pub store: Engine,
    pub durability: Durability,
    pub cursors: Cursors,
    pub started: Instant,
    /// One per worker.
    pub mailboxes: Vec<Mailbox>,
    /// Wakes the acceptor.
    pub acceptor: Waker,
    stop: AtomicBool,
    next_client: AtomicU64,
    /// Connections that were ever accepted, and those refused because there were too many.
    pub accepted: AtomicU64,
    pub refused: AtomicU64,
    /// To the thread that writes checkpoints; `None` once the server has stopped.
    checkpoints: Mutex<Option<Sender<CheckpointFor>>>,
}

/// Who asked for a checkpoint and waits for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckpointFor {
    pub worker: usize,
    pub slot: usize,
    pub client: u64,
}

/// What reaches a worker from other threads.
#[derive(Debug)]
pub(crate) struct Mailbox {
    pub waker: Waker,
    mail: Mutex<Mail>,
    pub counts: Counts,
    /// Replies of this worker wait for an epoch to become durable.
    waits_for_epoch: AtomicBool,
}

#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub connections: Vec<TcpStream>,
    pub checkpoints: Vec<(CheckpointFor, Result<(), engine::Error>)>,
}

/// A worker in numbers. Only the worker writes them (but for `connections`), so plain stores suffice; on lines
/// of their own, so that workers do not slow each other down.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Counts {
    /// Connections now, those in the mail included.
    pub connections: AtomicUsize,
    pub requests: AtomicU64,
    pub bytes_in: AtomicU64,
    pub bytes_out: AtomicU64,
}

impl Counts {
    /// Adds to a number that only this thread writes.
    #[inline]
    pub(crate) fn add(counter: &AtomicU64, by: u64) {
        // Relaxed: a statistic, ordered with nothing.
        counter.store(counter.load(Ordering::Relaxed) + by, Ordering::Relaxed);
    }
}

impl Mailbox {
    pub(crate) fn new(waker: Waker) -> Self {
        Self {
            waker,
            mail: Mutex::default(),
            counts: Counts::default(),
            waits_for_epoch: AtomicBool::new(false),
        }
    }

    fn mail(&self) -> MutexGuard<'_, Mail> {
        lock(&self.mail)
    }

    pub(crate) fn take(&self) -> Mail {
        std::mem::take(&mut *self.mail())
    }

    pub(crate) fn send(&self, put: impl FnOnce(&mut Mail)) {
        put(&mut self.mail());
        self.wake();
    }

    /// Wakes the worker from its wait for events.
    pub(crate) fn wake(&self) {
        if let Err(cause) = self.waker.wake() {
            tracing::error!(%cause, "cannot wake a worker");
        }
    }

    /// Asks for [`epoch_advanced`](Self::epoch_advanced) to wake the worker. The worker must look at the durable
    /// epoch once more after this, before it waits.
    pub(crate) fn wait_for_epoch(&self) {
        self.waits_for_epoch.store(true, Ordering::Relaxed);
        // SeqCst: pairs with the fence in `epoch_advanced`: either the worker sees the new epoch, or the other
        // thread sees the flag.
        fence(Ordering::SeqCst);
    }

    /// The durable epoch has advanced, or will never advance again.
    pub(crate) fn epoch_advanced(&self) {
        // SeqCst: pairs with the fence in `wait_for_epoch`.
        fence(Ordering::SeqCst);
        if self.waits_for_epoch.load(Ordering::Relaxed) && self.waits_for_epoch.swap(false, Ordering::Relaxed)
        {
            self.wake();
        }
    }
}

impl Shared {
    pub(crate) fn new(
        options: ServerOptions,
        address: SocketAddr,
        store: Engine,
        mailboxes: Vec<Mailbox>,
        acceptor: Waker,
        checkpoints: Sender<CheckpointFor>,
    ) -> Self {
        let seed = std::time::UNIX_EPOCH.elapsed().map_or(1, |since| since.as_millis() as u64);
        Self {
            cursors: Cursors::new(options.scan_cursors_max, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12),
            durability: store.durability(),
            options,
            address,
            store,
            started: Instant::now(),
            mailboxes,
            acceptor,
            stop: AtomicBool::new(false),
            next_client: AtomicU64::new(1),
            accepted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            checkpoints: Mutex::new(Some(checkpoints)),
        }
    }

    /// Begins a graceful stop.
    pub(crate) fn stop(&self) {
        // Release: pairs with the Acquire in `stopping`; the wakes below carry the news, this only orders it.
        self.stop.store(true, Ordering::Release);
        if let Err(cause) = self.acceptor.wake() {
            tracing::error!(%cause, "cannot wake the acceptor");
        }
        for mailbox in &self.mailboxes {
            mailbox.wake();
        }
    }

    pub(crate) fn stopping(&self) -> bool {
        // Acquire: pairs with the Release in `stop`.
        self.stop.load(Ordering::Acquire)
    }

    pub(crate) fn next_client(&self) -> u64 {
        self.next_client.fetch_add(1, Ordering::Relaxed)
    }

    /// Until when replies to these writes are held back: only level `sync` promises that they are durable.
    #[inline]
    pub(crate) fn binding(&self, ticket: Ticket) -> Option<u64> {
        (self.durability == Durability::Sync && ticket.epoch > 0).then_some(ticket.epoch)
    }

    /// Connections now.
    pub(crate) fn connections(&self) -> usize {
        self.mailboxes.iter().map(|mailbox| mailbox.counts.connections.load(Ordering::Relaxed)).sum()
    }

    /// A sum over the workers.
    pub(crate) fn total(&self, counter: impl Fn(&Counts) -> &AtomicU64) -> u64 {
        self.mailboxes.iter().map(|mailbox| counter(&mailbox.counts).load(Ordering::Relaxed)).sum()
    }

    /// Has a checkpoint written; false if the server has stopped.
    pub(crate) fn ask_checkpoint(&self, who: CheckpointFor) -> bool {
        let sender = lock(&self.checkpoints);
        sender.as_ref().is_some_and(|sender| sender.send(who).is_ok())
    }

    /// Lets the thread that writes checkpoints end.
    pub(crate) fn end_checkpoints(&self) {
        lock(&self.checkpoints).take();
    }
}
