//! Where the chunks of a changed list go.

use std::ops::ControlFlow;

use super::chunk::Chunk;
use super::layout::{ElementPlace, ListLayout, ORDINALS, chunk_name, position_in};
use super::ordinals::Ordinals;
use super::writer::{EdgeChunk, ListWriter};
use super::{CHUNK_BYTES, EDGE_BYTES, EDGE_COUNT, ListEnd, MIDDLE, STEP};
use crate::texts::text_len;
use crate::{Result, ScanDirection};

/// The positions of the elements of a chunk at an end.
const EDGE_SPAN: u64 = EDGE_COUNT * STEP;

/// The least distance of chunks that get new positions: room for some more between two of them.
const SPREAD_STEP: u64 = 1 << 10;

/// Returns the number of elements next to an end that take up to so many bytes.
fn fitting(end: ListEnd, chunk: &Chunk, most: usize) -> u64 {
    let mut lens: Vec<usize> = chunk.elements().map(text_len).collect();
    if end == ListEnd::Back {
        lens.reverse();
    }
    let mut bytes = 0;
    let fit = lens.iter().take_while(|len| {
        bytes += *len;
        bytes <= most
    });
    fit.count() as u64
}

/// Returns the number of elements next to an end that make a small chunk: at least one.
fn edge_len(end: ListEnd, chunk: &Chunk) -> u64 {
    fitting(end, chunk, EDGE_BYTES).clamp(1, EDGE_COUNT)
}

