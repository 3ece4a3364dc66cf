//! The kept rows of one key, in the order of their writes.
//!
//! # Invariants
//! 1. The moments until which the verified rows were valid do not fall. A writer reads the moment
//!    and the key's row, adds its pending row, and verifies it only if neither has changed. So rows
//!    that are verified earlier were added earlier, or both say that the key was absent until the
//!    same moment: a key can be inserted and removed again meanwhile.
//! 2. A pending row becomes verified, or is removed. So there are at most as many pending rows as
//!    writers of the key, and a verified row stays as it is.
//!
//! So the row of a snapshot is found by halving, however many snapshots are live.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{KeptRow, PENDING};

#[derive(Debug, Default)]
pub(super) struct RowsOfKey(VecDeque<Arc<KeptRow>>);

impl RowsOfKey {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a pending row.
    pub(super) fn push(&mut self, kept: Arc<KeptRow>) {
        self.0.push_back(kept);
    }

    /// Returns the moment until which the last verified row was valid; 0 without one.
    pub(super) fn last_until(&self) -> u64 {
        let mut untils = self.0.iter().rev().map(|kept| kept.until());
        untils.find(|until| *until != PENDING).unwrap_or(0)
    }

    /// Returns the row that a snapshot sees: the verified one with the smallest `until` behind it.
    pub(super) fn seen_at(&self, snapshot: u64) -> Option<&Arc<KeptRow>> {
        self.first_behind(snapshot).map(|at| &self.0[at])
    }

    /// Returns the position of the first verified row that was valid until after `moment`.
    fn first_behind(&self, moment: u64) -> Option<usize> {
        let (mut low, mut high, mut found) = (0, self.0.len(), None);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.verified_from(middle, high) {
                Some((at, until)) if until <= moment => low = at + 1,
                Some((at, _)) => (high, found) = (middle, Some(at)),
                None => high = middle,
            }
        }
        found
    }

    /// Returns the first verified row in a part, and until when it was valid.
    fn verified_from(&self, low: usize, high: usize) -> Option<(usize, u64)> {
        let mut untils = (low..high).map(|at| (at, self.0[at].until()));
        untils.find(|(_, until)| *until != PENDING)
    }

    /// Removes a row. It may be absent already: its writer drops a pending row that the end of a
    /// snapshot has removed, and the other way round.
    pub(super) fn remove(&mut self, kept: &Arc<KeptRow>) {
        let is_it = |other: &Arc<KeptRow>| Arc::ptr_eq(other, kept);
        let at = match kept.until() {
            // Pending rows are among the last ones.
            PENDING => self.0.iter().rposition(is_it),
            until => self.first_behind(until - 1).and_then(|first| {
                let mut alike =
                    self.0.range(first..).take_while(|other| [until, PENDING].contains(&other.until()));
                alike.position(is_it).map(|distance| first + distance)
            }),
        };
        if let Some(at) = at {
            self.0.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use skein_sync::atomic::{AtomicU64, Ordering};

    use super::super::LOOKS;
    use super::*;

    fn row(until: u64) -> Arc<KeptRow> {
        Arc::new(KeptRow { key: b"k"[..].into(), row: None, since: 0, until: AtomicU64::new(until) })
    }

    fn of_rows(rows: &[Arc<KeptRow>]) -> RowsOfKey {
        RowsOfKey(rows.iter().cloned().collect())
    }

    /// Compares searches with a look at every row, with pending rows at every place.
    #[test]
    fn a_search_finds_what_a_look_at_every_row_finds() {
        for rows in 0..7_u32 {
            for pending in 0..1_u32 << rows {
                let until = |at: u32| {
                    if pending >> at & 1 == 1 { PENDING } else { u64::from(at.div_ceil(2)) * 2 + 2 }
                };
                let all: Vec<_> = (0..rows).map(|at| row(until(at))).collect();
                let mut of_key = of_rows(&all);
                let verified = || all.iter().filter(|kept| kept.until() != PENDING);
                assert_eq!(of_key.last_until(), verified().next_back().map_or(0, |kept| kept.until()));
                for snapshot in 0..u64::from(rows) * 2 + 3 {
                    let seen = of_key.seen_at(snapshot).map(|kept| kept.until());
                    assert_eq!(seen, verified().map(|kept| kept.until()).find(|until| *until > snapshot));
                }
                for kept in all.iter().rev().step_by(2).chain(all.iter().skip(rows as usize % 2).step_by(2)) {
                    let before = of_key.0.len();
                    of_key.remove(kept);
                    assert_eq!(of_key.0.len(), before - 1, "{pending:b} of {rows}");
                    assert!(!of_key.0.iter().any(|other| Arc::ptr_eq(other, kept)));
                }
                assert!(of_key.is_empty());
            }
        }
    }

    /// Incident: a write to a key, a snapshot's read of it and the end of a snapshot each looked at
    /// all rows that were kept of the key, one for each snapshot. Consequence: 16,000 snapshots
    /// beside a writer took 33 s. Fix: the rows are in order, so they are searched by halving.
    #[test]
    fn a_search_looks_at_few_rows() {
        const ROWS: u64 = 10_000;
        let all: Vec<_> = (1..=ROWS).map(row).collect();
        let mut of_key = of_rows(&all);
        let looks = || LOOKS.with(std::cell::Cell::take);
        looks();
        assert_eq!(of_key.last_until(), ROWS);
        assert!(looks() <= 2);
        assert_eq!(of_key.seen_at(ROWS / 3).map(|kept| kept.until()), Some(ROWS / 3 + 1));
        assert!(looks() <= 20);
        of_key.remove(&all[7]);
        assert!(looks() <= 20);
        all[9].until.store(PENDING, Ordering::Relaxed);
        assert_eq!(of_key.seen_at(9).map(|kept| kept.until()), Some(11));
    }
}
