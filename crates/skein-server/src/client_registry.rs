//! Who is connected: a card per client, for CLIENT LIST and CLIENT KILL of any worker.
//!
//! ```text
//!   worker 0 ─ connection ─► card ◄─┐
//!   worker 1 ─ connection ─► card ◄─┤ clients, by number ◄─ CLIENT LIST, CLIENT KILL
//! ```
//!
//! A card is written by the worker that serves its client, a store or two a turn, and read by any. What is seen of another worker's client may be a turn old.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use skein_sync::locks::lock;

use crate::resp::Protocol;
use crate::transport::ConnectionAddress;

/// The tag of no command.
const NONE: u16 = u16::MAX;

/// Where a client is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientLocation {
    pub worker: usize,
    pub slot: usize,
    /// The client's number: a slot is used again.
    pub client: u64,
}

/// What a client has said about itself.
#[derive(Debug, Default, Clone)]
pub(crate) struct ClientAttributes {
    /// Its user.
    pub user: Vec<u8>,
    /// As set with CLIENT SETNAME.
    pub name: Vec<u8>,
    /// As set with CLIENT SETINFO.
    pub library: Vec<u8>,
    pub library_version: Vec<u8>,
    pub no_evict: bool,
}

impl ClientAttributes {
    /// Bytes of the texts.
    pub(crate) fn memory(&self) -> usize {
        [&self.user, &self.name, &self.library, &self.library_version]
            .iter()
            .map(|text| text.capacity())
            .sum()
    }
}

/// A client, as others see it.
#[derive(Debug)]
pub(crate) struct ClientRecord {
    pub place: ClientLocation,
    pub address: Option<ConnectionAddress>,
    pub local: Option<ConnectionAddress>,
    pub file: i32,
    /// Since the server started.
    connected: Duration,
    last_used_s: AtomicU64,
    command: AtomicU16,
    protocol: AtomicU8,
    /// Requests since MULTI; -1 without one.
    queued: AtomicI64,
    killed: AtomicBool,
    said: Mutex<ClientAttributes>,
}

impl ClientRecord {
    pub(crate) fn new(
        place: ClientLocation,
        address: Option<ConnectionAddress>,
        local: Option<ConnectionAddress>,
        file: i32,
        now: Duration,
    ) -> Self {
        Self {
            place,
            address,
            local,
            file,
            connected: now,
            last_used_s: AtomicU64::new(now.as_secs()),
            command: AtomicU16::new(NONE),
            protocol: AtomicU8::new(2),
            queued: AtomicI64::new(-1),
            killed: AtomicBool::new(false),
            said: Mutex::default(),
        }
    }

    /// It sent something, or took something.
    #[inline]
    pub(crate) fn mark_active(&self, now: Duration) {
        // Relaxed, like all here: one worker writes it, and it is ordered with nothing.
        self.last_used_s.store(now.as_secs(), Ordering::Relaxed);
    }

    /// Requests came in, the last of which is of this command.
    #[inline]
    pub(crate) fn set_command(&self, command: u16) {
        self.command.store(command, Ordering::Relaxed);
    }

    pub(crate) fn attributes(&self) -> MutexGuard<'_, ClientAttributes> {
        lock(&self.said)
    }

    pub(crate) fn set_protocol(&self, protocol: Protocol) {
        self.protocol.store(if protocol == Protocol::Resp3 { 3 } else { 2 }, Ordering::Relaxed);
    }

    pub(crate) fn protocol(&self) -> u8 {
        self.protocol.load(Ordering::Relaxed)
    }

    /// So many requests were queued since MULTI; `None` when it is over.
    pub(crate) fn set_queued(&self, count: Option<usize>) {
        let count = count.map_or(-1, |count| i64::try_from(count).unwrap_or(i64::MAX));
        self.queued.store(count, Ordering::Relaxed);
    }

    /// How many requests were queued since MULTI; it ends with EXEC's reply.
    pub(crate) fn queued(&self) -> Option<i64> {
        Some(self.queued.load(Ordering::Relaxed)).filter(|count| *count >= 0)
    }

    /// Seconds since it connected, and since it was heard of.
    pub(crate) fn age_and_idle(&self, now: Duration) -> (u64, u64) {
        let idle = now.as_secs().saturating_sub(self.last_used_s.load(Ordering::Relaxed));
        (now.saturating_sub(self.connected).as_secs(), idle)
    }

    /// The tag of its last command.
    pub(crate) fn command(&self) -> u16 {
        self.command.load(Ordering::Relaxed)
    }

    /// Marks it as killed; false if it was already.
    pub(crate) fn kill(&self) -> bool {
        !self.killed.swap(true, Ordering::Relaxed)
    }
}

/// All clients.
#[derive(Debug, Default)]
pub(crate) struct ClientRegistry(Mutex<BTreeMap<u64, Arc<ClientRecord>>>);

impl ClientRegistry {
    pub(crate) fn add(&self, card: Arc<ClientRecord>) {
        lock(&self.0).insert(card.place.client, card);
    }

    pub(crate) fn remove(&self, client: u64) {
        lock(&self.0).remove(&client);
    }

    /// Those that are not killed, by number.
    pub(crate) fn all(&self) -> Vec<Arc<ClientRecord>> {
        let cards = lock(&self.0);
        cards.values().filter(|card| !card.killed.load(Ordering::Relaxed)).cloned().collect()
    }
}
