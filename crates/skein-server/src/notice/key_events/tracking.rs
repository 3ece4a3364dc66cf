//! The keys that clients have read and may keep, and the prefixes that they want to hear of.
//!
//! ```text
//!   GET k      worker 0 ─► remember ─► by_key: k ─► clients ─┐       then it reads the key
//!   SET k v    worker 1 ─► invalidate ◄──────────────────────┘       after it has written
//!                            └─► mail to the worker of each client ─► its output
//! ```
//!
//! # Invariants
//! 1. A client is remembered before its worker reads the key, and `invalidate` is called after the
//!    key was written. Both take the lock. So if the read did not see the write, `invalidate` sees
//!    the client: if `invalidate` had run first, the write would have happened before the read.
//! 2. A message reaches the output of its client after the reply to the read, because the client's
//!    worker takes its mail between its requests.
//! 3. A client of `by_key` is told at most once. It is remembered anew when it reads the key again.
//!
//! Disconnected clients stay in `by_key` until the key changes. They are removed from a list of
//! clients before it grows. So the list has at most twice as many numbers as clients that track
//! keys.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use skein_sync::locks::lock;

use super::invalidation::{InvalidatedKeys, Invalidation};
use crate::clients::client_registry::{ClientLocation, ClientRegistry};
use crate::planted_bugs::{self, PlantedBug};
use crate::shared::mailbox::Mailbox;
use skein_data::{is_reserved, name_within};

/// Bytes of a key besides its own, and of a client of it.
const PER_KEY: usize = 96;
const PER_CLIENT: usize = size_of::<u64>();

/// If a key has at least this number of clients, disconnected clients are removed before the list
/// grows.
const CLIENTS_LEAST: usize = 16;

/// The most keys over the limit that are removed under one lock, and so by one read.
const REMOVED_TOGETHER: usize = 64;

/// A client that tracks keys.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrackedClient {
    pub place: ClientLocation,
    /// Not told of its own changes.
    pub no_loop: bool,
    /// Told of all keys with its prefixes.
    pub broadcast: bool,
    /// The client that is told instead; 0 for itself.
    pub redirect: u64,
}

/// The figures of INFO.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TrackingSums {
    pub clients: usize,
    pub keys: usize,
    pub items: usize,
    pub prefixes: usize,
}

/// The keys and prefixes that all clients track.
#[derive(Debug)]
pub(crate) struct TrackingTable {
    tables: Mutex<TrackingTables>,
    /// The bytes of the keys and their clients, readable without the lock.
    bytes: AtomicUsize,
    clients: Arc<ClientRegistry>,
    mailboxes: Arc<[Mailbox]>,
}

#[derive(Debug, Default)]
struct TrackingTables {
    clients: HashMap<u64, TrackedClient>,
    /// The clients that have read a key, by number.
    by_key: BTreeMap<Box<[u8]>, Vec<u64>>,
    prefixes: BTreeMap<Vec<u8>, BTreeSet<u64>>,
    items: usize,
    bytes: usize,
    /// The last key that was removed because there were too many.
    hand: Box<[u8]>,
}

/// A changed key, and the client that has changed it.
type ChangedKey<'c> = (&'c Box<[u8]>, u64);

impl TrackingTables {
    fn remember(&mut self, key: &[u8], client: u64) {
        let Self { clients, by_key, items, bytes, .. } = self;
        if !by_key.contains_key(key) {
            by_key.insert(key.into(), Vec::new());
            *bytes += PER_KEY + key.len();
        }
        let Some(readers) = by_key.get_mut(key) else { return };
        let Err(at) = readers.binary_search(&client) else { return };
        readers.insert(at, client);
        (*items, *bytes) = (*items + 1, *bytes + PER_CLIENT);
        if readers.len() >= CLIENTS_LEAST && readers.len() == readers.capacity() {
            let before = readers.len();
            readers.retain(|reader| clients.contains_key(reader));
            let gone = before - readers.len();
            (*items, *bytes) = (*items - gone, *bytes - gone * PER_CLIENT);
        }
    }

