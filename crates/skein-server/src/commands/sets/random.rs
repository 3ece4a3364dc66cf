//! SPOP and SRANDMEMBER. Both draw ranks, so that all members are equally likely.

use std::ops::ControlFlow;

use crate::commands::command_error::SYNTAX;
use crate::commands::random_entries::{RandomEntryKind, RandomQuery, draw};
use crate::commands::sorted_sets::{
    MemberFormat, ScoredMembers, answer_of_kind, parse_count, remove_popped, write_popped,
};
use crate::commands::task::LongReply;
use crate::commands::{CommandError, CommandResult, Replied};
use crate::redis::random::CommandRng;
use crate::resp::{Args, Reply};
use skein_data::{CollectionKind, EngineWriter, RowView, RowWriter as _, ScanDirection, SetWriter};

pub(super) fn srand_member(
    row: Option<RowView>,
    args: &Args,
    reply: &mut Reply,
    long: &mut LongReply,
) -> Replied {
    let asked = RandomQuery::parse(RandomEntryKind::Members, args)?;
    answer_of_kind(CollectionKind::Set, row, reply, |set, reply| draw(set, asked, reply, long))
}

pub(super) fn spop(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    if args.len() > 3 {
        return Err(SYNTAX);
    }
    let counted = args.len() == 3;
    let count = if counted { parse_count(args.get(2))? } else { 1 };
    let popped = writer.change_set_of(CollectionKind::Set, args.get(1), false, |set| {
        let members = random_members(set, count)?;
        remove_popped(set, &members)?;
        Ok::<_, CommandError>(members)
    })?;
    let members = popped.unwrap_or_default();
    if counted {
        write_popped(&members, MemberFormat::Set, reply);
    } else {
        reply.bulk_or_null(members.first().map(|(_, member)| &member[..]));
    }
    Ok(())
}

/// A walk passes a member in about this part of the time of a search by rank.
const PASSED_PER_SEARCH: u64 = 16;

/// Returns up to `count` different members, in order.
fn random_members(set: &mut SetWriter, count: u64) -> CommandResult<ScoredMembers> {
    let len = set.len();
    let count = count.min(len);
    if count * PASSED_PER_SEARCH >= len {
        return draw_walking(set, count);
    }
    let mut members = ScoredMembers::with_capacity(count as usize);
    for rank in CommandRng::new().choose(count as usize, len as usize) {
        set.walk(rank as u64, ScanDirection::Forward, |score, member| {
            members.push((score, member.to_vec()));
            ControlFlow::Break(())
        })?;
    }
    Ok(members)
}

/// Does the same by one walk over the set, which takes or passes each member.
fn draw_walking(set: &mut SetWriter, count: u64) -> CommandResult<ScoredMembers> {
    let (mut random, mut left, mut wanted) = (CommandRng::new(), set.len() as usize, count as usize);
    let mut members = ScoredMembers::with_capacity(wanted);
    if wanted == 0 {
        return Ok(members);
    }
    set.walk(0, ScanDirection::Forward, |score, member| {
        if random.below(left.max(1)) < wanted {
            members.push((score, member.to_vec()));
            wanted -= 1;
        }
        left = left.saturating_sub(1);
        if wanted == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(members)
}
