//! A view of a collection's members by name: the columns of a hash, or the members of a sorted set
//! with their scores.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use skein_model::score_in;
use skein_sync::locks::{lock, shared};

use super::{FormerEntries, FormerEntry, PLACE, RegisteredView, SharedCollection, ViewOrder};
use crate::collection::members::member_key;
use crate::{RowRef, ScanDirection};

/// The members of a key as they were at one moment, by name; see
/// [`ColumnsReader::view`](crate::ColumnsReader::view). No writer waits for the view between two
/// steps. It keeps entries that are changed meanwhile, so drop it as soon as possible.
#[derive(Debug)]
pub struct MembersView {
    listed: RegisteredView,
    /// The number of members that no step has shown.
    left: u64,
}

impl MembersView {
    /// Takes a view. REQUIRES: the collection's lock is held shared, and it has `len` members.
    pub(in crate::collection) fn new(collection: Arc<SharedCollection>, len: u64) -> Self {
        Self::after(collection, Bound::Unbounded, len)
    }

    /// Takes a view of the next `len` members from a bound on. REQUIRES: as for [`new`](Self::new).
    pub(in crate::collection) fn after(
        collection: Arc<SharedCollection>,
        from: Bound<Vec<u8>>,
        len: u64,
    ) -> Self {
        let listed = RegisteredView::new(collection, ViewOrder::Name, ScanDirection::Forward, from);
        Self { listed, left: len }
    }

    /// Returns how many members no step has shown.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Returns the bytes that the view uses besides itself. Former entries that it keeps are
    /// counted by the store.
    pub fn memory(&self) -> usize {
        PLACE
    }

    /// Calls `each` with the next members and their values, in the order of their bytes, until it
    /// breaks, and visits about `most` members. Returns whether there are more.
    pub fn step(&mut self, most: usize, mut each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> bool {
        let Self { listed, left } = self;
        if *left == 0 {
            return false;
        }
        let collection = &listed.collection;
        let _state = shared(collection.state());
        let mut former = lock(&listed.former);
        let former = &mut *former;
        let mut looked_at = 0;
        // Shows a member of the view's moment. Breaks if the step must end after it.
        let mut show = |name: &[u8], value: &[u8]| {
            *left = left.saturating_sub(1);
            looked_at += 1;
            if each(name, value).is_break() || *left == 0 || looked_at >= most {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let mut passed = 0;
        let mut stopped = false;
        let after = match &former.next {
            Bound::Excluded(last) | Bound::Included(last) => Some(last.clone()),
            Bound::Unbounded => None,
        };
        let walked = |name: &[u8], row: RowRef<'_>| {
            let shown = show_one(former, name, row.value().unwrap_or_default(), &mut show);
            passed += 1;
            stopped = shown.is_none_or(|shown| shown.is_break()) || passed >= most;
            if stopped && shown.is_some() {
                former.next = Bound::Excluded(name.to_vec());
            }
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        match &collection.frozen {
            Some(_) => collection.walk_frozen(after.as_deref(), walked),
            None => collection.walk_members(after.as_deref(), walked),
        }
        if !stopped {
            stopped = former.show_removed(None, |name, value| show(name, &value)).is_break();
        }
        if !stopped {
            *left = 0;
        }
        *left > 0
    }

    /// Takes a step of the preparation for random columns, which passes about `most` members; see
    /// [`ColumnsReader::prepare_draws`](crate::ColumnsReader::prepare_draws).
    pub fn prepare_draws(&self, most: usize) {
        let collection = &self.listed.collection;
        collection.group_names(&shared(collection.state()), most);
    }

    /// Returns the value of a member. This takes a lookup. REQUIRES: no step was made; otherwise
    /// the answer is meaningless.
    pub fn get(&self, name: &[u8]) -> Option<Vec<u8>> {
        if self.left == 0 {
            return None;
        }
        let collection = &self.listed.collection;
        let _state = shared(collection.state());
        if let Some(was) = lock(&self.listed.former).notes.get(name) {
            return was.clone();
        }
        let (members, mut key) = (collection.members(), Vec::new());
        let guard = members.enter();
        if collection.frozen.is_some() {
            return collection.frozen_member(name, &guard)?.value().map(<[u8]>::to_vec);
        }
        let row = members.index.get(member_key(&mut key, collection.id(), name), &guard)?;
        row.value().map(<[u8]>::to_vec)
    }

    /// Returns the score of a member of a sorted set; as [`get`](Self::get).
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        self.get(member).map(|value| Self::score_in(&value))
    }

    /// Returns the score in a value that a step of a view of a sorted set shows.
    pub fn score_in(value: &[u8]) -> f64 {
        score_in(value)
    }
}

/// Shows the removed entries before the present entry, and then this entry as it was. Returns
/// `None` if the step ended at a removed entry.
fn show_one(
    former: &mut FormerEntries,
    name: &[u8],
    value: &[u8],
    show: &mut impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Option<ControlFlow<()>> {
    if former.notes.is_empty() {
        return Some(show(name, value));
    }
    if former.show_removed(Some(name), |name, value| show(name, &value)).is_break() {
        return None;
    }
    Some(match former.take(name) {
        FormerEntry::Same => show(name, value),
        FormerEntry::Absent => ControlFlow::Continue(()),
        FormerEntry::Held(value) => show(name, &value),
    })
}
