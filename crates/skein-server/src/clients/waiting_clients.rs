//! The clients that wait for a key: those of BLPOP and its relatives.
//!
//! ```text
//!   worker 0, alone:   BLPOP k 0    k is absent ─► wait ─────────┐
//!   worker 1, alone:   LPUSH k v    note(k) ─► claim(k) ◄────────┤ by_key: k ─► clients, oldest first
//!                      pops for the client ─► mail to worker 0   │
//!   worker 0:          timeout, UNBLOCK ─► withdraw ◄────────────┤
//!   any thread:        disconnect, CLIENT KILL ─► kill ◄─────────┘
//! ```
//!
//! A key serves its clients in the order in which they began to wait, as in Redis. If a command
//! makes a waited key, the clients are served before any other command runs. So no other client
//! takes the elements that they wait for.
//!
//! # Invariants
//! 1. Clients are added, and keys are noted and claimed, only while no other worker runs requests
//!    (`exclusion_gate`). So a worker that runs requests, and sees no client at a key, may write
//!    the key beside others: no client is added before the end of its turn.
//! 2. The thread that removes a client from here answers it, and no other thread does. A killed
//!    client gets no answer, and is never added: it is marked as killed while `queues` is locked.
//! 3. A client is in `by_key` for each of its keys, or not at all.
//!
//! Design: `docs/design/server.md`.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use skein_sync::locks::lock;

use crate::clients::client_registry::ClientRecord;
use crate::command_table::Command;
use crate::planted_bugs::{self, PlantedBug};
use crate::request::moved_keys::{in_other_keyspace, moved_key};
use crate::resp::{ArgList, Protocol};
use skein_data::StoredKeyspace;

/// A waiting client and its request.
#[derive(Debug)]
pub(crate) struct WaitingClient {
    pub record: Arc<ClientRecord>,
    pub protocol: Protocol,
    pub command: &'static Command,
    /// The database of its keys.
    pub database: u32,
    /// With the keys of the store.
    pub request: ArgList,
    /// Whether it must hear when a key is removed or replaced.
    pub needs_key: bool,
    pub keys: Vec<Vec<u8>>,
}

/// Bytes of a waited key besides its own: in the client, and in the table of keys.
const WAITED_KEY: usize = 160;

impl WaitingClient {
    /// Returns the bytes that the client takes here, about.
    pub(crate) fn memory(&self) -> usize {
        let keys: usize = self.keys.iter().map(|key| WAITED_KEY + 2 * key.len()).sum();
        size_of::<Self>() + self.request.memory() + keys
    }
}

/// All waiting clients of a server.
#[derive(Debug, Default)]
pub(crate) struct WaitingClients {
    /// The number of clients.
    count: AtomicUsize,
    /// The number of those that need their key.
    needing: AtomicUsize,
    queues: Mutex<WaitingQueues>,
}

#[derive(Debug, Default)]
struct WaitingQueues {
    /// Clients by their number, with their place in the order of waiting.
    clients: HashMap<u64, (u64, WaitingClient)>,
    by_key: HashMap<Vec<u8>, KeyWaiters>,
    /// Waited keys that a command may have made, in the order of the writes.
    noted: VecDeque<Vec<u8>>,
    /// The place of the next client.
    next: u64,
}

/// The clients of a waited key.
#[derive(Debug, Default)]
struct KeyWaiters {
    /// By their place.
    clients: BTreeMap<u64, u64>,
    /// Whether the key is among the noted ones, so that a script that makes many keys looks at none
    /// of the others.
    is_noted: bool,
}

impl WaitingQueues {
    fn note_all(&mut self) {
        self.by_key.values_mut().for_each(|waiters| waiters.is_noted = true);
        self.noted = self.by_key.keys().cloned().collect();
    }
}

