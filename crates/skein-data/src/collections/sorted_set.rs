//! Reads of the members of sets, sorted or not, of lists and of streams, wherever they are.

use std::cell::RefCell;
use std::ops::ControlFlow;

use skein_model::{EachNamed, EachRanked, Members, score_in};
use skein_store::{Member, ScanDirection};

use super::stored::{KeptMembers, StoredMembers};
use super::views::{MembersView, ScoreRangeView};
use crate::{Error, Result, RowError};

/// The result of a read of members.
type Read<T> = std::result::Result<T, RowError>;

/// A set, sorted or not, as of one moment; see [`RowView::set_of`](super::RowView::set_of).
///
/// It keeps its first error, and shows nothing after it. The method that lent the reader returns
/// the error.
pub struct SetReader<'r> {
    place: MembersPlace<'r>,
    failed: RefCell<Option<Error>>,
}

enum MembersPlace<'r> {
    /// In the row, or in memory and locked. Reads do not fail.
    Memory(skein_store::SetReader<'r>),
    /// On disk.
    Stored(Box<dyn StoredMembers + 'r>),
}

impl<'r> SetReader<'r> {
    pub(super) fn in_memory(set: skein_store::SetReader<'r>) -> Self {
        Self { place: MembersPlace::Memory(set), failed: RefCell::new(None) }
    }

    pub(super) fn stored(members: Box<dyn StoredMembers + 'r>) -> Self {
        Self { place: MembersPlace::Stored(members), failed: RefCell::new(None) }
    }

    fn members(&self) -> &dyn Members {
        match &self.place {
            MembersPlace::Memory(set) => set.members(),
            MembersPlace::Stored(members) => &**members,
        }
    }

    /// Returns the members for a view that outlives the reader; `None` if they must be copied.
    fn kept(&self) -> Option<KeptMembers> {
        match &self.place {
            MembersPlace::Memory(_) => None,
            MembersPlace::Stored(members) => members.keep(),
        }
    }

    /// Reads, unless an earlier read has failed.
    fn read<R: Default>(&self, read: impl FnOnce(&dyn Members) -> Read<R>) -> R {
        if self.failed.borrow().is_some() {
            return R::default();
        }
        read(self.members()).unwrap_or_else(|error| {
            *self.failed.borrow_mut() = Some(error.into());
            R::default()
        })
    }

    /// Returns the first error.
    pub(super) fn check(&self) -> Result<()> {
        self.failed.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// Returns the number of members. It is 0 if the key was replaced meanwhile.
    pub fn len(&self) -> u64 {
        self.members().len()
    }

    /// Returns whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.members().is_empty()
    }

    /// Returns the score of a member. This takes a lookup.
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        self.read(|members| members.score(member))
    }

    /// Calls `each` with the members in the order of their bytes until it breaks; only those after
    /// `after`, if given.
    pub fn members_after(&self, after: Option<&[u8]>, mut each: impl FnMut(&[u8], f64) -> ControlFlow<()>) {
        self.read(|members| members.walk_names(after, &mut |member, value| each(member, score_in(value))));
    }

    /// Returns the number of members before this entry, which may be absent.
    pub fn rank(&self, score: f64, member: &[u8]) -> u64 {
        self.read(|members| members.rank(score, member))
    }

    /// Returns the number of members for which `before` is true. Members are in the order of
    /// scores, and of their bytes for equal scores. In this order, `before` must be true for the
    /// first members and false for all others; otherwise the answer is any number of members.
    pub fn rank_by(&self, before: impl Fn(f64, Member<'_>) -> bool) -> u64 {
        self.read(|members| members.rank_by(&before))
    }

    /// Calls `each` with the members from rank `rank` on (the first is 0), forward or backward,
    /// until it breaks.
    pub fn walk(
        &self,
        rank: u64,
        direction: ScanDirection,
        mut each: impl FnMut(f64, Member<'_>) -> ControlFlow<()>,
    ) {
        self.read(|members| members.walk_ranks(rank, direction, &mut each));
    }

    /// Takes a view of `count` members from rank `rank` on, forward or backward, as they are now:
    /// to read them in steps while writers continue.
    pub fn view(&self, rank: u64, count: u64, direction: ScanDirection) -> Option<ScoreRangeView> {
        match &self.place {
            MembersPlace::Memory(set) if !set.in_row() => {
                set.view(rank, count, direction).map(ScoreRangeView::memory_of)
            }
            _ => Some(
                self.read(|members| ScoreRangeView::stored(members, self.kept(), rank, count, direction)),
            ),
        }
    }

    /// Takes a view of the next `count` members after `after` as they are now, by their bytes.
    pub(crate) fn view_members_after(&self, after: Option<Vec<u8>>, count: u64) -> Option<MembersView> {
        match &self.place {
            MembersPlace::Memory(set) if !set.in_row() => {
                set.view_members_after(after, count).map(MembersView::memory_of)
            }
            _ => Some(self.read(|members| MembersView::stored(members, self.kept(), after, count))),
        }
    }

    /// Takes a view of all members as they are now, by their bytes: to look them up or read them in
    /// steps while writers continue. The value of a member is its score, 8 bytes, little-endian.
    pub fn view_members(&self) -> Option<MembersView> {
        self.view_members_after(None, self.len())
    }
}

/// Returns no errors, because the reader keeps them.
impl Members for SetReader<'_> {
    fn len(&self) -> u64 {
        self.members().len()
    }

    fn with_value(&self, name: &[u8], look: &mut dyn FnMut(&[u8])) -> Read<bool> {
        Ok(self.read(|members| members.with_value(name, look)))
    }

    fn walk_names(&self, after: Option<&[u8]>, each: EachNamed<'_>) -> Read<()> {
        self.read(|members| members.walk_names(after, each));
        Ok(())
    }

    fn rank_by(&self, before: &dyn Fn(f64, Member<'_>) -> bool) -> Read<u64> {
        Ok(self.read(|members| members.rank_by(before)))
    }

    fn walk_ranks(&self, rank: u64, direction: ScanDirection, each: EachRanked<'_>) -> Read<()> {
        self.read(|members| members.walk_ranks(rank, direction, each));
        Ok(())
    }
}

impl std::fmt::Debug for SetReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SetReader").field("len", &self.len()).finish_non_exhaustive()
    }
}
