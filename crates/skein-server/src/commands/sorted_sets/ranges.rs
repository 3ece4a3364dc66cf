//! Ranges: by place, by score, by member.

use std::ops::{ControlFlow, Range};

use skein_syntax::number::parse_i64;

use super::bounds::{MemberRange, RangeBy};
use super::long_ranges::MembersReply;
use super::{MemberFormat, answer_of, with_set};
use crate::commands::command_error::{NOT_AN_INTEGER, SYNTAX};
use crate::commands::task::{AT_ONCE, AT_ONCE_BYTES};
use crate::commands::{AfterCommand, CommandContext, CommandError, SlicedTask, is};
use crate::engine::{RowRef, ScanDirection, ScoreRangeView, SetReader};
use crate::resp::{ReplyWriter, RequestArgs};

/// A range as one of the commands asks for it.
#[derive(Clone, Copy)]
pub(super) struct RangeQuery<'a> {
    span: MemberRange<'a>,
    direction: ScanDirection,
    scores: bool,
    /// Members that are left out first, and then given at most; negative: none is given, all are.
    limit: (i64, i64),
}

/// What a command's name says already.
#[derive(Clone, Copy)]
pub(super) struct RangeSyntax {
    /// The kind of range and its direction; ZRANGE says them by options.
    fixed: Option<(RangeBy, ScanDirection)>,
    /// Whether WITHSCORES may be given.
    scores: bool,
}

impl<'a> RangeQuery<'a> {
    /// What the arguments from `first` on ask for: two bounds, and options.
    pub(super) fn parse(
        args: &RequestArgs<'a>,
        first: usize,
        form: RangeSyntax,
    ) -> Result<Self, CommandError> {
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
        // The greater bound comes first in a reverse range, but for places.
        let (mut lower, mut upper) = (args.get(first), args.get(first + 1));
        if direction == ScanDirection::Backward && by != RangeBy::Rank {
            std::mem::swap(&mut lower, &mut upper);
        }
        if by == RangeBy::Rank {
            limit = (0, -1);
        }
        Ok(Self { span: MemberRange::parse(by, lower, upper)?, direction, scores, limit })
    }

    /// The places that are asked for, counted in the direction of the range.
    pub(super) fn places(&self, set: &SetReader<'_>) -> Range<u64> {
        let found = self.span.places(set);
        let backward = self.direction == ScanDirection::Backward;
        let found = match self.span {
            MemberRange::Ranks(..) => found,
            _ if backward => set.len() - found.end.min(set.len())..set.len() - found.start.min(set.len()),
            _ => found,
        };
        let Ok(skipped) = u64::try_from(self.limit.0) else { return 0..0 };
        let start = found.start.saturating_add(skipped);
        let most = u64::try_from(self.limit.1).unwrap_or(u64::MAX);
        start..found.end.min(start.saturating_add(most))
    }

