//! Ranges of many members, in slices.
//!
//! As in Redis, the reply shows a single moment. The task reads a view of the set
//! (`ScoreRangeView`), which keeps the former entries of later writes. The reply is sent only when
//! it is complete.

use super::MemberFormat;
use crate::commands::CommandResult;
use crate::commands::task::{AT_ONCE, ReplyEnd, SLICE_KEYS, SlicedView, ViewTask};
use crate::resp::Reply;
use skein_data::{ScanDirection, ScoreRangeView, SetReader};

/// The reply of ZRANGE and its relatives and of SMEMBERS, and of a set inside a range of keys.
pub(crate) struct MembersReply {
    view: ScoreRangeView,
    shape: MemberFormat,
}

impl MembersReply {
    pub(super) fn task(view: ScoreRangeView, shape: MemberFormat) -> ViewTask<Self> {
        ViewTask::new(Self { view, shape })
    }

    /// Returns whether a set has so many members that its reply is written in slices.
    pub(crate) fn is_long(set: &SetReader) -> bool {
        set.len() > AT_ONCE as u64
    }

    /// Returns a task that writes all members, or `None` if there are few.
    pub(crate) fn all(set: &SetReader, shape: MemberFormat) -> Option<ViewTask<Self>> {
        if !Self::is_long(set) {
            return None;
        }
        Some(Self::task(set.view(0, set.len(), ScanDirection::Forward)?, shape))
    }
}

impl SlicedView for MembersReply {
    const WAY_OUT: &'static str = "ask for fewer members, or use ZSCAN or SSCAN";

    fn left(&self) -> u64 {
        self.view.left()
    }

    fn head(&self, count: usize, reply: &mut Reply) {
        self.shape.head(count, reply);
    }

    fn some(&mut self, end: ReplyEnd, reply: &mut Reply) -> CommandResult<bool> {
        Ok(self.view.step(SLICE_KEYS, |score, member| {
            self.shape.member(score, member, reply);
            end.check(reply)
        })?)
    }
}
