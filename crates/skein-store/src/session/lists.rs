//! Writes to lists, for every engine.
//!
//! ```text
//!   members   position, 8 bytes, big-endian ─► element       in the order of the list
//!
//!        … M-2S   M-1S    M    M+1S …            S: the step between pushed elements
//!   LPUSH ◄──┘             └──► RPUSH            M: the position of a list's first element
//!
//!   LINSERT takes the middle of a gap. If the gap is empty, the elements around it get new
//!   positions: few of them, or more if they are crowded.
//! ```
//!
//! So a push or a pop writes one member, and the counted order of positions finds an index in
//! O(log n). The window of new positions doubles until it has room. The idea is that of "Two
//! Simplified Algorithms for Maintaining Order in a List" (Bender et al., ESA 2002); their bound
//! needs thresholds for each size of the window, and is not claimed here.
//!
//! # Invariants
//! 1. Positions are distinct, and ascend in the order of the elements.
//! 2. A relabelling first removes the elements of its window, so no new position meets an old one.

use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};

use super::RowWriter;
use super::member_store::MemberStore;
use crate::collection::Member;
use crate::{Result, ScanDirection};

/// The position of the first element of a list.
const MIDDLE: u64 = 1 << 63;
/// The distance between elements that are pushed one after the other: room for 16 insertions at one
/// place before a relabelling, and for 2^47 pushes at each end.
const STEP: u64 = 1 << 16;
/// The least distance of elements that are relabelled.
const SPREAD_STEP: u64 = 1 << 8;
/// From this many elements on, a list that loses all of them is left to a background thread. For
/// fewer, waking it takes longer.
const CLEARED_MIN: u64 = 64;
/// Elements on each side of a gap that are relabelled first.
const WINDOW: u64 = 16;

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListEnd {
    /// The first element.
    Front,
    /// The last element.
    Back,
}

impl ListEnd {
    /// Returns the direction from this end to the other.
    pub fn inwards(self) -> ScanDirection {
        match self {
            Self::Front => ScanDirection::Forward,
            Self::Back => ScanDirection::Backward,
        }
    }

    /// Returns the position of an element that is pushed next to `edge`. `None` if positions are
    /// used up on this side.
    fn beyond(self, edge: Option<u64>) -> Option<u64> {
        match (edge, self) {
            (None, _) => Some(MIDDLE),
            (Some(edge), Self::Front) => edge.checked_sub(STEP),
            (Some(edge), Self::Back) => edge.checked_add(STEP),
        }
    }
}

/// Returns a position between two neighbours; `None` if there is none.
fn between(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    match (before, after) {
        (Some(before), Some(after)) => {
            let gap = after.saturating_sub(before);
            (gap > 1).then_some(before + gap / 2)
        }
        (None, edge) => ListEnd::Front.beyond(edge),
        (edge, None) => ListEnd::Back.beyond(edge),
    }
}

/// Returns the first position and the distance of `count` elements between two neighbours, or
/// `None` if they would lie closer than [`SPREAD_STEP`]. Without neighbours there is always room.
fn spread(before: Option<u64>, after: Option<u64>, count: u64) -> Option<(u64, u64)> {
    let span = STEP.saturating_mul(count + 1);
    let (low, high) = match (before, after) {
        (None, None) => (MIDDLE.saturating_sub(span / 2), MIDDLE.saturating_add(span / 2)),
        (Some(before), after) => (before, after.unwrap_or(before.saturating_add(span))),
        (None, Some(after)) => (after.saturating_sub(span), after),
    };
    let step = (high - low) / (count + 1);
    let is_whole = before.is_none() && after.is_none();
    (step >= SPREAD_STEP || is_whole).then_some((low + step, step))
}

/// Returns the position that a member's name is.
fn position_in(member: Member<'_>) -> u64 {
    let mut position = [0; 8];
    let bytes = member.parts().into_iter().flatten();
    position.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    u64::from_be_bytes(position)
}

/// Moves an element; see [`RowWriter::move_element`].
pub(super) fn move_element<W: RowWriter + ?Sized>(
    writer: &mut W,
    (from, from_end): (&[u8], ListEnd),
    (to, to_end): (&[u8], ListEnd),
) -> std::result::Result<Option<Vec<u8>>, W::Error> {
    let mut moved = None;
    let is_rotation = from == to;
    writer.change_list::<_, W::Error>(from, false, |list| {
        let index = if from_end == ListEnd::Front { 0 } else { list.len().saturating_sub(1) };
        moved = list.get(index)?.map(<[u8]>::to_vec);
        if is_rotation && let Some(element) = &moved {
            list.pop(from_end, 1, |_| {})?;
            list.push(to_end, std::iter::once(&element[..]))?;
        }
        Ok(())
    })?;
    let Some(element) = &moved else { return Ok(None) };
    if !is_rotation {
        // First, because only this write may be refused.
        writer.change_list::<_, W::Error>(to, true, |list| {
            Ok(list.push(to_end, std::iter::once(&element[..]))?)
        })?;
        writer.change_list::<_, W::Error>(from, false, |list| Ok(list.pop(from_end, 1, |_| {})?))?;
    }
    Ok(moved)
}

