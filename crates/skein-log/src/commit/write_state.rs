//! Whether a log takes writes: one atomic word.
//!
//! ```text
//!   Running ── a write finds no room ──► NoRoom ── the same write, tried by the committer's thread, succeeds ──► Running
//!      │                                    └── it fails otherwise, or the log is closed ──► Poisoned
//!      └── the log is closed ──► Closed
//! ```
//!
//! Any failure leads to `Poisoned`, which stays.

use skein_sync::atomic::{AtomicU8, Ordering};

/// Whether a log takes writes.
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

    /// The present state.
    #[inline]
    pub(super) fn get(&self) -> WriteState {
        // Relaxed: a worker inside an epoch is ordered by the gate, whose increment comes before this (`Shared::close`, `standstill`).
        WriteState::of(self.0.load(Ordering::Relaxed))
    }

    /// Goes from one state to another one; the error is the state that it found instead.
    pub(super) fn change(&self, from: WriteState, to: WriteState) -> Result<(), WriteState> {
        // Release, as the gate's epoch is: whoever enters a later epoch sees the state, and who sees it so sees its cause.
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
