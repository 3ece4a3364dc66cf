//! Groups of neighbouring names, with their sizes: they find a random column of a hash, which has
//! no ranks.
//!
//! ```text
//!   names     a b c │ d e f g h │ i j k l          in the member index
//!   groups    "": 3 │ "d": 5    │ "i": 4           here: the start and the size of each
//!
//!   draw      a group, and a number below MAX: 6?  not below its size: draw both again
//!                                              2?  the third name of the group
//! ```
//!
//! A name is drawn if its group and its number are drawn, so all names are equally likely. A
//! quarter of the draws or more need no repetition (invariant 4).
//!
//! A hash has no groups before the first request for random columns. Then it has one group of all
//! names. A group that is too large is cut by a walk over its names, a part at a time. Writers only
//! count, so a hash pays for groups only if they are used.
//!
//! # Invariants
//! 1. The groups divide all names; the first one starts at the empty name.
//! 2. While the collection's lock is free, or held shared, the size of a group is its number of
//!    names.
//! 3. `large` has the starts of all groups with more than [`MAX`] names.
//! 4. Two neighbouring groups have at least [`CUT`] names together.
//!
//! Design: `docs/design/data-model.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use skein_sync::locks::lock;

use super::{Collection, CollectionState};
use crate::RowRef;

/// The largest size of a group from which names are drawn.
const MAX: usize = 64;
/// The size of a group that is cut off a larger one. Two neighbours with fewer names are joined.
const CUT: usize = MAX / 2;

/// Bytes of a group besides its start: its entries and the allocator's overhead.
const GROUP: usize = 96;

#[derive(Debug)]
struct NameGroup {
    start: Arc<[u8]>,
    size: usize,
}

/// The groups of a hash.
#[derive(Debug)]
pub(super) struct NameGroups {
    /// In any order, so that one of them is drawn by its place.
    groups: Vec<NameGroup>,
    /// The place of each group, by its start.
    places: BTreeMap<Arc<[u8]>, usize>,
    large: BTreeSet<Arc<[u8]>>,
    /// Bytes of all starts.
    start_bytes: usize,
}

impl NameGroups {
    /// Returns one group of this number of names.
    fn new(size: usize) -> Self {
        let mut groups =
            Self { groups: Vec::new(), places: BTreeMap::new(), large: BTreeSet::new(), start_bytes: 0 };
        groups.push(Arc::default(), size);
        groups
    }

    pub(super) fn memory(&self) -> usize {
        size_of::<Self>() + self.groups.len() * GROUP + self.start_bytes
    }

    /// Counts a new name.
    pub(super) fn add(&mut self, name: &[u8]) {
        let place = self.place_of(name);
        let group = &mut self.groups[place];
        group.size += 1;
        if group.size == MAX + 1 {
            self.large.insert(group.start.clone());
        }
    }

    /// Counts a name that is removed.
    pub(super) fn remove(&mut self, name: &[u8]) {
        let place = self.place_of(name);
        let group = &mut self.groups[place];
        group.size = group.size.saturating_sub(1);
        if group.size == MAX {
            self.large.remove(&group.start);
        }
        if group.size < CUT {
            let start = group.start.clone();
            self.join(&start);
        }
    }

    /// Returns the place of the group of a name.
    fn place_of(&self, name: &[u8]) -> usize {
        let up_to = (Bound::Unbounded, Bound::Included(name));
        // The first group starts at the empty name (invariant 1).
        self.places.range::<[u8], _>(up_to).next_back().map_or(0, |(_, place)| *place)
    }

    fn push(&mut self, start: Arc<[u8]>, size: usize) {
        self.places.insert(start.clone(), self.groups.len());
        self.start_bytes += start.len();
        if size > MAX {
            self.large.insert(start.clone());
        }
        self.groups.push(NameGroup { start, size });
    }

    /// Joins a group with the group behind it and with that before it, if they have few names.
    fn join(&mut self, start: &Arc<[u8]>) {
        let behind = (Bound::Excluded(&start[..]), Bound::Unbounded);
        let next = self.places.range::<[u8], _>(behind).next().map(|(start, _)| start.clone());
        if let Some(next) = next {
            self.append(start, &next);
        }
        let before = (Bound::Unbounded, Bound::Excluded(&start[..]));
        let last = self.places.range::<[u8], _>(before).next_back().map(|(start, _)| start.clone());
        if let Some(last) = last {
            self.append(&last, start);
        }
    }

