//! The write state: whether a log accepts writes, as one atomic word.
//!
//! ```text
//!   Running ── a write finds the disk full ──► NoRoom ── the committer's retry succeeds ──► Running
//!      │                                         └── other failure, or log closed ──► Poisoned
//!      └── the log is closed ──► Closed
//! ```
//!
//! Any other failure leads to `Poisoned`, which is final.

use skein_sync::atomic::{AtomicU8, Ordering};

/// Whether a log accepts writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum WriteState {
    Running,
    Poisoned,
    Closed,
    NoRoom,
}

/// The state that all threads of a log share.
#[derive(Debug)]
pub(super) struct AtomicWriteState(AtomicU8);

impl AtomicWriteState {
    pub(super) fn new() -> Self {
        Self(AtomicU8::new(WriteState::Running as u8))
    }

    /// Returns the current state.
    #[inline]
    pub(super) fn get(&self) -> WriteState {
        // Relaxed: the gate orders a worker inside an epoch, by its increment before this load
        // (`SharedLog::close`, `standstill.rs`).
        WriteState::of(self.0.load(Ordering::Relaxed))
    }

    /// Changes the state from `from` to `to`. Returns the actual state as the error if it is not
    /// `from`.
    pub(super) fn change(&self, from: WriteState, to: WriteState) -> Result<(), WriteState> {
        // Release, like the store of the gate's epoch: a worker that enters a later epoch sees the
        // state, and also sees its cause.
        let changed = self.0.compare_exchange(from as u8, to as u8, Ordering::Release, Ordering::Relaxed);
        changed.map(drop).map_err(WriteState::of)
    }

    /// Stops writes for good.
    pub(super) fn poison(&self) {
        // Release: as in `change`.
        self.0.store(WriteState::Poisoned as u8, Ordering::Release);
    }
}

impl WriteState {
    #[inline]
    fn of(word: u8) -> Self {
        match word {
            0 => Self::Running,
            1 => Self::Poisoned,
            2 => Self::Closed,
            _ => Self::NoRoom,
        }
    }
}