/// A list that is being changed; see [`RowWriter::change_list`](super::RowWriter::change_list).
pub struct ListWriter<'w> {
    key: &'w [u8],
    members: &'w mut dyn MemberStore,
}

impl<'w> ListWriter<'w> {
    pub(super) fn new(key: &'w [u8], members: &'w mut dyn MemberStore) -> Self {
        Self { key, members }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> u64 {
        self.members.len()
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds elements at an end, one after the other. Takes O(log n) for each element.
    ///
    /// # Errors
    /// An element is over the limit, memory is used up, or the engine fails.
    pub fn push<'e>(&mut self, end: ListEnd, elements: impl Iterator<Item = &'e [u8]>) -> Result<()> {
        self.clear_now()?;
        let mut edge = self.edge(end)?;
        for element in elements {
            let position = match end.beyond(edge) {
                Some(position) => position,
                None => self.make_position(if end == ListEnd::Front { 0 } else { self.len() })?,
            };
            self.put(position, element)?;
            edge = Some(position);
        }
        Ok(())
    }

    /// Removes up to `count` elements from an end, and calls `each` with them. Takes O(log n) for
    /// each element.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn pop(&mut self, end: ListEnd, count: u64, mut each: impl FnMut(&[u8])) -> Result<()> {
        let all = self.len() <= count && self.len() >= CLEARED_MIN;
        for position in self.positions_from(end, count)? {
            each(self.members.value(&position.to_be_bytes())?.unwrap_or_default());
            if !all {
                self.members.remove_value(&position.to_be_bytes())?;
            }
        }
        if all {
            self.clear();
        }
        Ok(())
    }

