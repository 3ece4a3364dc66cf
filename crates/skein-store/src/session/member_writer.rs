//! Writes to the members of a collection of any kind. The holder of a collection's lock changes its
//! members, and its main row when the collection begins or ends.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use skein_index::{ComputeAction, Computed, IndexError, LocalGuard};
use skein_log::{LogOperation, OperationGroup};
use skein_model::row::PinnedRow;
use skein_model::{CollectionKind, Row, RowChange, RowRef, SET_SCORE};
use skein_sync::locks::alone;

use super::Writer;
use super::member_changes::MemberChanges;
use super::undo_journal::ReplacedRow;
use super::writer::{Exchanged, exchange};
use crate::collection::{Collection, CollectionState, ID, SharedCollection, member_key, score_of, weight};
use crate::index::note_removed;
use crate::record;
use crate::record_buffer::RecordBuffer;
use crate::snapshot::{RowKeeper, compute_at};
use crate::store_core::StoreCore;
use crate::{Error, Result};

/// The largest number of members that are looked up before their writes: they stay in the cache
/// until then.
const EXPECTED_MAX: usize = 512;

/// Changes the members of a collection, and returns whether they are to stay so. It is called at
/// most once.
pub(super) type CollectionChange<'c> = &'c mut dyn FnMut(MemberWriter<'_>) -> bool;

/// Calls `run` with `change` as a trait object: so the code around a change is compiled once, and
/// not for each kind of change. Returns the answers of both. That of `change` is `None` if `run`
/// did not call it, and its error goes behind one of `run`.
fn answer_of<R, E: From<Error>, D>(
    change: impl FnOnce(MemberWriter<'_>) -> std::result::Result<R, E>,
    run: impl FnOnce(CollectionChange<'_>) -> Result<D>,
) -> std::result::Result<(Option<R>, D), E> {
    let (mut change, mut answer) = (Some(change), None);
    let done = run(&mut |members| {
        answer = change.take().map(|change| change(members));
        matches!(answer, Some(Ok(_)))
    })?;
    Ok((answer.transpose()?, done))
}

impl<'s> Writer<'s> {
    /// Begins a group while snapshots are live, so that they show a change of a collection whole or
    /// not at all. The caller must not hold the lock of a collection.
    fn snapshot_group(&self) -> Option<OperationGroup<'s>> {
        let alone = self.keeps && !self.is_group;
        self.operation.as_ref().filter(|_| alone).map(LogOperation::group)
    }

    /// Calls `change` with a collection and holds its lock meanwhile. Returns whether the change is
    /// to stay. Also returns the changes that may have to be undone: after an error or a refusal,
    /// and within a group.
    pub(super) fn run_change(
        &mut self,
        collection: &Collection,
        state: &mut CollectionState,
        change: CollectionChange<'_>,
    ) -> (Result<bool>, Option<MemberChanges<Vec<u8>>>) {
        let over_budget = self.over_budget.as_ref().filter(|_| self.journal.is_none());
        let (index_bytes, changes, epoch) = (state.index_bytes(), state.changes, self.core.commit.epoch());
        let (guard, mut changed) = (collection.members().enter(), MemberChanges::default());
        let mut members = MemberWriter {
            core: self.core,
            collection,
            guard: &guard,
            state,
            records: &mut self.records,
            over_budget,
            looked_up: RefCell::default(),
            epoch,
            changed: &mut changed,
            leaving: &mut BTreeMap::new(),
            viewed: collection.is_viewed(),
            keeps: self.keeps,
        };
        let stays = change(members.reborrow());
        let made = if stays { members.remove_leaving().map(|()| true) } else { Ok(false) };
        members.keep_leaving();
        collection.members().account(index_bytes, state.index_bytes());
        if state.changes != changes {
            self.note_epoch(epoch);
        }
        let may_be_undone = !matches!(made, Ok(true)) || self.journal.is_some();
        // SAFETY: the rows were replaced under this guard, which is still held.
        let changed = may_be_undone.then(|| unsafe { changed.into_owned() });
        (made, changed)
    }

    /// Changes the collection that was found at `key`, and removes the key with its last member.
    /// Returns `None` if the collection is dead. After an error of `change` the collection is
    /// unchanged.
    pub(super) fn change_members<R, E: From<Error>>(
        &mut self,
        key: &[u8],
        collection: &Arc<SharedCollection>,
        change: impl FnOnce(MemberWriter<'_>) -> std::result::Result<R, E>,
    ) -> std::result::Result<Option<R>, E> {
        Ok(answer_of(change, |change| self.change_found(key, collection, change))?.0)
    }

    /// As [`change_members`](Self::change_members). Does not call `change` if the collection is
    /// dead.
    fn change_found(
        &mut self,
        key: &[u8],
        collection: &Arc<SharedCollection>,
        change: CollectionChange<'_>,
    ) -> Result<()> {
        let _group = self.snapshot_group();
        let mut state = alone(collection.state());
        if state.dead {
            return Ok(());
        }
        let (made, changed) = self.run_change(collection, &mut state, change);
        match (&made, changed, &mut self.journal) {
            (_, Some(changed), Some(journal)) => journal.changed_members(collection, changed),
            (Ok(false) | Err(_), Some(changed), None) => self.undo_change(collection, &mut state, &changed),
            _ => {}
        }
        if state.len() == 0 || std::mem::take(&mut state.cleared) {
            // If the key has another row by now, the writer of that row will find the collection
            // dead.
            let is_it = |found: &Collection| std::ptr::eq(found, &raw const ***collection);
            self.remove_if(key, |row| row.collection().is_some_and(is_it))?;
            collection.mark_dead(&mut state);
        }
        made.map(drop)
    }

    /// Makes a collection with the members that `change` puts, and puts a main row for it until
    /// `expires`, if the key still has version `base` (`None` if it must be absent).
    ///
    /// Returns the answer of `change` and the version of the main row (0 if there were no members
    /// to put). Returns `None` if another writer changed the key meanwhile; then nothing was
    /// written.
    pub(super) fn make_members<R, E: From<Error>>(
        &mut self,
        key: &[u8],
        kind: CollectionKind,
        base: Option<u64>,
        expires: Option<u64>,
        change: impl FnOnce(MemberWriter<'_>) -> std::result::Result<R, E>,
    ) -> std::result::Result<Option<(R, u64)>, E> {
        let (answer, version) =
            answer_of(change, |change| self.make_and_publish(key, kind, base, expires, change))?;
        Ok(answer.zip(version))
    }

    /// As [`make_members`](Self::make_members). Returns the version of the main row; `None` also if
    /// `change` refuses.
    fn make_and_publish(
        &mut self,
        key: &[u8],
        kind: CollectionKind,
        base: Option<u64>,
        expires: Option<u64>,
        change: CollectionChange<'_>,
    ) -> Result<Option<u64>> {
        StoreCore::check_expiry(key, expires)?;
        self.core.check_sizes(key, 0)?;
        let _group = self.snapshot_group();
        let collection = self.core.keys.members.make(kind);
        let mut state = alone(collection.state());
        let mark = self.records.mark();
        let (made, _) = self.run_change(&collection, &mut state, change);
        let empty = state.len() == 0 || std::mem::take(&mut state.cleared);
        let published = match made {
            Ok(true) if !empty => self.publish(key, &collection, base, expires),
            other => other.map(|_| None),
        };
        let refused = match published {
            Ok(Some((version, gone))) => {
                // The lock is released before another collection loses its main row (invariant 3 of
                // `collection`).
                drop(state);
                self.note_replaced(gone, version, false);
                return Ok(Some(version));
            }
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        self.records.take_back(mark);
        collection.mark_dead(&mut state);
        // Without members there is no row. Otherwise `change` refused, or another writer has changed
        // the key.
        refused.map(|()| empty.then_some(0))
    }

    /// Puts the main row of a new collection if the key still has version `base`. Returns the
    /// version of the row, and the replaced row.
    fn publish(
        &mut self,
        key: &[u8],
        collection: &Arc<SharedCollection>,
        base: Option<u64>,
        expires: Option<u64>,
    ) -> Result<Option<(u64, ReplacedRow)>> {
        let (core, time) = (self.core, self.time());
        let seen = core.keys.index.get(key, &self.guard);
        if time.live(seen).map(RowRef::version) != base {
            return Ok(None);
        }
        let replaced_collection = seen.and_then(RowRef::shared_collection);
        let replaced = seen.and_then(RowRef::expires_at);
        let row = core.keys.rows.collection(collection.clone(), expires);
        let start = self.records.begin(|out| record::write_row(out, key, row.as_ref()));
        #[cfg(feature = "interference")]
        self.meet_interference();
        // SAFETY: no place is given.
        let exchanged =
            unsafe { exchange(core, self.keeps, key, None, seen, RowChange::Put(row), &self.guard) }?;
        let Some(Exchanged { version, epoch, removed_bytes }) = exchanged else {
            return Ok(None);
        };
        let gone = ReplacedRow { row: seen.map(RowRef::pin), collection: replaced_collection };
        self.removed_bytes += removed_bytes;
        self.recorded(start, version, epoch);
        self.update_expiry_index(key, replaced, expires);
        Ok(Some((version, gone)))
    }
}

/// Changes a member and keeps its row for the live snapshots.
fn change_and_keep<'w>(
    core: &'w StoreCore,
    key: &[u8],
    change: impl FnOnce(Option<RowRef<'_>>) -> ComputeAction<Row>,
    guard: &'w LocalGuard<'w>,
) -> std::result::Result<Computed<'w, Row>, IndexError> {
    let keeper = Some(RowKeeper::members(&core.keys.members, &core.commit.log));
    // SAFETY: no place is given.
    unsafe { compute_at(&core.keys.members.index, keeper, key, None, change, guard) }
}

/// The member that was looked up or selected last.
#[derive(Debug, Default)]
struct LookedUp {
    /// Its key.
    key: Vec<u8>,
    /// The version of its row, if it is present.
    seen: Option<u64>,
    /// Whether the member was looked up for its value and not written since, so that `seen` is
    /// valid.
    is_seen: bool,
}

/// The members of a collection under its lock, and their records.
///
/// If a change removes a member, the member keeps its place in the index until the change is
/// complete. An index can refuse a new key, but no write to a key that it holds. So undoing a
/// rejected change never needs a place that another writer may have taken meanwhile.
pub(super) struct MemberWriter<'w> {
    pub(super) core: &'w StoreCore,
    pub(super) collection: &'w Collection,
    guard: &'w LocalGuard<'w>,
    pub(super) state: &'w mut CollectionState,
    records: &'w mut RecordBuffer,
    /// The error for writes that add memory, if memory is used up.
    pub(super) over_budget: Option<&'w Error>,
    looked_up: RefCell<LookedUp>,
    epoch: u64,
    changed: &'w mut MemberChanges<PinnedRow>,
    /// Members that the change has removed, with the versions of their rows. The rows are removed
    /// at the end of the change.
    leaving: &'w mut BTreeMap<Vec<u8>, u64>,
    /// The collection has views, so former entries are noted for them.
    viewed: bool,
    /// Snapshots are live, so replaced rows are kept for them.
    keeps: bool,
}

impl<'w> MemberWriter<'w> {
    /// Borrows the writer for a shorter time.
    fn reborrow(&mut self) -> MemberWriter<'_> {
        MemberWriter {
            core: self.core,
            collection: self.collection,
            guard: self.guard,
            state: self.state,
            records: self.records,
            over_budget: self.over_budget,
            looked_up: RefCell::default(),
            epoch: self.epoch,
            changed: self.changed,
            leaving: self.leaving,
            viewed: self.viewed,
            keeps: self.keeps,
        }
    }

    /// Selects a member without looking it up. The next call of `put` applies to it.
    pub(super) fn select(&mut self, member: &[u8]) {
        let looked_up = self.looked_up.get_mut();
        looked_up.is_seen = false;
        member_key(&mut looked_up.key, self.collection.id(), member);
    }

    /// Looks up a member. The next call of `put`, `remove` or `take_out` applies to it.
    pub(super) fn look(&self, member: &[u8]) -> Option<RowRef<'w>> {
        let mut looked_up = self.looked_up.borrow_mut();
        looked_up.is_seen = false;
        let key = member_key(&mut looked_up.key, self.collection.id(), member);
        if self.leaving.contains_key(member) {
            return None;
        }
        self.collection.members().index.get(key, self.guard)
    }

    /// Looks up a member for its value. [`look_again`](Self::look_again) finds it at once.
    pub(super) fn look_for_value(&self, member: &[u8]) -> Option<RowRef<'w>> {
        let found = self.look(member);
        let mut looked_up = self.looked_up.borrow_mut();
        (looked_up.seen, looked_up.is_seen) = (found.map(RowRef::version), true);
        found
    }

    /// Looks up a member, unless it was the last one that was looked up for its value. Returns the
    /// version of its row; `None` if it is absent.
    pub(super) fn look_again(&mut self, name: &[u8]) -> Option<u64> {
        let looked_up = self.looked_up.get_mut();
        if looked_up.is_seen && looked_up.key.get(ID..) == Some(name) {
            return looked_up.seen;
        }
        self.look(name).map(RowRef::version)
    }

    /// Notes, for views, that the score of a member is about to change; `None` if it is absent.
    #[inline]
    pub(super) fn note_score(&self, member: &[u8], was: Option<f64>, score: Option<f64>) {
        if self.viewed {
            self.collection.note_score(member, was, score);
        }
    }

    /// Notes, for views, that the value of a member is about to change.
    #[inline]
    pub(super) fn note_value(&mut self, name: &[u8]) {
        if self.viewed {
            let collection = self.collection;
            collection.note_value(name, self.look(name).and_then(RowRef::value));
        }
    }

    /// Looks up members with overlapping reads, to fill the cache.
    pub(super) fn fetch(&self, members: &mut dyn Iterator<Item = &[u8]>) {
        // The write itself reads a single member as soon.
        if members.size_hint().1.is_some_and(|most| most < 2) {
            return;
        }
        let id = self.collection.id().to_be_bytes();
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for member in members.take(EXPECTED_MAX) {
            bytes.extend_from_slice(&id);
            bytes.extend_from_slice(member);
            ends.push(bytes.len());
        }
        if ends.len() < 2 {
            return;
        }
        let mut start = 0;
        let keys: Vec<&[u8]> =
            ends.into_iter().map(|end| &bytes[std::mem::replace(&mut start, end)..end]).collect();
        self.collection.members().index.look_up(&keys, self.guard, &mut |_, row| {
            std::hint::black_box(row.map(RowRef::version));
        });
        // The scores of a sorted set are not known here.
        if self.kind() == CollectionKind::Set {
            let names: Vec<&[u8]> = keys.iter().map(|key| &key[ID..]).collect();
            self.state.score_index.prefetch(SET_SCORE, &names);
        }
    }

    /// Puts the member that was looked up or selected last. Returns whether it is new.
    pub(super) fn put(&mut self, value: &[u8]) -> Result<bool> {
        self.state.elements = None;
        let LookedUp { key, is_seen, .. } = self.looked_up.get_mut();
        *is_seen = false;
        let (core, members, key) = (self.core, self.collection.members(), &key[..]);
        let mut row = members.rows.value(&[value])?;
        let after = weight(&key[ID..], row.as_ref());
        let start = self.records.begin(|out| record::write_member(out, key, value));
        let mut version = 0;
        let change = |before: Option<RowRef<'_>>| {
            version = before.map_or_else(|| core.keys.stripes.first_version(key), |row| row.version() + 1);
            row.set_version(version);
            ComputeAction::Put(row)
        };
        let changed = if self.keeps {
            change_and_keep(core, key, change, self.guard)
        } else {
            members.index.compute(key, change, self.guard)
        };
        match changed {
            Ok(Computed { before, .. }) => {
                let weighed = before.map_or(0, |row| weight(&key[ID..], row));
                self.state.bytes = (self.state.bytes + after).saturating_sub(weighed);
                _ = note_removed(&members.rows, before, self.guard);
                // A member that the change has removed still has its row.
                let was_leaving = self.leaving.remove(&key[ID..]).is_some();
                self.done(start, version, before.map(RowRef::pin));
                Ok(before.is_none() || was_leaving)
            }
            Err(refused) => {
                self.records.cancel(start);
                Err(refused.into())
            }
        }
    }

    /// Removes the member that was looked up last, with a row of version `seen`. The row stays
    /// until the end of the change.
    pub(super) fn remove(&mut self, seen: u64) {
        self.state.elements = None;
        let looked_up = self.looked_up.get_mut();
        looked_up.is_seen = false;
        self.leaving.insert(looked_up.key[ID..].to_vec(), seen);
    }

    /// Removes the rows of the members that the change has removed.
    fn remove_leaving(&mut self) -> Result<()> {
        while let Some((member, seen)) = self.leaving.pop_first() {
            self.select(&member);
            if let Err(refused) = self.take_out(seen) {
                self.leaving.insert(member, seen);
                return Err(refused);
            }
        }
        Ok(())
    }

    /// Restores the members that a rejected change has removed.
    fn keep_leaving(&mut self) {
        for member in std::mem::take(self.leaving).into_keys() {
            let kind = self.kind();
            if !kind.is_set() {
                self.count_put(&member);
                continue;
            }
            let Some(score) = self.look(&member).map(|row| score_of(kind, row)) else { continue };
            self.note_score(&member, None, Some(score));
            self.state.score_index.insert(score, &member);
        }
    }

    /// Counts a new member with a value that is not its score.
    pub(super) fn count_put(&mut self, member: &[u8]) {
        if self.kind().has_ranks() {
            self.state.score_index.insert(SET_SCORE, member);
        } else {
            self.state.add_column(member);
        }
    }

    /// Removes the row of the member that was looked up last, which has version `seen`.
    pub(super) fn take_out(&mut self, seen: u64) -> Result<()> {
        let looked_up = self.looked_up.get_mut();
        looked_up.is_seen = false;
        let (members, key, version) = (self.collection.members(), &looked_up.key[..], seen + 1);
        let start = self.records.begin(|out| record::write_remove_member(out, key));
        let remove = |_: Option<RowRef<'_>>| ComputeAction::Remove;
        let removed = if self.keeps {
            change_and_keep(self.core, key, remove, self.guard)
        } else {
            members.index.compute(key, remove, self.guard)
        };
        match removed {
            Ok(removed) => {
                let weighed = removed.before.map_or(0, |row| weight(&key[ID..], row));
                self.state.bytes = self.state.bytes.saturating_sub(weighed);
                _ = note_removed(&members.rows, removed.before, self.guard);
                self.core.keys.stripes.raise_floor(key, version);
                self.done(start, version, removed.before.map(RowRef::pin));
                Ok(())
            }
            Err(refused) => {
                self.records.cancel(start);
                Err(refused.into())
            }
        }
    }

    /// Notes that the member that was looked up last was written.
    fn done(&mut self, start: usize, version: u64, before: Option<PinnedRow>) {
        self.records.commit(start, version, self.epoch);
        self.state.changes += u64::from(self.changed.is_empty());
        self.changed.note(&self.looked_up.get_mut().key[ID..], before, version);
    }

    pub(super) fn kind(&self) -> CollectionKind {
        self.collection.kind
    }
}
