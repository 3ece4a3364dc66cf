//! Walks over ranges of a stream's members, by name.

use std::ops::ControlFlow;

use super::records::NameRange;
use crate::{Members, Result, ScanDirection};

/// Called with a name, until it breaks.
pub(super) type EachName<'e> = &'e mut dyn FnMut(&[u8]) -> ControlFlow<()>;
/// Called with a name and its value, until it breaks.
pub(super) type EachRecord<'e> = &'e mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>;

/// The names that a walk collects first, before it looks up their values.
const FIRST_NAMES: usize = 2;
/// The most names that it collects at a time.
const NAMES_MAX: usize = 256;

/// Calls `each` with the names of a range, until it breaks.
pub(super) fn walk_names(
    members: &(impl Members + ?Sized),
    range: &NameRange,
    direction: ScanDirection,
    each: EachName<'_>,
) -> Result<()> {
    let rank = match direction {
        ScanDirection::Forward => Some(members.rank_of(&range.start)?),
        ScanDirection::Backward => members.rank_of(&range.end)?.checked_sub(1),
    };
    let Some(rank) = rank else { return Ok(()) };
    members.walk_ranks(rank, direction, &mut |_, member| {
        let name = &member.to_vec()[..];
        if range.start[..] <= *name && *name < range.end[..] { each(name) } else { ControlFlow::Break(()) }
    })
}

/// Calls `each` with the names of a range and their values, until it breaks.
pub(super) fn walk(
    members: &(impl Members + ?Sized),
    range: &NameRange,
    direction: ScanDirection,
    each: EachRecord<'_>,
) -> Result<()> {
    let (mut range, mut most) = (range.clone(), FIRST_NAMES);
    loop {
        let names = first_names(members, &range, direction, most)?;
        for name in &names {
            let value = members.value(name)?.unwrap_or_default();
            if each(name, &value).is_break() {
                return Ok(());
            }
        }
        match (names.last(), direction) {
            (Some(last), ScanDirection::Forward) if names.len() == most => {
                range.start = [last, &[0][..]].concat();
            }
            (Some(last), ScanDirection::Backward) if names.len() == most => range.end.clone_from(last),
            _ => return Ok(()),
        }
        most = (2 * most).min(NAMES_MAX);
    }
}

/// Returns up to `most` names of a range.
pub(super) fn first_names(
    members: &(impl Members + ?Sized),
    range: &NameRange,
    direction: ScanDirection,
    most: usize,
) -> Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    walk_names(members, range, direction, &mut |name| {
        names.push(name.to_vec());
        if names.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(names)
}
