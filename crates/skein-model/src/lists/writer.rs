//! Changes of a list.

use std::ops::{ControlFlow, Range};

use super::chunk::{Chunk, ChunkElements};
use super::layout::{ElementPlace, ListLayout, chunk_name, position_in};
use super::ordinals::Shift;
use super::{CLEARED_MIN, EDGE_BYTES, EDGE_COUNT, ListEnd, MIDDLE};
use crate::{MemberWrites, Result};

/// The chunks that a walk lists first, before it reads them.
const FIRST_LISTED: usize = 2;
/// The most chunks that it lists at a time.
const LISTED_MAX: usize = 256;

/// A list that is being changed, by a write to its key.
pub struct ListWriter<'w> {
    key: &'w [u8],
    pub(super) members: &'w mut (dyn MemberWrites + 'w),
    /// The chunk that [`get`](Self::get) has read.
    read: Vec<u8>,
}

/// The chunk at an end of the list.
pub(super) struct EdgeChunk {
    pub(super) position: u64,
    pub(super) chunk: Chunk,
}

impl EdgeChunk {
    pub(super) fn empty(position: u64) -> Self {
        Self { position, chunk: Chunk::empty() }
    }

    /// Returns whether this chunk still has room for a pushed element.
    fn has_room(&self, element: &[u8]) -> bool {
        self.chunk.count() < EDGE_COUNT && self.chunk.bytes_with(element) <= EDGE_BYTES
    }
}

impl<'w> ListWriter<'w> {
    /// Returns a writer of the list with these members. Errors name `key`.
    pub fn new(key: &'w [u8], members: &'w mut (dyn MemberWrites + 'w)) -> Self {
        Self { key, members, read: Vec::new() }
    }

    /// Returns the number of elements. Takes O(log n), and O(1) if it is known from before.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn len(&mut self) -> Result<u64> {
        if let Some(len) = self.known_len() {
            return Ok(len);
        }
        let len = ListLayout::read(self.members)?.map_or(0, |layout| layout.len());
        self.members.note_elements(len);
        Ok(len)
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    fn known_len(&self) -> Option<u64> {
        if self.members.is_empty() { Some(0) } else { self.members.elements() }
    }

    /// Notes the length after a change, if it was known before.
    fn note_len(&mut self, before: Option<u64>, change: impl FnOnce(u64) -> u64) {
        if let Some(before) = before {
            self.members.note_elements(change(before));
        }
    }

    /// Adds elements at an end, one after the other. Takes O(log n), and amortised O(1) for each
    /// element.
    ///
    /// # Errors
    /// An element is over the limit, memory is used up, or the engine fails.
    pub fn push<'e>(&mut self, end: ListEnd, mut elements: impl Iterator<Item = &'e [u8]>) -> Result<()> {
        self.clear_now()?;
        if self.members.push_in_row(end, &mut elements)? {
            return Ok(());
        }
        let (before, mut added) = (self.known_len(), 0);
        let mut edge = self.edge(end)?;
        for element in elements {
            added += 1;
            self.admit(element)?;
            match &mut edge {
                Some(edge) if edge.has_room(element) => edge.chunk.push(end, element),
                _ => edge = Some(self.new_edge(end, edge.take(), element)?),
            }
        }
        if let Some(edge) = edge.filter(|_| added > 0) {
            self.put(edge.position, &edge.chunk)?;
        }
        self.note_len(before, |before| before + added);
        Ok(())
    }

    /// Returns the chunk for an element beyond a full one, with the element.
    fn new_edge(&mut self, end: ListEnd, full: Option<EdgeChunk>, element: &[u8]) -> Result<EdgeChunk> {
        let mut edge = match full {
            None => EdgeChunk::empty(MIDDLE),
            Some(full) => {
                self.put(full.position, &full.chunk)?;
                self.next_edge(end, &full, element)?
            }
        };
        edge.chunk.push(end, element);
        Ok(edge)
    }