    /// Adds the names of a group to the group before it, if they are few.
    fn append(&mut self, to: &Arc<[u8]>, from: &Arc<[u8]>) {
        let (Some(&to), Some(&place)) = (self.places.get(to), self.places.get(from)) else { return };
        let size = self.groups[to].size + self.groups[place].size;
        if size >= CUT {
            return;
        }
        self.groups[to].size = size;
        self.places.remove(from);
        self.start_bytes -= from.len();
        self.groups.swap_remove(place);
        if let Some(moved) = self.groups.get(place) {
            self.places.insert(moved.start.clone(), place);
        }
    }

    /// Cuts large groups, which takes a walk over about `most` names. `walk` calls its argument
    /// with the names from a start on.
    fn cut(&mut self, most: usize, walk: impl Fn(&[u8], &mut dyn FnMut(&[u8]) -> ControlFlow<()>)) {
        let mut passed = 0;
        while passed < most
            && let Some(start) = self.large.pop_first()
        {
            let place = self.place_of(&start);
            let (mut rest, mut size, mut cuts) = (self.groups[place].size, 0, Vec::new());
            walk(&start, &mut |name| {
                if size == CUT {
                    (rest, size, passed) = (rest.saturating_sub(CUT), 0, passed + CUT);
                    cuts.push(Arc::<[u8]>::from(name));
                    if rest <= MAX || passed >= most {
                        return ControlFlow::Break(());
                    }
                }
                size += 1;
                ControlFlow::Continue(())
            });
            let Some(last) = cuts.pop() else { continue };
            self.groups[place].size = CUT;
            for start in cuts {
                self.push(start, CUT);
            }
            self.push(last, rest);
        }
    }

    /// Returns the start of a group, and the number of a name in it: each name is equally likely if
    /// no group is large. Returns `None` if there are no names.
    fn draw(&self, below: &mut dyn FnMut(usize) -> usize) -> Option<(&Arc<[u8]>, usize)> {
        if let [group] = &self.groups[..] {
            return (group.size > 0).then(|| (&group.start, below(group.size)));
        }
        // Not all are empty (invariant 4).
        loop {
            let group = &self.groups[below(self.groups.len())];
            let number = below(MAX);
            if number < group.size {
                return Some((&group.start, number));
            }
        }
    }
}

impl Collection {
    /// Makes the groups of a hash, or cuts large ones, which takes a walk over about `most` names.
    /// Returns whether none is large any more; always false for a dead hash. The caller holds the
    /// lock, shared.
    pub(super) fn group_names(&self, state: &CollectionState, most: usize) -> bool {
        if state.dead || self.kind.has_ranks() {
            return false;
        }
        let mut groups = lock(&state.groups);
        let before = groups.as_ref().map_or(0, |groups| groups.memory());
        let groups = groups.get_or_insert_with(|| {
            Box::new(NameGroups::new(usize::try_from(state.columns).unwrap_or(usize::MAX)))
        });
        groups.cut(most, |start, each| {
            self.walk_members_from(Bound::Included(start), |name, _| each(name));
        });
        self.members.account(before, groups.memory());
        groups.large.is_empty()
    }

    /// Calls `each` with a column that is drawn from the groups. Returns false if there are no
    /// groups, or no columns. The caller holds the lock, shared.
    pub(super) fn draw_member(
        &self,
        state: &CollectionState,
        below: &mut dyn FnMut(usize) -> usize,
        mut each: impl FnMut(&[u8], RowRef<'_>),
    ) -> bool {
        let groups = lock(&state.groups);
        let Some((start, number)) = groups.as_ref().and_then(|groups| groups.draw(below)) else {
            return false;
        };
        let start = start.clone();
        drop(groups);
        let (mut left, mut drawn) = (number, false);
        self.walk_members_from(Bound::Included(&start), |name, row| {
            drawn = left == 0;
            if drawn {
                each(name, row);
                return ControlFlow::Break(());
            }
            left -= 1;
            ControlFlow::Continue(())
        });
        drawn
    }
}

#[cfg(test)]
mod tests;
