//! Access to the members of a stream: those of a reader, and those that a write changes.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use skein_store::{MemberStore, ScanDirection};

use super::records::NameRange;
use crate::collections::SetReader;

type Result<T> = std::result::Result<T, skein_store::Error>;

/// Called with a name, until it breaks.
pub(super) type EachName<'e> = &'e mut dyn FnMut(&[u8]) -> ControlFlow<()>;
/// Called with a name and its value, until it breaks.
pub(super) type EachRecord<'e> = &'e mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>;

/// The names that a walk collects first, before it looks up their values.
const FIRST_NAMES: usize = 2;
/// The most names that it collects at a time.
const NAMES_MAX: usize = 256;

/// The members of a stream, by name. A reader of the disk engine keeps its errors for the end of
/// the read; a writer returns them.
pub trait StreamMembers {
    /// Returns the value of a name.
    ///
    /// # Errors
    /// Those of the engine.
    fn value_of(&mut self, name: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Returns the number of members before a name, which may be absent. Takes O(log n).
    ///
    /// # Errors
    /// Those of the engine.
    fn rank_of(&mut self, name: &[u8]) -> Result<u64>;

    /// Calls `each` with the names from this rank on, until it breaks.
    ///
    /// # Errors
    /// Those of the engine.
    fn walk_from(&mut self, rank: u64, direction: ScanDirection, each: EachName<'_>) -> Result<()>;
}

/// Calls `each` with the names of a range, until it breaks.
pub(super) fn walk_names(
    members: &mut impl StreamMembers,
    range: &NameRange,
    direction: ScanDirection,
    each: EachName<'_>,
) -> Result<()> {
    let rank = match direction {
        ScanDirection::Forward => Some(members.rank_of(&range.start)?),
        ScanDirection::Backward => members.rank_of(&range.end)?.checked_sub(1),
    };
    let Some(rank) = rank else { return Ok(()) };
    members.walk_from(rank, direction, &mut |name| {
        if range.start[..] <= *name && *name < range.end[..] { each(name) } else { ControlFlow::Break(()) }
    })
}

/// Calls `each` with the names of a range and their values, until it breaks.
pub(super) fn walk(
    members: &mut impl StreamMembers,
    range: &NameRange,
    direction: ScanDirection,
    each: EachRecord<'_>,
) -> Result<()> {
    let (mut range, mut most) = (range.clone(), FIRST_NAMES);
    loop {
        let names = first_names(members, &range, direction, most)?;
        for name in &names {
            let value = members.value_of(name)?.unwrap_or_default();
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
    members: &mut impl StreamMembers,
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

impl StreamMembers for &SetReader<'_> {
    fn value_of(&mut self, name: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.value(name))
    }

    fn rank_of(&mut self, name: &[u8]) -> Result<u64> {
        Ok(self.rank_by(|_, member| member.cmp_bytes(name) == Ordering::Less))
    }

    fn walk_from(&mut self, rank: u64, direction: ScanDirection, each: EachName<'_>) -> Result<()> {
        self.walk(rank, direction, |_, member| each(&member.to_vec()));
        Ok(())
    }
}

impl StreamMembers for &mut dyn MemberStore {
    fn value_of(&mut self, name: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.value(name)?.map(<[u8]>::to_vec))
    }

    fn rank_of(&mut self, name: &[u8]) -> Result<u64> {
        self.rank_by(&|_, member| member.cmp_bytes(name) == Ordering::Less)
    }

    fn walk_from(&mut self, rank: u64, direction: ScanDirection, each: EachName<'_>) -> Result<()> {
        MemberStore::walk(&mut **self, rank, direction, &mut |_, member| each(&member.to_vec()))
    }
}
