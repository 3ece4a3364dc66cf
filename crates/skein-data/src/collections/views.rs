//! Views: a collection as it was at one moment, read in steps while writers continue.
//!
//! A view of the disk engine reads a snapshot. In an open transaction it is a copy of the members,
//! because a snapshot has no writes of an open transaction. Of members in a row it is a copy, too.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use skein_model::{Member, Members, ScanDirection, score_in};

use super::stored::KeptMembers;
use crate::{Result, RowError};

/// The members of a key as they were at one moment, by name; see
/// [`ColumnsReader::view`](super::ColumnsReader::view). A view keeps the members that writers
/// replace meanwhile, so drop it as soon as possible.
pub struct MembersView(NamedMembers);

enum NamedMembers {
    Memory(skein_store::MembersView),
    Stored { members: KeptMembers, after: Option<Vec<u8>>, left: u64 },
    Copied { members: BTreeMap<Vec<u8>, Vec<u8>>, bytes: usize, after: Option<Vec<u8>>, left: u64 },
}

impl Default for MembersView {
    fn default() -> Self {
        Self(NamedMembers::Copied { members: BTreeMap::new(), bytes: 0, after: None, left: 0 })
    }
}

impl MembersView {
    pub(super) fn memory_of(view: skein_store::MembersView) -> Self {
        Self(NamedMembers::Memory(view))
    }

