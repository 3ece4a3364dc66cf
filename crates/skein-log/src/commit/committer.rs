//! The commit token, and the committer thread, which commits on request and at regular intervals.

use std::time::{Duration, Instant};

use skein_sync::locks::{lock, wait};

use super::SharedLog;
use crate::Durability;

/// The pause between two attempts while the disk is full.
const BETWEEN_TRIES: Duration = Duration::from_millis(200);

/// The state of the commit token and of the requests to the committer thread.
#[derive(Debug, Default)]
pub(super) struct CommitTurn {
    /// A thread holds the token.
    pub(super) taken: bool,
    /// The epoch that the committer thread should make durable.
    pub(super) requested: u64,
}

/// The right to commit, returned on drop. A panic in a commit stops writes, because the state of
/// its files is unknown.
#[derive(Debug)]
pub(super) struct CommitToken<'a>(&'a SharedLog);

impl Drop for CommitToken<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.poison(&"a commit panicked; see the message of the panic");
        }
        lock(&self.0.turn).taken = false;
        self.0.turned.notify_all();
    }
}

impl SharedLog {
    /// Waits for the token.
    pub(super) fn token(&self) -> CommitToken<'_> {
        let mut turn = lock(&self.turn);
        while turn.taken {
            turn = wait(&self.turned, turn);
        }
        turn.taken = true;
        CommitToken(self)
    }

    /// Waits for the token. Returns `None` if another thread holds it and `enough` becomes true.
    pub(super) fn token_unless(&self, enough: impl Fn() -> bool) -> Option<CommitToken<'_>> {
        let mut turn = lock(&self.turn);
        while turn.taken {
            if enough() {
                return None;
            }
            turn = wait(&self.turned, turn);
        }
        turn.taken = true;
        Some(CommitToken(self))
    }

    /// Asks the committer thread to make `epoch` durable.
    pub fn request(&self, epoch: u64) {
        if self.durability == Durability::None || self.durable() >= epoch {
            return;
        }
        let mut turn = lock(&self.turn);
        if turn.requested < epoch {
            turn.requested = epoch;
            drop(turn);
            self.committer.wake();
        }
    }

    /// Runs the committer thread: commits on request, and every `interval` if there are uncommitted
    /// records. Meanwhile it frees memory of the buffers.
    pub fn run_committer(&self, interval: Duration) {
        let (mut last, mut shrunk) = (Instant::now(), Instant::now());
        while !self.committer.is_stopped() && !self.is_over() {
            if self.is_waiting_for_room() {
                self.retry();
                if self.is_waiting_for_room() {
                    self.committer.wait_timeout(BETWEEN_TRIES);
                }
                continue;
            }
            if shrunk.elapsed() >= interval {
                self.writers.iter().for_each(|writer| writer.buffer.shrink());
                shrunk = Instant::now();
            }
            let requested = lock(&self.turn).requested.min(self.gate.epoch());
            if requested > self.durable() {
                // A failure poisons the log, and that ends the loop.
                let _ = self.wait_durable(requested);
                last = Instant::now();
            } else if last.elapsed() >= interval {
                if self.has_uncommitted() {
                    let _ = self.commit();
                }
                last = Instant::now();
            } else {
                self.committer.wait_timeout(interval.saturating_sub(last.elapsed()));
            }
        }
    }

    pub(super) fn has_uncommitted(&self) -> bool {
        self.writers.iter().any(|writer| !writer.buffer.is_empty() || writer.file().has_unsynced())
    }
}
