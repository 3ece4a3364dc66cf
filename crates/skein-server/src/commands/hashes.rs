//! Commands on columns, which Redis calls fields of hashes.
//!
//! The columns are in the row of their key, or, if there are many, each one is an entry of its own.
//! The handlers treat both alike, except that long replies from the second kind are written in
//! slices from a view (see `all` and `commands::random_entries`). `random` has HRANDFIELD, `scan`
//! HSCAN.

mod all;
mod random;
mod scan;
pub(crate) mod table;

use std::borrow::Cow;
use std::ops::ControlFlow;

use skein_syntax::number::parse_i64;

use super::command_error::{INFINITE_SUM, NOT_A_FLOAT, NOT_AN_INTEGER};
use super::reply_limit::reply_too_long;
use super::{CommandError, CommandResult, Replied, reply_or_error};
use crate::redis::long_double::LongDouble;
use crate::resp::{Args, Reply};
use skein_data::{ColumnsReader, EngineWriter, Error, RowError, RowView, RowWriter as _, VALUE_BYTES_MAX};

pub(super) use all::ColumnsReply;

/// Approximate bytes of a reply for each column besides its name and value.
const COLUMN_OVERHEAD: usize = 16;

/// Answers from the columns of a row in either form, or from `None` for an absent key. Columns that
/// were removed since the row was read count as absent. Errors for other kinds.
fn columns_of<R>(
    row: Option<RowView>,
    answer: impl FnOnce(Option<&ColumnsReader>) -> CommandResult<R>,
) -> CommandResult<R> {
    let Some(row) = row else { return answer(None) };
    row.columns(|columns| answer(Some(columns).filter(|columns| !columns.is_empty())))?
        .ok_or_else(CommandError::wrong_type)?
}

/// Does the same, with a reply.
fn answer_of<R>(
    row: Option<RowView>,
    reply: &mut Reply,
    answer: impl FnOnce(Option<&ColumnsReader>, &mut Reply) -> CommandResult<R>,
) -> CommandResult<R> {
    columns_of(row, |columns| answer(columns, reply))
}

/// Does the same and writes the error.
fn with_columns(
    row: Option<RowView>,
    reply: &mut Reply,
    answer: impl FnOnce(Option<&ColumnsReader>, &mut Reply),
) {
    reply_or_error(reply, |reply| {
        columns_of(row, |columns| {
            answer(columns, reply);
            Ok(())
        })
    });
}

pub(super) fn hget(row: Option<RowView>, args: &Args, reply: &mut Reply) {
    with_columns(row, reply, |columns, reply| {
        reply.bulk_or_null(columns.and_then(|columns| columns.get(args.get(2))).as_deref());
    });
}

pub(super) fn hexists(row: Option<RowView>, args: &Args, reply: &mut Reply) {
    with_columns(row, reply, |columns, reply| {
        reply.int(columns.is_some_and(|columns| columns.get(args.get(2)).is_some()).into());
    });
}

pub(super) fn hlen(row: Option<RowView>, _: &Args, reply: &mut Reply) {
    with_columns(row, reply, |columns, reply| reply.count(columns.map_or(0, ColumnsReader::len)));
}

pub(super) fn hstrlen(row: Option<RowView>, args: &Args, reply: &mut Reply) {
    with_columns(row, reply, |columns, reply| {
        reply.count(columns.and_then(|columns| columns.get(args.get(2))).map_or(0, |value| value.len()));
    });
}

/// Writes something of each column to a reply that began at `start`. If the reply gets too long, an
/// error replaces it.
fn write_each(
    columns: &ColumnsReader,
    reply: &mut Reply,
    start: usize,
    mut write: impl FnMut(&[u8], &[u8], &mut Reply),
) {
    // The columns of one row are never longer than this.
    let most = VALUE_BYTES_MAX + columns.len().saturating_mul(2 * COLUMN_OVERHEAD);
    let mut fits = true;
    columns.walk(None, |name, value| {
        fits = reply.position() - start + name.len() + value.len() <= most;
        if !fits {
            return ControlFlow::Break(());
        }
        write(name, value, reply);
        ControlFlow::Continue(())
    });
    if !fits {
        reply.truncate(start);
        reply_too_long(VALUE_BYTES_MAX, "ask for single columns, or use HSCAN").write(reply);
    }
}