    fn forget(&mut self, key: &[u8]) -> Option<(Box<[u8]>, Vec<u64>)> {
        let (key, readers) = self.by_key.remove_entry(key)?;
        self.items -= readers.len();
        self.bytes -= PER_KEY + key.len() + readers.len() * PER_CLIENT;
        Some((key, readers))
    }

    /// Returns the next key to remove when there are too many. Keys are removed in turn.
    fn next_to_remove(&mut self) -> Option<Box<[u8]>> {
        let after = (Bound::Excluded(&*self.hand), Bound::Unbounded);
        let next = self.by_key.range::<[u8], _>(after).next().or_else(|| self.by_key.iter().next());
        self.hand = next?.0.clone();
        Some(self.hand.clone())
    }
}

impl TrackingTable {
    pub(crate) fn new(clients: Arc<ClientRegistry>, mailboxes: Arc<[Mailbox]>) -> Self {
        Self { tables: Mutex::default(), bytes: AtomicUsize::new(0), clients, mailboxes }
    }

    pub(super) fn mailboxes(&self) -> &[Mailbox] {
        &self.mailboxes
    }

    /// Begins to track keys for a client, or changes how. Adds the prefixes to those that it has.
    /// Calls `then` under the lock.
    pub(super) fn enable(
        &self,
        client: u64,
        tracked: TrackedClient,
        prefixes: &[Vec<u8>],
        then: impl FnOnce(),
    ) {
        let mut tables = lock(&self.tables);
        tables.clients.insert(client, tracked);
        for prefix in prefixes {
            tables.prefixes.entry(prefix.clone()).or_default().insert(client);
        }
        then();
    }

    /// Stops to track keys for a client, which has these prefixes. If it was the last client,
    /// forgets all keys and calls `then` under the lock.
    pub(super) fn disable(&self, client: u64, prefixes: &[Vec<u8>], then: impl FnOnce()) {
        let mut tables = lock(&self.tables);
        for prefix in prefixes {
            if let Some(clients) = tables.prefixes.get_mut(prefix) {
                clients.remove(&client);
                if clients.is_empty() {
                    tables.prefixes.remove(prefix);
                }
            }
        }
        if tables.clients.remove(&client).is_some() && tables.clients.is_empty() {
            *tables = TrackingTables::default();
            self.count(&tables);
            then();
        }
    }

    fn count(&self, tables: &TrackingTables) {
        // Relaxed: a number for people and for the memory limit.
        self.bytes.store(tables.bytes, Ordering::Relaxed);
    }

