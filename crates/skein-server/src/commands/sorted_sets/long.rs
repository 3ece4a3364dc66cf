//! Ranges of many members, in slices.
//!
//! As in Redis the answer is of one moment: it is read from a view of the set (`OrderView`), which knows what writers have changed since. It is not sent before all of it is there.

use std::ops::ControlFlow;

use super::Shape;
use crate::commands::task::{AT_ONCE, ViewTask, Viewed};
use crate::engine::{Direction, OrderView, SetReader};
use crate::resp::Reply;

/// ZRANGE and its kin, and a set in a range of keys.
pub(crate) struct Members {
    view: OrderView,
    shape: Shape,
    /// The reply is a map.
    map: bool,
}

impl Members {
    pub(super) fn task(view: OrderView, shape: Shape) -> ViewTask<Self> {
        ViewTask::new(Self { view, shape, map: false })
    }

    /// All members of a set with their scores, as a map; `None` if they are not many.
    pub(in crate::commands) fn all(set: &SetReader<'_>) -> Option<ViewTask<Self>> {
        if set.len() <= AT_ONCE as u64 {
            return None;
        }
        let view = set.view(0, set.len(), Direction::Forward)?;
        let shape = Shape { scores: true, pairs: false };
        Some(ViewTask::new(Self { view, shape, map: true }))
    }
}

impl Viewed for Members {
    const WAY_OUT: &'static str = "ask for fewer members, or use ZSCAN";

    fn left(&self) -> u64 {
        self.view.left()
    }

    fn head(&self, count: usize, reply: &mut Reply<'_>) {
        if self.map { reply.map(count) } else { self.shape.head(count, reply) }
    }

    fn some(
        &mut self,
        most: usize,
        full: impl Fn(&Reply<'_>) -> ControlFlow<()>,
        reply: &mut Reply<'_>,
    ) -> bool {
        self.view.step(most, |score, member| {
            self.shape.member(score, member, reply);
            full(reply)
        })
    }
}
