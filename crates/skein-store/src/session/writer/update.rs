//! Read-modify-writes of one key: the closure decides by the row that it sees, and the exchange
//! succeeds only if the key still has this row.
//!
//! A row that stands for a collection owns a share of it, so an exchange also hands over the
//! collections. The new collection gains a main row before the exchange, and the old one loses its
//! main row after it. If the exchange fails, the new collection loses the main row again.

use std::sync::Arc;

use skein_index::{ComputeAction, LocalGuard};
use skein_log::LogOperation;
use skein_model::{
    CollectionKind, ColumnChanges, ListEnd, MemberWrites, NoteColumns, RowAllocator, RowChange, RowLimits,
    RowRef, RowUpdate, RowWriter, move_element, move_member, rename_row,
};

use super::{Writer, release_collection};
use crate::collection::SharedCollection;
use crate::index::{IndexPlace, note_removed};
use crate::record;
use crate::session::memory_members::MemoryCollection;
use crate::session::undo_journal::ReplacedRow;
use crate::store_core::StoreCore;
use crate::{Error, Result};

/// Decides the change of a row that was read. Returns `None` if it fails.
type RowDecider<'d> =
    &'d mut dyn FnMut(Option<RowRef<'_>>, &RowAllocator, NoteColumns<'_>) -> Option<RowChange>;

/// Calls `decide` with the present row of a key, and appends the record of its decision. The record
/// of columns has only their changes if both rows are large, else the whole row.
fn decide_and_record(
    out: &mut Vec<u8>,
    key: &[u8],
    current: Option<RowRef<'_>>,
    rows: &RowAllocator,
    decide: RowDecider<'_>,
) -> Option<RowChange> {
    let start = out.len();
    let was_large = current.is_some_and(RowRef::is_large);
    let change = decide(current, rows, &mut |columns: ColumnChanges<'_>| {
        if was_large && columns.row.is_large() {
            record::write_merge(out, key, 0, columns.set, columns.removed);
        }
    })?;
    let is_expiry = matches!(change, RowChange::Expire(_));
    let change = change.with_row(current, rows);
    match &change {
        RowChange::Put(row) if is_expiry => record::write_expiry(out, key, row.as_ref()),
        RowChange::Put(row) if out.len() == start => record::write_row(out, key, row.as_ref()),
        RowChange::Remove => record::write_remove(out, key, 0),
        RowChange::Put(_) | RowChange::Keep | RowChange::Expire(_) => {}
    }
    Some(change)
}

/// The collections of the old and the new row of an exchange; both `None` if they are the same.
struct CollectionHandover {
    old: Option<Arc<SharedCollection>>,
    new: Option<Arc<SharedCollection>>,
}

impl CollectionHandover {
    /// Prepares the exchange of `seen`. A row that differs only in its time stands for the same
    /// collection. A row of another key is rejected except during a rename: with two rows for one
    /// collection, recovery would find the members of only one.
    fn begin(writer: &Writer<'_>, seen: Option<RowRef<'_>>, change: &RowChange) -> Result<Self> {
        let old = seen.and_then(RowRef::shared_collection);
        let new = match change {
            RowChange::Put(row) => row.as_ref().shared_collection(),
            _ => None,
        };
        let Some(new) = new else { return Ok(Self { old, new: None }) };
        if old.as_ref().is_some_and(|old| Arc::ptr_eq(old, &new)) {
            return Ok(Self { old: None, new: None });
        }
        if !writer.renames || !Arc::ptr_eq(new.members(), &writer.core.keys.members) {
            return Err(Error::OfAnotherKey);
        }
        if !new.add_main_row() {
            return Err(Error::SetIsGone);
        }
        Ok(Self { old, new: Some(new) })
    }

    /// Returns the collection that lost its main row, after the exchange succeeded.
    fn done(self) -> Option<Arc<SharedCollection>> {
        self.old
    }

    /// Undoes [`begin`](Self::begin) after the exchange failed.
    fn give_up(self) {
        release_collection(self.new);
    }
}