    /// Returns the bytes of the remembered keys.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn sums(&self) -> TrackingSums {
        let tables = lock(&self.tables);
        TrackingSums {
            clients: tables.clients.len(),
            keys: tables.by_key.len(),
            items: tables.items,
            prefixes: tables.prefixes.len(),
        }
    }

    /// Remembers that a client is about to read keys. Keeps at most `most` keys (0: any number):
    /// others are removed, and their clients are told as if they had changed.
    pub(crate) fn remember<'k>(&self, keys: impl IntoIterator<Item = &'k [u8]>, client: u64, most: usize) {
        let mut tables = lock(&self.tables);
        // A transaction may end the tracking of keys that it has read.
        if !tables.clients.contains_key(&client) {
            return;
        }
        for key in keys {
            tables.remember(key, client);
        }
        self.remove_some(&mut tables, most);
        self.count(&tables);
    }

    /// Removes keys until at most `most` are left (0: any number), and tells their clients.
    pub(crate) fn keep_at_most(&self, most: usize) {
        loop {
            let mut tables = lock(&self.tables);
            self.remove_some(&mut tables, most);
            self.count(&tables);
            if most == 0 || tables.by_key.len() <= most {
                return;
            }
        }
    }

    /// Removes some of the keys over the limit, in turn.
    fn remove_some(&self, tables: &mut TrackingTables, most: usize) {
        for _ in 0..REMOVED_TOGETHER {
            if most == 0 || tables.by_key.len() <= most {
                return;
            }
            let Some(key) = tables.next_to_remove() else { return };
            self.forget(tables, &key, None);
        }
    }

    /// Tells the clients of a key to forget it, except a client that has changed the key itself and
    /// has asked not to be told of that.
    fn forget(&self, tables: &mut TrackingTables, key: &[u8], changed_by: Option<u64>) {
        let Some((key, mut readers)) = tables.forget(key) else { return };
        if planted_bugs::is_on(PlantedBug::LostInvalidation) && readers.len() > 1 {
            readers.pop();
        }
        let keys = InvalidatedKeys::Some([key].into());
        for reader in readers {
            let Some(client) = tables.clients.get(&reader) else { continue };
            if !(client.broadcast || client.no_loop && changed_by == Some(reader)) {
                self.send(client, &keys);
            }
        }
    }

    /// Tells clients that keys of the store have changed, each by a client (0: by none). As in
    /// Redis, clients hear the name, whatever the database.
    pub(super) fn invalidate(&self, mut changed: Vec<(Box<[u8]>, u64)>) {
        if changed.is_empty() {
            return;
        }
        for (key, _) in changed.iter_mut().filter(|(key, _)| is_reserved(key)) {
            *key = name_within(key).into();
        }
        let mut tables = lock(&self.tables);
        for (key, by) in &changed {
            self.forget(&mut tables, key, Some(*by));
        }
        self.count(&tables);
        self.broadcast(&tables, changed);
    }

    /// Tells the clients of each prefix of the keys that have it, in one message.
    fn broadcast(&self, tables: &TrackingTables, changed: Vec<(Box<[u8]>, u64)>) {
        if tables.prefixes.is_empty() {
            return;
        }
        // The last client that has changed a key counts.
        let changed: BTreeMap<Box<[u8]>, u64> = changed.into_iter().collect();
        let mut by_prefix: BTreeMap<&[u8], Vec<ChangedKey<'_>>> = BTreeMap::new();
        for (key, by) in &changed {
            for_each_prefix(&tables.prefixes, key, |prefix| {
                by_prefix.entry(prefix).or_default().push((key, *by));
            });
        }
        for (prefix, keys) in by_prefix {
            let Some(clients) = tables.prefixes.get(prefix) else { continue };
            let all = InvalidatedKeys::Some(keys.iter().map(|(key, _)| (*key).clone()).collect());
            for client in clients {
                let Some(tracked) = tables.clients.get(client) else { continue };
                if !tracked.no_loop || keys.iter().all(|(_, by)| by != client) {
                    self.send(tracked, &all);
                    continue;
                }
                let others = keys.iter().filter(|(_, by)| by != client);
                let others: Arc<[Box<[u8]>]> = others.map(|(key, _)| (*key).clone()).collect();
                if !others.is_empty() {
                    self.send(tracked, &InvalidatedKeys::Some(others));
                }
            }
        }
    }

    /// Tells all clients to forget all keys.
    pub(super) fn invalidate_all(&self) {
        let mut tables = lock(&self.tables);
        let mut clients: Vec<&TrackedClient> = tables.clients.values().collect();
        clients.sort_unstable_by_key(|client| client.place.client);
        for client in clients {
            self.send(client, &InvalidatedKeys::All);
        }
        (tables.items, tables.bytes) = (0, 0);
        tables.by_key.clear();
        self.count(&tables);
    }

    /// Sends a message to a client, or to the one that it has named.
    fn send(&self, client: &TrackedClient, keys: &InvalidatedKeys) {
        let TrackedClient { place, redirect, .. } = *client;
        let to =
            if redirect == 0 { Some(place) } else { self.clients.find(redirect).map(|record| record.place) };
        let message = match to {
            Some(to) => Invalidation::Keys { to, redirected: redirect != 0, keys: keys.clone() },
            None => Invalidation::NoReceiver { to: place, redirect },
        };
        let worker = to.unwrap_or(place).worker;
        self.mailboxes[worker].send(|mail| mail.invalidations.push(message));
    }
}

