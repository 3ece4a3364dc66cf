//! A moment at which nobody writes, while writes wait for room.
//!
//! A checkpoint would make room, since log segments go when it is written. But it begins and ends with a commit, and no commit goes through
//! without room. At a standstill it needs none: what is in memory then is all that was ever written, and stays so until the end.
//!
//! 1. It holds the token, so no commit begins, and the state stays `NO_ROOM` (or the log is poisoned): nobody enters to stay.
//! 2. Whoever had entered before that state has left: the gate's counters were seen at zero after it. Who enters later finds the state: its
//!    increment (Acquire) comes after the look at the counter (a read-modify-write, Release; `epoch`, 2), and so its look at the state
//!    comes after ours, which saw `NO_ROOM`.
//! 3. So a picture of the memory has everything of the epochs before the present one, durable or not, and of the present one what was written
//!    so far. It says "before the present epoch" as its end: recovery then takes those for proven, asks no log for them, and replays
//!    the present one as far as it is durable, by versions.

use super::Shared;
use super::turns::Token;

/// While it lives nobody writes to the log; see [`Log::stand_still`](crate::Log::stand_still).
#[derive(Debug)]
pub struct Standstill<'a> {
    _token: Token<'a>,
    epoch: u64,
}

impl Standstill<'_> {
    /// The present epoch. A checkpoint that is written now begins with it, and ends before it.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

impl Shared {
    /// Waits for a standstill; `None` if writes do not wait for room.
    pub fn stand_still(&self) -> Option<Standstill<'_>> {
        let token = self.token();
        if !self.wants_room() {
            return None;
        }
        self.gate.wait_until_empty();
        Some(Standstill { epoch: self.gate.epoch(), _token: token })
    }
}
