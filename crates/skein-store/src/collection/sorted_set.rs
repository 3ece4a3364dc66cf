//! Reads sorted sets, sets and lists: locked in memory, or packed in their row.

use std::ops::{Bound, ControlFlow};
use std::sync::RwLockReadGuard;

use skein_model::{EachNamed, EachRanked, Member, Members, PackedMembers};

use super::Collection;
use super::members::{CollectionState, member_key};
use super::views::{MembersView, ScoreRangeView};
use crate::{Result, RowRef, ScanDirection};

/// The sorted set of a key; see [`CollectionReads::sorted_set`](super::CollectionReads::sorted_set).
#[derive(Clone, Copy, Debug)]
pub struct SortedSet<'g>(SetPlace<'g>);

#[derive(Clone, Copy, Debug)]
enum SetPlace<'g> {
    /// In the row.
    Row(PackedMembers<'g>),
    /// A collection, and its main row.
    Members(&'g Collection, RowRef<'g>),
}

impl<'g> SortedSet<'g> {
    pub(crate) fn new(collection: &'g Collection, row: RowRef<'g>) -> Self {
        Self(SetPlace::Members(collection, row))
    }

    pub(crate) fn packed(packed: PackedMembers<'g>) -> Self {
        Self(SetPlace::Row(packed))
    }

    /// Returns a reader of the present set. Writers of the set wait until it is dropped, so keep it
    /// for one command only, and do not write or read another set meanwhile.
    #[inline]
    pub fn read(self) -> SetReader<'g> {
        SetReader(match self.0 {
            SetPlace::Row(packed) => ReaderPlace::Row(packed),
            SetPlace::Members(collection, row) => {
                ReaderPlace::Locked(LockedMembers { collection, row, state: collection.read() })
            }
        })
    }
}

/// A sorted set under its lock, held shared, or a sorted set in a row. It is empty if the key was
/// replaced meanwhile.
#[derive(Debug)]
pub struct SetReader<'g>(ReaderPlace<'g>);

#[derive(Debug)]
enum ReaderPlace<'g> {
    Row(PackedMembers<'g>),
    Locked(LockedMembers<'g>),
}

/// The members of a collection under its lock, held shared.
#[derive(Debug)]
struct LockedMembers<'g> {
    collection: &'g Collection,
    /// The main row.
    row: RowRef<'g>,
    state: RwLockReadGuard<'g, CollectionState>,
}

impl Members for LockedMembers<'_> {
    fn len(&self) -> u64 {
        self.state.score_index.len()
    }

    fn with_value(&self, name: &[u8], look: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let members = self.collection.members();
        let guard = members.enter();
        let row = if self.state.dead {
            self.collection.frozen_member(name, &guard)
        } else {
            let mut key = Vec::new();
            members.index.get(member_key(&mut key, self.collection.id(), name), &guard)
        };
        if let Some(row) = row {
            look(row.value().unwrap_or_default());
        }
        Ok(row.is_some())
    }

    fn walk_names(&self, after: Option<&[u8]>, each: EachNamed<'_>) -> Result<()> {
        let each = |member: &[u8], row: RowRef<'_>| each(member, row.value().unwrap_or_default());
        if self.state.dead {
            self.collection.walk_frozen(after, each);
        } else {
            self.collection.walk_members(after, each);
        }
        Ok(())
    }

    fn rank_by(&self, before: &dyn Fn(f64, Member<'_>) -> bool) -> Result<u64> {
        Ok(self.state.score_index.rank_by(before))
    }

    fn walk_ranks(&self, rank: u64, direction: ScanDirection, each: EachRanked<'_>) -> Result<()> {
        self.state.score_index.walk(rank, direction, each);
        Ok(())
    }

    fn rank(&self, score: f64, member: &[u8]) -> Result<u64> {
        Ok(self.state.score_index.rank(score, member))
    }
}

