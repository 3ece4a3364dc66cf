//! Commands on sorted sets.
//!
//! ```text
//!   ZADD ...     Handler::Write  ─► writer.change_set        members and score index change
//!                                                           under the set's lock
//!   ZRANGE ...   Handler::Read   ─► row.sorted_set(|set| ...)
//! ```
//!
//! Every range is reduced to ranks (`ranges`): the score index finds the rank of a bound by score
//! or member, and the rest is arithmetic. Ranges of many members are read in slices, from a view of
//! the set (`long_ranges`).
//!
//! Read in this order: `members` (single members), `add` (ZADD, ZINCRBY), `bounds` and `ranges`
//! (ranges by rank, score, member), `remove`, `long_ranges`. Then, independent of each other:
//! `random` (ZRANDMEMBER), `scan` (ZSCAN), `multi_set` (ZMPOP), `blocking`, `algebra` (ZUNION and
//! its relatives, and the commands that store sets) with `distinct_sources`, `aggregate` and
//! `merge`, `set_operation_task` (the same in slices).

mod add;
mod aggregate;
mod algebra;
mod blocking;
mod bounds;
mod distinct_sources;
mod long_ranges;
mod members;
mod merge;
mod multi_set;
mod random;
mod ranges;
mod remove;
mod scan;
mod set_operation_task;
pub(crate) mod table;

pub(super) use add::{ZaddOptions, add_scored};
pub(super) use algebra::{SetOperation, SetOperationQuery, count_with, parse_limit, put_found, reply_with};
pub(super) use blocking::{BZMPOP, BZPOPMAX, BZPOPMIN};
pub(super) use long_ranges::MembersReply;
pub(super) use remove::{
    ScoredMembers, change_named, parse_count, remove_named, remove_popped, write_popped,
};

use std::cmp::Ordering;
use std::ops::ControlFlow;

use super::{CommandError, CommandResult, reply_or_error};
use crate::commands::reply_limit::check_reply_bytes;
use crate::resp::{Protocol, Reply};
use skein_data::{CollectionKind, Member, RowView, ScanDirection, SetReader, VALUE_BYTES_MAX};

/// Maximum bytes of a reply for each member besides its own: the heads of an array, a bulk string
/// and a score.
const MEMBER_OVERHEAD: usize = 64;

/// Replies from a set of this kind, or from `None` for an absent key. Errors for other kinds.
pub(super) fn answer_of_kind<R>(
    kind: CollectionKind,
    row: Option<RowView>,
    reply: &mut Reply,
    answer: impl FnOnce(Option<&SetReader>, &mut Reply) -> CommandResult<R>,
) -> CommandResult<R> {
    let Some(row) = row else { return answer(None, reply) };
    // A set that was removed since the row was read has no members, and counts as absent.
    row.set_of(kind, |set| answer(Some(set).filter(|set| !set.is_empty()), reply))?
        .ok_or_else(CommandError::wrong_type)?
}

/// Does the same with a sorted set.
fn answer_of<R>(
    row: Option<RowView>,
    reply: &mut Reply,
    answer: impl FnOnce(Option<&SetReader>, &mut Reply) -> CommandResult<R>,
) -> CommandResult<R> {
    answer_of_kind(CollectionKind::SortedSet, row, reply, answer)
}

/// Replies from a set of this kind and writes the error.
pub(super) fn with_set_of(
    kind: CollectionKind,
    row: Option<RowView>,
    reply: &mut Reply,
    answer: impl FnOnce(Option<&SetReader>, &mut Reply),
) {
    let answered = |set: Option<&SetReader>, reply: &mut Reply| {
        answer(set, reply);
        Ok(())
    };
    reply_or_error(reply, |reply| answer_of_kind(kind, row, reply, answered));
}

/// Does the same with a sorted set.
fn with_set(row: Option<RowView>, reply: &mut Reply, answer: impl FnOnce(Option<&SetReader>, &mut Reply)) {
    with_set_of(CollectionKind::SortedSet, row, reply, answer);
}

/// Errors if a reply would be longer than the longest value.
fn check_reply_len(bytes: usize) -> CommandResult<()> {
    check_reply_bytes(bytes, VALUE_BYTES_MAX, "ask for fewer members")
}

/// Writes all members; an error if the set is too long for a reply.
pub(super) fn write_members(set: &SetReader, format: MemberFormat, reply: &mut Reply) {
    let (start, len) = (reply.position(), usize::try_from(set.len()).unwrap_or(usize::MAX));
    reply_or_error(reply, |reply| {
        check_reply_len(len.saturating_mul(MEMBER_OVERHEAD))?;
        format.head(len, reply);
        let mut checked = Ok(());
        set.walk(0, ScanDirection::Forward, |score, member| {
            format.member(score, member, reply);
            checked = check_reply_len(reply.position() - start);
            if checked.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        checked
    });
}

/// Compares members by score, then by bytes. The two zeros are equal; no score is NaN.
fn in_order<M: Ord>(a: &(f64, M), b: &(f64, M)) -> Ordering {
    a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal).then_with(|| a.1.cmp(&b.1))
}

/// The form of members in a reply.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MemberFormat {
    /// An array of members.
    Members,
    /// A set of members.
    Set,
    /// An array in which each member's score follows the member.
    Flat,
    /// An array of pairs of a member and its score.
    Pairs,
    /// A map from members to scores.
    Map,
}

impl MemberFormat {
    /// Returns the form for ranges: pairs in RESP3.
    fn of(scores: bool, reply: &Reply) -> Self {
        match reply.protocol() {
            _ if !scores => Self::Members,
            Protocol::Resp2 => Self::Flat,
            Protocol::Resp3 => Self::Pairs,
        }
    }

    /// Returns the form for the whole contents of a key.
    pub(super) fn of_contents(row: RowView) -> Self {
        if row.collection_kind() == Some(CollectionKind::Set) { Self::Set } else { Self::Map }
    }

    /// Writes the head of a reply with `count` members.
    pub(super) fn head(self, count: usize, reply: &mut Reply) {
        match self {
            Self::Members | Self::Pairs => reply.array(count),
            Self::Set => reply.set(count),
            Self::Flat => reply.array(2 * count),
            Self::Map => reply.map(count),
        }
    }

    #[inline]
    pub(super) fn member(self, score: f64, member: Member<'_>, reply: &mut Reply) {
        if self == Self::Pairs {
            reply.array(2);
        }
        reply.bulk_parts(member.parts());
        if !matches!(self, Self::Members | Self::Set) {
            reply.double(score);
        }
    }
}
