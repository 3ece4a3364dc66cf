//! Commands on single elements: LINDEX, LSET, LINSERT, LREM.

use super::{index_from_front, parse_integer, with_list};
use crate::commands::command_error::SYNTAX;
use crate::commands::{CommandError, Replied, is};
use crate::resp::{Args, Reply};
use skein_data::{EngineWriter, ListEnd, RowView, RowWriter as _};

const NO_KEY: CommandError = CommandError::text("ERR no such key");
const OUT_OF_RANGE: CommandError = CommandError::text("ERR index out of range");

/// Runs LINDEX. As in Redis, an absent key is looked at before the index.
pub(super) fn lindex(row: Option<RowView>, args: &Args, reply: &mut Reply) {
    with_list(row, reply, |list, reply| {
        let Some(list) = list else { return reply.null() };
        match parse_integer(args.get(2)) {
            Err(fault) => fault.write(reply),
            Ok(index) => {
                let element = index_from_front(index, list.len()).and_then(|index| list.get(index));
                reply.bulk_or_null(element.as_deref());
            }
        }
    });
}

/// Runs LSET. As in Redis, an absent key is looked at before the index.
pub(super) fn lset(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let is_set = writer.change_list(args.get(1), false, |list| {
        let index = parse_integer(args.get(2))?;
        let index = index_from_front(index, list.len()?).ok_or(OUT_OF_RANGE)?;
        Ok::<_, CommandError>(list.set(index, args.get(3))?)
    })?;
    if !is_set.ok_or(NO_KEY)? {
        return Err(OUT_OF_RANGE);
    }
    reply.ok();
    Ok(())
}

pub(super) fn linsert(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let behind = match args.get(2) {
        word if is(word, "BEFORE") => 0,
        word if is(word, "AFTER") => 1,
        _ => return Err(SYNTAX),
    };
    let len = writer.change_list(args.get(1), false, |list| {
        let Some(index) = list.find(args.get(3))? else { return Ok(None) };
        list.insert(index + behind, args.get(4))?;
        Ok::<_, CommandError>(Some(list.len()?))
    })?;
    match len {
        None => reply.int(0),
        Some(None) => reply.int(-1),
        Some(Some(len)) => reply.places(len),
    }
    Ok(())
}

/// Runs LREM. A negative count removes elements from the back; 0 removes all that are equal.
pub(super) fn lrem(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let count = parse_integer(args.get(2))?;
    let end = if count < 0 { ListEnd::Back } else { ListEnd::Front };
    let most = if count == 0 { u64::MAX } else { count.unsigned_abs() };
    let removed = writer.change_list(args.get(1), false, |list| {
        Ok::<_, CommandError>(list.remove_equal(args.get(3), end, most)?)
    })?;
    reply.places(removed.unwrap_or(0));
    Ok(())
}