    /// Returns the element at an index from the front. Takes O(log n), as the methods below.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn get(&mut self, index: u64) -> Result<Option<&[u8]>> {
        let Some(position) = self.position(index)? else { return Ok(None) };
        self.members.value(&position.to_be_bytes())
    }

    /// Replaces the element at an index. Returns false if there is none.
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    pub fn set(&mut self, index: u64, element: &[u8]) -> Result<bool> {
        let Some(position) = self.position(index)? else { return Ok(false) };
        self.put(position, element)?;
        Ok(true)
    }

    /// Inserts an element before the one at `index`, or at the back.
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    pub fn insert(&mut self, index: u64, element: &[u8]) -> Result<()> {
        self.clear_now()?;
        let index = index.min(self.len());
        let (before, after) = self.neighbours(index..index)?;
        let position = match between(before, after) {
            Some(position) => position,
            None => self.make_position(index)?,
        };
        self.put(position, element)
    }

    /// Returns the index of the first element that is equal to `element`. Takes O(n). REQUIRES: the
    /// write has not changed the list.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn find(&mut self, element: &[u8]) -> Result<Option<u64>> {
        let (mut index, mut found) = (0, None);
        self.members.walk_names(&mut |_, value| {
            if value == element {
                found = Some(index);
                return ControlFlow::Break(());
            }
            index += 1;
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// Removes up to `count` elements that are equal to `element`, those nearest to `end` first.
    /// Returns their number. Takes O(n). REQUIRES: the write has not changed the list.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn remove_equal(&mut self, element: &[u8], end: ListEnd, count: u64) -> Result<u64> {
        let mut found = VecDeque::new();
        self.members.walk_names(&mut |name, value| {
            if value == element {
                found.push_back(name.to_vec());
                if found.len() as u64 > count {
                    found.pop_front();
                }
            }
            let is_complete = end == ListEnd::Front && found.len() as u64 == count;
            if is_complete { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        for name in &found {
            self.members.remove_value(name)?;
        }
        Ok(found.len() as u64)
    }

    /// Removes all elements whose index is outside of `kept`. Takes O(log n) for each.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn trim(&mut self, kept: Range<u64>) -> Result<()> {
        if kept.is_empty() || kept.start >= self.len() {
            self.clear();
            return Ok(());
        }
        let behind = self.len().saturating_sub(kept.end);
        for (end, count) in [(ListEnd::Front, kept.start), (ListEnd::Back, behind)] {
            self.remove_from(end, count)?;
        }
        Ok(())
    }

    /// Removes all elements as fast as the removal of the key: a background thread frees them. They
    /// stay visible to the methods until something is added.
    fn clear(&mut self) {
        let cleared = !self.is_empty();
        self.members.set_cleared(cleared);
    }

    /// Removes the elements at once, because the change adds some after [`clear`](Self::clear).
    fn clear_now(&mut self) -> Result<()> {
        if self.members.set_cleared(false) {
            self.remove_from(ListEnd::Front, u64::MAX)?;
        }
        Ok(())
    }

    /// Removes the `count` elements next to an end.
    fn remove_from(&mut self, end: ListEnd, count: u64) -> Result<()> {
        for position in self.positions_from(end, count)? {
            self.members.remove_value(&position.to_be_bytes())?;
        }
        Ok(())
    }

    fn put(&mut self, position: u64, element: &[u8]) -> Result<()> {
        self.members.check_sizes(self.key, element.len())?;
        self.members.admit_growth()?;
        self.members.put_value(&position.to_be_bytes(), element).map(drop)
    }

    /// Returns the position of the element at an index.
    fn position(&mut self, index: u64) -> Result<Option<u64>> {
        let mut found = None;
        self.members.walk(index, ScanDirection::Forward, &mut |_, member| {
            found = Some(position_in(member));
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// Returns the position of the element at an end.
    fn edge(&mut self, end: ListEnd) -> Result<Option<u64>> {
        Ok(self.positions_from(end, 1)?.pop())
    }

    /// Returns the positions of the `count` elements next to an end, from this end inwards.
    fn positions_from(&mut self, end: ListEnd, count: u64) -> Result<Vec<u64>> {
        let (len, mut positions) = (self.len(), Vec::new());
        if count == 0 || len == 0 {
            return Ok(positions);
        }
        let first = if end == ListEnd::Front { 0 } else { len - 1 };
        self.members.walk(first, end.inwards(), &mut |_, member| {
            positions.push(position_in(member));
            if positions.len() as u64 == count { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(positions)
    }

    /// Returns the positions of the elements before and behind a range of indexes.
    fn neighbours(&mut self, range: Range<u64>) -> Result<(Option<u64>, Option<u64>)> {
        let before = match range.start.checked_sub(1) {
            Some(index) => self.position(index)?,
            None => None,
        };
        Ok((before, self.position(range.end)?))
    }

    /// Gives the elements around a gap new positions, and returns one in the gap.
    fn make_position(&mut self, index: u64) -> Result<u64> {
        let mut side = WINDOW;
        loop {
            let window = index.saturating_sub(side)..index.saturating_add(side).min(self.len());
            let (before, after) = self.neighbours(window.clone())?;
            // One place more: that of the new element.
            if let Some((first, step)) = spread(before, after, window.end - window.start + 1) {
                return self.relabel(window, index, first, step);
            }
            side = side.saturating_mul(2);
        }
    }

    /// Moves the elements of a window to positions `step` apart, and leaves out the place of a new
    /// element at `index`. Returns this place.
    fn relabel(&mut self, window: Range<u64>, index: u64, first: u64, step: u64) -> Result<u64> {
        let mut names = Vec::new();
        let left = window.end - window.start;
        if left > 0 {
            self.members.walk(window.start, ScanDirection::Forward, &mut |_, member| {
                names.push(member.to_vec());
                if names.len() as u64 == left { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
        }
        let mut elements = Vec::with_capacity(names.len());
        for name in &names {
            elements.push(self.members.value(name)?.unwrap_or_default().to_vec());
            self.members.remove_value(name)?;
        }
        let mut place = first;
        let mut free = None;
        for (at, element) in (window.start..).zip(&elements) {
            if at == index {
                free = Some(place);
                place += step;
            }
            self.members.put_value(&place.to_be_bytes(), element)?;
            place += step;
        }
        Ok(free.unwrap_or(place))
    }
}

impl std::fmt::Debug for ListWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ListWriter").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_between_neighbours_ascend() {
        assert_eq!(between(None, None), Some(MIDDLE));
        assert_eq!(between(None, Some(MIDDLE)), Some(MIDDLE - STEP));
        assert_eq!(between(Some(MIDDLE), None), Some(MIDDLE + STEP));
        assert_eq!(between(Some(1), Some(2)), None);
        assert_eq!(between(Some(1), Some(3)), Some(2));
        assert_eq!(between(None, Some(STEP - 1)), None);
        assert_eq!(between(Some(u64::MAX - STEP + 1), None), None);
    }

    #[test]
    fn elements_are_spread_within_their_neighbours() {
        for (before, after) in [
            (None, None),
            (Some(0), None),
            (None, Some(u64::MAX)),
            (None, Some(STEP)),
            (Some(u64::MAX - STEP), None),
            (Some(7), Some(7 + 10 * SPREAD_STEP)),
        ] {
            for count in [1, 2, 9] {
                let Some((first, step)) = spread(before, after, count) else { continue };
                assert!(step >= SPREAD_STEP, "{before:?} {after:?}");
                assert!(before.is_none_or(|before| before < first));
                let last = first + (count - 1) * step;
                assert!(after.is_none_or(|after| last < after), "{before:?} {after:?} {count}");
            }
        }
        assert_eq!(spread(Some(7), Some(8), 1), None);
        assert!(spread(None, None, 1 << 40).is_some());
    }
}
