//! XRANGE and XREVRANGE, at once if the range is short, otherwise in slices; and streams inside a
//! range of keys. As in Redis, a reply shows a single moment.

use std::ops::ControlFlow;

use super::answer_of;
use super::ids::{parse_end, parse_start};
use super::replies::write_entry;
use crate::commands::command_error::{NOT_AN_INTEGER, SYNTAX};
use crate::commands::task::{AT_ONCE, LongReply, ReplyEnd, SLICE_KEYS, SlicedView, ViewTask, write_short};
use crate::commands::{CommandResult, Replied, is};
use crate::resp::{Args, Reply};
use skein_data::{EntriesView, RowView, ScanDirection, StreamId, StreamReader};
use skein_syntax::number::parse_i64;

/// A range of ids, both ends included.
pub(super) type IdRange = (StreamId, StreamId);

const ALL: IdRange = (StreamId::MIN, StreamId::MAX);

/// A request for a range.
struct RangeQuery {
    range: IdRange,
    /// The most entries; `None` for all.
    most: Option<u64>,
}

impl RangeQuery {
    fn parse(args: &Args, direction: ScanDirection) -> CommandResult<Self> {
        let (start, end) = match direction {
            ScanDirection::Forward => (args.get(2), args.get(3)),
            ScanDirection::Backward => (args.get(3), args.get(2)),
        };
        let mut query = Self { range: (parse_start(start)?, parse_end(end)?), most: None };
        let mut rest = args.from(4);
        while let Some(word) = rest.next() {
            let value = rest.next().filter(|_| is(word, "COUNT")).ok_or(SYNTAX)?;
            query.most = Some(parse_count(value)?);
        }
        Ok(query)
    }
}

/// Parses a number of entries. A negative one counts as 0.
pub(super) fn parse_count(text: &[u8]) -> CommandResult<u64> {
    Ok(u64::try_from(parse_i64(text).ok_or(NOT_AN_INTEGER)?).unwrap_or(0))
}

/// Replies with a range.
pub(super) fn answer(
    row: Option<RowView>,
    args: &Args,
    reply: &mut Reply,
    direction: ScanDirection,
    long: &mut LongReply,
) -> Replied {
    let query = RangeQuery::parse(args, direction)?;
    answer_of(row, reply, |stream, reply| {
        let Some(stream) = stream else {
            reply.array(0);
            return Ok(());
        };
        if query.most == Some(0) {
            reply.null_array();
            return Ok(());
        }
        let most = query.most.unwrap_or(u64::MAX);
        if !write_few(stream, query.range, direction, most, reply)? {
            long.begin(reply, || {
                let view = EntriesView::of(stream, query.range, direction, most)?;
                Some(ViewTask::new(EntriesReply { view }))
            });
        }
        Ok(())
    })
}

/// Writes up to `most` entries of a range, if they are few. Otherwise writes nothing and returns
/// false.
pub(super) fn write_few(
    stream: &mut StreamReader,
    range: IdRange,
    direction: ScanDirection,
    most: u64,
    reply: &mut Reply,
) -> CommandResult<bool> {
    let count = stream.count(range, most.min(AT_ONCE as u64 + 1))?;
    let mut read = Ok(());
    let is_written = write_short(count, reply, |mut left, end, reply| {
        reply.array(left);
        if left == 0 {
            return;
        }
        read = stream.entries(range, direction, |id, fields| {
            write_entry(id, fields, reply);
            left -= 1;
            if left > 0 { end.check(reply) } else { ControlFlow::Break(()) }
        });
    });
    read?;
    Ok(is_written)
}

/// Writes the first `count` entries of a range. REQUIRES: it has so many.
pub(super) fn write_entries_of(
    stream: &mut StreamReader,
    range: IdRange,
    count: u64,
    reply: &mut Reply,
) -> Replied {
    let mut left = count;
    reply.array(usize::try_from(count).unwrap_or(usize::MAX));
    if left == 0 {
        return Ok(());
    }
    stream.entries(range, ScanDirection::Forward, |id, fields| {
        write_entry(id, fields, reply);
        left -= 1;
        if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(())
}

/// Writes all entries of a stream that has few.
pub(crate) fn write_entries(stream: &mut StreamReader, reply: &mut Reply) -> Replied {
    write_entries_of(stream, ALL, stream.len(), reply)
}

/// The reply of XRANGE with many entries; also inside a range of keys.
pub(crate) struct EntriesReply {
    view: EntriesView,
}

impl EntriesReply {
    /// Returns a task that writes all entries, or `None` if there are few.
    pub(crate) fn all(stream: &mut StreamReader) -> Option<ViewTask<Self>> {
        if stream.len() <= AT_ONCE as u64 {
            return None;
        }
        let view = EntriesView::of(stream, ALL, ScanDirection::Forward, u64::MAX)?;
        Some(ViewTask::new(Self { view }))
    }

    /// Returns the reply for a view.
    pub(super) fn of(view: EntriesView) -> Self {
        Self { view }
    }
}

impl SlicedView for EntriesReply {
    const WAY_OUT: &'static str = "ask for fewer entries with COUNT";

    fn left(&self) -> u64 {
        self.view.left()
    }

    fn some(&mut self, end: ReplyEnd, reply: &mut Reply) -> CommandResult<bool> {
        Ok(self.view.step(SLICE_KEYS, |id, fields| {
            write_entry(id, fields, reply);
            end.check(reply)
        })?)
    }
}
