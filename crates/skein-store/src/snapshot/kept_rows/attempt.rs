//! One attempt to change a key and to keep its row: the writer's side of invariants 1 and 2 of
//! `kept_rows`.
//!
//! ```text
//!   begin     read moment m ─ read the row ─ keep it, pending
//!   verify    under the latch: same row? still m? ─ until = m
//!   finish    not made: drop the kept row
//! ```

use skein_model::Row;

use super::{KeptRows, PendingRow};
use crate::snapshot::live::{LiveSnapshots, MomentGate};

/// An attempt to change a key. `R` is a row of the index, as the writer read it.
pub(in crate::snapshot) struct KeepAttempt<'k, R> {
    kept: &'k KeptRows,
    moment: u64,
    /// The row that the change is to replace.
    pub(super) seen: Option<R>,
    /// `None` if no live snapshot needs the row.
    pub(super) pending: Option<PendingRow>,
}

impl<'k, R: Copy> KeepAttempt<'k, R> {
    /// Reads the present row of a key, and keeps a copy of it, as pending, if a live snapshot needs
    /// it.
    pub(in crate::snapshot) fn begin(
        kept: &'k KeptRows,
        (live, gate): (&LiveSnapshots, &impl MomentGate),
        key: &[u8],
        read: impl FnOnce() -> Option<R>,
        copy: impl FnOnce(R) -> Option<Row>,
    ) -> Self {
        // The order of these three matters: see `KeptRows::keep`.
        let moment = gate.moment();
        let seen = read();
        let pending = kept.keep(live, key, || seen.and_then(copy));
        Self { kept, moment, seen, pending }
    }

    /// Returns whether the change may be made, and completes the kept row. `is_same` compares the
    /// row that was read with the present one. REQUIRES: the latch of the key is held.
    pub(in crate::snapshot) fn verify(
        &self,
        gate: &impl MomentGate,
        is_same: impl FnOnce(Option<R>) -> bool,
    ) -> bool {
        // Without a kept row, only the moment matters (invariant 2).
        let holds = gate.moment() == self.moment && (self.pending.is_none() || is_same(self.seen));
        if let Some(pending) = self.pending.as_ref().filter(|_| holds) {
            pending.verified(self.moment);
        }
        holds
    }

    /// Ends the attempt. If the change was not `made`, the kept row is dropped. Returns whether a
    /// row stays kept.
    pub(in crate::snapshot) fn finish(self, made: bool) -> bool {
        match self.pending {
            Some(pending) if !made => {
                self.kept.void(pending);
                false
            }
            pending => pending.is_some(),
        }
    }
}
