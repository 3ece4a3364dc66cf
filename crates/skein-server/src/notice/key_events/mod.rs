//! Finds the keys that a command has changed, for keyspace notifications and for CLIENT TRACKING.
//!
//! ```text
//!   states of the command's keys ─► command ─► states again
//!                                                │ the two differ
//!                          ┌─ notifications ◄────┴────► invalidations ─┐
//!                          │  event_rules: SET ─► set,   tracking:      │
//!                          ▼  INCR ─► incrby, …          key ─► clients ▼
//!                        channels                              mail to their workers
//! ```
//!
//! One place compares the states of keys around each command, for every command alike. So no
//! command forgets to tell, and a command does not depend on this module. While no client observes
//! keys, the cost is one load of [`KeyObserver::level`] for a batch of requests.
//!
//! # Invariants
//! 1. While clients observe keys, a writer holds the lock `order` from the first look at the keys
//!    until the changes are published. So events of a key have the order of its writes, and two
//!    equal states of a key mean that it was not written in between.
//! 2. A worker that runs requests has seen the level that its clients were promised: the reply that
//!    promises it is sent after all workers have passed the exclusion gate.
//! 3. `order` is acquired after the exclusion gate, and before the engine is entered.
//!
//! Read in this order: this file; `classes`; `changes` (the log of a command); `watch` (the
//! comparison) with `stream_watch`; `event_rules`; `by_request`; `tracking` and `invalidation` (its
//! messages).
//!
//! Source: Redis's keyspace notifications and client-side caching. Design: `docs/design/server.md`.

pub(crate) mod by_request;
mod changes;
mod classes;
mod event_rules;
mod invalidation;
pub(crate) mod stream_watch;
mod tracking;
mod watch;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use skein_sync::locks::lock;

use crate::clients::waiting_clients::WaitingClients;
use crate::notice::channels::{ChannelKind, Channels};
use crate::request::databases::Databases;
use skein_data::{RemovalBatch, RemovalObserver, StoredKeyspace, name_within};

pub(crate) use changes::KeyChanges;
pub(crate) use classes::{EventClass, EventClasses};
pub(crate) use event_rules::EventRule;
pub(crate) use invalidation::{Invalidation, encode_broken};
pub(crate) use stream_watch::StreamPart;
pub(crate) use tracking::{TrackedClient, TrackingTable};
pub(crate) use watch::CommandWatch;

/// The events that clients observe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ObservedLevel(u32);

impl ObservedLevel {
    /// The bit of CLIENT TRACKING, beside those of [`EventClass`].
    const TRACKING: u32 = 1 << 31;

    /// Returns whether clients observe keys at all.
    #[inline]
    pub(crate) fn is_on(self) -> bool {
        self.0 != 0
    }

    /// Returns whether events of this class are published.
    pub(crate) fn has(self, class: EventClass) -> bool {
        EventClasses::from_bits(self.0).has(class)
    }

    /// Returns whether any client tracks keys.
    pub(crate) fn tracks(self) -> bool {
        self.0 & Self::TRACKING != 0
    }

    /// Returns whether clients observe keys that have expired.
    fn wants_expired(self) -> bool {
        self.tracks() || self.has(EventClass::Expired)
    }

    /// Returns whether clients observe reads that find no key.
    pub(crate) fn wants_misses(self) -> bool {
        self.wants_expired() || self.has(EventClass::Miss)
    }
}

/// The permission to write while clients observe keys (invariant 1).
pub(crate) type WriteOrder<'o> = MutexGuard<'o, ()>;

/// Tells clients which keys change.
#[derive(Debug)]
pub(crate) struct KeyObserver {
    level: AtomicU32,
    /// The classes of `notify-keyspace-events`.
    classes: AtomicU32,
    order: Mutex<()>,
    channels: Arc<Channels>,
    databases: Arc<Databases>,
    waiting: Arc<WaitingClients>,
    pub tracking: TrackingTable,
}

impl KeyObserver {
    pub(crate) fn new(
        tracking: TrackingTable,
        channels: Arc<Channels>,
        waiting: Arc<WaitingClients>,
        databases: Arc<Databases>,
        classes: EventClasses,
    ) -> Self {
        let observer = Self {
            level: AtomicU32::new(0),
            classes: AtomicU32::new(0),
            order: Mutex::default(),
            channels,
            databases,
            waiting,
            tracking,
        };
        observer.set_classes(classes);
        observer
    }

    /// Returns the events that clients observe.
    #[inline]
    pub(crate) fn level(&self) -> ObservedLevel {
        // Relaxed: invariant 2. The threads that remove expired keys may see a new level late. They
        // remove a key half a second after it was visible the last time.
        ObservedLevel(self.level.load(Ordering::Relaxed))
    }

