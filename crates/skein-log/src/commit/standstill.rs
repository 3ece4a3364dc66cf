//! A standstill: a moment without writers, for a checkpoint while writes wait for space.
//!
//! A checkpoint frees space because log segments are removed after it. But it begins and ends with
//! a commit, and no commit succeeds on a full disk. At a standstill the checkpoint needs no commit:
//! memory holds all that was ever written, and does not change until the standstill ends.
//!
//! 1. The standstill holds the token, so no commit begins, and the state stays `NoRoom` (or the log
//!    is poisoned). A worker that enters is refused and leaves.
//! 2. All workers that had entered before that state have left: the gate's counters were seen at
//!    zero after it. A worker that enters later finds the state. Its increment (Acquire) comes
//!    after the standstill's read of the counter (a read-modify-write, Release; `epoch.rs`,
//!    invariant 2), so it reads the state after the standstill's thread, which saw `NoRoom`.
//! 3. So a picture of the memory has all writes of the epochs before the current one, durable or
//!    not, and the writes of the current epoch so far. The checkpoint names "before the current
//!    epoch" as its end. Recovery then takes those epochs for proven, requires no log for them, and
//!    replays the current epoch as far as it is durable, by versions.
//! 4. If two standstills have one epoch e, nothing was written between them. The second one is told
//!    the first one's epoch, and closes e unless a commit is stalled. A commit that is stalled then
//!    is that of e - 1, because closing e - 1 began e. It was stalled at the first standstill as
//!    well, and in between it never succeeded, so writes were refused all the time.

use super::SharedLog;
use super::committer::CommitToken;
use super::write_state::{AtomicWriteState, WriteState};
use crate::epoch::EpochGate;
use skein_sync::locks::lock;

/// No thread writes to the log while this exists. See
/// [`Log::stand_still`](crate::Log::stand_still).
#[derive(Debug)]
pub struct Standstill<'a> {
    _token: CommitToken<'a>,
    epoch: u64,
}

impl Standstill<'_> {
    /// Returns the current epoch. A checkpoint that is written now begins with it and ends before
    /// it. If this is the epoch of an earlier standstill, nothing was written since.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

impl SharedLog {
    /// Waits for a standstill, if possible with an epoch after `past` (4). Returns `None` if writes
    /// do not wait for space.
    pub fn stand_still(&self, past: u64) -> Option<Standstill<'_>> {
        let token = self.token();
        if !stands_still(&self.gate, &self.state) {
            return None;
        }
        let mut stalled = lock(&self.stalled);
        if self.gate.epoch() <= past && stalled.epoch.is_none() {
            stalled.epoch = Some(self.gate.close());
        }
        Some(Standstill { epoch: self.gate.epoch(), _token: token })
    }
}

/// Waits until no worker is inside and entering workers are refused (2). Returns false if writes do
/// not wait for space.
fn stands_still(gate: &EpochGate, state: &AtomicWriteState) -> bool {
    let waits = state.get() == WriteState::NoRoom;
    if waits {
        gate.wait_until_empty();
    }
    waits
}

#[cfg(all(test, skein_loom))]
mod models;
