//! Writes while snapshots are live: each keeps the row that it replaces or removes.
//!
//! ```text
//!   read moment m ─ get row ─ keep it, pending ─ latch: same row? still m? ─ until = m ─ change
//!                                                      └─ no: drop the kept row, start again
//! ```

use skein_index::{ComputeAction, Computed, Guard, IndexError};

use super::StoreSnapshots;
use super::kept_rows::KeptRows;
use crate::index::StoreIndex;
use crate::row::{Row, RowRef};
use crate::store::StoreCore;

/// Writes to one of the indexes of a store and keeps the replaced rows.
pub(crate) struct RowKeeper<'s> {
    core: &'s StoreCore,
    index: &'s StoreIndex,
    kept: &'s KeptRows,
}

/// Returns whether both are the same row, or both are absent.
fn is_same(current: Option<RowRef<'_>>, seen: Option<RowRef<'_>>) -> bool {
    match (current, seen) {
        (None, None) => true,
        (Some(current), Some(seen)) => current.is(seen),
        _ => false,
    }
}

impl<'s> RowKeeper<'s> {
    pub(crate) fn main(core: &'s StoreCore) -> Self {
        Self { core, index: &core.index, kept: &core.snapshots.rows }
    }

    pub(crate) fn members(core: &'s StoreCore) -> Self {
        Self { core, index: &core.members.index, kept: &core.snapshots.members }
    }

    fn snapshots(&self) -> &'s StoreSnapshots {
        &self.core.snapshots
    }

    /// Changes a key as [`StoreIndex::compute`] does, and keeps its row for the live snapshots.
    /// `change` is called at most once.
    #[cold]
    #[inline(never)]
    pub(crate) fn compute<'g>(
        &self,
        key: &[u8],
        change: impl FnOnce(Option<RowRef<'_>>) -> ComputeAction<Row>,
        guard: &'g impl Guard,
    ) -> Result<Computed<'g, Row>, IndexError>
    where
        's: 'g,
    {
        let (log, index) = (&self.core.log, self.index);
        let mut change = Some(change);
        loop {
            // The order of these three matters: see `KeptRows`.
            let moment = log.moment();
            let seen = index.get(key, guard);
            let copy = || seen.map(|row| self.core.rows.kept_copy(row));
            let kept = self.kept.keep(&self.snapshots().live, key, copy);
            let done = index.compute(
                key,
                |current| {
                    // Without a kept row, only the moment matters (invariant 2 of `KeptRows`).
                    let holds = log.moment() == moment && (kept.is_none() || is_same(current, seen));
                    let Some(change) = change.take_if(|_| holds) else { return ComputeAction::Keep };
                    if let Some(kept) = &kept {
                        kept.verified(moment);
                    }
                    change(current)
                },
                guard,
            );
            let retries = change.is_some() && done.is_ok();
            match kept {
                Some(kept) if change.is_some() => self.kept.void(kept),
                Some(_) => self.snapshots().enforce_limit(self.core),
                None => {}
            }
            if !retries {
                return done;
            }
        }
    }
}
