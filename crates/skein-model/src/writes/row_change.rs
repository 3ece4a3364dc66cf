//! The decision of a write about the row of its key, and its result.

use crate::column_table::Column;
use crate::{Row, RowAllocator, RowRef};

/// The decision of the closure of [`update`](super::RowWriter::update).
#[derive(Debug)]
pub enum RowChange {
    /// Leave the key unchanged.
    Keep,
    /// Set the key to this row.
    Put(Row),
    /// Keep the contents, and let the key expire at this time (milliseconds since 1970), or never.
    /// Does nothing if the key is absent.
    Expire(Option<u64>),
    /// Remove the key, if present.
    Remove,
}

impl RowChange {
    /// Turns a change of the time of `current` into a put of a new row, and returns all other
    /// changes as they are. An engine must call this before it applies a decision about `current`.
    #[must_use]
    pub fn with_row(self, current: Option<RowRef<'_>>, rows: &RowAllocator) -> Self {
        match (self, current) {
            (Self::Expire(expires), Some(row)) => Self::Put(rows.until(row, expires)),
            (Self::Expire(_), None) => Self::Keep,
            (change, _) => change,
        }
    }
}

/// The result of [`update`](super::RowWriter::update).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowUpdate {
    /// Whether the key was present before.
    pub existed: bool,
    /// Whether the writer has changed a key.
    pub changed: bool,
    /// The version of the present row or of the removal; 0 if the key was and is absent.
    pub version: u64,
}

/// The changes by which a write made a row of columns from the present row.
#[derive(Clone, Copy, Debug)]
pub struct ColumnChanges<'c> {
    /// The new row.
    pub row: RowRef<'c>,
    /// The columns that were set.
    pub set: &'c [Column<'c>],
    /// The names of the columns that were removed.
    pub removed: &'c [&'c [u8]],
}

/// Hears which columns the row of a [`RowChange::Put`] changes. An engine may log only these.
pub type NoteColumns<'n> = &'n mut dyn FnMut(ColumnChanges<'_>);
