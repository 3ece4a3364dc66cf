//! Writes while snapshots are live: each keeps the row that it replaces or removes.
//!
//! ```text
//!   read moment m ─ get row ─ keep it, pending ─ latch: same row? still m? ─ until = m ─ change
//!                                                      └─ no: drop the kept row, start again
//! ```

use skein_index::{ComputeAction, Computed, IndexError, LocalGuard};
use skein_log::Log;
use skein_model::{Row, RowRef};

use super::kept_rows::{KeepAttempt, KeptRows};
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

impl<'s> RowKeeper<'s> {
    pub(crate) fn main(index: &'s StoreIndex, members: &'s MemberIndex, log: &'s Log) -> Self {
        Self { log, members, index, kept: &members.snapshots.rows }
    }

    pub(crate) fn members(members: &'s MemberIndex, log: &'s Log) -> Self {
        Self { log, members, index: &members.index, kept: &members.snapshots.members }
    }

    /// Keeps the present row of a key, as pending, if a live snapshot needs it.
    #[cold]
    fn begin<'g>(self, key: &[u8], guard: &'g LocalGuard<'_>) -> KeepAttempt<'s, RowRef<'g>>
    where
        's: 'g,
    {
        let read = || self.index.get(key, guard);
        let copy = |row| Some(self.members.rows.kept_copy(row));
        KeepAttempt::begin(self.kept, (&self.members.snapshots.live, self.log), key, read, copy)
    }

    /// Returns whether the change may be made, and completes the kept row. REQUIRES: the latch of
    /// the key is held.
    #[cold]
    fn verify(self, attempt: &KeepAttempt<'_, RowRef<'_>>, current: Option<RowRef<'_>>) -> bool {
        attempt.verify(self.log, |seen| match (current, seen) {
            (None, None) => true,
            (Some(current), Some(seen)) => current.is(seen),
            _ => false,
        })
    }

    /// Ends an attempt. If the change was not `made`, the kept row is dropped.
    #[cold]
    fn finish(self, attempt: KeepAttempt<'_, RowRef<'_>>, made: bool) {
        if attempt.finish(made) {
            self.members.snapshots.enforce_limit(self.members);
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
        let attempt = keeper.map(|keeper| (keeper, keeper.begin(key, guard)));
        let mut decide = |current: Option<RowRef<'_>>| {
            if attempt.as_ref().is_some_and(|(keeper, attempt)| !keeper.verify(attempt, current)) {
                return ComputeAction::Keep;
            }
            change.take().map_or(ComputeAction::Keep, |change| change(current))
        };
        // SAFETY: guaranteed by the caller.
        let done = unsafe { index.compute_at(key, place.take(), &mut decide, guard) };
        let Some((keeper, attempt)) = attempt else { return done };
        keeper.finish(attempt, change.is_none());
        if change.is_none() || done.is_err() {
            return done;
        }
    }
}
