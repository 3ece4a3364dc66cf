//! Dumps a data folder.

use std::ops::{Bound, ControlFlow};

use skein_data::{Engine, EngineError, RowView, stream_parts};
use skein_disk::{DiskStore, Durability, ScanRequest};
use skein_store::ScanDirection;

use super::DumpOutput;
use crate::bounds::OwnedBounds;
use crate::disk;
use crate::exit::Failure;
use crate::target::{self, FolderContents, FolderTarget};

/// Keys per step.
const STEP_KEYS: usize = 1_000;
const STEP_BYTES: usize = 1 << 20;

/// Writes the rows of `folder` within `range`.
pub fn dump(folder: &FolderTarget<'_>, range: &OwnedBounds, output: &mut DumpOutput) -> Result<(), Failure> {
    match folder.open_contents(Durability::default(), FolderTarget::open_existing)? {
        FolderContents::Rows(engine) => dump_rows(&engine, range, output),
        FolderContents::Bytes(store) => dump_bytes(&store, range, output),
    }
}

fn dump_rows(engine: &Engine, range: &OwnedBounds, output: &mut DumpOutput) -> Result<(), Failure> {
    if is_all(range) {
        output.expect(engine.len() as u64);
    }
    let most = usize::try_from(output.left).unwrap_or(usize::MAX);
    let bounds = (borrow(&range.0), borrow(&range.1));
    // Remembered here, because a walk returns only its own errors.
    let mut failed = None;
    let write = |key: &[u8], row: RowView<'_>| {
        write_row(key, row, output).unwrap_or_else(|error| {
            failed = Some(error);
            ControlFlow::Break(())
        })
    };
    let mut session = engine.session();
    let scanned = if is_all(range) {
        session.keys().walk_stored(bounds, most, write)
    } else {
        session.keys().scan_stored(bounds, ScanDirection::Forward, most, write)
    };
    let written = scanned.and_then(|()| failed.map_or(Ok(()), Err));
    written.and(engine.close()).map_err(|error| target::engine_failure(&error))
}

/// Returns whether a range has no bounds. Then keys without an order are written in their engine's
/// own sequence. With bounds, the dump rejects them.
fn is_all(range: &OwnedBounds) -> bool {
    *range == (Bound::Unbounded, Bound::Unbounded)
}

fn dump_bytes(store: &DiskStore, range: &OwnedBounds, output: &mut DumpOutput) -> Result<(), Failure> {
    let read = if is_all(range) { DiskStore::walk } else { DiskStore::range };
    if is_all(range) {
        output.expect(store.len());
    }
    let (mut lower, upper) = (range.0.clone(), borrow(&range.1));
    let mut read_keys = 0;
    loop {
        let portion = ScanRequest {
            lower: borrow(&lower),
            upper,
            direction: skein_disk::WalkDirection::Forward,
            keys: STEP_KEYS,
            bytes: STEP_BYTES,
            values: true,
        };
        let found = read(store, &portion).map_err(|error| disk::failure(&error))?;
        let before = read_keys;
        read_keys += found.entries.len() as u64;
        store.check_scanned(before, read_keys).map_err(|error| disk::failure(&error))?;
        for entry in found.entries {
            if output.value(&entry.key, entry.value, None).is_break() {
                return store.close().map_err(|error| disk::failure(&error));
            }
            lower = Bound::Excluded(entry.key);
        }
        if !found.more {
            return store.close().map_err(|error| disk::failure(&error));
        }
    }
}

fn write_row(key: &[u8], row: RowView<'_>, output: &mut DumpOutput) -> Result<ControlFlow<()>, EngineError> {
    if output.keys_only {
        return Ok(output.key(key));
    }
    if let Some(value) = row.value() {
        return Ok(output.value(key, value.to_vec(), row.expires_at()));
    }
    let mut pieces = output.pieces(key, row.expires_at());
    let written = match row.stream(|stream| stream_parts(stream, |part| pieces.stream_part(part)))? {
        Some(written) => written?,
        // A piece that is not of a stream has the same form in a record.
        None => row.pieces(|piece| match piece.unless_stream() {
            Some(body) => pieces.piece(&body),
            None => ControlFlow::Continue(()),
        })?,
    };
    Ok(if written.is_break() { written } else { pieces.finish() })
}

fn borrow(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}
