//! Runs of keys that a transaction's own writes hide: a search for the first or the last row steps
//! over each at once.
//!
//! A transaction that removes rows from one end, as a queue does, would otherwise read all of them
//! again at each search. Runs are noted once they have been read, so skipping them skips no check
//! at the commit: reads stay recorded.

use std::collections::HashMap;

use skein_data::{EngineBounds, ScanDirection, StoredKeyspace};

use super::key_intervals::{KeyIntervals, Position};
use crate::db::range_reader::OwnedBounds;

/// Intervals of the snapshot without a visible row, by keyspace: the default one has others between
/// its keys.
#[derive(Debug, Default)]
pub(super) struct HiddenRuns(HashMap<StoredKeyspace, KeyIntervals<()>>);

/// The rest of a range behind a hidden run at its near end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Visible {
    All,
    Part(OwnedBounds),
    Nothing,
}

impl HiddenRuns {
    pub(super) fn note(&mut self, number: StoredKeyspace, lower: Position, upper: Position) {
        self.0.entry(number).or_default().add(lower, upper, (), |(), ()| ());
    }

    /// Returns the part of a range behind the hidden run at the end where a scan begins.
    pub(super) fn skip(
        &self,
        number: StoredKeyspace,
        bounds: EngineBounds<'_>,
        direction: ScanDirection,
    ) -> Visible {
        let Some(runs) = self.0.get(&number) else { return Visible::All };
        let (lower, upper) = Position::of(bounds);
        let (lower, upper) = match direction {
            ScanDirection::Forward => match runs.end_behind(&lower) {
                Some(end) => (end.clone(), upper),
                None => return Visible::All,
            },
            ScanDirection::Backward => match runs.begin_before(&upper) {
                Some(begin) => (lower, begin.clone()),
                None => return Visible::All,
            },
        };
        Position::bounds(lower, upper).map_or(Visible::Nothing, Visible::Part)
    }

    /// Notes that a key may be visible, because it was written or its removal was undone.
    pub(super) fn show(&mut self, number: StoredKeyspace, key: &[u8]) {
        if let Some(runs) = self.0.get_mut(&number) {
            runs.cut_out(key);
        }
    }
}
