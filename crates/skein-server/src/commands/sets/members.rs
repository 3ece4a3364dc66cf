//! Commands on single members, and on all of them.

use crate::commands::scan::scan_entries;
use crate::commands::sorted_sets::{
    MemberFormat, MembersReply, answer_of_kind, change_named, with_set_of, write_members,
};
use crate::commands::task::LongReply;
use crate::commands::{AfterCommand, CommandContext, CommandError, CommandResult, Replied, RequestRun};
use crate::resp::{Args, Reply};
use skein_data::{CollectionKind, EngineWriter, RowView, RowWriter as _, SetReader};

/// Up to this number of members are returned at once by SSCAN, like Redis's small sets.
const SCANNED_AT_ONCE: u64 = 512;

pub(super) fn sadd(writer: &mut EngineWriter, run: &RequestRun, reply: &mut Reply) -> CommandResult<usize> {
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method is of one lifetime alone")]
    change_named(writer, CollectionKind::Set, true, run, reply, |set, member| set.add(member))
}

pub(super) fn scard(row: Option<RowView>, _: &Args, reply: &mut Reply) {
    with_set_of(CollectionKind::Set, row, reply, |set, reply| reply.places(set.map_or(0, SetReader::len)));
}

/// Writes whether a member is in the set.
fn write_is_member(set: Option<&SetReader>, member: &[u8], reply: &mut Reply) {
    reply.int(set.is_some_and(|set| set.score(member).is_some()).into());
}

pub(super) fn sis_member(row: Option<RowView>, args: &Args, reply: &mut Reply) {
    with_set_of(CollectionKind::Set, row, reply, |set, reply| write_is_member(set, args.get(2), reply));
}

pub(super) fn smis_member(row: Option<RowView>, args: &Args, reply: &mut Reply) {
    with_set_of(CollectionKind::Set, row, reply, |set, reply| {
        reply.array_of(args.from(2), |reply, member| write_is_member(set, member, reply));
    });
}

/// Runs SMOVE. As in Redis, the type of the second key does not matter if the first key is absent.
pub(super) fn smove(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let (from, to, member) = (args.get(1), args.get(2), args.get(3));
    let moved = context.write(|writer| writer.move_member(CollectionKind::Set, from, to, member));
    reply.int(moved?.into());
    Ok(AfterCommand::Done)
}

pub(super) fn smembers(row: Option<RowView>, _: &Args, reply: &mut Reply, long: &mut LongReply) -> Replied {
    answer_of_kind(CollectionKind::Set, row, reply, |set, reply| {
        match set {
            None => MemberFormat::Set.head(0, reply),
            Some(set) if MembersReply::is_long(set) => {
                long.begin(reply, || MembersReply::all(set, MemberFormat::Set));
            }
            Some(set) => write_members(set, MemberFormat::Set, reply),
        }
        Ok(())
    })
}

/// Runs SSCAN. The pages are ordered by the members' bytes.
pub(super) fn sscan(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    scan_entries(context, args, reply, |row, scan| {
        row.set_of(CollectionKind::Set, |set| {
            let (mut page, after) = scan.page(set.len() <= SCANNED_AT_ONCE)?;
            set.members_after(after.as_deref(), |member, _| page.take_name(member));
            page.finish()
        })?
        .ok_or_else(CommandError::wrong_type)?
    })
}