impl Writer<'_> {
    /// Does writes as one group: of one epoch and one moment.
    fn as_group<R>(&mut self, writes: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        self.begin_write()?;
        // A writer that is one batch already holds its epoch and its moment.
        let alone = !self.is_group;
        let _group = self.operation.as_ref().filter(|_| alone).map(LogOperation::group);
        self.is_group = true;
        let done = writes(self);
        self.is_group = !alone;
        done
    }
}

impl RowWriter for Writer<'_> {
    type Error = Error;
    type Collection = MemoryCollection;

    fn check_sizes(&self, key: &[u8], bytes: usize) -> Result<()> {
        self.core.check_sizes(key, bytes)
    }

    /// Returns whether columns may be spread. While memory is used up no row is spread, because
    /// spreading needs memory.
    fn spreads_columns(&self) -> bool {
        self.spread && (self.is_admitted() || self.over_budget.is_none())
    }

    fn row_limits(&self) -> RowLimits {
        let limits = &self.core.options.limits;
        if self.packs { limits.row_members.within(limits.value_bytes) } else { RowLimits::NONE }
    }

    fn begin_at<R>(&mut self, key: &[u8], look: impl FnOnce(Option<RowRef<'_>>) -> R) -> Result<R> {
        self.begin_write()?;
        Ok(self.get_with(key, look))
    }

    fn change_collection<R, E: From<Error>>(
        &mut self,
        key: &[u8],
        collection: &MemoryCollection,
        change: impl FnOnce(&mut dyn MemberWrites) -> std::result::Result<R, E>,
    ) -> std::result::Result<Option<R>, E> {
        #[cfg(feature = "interference")]
        self.meet_interference();
        self.change_members(key, collection, |mut members| change(&mut members))
    }

    fn make_collection<R, E: From<Error>>(
        &mut self,
        key: &[u8],
        kind: CollectionKind,
        base: Option<u64>,
        expires: Option<u64>,
        change: impl FnOnce(&mut dyn MemberWrites) -> std::result::Result<R, E>,
    ) -> std::result::Result<Option<(R, u64)>, E> {
        self.make_members(key, kind, base, expires, |mut members| change(&mut members))
    }

    fn rename(&mut self, from: &[u8], to: &[u8], replace: bool) -> Result<Option<bool>> {
        self.as_group(|writer| {
            writer.renames = true;
            let renamed = rename_row(writer, from, to, replace);
            writer.renames = false;
            renamed
        })
    }

    fn move_member(&mut self, kind: CollectionKind, from: &[u8], to: &[u8], member: &[u8]) -> Result<bool> {
        self.as_group(|writer| move_member(writer, kind, from, to, member))
    }

    fn move_element(&mut self, from: (&[u8], ListEnd), to: (&[u8], ListEnd)) -> Result<Option<Vec<u8>>> {
        self.as_group(|writer| move_element(writer, from, to))
    }

    fn update_with_notes<E: From<Error>>(
        &mut self,
        key: &[u8],
        mut decide: impl FnMut(
            Option<RowRef<'_>>,
            &RowAllocator,
            NoteColumns<'_>,
        ) -> std::result::Result<RowChange, E>,
    ) -> std::result::Result<RowUpdate, E> {
        let mut refused = None;
        let updated = self.update_by(key, &mut |row, rows, note| {
            decide(row, rows, note).map_err(|error| refused = Some(error)).ok()
        });
        refused.map_or_else(|| updated.map_err(E::from), Err)
    }
}

