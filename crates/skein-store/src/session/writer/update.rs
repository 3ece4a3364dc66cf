//! Read-modify-writes of one key: the closure decides by the row that it sees, and the exchange
//! succeeds only if the key still has this row.
//!
//! A row that stands for a collection owns a share of it, so an exchange also hands over the
//! collections. The new collection gains a main row before the exchange, and the old one loses its
//! main row after it. If the exchange fails, the new collection loses the main row again.

use std::sync::Arc;

use skein_index::{ComputeAction, LocalGuard};
use skein_log::LogOperation;
use skein_model::{CollectionKind, ListEnd, MemberWrites, RowAllocator, RowLimits, RowRef};

use super::{RowChange, RowUpdate, Writer, release_collection};
use crate::collection::SharedCollection;
use crate::index::{IndexPlace, note_removed};
use crate::session::memory_members::MemoryCollection;
use crate::session::move_element::move_element;
use crate::session::move_member::move_member;
use crate::session::recorder::Recorder;
use crate::session::row_writer::RowWriter;
use crate::session::undo_journal::ReplacedRow;
use crate::session::whole_rows::rename_row;
use crate::store_core::StoreCore;
use crate::{Error, Result};

/// Decides the change of a row that was read. Returns `None` if it fails.
type RowDecider<'d> =
    &'d mut dyn FnMut(Option<RowRef<'_>>, &RowAllocator, &mut Recorder<'_>) -> Option<RowChange>;

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
        self.change_members(key, &collection.0, |mut members| change(&mut members))
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

    fn update_recorded<E: From<Error>>(
        &mut self,
        key: &[u8],
        mut decide: impl FnMut(
            Option<RowRef<'_>>,
            &RowAllocator,
            &mut Recorder<'_>,
        ) -> std::result::Result<RowChange, E>,
    ) -> std::result::Result<RowUpdate, E> {
        let mut refused = None;
        let updated = self.update_by(key, &mut |row, rows, recorder| {
            decide(row, rows, recorder).map_err(|error| refused = Some(error)).ok()
        });
        refused.map_or_else(|| updated.map_err(E::from), Err)
    }
}

impl Writer<'_> {
    /// As [`update_recorded`](RowWriter::update_recorded). The decision is a trait object, so that
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
                let mut recorder = Recorder(Some(out));
                decided = decide(live, rows, &mut recorder)
                    .map(|change| recorder.resolve_expiry(key, live, change, rows));
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
