//! Bounds of ranges, and their ranks.

use std::ops::Range;

use skein_syntax::number::parse_i64;

use crate::commands::command_error::NOT_AN_INTEGER;
use crate::commands::{CommandError, CommandResult};
use crate::resp::double::parse_bound;
use skein_data::{Member, SetReader, SetWriter};

/// The search by rank that readers and writers of a set share.
pub(super) trait RankSource {
    fn len(&self) -> u64;
    fn rank_by(&mut self, before: impl Fn(f64, Member<'_>) -> bool) -> CommandResult<u64>;
}

impl RankSource for &SetReader<'_> {
    fn len(&self) -> u64 {
        SetReader::len(self)
    }

    fn rank_by(&mut self, before: impl Fn(f64, Member<'_>) -> bool) -> CommandResult<u64> {
        Ok(SetReader::rank_by(self, before))
    }
}

impl RankSource for SetWriter<'_> {
    fn len(&self) -> u64 {
        Self::len(self)
    }

    fn rank_by(&mut self, before: impl Fn(f64, Member<'_>) -> bool) -> CommandResult<u64> {
        Ok(Self::rank_by(self, before)?)
    }
}

/// A range of a sorted set as the command gives it, lower bound first.
#[derive(Clone, Copy)]
pub(super) enum MemberRange<'a> {
    Ranks(i64, i64),
    Scores(ScoreBound, ScoreBound),
    Lex(LexBound<'a>, LexBound<'a>),
}

/// The kind of a range.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RangeBy {
    Rank,
    Score,
    Lex,
}

#[derive(Clone, Copy)]
pub(super) struct ScoreBound {
    score: f64,
    exclusive: bool,
}

#[derive(Clone, Copy)]
pub(super) enum LexBound<'a> {
    Lowest,
    Highest,
    At { member: &'a [u8], exclusive: bool },
}

impl ScoreBound {
    fn parse(text: &[u8]) -> CommandResult<Self> {
        let (exclusive, score) = match text.strip_prefix(b"(") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let score = parse_bound(score).ok_or(CommandError::text("ERR min or max is not a float"))?;
        Ok(Self { score, exclusive })
    }
}

impl<'a> LexBound<'a> {
    fn parse(text: &'a [u8]) -> CommandResult<Self> {
        match text {
            b"-" => Ok(Self::Lowest),
            b"+" => Ok(Self::Highest),
            [b'[', member @ ..] => Ok(Self::At { member, exclusive: false }),
            [b'(', member @ ..] => Ok(Self::At { member, exclusive: true }),
            _ => Err(CommandError::text("ERR min or max not valid string range item")),
        }
    }

    /// Returns the number of members before this bound; with `or_at`, members equal to the bound
    /// count too.
    fn rank(self, set: &mut impl RankSource, or_at: bool) -> CommandResult<u64> {
        match self {
            Self::Lowest => Ok(0),
            Self::Highest => Ok(set.len()),
            Self::At { member, .. } => set.rank_by(|_, other| {
                let order = other.cmp_bytes(member);
                order.is_lt() || (or_at && order.is_eq())
            }),
        }
    }

    fn is_exclusive(self) -> bool {
        matches!(self, Self::At { exclusive: true, .. })
    }
}

impl<'a> MemberRange<'a> {
    pub(super) fn parse(by: RangeBy, lower: &'a [u8], upper: &'a [u8]) -> CommandResult<Self> {
        Ok(match by {
            RangeBy::Rank => {
                let rank = |text| parse_i64(text).ok_or(NOT_AN_INTEGER);
                Self::Ranks(rank(lower)?, rank(upper)?)
            }
            RangeBy::Score => Self::Scores(ScoreBound::parse(lower)?, ScoreBound::parse(upper)?),
            RangeBy::Lex => Self::Lex(LexBound::parse(lower)?, LexBound::parse(upper)?),
        })
    }

    /// Returns the ranks of the range. Those of a reverse range by rank count from the end.
    pub(super) fn places(self, set: &mut impl RankSource) -> CommandResult<Range<u64>> {
        Ok(match self {
            Self::Ranks(start, end) => ranks(start, end, set.len()),
            Self::Scores(lower, upper) => {
                let mut rank = |bound: f64, or_at: bool| {
                    set.rank_by(|score, _| score < bound || (or_at && score <= bound))
                };
                rank(lower.score, lower.exclusive)?..rank(upper.score, !upper.exclusive)?
            }
            Self::Lex(lower, upper) => {
                lower.rank(set, lower.is_exclusive())?..upper.rank(set, !upper.is_exclusive())?
            }
        })
    }
}

/// Returns the ranks from `start` to `end`, both included. Negative numbers count from the end.
fn ranks(start: i64, end: i64, len: u64) -> Range<u64> {
    let from_start = |rank: i64| {
        if rank >= 0 { Some(rank.unsigned_abs()) } else { len.checked_sub(rank.unsigned_abs()) }
    };
    let start = from_start(start).unwrap_or(0);
    let end = from_start(end).map_or(0, |end| end.saturating_add(1).min(len));
    start..end
}
