//! The channels of publish and subscribe, and the receivers of their messages.
//!
//! ```text
//!   SUBSCRIBE c    worker 0 ─► subscribe ─► channels: c ─► clients, by their number
//!   PUBLISH c m    worker 1 ─► publish ──► one ChannelMessage ─► mail to each worker with a receiver
//!                                            worker 0 ─► the output of each of its clients
//! ```
//!
//! # Invariants
//! 1. A message is mailed to all workers under the lock, so all receivers see messages in one
//!    order.
//! 2. Subscriptions and messages have numbers of one sequence. A client receives a message if the
//!    number of its subscription is less. So a client never receives a message that was published
//!    before its subscription, or between two of them, even if the message was in the mail
//!    meanwhile.
//!
//! Design: `docs/design/server.md`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use skein_sync::locks::lock;

use crate::clients::client_registry::ClientLocation;
use crate::redis::glob::Glob;
use crate::resp::{Protocol, Reply};

/// The kind of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChannelKind {
    /// SUBSCRIBE
    Channel,
    /// PSUBSCRIBE: all channels that match.
    Pattern,
    /// SSUBSCRIBE
    Shard,
}

impl ChannelKind {
    pub(crate) const ALL: [Self; 3] = [Self::Channel, Self::Pattern, Self::Shard];

    /// Returns the first element of a message.
    fn message(self) -> &'static [u8] {
        match self {
            Self::Channel => b"message",
            Self::Pattern => b"pmessage",
            Self::Shard => b"smessage",
        }
    }
}

/// The bytes of a message besides its texts, at most.
const MESSAGE_HEADS: usize = 96;

/// A message on its way to subscribers of one name.
#[derive(Debug)]
pub(crate) struct ChannelMessage {
    pub kind: ChannelKind,
    /// The channel or the pattern that was subscribed to.
    pub name: Arc<[u8]>,
    channel: Arc<[u8]>,
    payload: Arc<[u8]>,
    /// See invariant 2.
    pub number: u64,
}

impl ChannelMessage {
    /// Returns the message as a version of the protocol has it.
    pub(crate) fn encode(&self, protocol: Protocol) -> Vec<u8> {
        let texts = self.name.len() + self.channel.len() + self.payload.len();
        let mut bytes = Vec::with_capacity(texts + MESSAGE_HEADS);
        let mut reply = Reply::new(&mut bytes, protocol);
        let is_pattern = self.kind == ChannelKind::Pattern;
        reply.push(3 + usize::from(is_pattern));
        reply.bulk(self.kind.message());
        if is_pattern {
            reply.bulk(&self.name);
        }
        reply.bulk(&self.channel);
        reply.bulk(&self.payload);
        bytes
    }
}

/// A message, and its receivers at one worker.
#[derive(Debug)]
pub(crate) struct ChannelDelivery {
    pub message: Arc<ChannelMessage>,
    pub clients: Arc<[ClientLocation]>,
}

/// The subscribers of one name.
#[derive(Debug, Default)]
struct Receivers {
    /// The name as a pattern, if it is one.
    pattern: Option<Glob>,
    /// By their numbers.
    clients: BTreeMap<u64, ClientLocation>,
    /// The same by their workers; empty after a change, until the next message.
    by_worker: Vec<(usize, Arc<[ClientLocation]>)>,
}

impl Receivers {
    fn add(&mut self, who: ClientLocation) {
        self.clients.insert(who.client, who);
        self.by_worker.clear();
    }

    /// Removes a client. Returns whether none is left.
    fn remove(&mut self, client: u64) -> bool {
        self.clients.remove(&client);
        self.by_worker.clear();
        self.clients.is_empty()
    }

    fn by_worker(&mut self) -> &[(usize, Arc<[ClientLocation]>)] {
        if self.by_worker.is_empty() {
            let mut divided: BTreeMap<usize, Vec<ClientLocation>> = BTreeMap::new();
            for who in self.clients.values() {
                divided.entry(who.worker).or_default().push(*who);
            }
            self.by_worker = divided.into_iter().map(|(worker, clients)| (worker, clients.into())).collect();
        }
        &self.by_worker
    }
}

/// A subscription of a client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subscription {
    /// See invariant 2.
    pub number: u64,
    /// The bytes that it takes here and at its client, about.
    pub bytes: usize,
}

/// Bytes of a subscription besides its name and its pattern: its parts of four tables. The first
/// subscriber of a name counts.
const SUBSCRIPTION: usize = 600;

/// All subscriptions of a server.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    /// The number of names that have a subscriber.
    names: AtomicUsize,
    tables: Mutex<ChannelTables>,
}

