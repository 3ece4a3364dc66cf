//! LPUSH and RPUSH, LPOP and RPOP, and LLEN.

use std::ops::ControlFlow;

use super::with_list;
use crate::commands::sorted_sets::parse_count;
use crate::commands::{CommandError, CommandResult, RequestRun};
use crate::resp::{Args, Reply};
use skein_data::{EngineWriter, ListEnd, ListReader, RowView, RowWriter as _};

/// Pushes the elements of each request, into a list that is made if `make` says so. Replies the
/// length after each.
pub(super) fn push(
    writer: &mut EngineWriter,
    run: &RequestRun,
    reply: &mut Reply,
    end: ListEnd,
    make: bool,
) -> CommandResult<usize> {
    let len = writer.change_list(run.key, make, |list| {
        list.push(end, run.values())?;
        Ok::<_, CommandError>(list.len()?)
    })?;
    let mut before = len.map(|len| len - run.values().count() as u64);
    for request in run.requests {
        before = before.map(|before| before + request.from(2).len() as u64);
        reply.places(before.unwrap_or(0));
    }
    Ok(run.requests.len())
}

/// After so many bytes of elements, the next pops are a change of their own.
const POPPED_BYTES: usize = 64 << 10;

/// Removes up to `count` elements from an end of a list. Returns `None` if there is no list.
pub(super) fn pop_from(
    writer: &mut EngineWriter,
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
pub(super) fn write_popped(popped: &[Vec<u8>], reply: &mut Reply) {
    reply.bulks(popped);
}

/// Pops the element of each request that names no count.
fn pop_each(
    writer: &mut EngineWriter,
    run: &RequestRun,
    reply: &mut Reply,
    end: ListEnd,
) -> CommandResult<usize> {
    let start = reply.position();
    let wanted = run.requests.len();
    let popped = writer.change_list(run.key, false, |list| {
        // Another writer has changed the key, if this runs again.
        reply.truncate(start);
        let mut popped = 0;
        list.pop_until(end, wanted as u64, |element| {
            reply.bulk(element);
            popped += 1;
            let has_room = reply.position() - start < POPPED_BYTES;
            if has_room { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok::<_, CommandError>(popped)
    })?;
    if popped.is_none() {
        // A run of pops was given up, and another writer has removed the key since.
        reply.truncate(start);
    }
    let popped = popped.unwrap_or(0);
    if reply.position() - start >= POPPED_BYTES {
        return Ok(popped);
    }
    (popped..wanted).for_each(|_| reply.null());
    Ok(wanted)
}

pub(super) fn pop(
    writer: &mut EngineWriter,
    run: &RequestRun,
    reply: &mut Reply,
    end: ListEnd,
    name: &str,
) -> CommandResult<usize> {
    let first = &run.requests[0];
    let count = match first.len() {
        2 => return pop_each(writer, &run.first_that(|request| request.len() == 2), reply, end),
        3 => parse_count(first.get(2))?,
        _ => return Err(CommandError::wrong_arity(name)),
    };
    match pop_from(writer, run.key, end, count)? {
        None => reply.null_array(),
        Some(popped) => write_popped(&popped, reply),
    }
    Ok(1)
}

pub(super) fn llen(row: Option<RowView>, _: &Args, reply: &mut Reply) {
    with_list(row, reply, |list, reply| reply.places(list.map_or(0, ListReader::len)));
}
