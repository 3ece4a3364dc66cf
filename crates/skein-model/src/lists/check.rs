//! Checks the invariants of a list.

use std::ops::ControlFlow;

use super::chunk::Chunk;
use super::layout::{ListLayout, ORDINALS, chunk_name, is_chunk_name, position_in};
use super::{CHUNK_BYTES, MIDDLE};
use crate::{Member, Members, Result, ScanDirection};

impl ListLayout {
    /// Checks that the members are a list as the module describes it, and that each chunk is found.
    /// Returns the first violation. Takes O(n).
    ///
    /// # Errors
    /// Those of the engine.
    pub fn check(members: &(impl Members + ?Sized)) -> Result<std::result::Result<(), String>> {
        let Some(layout) = Self::read(members)? else {
            let left = members.len();
            return Ok(if left == 0 { Ok(()) } else { Err(format!("{left} members without an element")) });
        };
        let mut checked = layout.check_ordinals();
        let mut names = Vec::new();
        members.walk_ranks(layout.before, ScanDirection::Forward, &mut |_, member| {
            names.push(member.to_vec());
            ControlFlow::Continue(())
        })?;
        let (mut index, mut before) = (0, None);
        for (rank, name) in (layout.before..).zip(&names) {
            let mut chunk = Chunk::empty();
            members.with_value(name, &mut |value| chunk = Chunk::of(value))?;
            let position = position_in(Member::of(name));
            checked = checked.and_then(|()| check_chunk(name, &chunk));
            if let Some(expected) = before
                && rank > layout.before + 1
                && layout.ordinals.ordinal(position) != expected
            {
                checked = checked.and(Err(format!("the chunk at {position} has not ordinal {expected}")));
            }
            before = Some(layout.ordinals.ordinal(position) + chunk.count().cast_signed());
            for offset in [0, chunk.count().saturating_sub(1)] {
                let found = layout.find(members, index + offset)?;
                let place = found.map(|place| (place.position, place.rank, place.offset));
                if place != Some((position, rank, offset)) {
                    let what = format!("index {} is found at {place:?}, not {position}", index + offset);
                    checked = checked.and(Err(what));
                }
            }
            index += chunk.count();
        }
        if index != layout.len() {
            checked = checked.and(Err(format!("{index} elements, but a length of {}", layout.len())));
        }
        Ok(checked)
    }
}

impl ListLayout {
    fn check_ordinals(&self) -> std::result::Result<(), String> {
        if (self.before > 0) == self.ordinals.is_plain() {
            return Err(format!("stored ordinals without steps, or steps without {ORDINALS:?}"));
        }
        self.ordinals.check()
    }
}

fn check_chunk(name: &[u8], chunk: &Chunk) -> std::result::Result<(), String> {
    let (count, bytes) = (chunk.count(), chunk.as_bytes().len());
    let found = chunk.elements().count() as u64;
    if !is_chunk_name(name) || name.last() != chunk_name(MIDDLE).last() {
        return Err(format!("{name:?} is not the name of a chunk"));
    }
    if count == 0 || found != count {
        return Err(format!("the chunk {name:?} has {found} elements and a count of {count}"));
    }
    if count > 1 && bytes > CHUNK_BYTES {
        return Err(format!("the chunk {name:?} has {bytes} bytes, above {CHUNK_BYTES}"));
    }
    Ok(())
}
