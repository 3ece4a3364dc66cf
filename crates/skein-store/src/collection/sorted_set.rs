//! Reading a sorted set.

use std::ops::ControlFlow;
use std::sync::RwLockReadGuard;

use skein_sync::locks::shared;

use super::members::{CollectionState, member_key, score_of};
use super::views::{MembersView, ScoreRangeView};
use super::{Collection, Member};
use crate::{RowRef, ScanDirection};

/// A sorted set that a key holds; see [`RowRef::sorted_set`](crate::RowRef::sorted_set).
#[derive(Clone, Copy, Debug)]
pub struct SortedSet<'g> {
    collection: &'g Collection,
    /// The row that stands for it.
    row: RowRef<'g>,
}

impl<'g> SortedSet<'g> {
    pub(crate) fn new(collection: &'g Collection, row: RowRef<'g>) -> Self {
        Self { collection, row }
    }

    /// The set as it is now. Writers to it wait until this is dropped, so keep it for one command, and do not write or take another meanwhile.
    pub fn read(self) -> SetReader<'g> {
        SetReader { collection: self.collection, row: self.row, state: shared(self.collection.state()) }
    }

    /// Commands that have changed the set since it is in memory. Of two sets the numbers mean nothing.
    pub fn changes(self) -> u64 {
        shared(self.collection.state()).changes
    }

    /// Whether both are the same set, whatever their members.
    pub fn is(self, other: SortedSet<'_>) -> bool {
        std::ptr::eq(self.collection, other.collection)
    }
}

/// A sorted set, held still. It is empty if the key was given something else meanwhile.
#[derive(Debug)]
pub struct SetReader<'g> {
    collection: &'g Collection,
    row: RowRef<'g>,
    state: RwLockReadGuard<'g, CollectionState>,
}

impl SetReader<'_> {
    /// How many members there are.
    pub fn len(&self) -> u64 {
        self.state.order.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The score of a member. Takes a lookup.
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        if self.state.dead {
            return None;
        }
        let members = self.collection.members();
        let guard = members.enter();
        let mut key = Vec::new();
        members.index.get(member_key(&mut key, self.collection.id(), member), &guard).map(score_of)
    }

    /// Shows `each` the members in the order of their bytes, those after `after` if that is given, until it breaks.
    pub fn members_after(&self, after: Option<&[u8]>, mut each: impl FnMut(&[u8], f64) -> ControlFlow<()>) {
        if self.state.dead {
            return;
        }
        self.collection.walk_members(after, |member, row| each(member, score_of(row)));
    }

    /// How many members come before this entry, which need not be there. Takes O(log n), as all of these.
    pub fn rank(&self, score: f64, member: &[u8]) -> u64 {
        self.state.order.rank(score, member)
    }

    /// How many members are `before` some place in the order of scores and, where they are the same, of members' bytes. That must be true of the first ones and
    /// false of all others; if it is not, the answer is some number of members.
    pub fn rank_by(&self, before: impl Fn(f64, Member<'_>) -> bool) -> u64 {
        self.state.order.rank_by(before)
    }

    /// Shows `each` the members from number `rank` on (the first is 0), in order or in reverse, until it breaks.
    pub fn walk(
        &self,
        rank: u64,
        direction: ScanDirection,
        each: impl FnMut(f64, Member<'_>) -> ControlFlow<()>,
    ) {
        self.state.order.walk(rank, direction, each);
    }

    /// `count` members from number `rank` on, in order or in reverse, as they are now: to read them in steps, beside writers. Takes O(log n).
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// use std::ops::ControlFlow;
    ///
    /// let mut session = store.session();
    /// let add = |session: &mut Session, goose: u32| {
    ///     session.write(|writer| {
    ///         writer.change_set::<_, Error>(b"geese", true, |set| set.put(&goose.to_be_bytes(), f64::from(goose)))
    ///     })
    /// };
    /// for goose in 0..10 {
    ///     add(&mut session, 2 * goose)?.0?;
    /// }
    /// let mut view = session
    ///     .get_with(b"geese", |row| row?.sorted_set()?.read().view(0, 10, Direction::Forward))
    ///     .expect("the set is there");
    /// let mut count = 0;
    /// while view.step(3, |_, _| {
    ///     count += 1;
    ///     ControlFlow::Continue(())
    /// }) {
    ///     add(&mut session, 1 + 2 * count)?.0?;
    /// }
    /// assert_eq!(count, 10, "what came meanwhile is not in the view");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn view(&self, rank: u64, count: u64, direction: ScanDirection) -> Option<ScoreRangeView> {
        let count = count.min(match direction {
            ScanDirection::Forward => self.len().saturating_sub(rank),
            ScanDirection::Backward => rank.saturating_add(1),
        });
        let collection = self.row.shared_collection()?;
        Some(ScoreRangeView::new(collection, &self.state.order, (rank, count), direction))
    }

    /// All members as they are now, by their bytes: to look them up or go through them in steps, beside writers. Their values are their scores, 8 bytes, least first. Takes O(1).
    pub fn view_members(&self) -> Option<MembersView> {
        Some(MembersView::new(self.row.shared_collection()?, self.len()))
    }
}
