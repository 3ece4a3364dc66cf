//! Ranges of many members, in slices.
//!
//! As in Redis the answer is of one moment: it is read from a view of the set (`OrderView`), which knows what writers have changed since. It is not sent before all of it is there.

use std::ops::ControlFlow;

use super::MemberFormat;
use crate::commands::task::{AT_ONCE, SlicedView, ViewTask};
use crate::engine::{ScanDirection, ScoreRangeView, SetReader};
use crate::resp::ReplyWriter;

/// ZRANGE and its kin, and a set in a range of keys.
pub(crate) struct MembersReply {
    view: ScoreRangeView,
    shape: MemberFormat,
    /// The reply is a map.
    map: bool,
}

impl MembersReply {
    pub(super) fn task(view: ScoreRangeView, shape: MemberFormat) -> ViewTask<Self> {
        ViewTask::new(Self { view, shape, map: false })
    }

    /// All members of a set with their scores, as a map; `None` if they are not many.
    pub(in crate::commands) fn all(set: &SetReader<'_>) -> Option<ViewTask<Self>> {
        if set.len() <= AT_ONCE as u64 {
            return None;
        }
        let view = set.view(0, set.len(), ScanDirection::Forward)?;
        let shape = MemberFormat { scores: true, pairs: false };
        Some(ViewTask::new(Self { view, shape, map: true }))
    }
}

impl SlicedView for MembersReply {
    const WAY_OUT: &'static str = "ask for fewer members, or use ZSCAN";

    fn left(&self) -> u64 {
        self.view.left()
    }

    fn head(&self, count: usize, reply: &mut ReplyWriter<'_>) {
        if self.map { reply.map(count) } else { self.shape.head(count, reply) }
    }

    fn some(
        &mut self,
        most: usize,
        full: impl Fn(&ReplyWriter<'_>) -> ControlFlow<()>,
        reply: &mut ReplyWriter<'_>,
    ) -> bool {
        self.view.step(most, |score, member| {
            self.shape.member(score, member, reply);
            full(reply)
        })
    }
}