/// Calls `found` with each prefix of a key, the longest one first. Looks at few others: the
/// greatest prefix up to the key either is a prefix of the key, or limits the length that the next
/// such prefix may have.
fn for_each_prefix<'p>(
    prefixes: &'p BTreeMap<Vec<u8>, BTreeSet<u64>>,
    key: &[u8],
    mut found: impl FnMut(&'p [u8]),
) {
    let mut up_to = Bound::Included(key);
    while let Some((prefix, _)) = prefixes.range::<[u8], _>((Bound::Unbounded, up_to)).next_back() {
        let common = key.iter().zip(prefix).take_while(|(one, other)| one == other).count();
        if common == prefix.len() {
            found(prefix);
            up_to = Bound::Excluded(&key[..common]);
        } else {
            up_to = Bound::Included(&key[..common]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(clients: std::ops::Range<u64>) -> TrackingTables {
        let tracked = |client| TrackedClient {
            place: ClientLocation { worker: 0, slot: 0, client },
            no_loop: false,
            broadcast: false,
            redirect: 0,
        };
        let clients = clients.map(|client| (client, tracked(client))).collect();
        TrackingTables { clients, ..TrackingTables::default() }
    }

    #[test]
    fn sums_are_those_of_the_table() {
        let mut tables = tables(0..3);
        for (key, client) in [(&b"a"[..], 1), (b"a", 2), (b"a", 1), (b"bb", 0)] {
            tables.remember(key, client);
        }
        assert_eq!((tables.by_key.len(), tables.items), (2, 3));
        assert_eq!(tables.bytes, 2 * PER_KEY + 3 + 3 * PER_CLIENT);
        assert_eq!(tables.forget(b"a").map(|(_, readers)| readers), Some(vec![1, 2]));
        assert!(tables.forget(b"a").is_none());
        assert!(tables.forget(b"bb").is_some());
        assert_eq!((tables.items, tables.bytes), (0, 0));
    }

    #[test]
    fn clients_that_are_gone_leave_lists_that_grow() {
        let mut tables = tables(0..4);
        for client in 0..10_000 {
            tables.remember(b"a", client);
        }
        assert!(tables.items <= 4 * CLIENTS_LEAST, "{} items", tables.items);
        assert_eq!(tables.bytes, PER_KEY + 1 + tables.items * PER_CLIENT);
        assert!(tables.by_key[&b"a"[..]].starts_with(&[0, 1, 2, 3]));
    }

    /// Incident: CLIENT TRACKING with 50,000 prefixes blocked the server for minutes, and each
    /// write then compared its key with all of them. Consequence: one client stopped all others.
    /// Fix: the order of the prefixes leads to those of a key.
    #[test]
    fn prefixes_of_a_key_are_found_among_many() {
        let texts = ["", "a", "ab", "abb", "abc", "abcd", "abd", "b", "c1", "z"];
        let mut prefixes: BTreeMap<Vec<u8>, BTreeSet<u64>> =
            (0..5_000).map(|at| (format!("c{at:05}").into_bytes(), BTreeSet::new())).collect();
        prefixes.extend(texts.iter().map(|text| (text.as_bytes().to_vec(), BTreeSet::new())));
        for key in ["", "a", "abce", "abcdef", "abda", "aa", "c", "c00042x", "c1", "d", "zz", "\u{fe}"] {
            let mut found = Vec::new();
            for_each_prefix(&prefixes, key.as_bytes(), |prefix| found.push(prefix.to_vec()));
            let all = prefixes.keys().rev().filter(|prefix| key.as_bytes().starts_with(prefix));
            assert_eq!(found, all.cloned().collect::<Vec<_>>(), "{key}");
        }
    }

    #[test]
    fn too_many_keys_are_removed_in_turn() {
        let mut tables = tables(0..1);
        for key in [b"a", b"b", b"c"] {
            tables.remember(key, 0);
        }
        for key in [&b"a"[..], b"b"] {
            assert_eq!(tables.next_to_remove().as_deref(), Some(key));
            assert!(tables.forget(key).is_some());
        }
        tables.remember(b"a", 0);
        assert_eq!(tables.next_to_remove().as_deref(), Some(&b"c"[..]));
        assert_eq!(tables.next_to_remove().as_deref(), Some(&b"a"[..]));
    }
}