    /// Shows `each` the members of these places.
    pub(super) fn walk(
        &self,
        set: &SetReader<'_>,
        places: &Range<u64>,
        mut each: impl FnMut(f64, crate::engine::Member<'_>) -> ControlFlow<()>,
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

    /// The place of the first of these members in the order.
    fn first(&self, set: &SetReader<'_>, places: &Range<u64>) -> u64 {
        match self.direction {
            ScanDirection::Forward => places.start,
            ScanDirection::Backward => (set.len() - 1).saturating_sub(places.start),
        }
    }

    /// The members of these places, to be read in steps.
    fn view(&self, set: &SetReader<'_>, places: &Range<u64>) -> Option<ScoreRangeView> {
        let count = places.end.saturating_sub(places.start);
        set.view(self.first(set, places), count, self.direction)
    }
}

/// ZRANGESTORE, which says all by options and keeps the scores anyway.
pub(super) const STORED: RangeSyntax = RangeSyntax { fixed: None, scores: false };

/// Answers with a range that is short; of a long one nothing is written, and `long` is called.
fn answer(
    row: Option<RowRef<'_>>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
    form: RangeSyntax,
    long: impl FnOnce(&RangeQuery<'_>, &SetReader<'_>, &Range<u64>, &mut ReplyWriter<'_>),
) -> Result<(), CommandError> {
    let asked = RangeQuery::parse(args, 2, form)?;
    answer_of(row, reply, |set, reply| match set {
        None => {
            reply.array(0);
            Ok(())
        }
        Some(set) => {
            let places = asked.places(set);
            if !write_short(&asked, set, &places, reply) {
                long(&asked, set, &places, reply);
            }
            Ok(())
        }
    })
}

/// Writes a range that is short; false if it is not, and nothing is written.
fn write_short(
    asked: &RangeQuery<'_>,
    set: &SetReader<'_>,
    places: &Range<u64>,
    reply: &mut ReplyWriter<'_>,
) -> bool {
    let count = usize::try_from(places.end.saturating_sub(places.start)).unwrap_or(usize::MAX);
    if count > AT_ONCE {
        return false;
    }
    let start = reply.position();
    let shape = MemberFormat::of(asked.scores, reply);
    shape.head(count, reply);
    let mut fits = true;
    asked.walk(set, places, |score, member| {
        fits = reply.position() - start <= AT_ONCE_BYTES;
        if !fits {
            return ControlFlow::Break(());
        }
        shape.member(score, member, reply);
        ControlFlow::Continue(())
    });
    if !fits {
        reply.truncate(start);
    }
    fits
}

/// As the one above, in the answer to a read of a batch.
fn answer_now(
    row: Option<RowRef<'_>>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
    form: RangeSyntax,
) {
    if let Err(fault) = answer(row, args, reply, form, |_, _, _, reply| reply.put_off()) {
        fault.write(reply);
    }
}

/// Answers with a range of any length, of one moment.
fn answer_in_slices(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
    form: RangeSyntax,
) -> Result<AfterCommand, CommandError> {
    let mut task = None;
    context.look_up(args.get(1), |row| {
        answer(row?, args, reply, form, |asked, set, places, reply| {
            let shape = MemberFormat::of(asked.scores, reply);
            task = asked.view(set, places).map(|view| MembersReply::task(view, shape));
        })
    })?;
    Ok(task.map_or(AfterCommand::Done, |task| AfterCommand::Slices(Box::new(SlicedTask::Members(task)))))
}

/// A module for each: how it answers a read of a batch, and how in slices.
macro_rules! range_commands {
    ($($name:ident = $fixed:expr;)+) => {
        $(
            pub(in crate::commands) mod $name {
                use super::*;

                const FORM: RangeSyntax = RangeSyntax { fixed: $fixed, scores: true };

                pub(in crate::commands) fn now(row: Option<RowRef<'_>>, args: &RequestArgs<'_>, reply: &mut ReplyWriter<'_>) {
                    answer_now(row, args, reply, FORM);
                }

                pub(in crate::commands) fn in_slices(
                    context: &mut CommandContext<'_>,
                    args: &RequestArgs<'_>,
                    reply: &mut ReplyWriter<'_>,
                ) -> Result<AfterCommand, CommandError> {
                    answer_in_slices(context, args, reply, FORM)
                }
            }
        )+
    };
}

range_commands! {
    zrange = None;
    zrevrange = Some((RangeBy::Rank, ScanDirection::Backward));
    zrange_by_score = Some((RangeBy::Score, ScanDirection::Forward));
    zrevrange_by_score = Some((RangeBy::Score, ScanDirection::Backward));
    zrange_by_lex = Some((RangeBy::Lex, ScanDirection::Forward));
    zrevrange_by_lex = Some((RangeBy::Lex, ScanDirection::Backward));
}

pub(in crate::commands) fn zcount(
    row: Option<RowRef<'_>>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) {
    count(row, args, reply, RangeBy::Score);
}

pub(in crate::commands) fn zlex_count(
    row: Option<RowRef<'_>>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) {
    count(row, args, reply, RangeBy::Lex);
}

fn count(row: Option<RowRef<'_>>, args: &RequestArgs<'_>, reply: &mut ReplyWriter<'_>, by: RangeBy) {
    match MemberRange::parse(by, args.get(2), args.get(3)) {
        Err(fault) => fault.write(reply),
        Ok(span) => with_set(row, reply, |set, reply| {
            let places = set.map_or(0..0, |set| span.places(set));
            reply.places(places.end.saturating_sub(places.start));
            Ok(())
        }),
    }
}
