//! The notes of one snapshot in one shard: the kept rows that it sees and no newer snapshot sees.
//!
//! The notes lie in groups by `since`. When the snapshot ends, the rows with `since` behind the
//! next older snapshot are dropped, and they are in the last groups. All other rows belong to that
//! snapshot now. The smaller of the two sets of groups moves into the larger, and so do the notes
//! of each group. So a note moves O(log n) times, however many snapshots end after it was made.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use super::KeptRow;

#[cfg(test)]
thread_local! {
    /// The notes and groups that this thread has moved, for tests that bound the cost of an end.
    pub(super) static MOVES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The groups, by `since`. No group is empty.
#[derive(Debug, Default)]
pub(super) struct SnapshotNotes(BTreeMap<u64, Vec<Arc<KeptRow>>>);

impl SnapshotNotes {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, kept: Arc<KeptRow>) {
        self.0.entry(kept.since).or_default().push(kept);
    }

    /// Removes the note of a row. Returns whether it was here.
    pub(super) fn remove(&mut self, kept: &Arc<KeptRow>) -> bool {
        let Some(group) = self.0.get_mut(&kept.since) else { return false };
        // A writer drops its pending row soon, so the note is among the last ones.
        let Some(at) = group.iter().rposition(|other| Arc::ptr_eq(other, kept)) else { return false };
        group.swap_remove(at);
        if group.is_empty() {
            self.0.remove(&kept.since);
        }
        true
    }

    /// Returns whether a row is noted that the snapshot `older` does not see. Without an older
    /// snapshot no row is seen.
    pub(super) fn has_unseen(&self, older: Option<u64>) -> bool {
        let last = self.0.last_key_value();
        last.is_some_and(|(since, _)| older.is_none_or(|older| *since > older))
    }

    /// Removes up to `most` notes of rows that the snapshot `older` does not see.
    pub(super) fn take_unseen(&mut self, older: Option<u64>, most: usize) -> Vec<Arc<KeptRow>> {
        let mut taken = Vec::new();
        while taken.len() < most && self.has_unseen(older) {
            let Some(mut group) = self.0.last_entry() else { break };
            let notes = group.get_mut();
            let left = notes.len().saturating_sub(most - taken.len());
            taken.extend(notes.drain(left..));
            if notes.is_empty() {
                group.remove();
            }
        }
        taken
    }

    /// Adds the notes of a newer snapshot.
    pub(super) fn merge(&mut self, mut newer: Self) {
        if newer.0.len() > self.0.len() {
            mem::swap(self, &mut newer);
        }
        for (since, mut group) in newer.0 {
            let notes = self.0.entry(since).or_default();
            if group.len() > notes.len() {
                mem::swap(notes, &mut group);
            }
            #[cfg(test)]
            MOVES.with(|moves| moves.set(moves.get() + 1 + group.len()));
            notes.append(&mut group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{KeptRows, LiveSnapshots};
    use super::*;

    const SNAPSHOTS: u64 = 512;
    const KEYS: u64 = 8;

    fn key(moment: u64, at: u64) -> Vec<u8> {
        format!("{moment:06}-{at}").into_bytes()
    }

    /// Makes snapshots at the moments 1, 2, ... and inserts new keys after each.
    fn snapshots_beside_new_keys(live: &LiveSnapshots) -> KeptRows {
        let rows = KeptRows::new();
        for moment in 1..=SNAPSHOTS {
            live.add(moment, false, usize::MAX).expect("no limit");
            for at in 0..KEYS {
                let pending = rows.keep(live, &key(moment, at), || None).expect("the snapshot sees it");
                pending.verified(moment + 1);
            }
        }
        rows
    }

    /// Ends the snapshots in this order, in steps of at most `most` notes, and checks after each
    /// end that the oldest and the newest of the others see the first key as absent.
    fn end_all(order: impl Iterator<Item = u64>, most: usize) {
        let live = LiveSnapshots::default();
        let rows = snapshots_beside_new_keys(&live);
        MOVES.take();
        for moment in order {
            let last = live.end(moment);
            while rows.has_notes(moment) {
                rows.give_back(&live, moment, most);
            }
            assert_eq!(rows.bytes() == 0, last, "after the end of {moment}");
            for left in [live.oldest(), Some(live.newest())].into_iter().flatten().filter(|left| *left > 0) {
                assert!(rows.at(&key(left, 0), left).is_some(), "{left} after the end of {moment}");
            }
        }
    }

    /// Incident: a snapshot that ended gave its notes one by one to the next older one, and a new
    /// key is absent for all of them. Consequence: ends of the newest first took quadratic time.
    /// Fix: the smaller set of notes moves into the larger.
    #[test]
    fn ends_of_the_newest_first_move_each_note_few_times() {
        end_all((1..=SNAPSHOTS).rev(), usize::MAX);
        let (moves, notes) = (MOVES.take(), (SNAPSHOTS * KEYS) as usize);
        assert!(moves <= 3 * notes, "{moves} moves of {notes} notes");
    }

    #[test]
    fn ends_in_any_order_keep_the_rows_that_others_see() {
        end_all(1..=SNAPSHOTS, 3);
        end_all((1..=SNAPSHOTS).map(|at| at * 197 % SNAPSHOTS + 1), 3);
        let (moves, notes) = (MOVES.take(), (SNAPSHOTS * KEYS) as usize);
        assert!(moves <= 20 * notes, "{moves} moves of {notes} notes");
    }
}
