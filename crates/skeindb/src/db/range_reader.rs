//! Ranges, read in chunks, for the iterators.

use std::ops::{Bound, ControlFlow};

use skein_data::{EngineBounds, RowView, ScanDirection, StoredKeyspace};

use super::physical_key::KeyspaceKeys as _;
use crate::{Error, Result};

/// The bounds of a range of the engine's keys.
pub(super) type OwnedBounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);
/// A key of a keyspace with its value, or with the reason for its absence.
pub(super) type RowRead = (Vec<u8>, Result<Vec<u8>>);

/// Rows for which a chunk reserves memory, so that it rarely grows.
const RESERVED_ROWS: usize = 512;

/// The part of a range that is to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkRequest<'r> {
    pub(super) number: StoredKeyspace,
    /// Of the engine's keys.
    pub(super) bounds: EngineBounds<'r>,
    pub(super) direction: ScanDirection,
    /// The most rows.
    pub(super) rows: usize,
    /// The chunk ends with the row that reaches so many bytes.
    pub(super) bytes: usize,
    /// Whether values are read, or keys alone.
    pub(super) values: bool,
}

/// Rows in the order of the direction.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) rows: Vec<RowRead>,
    /// The engine's key of the last row, if the range may have more.
    pub(super) more_after: Option<Vec<u8>>,
}

pub(super) fn borrowed((lower, upper): &OwnedBounds) -> EngineBounds<'_> {
    (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice))
}

/// Returns the greater of two lower bounds.
pub(super) fn later<'b>(a: Bound<&'b [u8]>, b: Bound<&'b [u8]>) -> Bound<&'b [u8]> {
    match (a, b) {
        (Bound::Unbounded, bound) | (bound, Bound::Unbounded) => bound,
        (Bound::Included(x) | Bound::Excluded(x), Bound::Included(y) | Bound::Excluded(y)) if x != y => {
            if x > y { a } else { b }
        }
        (Bound::Excluded(_), _) => a,
        _ => b,
    }
}

/// Returns the less of two upper bounds.
pub(super) fn earlier<'b>(a: Bound<&'b [u8]>, b: Bound<&'b [u8]>) -> Bound<&'b [u8]> {
    match (a, b) {
        (Bound::Unbounded, bound) | (bound, Bound::Unbounded) => bound,
        (Bound::Included(x) | Bound::Excluded(x), Bound::Included(y) | Bound::Excluded(y)) if x != y => {
            if x < y { a } else { b }
        }
        (Bound::Excluded(_), _) => a,
        _ => b,
    }
}

/// Reads a chunk with `scan`, which is the scan of a session, a snapshot or a transaction.
pub(super) fn read_chunk(
    request: &ChunkRequest<'_>,
    mut scan: impl FnMut(
        EngineBounds<'_>,
        &mut dyn FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    ) -> skein_data::Result<()>,
) -> Result<Chunk> {
    let mut parts = request.number.pieces(request.bounds);
    if request.direction == ScanDirection::Backward {
        parts.reverse();
    }
    let (mut chunk, mut bytes) =
        (Chunk { rows: Vec::with_capacity(request.rows.min(RESERVED_ROWS)), more_after: None }, 0);
    for bounds in parts.into_iter().flatten() {
        scan(bounds, &mut |key, row| {
            let read = row_read(request, key, row);
            bytes += read.0.len() + read.1.as_ref().map_or(0, Vec::len);
            chunk.rows.push(read);
            if chunk.rows.len() < request.rows && bytes < request.bytes {
                return ControlFlow::Continue(());
            }
            chunk.more_after = Some(key.to_vec());
            ControlFlow::Break(())
        })?;
        if chunk.more_after.is_some() {
            break;
        }
    }
    Ok(chunk)
}

fn row_read(request: &ChunkRequest<'_>, key: &[u8], row: RowView<'_>) -> RowRead {
    let value = if request.values { row.needed_value().map(<[u8]>::to_vec) } else { Ok(Vec::new()) };
    (request.number.logical(key).to_vec(), value.map_err(Error::from))
}

#[cfg(test)]
mod tests {
    use std::ops::Bound::{Excluded, Included, Unbounded};

    use super::*;

    #[test]
    fn bounds_are_narrowed() {
        let (a, b): (&[u8], &[u8]) = (b"a", b"b");
        assert_eq!(later(Unbounded, Excluded(a)), Excluded(a));
        assert_eq!(later(Included(b), Excluded(a)), Included(b));
        assert_eq!(later(Included(a), Excluded(a)), Excluded(a));
        assert_eq!(earlier(Included(a), Unbounded), Included(a));
        assert_eq!(earlier(Included(a), Excluded(b)), Included(a));
        assert_eq!(earlier(Excluded(a), Included(a)), Excluded(a));
    }
}
