//! Reads of sets, sorted or not.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use skein_store::{Member, ScanDirection};

use super::stored::OpenedReader;
use super::views::{MembersView, ScoreRangeView};
use crate::Result;

/// A set, sorted or not, as of one moment; see [`RowView::set_of`](super::RowView::set_of).
#[derive(Debug)]
pub enum SetReader<'r> {
    /// A set in memory, whose lock is held shared.
    Memory(skein_store::SetReader<'r>),
    /// A set of the disk engine.
    Stored(OpenedReader<'r>),
}

impl SetReader<'_> {
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Stored(opened) => opened.check(),
        }
    }

    /// Returns the number of members. It is 0 if the key was replaced meanwhile.
    pub fn len(&self) -> u64 {
        match self {
            Self::Memory(set) => set.len(),
            Self::Stored(opened) => opened.reader().len(),
        }
    }

    /// Returns whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the score of a member. This takes a lookup.
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        match self {
            Self::Memory(set) => set.score(member),
            Self::Stored(opened) => {
                opened.read(|reader| reader.value(member)).map(|value| MembersView::score_in(&value))
            }
        }
    }

    /// Returns the value of a member. This takes a lookup.
    pub(crate) fn value(&self, member: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Memory(set) => set.value(member),
            Self::Stored(opened) => opened.read(|reader| reader.value(member)),
        }
    }

    /// Calls `each` with the members and their values, as [`members_after`](Self::members_after)
    /// does with the scores.
    pub(crate) fn values_after(
        &self,
        after: Option<&[u8]>,
        mut each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) {
        match self {
            Self::Memory(set) => set.values_after(after, each),
            Self::Stored(opened) => opened.read(|reader| reader.walk_names(after, &mut each)),
        }
    }

    /// Calls `each` with the members in the order of their bytes until it breaks; only those after
    /// `after`, if given.
    pub fn members_after(&self, after: Option<&[u8]>, mut each: impl FnMut(&[u8], f64) -> ControlFlow<()>) {
        match self {
            Self::Memory(set) => set.members_after(after, each),
            Self::Stored(opened) => opened.read(|reader| {
                reader.walk_names(after, &mut |member, value| each(member, MembersView::score_in(value)))
            }),
        }
    }

    /// Returns the number of members before this entry, which may be absent.
    pub fn rank(&self, score: f64, member: &[u8]) -> u64 {
        match self {
            Self::Memory(set) => set.rank(score, member),
            Self::Stored(_) => self.rank_by(|other, name| {
                let order = other.partial_cmp(&score).unwrap_or(Ordering::Greater);
                order.then_with(|| name.cmp_bytes(member)).is_lt()
            }),
        }
    }

    /// Returns the number of members for which `before` is true. In the order of scores (of
    /// members' bytes for equal scores) it must be true for the first members and false for all
    /// others; otherwise the answer is any number of members.
    pub fn rank_by(&self, before: impl Fn(f64, Member<'_>) -> bool) -> u64 {
        match self {
            Self::Memory(set) => set.rank_by(before),
            Self::Stored(opened) => opened.read(|reader| reader.rank_by(&before)),
        }
    }

    /// Calls `each` with the members from rank `rank` on (the first is 0), forward or backward,
    /// until it breaks.
    pub fn walk(
        &self,
        rank: u64,
        direction: ScanDirection,
        mut each: impl FnMut(f64, Member<'_>) -> ControlFlow<()>,
    ) {
        match self {
            Self::Memory(set) => set.walk(rank, direction, each),
            Self::Stored(opened) => opened.read(|reader| reader.walk_scores(rank, direction, &mut each)),
        }
    }

    /// Takes a view of `count` members from rank `rank` on, forward or backward, as they are now:
    /// to read them in steps while writers continue.
    pub fn view(&self, rank: u64, count: u64, direction: ScanDirection) -> Option<ScoreRangeView> {
        match self {
            Self::Memory(set) => set.view(rank, count, direction).map(ScoreRangeView::memory_of),
            Self::Stored(opened) => {
                Some(opened.read(|reader| ScoreRangeView::stored(reader, rank, count, direction)))
            }
        }
    }

    /// Takes a view of the next `count` members after `after` as they are now, by their bytes.
    pub(crate) fn view_members_after(&self, after: Option<Vec<u8>>, count: u64) -> Option<MembersView> {
        match self {
            Self::Memory(set) => set.view_members_after(after, count).map(MembersView::memory_of),
            Self::Stored(opened) => {
                Some(opened.read(|reader| MembersView::stored_after(reader, after, count)))
            }
        }
    }

    /// Takes a view of all members as they are now, by their bytes: to look them up or read them in
    /// steps while writers continue. The value of a member is its score, 8 bytes, little-endian.
    pub fn view_members(&self) -> Option<MembersView> {
        match self {
            Self::Memory(set) => set.view_members().map(MembersView::memory_of),
            Self::Stored(opened) => Some(opened.read(MembersView::stored)),
        }
    }
}