impl WaitingClients {
    /// Returns the number of waiting clients.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        // Relaxed: a worker that runs requests has acquired, through the exclusion gate, the
        // additions that matter to it (invariant 1).
        self.count.load(Ordering::Relaxed)
    }

    /// Returns the number of waiting clients that need their key.
    #[inline]
    pub(crate) fn count_needing_keys(&self) -> usize {
        // Relaxed: as in `count`.
        self.needing.load(Ordering::Relaxed)
    }

    /// Returns whether a client waits for this key.
    #[inline]
    pub(crate) fn waits_for(&self, key: &[u8]) -> bool {
        self.count() > 0 && lock(&self.queues).by_key.contains_key(key)
    }

    /// Adds a client, unless it was killed. REQUIRES: no other worker runs requests, and no key can
    /// serve the client.
    pub(crate) fn wait(&self, client: WaitingClient) {
        let mut queues = lock(&self.queues);
        let place = queues.next;
        queues.next += 1;
        self.add(&mut queues, place, client);
    }

    /// Adds a client that was claimed again, at its place, unless it was killed. REQUIRES: no other
    /// worker runs requests.
    pub(crate) fn wait_at(&self, place: u64, client: WaitingClient) {
        self.add(&mut lock(&self.queues), place, client);
    }

    fn add(&self, queues: &mut WaitingQueues, place: u64, client: WaitingClient) {
        if client.record.is_killed() {
            return;
        }
        let number = client.record.place.client;
        for key in &client.keys {
            queues.by_key.entry(key.clone()).or_default().clients.insert(place, number);
        }
        let needing = self.needing.load(Ordering::Relaxed) + usize::from(client.needs_key);
        self.needing.store(needing, Ordering::Relaxed);
        queues.clients.insert(number, (place, client));
        self.count.store(queues.clients.len(), Ordering::Relaxed);
    }

    /// Removes a client, if it still waits. Then the caller must answer it.
    pub(crate) fn withdraw(&self, client: u64) -> Option<WaitingClient> {
        if self.count() == 0 {
            return None;
        }
        self.remove(&mut lock(&self.queues), client).map(|(_, removed)| removed)
    }

    /// Marks a client as killed. From now on no key serves it. Returns `false` if it was marked
    /// already.
    pub(crate) fn kill(&self, record: &ClientRecord) -> bool {
        // Without a look at `count`: it may be older than the last client.
        let mut queues = lock(&self.queues);
        self.remove(&mut queues, record.place.client);
        record.kill()
    }

    /// Notes that a command may have made a key. REQUIRES: no other worker runs requests.
    pub(crate) fn note(&self, key: &[u8]) {
        if self.count() > 0 {
            let WaitingQueues { by_key, noted, .. } = &mut *lock(&self.queues);
            if let Some(waiters) = by_key.get_mut(key)
                && !std::mem::replace(&mut waiters.is_noted, true)
            {
                noted.push_back(key.to_vec());
            }
        }
    }

    /// Takes the next noted key. REQUIRES: as for [`note`](Self::note).
    pub(crate) fn take_noted(&self) -> Option<Vec<u8>> {
        if self.count() == 0 {
            return None;
        }
        let mut queues = lock(&self.queues);
        let key = queues.noted.pop_front()?;
        if let Some(waiters) = queues.by_key.get_mut(&key) {
            waiters.is_noted = false;
        }
        Some(key)
    }

    /// Notes all waited keys, because a command may have removed them. REQUIRES: as for
    /// [`note`](Self::note).
    pub(crate) fn note_all(&self) {
        if self.count() > 0 {
            lock(&self.queues).note_all();
        }
    }

    /// Removes the client that has waited longest for this key among those that `can_serve`
    /// accepts, and returns it with its place. The caller must answer it, or let it wait there.
    /// REQUIRES: as for [`note`](Self::note).
    pub(crate) fn claim(
        &self,
        key: &[u8],
        mut can_serve: impl FnMut(&WaitingClient) -> bool,
    ) -> Option<(u64, WaitingClient)> {
        let mut queues = lock(&self.queues);
        let waiting = queues.by_key.get(key)?;
        let is_served = |client: &&u64| queues.clients.get(client).is_some_and(|(_, found)| can_serve(found));
        let client = if planted_bugs::is_on(PlantedBug::LastWaiterFirst) {
            *waiting.clients.values().rev().find(is_served)?
        } else {
            *waiting.clients.values().find(is_served)?
        };
        self.remove(&mut queues, client)
    }

    /// Lets each client wait for its names in the present keyspace of its database, and notes all
    /// waited keys. REQUIRES: as for [`note`](Self::note).
    pub(crate) fn move_keyspaces(&self, keyspace_of: impl Fn(u32) -> StoredKeyspace) {
        if self.count() == 0 {
            return;
        }
        let mut queues = lock(&self.queues);
        queues.by_key.clear();
        let WaitingQueues { clients, by_key, .. } = &mut *queues;
        for (number, (place, client)) in clients {
            let to = keyspace_of(client.database);
            let moved = client.keys.iter().map(|key| moved_key(key, to)).collect();
            if client.keys != moved {
                client.keys = moved;
                client.request = client
                    .request
                    .args()
                    .map_or_else(ArgList::default, |args| in_other_keyspace(client.command, &args, to));
            }
            for key in &client.keys {
                by_key.entry(key.clone()).or_default().clients.insert(*place, *number);
            }
        }
        queues.note_all();
    }

    fn remove(&self, queues: &mut WaitingQueues, client: u64) -> Option<(u64, WaitingClient)> {
        let (place, removed) = queues.clients.remove(&client)?;
        for key in &removed.keys {
            if let Some(waiting) = queues.by_key.get_mut(key) {
                waiting.clients.remove(&place);
                if waiting.clients.is_empty() {
                    queues.by_key.remove(key);
                }
            }
        }
        if queues.clients.is_empty() {
            // Otherwise the next waiting client would be served from an older key first.
            queues.noted.clear();
        }
        let needing = self.needing.load(Ordering::Relaxed) - usize::from(removed.needs_key);
        self.needing.store(needing, Ordering::Relaxed);
        self.count.store(queues.clients.len(), Ordering::Relaxed);
        Some((place, removed))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clients::client_registry::ClientLocation;
    use crate::command_table::COMMANDS;

    fn client(number: u64, needs_key: bool, keys: &[&[u8]]) -> WaitingClient {
        let place = ClientLocation { worker: 0, slot: 0, client: number };
        WaitingClient {
            record: Arc::new(ClientRecord::new(place, None, None, 0, Duration::ZERO)),
            protocol: Protocol::Resp2,
            command: &COMMANDS[0],
            database: 0,
            request: ArgList::default(),
            needs_key,
            keys: keys.iter().map(|key| key.to_vec()).collect(),
        }
    }

    fn claimed(waiting: &WaitingClients, key: &[u8], needs_key: bool) -> Option<u64> {
        waiting
            .claim(key, |client| client.needs_key == needs_key)
            .map(|(_, client)| client.record.place.client)
    }

    #[test]
    fn the_oldest_client_that_can_be_served_is_claimed_once() {
        let waiting = WaitingClients::default();
        waiting.wait(client(7, false, &[b"a", b"b", b"a"]));
        waiting.wait(client(3, true, &[b"a"]));
        waiting.wait(client(5, false, &[b"a"]));
        assert_eq!((waiting.count(), waiting.count_needing_keys()), (3, 1));
        assert_eq!(claimed(&waiting, b"a", true), Some(3));
        assert_eq!(claimed(&waiting, b"a", false), Some(7));
        assert!(!waiting.waits_for(b"b"), "a client leaves all of its keys");
        assert!(waiting.withdraw(7).is_none());
        assert_eq!(claimed(&waiting, b"a", false), Some(5));
        assert_eq!(claimed(&waiting, b"a", false), None);
        assert_eq!((waiting.count(), waiting.count_needing_keys()), (0, 0));
    }

    /// Incident: CLIENT KILL left a client here until its worker had closed its connection.
    /// Consequence: a write in between popped an element for the dead client, and the element was
    /// lost. Also, a claimed client that was closed before it waited again stayed for ever. Fix: a
    /// client is removed when it is killed, and a killed one is not added.
    #[test]
    fn a_killed_client_waits_no_more() {
        let waiting = WaitingClients::default();
        waiting.wait(client(1, true, &[b"a"]));
        waiting.wait(client(2, false, &[b"a"]));
        let (place, claimed_one) = waiting.claim(b"a", |client| client.needs_key).expect("a client");
        assert!(waiting.kill(&claimed_one.record), "its key is serving it");
        waiting.wait_at(place, claimed_one);
        assert_eq!((waiting.count(), waiting.count_needing_keys()), (1, 0));
        let killed = client(3, true, &[b"a"]);
        assert!(waiting.kill(&killed.record) && !waiting.kill(&killed.record), "killed once");
        waiting.wait(killed);
        assert_eq!(claimed(&waiting, b"a", true), None);
        let (place, last) = waiting.claim(b"a", |_| true).expect("the other client");
        let record = Arc::clone(&last.record);
        waiting.wait_at(place, last);
        assert!(waiting.kill(&record));
        assert!(!waiting.waits_for(b"a") && waiting.withdraw(2).is_none(), "nobody is left to answer");
    }

    /// Incident: the last client was served from the first of two keys that a transaction had made.
    /// The note of the other one stayed, and the next client was served from that key first.
    #[test]
    fn notes_end_with_the_last_client() {
        let waiting = WaitingClients::default();
        waiting.wait(client(1, false, &[b"a", b"b"]));
        waiting.note(b"a");
        waiting.note(b"b");
        assert_eq!(waiting.take_noted().as_deref(), Some(&b"a"[..]));
        assert_eq!(claimed(&waiting, b"a", false), Some(1));
        waiting.wait(client(2, false, &[b"a", b"b"]));
        assert_eq!(waiting.take_noted(), None);
    }

    /// Incident: each key that a script made was compared with all that it had made before.
    /// Consequence: a script that fed 20,000 waiting keys blocked all clients for seconds. Fix:
    /// each waited key knows whether it is noted. (With the comparison this test takes minutes.)
    #[test]
    fn many_keys_are_noted_without_a_look_at_the_others() {
        const KEYS: u32 = 100_000;
        let (waiting, name) = (WaitingClients::default(), |number: u32| format!("waited key {number:09}"));
        let names: Vec<String> = (0..KEYS).map(name).collect();
        let keys: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
        waiting.wait(client(1, false, &keys));
        for _ in 0..2 {
            for key in &keys {
                waiting.note(key);
            }
        }
        assert!(keys.iter().all(|key| waiting.take_noted().as_deref() == Some(*key)));
        assert_eq!(waiting.take_noted(), None);
        waiting.note(keys[0]);
        assert_eq!(waiting.take_noted().as_deref(), Some(keys[0]), "a key that was taken is noted again");
    }

    #[test]
    fn waited_keys_are_noted_once_and_in_order() {
        let waiting = WaitingClients::default();
        waiting.note(b"a");
        waiting.wait(client(1, false, &[b"a", b"b"]));
        for key in [b"b", b"a", b"c", b"b"] {
            waiting.note(key);
        }
        assert_eq!(waiting.take_noted().as_deref(), Some(&b"b"[..]));
        assert_eq!(waiting.take_noted().as_deref(), Some(&b"a"[..]));
        assert_eq!(waiting.take_noted(), None);
        waiting.note_all();
        assert!(waiting.take_noted().is_some() && waiting.take_noted().is_some());
        assert!(waiting.withdraw(1).is_some());
        assert!(!waiting.waits_for(b"a"));
    }
}
