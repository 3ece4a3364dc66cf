//! The steps in which ranges are counted and removed, for sessions, transactions and both engines.

use std::ops::Bound;

use crate::{Error, Result, RowView, Ticket};

/// The most keys that one step of a range removal removes.
pub const REMOVALS: usize = 256;

/// The result of one step of a range removal.
#[derive(Debug)]
pub struct RangeRemovalStep {
    /// Removed keys.
    pub count: usize,
    /// The lower bound of the rest of the range; `None` if the removal is complete.
    pub rest: Option<Bound<Vec<u8>>>,
    /// The ticket of the removals.
    pub ticket: Ticket,
}

/// Returns whether a key that was looked up exists.
pub fn present(row: Result<Option<RowView<'_>>>) -> Result<bool> {
    match row {
        Ok(row) => Ok(row.is_some()),
        // A value that is not a row has no expiry time, so the key exists.
        Err(Error::NotARow { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}
