//! A search among many members, in slices.
//!
//! As in Redis, the reply shows a single moment. The task reads views of the ranges, one after the
//! other, and ends each as soon as it is read. Found members count towards the limit on the reply.

use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};

use super::search::MemberSearch;
use crate::commands::CommandResult;
use crate::commands::task::{ReplyEnd, SLICE_KEYS, SliceResult, SlicedTask, TaskProgress, TaskSlice};
use crate::resp::Reply;
use skein_data::{ScanDirection, ScoreRangeView, SetReader};

/// The most members that a slice looks at. Each takes a dozen sines and square roots at most.
const SLICE_MEMBERS: usize = 1024;

const WAY_OUT: &str = "use COUNT, or search a smaller area";

/// A search that writes its reply once all members are found.
pub(crate) struct GeoSearchTask {
    search: MemberSearch,
    views: VecDeque<ScoreRangeView>,
    /// The head of the reply is written.
    writes: bool,
}

impl GeoSearchTask {
    /// Takes the views.
    pub(super) fn new(search: MemberSearch, set: &SetReader, ranges: &[Range<u64>]) -> Self {
        let view = |range: &Range<u64>| {
            set.view(range.start, range.end.saturating_sub(range.start), ScanDirection::Forward)
        };
        Self { search, views: ranges.iter().filter_map(view).collect(), writes: false }
    }

    fn write(&mut self, slice: &TaskSlice<'_, '_>, reply: &mut Reply) -> CommandResult<TaskProgress> {
        if !std::mem::replace(&mut self.writes, true) {
            reply.array(self.search.len());
        }
        let end = ReplyEnd::of_slice(reply);
        for _ in 0..SLICE_KEYS {
            if !self.search.write_next(reply) {
                return Ok(TaskProgress::Done);
            }
            slice.check_len(reply, WAY_OUT)?;
            if end.check(reply).is_break() {
                break;
            }
        }
        Ok(TaskProgress::More)
    }
}

impl SlicedTask for GeoSearchTask {
    fn step(&mut self, slice: &mut TaskSlice, reply: &mut Reply) -> SliceResult {
        if let Some(view) = self.views.front_mut() {
            let mut enough = ControlFlow::Continue(());
            let more = view.step(SLICE_MEMBERS, |score, member| {
                enough = self.search.look(score, member);
                enough
            })?;
            if enough.is_break() {
                self.views.clear();
            } else if !more {
                self.views.pop_front();
            }
            slice.check_memory(self.search.memory(), WAY_OUT)?;
            return Ok(TaskProgress::More);
        }
        self.write(slice, reply)
    }

    fn held(&self) -> usize {
        self.search.memory()
    }
}
