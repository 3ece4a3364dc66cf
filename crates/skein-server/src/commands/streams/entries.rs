//! XLEN, XDEL and XSETID.

use super::ids::{parse_id, parse_ids};
use super::with_stream;
use crate::commands::command_error::{NOT_AN_INTEGER, SYNTAX};
use crate::commands::{CommandError, CommandResult, Replied, is};
use crate::resp::{Args, Reply};
use skein_data::{EngineWriter, RowView, ScanDirection, StreamId};
use skein_syntax::number::parse_i64;

const NO_SUCH_KEY: CommandError = CommandError::text("ERR no such key");

pub(super) fn xlen(row: Option<RowView>, _: &Args, reply: &mut Reply) {
    with_stream(row, reply, |stream, reply| reply.places(stream.map_or(0, |stream| stream.len())));
}

pub(super) fn xdel(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let removed = writer.change_stream(args.get(1), false, |stream| {
        let mut removed = 0;
        // All are read first: a bad one leaves the others.
        for id in parse_ids(args.from(2))? {
            removed += u64::from(stream.remove(id)?);
        }
        Ok::<_, CommandError>(removed)
    })?;
    reply.places(removed.unwrap_or(0));
    Ok(())
}

/// A request of XSETID.
struct SetIdQuery {
    last_id: StreamId,
    added: Option<u64>,
    max_deleted: Option<StreamId>,
}

impl SetIdQuery {
    fn parse(args: &Args) -> CommandResult<Self> {
        let mut query = Self { last_id: parse_id(args.get(2))?, added: None, max_deleted: None };
        let mut rest = args.from(3);
        while let Some(word) = rest.next() {
            match rest.next() {
                Some(value) if is(word, "ENTRIESADDED") => {
                    let added = parse_i64(value).ok_or(NOT_AN_INTEGER)?;
                    let negative = CommandError::text("ERR entries_added must be positive");
                    query.added = Some(u64::try_from(added).map_err(|_| negative)?);
                }
                Some(value) if is(word, "MAXDELETEDID") => {
                    let id = parse_id(value)?;
                    if query.last_id < id {
                        return Err(CommandError::text(
                            "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id",
                        ));
                    }
                    query.max_deleted = Some(id).filter(|id| *id != StreamId::MIN);
                }
                _ => return Err(SYNTAX),
            }
        }
        Ok(query)
    }
}

pub(super) fn xsetid(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let query = SetIdQuery::parse(args)?;
    let set = writer.change_stream(args.get(1), false, |stream| {
        if stream.edge(ScanDirection::Backward)?.is_some_and(|last| query.last_id < last) {
            return Err(CommandError::text(
                "ERR The ID specified in XSETID is smaller than the target stream top item",
            ));
        }
        if query.added.is_some_and(|added| stream.len() > added) {
            return Err(CommandError::text(
                "ERR The entries_added specified in XSETID is smaller than the target stream length",
            ));
        }
        stream.set_head(query.last_id, query.added, query.max_deleted);
        Ok(())
    })?;
    set.ok_or(NO_SUCH_KEY)?;
    reply.ok();
    Ok(())
}