impl Writer<'_> {
    /// As [`update_with_notes`](RowWriter::update_with_notes). The decision is a trait object, so that
    /// this is compiled once. If it returns `None`, the key stays as it is.
    fn update_by(&mut self, key: &[u8], decide: RowDecider<'_>) -> Result<RowUpdate> {
        self.begin_write()?;
        StoreCore::check_key(key)?;
        let (rows, time) = (&self.core.keys.rows, self.time());
        let mut place = self.prefetched.place_of(key);
        // The place belongs to the main index and to an equal key, and was found under this guard
        // (invariants 1 and 2 of `prefetched_places`).
        loop {
            let mut decided = None;
            // SAFETY: see above.
            let seen = unsafe { self.core.keys.index.get_at(key, place, &self.guard) };
            let live = time.live(seen);
            self.core.keys.used(live);
            let start = self.records.begin(|out| {
                decided = decide_and_record(out, key, live, rows, decide);
            });
            let (existed, version) = (live.is_some(), live.map_or(0, RowRef::version));
            let unchanged = RowUpdate { existed, changed: false, version };
            let (mut expires, replaced) = (None, seen.and_then(RowRef::expires_at));
            let change = match decided {
                Some(RowChange::Put(row)) => match self.admit_row(key, seen, &row, start) {
                    Ok(()) => {
                        expires = row.as_ref().expires_at();
                        RowChange::Put(row)
                    }
                    Err(error) => {
                        self.records.cancel(start);
                        return Err(error);
                    }
                },
                Some(RowChange::Remove) if live.is_some() => RowChange::Remove,
                Some(RowChange::Keep | RowChange::Expire(_) | RowChange::Remove) | None => {
                    self.records.cancel(start);
                    return Ok(unchanged);
                }
            };
            let handover = match CollectionHandover::begin(self, seen, &change) {
                Ok(handover) => handover,
                Err(error) => {
                    self.records.cancel(start);
                    return Err(error);
                }
            };
            let removed = matches!(change, RowChange::Remove);
            #[cfg(feature = "interference")]
            self.meet_interference();
            // SAFETY: see above.
            let exchanged =
                unsafe { exchange(self.core, self.keeps, key, place.take(), seen, change, &self.guard) };
            match exchanged {
                Ok(Some(Exchanged { version, epoch, removed_bytes })) => {
                    let gone = ReplacedRow { row: seen.map(RowRef::pin), collection: handover.done() };
                    self.removed_bytes += removed_bytes;
                    self.recorded(start, version, epoch);
                    self.update_expiry_index(key, replaced, expires);
                    self.note_replaced(gone, version, removed);
                    return Ok(RowUpdate { changed: true, version, ..unchanged });
                }
                Ok(None) => {
                    handover.give_up();
                    self.records.cancel(start);
                }
                Err(error) => {
                    handover.give_up();
                    self.records.cancel(start);
                    return Err(error);
                }
            }
        }
    }
}

/// The version and the epoch of an exchange, and the bytes that it removed from the index.
pub(in crate::session) struct Exchanged {
    pub(in crate::session) version: u64,
    pub(in crate::session) epoch: u64,
    pub(in crate::session) removed_bytes: usize,
}

/// Changes `key` if its row is still `seen`. Returns `None` if the key has another row by now. If
/// the writer `keeps` replaced rows, the row is kept for the live snapshots.
///
/// # Safety
/// As for [`StoreIndex::compute_at`](crate::index::StoreIndex::compute_at).
pub(in crate::session) unsafe fn exchange(
    core: &StoreCore,
    keeps: bool,
    key: &[u8],
    place: Option<IndexPlace>,
    seen: Option<RowRef<'_>>,
    change: RowChange,
    guard: &LocalGuard<'_>,
) -> Result<Option<Exchanged>> {
    let mut taken = None;
    let exchange = |current: Option<RowRef<'_>>| {
        let same = match (current, seen) {
            (None, None) => true,
            (Some(current), Some(seen)) => current.is(seen),
            _ => false,
        };
        if !same {
            return ComputeAction::Keep;
        }
        let version = core.keys.next_version(key, current);
        match change {
            RowChange::Put(mut row) => {
                taken = Some((version, core.commit.epoch()));
                row.succeed(current, version, core.keys.rows.ages());
                ComputeAction::Put(row)
            }
            RowChange::Remove => {
                taken = Some((version, core.commit.epoch()));
                core.keys.stripes.raise_floor(key, version);
                ComputeAction::Remove
            }
            RowChange::Keep | RowChange::Expire(_) => ComputeAction::Keep,
        }
    };
    // SAFETY: guaranteed by the caller.
    let exchanged = unsafe { core.change_row(keeps, key, place, exchange, guard) }?;
    let removed_bytes =
        if taken.is_some() { note_removed(&core.keys.rows, exchanged.before, guard) } else { 0 };
    Ok(taken.map(|(version, epoch)| Exchanged { version, epoch, removed_bytes }))
}

