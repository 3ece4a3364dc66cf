//! Commands on rows of columns, which Redis calls hashes and fields.

use super::Fault;
use super::fault::{NOT_AN_INTEGER, WRONG_TYPE};
use crate::engine::{Error, RowError, RowRef, RowWriter as _, VALUE_BYTES_MAX, Writer};
use crate::resp::number::parse_i64;
use crate::resp::{Args, Reply};

/// The row as one of columns; `Err` if it holds a value.
fn columns_of(row: Option<RowRef<'_>>) -> Result<Option<RowRef<'_>>, ()> {
    match row {
        Some(row) if !row.has_columns() => Err(()),
        _ => Ok(row),
    }
}

/// Answers from a row of columns or from none, and with WRONGTYPE from one with a value.
fn with_columns<'r>(
    row: Option<RowRef<'r>>,
    reply: &mut Reply<'_>,
    answer: impl FnOnce(Option<RowRef<'r>>, &mut Reply<'_>),
) {
    match columns_of(row) {
        Ok(row) => answer(row, reply),
        Err(()) => reply.error(WRONG_TYPE),
    }
}

pub(super) fn hget(row: Option<RowRef<'_>>, args: &Args<'_>, reply: &mut Reply<'_>) {
    with_columns(row, reply, |row, reply| reply.bulk_or_null(row.and_then(|row| row.column(args.get(2)))));
}

pub(super) fn hexists(row: Option<RowRef<'_>>, args: &Args<'_>, reply: &mut Reply<'_>) {
    with_columns(row, reply, |row, reply| {
        reply.int(row.is_some_and(|row| row.column(args.get(2)).is_some()).into());
    });
}

pub(super) fn hlen(row: Option<RowRef<'_>>, _: &Args<'_>, reply: &mut Reply<'_>) {
    with_columns(row, reply, |row, reply| reply.count(row.map_or(0, RowRef::column_count)));
}

pub(super) fn hmget(row: Option<RowRef<'_>>, args: &Args<'_>, reply: &mut Reply<'_>) {
    with_columns(row, reply, |row, reply| {
        if let Err(fault) = write_named(row, args.from(2), reply) {
            fault.write(reply);
        }
    });
}

/// The columns of these names as an array, null where there is none. One that is named many times is written many times,
/// so their length has a bound: that of a row.
pub(super) fn write_named<'n>(
    row: Option<RowRef<'_>>,
    names: impl Iterator<Item = &'n [u8]>,
    reply: &mut Reply<'_>,
) -> Result<(), Fault> {
    let values: Vec<Option<&[u8]>> = names.map(|name| row.and_then(|row| row.column(name))).collect();
    let bytes: usize = values.iter().flatten().map(|value| value.len()).sum();
    if bytes > VALUE_BYTES_MAX {
        return Err(Fault::owned(format!(
            "ERR the columns that are named have {bytes} bytes, more than the {VALUE_BYTES_MAX} of a whole row; name each once"
        )));
    }
    reply.array(values.len());
    for value in values {
        reply.bulk_or_null(value);
    }
    Ok(())
}

pub(super) fn hgetall(row: Option<RowRef<'_>>, _: &Args<'_>, reply: &mut Reply<'_>) {
    with_columns(row, reply, |row, reply| match row {
        Some(row) => write_columns(row, reply),
        None => reply.map(0),
    });
}

/// All columns of a row, as a map.
pub(super) fn write_columns(row: RowRef<'_>, reply: &mut Reply<'_>) {
    reply.map(row.column_count());
    for (name, value) in row.columns() {
        reply.bulk(name);
        reply.bulk(value);
    }
}

pub(super) fn hset(writer: &mut Writer<'_, '_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Result<(), Fault> {
    if !args.len().is_multiple_of(2) {
        return Err(Fault::wrong_arity("hset"));
    }
    let new = if args.len() == 4 {
        writer.put_columns(args.get(1), &[(args.get(2), args.get(3))])?
    } else {
        let columns: Vec<(&[u8], &[u8])> =
            (2..args.len()).step_by(2).map(|i| (args.get(i), args.get(i + 1))).collect();
        writer.put_columns(args.get(1), &columns)?
    };
    reply.count(new);
    Ok(())
}

pub(super) fn hdel(writer: &mut Writer<'_, '_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Result<(), Fault> {
    let names: Vec<&[u8]> = args.from(2).collect();
    reply.count(writer.remove_columns(args.get(1), &names)?);
    Ok(())
}

pub(super) fn hincr_by(
    writer: &mut Writer<'_, '_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Fault> {
    let by = parse_i64(args.get(3)).ok_or(NOT_AN_INTEGER)?;
    let sum = writer.increment_column(args.get(1), args.get(2), by).map_err(|error| match error {
        Error::Rows(RowError::NotAnInteger) => Fault::text("ERR hash value is not an integer"),
        other => other.into(),
    })?;
    reply.int(sum);
    Ok(())
}
