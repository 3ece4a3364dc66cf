//! The undo journal of a group: the rows that its writes replaced, so that the group can be undone
//! if a later write is refused.
//!
//! ```text
//!   write_group   put a: v5 ─► v6     put b: absent ─► v1     put c: refused (say, `IndexFull`)
//!   undo          remove b: v2        put a as in v5: v7
//! ```
//!
//! Most refusals are known before the first write (`expected_contents`). Some are not: an index
//! without space refuses a key only when it is put, and other writers may spread or lengthen a row
//! meanwhile.
//!
//! # Invariants
//! 1. The guard of the writer is held and not refreshed while the journal is in use:
//!    [`Writer::begin_write`] does nothing within a group. So every replaced row is still in
//!    memory, and [`PinnedRow::row`] may be called.
//! 2. An undo is an ordinary write: it has a greater version and a record, in the epoch that the
//!    group holds. So recovery finds the group and its undo, or neither; and a record that is based
//!    on a version of the group finds that version.
//! 3. An undo changes only keys that are still as the group left them. A write of another session
//!    in between stays: it saw the group's write, as any reader of a single key may.
//! 4. If a row of a collection was replaced, the collection loses its main row only when the group
//!    is done: until then the row may be put back.
//! 5. Keys that the group added are removed before other keys are put back, so that there is space
//!    for them.
//! 6. An undo is never refused. An index can refuse a new key, but no write to a key that it holds
//!    and no removal; its tests of full tables show this. A group removes keys last, after
//!    everything that can be refused. A change of a collection removes members at its end, too
//!    (`MemberWriter`). So no removed key ever has to be added again.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use skein_model::row::PinnedRow;
use skein_model::{RowChange, RowRef};

use super::Writer;
use super::member_changes::MemberChanges;
use super::writer::{Exchanged, exchange, release_collection};
use crate::collection::SharedCollection;
use crate::record;
use crate::{Error, Result};

/// The row that a write of a group replaced.
#[derive(Debug)]
pub(super) struct ReplacedRow {
    /// The replaced row; `None` if the key was absent.
    pub(super) row: Option<PinnedRow>,
    /// The collection that lost its main row.
    pub(super) collection: Option<Arc<SharedCollection>>,
}

/// One write of a group to a key.
#[derive(Debug)]
struct JournalEntry {
    /// The position of the key among the writes of the group.
    write: usize,
    replaced: ReplacedRow,
    /// The version that the write took.
    version: u64,
    /// Whether the write was a removal.
    removed: bool,
}

/// The writes of a group so far.
#[derive(Debug, Default)]
pub(super) struct UndoJournal {
    /// The position of the present write in the group.
    pub(super) write: usize,
    rows: Vec<JournalEntry>,
    /// Changes of members, each with the position of the first write to the collection's key.
    members: Vec<(usize, Arc<SharedCollection>, MemberChanges<Vec<u8>>)>,
}

/// Consecutive writes of the group to one key or member.
#[derive(Debug)]
pub(super) struct WriteRun<B> {
    /// The contents before the first of them.
    pub(super) before: B,
    /// The version of the last of them.
    pub(super) version: u64,
    /// Whether the last of them was a removal.
    removed: bool,
}

/// The runs of writes by key or member. If another writer wrote between two writes of the group, a
/// new run begins, and the undo restores the other writer's contents.
#[derive(Debug)]
pub(super) struct WriteRuns<K, B>(HashMap<K, WriteRun<B>>);

impl<K: Hash + Eq, B> WriteRuns<K, B> {
    pub(super) fn new() -> Self {
        Self(HashMap::new())
    }

    pub(super) fn note(&mut self, thing: K, before: B, version: u64, removed: bool) {
        match self.0.get_mut(&thing) {
            Some(run) if run.version + 1 == version => (run.version, run.removed) = (version, removed),
            _ => _ = self.0.insert(thing, WriteRun { before, version, removed }),
        }
    }

    pub(super) fn into_iter(self) -> impl Iterator<Item = (K, WriteRun<B>)> {
        self.0.into_iter()
    }
}