impl ListWriter<'_> {
    /// Makes room for an element beyond the full chunk at an end. Its elements move to the
    /// neighbour, as many as fit. Returns the chunk for the new element: the rest of the full
    /// chunk, or an empty one. If positions are used up, all chunks get new ones.
    pub(super) fn next_edge(&mut self, end: ListEnd, full: &EdgeChunk, element: &[u8]) -> Result<EdgeChunk> {
        let settled = match end {
            ListEnd::Front => self.settle_first(full, element)?,
            ListEnd::Back => self.settle_last(full, element)?,
        };
        if let Some(edge) = settled {
            return Ok(edge);
        }
        self.place_all_anew()?;
        let rank = if end == ListEnd::Front { self.chunks_begin_at()? } else { self.members.len() - 1 };
        let Some(edge) = self.position_at(rank)? else { return Ok(EdgeChunk::empty(MIDDLE)) };
        Ok(EdgeChunk::empty(match end {
            ListEnd::Front => edge - EDGE_SPAN,
            ListEnd::Back => edge + self.chunk(edge)?.count() * STEP,
        }))
    }

    /// Settles the first chunk, which is full. If it will not be the first any more, it moves to the
    /// place that its ordinal has (invariant 2).
    fn settle_first(&mut self, full: &EdgeChunk, element: &[u8]) -> Result<Option<EdgeChunk>> {
        let (mut ordinals, stored) = self.ordinals()?;
        let Some(second) = self.position_at(u64::from(stored) + 1)? else {
            return Ok(full.position.checked_sub(EDGE_SPAN).map(EdgeChunk::empty));
        };
        let (mut rest, neighbour) = (full.chunk.clone(), self.chunk(second)?);
        let count = moved(ListEnd::Back, &rest, &neighbour, element);
        // Without a move, the whole chunk becomes the second.
        let mut settled = rest.split_off(if count == 0 { 0 } else { rest.count() - count });
        let ordinal = ordinals.ordinal(second) - settled.count().cast_signed();
        let Some(positions) = ordinals.positions_of(ordinal) else { return Ok(None) };
        let is_there = rest.count() == 0 && positions.contains(&full.position);
        let position = if is_there { full.position } else { *positions.start() };
        if position >= second || (rest.count() > 0 && position <= full.position) {
            return Ok(None);
        }
        if count > 0 {
            settled.append(&neighbour);
            self.remove(second)?;
        }
        if rest.count() == 0 && !is_there {
            self.remove(full.position)?;
        }
        if count > 0 || !is_there {
            self.put(position, &settled)?;
        }
        ordinals.place(position, ordinal, (None, Some(second)));
        self.save(&ordinals, stored)?;
        if rest.count() > 0 {
            return Ok(Some(EdgeChunk { position: full.position, chunk: rest }));
        }
        Ok(position.checked_sub(EDGE_SPAN).map(EdgeChunk::empty))
    }

    /// Settles the last chunk, which is full.
    fn settle_last(&mut self, full: &EdgeChunk, element: &[u8]) -> Result<Option<EdgeChunk>> {
        let (mut ordinals, stored) = self.ordinals()?;
        let is_first = self.members.len() <= u64::from(stored) + 1;
        let neighbour = if is_first { None } else { self.position_at(self.members.len() - 2)? };
        let mut joined = match neighbour {
            Some(neighbour) => self.chunk(neighbour)?,
            None => Chunk::empty(),
        };
        let count = if is_first { 0 } else { moved(ListEnd::Front, &full.chunk, &joined, element) };
        let passed = if count > 0 { count } else { full.chunk.count() };
        let position = passed.checked_mul(STEP).and_then(|span| full.position.checked_add(span));
        let Some(position) = position else { return Ok(None) };
        let mut rest = Chunk::empty();
        if let Some(neighbour) = neighbour.filter(|_| count > 0) {
            let mut taken = full.chunk.clone();
            rest = taken.split_off(count);
            joined.append(&taken);
            self.put(neighbour, &joined)?;
            self.remove(full.position)?;
        }
        place_last(&mut ordinals, (full.position, passed), position, is_first);
        self.save(&ordinals, stored)?;
        Ok(Some(EdgeChunk { position, chunk: rest }))
    }

    /// Puts the rest of the chunk at an end after pops. Of many elements, a few become a chunk of
    /// their own: the next pops will write them alone.
    pub(super) fn put_rest(&mut self, end: ListEnd, position: u64, mut rest: Chunk) -> Result<()> {
        if rest.as_bytes().len() <= 2 * EDGE_BYTES {
            return self.put(position, &rest);
        }
        let few = edge_len(end, &rest);
        if few == rest.count() {
            return self.put(position, &rest);
        }
        let (mut ordinals, stored) = self.ordinals()?;
        let before = u64::from(stored);
        match end {
            ListEnd::Back => {
                let count = rest.count() - few;
                let Some(last) = position.checked_add(count * STEP) else { return self.put(position, &rest) };
                let few = rest.split_off(count);
                let is_first = self.members.len() == before + 1;
                place_last(&mut ordinals, (position, count), last, is_first);
                self.put(position, &rest)?;
                self.put(last, &few)?;
            }
            ListEnd::Front => {
                let many = rest.split_off(few);
                let second = self.position_at(before + 1)?;
                let ordinal = match second {
                    Some(second) => ordinals.ordinal(second) - many.count().cast_signed(),
                    None => ordinals.ordinal(position) + EDGE_COUNT.cast_signed(),
                };
                let found = ordinals.positions_of(ordinal).map(|positions| *positions.start());
                let free = |at: &u64| *at > position && second.is_none_or(|second| *at < second);
                let Some(at) = found.filter(free) else {
                    rest.append(&many);
                    return self.put(position, &rest);
                };
                ordinals.place(at, ordinal, (None, second));
                self.put(position, &rest)?;
                self.put(at, &many)?;
            }
        }
        self.save(&ordinals, stored)
    }

    /// Puts a chunk that was changed, in pieces if it is too large.
    pub(super) fn put_pieces(
        &mut self,
        layout: &mut ListLayout,
        place: ElementPlace,
        chunk: &Chunk,
    ) -> Result<()> {
        let pieces = chunk.split_evenly(CHUNK_BYTES);
        let next = self.position_at(place.rank + 1)?;
        let ordinals = &mut layout.ordinals;
        let mut ordinal = match next {
            Some(next) => ordinals.ordinal(next),
            None => ordinals.ordinal(place.position) + chunk.count().cast_signed(),
        };
        let before = Some(place.position).filter(|_| place.rank != layout.before);
        let (mut behind, mut placed) = (next, Vec::with_capacity(pieces.len()));
        for piece in pieces[1..].iter().rev() {
            ordinal -= piece.count().cast_signed();
            let Some(position) = position_between(ordinals, ordinal, place.position, behind) else {
                return self.place_around(layout, place, &pieces);
            };
            ordinals.place(position, ordinal, (before, behind));
            placed.push((position, piece));
            behind = Some(position);
        }
        for (position, piece) in placed {
            self.put(position, piece)?;
        }
        self.put(place.position, &pieces[0])?;
        self.save(&layout.ordinals, layout.before > 0)
    }

    /// Gives the chunks around one new positions, because there is no room for its pieces: few of
    /// them, or more where they are crowded.
    fn place_around(&mut self, layout: &mut ListLayout, place: ElementPlace, pieces: &[Chunk]) -> Result<()> {
        let mut side = 1;
        loop {
            let first = place.rank.saturating_sub(side).max(layout.before);
            let end = (place.rank + side + 1).min(self.members.len());
            let before = if first > layout.before { self.position_at(first - 1)? } else { None };
            let behind = self.position_at(end)?;
            // Each of the chunks but one, and the pieces of that.
            let count = end - first - 1 + pieces.len() as u64;
            if let Some((start, step)) = spread(before, behind, count) {
                return self.place_window(layout, (first, end), (start, step), (place.position, pieces));
            }
            side *= 2;
        }
    }

    /// Gives the chunks at a range of ranks positions `step` apart, and puts pieces for one of them.
    fn place_window(
        &mut self,
        layout: &mut ListLayout,
        (first, end): (u64, u64),
        (start, step): (u64, u64),
        (replaced, pieces): (u64, &[Chunk]),
    ) -> Result<()> {
        let mut chunks = Vec::new();
        let former = self.positions_from(ListEnd::Front, first - layout.before, (end - first) as usize)?;
        for position in &former {
            if *position == replaced {
                chunks.extend_from_slice(pieces);
            } else {
                chunks.push(self.chunk(*position)?);
            }
        }
        let (is_first, behind) = (first == layout.before, self.position_at(end)?);
        // The first chunk of the list has no ordinal, so it does not count as the one before.
        let before = if first > layout.before + 1 { self.position_at(first - 1)? } else { None };
        let ordinals = &mut layout.ordinals;
        let all: i64 = chunks.iter().map(|chunk| chunk.count().cast_signed()).sum();
        let mut ordinal = match behind {
            Some(behind) => ordinals.ordinal(behind),
            None if is_first => ordinals.ordinal(start) + all,
            None => ordinals.ordinal(former[0]) + all,
        };
        for position in &former {
            self.members.remove_value(&chunk_name(*position))?;
        }
        let mut next = behind;
        for (at, chunk) in chunks.iter().enumerate().rev() {
            let position = start + at as u64 * step;
            ordinal -= chunk.count().cast_signed();
            // The first chunk has no ordinal (invariant 2).
            if at > 0 || !is_first {
                layout.ordinals.place(position, ordinal, (before, next));
            }
            self.put(position, chunk)?;
            next = Some(position);
        }
        self.save(&layout.ordinals, layout.before > 0)
    }

    /// Gives all chunks new positions, because no positions are left beyond an end. Takes O(n), and
    /// as much memory. A list needs this after 2^47 pushes at one end.
    fn place_all_anew(&mut self) -> Result<()> {
        let (_, stored) = self.ordinals()?;
        let mut chunks = Vec::new();
        for position in self.positions()? {
            chunks.push(self.chunk(position)?);
            self.members.remove_value(&chunk_name(position))?;
        }
        let all: u64 = chunks.iter().map(Chunk::count).sum();
        let mut position = MIDDLE - all / 2 * STEP;
        for chunk in &chunks {
            self.put(position, chunk)?;
            position += chunk.count() * STEP;
        }
        self.save(&Ordinals::default(), stored)
    }

    /// Returns the ordinals, and whether they are stored.
    fn ordinals(&mut self) -> Result<(Ordinals, bool)> {
        let is_stored = self.chunks_begin_at()? > 0;
        let mut ordinals = Ordinals::default();
        if is_stored {
            self.members.with_value(ORDINALS, &mut |value| ordinals = Ordinals::of(value))?;
        }
        Ok((ordinals, is_stored))
    }

    /// Stores the ordinals, if they are or were more than the first step, and there are elements.
    pub(super) fn save(&mut self, ordinals: &Ordinals, stored: bool) -> Result<()> {
        if ordinals.is_plain() || self.members.is_empty() {
            if stored {
                self.members.remove_value(ORDINALS)?;
            }
            return Ok(());
        }
        let value = ordinals.to_bytes();
        if self.members.value(ORDINALS)?.as_ref() != Some(&value) {
            self.members.put_value(ORDINALS, &value)?;
        }
        Ok(())
    }

    /// Returns the position of the chunk at a rank, if there is one.
    pub(super) fn position_at(&mut self, rank: u64) -> Result<Option<u64>> {
        let mut found = None;
        if rank < self.members.len() {
            self.members.walk_ranks(rank, ScanDirection::Forward, &mut |_, member| {
                found = Some(position_in(member));
                ControlFlow::Break(())
            })?;
        }
        Ok(found)
    }

    /// Returns the position of the chunk behind the one at a position.
    pub(super) fn position_behind(&mut self, position: u64) -> Result<Option<u64>> {
        let rank = self.members.rank_of(&chunk_name(position))?;
        self.position_at(rank + 1)
    }

    /// Returns the positions of all chunks.
    pub(super) fn positions(&mut self) -> Result<Vec<u64>> {
        self.positions_from(ListEnd::Front, 0, usize::MAX)
    }

    /// Returns the positions of up to `most` chunks from an end on, behind the first `passed`.
    pub(super) fn positions_from(&mut self, end: ListEnd, passed: u64, most: usize) -> Result<Vec<u64>> {
        let (mut positions, members) = (Vec::new(), self.members.len());
        let (before, direction) = (self.chunks_begin_at()?, end.inwards());
        if before + passed >= members || most == 0 {
            return Ok(positions);
        }
        let rank = if end == ListEnd::Front { before + passed } else { members - 1 - passed };
        self.members.walk_ranks(rank, direction, &mut |_, member| {
            if !member.is_empty() {
                positions.push(position_in(member));
            }
            if positions.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(positions)
    }

    /// Returns the number of members before the first chunk: 1 if the ordinals are stored.
    fn chunks_begin_at(&mut self) -> Result<u64> {
        let mut is_stored = false;
        if !self.members.is_empty() {
            self.members.walk_ranks(0, ScanDirection::Forward, &mut |_, member| {
                is_stored = member.is_empty();
                ControlFlow::Break(())
            })?;
        }
        Ok(u64::from(is_stored))
    }

    pub(super) fn put(&mut self, position: u64, chunk: &Chunk) -> Result<()> {
        self.members.put_value(&chunk_name(position), chunk.as_bytes()).map(drop)
    }

    /// Removes a chunk, and the ordinals with the last one.
    pub(super) fn remove(&mut self, position: u64) -> Result<()> {
        self.members.remove_value(&chunk_name(position))?;
        if self.members.len() == 1 {
            self.members.remove_value(ORDINALS)?;
        }
        Ok(())
    }
}

/// Gives the last chunk its ordinal: behind the `count` elements of the chunk at `before`. The first
/// chunk has no ordinal, so any will do behind it.
fn place_last(ordinals: &mut Ordinals, (before, count): (u64, u64), position: u64, is_first: bool) {
    let behind = ordinals.ordinal(before) + count.cast_signed();
    let ordinal = if is_first { ordinals.ordinal(position) } else { behind };
    ordinals.place(position, ordinal, (Some(before), None));
}

/// Returns how many elements of a full chunk move to its neighbour, those next to an end. All move
/// if they fit. Otherwise, as many as fit move if the rest then has room for an element, and no
/// element moves if not.
fn moved(end: ListEnd, full: &Chunk, neighbour: &Chunk, element: &[u8]) -> u64 {
    let room = CHUNK_BYTES.saturating_sub(neighbour.as_bytes().len());
    let count = fitting(end, full, room);
    let left = full.count() - count;
    let rest = full.as_bytes().len() * left as usize / full.count().max(1) as usize;
    // Short elements alone: of others, the rest may be longer than its share.
    let has_room = full.as_bytes().len() <= EDGE_BYTES && rest + text_len(element) <= EDGE_BYTES;
    if left == 0 || has_room { count } else { 0 }
}

/// Returns a position between two chunks: one that its ordinal has, if it is free. Returns `None`
/// if no position is free.
fn position_between(ordinals: &Ordinals, ordinal: i64, before: u64, behind: Option<u64>) -> Option<u64> {
    let is_free = |at: &u64| *at > before && behind.is_none_or(|behind| *at < behind);
    let natural = ordinals.positions_of(ordinal).map(|positions| *positions.start());
    natural.filter(is_free).or_else(|| {
        let middle = before + (behind? - before) / 2;
        Some(middle).filter(is_free)
    })
}

/// Returns the first position and the distance of `count` chunks between two others. Returns `None`
/// if they would lie closer than [`SPREAD_STEP`] and there are others to move. Without others on a
/// side there is always room, but at the end of all positions.
fn spread(before: Option<u64>, behind: Option<u64>, count: u64) -> Option<(u64, u64)> {
    let span = EDGE_SPAN.checked_mul(count + 1)?;
    let (low, high) = match (before, behind) {
        (None, None) => (MIDDLE - span / 2, MIDDLE + span / 2),
        (Some(before), None) => (before, before.saturating_add(span)),
        (None, Some(behind)) => (behind.saturating_sub(span), behind),
        (Some(before), Some(behind)) => (before, behind),
    };
    let step = (high - low) / (count + 1);
    let is_whole = before.is_none() && behind.is_none();
    (step >= SPREAD_STEP || is_whole).then_some((low + step, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_spread_within_their_neighbours() {
        for (before, behind) in [
            (None, None),
            (Some(0), None),
            (None, Some(u64::MAX)),
            (None, Some(STEP)),
            (Some(u64::MAX - STEP), None),
            (Some(7), Some(7 + 10 * SPREAD_STEP)),
        ] {
            for count in [1, 2, 9] {
                let Some((first, step)) = spread(before, behind, count) else { continue };
                assert!(before.is_none_or(|before| before < first));
                let last = first + (count - 1) * step;
                assert!(behind.is_none_or(|behind| last < behind), "{before:?} {behind:?} {count}");
            }
        }
        assert_eq!(spread(Some(7), Some(8), 1), None);
        assert!(spread(None, None, 1 << 40).is_some());
    }
}
