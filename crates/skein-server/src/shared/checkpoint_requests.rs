//! The checkpoints that clients wait for (SAVE) or have scheduled, written by one thread.
//!
//! ```text
//!   asked:   a   b c d e (disconnected)    f            stop
//!   written: ├─ for a ─┤├─ for b c d ─┤         (f is told that the server stops)
//! ```
//!
//! A checkpoint contains all earlier writes, so one checkpoint answers all clients that asked
//! before it began. Clients that ask during a checkpoint wait for the next one. A client that
//! disconnects is removed from the list; its checkpoint is written all the same. So the list is
//! never longer than the number of clients. A stop drops the list, so it waits for one checkpoint
//! at most.

use std::sync::{Condvar, Mutex};

use skein_sync::locks::lock;

use crate::clients::client_registry::ClientLocation;

/// The clients that wait for a checkpoint.
#[derive(Debug, Default)]
pub(crate) struct CheckpointRequests {
    pending: Mutex<PendingCheckpoint>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct PendingCheckpoint {
    /// Whether a checkpoint must be written, even if all clients that asked have disconnected.
    wanted: bool,
    waiting: Vec<ClientLocation>,
    /// Whether the server is stopping.
    closed: bool,
}

impl CheckpointRequests {
    /// Requests a checkpoint for a client. Returns `false` if the server is stopping.
    pub(crate) fn ask(&self, who: ClientLocation) -> bool {
        let mut pending = lock(&self.pending);
        if pending.closed {
            return false;
        }
        pending.wanted = true;
        pending.waiting.push(who);
        self.changed.notify_one();
        true
    }

    /// Requests a checkpoint that no client waits for. It begins when the running one has ended.
    pub(crate) fn schedule(&self) {
        lock(&self.pending).wanted = true;
        self.changed.notify_one();
    }

    /// Returns whether a requested checkpoint has not begun.
    pub(crate) fn is_scheduled(&self) -> bool {
        lock(&self.pending).wanted
    }

    /// Removes a disconnected client.
    pub(crate) fn withdraw(&self, client: u64) {
        lock(&self.pending).waiting.retain(|who| who.client != client);
    }

    /// Ends [`serve`](Self::serve) after the current checkpoint. Returns the clients that are still
    /// waiting.
    pub(crate) fn close(&self) -> Vec<ClientLocation> {
        let mut pending = lock(&self.pending);
        pending.closed = true;
        self.changed.notify_all();
        std::mem::take(&mut pending.waiting)
    }

    /// Writes checkpoints when they are requested and answers the clients, until `close` is called.
    pub(crate) fn serve<R>(&self, mut write: impl FnMut() -> R, answer: impl Fn(Vec<ClientLocation>, &R)) {
        while let Some(askers) = self.next() {
            answer(askers, &write());
        }
    }

    /// Waits for a request. Returns the clients of the next checkpoint, or `None` after `close`.
    fn next(&self) -> Option<Vec<ClientLocation>> {
        let pending = lock(&self.pending);
        let idle = |pending: &mut PendingCheckpoint| !pending.wanted && !pending.closed;
        let mut pending = match self.changed.wait_while(pending, idle) {
            Ok(pending) => pending,
            Err(poisoned) => poisoned.into_inner(),
        };
        if pending.closed {
            return None;
        }
        pending.wanted = false;
        Some(std::mem::take(&mut pending.waiting))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn place(client: u64) -> ClientLocation {
        ClientLocation { worker: 0, slot: 0, client }
    }

    /// Runs `meanwhile` during the first checkpoint, which is for client 1. Returns the clients and
    /// the checkpoint that answered them.
    fn beside_the_first(meanwhile: impl FnOnce(&CheckpointRequests)) -> Vec<(u32, Vec<u64>)> {
        let checkpoints = &CheckpointRequests::default();
        let (begun, begins) = channel();
        let (go_on, goes_on) = channel::<()>();
        let (told, hears) = channel();
        std::thread::scope(|threads| {
            threads.spawn(move || {
                let mut written = 0;
                let write = || {
                    written += 1;
                    begun.send(()).expect("the test");
                    // Returns immediately when the other end is dropped.
                    let _ = goes_on.recv();
                    written
                };
                let answer = |askers: Vec<ClientLocation>, number: &u32| {
                    let clients = askers.iter().map(|who| who.client).collect();
                    told.send((*number, clients)).expect("the test");
                };
                checkpoints.serve(write, answer);
            });
            assert!(checkpoints.ask(place(1)));
            begins.recv().expect("it begins");
            meanwhile(checkpoints);
            drop(go_on);
            // Wait until no request is left.
            while lock(&checkpoints.pending).wanted && !lock(&checkpoints.pending).closed {
                std::thread::yield_now();
            }
            checkpoints.close();
        });
        hears.try_iter().collect()
    }

    /// Incident: each SAVE had its own checkpoint, even those of disconnected clients. Consequence:
    /// the requests of one second kept the disk, and a stop, busy for half a minute (34.6 s with a
    /// stop timeout of 1 s). Fix: one checkpoint is for all clients that asked before it began.
    #[test]
    fn one_checkpoint_answers_all_earlier_requests() {
        let answered = beside_the_first(|checkpoints| {
            (2..100).for_each(|client| assert!(checkpoints.ask(place(client))));
            (50..100).for_each(|client| checkpoints.withdraw(client));
        });
        assert_eq!(answered, [(1, vec![1]), (2, (2..50).collect())]);
    }

    #[test]
    fn checkpoint_of_a_disconnected_client_is_written() {
        let answered = beside_the_first(|checkpoints| {
            checkpoints.ask(place(2));
            checkpoints.withdraw(2);
        });
        assert_eq!(answered, [(1, vec![1]), (2, vec![])]);
    }

    #[test]
    fn scheduled_checkpoint_follows_the_running_one() {
        let answered = beside_the_first(|checkpoints| {
            assert!(!checkpoints.is_scheduled());
            (0..3).for_each(|_| checkpoints.schedule());
            assert!(checkpoints.is_scheduled());
        });
        assert_eq!(answered, [(1, vec![1]), (2, vec![])]);
    }

    /// Incident: as above. A stop waited for all requested checkpoints.
    #[test]
    fn stop_drops_pending_checkpoints() {
        let answered = beside_the_first(|checkpoints| {
            (2..100).for_each(|client| assert!(checkpoints.ask(place(client))));
            let dropped = checkpoints.close();
            assert_eq!(
                dropped.iter().map(|who| who.client).collect::<Vec<_>>(),
                (2..100).collect::<Vec<_>>()
            );
            assert!(!checkpoints.ask(place(100)));
        });
        assert_eq!(answered, [(1, vec![1])]);
    }
}