#[cfg(test)]
mod tests {
    use skein_model::Row;

    use super::*;
    use crate::record::{RecordEffect, RowDelta, StoreRecord};

    /// Returns the record of a decision about `current`.
    fn record_of(
        current: Option<RowRef<'_>>,
        decide: impl FnOnce(Option<RowRef<'_>>, &RowAllocator, NoteColumns<'_>) -> Result<RowChange>,
    ) -> Vec<u8> {
        let (mut out, mut decide) = (Vec::new(), Some(decide));
        decide_and_record(&mut out, b"goose", current, &RowAllocator::new(), &mut |row, rows, note| {
            decide.take().expect("it decides once")(row, rows, note).ok()
        });
        out
    }

    #[test]
    fn only_a_change_of_columns_from_large_to_large_is_recorded_alone() {
        let rows = RowAllocator::new();
        let large: [(&[u8], &[u8]); 2] = [(b"a", &[7; 3000]), (b"b", b"1")];
        let [large, small] = [&large[..], &large[1..]].map(|columns| rows.columns(columns).unwrap().unwrap());
        let put = |current: &Row, set: &[(&[u8], &[u8])], removed: &[&[u8]]| {
            record_of(Some(current.as_ref()), |current, rows, note| {
                let row = rows.merged(current, set, removed)?.expect("columns are left");
                note(ColumnChanges { row: row.as_ref(), set, removed });
                Ok(RowChange::Put(row))
            })
        };
        let grown: &[(&[u8], &[u8])] = &[(b"c", &[8; 3000])];
        for (current, set, removed, alone) in [
            (&large, &grown[..0], &[&b"b"[..]][..], true),
            (&large, grown, &[], true),
            (&large, &[], &[b"a"], false),
            (&small, grown, &[], false),
            (&small, &[(b"c", b"2")], &[], false),
        ] {
            let record = put(current, set, removed);
            let effect = StoreRecord::parse(&record).expect("a record").effect;
            assert_eq!(matches!(effect, RecordEffect::Delta(RowDelta::Merge(_))), alone, "{effect:?}");
            assert!(alone || matches!(effect, RecordEffect::Columns(_)), "{effect:?}");
        }
    }

    #[test]
    fn every_other_decision_is_recorded_by_itself() {
        let rows = RowAllocator::new();
        let row = rows.value(&[b"grey"]).unwrap();
        let of = |current: Option<RowRef<'_>>, change: RowChange| record_of(current, |_, _, _| Ok(change));
        let put = of(None, RowChange::Put(rows.value(&[b"bean"]).unwrap()));
        let effect = StoreRecord::parse(&put).expect("a record").effect;
        assert!(matches!(effect, RecordEffect::Value(b"bean")), "{effect:?}");
        let removal = of(Some(row.as_ref()), RowChange::Remove);
        assert!(matches!(StoreRecord::parse(&removal).expect("a record").effect, RecordEffect::Remove));
        let later = of(Some(row.as_ref()), RowChange::Expire(Some(9)));
        let later = StoreRecord::parse(&later).expect("a record");
        assert!(later.expires == Some(9) && matches!(later.effect, RecordEffect::Value(b"grey")));
        assert!(of(Some(row.as_ref()), RowChange::Keep).is_empty());
        assert!(of(None, RowChange::Expire(Some(9))).is_empty(), "there is nothing that could expire");
    }
}
