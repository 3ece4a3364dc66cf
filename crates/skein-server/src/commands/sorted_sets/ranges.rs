//! Ranges: by place, by score, by member.

use std::ops::{ControlFlow, Range};

use skein_syntax::number::parse_i64;

use super::bounds::{By, Span};
use super::long::Members;
use super::{Shape, answer_of, with_set};
use crate::commands::fault::{NOT_AN_INTEGER, SYNTAX};
use crate::commands::task::{AT_ONCE, AT_ONCE_BYTES};
use crate::commands::{Context, Fault, Next, Task, is};
use crate::engine::{Direction, OrderView, RowRef, SetReader};
use crate::resp::{Args, Reply};

/// A range as one of the commands asks for it.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    span: Span<'a>,
    direction: Direction,
    scores: bool,
    /// Members that are left out first, and then given at most; negative: none is given, all are.
    limit: (i64, i64),
}

/// What a command's name says already.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// The kind of range and its direction; ZRANGE says them by options.
    fixed: Option<(By, Direction)>,
    /// Whether WITHSCORES may be given.
    scores: bool,
}

impl<'a> Asked<'a> {
    /// What the arguments from `first` on ask for: two bounds, and options.
    pub(super) fn parse(args: &Args<'a>, first: usize, form: Form) -> Result<Self, Fault> {
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
                direction = Some(Direction::Backward);
            } else if form.fixed.is_none() && by.is_none() && is(word, "BYLEX") {
                by = Some(By::Lex);
            } else if form.fixed.is_none() && by.is_none() && is(word, "BYSCORE") {
                by = Some(By::Score);
            } else {
                return Err(SYNTAX);
            }
        }
        let named = (by.unwrap_or(By::Rank), direction.unwrap_or(Direction::Forward));
        let (by, direction) = form.fixed.unwrap_or(named);
        if limit.1 != -1 && by == By::Rank {
            return Err(Fault::text(
                "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
            ));
        }
        if scores && by == By::Lex {
            return Err(Fault::text("ERR syntax error, WITHSCORES not supported in combination with BYLEX"));
        }
        // The greater bound comes first in a reverse range, but for places.
        let (mut lower, mut upper) = (args.get(first), args.get(first + 1));
        if direction == Direction::Backward && by != By::Rank {
            std::mem::swap(&mut lower, &mut upper);
        }
        if by == By::Rank {
            limit = (0, -1);
        }
        Ok(Self { span: Span::parse(by, lower, upper)?, direction, scores, limit })
    }

    /// The places that are asked for, counted in the direction of the range.
    pub(super) fn places(&self, set: &SetReader<'_>) -> Range<u64> {
        let found = self.span.places(set);
        let backward = self.direction == Direction::Backward;
        let found = match self.span {
            Span::Ranks(..) => found,
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
            Direction::Forward => places.start,
            Direction::Backward => (set.len() - 1).saturating_sub(places.start),
        }
    }

    /// The members of these places, to be read in steps.
    fn view(&self, set: &SetReader<'_>, places: &Range<u64>) -> Option<OrderView> {
        let count = places.end.saturating_sub(places.start);
        set.view(self.first(set, places), count, self.direction)
    }
}

/// ZRANGESTORE, which says all by options and keeps the scores anyway.
pub(super) const STORED: Form = Form { fixed: None, scores: false };

/// Answers with a range that is short; of a long one nothing is written, and `long` is called.
fn answer(
    row: Option<RowRef<'_>>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
    form: Form,
    long: impl FnOnce(&Asked<'_>, &SetReader<'_>, &Range<u64>, &mut Reply<'_>),
) -> Result<(), Fault> {
    let asked = Asked::parse(args, 2, form)?;
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
fn write_short(asked: &Asked<'_>, set: &SetReader<'_>, places: &Range<u64>, reply: &mut Reply<'_>) -> bool {
    let count = usize::try_from(places.end.saturating_sub(places.start)).unwrap_or(usize::MAX);
    if count > AT_ONCE {
        return false;
    }
    let start = reply.position();
    let shape = Shape::of(asked.scores, reply);
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
fn answer_now(row: Option<RowRef<'_>>, args: &Args<'_>, reply: &mut Reply<'_>, form: Form) {
    if let Err(fault) = answer(row, args, reply, form, |_, _, _, reply| reply.put_off()) {
        fault.write(reply);
    }
}

/// Answers with a range of any length, of one moment.
fn answer_in_slices(
    context: &mut Context<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
    form: Form,
) -> Result<Next, Fault> {
    let mut task = None;
    context.look_up(args.get(1), |row| {
        answer(row?, args, reply, form, |asked, set, places, reply| {
            let shape = Shape::of(asked.scores, reply);
            task = asked.view(set, places).map(|view| Members::task(view, shape));
        })
    })?;
    Ok(task.map_or(Next::Done, |task| Next::Slices(Box::new(Task::Members(task)))))
}

/// A module for each: how it answers a read of a batch, and how in slices.
macro_rules! range_commands {
    ($($name:ident = $fixed:expr;)+) => {
        $(
            pub(in crate::commands) mod $name {
                use super::*;

                const FORM: Form = Form { fixed: $fixed, scores: true };

                pub(in crate::commands) fn now(row: Option<RowRef<'_>>, args: &Args<'_>, reply: &mut Reply<'_>) {
                    answer_now(row, args, reply, FORM);
                }

                pub(in crate::commands) fn in_slices(
                    context: &mut Context<'_>,
                    args: &Args<'_>,
                    reply: &mut Reply<'_>,
                ) -> Result<Next, Fault> {
                    answer_in_slices(context, args, reply, FORM)
                }
            }
        )+
    };
}

range_commands! {
    zrange = None;
    zrevrange = Some((By::Rank, Direction::Backward));
    zrange_by_score = Some((By::Score, Direction::Forward));
    zrevrange_by_score = Some((By::Score, Direction::Backward));
    zrange_by_lex = Some((By::Lex, Direction::Forward));
    zrevrange_by_lex = Some((By::Lex, Direction::Backward));
}

pub(in crate::commands) fn zcount(row: Option<RowRef<'_>>, args: &Args<'_>, reply: &mut Reply<'_>) {
    count(row, args, reply, By::Score);
}

pub(in crate::commands) fn zlex_count(row: Option<RowRef<'_>>, args: &Args<'_>, reply: &mut Reply<'_>) {
    count(row, args, reply, By::Lex);
}

fn count(row: Option<RowRef<'_>>, args: &Args<'_>, reply: &mut Reply<'_>, by: By) {
    match Span::parse(by, args.get(2), args.get(3)) {
        Err(fault) => fault.write(reply),
        Ok(span) => with_set(row, reply, |set, reply| {
            let places = set.map_or(0..0, |set| span.places(set));
            reply.places(places.end.saturating_sub(places.start));
            Ok(())
        }),
    }
}
