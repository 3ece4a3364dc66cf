//! Where the elements of a list lie: from an index to a chunk. Readers and writers share it.

use std::ops::ControlFlow;

use super::chunk::count_in;
use super::ordinals::Ordinals;
use crate::{Member, Members, Result, ScanDirection};

/// The bytes of a position.
const POSITION: usize = size_of::<u64>();
/// The last byte of a chunk's name.
const CHUNK: u8 = 1;
/// Greater than the last byte of each name.
const BEHIND: u8 = u8::MAX;
/// The name of the member with the ordinals. It is the first by name.
pub(super) const ORDINALS: &[u8] = b"";

/// The name of a chunk.
pub(crate) type ChunkName = [u8; POSITION + 1];

/// Returns the name of the chunk at a position.
pub(super) const fn chunk_name(position: u64) -> ChunkName {
    name_with(position, CHUNK)
}

const fn name_with(position: u64, last: u8) -> ChunkName {
    let (position, mut name, mut at) = (position.to_be_bytes(), [last; POSITION + 1], 0);
    while at < POSITION {
        name[at] = position[at];
        at += 1;
    }
    name
}

/// Returns whether this is the name of a chunk.
pub(crate) fn is_chunk_name(name: &[u8]) -> bool {
    name.len() == POSITION + 1
}

/// Returns the position in the name of a chunk.
pub(super) fn position_in(member: Member<'_>) -> u64 {
    let mut position = [0; POSITION];
    let bytes = member.parts().into_iter().flatten();
    position.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    u64::from_be_bytes(position)
}

/// The place of an element.
#[derive(Clone, Copy, Debug)]
pub struct ElementPlace {
    /// The position of its chunk.
    pub(super) position: u64,
    /// The number of members before the chunk.
    pub(super) rank: u64,
    /// The number of elements before it in the chunk.
    pub(super) offset: u64,
}

impl ElementPlace {
    /// Returns the name after which a walk begins with the chunk: less than the chunk's name, and
    /// greater than the one before.
    pub fn name_before(&self) -> [u8; POSITION] {
        self.position.to_be_bytes()
    }

    /// Returns the number of elements before it in its chunk.
    pub fn offset(&self) -> u64 {
        self.offset
    }
}

/// The ends of a list, and its ordinals.
#[derive(Debug)]
pub struct ListLayout {
    pub(super) ordinals: Ordinals,
    /// The number of members before the first chunk: 1 if the ordinals are stored.
    pub(super) before: u64,
    pub(super) first: u64,
    first_count: u64,
    pub(super) second: Option<u64>,
    pub(super) last: u64,
    last_count: u64,
}

impl ListLayout {
    /// Reads the layout of a list. Takes O(log n), as [`find`](Self::find). `None` if it is empty.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn read(members: &(impl Members + ?Sized)) -> Result<Option<Self>> {
        if members.is_empty() {
            return Ok(None);
        }
        let (mut before, mut ends) = (0, Vec::with_capacity(2));
        members.walk_ranks(0, ScanDirection::Forward, &mut |_, member| {
            if member.is_empty() {
                before = 1;
            } else {
                ends.push(position_in(member));
            }
            if ends.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let Some(&first) = ends.first() else { return Ok(None) };
        let mut last = first;
        members.walk_ranks(members.len() - 1, ScanDirection::Backward, &mut |_, member| {
            last = position_in(member);
            ControlFlow::Break(())
        })?;
        let mut ordinals = Ordinals::default();
        if before > 0 {
            members.with_value(ORDINALS, &mut |value| ordinals = Ordinals::of(value))?;
        }
        let first_count = count_of(members, first)?;
        let last_count = if first == last { first_count } else { count_of(members, last)? };
        let second = ends.get(1).copied();
        Ok(Some(Self { ordinals, before, first, first_count, second, last, last_count }))
    }

    /// Returns the number of elements.
    pub fn len(&self) -> u64 {
        let Some(second) = self.second else { return self.first_count };
        let between = self.ordinals.ordinal(self.last) - self.ordinals.ordinal(second);
        self.first_count + u64::try_from(between).unwrap_or(0) + self.last_count
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the place of the element at an index, or `None` if the list has no such element.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn find(&self, members: &(impl Members + ?Sized), index: u64) -> Result<Option<ElementPlace>> {
        if index >= self.len() {
            return Ok(None);
        }
        let first = ElementPlace { position: self.first, rank: self.before, offset: index };
        let (Some(second), Some(behind)) = (self.second, index.checked_sub(self.first_count)) else {
            return Ok(Some(first));
        };
        let ordinal = self.ordinals.ordinal(second) + i64::try_from(behind).unwrap_or(i64::MAX);
        let Some(positions) = self.ordinals.positions_of(ordinal) else { return Ok(Some(first)) };
        let end = members.rank_of(&name_with(*positions.end(), BEHIND))?;
        let rank = end.saturating_sub(1).max(self.before);
        let position = position_at(members, rank)?;
        let offset = ordinal - self.ordinals.ordinal(position);
        Ok(Some(ElementPlace { position, rank, offset: u64::try_from(offset).unwrap_or(0) }))
    }
}

/// Returns the position in the name at a rank.
fn position_at(members: &(impl Members + ?Sized), rank: u64) -> Result<u64> {
    let mut position = 0;
    members.walk_ranks(rank, ScanDirection::Forward, &mut |_, member| {
        position = position_in(member);
        ControlFlow::Break(())
    })?;
    Ok(position)
}

/// Returns the number of elements of the chunk at a position.
fn count_of(members: &(impl Members + ?Sized), position: u64) -> Result<u64> {
    let mut count = 0;
    members.with_value(&chunk_name(position), &mut |value| count = count_in(value))?;
    Ok(count)
}
