//! The registry of connected clients: one record per client, for CLIENT LIST and CLIENT KILL of any
//! worker.
//!
//! ```text
//!   worker 0 ─ connection ─► record ◄─┐
//!   worker 1 ─ connection ─► record ◄─┤ registry, by number ◄─ CLIENT LIST, CLIENT KILL
//! ```
//!
//! `sizes` has the memory of a client. The worker of a client writes its record with a few stores
//! per turn, and any thread reads it. The record of another worker's client may be one turn old.

mod sizes;

use std::collections::BTreeMap;
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use skein_sync::locks::lock;

use crate::net::transport::ConnectionAddress;
use crate::resp::Protocol;

pub(crate) use sizes::{ClientBytes, ClientSizes};

/// The tag of no command.
const NONE: u16 = u16::MAX;

/// The worker and the slot of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientLocation {
    pub worker: usize,
    pub slot: usize,
    /// The client's number, because a slot is reused.
    pub client: u64,
}

/// The attributes that a client has set for itself.
#[derive(Debug, Default, Clone)]
pub(crate) struct ClientAttributes {
    /// The name of its user.
    pub user: Vec<u8>,
    /// Set with CLIENT SETNAME.
    pub name: Vec<u8>,
    /// Set with CLIENT SETINFO.
    pub library: Vec<u8>,
    pub library_version: Vec<u8>,
    pub no_evict: bool,
}

impl ClientAttributes {
    /// Returns the bytes of the texts.
    pub(crate) fn memory(&self) -> usize {
        [&self.user, &self.name, &self.library, &self.library_version]
            .iter()
            .map(|text| text.capacity())
            .sum()
    }
}

/// A mode of a client that CLIENT LIST shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientMode {
    /// MONITOR
    Monitor = 1,
    /// CLIENT TRACKING
    Tracking = 2,
    /// CLIENT TRACKING with BCAST
    Broadcast = 4,
    /// The client that should receive its invalidations has disconnected.
    BrokenRedirect = 8,
}

