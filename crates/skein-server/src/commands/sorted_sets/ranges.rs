//! Ranges by rank, score and member.

use std::ops::{ControlFlow, Range};

use skein_syntax::number::parse_i64;

use super::bounds::{MemberRange, RangeBy};
use super::long_ranges::MembersReply;
use super::{MemberFormat, answer_of};
use crate::commands::command_error::{NOT_AN_INTEGER, SYNTAX};
use crate::commands::task::{LongReply, write_short};
use crate::commands::{CommandError, CommandResult, Replied, is, reply_or_error};
use crate::resp::{Args, Reply};
use skein_data::{RowView, ScanDirection, ScoreRangeView, SetReader};

/// The parsed arguments of a range command.
#[derive(Clone, Copy)]
pub(super) struct RangeQuery<'a> {
    span: MemberRange<'a>,
    direction: ScanDirection,
    scores: bool,
    /// Members to skip, and the maximum to return. A negative first number returns no member; a
    /// negative second number returns all.
    limit: (i64, i64),
}

/// The properties of a range command that its name determines.
#[derive(Clone, Copy)]
pub(super) struct RangeSyntax {
    /// The kind and direction of the range; `None` for ZRANGE, which has options for them.
    fixed: Option<(RangeBy, ScanDirection)>,
    /// Whether WITHSCORES is allowed.
    scores: bool,
}

impl<'a> RangeQuery<'a> {
    /// Parses the arguments from `first` on: two bounds and options.
    pub(super) fn parse(args: &Args<'a>, first: usize, form: RangeSyntax) -> CommandResult<Self> {
        let (mut by, mut direction) = (None, None);
        let (mut scores, mut limit) = (false, (0, -1));
        let mut rest = args.from(first + 2);
        while let Some(word) = rest.next() {
            if form.scores && is(word, "WITHSCORES") {
                scores = true;
            } else if is(word, "LIMIT") && rest.len() >= 2 {
                let mut number = || rest.next().and_then(parse_i64).ok_or(NOT_AN_INTEGER);
                limit = (number()?, number()?);
            } else if form.fixed.is_none() && direction.is_none() && is(word, "REV") {
                direction = Some(ScanDirection::Backward);
            } else if form.fixed.is_none() && by.is_none() && is(word, "BYLEX") {
                by = Some(RangeBy::Lex);
            } else if form.fixed.is_none() && by.is_none() && is(word, "BYSCORE") {
                by = Some(RangeBy::Score);
            } else {
                return Err(SYNTAX);
            }
        }
        let named = (by.unwrap_or(RangeBy::Rank), direction.unwrap_or(ScanDirection::Forward));
        let (by, direction) = form.fixed.unwrap_or(named);
        if limit.1 != -1 && by == RangeBy::Rank {
            return Err(CommandError::text(
                "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
            ));
        }
        if scores && by == RangeBy::Lex {
            return Err(CommandError::text(
                "ERR syntax error, WITHSCORES not supported in combination with BYLEX",
            ));
        }
        // In a reverse range the greater bound is first, except for ranks.
        let (mut lower, mut upper) = (args.get(first), args.get(first + 1));
        if direction == ScanDirection::Backward && by != RangeBy::Rank {
            std::mem::swap(&mut lower, &mut upper);
        }
        if by == RangeBy::Rank {
            limit = (0, -1);
        }
        Ok(Self { span: MemberRange::parse(by, lower, upper)?, direction, scores, limit })
    }

    /// Returns the ranks of the range, counted in its direction.
    pub(super) fn places(&self, mut set: &SetReader) -> CommandResult<Range<u64>> {
        let found = self.span.places(&mut set)?;
        let backward = self.direction == ScanDirection::Backward;
        let found = match self.span {
            MemberRange::Ranks(..) => found,
            _ if backward => set.len() - found.end.min(set.len())..set.len() - found.start.min(set.len()),
            _ => found,
        };
        let Ok(skipped) = u64::try_from(self.limit.0) else { return Ok(0..0) };
        let start = found.start.saturating_add(skipped);
        let most = u64::try_from(self.limit.1).unwrap_or(u64::MAX);
        Ok(start..found.end.min(start.saturating_add(most)))
    }

    /// Calls `each` with the members at these ranks.
    pub(super) fn walk(
        &self,
        set: &SetReader,
        places: &Range<u64>,
        mut each: impl FnMut(f64, skein_data::Member<'_>) -> ControlFlow<()>,
    ) {
        let mut left = places.end.saturating_sub(places.start);
        if left == 0 {
            return;
        }
        set.walk(self.first(set, places), self.direction, |score, member| {
            left -= 1;
            match each(score, member) {
                ControlFlow::Continue(()) if left > 0 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        });
    }

    /// Returns the rank of the first of these members, counted from the start of the set.
    fn first(&self, set: &SetReader, places: &Range<u64>) -> u64 {
        match self.direction {
            ScanDirection::Forward => places.start,
            ScanDirection::Backward => (set.len() - 1).saturating_sub(places.start),
        }
    }

    /// Returns a view of the members at these ranks, to be read in slices.
    fn view(&self, set: &SetReader, places: &Range<u64>) -> Option<ScoreRangeView> {
        let count = places.end.saturating_sub(places.start);
        set.view(self.first(set, places), count, self.direction)
    }
}

/// ZRANGESTORE, which has options for everything and always keeps the scores.
pub(super) const STORED: RangeSyntax = RangeSyntax { fixed: None, scores: false };

/// Replies with a range. `fixed` has its kind and direction; ZRANGE has options for them.
pub(super) fn answer(
    row: Option<RowView>,
    args: &Args,
    reply: &mut Reply,
    fixed: Option<(RangeBy, ScanDirection)>,
    long: &mut LongReply,
) -> Replied {
    let asked = RangeQuery::parse(args, 2, RangeSyntax { fixed, scores: true })?;
    answer_of(row, reply, |set, reply| match set {
        None => {
            reply.array(0);
            Ok(())
        }
        Some(set) => {
            let (places, shape) = (asked.places(set)?, MemberFormat::of(asked.scores, reply));
            let count = places.end.saturating_sub(places.start);
            let is_written = write_short(count, reply, |count, end, reply| {
                shape.head(count, reply);
                asked.walk(set, &places, |score, member| {
                    shape.member(score, member, reply);
                    end.check(reply)
                });
            });
            if !is_written {
                let task = || asked.view(set, &places).map(|view| MembersReply::task(view, shape));
                long.begin(reply, task);
            }
            Ok(())
        }
    })
}

pub(super) fn count(row: Option<RowView>, args: &Args, reply: &mut Reply, by: RangeBy) {
    reply_or_error(reply, |reply| {
        let span = MemberRange::parse(by, args.get(2), args.get(3))?;
        answer_of(row, reply, |set, reply| {
            let places = set.map_or(Ok(0..0), |mut set| span.places(&mut set))?;
            reply.places(places.end.saturating_sub(places.start));
            Ok(())
        })
    });
}
