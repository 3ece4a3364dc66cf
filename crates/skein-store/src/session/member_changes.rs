//! The changes of a collection's members: their former contents, so that a change with a refused
//! write can be undone.
//!
//! An undo consists of ordinary writes with greater versions, and it is recorded. A checkpoint may
//! have seen the members meanwhile, and recovery takes the greatest version.

use std::ops::Range;
use std::sync::Arc;

use skein_model::RowRef;
use skein_model::row::PinnedRow;

use super::Writer;
use super::member_writer::MemberWriter;
use super::undo_journal::WriteRuns;
use crate::collection::{Collection, CollectionState, SharedCollection, score_of};
use crate::{Error, Result};

/// The members that were written, in the order of the writes; `B` is the former contents of a
/// member.
#[derive(Debug)]
pub(super) struct MemberChanges<B> {
    /// The names of the members, concatenated.
    names: Vec<u8>,
    entries: Vec<MemberChange<B>>,
}

#[derive(Debug)]
struct MemberChange<B> {
    name: Range<usize>,
    /// `None` if the member was absent.
    before: Option<B>,
    /// The version that the write took.
    version: u64,
}

impl<B> Default for MemberChanges<B> {
    fn default() -> Self {
        Self { names: Vec::new(), entries: Vec::new() }
    }
}

impl<B> MemberChanges<B> {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Notes that a member was put or removed.
    pub(super) fn note(&mut self, name: &[u8], before: Option<B>, version: u64) {
        let start = self.names.len();
        self.names.extend_from_slice(name);
        self.entries.push(MemberChange { name: start..self.names.len(), before, version });
    }
}

impl MemberChanges<Vec<u8>> {
    /// Appends later changes.
    pub(super) fn append(&mut self, later: &Self) {
        for entry in &later.entries {
            self.note(later.name(entry), entry.before.clone(), entry.version);
        }
    }

    fn name(&self, entry: &MemberChange<Vec<u8>>) -> &[u8] {
        &self.names[entry.name.clone()]
    }
}

impl MemberChanges<PinnedRow> {
    /// Copies the former contents, so that they outlive the guard.
    ///
    /// # Safety
    /// The guard under which the rows were replaced is still held, and was not refreshed.
    pub(super) unsafe fn into_owned(self) -> MemberChanges<Vec<u8>> {
        let own = |entry: MemberChange<PinnedRow>| MemberChange {
            name: entry.name,
            // SAFETY: guaranteed by the caller.
            before: entry.before.map(|row| unsafe { row.row() }.value().unwrap_or_default().to_vec()),
            version: entry.version,
        };
        MemberChanges { names: self.names, entries: self.entries.into_iter().map(own).collect() }
    }
}

impl Writer<'_> {
    /// Undoes a change of a collection, the last write first. Its lock has been held since the
    /// change.
    pub(super) fn undo_change(
        &mut self,
        collection: &Collection,
        state: &mut CollectionState,
        changed: &MemberChanges<Vec<u8>>,
    ) {
        state.cleared = false;
        let _ = self.run_change(collection, state, &mut |mut members| {
            for entry in changed.entries.iter().rev() {
                members.put_back(changed.name(entry), entry.before.as_deref());
            }
            true
        });
    }

    /// Undoes the changes of a group in the collection that it found at `key`, for members that are
    /// still as the group left them. Other writers may have removed all former members: then the
    /// key is removed with its last member, as usual.
    pub(super) fn undo_members(
        &mut self,
        key: &[u8],
        collection: &Arc<SharedCollection>,
        changed: &MemberChanges<Vec<u8>>,
    ) {
        let mut runs = WriteRuns::new();
        for entry in &changed.entries {
            runs.note(changed.name(entry), entry.before.as_deref(), entry.version, false);
        }
        let undone = self.change_members(key, collection, |mut members| {
            for (name, run) in runs.into_iter() {
                if members.look(name).map(RowRef::version) == Some(run.version) {
                    members.put_back(name, run.before);
                }
            }
            Ok::<_, Error>(())
        });
        if let Err(error) = undone {
            tracing::error!(key = %key.escape_ascii(), "a key without members could not be removed: {error}");
        }
    }
}

impl MemberWriter<'_> {
    /// Restores the former contents of a member; `None` if it was absent.
    fn put_back(&mut self, name: &[u8], before: Option<&[u8]>) {
        if let Err(error) = self.try_put_back(name, before) {
            tracing::error!(member = %name.escape_ascii(), "a write of a refused command could not be undone: {error}");
        }
    }

    fn try_put_back(&mut self, name: &[u8], before: Option<&[u8]>) -> Result<()> {
        let kind = self.kind();
        self.state.elements = None;
        let old = before.map(|value| kind.score_in(value));
        let (now, seen) = self.look(name).map(|row| (score_of(kind, row), row.version())).unzip();
        if kind.is_set() {
            self.note_score(name, now, old);
        } else {
            self.note_value(name);
        }
        match (before, seen) {
            (Some(value), _) => drop(self.put(value)?),
            (None, Some(seen)) => self.take_out(seen)?,
            (None, None) => {}
        }
        let state = &mut *self.state;
        if !kind.has_ranks() {
            match (before, seen) {
                (Some(_), None) => state.add_column(name),
                (None, Some(_)) => state.remove_column(name),
                (Some(_), Some(_)) | (None, None) => {}
            }
            return Ok(());
        }
        if let Some(score) = now {
            state.score_index.remove(score, name);
        }
        if let Some(score) = old {
            state.score_index.insert(score, name);
        }
        Ok(())
    }
}
