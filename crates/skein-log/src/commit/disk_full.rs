//! A full disk: writes wait for space and then continue (`write_state.rs` has the states).
//!
//! 1. If a write of a commit fails for lack of space, its epoch stays closed and not durable, and
//!    no other commit begins. Each commit checks the state first, under the token; only the retry
//!    skips the check.
//! 2. Reserved records keep their position and their bytes. Records that were not reserved are put
//!    back into their buffer. So a later attempt leaves the same file as an immediate success.
//! 3. At `buffered`, writes also stop while all that was acknowledged still has a place
//!    (`log_room.rs`): the buffer fills it, and the next segment found no room. Then commits go on,
//!    and writes continue when every log has room.

use skein_sync::locks::lock;

use super::{SharedLog, WriteState};
use crate::LogError;
use crate::writer::CommitJob;

/// A commit that waits for space.
#[derive(Debug, Default)]
pub(super) struct StalledCommit {
    /// Its epoch, which is closed.
    pub(super) epoch: Option<u64>,
    /// The parts that are left. Empty if no part was reserved yet.
    pub(super) jobs: Vec<CommitJob>,
}

impl SharedLog {
    /// Returns whether writes wait for space on the disk.
    pub(super) fn is_waiting_for_room(&self) -> bool {
        self.state.get() == WriteState::NoRoom
    }

    /// Returns whether the log will never write again.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state.get(), WriteState::Poisoned | WriteState::Closed)
    }

    /// Stops writes after a failure: for good, or until there is space. Returns the error that
    /// operations return from now on.
    pub fn stop_for(&self, error: &LogError) -> LogError {
        if !(error.is_no_room() && self.begin_to_wait(error)) {
            self.poison(error);
        }
        self.refusal(self.state.get())
    }

    /// Waits for the next segment of a log, and stops writes if it cannot be made. A log that is
    /// closed needs none, because all that was acknowledged has a place (3).
    pub(super) fn secure_next_segment(&self, log: usize) {
        let Err(error) = self.allocator.wait_until_ready(log) else { return };
        let waits =
            error.is_no_room() && (self.begin_to_wait(&error) || self.state.get() == WriteState::Closed);
        if !waits {
            self.poison(&error);
        }
    }

    /// Refuses new operations until there is space. Returns false if the log is closed or poisoned,
    /// because no thread would retry.
    fn begin_to_wait(&self, error: &LogError) -> bool {
        *lock(&self.no_room) = error.to_string();
        match self.state.change(WriteState::Running, WriteState::NoRoom) {
            Ok(()) => {
                tracing::error!(cause = %error, "writes are stopped until there is space on the disk");
                self.wake_everybody();
                true
            }
            Err(state) => state == WriteState::NoRoom,
        }
    }

    /// Accepts operations again if they were refused for lack of space, and every log has room.
    pub(super) fn resume_writes(&self) {
        let has_room = self.writers.iter().all(|writer| writer.buffer.has_room_on_disk());
        if has_room && self.state.change(WriteState::NoRoom, WriteState::Running).is_ok() {
            tracing::warn!("there is space on the disk again; writes continue");
        }
    }

    /// Repeats the operations that found no room: the stalled commit, and the next segments (3).
    pub(super) fn retry(&self) {
        let token = self.token();
        if !self.is_waiting_for_room() {
            return;
        }
        for (log, writer) in self.writers.iter().enumerate() {
            if !writer.buffer.has_room_on_disk() {
                self.secure_next_segment(log);
            }
        }
        if lock(&self.stalled).epoch.is_some() || self.has_uncommitted() {
            // The state records a failure.
            let _ = self.commit_with(&token, false);
        } else {
            self.resume_writes();
        }
    }
}
