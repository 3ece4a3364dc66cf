//! Scans of a snapshot: the rows of the index, merged with the kept rows, chunk by chunk.
//!
//! ```text
//!   index, first       a   c   d │ e ...        a chunk of rows under one guard
//!   kept rows, then      b   c'  │              those of the same part of the range
//!   shown              a b c'  d │              a kept row takes precedence
//! ```
//!
//! A key that no later write has changed is in the chunk exactly if it was present at the moment:
//! the scan of an index shows every key that is present throughout exactly once. If a later write
//! has changed a key, and the chunk shows its effect (another row, or no row), then the write had
//! kept the old row before. So the scan finds it among the kept rows, which it reads after the
//! index. If the chunk does not show the effect, it has the old row, and so has the kept row, if
//! there is one. Each key is shown at most once, because both parts are merged by key and each part
//! of the range is read once.

use std::ops::{Bound, ControlFlow};

use skein_model::RowRef;

use super::IndexAtMoment;
use super::kept_rows::{KeptRange, direction_cmp};
use crate::ScanDirection;
use crate::index::{IndexChunk, KeyBounds};

/// The number of keys of the first chunk, for short scans, and of the largest.
const CHUNK_FIRST: usize = 16;
const CHUNK_MAX: usize = 512;

/// See [`IndexAtMoment::scan`].
pub(super) fn scan(
    at: &IndexAtMoment<'_>,
    bounds: KeyBounds<'_>,
    direction: ScanDirection,
    mut each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
) {
    let (near, far) = direction.near_and_far(bounds);
    let mut near = near.map(<[u8]>::to_vec);
    let mut most = CHUNK_FIRST;
    loop {
        let guard = at.index.collector().enter();
        let from = near.as_ref().map(Vec::as_slice);
        let chunk = at.index.chunk((from, far), direction, most, &guard);
        let end = chunk.stopped_at().map_or(far, Bound::Included);
        let kept = at.kept.range((from, end), direction, at.moment, most);
        let last = kept.last.as_deref().or(chunk.stopped_at()).map(<[u8]>::to_vec);
        if merge(&chunk, &kept, direction, &mut each).is_break() {
            return;
        }
        let Some(last) = last else { return };
        near = Bound::Excluded(last);
        most = (2 * most).min(CHUNK_MAX);
    }
}

/// Shows the rows of one part of the range.
fn merge(
    chunk: &IndexChunk<'_>,
    kept: &KeptRange,
    direction: ScanDirection,
    each: &mut impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut kept_rows = kept.rows.iter().peekable();
    let is_within =
        |key: &[u8]| kept.last.as_ref().is_none_or(|last| !direction_cmp(direction, key, last).is_gt());
    for (key, row) in chunk.iter().take_while(|(key, _)| is_within(key)) {
        while let Some(before) = kept_rows.next_if(|kept| direction_cmp(direction, kept.key(), key).is_lt()) {
            if let Some(row) = before.row() {
                each(before.key(), row)?;
            }
        }
        match kept_rows.next_if(|kept| kept.key() == key).map(|kept| kept.row()) {
            None => each(key, row)?,
            Some(None) => {}
            Some(Some(row)) => each(key, row)?,
        }
    }
    for rest in kept_rows {
        if let Some(row) = rest.row() {
            each(rest.key(), row)?;
        }
    }
    ControlFlow::Continue(())
}
