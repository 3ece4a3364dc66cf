//! Records of whole rows for the log, while a write decides about a row.

use skein_model::{RowAllocator, RowRef};

use super::writer::RowChange;
use crate::record;

/// Records a write for the log, if the log of the engine has such records.
#[derive(Debug)]
pub struct Recorder<'r>(pub(super) Option<&'r mut Vec<u8>>);

impl Recorder<'_> {
    /// Returns a recorder for an engine that logs whole rows in its own way.
    pub fn none() -> Self {
        Self(None)
    }

    /// Records a change with all contents of the key.
    pub(super) fn record_whole(&mut self, key: &[u8], change: &RowChange) {
        match (&mut self.0, change) {
            (Some(out), RowChange::Put(row)) => record::write_row(out, key, row.as_ref()),
            (Some(out), RowChange::Remove) => record::write_remove(out, key, 0),
            // The engine records a change of the time itself, because it makes the row.
            (None, _) | (_, RowChange::Keep | RowChange::Expire(_)) => {}
        }
    }

    /// Turns a change of the time into a put of a new row, and returns all other changes as they
    /// are. An engine must call this before it applies a decision about `current`.
    pub fn resolve_expiry(
        &mut self,
        key: &[u8],
        current: Option<RowRef<'_>>,
        change: RowChange,
        rows: &RowAllocator,
    ) -> RowChange {
        let (RowChange::Expire(expires), Some(row)) = (&change, current) else {
            return if matches!(change, RowChange::Expire(_)) { RowChange::Keep } else { change };
        };
        let row = rows.until(row, *expires);
        if let Some(out) = &mut self.0 {
            record::write_expiry(out, key, row.as_ref());
        }
        RowChange::Put(row)
    }
}
