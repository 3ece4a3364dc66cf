//! Reading a data folder.

use std::ops::Bound;

use skein_disk::{DiskStore, Durability};
use skein_store::{Direction, RowRef};

use super::Output;
use crate::bounds::Range;
use crate::disk;
use crate::exit::Failure;
use crate::format::Body;
use crate::target::{self, FolderTarget};

/// Writes the rows of `folder` within `range`.
pub fn dump(folder: &FolderTarget<'_>, range: &Range, output: &mut Output) -> Result<(), Failure> {
    if let Some(store) = folder.open_disk(Durability::default())? {
        return dump_disk(store, range, output);
    }
    let store = folder.open_existing()?;
    let bounds = (borrow(&range.0), borrow(&range.1));
    store.session().scan(bounds, Direction::Forward, |key, row| output.row(key, &body(row)));
    store.close().map(|_| ()).map_err(|error| target::store_failure(&error))
}

/// The same of a disk store.
fn dump_disk(store: DiskStore, (min, max): &Range, output: &mut Output) -> Result<(), Failure> {
    let failed = |error| disk::failure(&error);
    let mut cursor = store.cursor().map_err(failed)?;
    let mut next = match min {
        Bound::Unbounded => cursor.next(),
        Bound::Included(key) | Bound::Excluded(key) => cursor.seek(key),
    };
    while let Some(entry) = next.map_err(failed)? {
        let is_past = match max {
            Bound::Unbounded => false,
            Bound::Included(key) => entry.key > *key,
            Bound::Excluded(key) => entry.key >= *key,
        };
        if is_past {
            break;
        }
        let is_left_out = matches!(min, Bound::Excluded(key) if *key == entry.key);
        if !is_left_out && output.row(&entry.key, &Body::Value(entry.value)).is_break() {
            break;
        }
        next = cursor.next();
    }
    drop(cursor);
    store.close().map_err(failed)
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
