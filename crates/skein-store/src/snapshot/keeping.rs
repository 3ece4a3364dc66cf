//! Writes while snapshots are live: each keeps the row that it replaces or removes.
//!
//! ```text
//!   read moment m ─ get row ─ keep it, pending ─ latch: same row? still m? ─ until = m ─ change
//!                                                      └─ no: drop the kept row, start again
//! ```

use skein_index::{ComputeAction, Computed, IndexError, LocalGuard};
use skein_log::Log;
use skein_model::{Row, RowRef};

use super::kept_rows::{KeptRows, PendingRow};
use crate::collection::MemberIndex;
use crate::index::{IndexPlace, StoreIndex};

/// Keeps the replaced rows of one of the indexes of a store.
#[derive(Clone, Copy)]
pub(crate) struct RowKeeper<'s> {
    log: &'s Log,
    members: &'s MemberIndex,
    index: &'s StoreIndex,
    kept: &'s KeptRows,
}

/// One attempt to change a key and to keep its row.
struct KeepAttempt<'s, 'g> {
    keeper: RowKeeper<'s>,
    moment: u64,
    /// The row that the change is to replace.
    seen: Option<RowRef<'g>>,
    /// `None` if no live snapshot needs the row.
    pending: Option<PendingRow>,
}

impl<'s> RowKeeper<'s> {
    pub(crate) fn main(index: &'s StoreIndex, members: &'s MemberIndex, log: &'s Log) -> Self {
        Self { log, members, index, kept: &members.snapshots.rows }
    }

    pub(crate) fn members(members: &'s MemberIndex, log: &'s Log) -> Self {
        Self { log, members, index: &members.index, kept: &members.snapshots.members }
    }

    /// Keeps the present row of a key, as pending, if a live snapshot needs it.
    #[cold]
    fn attempt<'g>(self, key: &[u8], guard: &'g LocalGuard<'_>) -> KeepAttempt<'s, 'g>
    where
        's: 'g,
    {
        // The order of these three matters: see `KeptRows`.
        let moment = self.log.moment();
        let seen = self.index.get(key, guard);
        let copy = || seen.map(|row| self.members.rows.kept_copy(row));
        let pending = self.kept.keep(&self.members.snapshots.live, key, copy);
        KeepAttempt { keeper: self, moment, seen, pending }
    }
}

impl KeepAttempt<'_, '_> {
    /// Returns whether the change may be made, and completes the kept row. REQUIRES: the latch of
    /// the key is held.
    #[cold]
    fn verify(&self, current: Option<RowRef<'_>>) -> bool {
        let is_same = || match (current, self.seen) {
            (None, None) => true,
            (Some(current), Some(seen)) => current.is(seen),
            _ => false,
        };
        // Without a kept row, only the moment matters (invariant 2 of `KeptRows`).
        let holds = self.keeper.log.moment() == self.moment && (self.pending.is_none() || is_same());
        if let Some(pending) = self.pending.as_ref().filter(|_| holds) {
            pending.verified(self.moment);
        }
        holds
    }

    /// Ends the attempt. If the change was not `made`, the kept row is dropped.
    #[cold]
    fn finish(self, made: bool) {
        let RowKeeper { members, kept, .. } = self.keeper;
        match self.pending {
            Some(pending) if !made => kept.void(pending),
            Some(_) => members.snapshots.enforce_limit(members),
            None => {}
        }
    }
}

/// Changes a key as [`StoreIndex::compute_at`] does. With a keeper, it keeps the replaced row for
/// the live snapshots. `change` is called at most once.
///
/// # Safety
/// As for [`StoreIndex::compute_at`].
#[inline]
pub(crate) unsafe fn compute_at<'g>(
    index: &'g StoreIndex,
    keeper: Option<RowKeeper<'g>>,
    key: &[u8],
    mut place: Option<IndexPlace>,
    change: impl FnOnce(Option<RowRef<'_>>) -> ComputeAction<Row>,
    guard: &'g LocalGuard<'_>,
) -> Result<Computed<'g, Row>, IndexError> {
    let mut change = Some(change);
    loop {
        let attempt = keeper.map(|keeper| keeper.attempt(key, guard));
        let mut decide = |current: Option<RowRef<'_>>| {
            if attempt.as_ref().is_some_and(|attempt| !attempt.verify(current)) {
                return ComputeAction::Keep;
            }
            change.take().map_or(ComputeAction::Keep, |change| change(current))
        };
        // SAFETY: guaranteed by the caller.
        let done = unsafe { index.compute_at(key, place.take(), &mut decide, guard) };
        let Some(attempt) = attempt else { return done };
        attempt.finish(change.is_none());
        if change.is_none() || done.is_err() {
            return done;
        }
    }
}
