//! LPOS: the indexes of equal elements. A long list is searched in slices.
//!
//! The search runs from the front to the back, also for the last matches. It then keeps as many
//! matches as the reply needs, and drops earlier ones.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use super::{answer_of, parse_integer};
use crate::commands::command_error::SYNTAX;
use crate::commands::task::{AT_ONCE, LongReply, SliceResult, TaskProgress, TaskSlice};
use crate::commands::{CommandError, CommandResult, Replied, SlicedTask, is};
use crate::resp::{Args, Reply};
use skein_data::{ElementsView, ListReader, RowView};
use skein_syntax::number::parse_i64;

/// The most elements that a slice compares.
const SLICE_ELEMENTS: usize = 4096;

const ZERO_RANK: CommandError = CommandError::text(
    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list",
);

/// The options of LPOS.
struct PositionQuery {
    /// The first match of the reply: 1 is the first one, -1 the last one.
    rank: i64,
    /// The number of matches of the reply, 0 for all. `None` if the reply is a single one.
    count: Option<u64>,
    /// The most elements to compare, 0 for all.
    compared_max: u64,
}

impl PositionQuery {
    fn parse(args: &Args) -> CommandResult<Self> {
        let mut query = Self { rank: 1, count: None, compared_max: 0 };
        let mut rest = args.from(3);
        while let Some(word) = rest.next() {
            let value = rest.next();
            match (word, value) {
                (word, Some(value)) if is(word, "RANK") => query.rank = parse_rank(value)?,
                (word, Some(value)) if is(word, "COUNT") => {
                    query.count = Some(parse_count(value, "ERR COUNT can't be negative")?);
                }
                (word, Some(value)) if is(word, "MAXLEN") => {
                    query.compared_max = parse_count(value, "ERR MAXLEN can't be negative")?;
                }
                _ => return Err(SYNTAX),
            }
        }
        Ok(query)
    }

    /// Returns the first index to compare, and the number of elements from there.
    fn compared(&self, len: u64) -> (u64, u64) {
        let count = if self.compared_max == 0 { len } else { len.min(self.compared_max) };
        (if self.rank < 0 { len - count } else { 0 }, count)
    }
}

fn parse_rank(text: &[u8]) -> CommandResult<i64> {
    match parse_integer(text)? {
        0 => Err(ZERO_RANK),
        i64::MIN => Err(CommandError::out_of_range(-i64::MAX, i64::MAX)),
        rank => Ok(rank),
    }
}

fn parse_count(text: &[u8], negative: &'static str) -> CommandResult<u64> {
    let count = parse_i64(text).and_then(|count| u64::try_from(count).ok());
    count.ok_or(CommandError::text(negative))
}

/// A search for equal elements, from the front to the back.
struct PositionSearch {
    element: Vec<u8>,
    /// The matches before those of the reply, counted from the side where the reply begins.
    skipped: u64,
    most: u64,
    from_back: bool,
    /// Whether the reply is an array.
    is_array: bool,
    /// The index of the next element.
    index: u64,
    found: VecDeque<u64>,
}

impl PositionSearch {
    fn new(query: &PositionQuery, first: u64, element: &[u8]) -> Self {
        Self {
            element: element.to_vec(),
            skipped: query.rank.unsigned_abs() - 1,
            most: match query.count {
                None => 1,
                Some(0) => u64::MAX,
                Some(count) => count,
            },
            from_back: query.rank < 0,
            is_array: query.count.is_some(),
            index: first,
            found: VecDeque::new(),
        }
    }

    /// Looks at the next element. Breaks if no later one matters.
    fn look(&mut self, element: &[u8]) -> ControlFlow<()> {
        let index = self.index;
        self.index += 1;
        if element != self.element {
            return ControlFlow::Continue(());
        }
        let wanted = self.skipped.saturating_add(self.most);
        self.found.push_back(index);
        if self.from_back {
            if self.found.len() as u64 > wanted {
                self.found.pop_front();
            }
        } else if self.found.len() as u64 == wanted {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn write(&self, reply: &mut Reply) {
        let skipped = usize::try_from(self.skipped).unwrap_or(usize::MAX);
        let most = usize::try_from(self.most).unwrap_or(usize::MAX);
        let count = self.found.len().saturating_sub(skipped).min(most);
        let at = |nth: usize| {
            let at = if self.from_back { self.found.len() - 1 - nth } else { nth };
            self.found[at]
        };
        if self.is_array {
            reply.array(count);
            (skipped..skipped + count).for_each(|nth| reply.places(at(nth)));
        } else if count == 0 {
            reply.null();
        } else {
            reply.places(at(skipped));
        }
    }
}

pub(super) fn lpos(row: Option<RowView>, args: &Args, reply: &mut Reply, long: &mut LongReply) -> Replied {
    let query = PositionQuery::parse(args)?;
    answer_of(row, reply, |list, reply| {
        let (first, mut left) = query.compared(list.map_or(0, ListReader::len));
        let mut search = PositionSearch::new(&query, first, args.get(2));
        if let Some(list) = list {
            if left > AT_ONCE as u64 {
                let task = || Some(PositionsTask { view: list.view(first, left)?, search });
                long.begin(reply, task);
                return Ok(());
            }
            list.walk_from(first, |element| {
                left -= 1;
                let looked = search.look(element);
                if left == 0 { ControlFlow::Break(()) } else { looked }
            });
        }
        search.write(reply);
        Ok(())
    })
}

/// Searches a long list.
pub(crate) struct PositionsTask {
    view: ElementsView,
    search: PositionSearch,
}

impl SlicedTask for PositionsTask {
    fn step(&mut self, _: &mut TaskSlice, reply: &mut Reply) -> SliceResult {
        let Self { view, search } = self;
        let mut ended = false;
        let more = view.step(SLICE_ELEMENTS, |element| {
            let looked = search.look(element);
            ended = looked.is_break();
            looked
        })?;
        if more && !ended {
            return Ok(TaskProgress::More);
        }
        search.write(reply);
        Ok(TaskProgress::Done)
    }

    fn held(&self) -> usize {
        self.search.element.len() + self.search.found.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::Protocol;

    fn found(rank: i64, count: Option<u64>, compared_max: u64) -> String {
        let list = [&b"a"[..], b"b", b"a", b"a", b"c"];
        let query = PositionQuery { rank, count, compared_max };
        let (first, count) = query.compared(list.len() as u64);
        let mut search = PositionSearch::new(&query, first, b"a");
        let compared = list.iter().skip(first as usize).take(count as usize);
        let _ = compared.into_iter().try_for_each(|element| search.look(element));
        let mut out = Vec::new();
        search.write(&mut Reply::new(&mut out, Protocol::Resp2));
        String::from_utf8(out).unwrap().replace("\r\n", " ")
    }

    #[test]
    fn matches_are_those_of_redis() {
        assert_eq!(found(1, None, 0), ":0 ");
        assert_eq!(found(2, None, 0), ":2 ");
        assert_eq!(found(-1, None, 0), ":3 ");
        assert_eq!(found(4, None, 0), "$-1 ");
        assert_eq!(found(1, Some(0), 0), "*3 :0 :2 :3 ");
        assert_eq!(found(-1, Some(2), 0), "*2 :3 :2 ");
        assert_eq!(found(-2, Some(0), 0), "*2 :2 :0 ");
        assert_eq!(found(1, Some(0), 2), "*1 :0 ");
        assert_eq!(found(-1, Some(0), 2), "*1 :3 ");
        assert_eq!(found(-4, Some(2), 0), "*0 ");
    }
}
