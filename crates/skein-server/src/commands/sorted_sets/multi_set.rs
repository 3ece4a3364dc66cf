//! Commands that take several sorted sets.

use skein_syntax::number::parse_i64;

use super::MemberFormat;
use super::remove::{ScoredMembers, parse_end, pop, write_popped};
use crate::commands::command_error::SYNTAX;
use crate::commands::{AfterCommand, CommandContext, CommandError, is};
use crate::resp::{ReplyWriter, RequestArgs};
use skein_data::{CollectionKind, EngineWriter, RowWriter as _};

/// Parses a positive number of keys or members.
pub(in crate::commands) fn parse_positive(text: &[u8], refusal: &'static str) -> Result<u64, CommandError> {
    let number = parse_i64(text).filter(|number| *number > 0).ok_or(CommandError::text(refusal))?;
    Ok(number.unsigned_abs())
}

/// Parses the number of keys in argument `at`. Errors if fewer than `after` arguments follow the
/// keys.
fn parse_keys(args: &RequestArgs<'_>, at: usize, after: usize) -> Result<usize, CommandError> {
    let keys = parse_positive(args.get(at), "ERR numkeys should be greater than 0")?;
    let keys = usize::try_from(keys).unwrap_or(usize::MAX);
    if keys > args.len() - at - 1 || args.len() - at - 1 - keys < after { Err(SYNTAX) } else { Ok(keys) }
}

/// Replaces whatever a key holds by a set of this kind with these members. Without members, removes
/// the key.
pub(super) fn replace_set(
    writer: &mut EngineWriter<'_, '_>,
    kind: CollectionKind,
    key: &[u8],
    entries: &ScoredMembers,
) -> Result<(), CommandError> {
    writer.replace_set_of(kind, key, None, |set| {
        entries.iter().try_for_each(|(score, member)| set.put(member, *score).map(drop))?;
        Ok::<_, CommandError>(())
    })
}

/// Runs ZMPOP: pops from the first set that has members.
pub(in crate::commands) fn zmpop(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    let keys = parse_keys(args, 1, 1)?;
    let end = parse_end(args.get(2 + keys))?;
    let mut rest = args.from(3 + keys);
    let mut count = None;
    while let Some(word) = rest.next() {
        let (true, None, Some(number)) = (is(word, "COUNT"), count, rest.next()) else { return Err(SYNTAX) };
        count = Some(parse_positive(number, "ERR count should be greater than 0")?);
    }
    let keys = args.from(2).take(keys);
    let (popped, ticket) = context.session.write(|writer| {
        for key in keys {
            if let Some(members) = pop(writer, key, end, count.unwrap_or(1))? {
                return Ok::<_, CommandError>(Some((key, members)));
            }
        }
        Ok(None)
    });
    context.ticket = context.ticket.max(ticket);
    match popped?? {
        None => reply.null_array(),
        Some((key, members)) => {
            reply.array(2);
            reply.bulk(key);
            write_popped(&members, MemberFormat::Pairs, reply);
        }
    }
    Ok(AfterCommand::Done)
}
