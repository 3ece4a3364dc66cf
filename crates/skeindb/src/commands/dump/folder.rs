//! Reading a data folder.

use std::ops::Bound;

use skein_store::{Direction, RowRef};

use super::Output;
use crate::bounds::Range;
use crate::exit::Failure;
use crate::format::Body;
use crate::target::{self, FolderTarget};

/// Writes the rows of `folder` within `range`.
pub fn dump(folder: &FolderTarget<'_>, range: &Range, output: &mut Output) -> Result<(), Failure> {
    let store = folder.open_existing()?;
    let bounds = (borrow(&range.0), borrow(&range.1));
    store.session().scan(bounds, Direction::Forward, |key, row| output.row(key, &body(row)));
    store.close().map(|_| ()).map_err(|error| target::store_failure(&error))
}

fn body(row: RowRef<'_>) -> Body {
    match row.value() {
        Some(value) => Body::Value(value.to_vec()),
        None => Body::Columns(row.columns().map(|(name, value)| (name.to_vec(), value.to_vec())).collect()),
    }
}

fn borrow(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}