    pub(crate) fn classes(&self) -> EventClasses {
        EventClasses::from_bits(self.classes.load(Ordering::Relaxed))
    }

    /// Sets the classes of `notify-keyspace-events`.
    pub(crate) fn set_classes(&self, classes: EventClasses) {
        self.classes.store(classes.bits(), Ordering::Relaxed);
        let published = if classes.are_published() { classes.bits() } else { 0 };
        // A loop, because a client may begin to track keys meanwhile.
        let _ = self.level.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |level| {
            Some(level & ObservedLevel::TRACKING | published)
        });
    }

    /// Begins or changes the tracking of a client; see [`TrackingTable::enable`].
    pub(crate) fn track(&self, client: u64, tracked: TrackedClient, prefixes: &[Vec<u8>]) {
        self.tracking.enable(client, tracked, prefixes, || {
            self.level.fetch_or(ObservedLevel::TRACKING, Ordering::Relaxed);
        });
    }

    /// Ends the tracking of a client.
    pub(crate) fn stop_tracking(&self, client: u64, prefixes: &[Vec<u8>]) {
        self.tracking.disable(client, prefixes, || {
            self.level.fetch_and(!ObservedLevel::TRACKING, Ordering::Relaxed);
        });
    }

    /// Acquires the right to write; see invariants 1 and 3.
    pub(crate) fn order(&self) -> WriteOrder<'_> {
        lock(&self.order)
    }

    /// Returns an empty log for the writes of a client, and the right to write if clients observe
    /// keys.
    #[inline]
    pub(crate) fn begin(&self, client: u64) -> (KeyChanges, Option<WriteOrder<'_>>) {
        let changes = KeyChanges::of(self, client);
        let order = changes.is_on().then(|| self.order());
        (changes, order)
    }

    /// Returns whether a client waits for a key and must hear of its removal.
    #[inline]
    pub(crate) fn has_waiting(&self) -> bool {
        self.waiting.count_needing_keys() > 0
    }

    /// Tells a worker of keys that were removed without a command, if clients wait for them.
    pub(crate) fn tell_waiting<'k>(&self, removed: impl Iterator<Item = &'k [u8]>) {
        if !self.has_waiting() {
            return;
        }
        let waited: Vec<_> = removed.filter(|key| self.waiting.waits_for(key)).map(<[u8]>::to_vec).collect();
        if !waited.is_empty() {
            self.tracking.mailboxes()[0].send(|mail| mail.removed_keys.extend(waited));
        }
    }

    /// Publishes an event of a key of the store.
    fn notify(&self, level: ObservedLevel, class: EventClass, event: &str, key: &[u8]) {
        if !level.has(class) || !self.channels.any() {
            return;
        }
        // Keys of other keyspaces than those of databases are changed by no client.
        let holding = StoredKeyspace::holding(key).and_then(|keyspace| self.databases.holding(keyspace));
        let Some(database) = holding else { return };
        let key = name_within(key);
        let send = |channel: &[u8], payload: &[u8]| {
            self.channels.publish(ChannelKind::Channel, channel, payload, |worker, delivery| {
                self.tracking.mailboxes()[worker].send(|mail| mail.messages.push(delivery));
            });
        };
        if level.has(EventClass::Keyspace) {
            let channel = format!("__keyspace@{database}__:");
            send(&[channel.as_bytes(), key].concat(), event.as_bytes());
        }
        if level.has(EventClass::Keyevent) {
            send(format!("__keyevent@{database}__:{event}").as_bytes(), key);
        }
    }
}

impl RemovalObserver for KeyObserver {
    fn begin(&self) -> Option<Box<dyn RemovalBatch + '_>> {
        let level = self.level();
        // A client that has begun to wait a moment ago has seen its key, as above.
        (level.wants_expired() || self.has_waiting()).then(|| {
            let order = self.order();
            Box::new(ExpiredKeys { observer: self, level, keys: Vec::new(), order }) as Box<dyn RemovalBatch>
        })
    }
}

/// Keys that a thread of the engine removes.
struct ExpiredKeys<'o> {
    observer: &'o KeyObserver,
    level: ObservedLevel,
    keys: Vec<Box<[u8]>>,
    #[expect(dead_code, reason = "held until the events are published")]
    order: WriteOrder<'o>,
}

impl RemovalBatch for ExpiredKeys<'_> {
    fn expired(&mut self, key: &[u8]) {
        self.keys.push(key.into());
    }
}

impl Drop for ExpiredKeys<'_> {
    fn drop(&mut self) {
        self.observer.tell_waiting(self.keys.iter().map(|key| &key[..]));
        for key in &self.keys {
            self.observer.notify(self.level, EventClass::Expired, "expired", key);
        }
        self.observer.tracking.invalidate(self.keys.drain(..).map(|key| (key, 0)).collect());
    }
}
