//! A moment at which nobody writes, while writes wait for room.
//!
//! A checkpoint would make room, since log segments go when it is written. But it begins and ends with a commit, and no commit goes through
//! without room. At a standstill it needs none: what is in memory then is all that was ever written, and stays so until the end.
//!
//! 1. It holds the token, so no commit begins, and the state stays `NoRoom` (or the log is poisoned): nobody enters to stay.
//! 2. Whoever had entered before that state has left: the gate's counters were seen at zero after it. Who enters later finds the state: its
//!    increment (Acquire) comes after the look at the counter (a read-modify-write, Release; `epoch`, 2), and so its look at the state
//!    comes after ours, which saw `NoRoom`.
//! 3. So a picture of the memory has everything of the epochs before the present one, durable or not, and of the present one what was written
//!    so far. It says "before the present epoch" as its end: recovery then takes those for proven, asks no log for them, and replays
//!    the present one as far as it is durable, by versions.

use super::SharedLog;
use super::committer::CommitToken;
use super::write_state::{AtomicWriteState, WriteState};
use crate::epoch::EpochGate;

/// While it lives nobody writes to the log; see [`Log::stand_still`](crate::Log::stand_still).
#[derive(Debug)]
pub struct Standstill<'a> {
    _token: CommitToken<'a>,
    epoch: u64,
}

impl Standstill<'_> {
    /// The present epoch. A checkpoint that is written now begins with it, and ends before it.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

impl SharedLog {
    /// Waits for a standstill; `None` if writes do not wait for room.
    pub fn stand_still(&self) -> Option<Standstill<'_>> {
        let token = self.token();
        stands_still(&self.gate, &self.state).then(|| Standstill { epoch: self.gate.epoch(), _token: token })
    }
}

/// If writes wait for room: waits until nobody is inside, and nobody enters to stay (2). Returns false if they do not.
fn stands_still(gate: &EpochGate, state: &AtomicWriteState) -> bool {
    let waits = state.get() == WriteState::NoRoom;
    if waits {
        gate.wait_until_empty();
    }
    waits
}

#[cfg(all(test, skein_loom))]
mod models;
