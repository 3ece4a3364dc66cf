//! Commands that remove members: ZREM, ranges, ZPOPMIN and ZPOPMAX.

use std::ops::{ControlFlow, Range};

use skein_syntax::number::parse_i64;

use super::bounds::{MemberRange, RangeBy};
use super::{MEMBER_OVERHEAD, MemberFormat, check_reply_len};
use crate::commands::command_error::SYNTAX;
use crate::commands::{CommandError, CommandResult, Replied, RequestRun, is};
use crate::resp::{Args, Reply};
use skein_data::{CollectionKind, EngineWriter, Member, RowError, RowWriter as _, ScanDirection, SetWriter};

/// Removes the members that each request names from a set of this kind. Replies how many there
/// were.
pub(crate) fn remove_named(
    writer: &mut EngineWriter,
    kind: CollectionKind,
    run: &RequestRun,
    reply: &mut Reply,
) -> CommandResult<usize> {
    change_named(writer, kind, false, run, reply, |set, member| Ok(set.remove(member)?.is_some()))
}

/// Changes the members that each request names, and replies how many the change has counted. Makes
/// a set if the key is absent and `make` says so.
pub(crate) fn change_named(
    writer: &mut EngineWriter,
    kind: CollectionKind,
    make: bool,
    run: &RequestRun,
    reply: &mut Reply,
    change: impl Fn(&mut SetWriter, &[u8]) -> Result<bool, RowError>,
) -> CommandResult<usize> {
    let counts = writer.change_set_of(kind, run.key, make, |set| {
        set.expect(run.values());
        let counted = |request: &Args<'_>| {
            request.from(2).try_fold(0, |count, member| Ok(count + usize::from(change(set, member)?)))
        };
        run.requests.iter().map(counted).collect::<Result<Vec<usize>, CommandError>>()
    })?;
    let counts = counts.unwrap_or_else(|| vec![0; run.requests.len()]);
    for count in &counts {
        reply.count(*count);
    }
    Ok(counts.len())
}

/// Scores with their members.
pub(crate) type ScoredMembers = Vec<(f64, Vec<u8>)>;

/// Returns the members at these ranks, with their scores.
fn members_at(
    set: &mut SetWriter,
    places: &Range<u64>,
    direction: ScanDirection,
) -> CommandResult<ScoredMembers> {
    let mut left = places.end.saturating_sub(places.start);
    let mut found = Vec::new();
    if left > 0 {
        set.walk(places.start, direction, |score, member| {
            found.push((score, member.to_vec()));
            left -= 1;
            if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
    }
    Ok(found)
}

/// Removes members. Looks up some of them ahead, so that the memory reads overlap.
fn remove_members(set: &mut SetWriter, members: &ScoredMembers) -> CommandResult<()> {
    const AHEAD: usize = 64;
    for some in members.chunks(AHEAD) {
        set.expect(some.iter().map(|(_, member)| &member[..]));
        for (_, member) in some {
            set.remove(member)?;
        }
    }
    Ok(())
}

pub(super) fn remove_range(
    writer: &mut EngineWriter,
    args: &Args,
    reply: &mut Reply,
    by: RangeBy,
) -> Replied {
    let span = MemberRange::parse(by, args.get(2), args.get(3))?;
    let removed = writer.change_set(args.get(1), false, |set| {
        let places = span.places(set)?;
        let count = places.end.saturating_sub(places.start);
        if count == set.len() {
            set.clear();
            return Ok(count);
        }
        let members = members_at(set, &places, ScanDirection::Forward)?;
        remove_members(set, &members)?;
        Ok::<_, CommandError>(count)
    })?;
    reply.places(removed.unwrap_or(0));
    Ok(())
}

/// Parses a number that is not negative.
pub(crate) fn parse_count(text: &[u8]) -> CommandResult<u64> {
    let count = parse_i64(text).filter(|count| *count >= 0);
    let count = count.ok_or(CommandError::text("ERR value is out of range, must be positive"))?;
    Ok(count.unsigned_abs())
}

/// Removes and returns up to `count` members from one end; `None` if there is no set.
pub(super) fn pop(
    writer: &mut EngineWriter,
    key: &[u8],
    direction: ScanDirection,
    count: u64,
) -> CommandResult<Option<ScoredMembers>> {
    writer.change_set(key, false, |set| {
        let first = if direction == ScanDirection::Forward { 0 } else { set.len().saturating_sub(1) };
        let members = members_at(set, &(first..first + count.min(set.len())), direction)?;
        remove_popped(set, &members)?;
        Ok::<_, CommandError>(members)
    })
}

/// Removes members that the reply returns. Errors if they are too long for a reply.
pub(crate) fn remove_popped(set: &mut SetWriter, members: &ScoredMembers) -> CommandResult<()> {
    check_reply_len(members.iter().map(|(_, member)| member.len() + MEMBER_OVERHEAD).sum())?;
    if members.len() as u64 == set.len() {
        set.clear();
        return Ok(());
    }
    remove_members(set, members)
}

/// Writes the removed members.
pub(crate) fn write_popped(members: &[(f64, Vec<u8>)], shape: MemberFormat, reply: &mut Reply) {
    shape.head(members.len(), reply);
    for (score, member) in members {
        shape.member(*score, Member::of(member), reply);
    }
}

pub(super) fn pop_one_end(
    writer: &mut EngineWriter,
    args: &Args,
    reply: &mut Reply,
    direction: ScanDirection,
) -> Replied {
    if args.len() > 3 {
        return Err(SYNTAX);
    }
    let counted = args.len() == 3;
    let count = if counted { parse_count(args.get(2))? } else { 1 };
    let members = pop(writer, args.get(1), direction, count)?.unwrap_or_default();
    let shape = if counted { MemberFormat::of(true, reply) } else { MemberFormat::Flat };
    write_popped(&members, shape, reply);
    Ok(())
}

/// Parses `MIN` or `MAX`.
pub(super) fn parse_end(word: &[u8]) -> CommandResult<ScanDirection> {
    if is(word, "MIN") {
        Ok(ScanDirection::Forward)
    } else if is(word, "MAX") {
        Ok(ScanDirection::Backward)
    } else {
        Err(SYNTAX)
    }
}
