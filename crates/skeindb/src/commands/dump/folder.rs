//! Reading a data folder.

use std::ops::{Bound, ControlFlow};

use skein_disk::{DiskStore, Durability, Portion};
use skein_server::Engine;
use skein_store::RowRef;

use super::Output;
use crate::bounds::Range;
use crate::disk;
use crate::exit::Failure;
use crate::target::{self, Contents, FolderTarget};

/// Keys and bytes of a step of a walk in no order.
const WALK_KEYS: usize = 1_000;
const WALK_BYTES: usize = 1 << 20;

/// Writes the rows of `folder` within `range`.
pub fn dump(folder: &FolderTarget<'_>, range: &Range, output: &mut Output) -> Result<(), Failure> {
    match folder.open_contents(Durability::default(), FolderTarget::open_existing)? {
        Contents::Rows(engine) => dump_rows(&engine, range, output),
        Contents::Bytes(store) => dump_bytes(&store, range, output),
    }
}

fn dump_rows(engine: &Engine, (min, max): &Range, output: &mut Output) -> Result<(), Failure> {
    let most = usize::try_from(output.left).unwrap_or(usize::MAX);
    let write = |key: &[u8], row: RowRef<'_>| write_row(key, row, output);
    // Without bounds, what has no order is written in its own.
    let scanned = engine.session().walk((borrow(min), borrow(max)), most, write);
    scanned.and(engine.close()).map_err(|error| target::engine_failure(&error))
}

fn dump_bytes(store: &DiskStore, range: &Range, output: &mut Output) -> Result<(), Failure> {
    match range {
        (Bound::Unbounded, Bound::Unbounded) if !store.shape().is_ordered() => dump_unordered(store, output)?,
        range => dump_ordered(store, range, output)?,
    }
    store.close().map_err(|error| disk::failure(&error))
}

/// Writes all keys in the trie's own order.
fn dump_unordered(store: &DiskStore, output: &mut Output) -> Result<(), Failure> {
    let mut last: Option<Vec<u8>> = None;
    loop {
        let portion = Portion {
            lower: last.as_deref().map_or(Bound::Unbounded, Bound::Excluded),
            upper: Bound::Unbounded,
            direction: skein_disk::Direction::Forward,
            keys: WALK_KEYS,
            bytes: WALK_BYTES,
            values: true,
        };
        let found = store.walk(&portion).map_err(|error| disk::failure(&error))?;
        for entry in found.entries {
            if output.value(&entry.key, entry.value, None).is_break() {
                return Ok(());
            }
            last = Some(entry.key);
        }
        if !found.more {
            return Ok(());
        }
    }
}

fn dump_ordered(store: &DiskStore, (min, max): &Range, output: &mut Output) -> Result<(), Failure> {
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
        if !is_left_out && output.value(&entry.key, entry.value, None).is_break() {
            break;
        }
        next = cursor.next();
    }
    Ok(())
}

fn write_row(key: &[u8], row: RowRef<'_>, output: &mut Output) -> ControlFlow<()> {
    if output.keys_only {
        return output.key(key);
    }
    if let Some(value) = row.value() {
        return output.value(key, value.to_vec(), row.expires_at());
    }
    // A break would not come out of a walk by itself.
    let mut go_on = ControlFlow::Continue(());
    let mut pieces = output.pieces(key, row.expires_at());
    if let Some(set) = row.sorted_set() {
        set.read().members_after(None, |member, score| {
            go_on = pieces.member(member, score);
            go_on
        });
    } else if let Some(columns) = row.read_columns() {
        columns.walk(None, |name, value| {
            go_on = pieces.column(name, value);
            go_on
        });
    }
    go_on?;
    pieces.finish()
}

fn borrow(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}
