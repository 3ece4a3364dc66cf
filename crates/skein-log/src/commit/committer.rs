//! Who commits: the token, and the thread that commits when asked or when it is time.

use std::time::{Duration, Instant};

use skein_sync::locks::{lock, wait, wait_timeout};

use super::SharedLog;
use crate::Durability;

/// Between two looks whether there is room on the disk again.
const BETWEEN_TRIES: Duration = Duration::from_millis(200);

/// Who may commit, and who is asked to.
#[derive(Debug, Default)]
pub(super) struct CommitTurn {
    /// The token is taken.
    pub(super) taken: bool,
    /// An epoch that the committer's thread was asked to make durable.
    pub(super) requested: u64,
    /// The committer's thread should end.
    pub(super) ended: bool,
}

/// The right to commit. Given back when it is dropped; a panic in a commit stops writes, for nobody knows what it left.
#[derive(Debug)]
pub(super) struct CommitToken<'a>(&'a SharedLog);

impl Drop for CommitToken<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.poison(&"a commit panicked; its message says why");
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

    /// Waits for the token; returns nothing if it was taken and `enough` came to hold.
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

    /// Asks the committer's thread to make `epoch` durable.
    pub fn request(&self, epoch: u64) {
        if self.durability == Durability::None || self.durable() >= epoch {
            return;
        }
        let mut turn = lock(&self.turn);
        if turn.requested < epoch {
            turn.requested = epoch;
            self.asked.notify_one();
        }
    }

    /// The committer's thread: commits when asked, and every `interval` if there is anything to commit.
    pub fn run_committer(&self, interval: Duration) {
        let mut turn = lock(&self.turn);
        let mut last = Instant::now();
        while !turn.ended && !self.is_over() {
            if self.is_waiting_for_room() {
                drop(turn);
                self.retry_commit();
                turn = lock(&self.turn);
                if !turn.ended && self.is_waiting_for_room() {
                    turn = wait_timeout(&self.asked, turn, BETWEEN_TRIES);
                }
                continue;
            }
            let requested = turn.requested.min(self.gate.epoch());
            if requested > self.durable() {
                drop(turn);
                // A failure poisons the log, and that ends the loop.
                let _ = self.wait_durable(requested);
                last = Instant::now();
            } else if last.elapsed() >= interval {
                drop(turn);
                if self.has_uncommitted() {
                    let _ = self.commit();
                }
                last = Instant::now();
            } else {
                let left = interval.saturating_sub(last.elapsed());
                drop(wait_timeout(&self.asked, turn, left));
            }
            turn = lock(&self.turn);
        }
    }

    fn has_uncommitted(&self) -> bool {
        self.writers.iter().any(|writer| !writer.buffer.is_empty() || writer.file().has_unsynced())
    }
}
