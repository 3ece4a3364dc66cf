//! A disk without room: writes wait for it, and go on (`write_state.rs` has the states).
//!
//! 1. Where a write of a commit fails, its epoch stays closed and not durable, and no other commit begins: all of them look at the state
//!    first, under the token, but for the one that tries again.
//! 2. What was reserved keeps its place and its bytes; what was not is back in its buffer. So a later attempt leaves what one that went well
//!    at once would have left.

use skein_sync::locks::lock;

use super::{SharedLog, WriteState};
use crate::LogError;
use crate::writer::CommitJob;

/// A commit that waits for room.
#[derive(Debug, Default)]
pub(super) struct StalledCommit {
    /// Its epoch, which is closed.
    pub(super) epoch: Option<u64>,
    /// Parts that are left to be done; none if none has begun.
    pub(super) jobs: Vec<CommitJob>,
}

impl SharedLog {
    /// Whether writes wait for room on the disk.
    pub(super) fn is_waiting_for_room(&self) -> bool {
        self.state.get() == WriteState::NoRoom
    }

    /// Whether nothing will be written any more.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state.get(), WriteState::Poisoned | WriteState::Closed)
    }

    /// Stops writes for a failure: for good, or until there is room. Returns what they answer.
    pub fn stop_for(&self, error: &LogError) -> LogError {
        if !(error.is_no_room() && self.begin_to_wait(error)) {
            self.poison(error);
        }
        self.refusal(self.state.get())
    }

    /// Refuses new operations until there is room; false if the log is closed or poisoned, and so nobody would try.
    fn begin_to_wait(&self, error: &LogError) -> bool {
        *lock(&self.no_room) = error.to_string();
        match self.state.change(WriteState::Running, WriteState::NoRoom) {
            Ok(()) => {
                tracing::error!(cause = %error, "writes are stopped until there is room on the disk");
                self.wake_everybody();
                true
            }
            Err(state) => state == WriteState::NoRoom,
        }
    }

    /// Takes operations again, if they were refused for want of room.
    pub(super) fn resume_writes(&self) {
        if self.state.change(WriteState::NoRoom, WriteState::Running).is_ok() {
            tracing::warn!("there is room on the disk again: writes go on");
        }
    }

    /// Tries again what found no room.
    pub(super) fn retry_commit(&self) {
        let token = self.token();
        if self.is_waiting_for_room() {
            // A failure is the state's.
            let _ = self.commit_with(&token, false);
        }
    }
}