    /// Removes up to `count` elements from an end, and calls `each` with them. Takes O(log n), and
    /// amortised O(1) for each element.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn pop(&mut self, end: ListEnd, count: u64, mut each: impl FnMut(&[u8])) -> Result<()> {
        let is_long = self.members.len() >= CLEARED_MIN;
        if is_long && count >= self.members.len() && self.len()? <= count {
            return self.take_all(end, &mut each);
        }
        self.pop_until(end, count, |element| {
            each(element);
            ControlFlow::Continue(())
        })
    }

    /// Does the same as [`pop`](Self::pop), and stops after the element for which `each` breaks.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn pop_until(
        &mut self,
        end: ListEnd,
        count: u64,
        mut each: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let (before, mut left, mut goes_on) = (self.known_len(), count, true);
        while left > 0 && goes_on {
            let Some(EdgeChunk { position, mut chunk }) = self.edge(end)? else { break };
            let (has, mut shown) = (chunk.count(), 0);
            show(end, &chunk, &mut |element| {
                shown += 1;
                goes_on = each(element).is_continue();
                if goes_on && shown < left { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            left -= shown;
            if shown == has {
                self.remove(position)?;
                continue;
            }
            let rest = match end {
                ListEnd::Front => chunk.split_off(shown),
                ListEnd::Back => {
                    chunk.truncate(has - shown);
                    chunk
                }
            };
            self.put_rest(end, position, rest)?;
        }
        self.note_len(before, |before| before.saturating_sub(count - left));
        Ok(())
    }

    /// Shows all elements from an end on, and removes them as a whole.
    fn take_all(&mut self, end: ListEnd, each: &mut impl FnMut(&[u8])) -> Result<()> {
        self.walk_chunks(end, |_, chunk| {
            show(end, chunk, &mut |element| {
                each(element);
                ControlFlow::Continue(())
            });
            ControlFlow::Continue(())
        })?;
        self.clear();
        Ok(())
    }

    /// Calls `each` with the chunks and their positions from an end on, until it breaks.
    fn walk_chunks(
        &mut self,
        end: ListEnd,
        mut each: impl FnMut(u64, &Chunk) -> ControlFlow<()>,
    ) -> Result<()> {
        let (mut passed, mut listed) = (0, FIRST_LISTED);
        loop {
            let positions = self.positions_from(end, passed, listed)?;
            for position in &positions {
                if each(*position, &self.chunk(*position)?).is_break() {
                    return Ok(());
                }
            }
            if positions.len() < listed {
                return Ok(());
            }
            passed += positions.len() as u64;
            listed = (2 * listed).min(LISTED_MAX);
        }
    }

    /// Returns the element at an end.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn peek(&mut self, end: ListEnd) -> Result<Option<Vec<u8>>> {
        let Some(EdgeChunk { chunk, .. }) = self.edge(end)? else { return Ok(None) };
        let mut elements = chunk.elements();
        let element = if end == ListEnd::Front { elements.next() } else { elements.last() };
        Ok(element.map(<[u8]>::to_vec))
    }

    /// Returns the element at an index from the front. Takes O(log n), as the methods below.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn get(&mut self, index: u64) -> Result<Option<&[u8]>> {
        let Some((_, place)) = self.find_index(index)? else { return Ok(None) };
        let name = chunk_name(place.position);
        self.read.clear();
        let read = &mut self.read;
        self.members.with_value(&name, &mut |value| read.extend_from_slice(value))?;
        let mut elements = ChunkElements::of(&name, &self.read);
        Ok(elements.nth(usize::try_from(place.offset).unwrap_or(usize::MAX)))
    }

    /// Replaces the element at an index. Returns false if the list has no such element.
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    pub fn set(&mut self, index: u64, element: &[u8]) -> Result<bool> {
        let Some((mut layout, place)) = self.find_index(index)? else { return Ok(false) };
        self.admit(element)?;
        let mut chunk = self.chunk(place.position)?;
        chunk.replace(place.offset, element);
        let before = self.known_len();
        self.put_pieces(&mut layout, place, &chunk)?;
        self.note_len(before, |before| before);
        Ok(true)
    }

    /// Inserts an element before the one at `index`, or at the back.
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    pub fn insert(&mut self, index: u64, element: &[u8]) -> Result<()> {
        self.clear_now()?;
        if index == 0 {
            return self.push(ListEnd::Front, std::iter::once(element));
        }
        let Some((mut layout, place)) = self.find_index(index)? else {
            return self.push(ListEnd::Back, std::iter::once(element));
        };
        self.admit(element)?;
        let mut chunk = self.chunk(place.position)?;
        chunk.insert(place.offset, element);
        if place.rank != layout.before
            && let Some(next) = self.position_at(place.rank + 1)?
        {
            layout.ordinals.shift(&[Shift { before: place.position, next, by: 1 }]);
        }
        let before = self.known_len();
        self.put_pieces(&mut layout, place, &chunk)?;
        self.note_len(before, |before| before + 1);
        Ok(())
    }

    /// Returns the index of the first element that is equal to `element`. Takes O(n).
    ///
    /// # Errors
    /// Those of the engine.
    pub fn find(&mut self, element: &[u8]) -> Result<Option<u64>> {
        let (mut before, mut found) = (0, None);
        self.walk_chunks(ListEnd::Front, |_, chunk| {
            let offset = chunk.elements().position(|other| other == element);
            found = offset.map(|offset| before + offset as u64);
            before += chunk.count();
            if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(found)
    }

    /// Removes up to `count` elements that are equal to `element`, those nearest to `end` first.
    /// Returns their number. Takes O(n).
    ///
    /// # Errors
    /// Those of the engine.
    pub fn remove_equal(&mut self, element: &[u8], end: ListEnd, count: u64) -> Result<u64> {
        let Some(layout) = ListLayout::read(self.members)?.filter(|_| count > 0) else { return Ok(0) };
        let mut found = Vec::new();
        self.walk_chunks(end, |position, chunk| {
            let wanted = usize::try_from(count - found.len() as u64).unwrap_or(usize::MAX);
            let equal = (0..).zip(chunk.elements()).filter(|(_, other)| *other == element);
            let mut places: Vec<(u64, u64)> = equal.map(|(offset, _)| (position, offset)).collect();
            if end == ListEnd::Back {
                places.reverse();
            }
            found.extend(places.into_iter().take(wanted));
            if (found.len() as u64) < count { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        found.sort_unstable();
        let (before, removed) = (self.known_len(), found.len() as u64);
        self.remove_places(layout, &found)?;
        self.note_len(before, |before| before.saturating_sub(removed));
        Ok(removed)
    }

    /// Removes the elements at these positions and offsets, which ascend.
    fn remove_places(&mut self, mut layout: ListLayout, places: &[(u64, u64)]) -> Result<()> {
        let mut shifts = Vec::new();
        for of_chunk in places.chunk_by(|one, other| one.0 == other.0) {
            let position = of_chunk[0].0;
            let offsets: Vec<u64> = of_chunk.iter().map(|(_, offset)| *offset).collect();
            let next = if position == layout.first { None } else { self.position_behind(position)? };
            let by = -(offsets.len() as u64).cast_signed();
            shifts.extend(next.map(|next| Shift { before: position, next, by }));
            let kept = self.chunk(position)?.without(&offsets);
            if kept.count() == 0 { self.remove(position)? } else { self.put(position, &kept)? }
        }
        layout.ordinals.shift(&shifts);
        self.save(&layout.ordinals, layout.before > 0)
    }

    /// Removes all elements with an index outside of `kept`. Takes O(log n), and O(1) for each
    /// removed element.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn trim(&mut self, kept: Range<u64>) -> Result<()> {
        let len = self.len()?;
        if kept.is_empty() || kept.start >= len {
            self.clear();
            return Ok(());
        }
        self.pop(ListEnd::Back, len.saturating_sub(kept.end), |_| {})?;
        self.pop(ListEnd::Front, kept.start, |_| {})
    }

    /// Writes the first elements again, so that the list counts as changed. Takes O(log n).
    ///
    /// # Errors
    /// Those of the engine.
    pub fn rewrite(&mut self) -> Result<()> {
        let before = self.known_len();
        if let Some(edge) = self.edge(ListEnd::Front)? {
            self.put(edge.position, &edge.chunk)?;
        }
        self.note_len(before, |before| before);
        Ok(())
    }

    /// Removes all elements as fast as the removal of the key: a background thread frees them. They
    /// stay visible to the methods until an element is added.
    fn clear(&mut self) {
        let cleared = !self.members.is_empty();
        self.members.set_cleared(cleared);
    }

    /// Removes the elements at once, because the change adds some after [`clear`](Self::clear).
    fn clear_now(&mut self) -> Result<()> {
        if self.members.set_cleared(false) {
            for position in self.positions()? {
                self.remove(position)?;
            }
        }
        Ok(())
    }

    /// Rejects an element that is over the limit, or for which there is no memory.
    fn admit(&mut self, element: &[u8]) -> Result<()> {
        self.members.check_sizes(self.key, Chunk::empty().bytes_with(element))?;
        self.members.admit_growth()
    }

    /// Returns the chunk at an end.
    fn edge(&mut self, end: ListEnd) -> Result<Option<EdgeChunk>> {
        let rank = match end {
            ListEnd::Front => 0,
            ListEnd::Back => self.members.len().saturating_sub(1),
        };
        let mut found = None;
        if !self.members.is_empty() {
            self.members.walk_ranks(rank, end.inwards(), &mut |_, member| {
                if member.is_empty() {
                    return ControlFlow::Continue(());
                }
                found = Some(position_in(member));
                ControlFlow::Break(())
            })?;
        }
        let Some(position) = found else { return Ok(None) };
        Ok(Some(EdgeChunk { position, chunk: self.chunk(position)? }))
    }

    fn find_index(&mut self, index: u64) -> Result<Option<(ListLayout, ElementPlace)>> {
        let Some(layout) = ListLayout::read(self.members)? else { return Ok(None) };
        let place = layout.find(self.members, index)?;
        Ok(place.map(|place| (layout, place)))
    }

    /// Returns the chunk at a position.
    pub(super) fn chunk(&mut self, position: u64) -> Result<Chunk> {
        let mut chunk = Chunk::empty();
        self.members.with_value(&chunk_name(position), &mut |value| chunk = Chunk::of(value))?;
        Ok(chunk)
    }
}

/// Calls `each` with the elements of a chunk from an end on, until it breaks.
fn show(end: ListEnd, chunk: &Chunk, each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
    _ = match end {
        ListEnd::Front => chunk.elements().try_for_each(each),
        ListEnd::Back => {
            let elements: Vec<&[u8]> = chunk.elements().collect();
            elements.into_iter().rev().try_for_each(each)
        }
    };
}

impl std::fmt::Debug for ListWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ListWriter").field("members", &self.members.len()).finish_non_exhaustive()
    }
}
