//! GEOSEARCH and its relatives, by how they run. Those that only read run in a batch of reads.
//! Requests that may store their result run alone.

use std::ops::{ControlFlow, Range};

use super::query::{AreaSyntax, GeoQuery, SearchSyntax, StoreSyntax};
use super::search::MemberSearch;
use super::search_task::GeoSearchTask;
use crate::commands::sorted_sets::{ScoredMembers, answer_of_kind, put_found};
use crate::commands::task::{AT_ONCE, LongReply};
use crate::commands::{AfterCommand, CommandContext, CommandResult, Replied, is};
use crate::resp::{Args, Reply};
use skein_data::{CollectionKind, RowView, ScanDirection, SetReader};

/// Looks at the members of all ranges at once.
fn search_all(search: &mut MemberSearch, set: &SetReader, ranges: &[Range<u64>]) {
    let mut enough = ControlFlow::Continue(());
    for Range { start, end } in ranges {
        let mut left = end.saturating_sub(*start);
        set.walk(*start, ScanDirection::Forward, |score, member| {
            left -= 1;
            enough = search.look(score, member);
            if left == 0 { ControlFlow::Break(()) } else { enough }
        });
        if enough.is_break() {
            return;
        }
    }
}

/// Replies with the members that a query finds.
fn reply_with(query: &GeoQuery<'_>, set: Option<&SetReader>, reply: &mut Reply, long: &mut LongReply) {
    let Some((set, area)) = set.zip(query.area) else { return reply.array(0) };
    let mut search = MemberSearch::new(query, area);
    let ranges = search.ranges(set);
    if ranges.iter().map(|range| range.end - range.start).sum::<u64>() > AT_ONCE as u64 {
        return long.begin(reply, || Some(GeoSearchTask::new(search, set, &ranges)));
    }
    search_all(&mut search, set, &ranges);
    reply.array(search.len());
    while search.write_next(reply) {}
}

/// Returns the members that a query finds, with the scores that are stored.
fn found_by(query: &GeoQuery<'_>, set: Option<&SetReader>, distances: bool) -> ScoredMembers {
    let Some((set, area)) = set.zip(query.area) else { return ScoredMembers::new() };
    let mut search = MemberSearch::new(query, area);
    let ranges = search.ranges(set);
    search_all(&mut search, set, &ranges);
    search.into_stored(distances)
}

/// Replies to a command that only reads.
pub(super) fn answer(
    row: Option<RowView>,
    args: &Args,
    reply: &mut Reply,
    area: AreaSyntax,
    long: &mut LongReply,
) -> Replied {
    answer_of_kind(CollectionKind::SortedSet, row, reply, |set, reply| {
        let query = GeoQuery::parse(args, SearchSyntax { area, store: StoreSyntax::Never }, set)?;
        reply_with(&query, set, reply, long);
        Ok(())
    })
}

/// Returns whether a request of GEORADIUS or GEORADIUSBYMEMBER may have an option that stores.
pub(crate) fn may_store(args: &Args) -> bool {
    args.from(5).any(|word| is(word, "STORE") || is(word, "STOREDIST"))
}

/// Runs a command that may store its result. REQUIRES: if it stores, no other worker runs a
/// command.
pub(super) fn run(
    context: &mut CommandContext,
    args: &Args,
    reply: &mut Reply,
    area: AreaSyntax,
    store: StoreSyntax,
) -> CommandResult {
    let syntax = SearchSyntax { area, store };
    let mut long = LongReply::Slices(None);
    let stored = context.look_up(args.get(syntax.source()), |row| {
        answer_of_kind(CollectionKind::SortedSet, row?, reply, |set, reply| {
            let query = GeoQuery::parse(args, syntax, set)?;
            let Some(store) = query.store else {
                reply_with(&query, set, reply, &mut long);
                return Ok(None);
            };
            Ok(Some((store.key, found_by(&query, set, store.distances))))
        })
    })?;
    match (stored, long) {
        (Some((key, found)), _) => put_found(context, CollectionKind::SortedSet, key, &found, reply),
        (None, LongReply::Slices(Some(task))) => Ok(AfterCommand::Slices(task)),
        (None, _) => Ok(AfterCommand::Done),
    }
}
