//! The state of a key, to find out afterwards whether a command has changed it.

use skein_store::RowRef;

use crate::{Result, RowView};

/// The state of a key at a moment. Two states of a key differ if the key was written in between,
/// unless it was absent both times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    /// There is no row.
    Absent,
    /// There is a row that has expired, so readers do not see it.
    Expired,
    /// There is a row.
    Present {
        /// The version of the row.
        version: u64,
        /// The number of changes of a collection that can change without its row.
        changes: Option<u64>,
    },
    /// The row cannot be read.
    Unreadable,
}

impl KeyState {
    /// Returns whether a reader sees the key.
    pub fn is_present(self) -> bool {
        matches!(self, Self::Present { .. })
    }

    /// Returns whether the key was written between two moments, or may have been.
    pub fn differs(self, later: Self) -> bool {
        self != later || self == Self::Unreadable
    }

    /// Returns the state of a row, with whether it has expired.
    pub(crate) fn of(row: Option<(RowRef<'_>, bool)>) -> Self {
        match row {
            None => Self::Absent,
            Some((_, true)) => Self::Expired,
            Some((row, false)) => {
                let view = RowView::from(row);
                Self::Present { version: view.version(), changes: view.changes() }
            }
        }
    }

    /// Returns the state of a row that was read from the disk.
    pub(crate) fn of_read(row: Result<Option<RowRef<'_>>>, now: u64) -> Self {
        row.map_or(Self::Unreadable, |row| Self::of(row.map(|row| (row, row.has_expired(now)))))
    }
}