    /// Takes a view of the next `left` members after `after`: of those that are `kept`, or a copy.
    pub(super) fn stored(
        present: &dyn Members,
        kept: Option<KeptMembers>,
        after: Option<Vec<u8>>,
        left: u64,
    ) -> std::result::Result<Self, RowError> {
        if let Some(members) = kept {
            return Ok(Self(NamedMembers::Stored { members, after, left }));
        }
        let (mut members, mut bytes) = (BTreeMap::new(), 0);
        present.walk_names(after.as_deref(), &mut |name, value| {
            bytes += size_of::<(Vec<u8>, Vec<u8>)>() + name.len() + value.len();
            members.insert(name.to_vec(), value.to_vec());
            if members.len() as u64 >= left { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(Self(NamedMembers::Copied { members, bytes, after: None, left }))
    }

    /// Returns how many members no step has shown.
    pub fn left(&self) -> u64 {
        match &self.0 {
            NamedMembers::Memory(view) => view.left(),
            NamedMembers::Stored { left, .. } | NamedMembers::Copied { left, .. } => *left,
        }
    }

    /// Returns the bytes that the view uses besides itself, about.
    pub fn memory(&self) -> usize {
        match &self.0 {
            NamedMembers::Memory(view) => view.memory(),
            NamedMembers::Stored { after, .. } => after.as_ref().map_or(0, Vec::len),
            NamedMembers::Copied { bytes, .. } => *bytes,
        }
    }

    /// Calls `each` with the next members and their values, in the order of their bytes, until it
    /// breaks, and visits about `most` members. Returns whether there are more.
    ///
    /// # Errors
    /// A page of the disk engine cannot be read or is damaged.
    pub fn step(
        &mut self,
        most: usize,
        mut each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<bool> {
        match &mut self.0 {
            NamedMembers::Memory(view) => Ok(view.step(most, each)),
            NamedMembers::Stored { members, after, left } => {
                let mut walk = StepOfView { most, left, after: None };
                members
                    .walk_names(after.as_deref(), &mut |name, value| walk.show(name, each(name, value)))?;
                Ok(walk.finish(after))
            }
            NamedMembers::Copied { members, after, left, .. } => {
                let from = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                let mut walk = StepOfView { most, left, after: None };
                for (name, value) in members.range::<[u8], _>((from, Bound::Unbounded)) {
                    if walk.show(name, each(name, value)).is_break() {
                        break;
                    }
                }
                Ok(walk.finish(after))
            }
        }
    }

    /// Takes a step of the preparation for random columns; see
    /// [`ColumnsReader::prepare_draws`](super::ColumnsReader::prepare_draws).
    pub fn prepare_draws(&self, most: usize) {
        if let NamedMembers::Memory(view) = &self.0 {
            view.prepare_draws(most);
        }
    }

    /// Returns the value of a member. This takes a lookup. REQUIRES: no step was made; otherwise
    /// the answer is meaningless.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn get(&self, name: &[u8]) -> Result<Option<Vec<u8>>> {
        match &self.0 {
            NamedMembers::Memory(view) => Ok(view.get(name)),
            NamedMembers::Stored { members, .. } => Ok(members.value(name)?),
            NamedMembers::Copied { members, .. } => Ok(members.get(name).cloned()),
        }
    }

    /// Returns the score of a member of a sorted set; as [`get`](Self::get).
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn score(&self, member: &[u8]) -> Result<Option<f64>> {
        Ok(self.get(member)?.map(|value| Self::score_in(&value)))
    }

    /// Returns the score in a value that a step of a view of a sorted set shows.
    pub fn score_in(value: &[u8]) -> f64 {
        score_in(value)
    }
}

/// One step of a view over stored members.
struct StepOfView<'v> {
    most: usize,
    left: &'v mut u64,
    /// The last member that was shown.
    after: Option<Vec<u8>>,
}

impl StepOfView<'_> {
    /// Notes that a member was shown. Breaks if the step must end after it.
    fn show(&mut self, name: &[u8], shown: ControlFlow<()>) -> ControlFlow<()> {
        *self.left = self.left.saturating_sub(1);
        self.most = self.most.saturating_sub(1);
        if shown.is_break() || self.most == 0 || *self.left == 0 {
            self.after = Some(name.to_vec());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Returns whether there are more members; the next step starts behind `after`.
    fn finish(self, after: &mut Option<Vec<u8>>) -> bool {
        match self.after {
            Some(last) => *after = Some(last),
            // The walk has reached the end.
            None => *self.left = 0,
        }
        *self.left > 0
    }
}

/// Members of a sorted set as they were at one moment, in the order of their scores; see
/// [`SetReader::view`](super::SetReader::view). A view keeps the members that writers replace
/// meanwhile, so drop it as soon as possible.
pub struct ScoreRangeView(ScoredMembersView);

enum ScoredMembersView {
    Memory(skein_store::ScoreRangeView),
    Stored { members: KeptMembers, rank: u64, left: u64, direction: ScanDirection },
    Copied { members: Vec<(f64, Vec<u8>)>, next: usize },
}

impl Default for ScoreRangeView {
    fn default() -> Self {
        Self(ScoredMembersView::Copied { members: Vec::new(), next: 0 })
    }
}

impl ScoreRangeView {
    pub(super) fn memory_of(view: skein_store::ScoreRangeView) -> Self {
        Self(ScoredMembersView::Memory(view))
    }

    /// Takes a view of `count` members from a rank on: of those that are `kept`, or a copy.
    pub(super) fn stored(
        present: &dyn Members,
        kept: Option<KeptMembers>,
        rank: u64,
        count: u64,
        direction: ScanDirection,
    ) -> std::result::Result<Self, RowError> {
        let left = count.min(match direction {
            ScanDirection::Forward => present.len().saturating_sub(rank),
            ScanDirection::Backward => rank.saturating_add(1).min(present.len()),
        });
        if let Some(members) = kept {
            return Ok(Self(ScoredMembersView::Stored { members, rank, left, direction }));
        }
        let mut members = Vec::new();
        if left > 0 {
            present.walk_ranks(rank, direction, &mut |score, member| {
                members.push((score, member.to_vec()));
                if (members.len() as u64) < left { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
        }
        Ok(Self(ScoredMembersView::Copied { members, next: 0 }))
    }

    /// Returns how many members no step has shown.
    pub fn left(&self) -> u64 {
        match &self.0 {
            ScoredMembersView::Memory(view) => view.left(),
            ScoredMembersView::Stored { left, .. } => *left,
            ScoredMembersView::Copied { members, next } => (members.len() - next) as u64,
        }
    }

    /// Calls `each` with the next members until it breaks, and visits about `most` members. Returns
    /// whether there are more.
    ///
    /// # Errors
    /// A page of the disk engine cannot be read or is damaged.
    pub fn step(
        &mut self,
        most: usize,
        mut each: impl FnMut(f64, Member<'_>) -> ControlFlow<()>,
    ) -> Result<bool> {
        match &mut self.0 {
            ScoredMembersView::Memory(view) => Ok(view.step(most, each)),
            ScoredMembersView::Stored { members, rank, left, direction } => {
                let (most, mut shown) = ((most as u64).min(*left), 0);
                if most > 0 {
                    members.walk_ranks(*rank, *direction, &mut |score, member| {
                        shown += 1;
                        match each(score, member) {
                            ControlFlow::Continue(()) if shown < most => ControlFlow::Continue(()),
                            _ => ControlFlow::Break(()),
                        }
                    })?;
                }
                *left = if shown == 0 { 0 } else { *left - shown };
                *rank = match direction {
                    ScanDirection::Forward => *rank + shown,
                    ScanDirection::Backward => rank.saturating_sub(shown),
                };
                Ok(*left > 0)
            }
            ScoredMembersView::Copied { members, next } => {
                for (score, member) in members[*next..].iter().take(most) {
                    *next += 1;
                    if each(*score, Member::of(member)).is_break() {
                        break;
                    }
                }
                Ok(*next < members.len())
            }
        }
    }
}