impl UndoJournal {
    /// Notes the changes of a collection's members, also after a refused write.
    pub(super) fn changed_members(
        &mut self,
        collection: &Arc<SharedCollection>,
        changed: MemberChanges<Vec<u8>>,
    ) {
        match self.members.iter_mut().find(|(_, other, _)| Arc::ptr_eq(other, collection)) {
            Some((.., earlier)) => earlier.append(&changed),
            None => self.members.push((self.write, collection.clone(), changed)),
        }
    }

    /// Ends the journal of a complete group and releases the replaced collections.
    pub(super) fn commit(self) {
        for entry in self.rows {
            release_collection(entry.replaced.collection);
        }
    }
}

impl Writer<'_> {
    /// Notes that the row of a key was replaced. Outside a group the row is released at once.
    /// Within a group it may be put back.
    pub(super) fn note_replaced(&mut self, replaced: ReplacedRow, version: u64, removed: bool) {
        match &mut self.journal {
            Some(journal) => {
                journal.rows.push(JournalEntry { write: journal.write, replaced, version, removed });
            }
            None => release_collection(replaced.collection),
        }
    }

    /// Undoes the writes of a group; `key_of` returns the key of the write at a position.
    pub(super) fn undo<'k>(&mut self, journal: UndoJournal, key_of: impl Fn(usize) -> &'k [u8]) {
        let UndoJournal { rows, members, .. } = journal;
        for (write, collection, changed) in &members {
            self.undo_members(key_of(*write), collection, changed);
        }
        let (mut runs, mut collections) = (WriteRuns::new(), Vec::new());
        for JournalEntry { write, replaced, version, removed } in rows {
            runs.note(key_of(write), replaced.row, version, removed);
            collections.extend(replaced.collection);
        }
        let mut runs: Vec<_> = runs.into_iter().collect();
        // Invariant 5.
        runs.sort_unstable_by_key(|(_, run)| run.before.is_some());
        let mut back = Vec::new();
        for (key, run) in &runs {
            match self.put_back(key, run) {
                Ok(collection) => back.extend(collection),
                Err(error) => {
                    tracing::error!(key = %key.escape_ascii(), "a write of a refused batch could not be undone: {error}");
                }
            }
        }
        collections.retain(|gone| !back.iter().any(|kept| Arc::ptr_eq(kept, gone)));
        for gone in collections {
            release_collection(Some(gone));
        }
    }

    /// Puts a row back, or removes a key that was absent, if the key is still as the group left it.
    /// Returns the collection of the restored row.
    fn put_back(
        &mut self,
        key: &[u8],
        run: &WriteRun<Option<PinnedRow>>,
    ) -> Result<Option<Arc<SharedCollection>>> {
        let core = self.core;
        // SAFETY: the guard under which the row was replaced is still held (invariant 1).
        let before = run.before.as_ref().map(|row| unsafe { row.row() });
        loop {
            let seen = core.keys.index.get(key, &self.guard);
            let is_ours = match seen {
                Some(row) => !run.removed && row.version() == run.version,
                None => run.removed,
            };
            if !is_ours {
                return Ok(None);
            }
            let (gone, replaced) =
                (seen.and_then(RowRef::shared_collection), seen.and_then(RowRef::expires_at));
            let expires = before.and_then(RowRef::expires_at);
            let change =
                before.map_or(RowChange::Remove, |row| RowChange::Put(core.keys.rows.until(row, expires)));
            let start = self.records.begin(|out| match before {
                Some(row) => record::write_row(out, key, row),
                None => record::write_remove(out, key, 0),
            });
            let exchanged = Error::check_record_len(self.records.bytes() - start).and_then(|()| {
                // SAFETY: no place is given.
                unsafe { exchange(core, self.keeps, key, None, seen, change, &self.guard) }
            });
            match exchanged {
                Ok(Some(Exchanged { version, epoch, removed_bytes })) => {
                    self.removed_bytes += removed_bytes;
                    self.recorded(start, version, epoch);
                    self.update_expiry_index(key, replaced, expires);
                    release_collection(gone);
                    return Ok(before.and_then(RowRef::shared_collection));
                }
                Ok(None) => self.records.cancel(start),
                Err(error) => {
                    self.records.cancel(start);
                    return Err(error);
                }
            }
        }
    }
}
