//! LPUSH and RPUSH, LPOP and RPOP, and LLEN.

use super::with_list;
use crate::commands::CommandError;
use crate::commands::sorted_sets::parse_count;
use crate::resp::{ReplyWriter, RequestArgs};
use skein_data::{EngineWriter, ListEnd, ListReader, RowView, RowWriter as _};

/// Pushes the elements from argument 2 on, into a list that may have to `exist`.
fn push(
    writer: &mut EngineWriter<'_, '_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
    end: ListEnd,
    make: bool,
) -> Result<(), CommandError> {
    let len = writer.change_list(args.get(1), make, |list| {
        list.push(end, args.from(2))?;
        Ok::<_, CommandError>(list.len()?)
    })?;
    reply.places(len.unwrap_or(0));
    Ok(())
}

pub(in crate::commands) fn lpush(
    writer: &mut EngineWriter<'_, '_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<(), CommandError> {
    push(writer, args, reply, ListEnd::Front, true)
}

pub(in crate::commands) fn rpush(
    writer: &mut EngineWriter<'_, '_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<(), CommandError> {
    push(writer, args, reply, ListEnd::Back, true)
}

pub(in crate::commands) fn lpushx(
    writer: &mut EngineWriter<'_, '_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<(), CommandError> {
    push(writer, args, reply, ListEnd::Front, false)
}

pub(in crate::commands) fn rpushx(
    writer: &mut EngineWriter<'_, '_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<(), CommandError> {
    push(writer, args, reply, ListEnd::Back, false)
}

/// Removes up to `count` elements from an end of a list. Returns `None` if there is no list.
pub(super) fn pop_from(
    writer: &mut EngineWriter<'_, '_>,
    key: &[u8],
    end: ListEnd,
    count: u64,
) -> Result<Option<Vec<Vec<u8>>>, CommandError> {
    writer.change_list(key, false, |list| {
        let mut popped = Vec::new();
        list.pop(end, count, |element| popped.push(element.to_vec()))?;
        Ok::<_, CommandError>(popped)
    })
}

/// Writes the popped elements as an array.
pub(super) fn write_popped(popped: &[Vec<u8>], reply: &mut ReplyWriter<'_>) {
    reply.array(popped.len());
    for element in popped {
        reply.bulk(element);
    }
}

fn pop(
    writer: &mut EngineWriter<'_, '_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
    end: ListEnd,
    name: &str,
) -> Result<(), CommandError> {
    let count = match args.len() {
        2 => None,
        3 => Some(parse_count(args.get(2))?),
        _ => return Err(CommandError::wrong_arity(name)),
    };
    let popped = pop_from(writer, args.get(1), end, count.unwrap_or(1))?;
    match (popped, count) {
        (None, None) => reply.null(),
        (None, Some(_)) => reply.null_array(),
        (Some(popped), None) => reply.bulk_or_null(popped.first().map(Vec::as_slice)),
        (Some(popped), Some(_)) => write_popped(&popped, reply),
    }
    Ok(())
}

pub(in crate::commands) fn lpop(
    writer: &mut EngineWriter<'_, '_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<(), CommandError> {
    pop(writer, args, reply, ListEnd::Front, "lpop")
}

pub(in crate::commands) fn rpop(
    writer: &mut EngineWriter<'_, '_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<(), CommandError> {
    pop(writer, args, reply, ListEnd::Back, "rpop")
}

pub(in crate::commands) fn llen(row: Option<RowView<'_>>, _: &RequestArgs<'_>, reply: &mut ReplyWriter<'_>) {
    with_list(row, reply, |list, reply| {
        reply.places(list.map_or(0, ListReader::len));
        Ok(())
    });
}
