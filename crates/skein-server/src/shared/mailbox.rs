//! The mailbox of a worker: messages of other threads to it, and its counts.

use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Mutex, MutexGuard};

use mio::Waker;
use skein_sync::locks::lock;

use crate::clients::client_registry::ClientLocation;
use crate::net::transport::Transport;
use crate::notice::channels::ChannelDelivery;
use crate::notice::key_events::Invalidation;
use crate::notice::monitors::MonitorDelivery;
use crate::observe::WorkerObserver;
use crate::observe::worker_counters::WorkerCounters;
use crate::request::command_error::CommandError;
use crate::shared::migrations::MigrationEnd;
use skein_data::Ticket;

/// Messages of other threads to a worker, and the worker's counts.
#[derive(Debug)]
pub(crate) struct Mailbox {
    pub waker: Waker,
    mail: Mutex<Mail>,
    pub counts: WorkerCounters,
    /// By kind of command.
    pub observed: WorkerObserver,
    /// Whether replies of this worker wait for an epoch to become durable.
    waits_for_epoch: AtomicBool,
}

#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub connections: Vec<Transport>,
    /// Clients to disconnect.
    pub kills: Vec<ClientLocation>,
    pub checkpoints: Vec<(ClientLocation, Result<(), CommandError>)>,
    pub wait_answers: Vec<WaitAnswer>,
    /// Migrations with an answer from their target.
    pub migrated: Vec<MigrationEnd>,
    pub messages: Vec<ChannelDelivery>,
    /// Keys that clients must forget.
    pub invalidations: Vec<Invalidation>,
    /// Keys that have expired or were evicted, and that clients wait for.
    pub removed_keys: Vec<Vec<u8>>,
    /// Lines for monitors.
    pub monitored: Vec<MonitorDelivery>,
}

impl Mail {
    fn is_empty(&self) -> bool {
        self.connections.is_empty()
            && self.kills.is_empty()
            && self.checkpoints.is_empty()
            && self.wait_answers.is_empty()
            && self.migrated.is_empty()
            && self.messages.is_empty()
            && self.invalidations.is_empty()
            && self.removed_keys.is_empty()
            && self.monitored.is_empty()
    }
}

/// The answer to a client that has waited for a key.
#[derive(Debug)]
pub(crate) struct WaitAnswer {
    pub who: ClientLocation,
    pub bytes: Vec<u8>,
    /// The answer waits until this ticket is durable.
    pub ticket: Ticket,
}

impl Mailbox {
    pub(crate) fn new(waker: Waker) -> Self {
        Self {
            waker,
            mail: Mutex::default(),
            counts: WorkerCounters::default(),
            observed: WorkerObserver::default(),
            waits_for_epoch: AtomicBool::new(false),
        }
    }

    fn mail(&self) -> MutexGuard<'_, Mail> {
        lock(&self.mail)
    }

    /// Takes the mail. The next messages of channels go into `spare`, which is empty.
    pub(crate) fn take(&self, spare: Vec<ChannelDelivery>) -> Mail {
        std::mem::replace(&mut *self.mail(), Mail { messages: spare, ..Mail::default() })
    }

    /// Takes only the new connections. The other messages stay.
    pub(crate) fn take_connections(&self) -> Vec<Transport> {
        std::mem::take(&mut self.mail().connections)
    }

    pub(crate) fn send(&self, put: impl FnOnce(&mut Mail)) {
        let mut mail = self.mail();
        // Otherwise the worker was woken, and has not taken its mail yet.
        let must_wake = mail.is_empty();
        put(&mut mail);
        drop(mail);
        if must_wake {
            self.wake();
        }
    }

    /// Wakes the worker from its wait for events.
    pub(crate) fn wake(&self) {
        if let Err(cause) = self.waker.wake() {
            tracing::error!(%cause, "cannot wake a worker");
        }
    }

    /// Asks [`epoch_advanced`](Self::epoch_advanced) to wake the worker. Before it waits, the
    /// worker must read the durable epoch once more after this call.
    pub(crate) fn wait_for_epoch(&self) {
        self.waits_for_epoch.store(true, Ordering::Relaxed);
        // SeqCst: pairs with the fence in `epoch_advanced`: either the worker sees the new epoch,
        // or the other thread sees the flag.
        fence(Ordering::SeqCst);
    }

    /// Wakes the worker if it waits for an epoch. Called when the durable epoch has advanced, or
    /// will never advance again.
    pub(crate) fn epoch_advanced(&self) {
        // SeqCst: pairs with the fence in `wait_for_epoch`.
        fence(Ordering::SeqCst);
        if self.waits_for_epoch.load(Ordering::Relaxed) && self.waits_for_epoch.swap(false, Ordering::Relaxed)
        {
            self.wake();
        }
    }
}
