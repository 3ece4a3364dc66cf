//! ZMPOP: pops from the first of several sorted sets that has members.

use super::MemberFormat;
use super::remove::{ScoredMembers, pop, write_popped};
use crate::commands::multi_pop::MultiPop;
use crate::commands::{CommandError, CommandResult};
use crate::resp::Reply;
use skein_data::{CollectionKind, EngineWriter, RowWriter as _, ScanDirection, name_within};

/// Replaces whatever a key holds by a set of this kind with these members. Without members, removes
/// the key.
pub(super) fn replace_set(
    writer: &mut EngineWriter,
    kind: CollectionKind,
    key: &[u8],
    entries: &ScoredMembers,
) -> CommandResult<()> {
    writer.replace_set_of(kind, key, None, |set| {
        entries.iter().try_for_each(|(score, member)| set.put(member, *score).map(drop))?;
        Ok::<_, CommandError>(())
    })
}

/// Pops from a key, and replies with the key and the members. Returns whether there were any.
pub(super) fn pop_several(
    writer: &mut EngineWriter,
    asked: &MultiPop<ScanDirection>,
    key: &[u8],
    reply: &mut Reply,
) -> CommandResult<bool> {
    let Some(members) = pop(writer, key, asked.end, asked.most)? else { return Ok(false) };
    reply.array(2);
    reply.bulk(name_within(key));
    write_popped(&members, MemberFormat::Pairs, reply);
    Ok(true)
}