impl SetReader<'_> {
    /// Returns the members. Their reads do not fail.
    #[inline]
    pub fn members(&self) -> &dyn Members {
        match &self.0 {
            ReaderPlace::Row(packed) => packed,
            ReaderPlace::Locked(locked) => locked,
        }
    }

    /// Returns whether the members are in the row of their key. Then there are few, and no view of
    /// them is needed.
    pub fn in_row(&self) -> bool {
        matches!(self.0, ReaderPlace::Row(_))
    }

    /// Returns the collection and its length, for a view; `None` if the members are in the row.
    fn viewed(&self) -> Option<&LockedMembers<'_>> {
        match &self.0 {
            ReaderPlace::Row(_) => None,
            ReaderPlace::Locked(locked) => Some(locked),
        }
    }

    /// Returns the number of members.
    pub fn len(&self) -> u64 {
        self.members().len()
    }

    /// Returns whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.members().is_empty()
    }

    /// Returns the score of a member. This takes a lookup.
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        self.members().score(member).unwrap_or_default()
    }

    /// Calls `each` with the members in the order of their bytes until it breaks; only those after
    /// `after`, if given.
    pub fn members_after(&self, after: Option<&[u8]>, mut each: impl FnMut(&[u8], f64) -> ControlFlow<()>) {
        let each = &mut |member: &[u8], value: &[u8]| each(member, MembersView::score_in(value));
        self.members().walk_names(after, each).unwrap_or_default();
    }

    /// Returns the number of members before this entry, which may be absent. Takes O(log n), as the
    /// functions below.
    pub fn rank(&self, score: f64, member: &[u8]) -> u64 {
        self.members().rank(score, member).unwrap_or_default()
    }

    /// Returns the number of members for which `before` is true. Members are in the order of
    /// scores, and of their bytes for equal scores. In this order, `before` must be true for the
    /// first members and false for all others; otherwise the answer is any number of members.
    pub fn rank_by(&self, before: impl Fn(f64, Member<'_>) -> bool) -> u64 {
        self.members().rank_by(&before).unwrap_or_default()
    }

    /// Calls `each` with the members from rank `rank` on (the first is 0), forward or backward,
    /// until it breaks.
    pub fn walk(
        &self,
        rank: u64,
        direction: ScanDirection,
        mut each: impl FnMut(f64, Member<'_>) -> ControlFlow<()>,
    ) {
        self.members().walk_ranks(rank, direction, &mut each).unwrap_or_default();
    }

    /// Takes a view of `count` members from rank `rank` on, forward or backward, as they are now:
    /// to read them in steps while writers continue. Returns `None` if they are in the row of their
    /// key. Takes O(log n).
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// use std::ops::{Bound, ControlFlow};
    ///
    /// let mut session = store.session();
    /// let add = |session: &mut Session, goose: u32| {
    ///     session.write(|writer| {
    ///         writer.change_set::<_, Error>(b"geese", true, |set| {
    ///             set.put(&goose.to_be_bytes(), f64::from(goose))
    ///         })
    ///     })
    /// };
    /// for goose in 0..10 {
    ///     add(&mut session, 2 * goose)?.0?;
    /// }
    /// let mut view = session
    ///     .get_with(b"geese", |row| row?.sorted_set()?.read().view(0, 10, ScanDirection::Forward))
    ///     .expect("the set is there");
    /// let mut count = 0;
    /// while view.step(3, |_, _| {
    ///     count += 1;
    ///     ControlFlow::Continue(())
    /// }) {
    ///     add(&mut session, 1 + 2 * count)?.0?;
    /// }
    /// assert_eq!(count, 10, "later members are not in the view");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn view(&self, rank: u64, count: u64, direction: ScanDirection) -> Option<ScoreRangeView> {
        let locked = self.viewed()?;
        let count = count.min(match direction {
            ScanDirection::Forward => self.len().saturating_sub(rank),
            ScanDirection::Backward => rank.saturating_add(1),
        });
        let collection = locked.row.shared_collection()?;
        Some(ScoreRangeView::new(collection, &locked.state.score_index, rank, count, direction))
    }

    /// Takes a view of the next `count` members after `after` as they are now, by their bytes.
    /// Returns `None` if they are in the row of their key. Takes O(1).
    pub fn view_members_after(&self, after: Option<Vec<u8>>, count: u64) -> Option<MembersView> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        Some(MembersView::after(self.viewed()?.row.shared_collection()?, from, count))
    }

    /// Takes a view of all members as they are now, by their bytes: to look them up or read them in
    /// steps while writers continue. The value of a member is its score, 8 bytes, little-endian.
    /// Returns `None` if they are in the row of their key. Takes O(1).
    pub fn view_members(&self) -> Option<MembersView> {
        self.view_members_after(None, self.len())
    }
}
