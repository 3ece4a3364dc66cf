//! Reads sorted sets.

use std::ops::{Bound, ControlFlow};
use std::sync::RwLockReadGuard;

use skein_sync::locks::shared;

use super::members::{CollectionState, member_key, score_of};
use super::views::{MembersView, ScoreRangeView};
use super::{Collection, Member};
use crate::{RowRef, ScanDirection};

/// The sorted set of a key; see [`RowRef::sorted_set`](crate::RowRef::sorted_set).
#[derive(Clone, Copy, Debug)]
pub struct SortedSet<'g> {
    collection: &'g Collection,
    /// The main row.
    row: RowRef<'g>,
}

impl<'g> SortedSet<'g> {
    pub(crate) fn new(collection: &'g Collection, row: RowRef<'g>) -> Self {
        Self { collection, row }
    }

    /// Returns a reader of the present set. Writers of the set wait until it is dropped, so keep it
    /// for one command only, and do not write or read another set meanwhile.
    pub fn read(self) -> SetReader<'g> {
        SetReader { collection: self.collection, row: self.row, state: self.collection.read() }
    }

    /// Returns how many commands have changed the set since it was loaded into memory. Compare the
    /// numbers of one set only.
    pub fn changes(self) -> u64 {
        shared(self.collection.state()).changes
    }

    /// Returns whether both are the same set, whatever their members.
    pub fn is(self, other: SortedSet<'_>) -> bool {
        std::ptr::eq(self.collection, other.collection)
    }
}

/// A sorted set whose lock is held shared. It is empty if the key was replaced meanwhile.
#[derive(Debug)]
pub struct SetReader<'g> {
    collection: &'g Collection,
    row: RowRef<'g>,
    state: RwLockReadGuard<'g, CollectionState>,
}

impl SetReader<'_> {
    /// Returns the number of members.
    pub fn len(&self) -> u64 {
        self.state.score_index.len()
    }

    /// Returns whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the score of a member. This takes a lookup.
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        self.look(member, |row| score_of(self.collection.kind(), row))
    }

    /// Returns the value of a member: the element at a position of a list. This takes a lookup.
    pub fn value(&self, member: &[u8]) -> Option<Vec<u8>> {
        self.look(member, |row| row.value().map(<[u8]>::to_vec)).flatten()
    }

    fn look<R>(&self, member: &[u8], read: impl FnOnce(RowRef<'_>) -> R) -> Option<R> {
        let members = self.collection.members();
        let guard = members.enter();
        if self.state.dead {
            return self.collection.frozen_member(member, &guard).map(read);
        }
        let mut key = Vec::new();
        members.index.get(member_key(&mut key, self.collection.id(), member), &guard).map(read)
    }

    /// Calls `each` with the members in the order of their bytes until it breaks; only those after
    /// `after`, if given.
    pub fn members_after(&self, after: Option<&[u8]>, mut each: impl FnMut(&[u8], f64) -> ControlFlow<()>) {
        let kind = self.collection.kind();
        self.values_after(after, |member, value| each(member, kind.score_in(value)));
    }

    /// Calls `each` with the members and their values, in the order of the members' bytes, until it
    /// breaks; only those after `after`, if given.
    pub fn values_after(&self, after: Option<&[u8]>, mut each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) {
        let each = |member: &[u8], row: RowRef<'_>| each(member, row.value().unwrap_or_default());
        if self.state.dead {
            return self.collection.walk_frozen(after, each);
        }
        self.collection.walk_members(after, each);
    }

    /// Returns the number of members before this entry, which may be absent. Takes O(log n), as the
    /// functions below.
    pub fn rank(&self, score: f64, member: &[u8]) -> u64 {
        self.state.score_index.rank(score, member)
    }

    /// Returns the number of members for which `before` is true. In the order of scores (of
    /// members' bytes for equal scores) it must be true for the first members and false for all
    /// others; otherwise the answer is any number of members.
    pub fn rank_by(&self, before: impl Fn(f64, Member<'_>) -> bool) -> u64 {
        self.state.score_index.rank_by(before)
    }

    /// Calls `each` with the members from rank `rank` on (the first is 0), forward or backward,
    /// until it breaks.
    pub fn walk(
        &self,
        rank: u64,
        direction: ScanDirection,
        each: impl FnMut(f64, Member<'_>) -> ControlFlow<()>,
    ) {
        self.state.score_index.walk(rank, direction, each);
    }

    /// Takes a view of `count` members from rank `rank` on, forward or backward, as they are now:
    /// to read them in steps while writers continue. Takes O(log n).
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
        let count = count.min(match direction {
            ScanDirection::Forward => self.len().saturating_sub(rank),
            ScanDirection::Backward => rank.saturating_add(1),
        });
        let collection = self.row.shared_collection()?;
        Some(ScoreRangeView::new(collection, &self.state.score_index, rank, count, direction))
    }

    /// Takes a view of the next `count` members after `after` as they are now, by their bytes.
    /// Takes O(1).
    pub fn view_members_after(&self, after: Option<Vec<u8>>, count: u64) -> Option<MembersView> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        Some(MembersView::after(self.row.shared_collection()?, from, count))
    }

    /// Takes a view of all members as they are now, by their bytes: to look them up or read them in
    /// steps while writers continue. The value of a member is its score, 8 bytes, little-endian.
    /// Takes O(1).
    pub fn view_members(&self) -> Option<MembersView> {
        Some(MembersView::new(self.row.shared_collection()?, self.len()))
    }
}
