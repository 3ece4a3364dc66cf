//! LRANGE, at once if the range is short, otherwise in slices; LTRIM; and lists inside a range of
//! keys. As in Redis, a reply shows a single moment.

use std::ops::{ControlFlow, Range};

use super::{answer_of, index_from_front, parse_integer};
use crate::commands::task::{AT_ONCE, LongReply, ReplyEnd, SLICE_KEYS, SlicedView, ViewTask, write_short};
use crate::commands::{CommandError, CommandResult, Replied};
use crate::resp::{Args, Reply};
use skein_data::{ElementsView, EngineWriter, ListReader, RowView, RowWriter as _};

/// The first and the last index of a request, which may count from the back.
struct IndexRange {
    first: i64,
    last: i64,
}

impl IndexRange {
    fn parse(args: &Args) -> CommandResult<Self> {
        Ok(Self { first: parse_integer(args.get(2))?, last: parse_integer(args.get(3))? })
    }

    /// Returns the range in a list of this length.
    fn within(&self, len: u64) -> Range<u64> {
        let start = index_from_front(self.first, len).unwrap_or(0);
        let end = index_from_front(self.last, len).map_or(0, |last| last.saturating_add(1).min(len));
        start..end.max(start)
    }
}

pub(super) fn lrange(row: Option<RowView>, args: &Args, reply: &mut Reply, long: &mut LongReply) -> Replied {
    let asked = IndexRange::parse(args)?;
    answer_of(row, reply, |list, reply| {
        let Some(list) = list else {
            reply.array(0);
            return Ok(());
        };
        let range = asked.within(list.len());
        if !write_elements_of(list, &range, reply) {
            let task = || list.view(range.start, range.end - range.start);
            long.begin(reply, || Some(ViewTask::new(ElementsReply { view: task()? })));
        }
        Ok(())
    })
}

/// Writes elements if they are few. Otherwise writes nothing and returns false.
fn write_elements_of(list: &ListReader, range: &Range<u64>, reply: &mut Reply) -> bool {
    write_short(range.end - range.start, reply, |mut left, end, reply| {
        reply.array(left);
        if left == 0 {
            return;
        }
        list.walk_from(range.start, |element| {
            reply.bulk(element);
            left -= 1;
            if left > 0 { end.check(reply) } else { ControlFlow::Break(()) }
        });
    })
}

/// Writes all elements of a list that has few.
pub(crate) fn write_elements(list: &ListReader, reply: &mut Reply) {
    reply.array(usize::try_from(list.len()).unwrap_or(usize::MAX));
    list.walk_from(0, |element| {
        reply.bulk(element);
        ControlFlow::Continue(())
    });
}

/// The reply of LRANGE with many elements; also inside a range of keys.
pub(crate) struct ElementsReply {
    view: ElementsView,
}

impl ElementsReply {
    /// Returns a task that writes all elements, or `None` if there are few.
    pub(crate) fn all(list: &ListReader) -> Option<ViewTask<Self>> {
        if list.len() <= AT_ONCE as u64 {
            return None;
        }
        Some(ViewTask::new(Self { view: list.view(0, list.len())? }))
    }
}

impl SlicedView for ElementsReply {
    const WAY_OUT: &'static str = "ask for fewer elements";

    fn left(&self) -> u64 {
        self.view.left()
    }

    fn some(&mut self, end: ReplyEnd, reply: &mut Reply) -> CommandResult<bool> {
        Ok(self.view.step(SLICE_KEYS, |element| {
            reply.bulk(element);
            end.check(reply)
        })?)
    }
}

pub(super) fn ltrim(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let kept = IndexRange::parse(args)?;
    writer.change_list(args.get(1), false, |list| {
        let len = list.len()?;
        let range = kept.within(len);
        // As in Redis, this counts as a change for WATCH, events and caches, whatever it removes.
        if range == (0..len) {
            list.rewrite()?;
        } else {
            list.trim(range)?;
        }
        Ok::<_, CommandError>(())
    })?;
    reply.ok();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_redis() {
        let within = |first, last| IndexRange { first, last }.within(5);
        assert_eq!(within(0, -1), 0..5);
        assert_eq!(within(-2, -1), 3..5);
        assert_eq!(within(-100, 1), 0..2);
        assert_eq!(within(2, 100), 2..5);
        assert!(within(3, 2).is_empty());
        assert!(within(5, 9).is_empty());
        assert!(within(0, -6).is_empty());
        assert!(within(i64::MIN, i64::MIN).is_empty());
        assert_eq!(within(i64::MIN, i64::MAX), 0..5);
    }
}