/// A client as other clients see it.
#[derive(Debug)]
pub(crate) struct ClientRecord {
    pub place: ClientLocation,
    pub address: Option<ConnectionAddress>,
    pub local: Option<ConnectionAddress>,
    pub file: i32,
    /// Measured from the server's start.
    connected: Duration,
    last_used_s: AtomicU64,
    command: AtomicU16,
    protocol: AtomicU8,
    /// Requests queued since MULTI; -1 without MULTI.
    queued: AtomicI64,
    killed: AtomicBool,
    /// Whether the client waits for a key.
    blocked: AtomicBool,
    /// Bits of [`ClientMode`].
    modes: AtomicU8,
    /// The client that receives its invalidations; 0 for itself.
    redirect: AtomicU64,
    /// The selected database.
    database: AtomicU32,
    /// Subscriptions to channels, patterns and shard channels.
    subscriptions: [AtomicUsize; 3],
    attributes: Mutex<ClientAttributes>,
    pub sizes: ClientSizes,
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
            blocked: AtomicBool::new(false),
            modes: AtomicU8::new(0),
            redirect: AtomicU64::new(0),
            database: AtomicU32::new(0),
            subscriptions: Default::default(),
            attributes: Mutex::default(),
            sizes: ClientSizes::default(),
        }
    }

    /// Notes that the client has sent or received bytes.
    #[inline]
    pub(crate) fn mark_active(&self, now: Duration) {
        // Relaxed, like all here: only one worker writes it, and it is ordered with nothing.
        self.last_used_s.store(now.as_secs(), Ordering::Relaxed);
    }

    pub(crate) fn set_database(&self, database: u32) {
        self.database.store(database, Ordering::Relaxed);
    }

    pub(crate) fn database(&self) -> u32 {
        self.database.load(Ordering::Relaxed)
    }

    /// Notes the command of the last request.
    #[inline]
    pub(crate) fn set_command(&self, command: u16) {
        self.command.store(command, Ordering::Relaxed);
    }

    pub(crate) fn attributes(&self) -> MutexGuard<'_, ClientAttributes> {
        lock(&self.attributes)
    }

    pub(crate) fn set_protocol(&self, protocol: Protocol) {
        self.protocol.store(if protocol == Protocol::Resp3 { 3 } else { 2 }, Ordering::Relaxed);
    }

    pub(crate) fn protocol(&self) -> u8 {
        self.protocol.load(Ordering::Relaxed)
    }

    /// Sets the number of requests queued since MULTI; `None` after the transaction.
    pub(crate) fn set_queued(&self, count: Option<usize>) {
        let count = count.map_or(-1, |count| i64::try_from(count).unwrap_or(i64::MAX));
        self.queued.store(count, Ordering::Relaxed);
    }

    /// Returns the number of requests queued since MULTI. It is reset with the reply of EXEC.
    pub(crate) fn queued(&self) -> Option<i64> {
        Some(self.queued.load(Ordering::Relaxed)).filter(|count| *count >= 0)
    }

    /// Returns the seconds since the client connected, and since it was last active.
    pub(crate) fn age_and_idle(&self, now: Duration) -> (u64, u64) {
        let idle = now.as_secs().saturating_sub(self.last_used_s.load(Ordering::Relaxed));
        (now.saturating_sub(self.connected).as_secs(), idle)
    }

    /// Returns the tag of its last command.
    pub(crate) fn command(&self) -> u16 {
        self.command.load(Ordering::Relaxed)
    }

    /// Sets whether the client waits for a key.
    pub(crate) fn set_blocked(&self, blocked: bool) {
        self.blocked.store(blocked, Ordering::Relaxed);
    }

    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked.load(Ordering::Relaxed)
    }

    pub(crate) fn set_mode(&self, mode: ClientMode, on: bool) {
        if on {
            self.modes.fetch_or(mode as u8, Ordering::Relaxed);
        } else {
            self.modes.fetch_and(!(mode as u8), Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn has_mode(&self, mode: ClientMode) -> bool {
        self.modes.load(Ordering::Relaxed) & mode as u8 != 0
    }

    /// Sets the client that receives its invalidations; 0 for itself.
    pub(crate) fn set_redirect(&self, client: u64) {
        self.redirect.store(client, Ordering::Relaxed);
    }

    /// Returns the client that receives its invalidations; 0 for itself.
    pub(crate) fn redirect(&self) -> u64 {
        self.redirect.load(Ordering::Relaxed)
    }

    /// Returns whether most messages to the client are not answers to single requests. Then its
    /// output has the limits of subscribers.
    #[inline]
    pub(crate) fn hears(&self) -> bool {
        self.has_mode(ClientMode::Monitor) || self.subscribes()
    }

    /// Sets the numbers of subscriptions to channels, patterns and shard channels.
    pub(crate) fn set_subscriptions(&self, counts: [usize; 3]) {
        for (place, count) in self.subscriptions.iter().zip(counts) {
            place.store(count, Ordering::Relaxed);
        }
    }

    pub(crate) fn subscriptions(&self) -> [usize; 3] {
        [0, 1, 2].map(|at| self.subscriptions[at].load(Ordering::Relaxed))
    }

    /// Returns whether the client has subscriptions.
    pub(crate) fn subscribes(&self) -> bool {
        self.subscriptions() != [0; 3]
    }

    /// Marks the client as killed. Returns `false` if it was marked already.
    pub(crate) fn kill(&self) -> bool {
        !self.killed.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }
}

/// The records of all clients.
#[derive(Debug, Default)]
pub(crate) struct ClientRegistry(Mutex<BTreeMap<u64, Arc<ClientRecord>>>);

impl ClientRegistry {
    pub(crate) fn add(&self, record: Arc<ClientRecord>) {
        lock(&self.0).insert(record.place.client, record);
    }

    pub(crate) fn remove(&self, client: u64) {
        lock(&self.0).remove(&client);
    }

    /// Returns the record of a client, if it is connected.
    pub(crate) fn find(&self, client: u64) -> Option<Arc<ClientRecord>> {
        lock(&self.0).get(&client).cloned()
    }

    /// Returns the clients that are not killed, by number.
    pub(crate) fn all(&self) -> Vec<Arc<ClientRecord>> {
        let records = lock(&self.0);
        records.values().filter(|record| !record.is_killed()).cloned().collect()
    }
}