pub(super) fn hmget(row: Option<RowView>, args: &Args, reply: &mut Reply) {
    reply_or_error(reply, |reply| columns_of(row, |columns| write_named(columns, args.from(2), reply)));
}

/// Writes the named columns as an array, with null for an absent one. A column may be named many
/// times and is written as often, so the total length has a limit: that of a row.
pub(super) fn write_named<'n>(
    columns: Option<&ColumnsReader>,
    names: impl Iterator<Item = &'n [u8]>,
    reply: &mut Reply,
) -> Replied {
    let values: Vec<Option<Cow<'_, [u8]>>> =
        names.map(|name| columns.and_then(|columns| columns.get(name))).collect();
    let bytes: usize = values.iter().flatten().map(|value| value.len()).sum();
    if bytes > VALUE_BYTES_MAX {
        return Err(CommandError::owned(format!(
            "ERR the named columns have {bytes} bytes, more than the limit of {VALUE_BYTES_MAX}; name each column once"
        )));
    }
    reply.array_of(values, |reply, value| reply.bulk_or_null(value.as_deref()));
    Ok(())
}

/// Writes all columns as a map.
pub(super) fn write_columns(columns: &ColumnsReader, reply: &mut Reply) {
    let start = reply.position();
    reply.map(columns.len());
    write_each(columns, reply, start, |name, value, reply| {
        reply.bulk(name);
        reply.bulk(value);
    });
}

/// Sets the columns from argument 2 on. Returns how many are new.
fn set_columns(writer: &mut EngineWriter, args: &Args, command: &str) -> CommandResult<usize> {
    if !args.len().is_multiple_of(2) {
        return Err(CommandError::wrong_arity(command));
    }
    Ok(if args.len() == 4 {
        writer.put_columns(args.get(1), &[(args.get(2), args.get(3))])?
    } else {
        let columns: Vec<(&[u8], &[u8])> =
            (2..args.len()).step_by(2).map(|i| (args.get(i), args.get(i + 1))).collect();
        writer.put_columns(args.get(1), &columns)?
    })
}

pub(super) fn hset(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    reply.count(set_columns(writer, args, "hset")?);
    Ok(())
}

pub(super) fn hmset(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    set_columns(writer, args, "hmset")?;
    reply.ok();
    Ok(())
}

pub(super) fn hset_nx(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let set = writer.update_column(args.get(1), args.get(2), |present| {
        Ok::<_, CommandError>(present.is_none().then(|| args.get(3).to_vec()))
    })?;
    reply.int(set.changed.into());
    Ok(())
}

pub(super) fn hdel(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let names: Vec<&[u8]> = args.from(2).collect();
    reply.count(writer.remove_columns(args.get(1), &names)?);
    Ok(())
}

pub(super) fn hincr_by(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let by = parse_i64(args.get(3)).ok_or(NOT_AN_INTEGER)?;
    let sum = writer.increment_column(args.get(1), args.get(2), by).map_err(|error| match error {
        Error::Rows(RowError::NotAnInteger) => CommandError::text("ERR hash value is not an integer"),
        other => other.into(),
    })?;
    reply.int(sum);
    Ok(())
}

pub(super) fn hincr_by_float(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let by = LongDouble::parse(args.get(3)).ok_or(NOT_A_FLOAT)?;
    if !by.is_finite() {
        return Err(CommandError::text("ERR value is NaN or Infinity"));
    }
    let mut text = Vec::new();
    writer.update_column(args.get(1), args.get(2), |present| {
        let value = present.map_or(Some(LongDouble::ZERO), LongDouble::parse);
        let value = value.ok_or(CommandError::text("ERR hash value is not a float"))?;
        text = value.sum(by).ok_or(INFINITE_SUM)?.to_text().into_bytes();
        Ok::<_, CommandError>(Some(text.clone()))
    })?;
    reply.bulk(&text);
    Ok(())
}