#[derive(Debug, Default)]
struct ChannelTables {
    /// By kind.
    names: [HashMap<Vec<u8>, Receivers>; ChannelKind::ALL.len()],
    /// The last number of a subscription or message.
    last: u64,
}

impl ChannelTables {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}

impl Channels {
    /// Returns whether any client has a subscription.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.names.load(Ordering::Relaxed) > 0
    }

    /// Adds a subscription, which must be new.
    pub(crate) fn subscribe(&self, kind: ChannelKind, name: &[u8], who: ClientLocation) -> Subscription {
        let mut tables = lock(&self.tables);
        // The name is here and at the client.
        let mut bytes = SUBSCRIPTION + 2 * name.len();
        let pattern = || (kind == ChannelKind::Pattern).then(|| Glob::new(name));
        let new = || Receivers { pattern: pattern(), ..Receivers::default() };
        let receivers = tables.names[kind as usize].entry(name.to_vec()).or_insert_with(new);
        bytes += receivers.pattern.as_ref().map_or(0, Glob::memory);
        receivers.add(who);
        self.count(&tables);
        Subscription { number: tables.next(), bytes }
    }

    /// Removes a subscription.
    pub(crate) fn unsubscribe(&self, kind: ChannelKind, name: &[u8], client: u64) {
        let mut tables = lock(&self.tables);
        let names = &mut tables.names[kind as usize];
        if names.get_mut(name).is_some_and(|receivers| receivers.remove(client)) {
            names.remove(name);
        }
        self.count(&tables);
    }

    fn count(&self, tables: &ChannelTables) {
        // Relaxed: a publisher that has heard of a subscription has thereby acquired it.
        self.names.store(tables.names.iter().map(HashMap::len).sum(), Ordering::Relaxed);
    }

    /// Publishes a message to a channel (`Channel`, with the patterns that match it, or `Shard`).
    /// Calls `send` with each worker's deliveries, under the lock. Returns the number of receivers.
    pub(crate) fn publish(
        &self,
        kind: ChannelKind,
        channel: &[u8],
        payload: &[u8],
        mut send: impl FnMut(usize, ChannelDelivery),
    ) -> usize {
        if !self.any() {
            return 0;
        }
        let mut tables = lock(&self.tables);
        let number = tables.next();
        let mut shared = None;
        let mut count = 0;
        let mut deliver = |kind: ChannelKind, pattern: Option<&[u8]>, receivers: &mut Receivers| {
            let (channel, payload): (Arc<[u8]>, Arc<[u8]>) =
                shared.get_or_insert_with(|| (Arc::from(channel), Arc::from(payload))).clone();
            let name = pattern.map_or_else(|| Arc::clone(&channel), Arc::from);
            let message = Arc::new(ChannelMessage { kind, name, channel, payload, number });
            count += receivers.clients.len();
            for (worker, clients) in receivers.by_worker() {
                let (message, clients) = (Arc::clone(&message), Arc::clone(clients));
                send(*worker, ChannelDelivery { message, clients });
            }
        };
        let tables = &mut *tables;
        if let Some(receivers) = tables.names[kind as usize].get_mut(channel) {
            deliver(kind, None, receivers);
        }
        if kind == ChannelKind::Channel {
            for (name, receivers) in &mut tables.names[ChannelKind::Pattern as usize] {
                if receivers.pattern.as_ref().is_some_and(|pattern| pattern.matches(channel, &mut 0)) {
                    deliver(ChannelKind::Pattern, Some(name), receivers);
                }
            }
        }
        count
    }

    /// Returns the channels with subscribers that match a pattern, in order.
    pub(crate) fn active(&self, kind: ChannelKind, pattern: Option<&Glob>) -> Vec<Vec<u8>> {
        let tables = lock(&self.tables);
        let is_asked = |name: &&Vec<u8>| pattern.is_none_or(|pattern| pattern.matches(name, &mut 0));
        let mut names: Vec<Vec<u8>> = tables.names[kind as usize].keys().filter(is_asked).cloned().collect();
        names.sort();
        names
    }

    /// Returns the number of subscribers of a name.
    pub(crate) fn subscribers(&self, kind: ChannelKind, name: &[u8]) -> usize {
        lock(&self.tables).names[kind as usize].get(name).map_or(0, |receivers| receivers.clients.len())
    }

    /// Returns the clients with a subscription to a name that `is_meant` accepts.
    pub(crate) fn clients_of(&self, is_meant: impl Fn(ChannelKind, &[u8]) -> bool) -> BTreeSet<u64> {
        let tables = lock(&self.tables);
        let meant = ChannelKind::ALL.into_iter().flat_map(|kind| {
            let is_meant = &is_meant;
            tables.names[kind as usize].iter().filter(move |(name, _)| is_meant(kind, name))
        });
        meant.flat_map(|(_, receivers)| receivers.clients.keys().copied()).collect()
    }

    /// Returns the number of names of this kind that have a subscriber.
    pub(crate) fn names(&self, kind: ChannelKind) -> usize {
        lock(&self.tables).names[kind as usize].len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(worker: usize, number: u64) -> ClientLocation {
        ClientLocation { worker, slot: 0, client: number }
    }

    fn published(
        channels: &Channels,
        kind: ChannelKind,
        channel: &[u8],
    ) -> (usize, Vec<(usize, usize, u64)>) {
        let mut sent = Vec::new();
        let count = channels.publish(kind, channel, b"m", |worker, delivery| {
            sent.push((worker, delivery.clients.len(), delivery.message.number));
        });
        sent.sort_unstable();
        (count, sent)
    }

    #[test]
    fn messages_reach_the_workers_of_their_subscribers() {
        let channels = Channels::default();
        assert_eq!(published(&channels, ChannelKind::Channel, b"c"), (0, vec![]));
        let first = channels.subscribe(ChannelKind::Channel, b"c", client(0, 1)).number;
        channels.subscribe(ChannelKind::Channel, b"c", client(0, 2));
        channels.subscribe(ChannelKind::Pattern, b"c*", client(1, 3));
        let last = channels.subscribe(ChannelKind::Shard, b"c", client(2, 4)).number;
        assert!(first < last);
        let (count, sent) = published(&channels, ChannelKind::Channel, b"c");
        assert_eq!((count, sent.len()), (3, 2));
        assert!(sent.iter().all(|(_, _, number)| *number > last));
        assert_eq!(published(&channels, ChannelKind::Channel, b"d"), (0, vec![]));
        assert_eq!(published(&channels, ChannelKind::Shard, b"c").0, 1);
        channels.subscribe(ChannelKind::Channel, b"c", client(1, 5));
        assert_eq!(published(&channels, ChannelKind::Channel, b"c").0, 4);
        channels.unsubscribe(ChannelKind::Channel, b"c", 5);
        assert_eq!(published(&channels, ChannelKind::Channel, b"c").0, 3);
        assert_eq!(channels.active(ChannelKind::Channel, None), [b"c"]);
        assert_eq!(channels.subscribers(ChannelKind::Channel, b"c"), 2);
        for number in [1, 2, 2] {
            channels.unsubscribe(ChannelKind::Channel, b"c", number);
        }
        assert_eq!((channels.names(ChannelKind::Channel), channels.names(ChannelKind::Pattern)), (0, 1));
    }

    /// Incident: a subscription to a pattern counted as the bytes of its name. Consequence: a
    /// client took five times the memory that its limit allowed. Fix: the compiled pattern counts,
    /// too.
    #[test]
    fn a_pattern_counts_with_its_compiled_form() {
        let channels = Channels::default();
        let name = [&b"x".repeat(1_000)[..], &b"[a-z]*".repeat(10)].concat();
        let bytes = |kind, number| channels.subscribe(kind, &name, client(0, number)).bytes;
        let (channel, pattern) = (bytes(ChannelKind::Channel, 1), bytes(ChannelKind::Pattern, 2));
        let compiled = Glob::new(&name);
        assert!(compiled.memory() > 1_000 * 2, "an element is larger than its byte");
        assert_eq!(pattern - channel, compiled.memory());
        assert_eq!(bytes(ChannelKind::Pattern, 3), pattern, "each subscriber counts all of it");
    }

    #[test]
    fn messages_have_the_forms_of_both_protocols() {
        let [name, channel, payload] = [&b"c*"[..], b"ch", b"m"];
        let message = |kind| ChannelMessage {
            kind,
            name: name.into(),
            channel: channel.into(),
            payload: payload.into(),
            number: 1,
        };
        let text =
            |kind, protocol| String::from_utf8(message(kind).encode(protocol)).unwrap().replace("\r\n", "|");
        assert_eq!(text(ChannelKind::Channel, Protocol::Resp2), "*3|$7|message|$2|ch|$1|m|");
        assert_eq!(text(ChannelKind::Pattern, Protocol::Resp3), ">4|$8|pmessage|$2|c*|$2|ch|$1|m|");
        assert_eq!(text(ChannelKind::Shard, Protocol::Resp3), ">3|$8|smessage|$2|ch|$1|m|");
    }
}
