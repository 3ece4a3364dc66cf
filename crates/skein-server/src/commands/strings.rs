//! Commands on rows with a single value. `ranges` has its parts, `bits`, `bit_fields` and
//! `bit_operations` its bits, `lcs` the longest common subsequence of two.

mod bit_fields;
mod bit_operations;
mod bits;
pub(super) mod lcs;
mod ranges;
pub(crate) mod table;

use skein_syntax::number::parse_i64;

use super::command_error::{INFINITE_SUM, NOT_A_FLOAT, NOT_AN_INTEGER, SYNTAX, WRONG_TYPE};
use super::expiry::ExpiryOption;
use super::reply_limit::reply_too_long;
use super::{AfterCommand, CommandContext, CommandError, CommandResult, Replied, is};
use crate::planted_bugs::{self, PlantedBug};
use crate::redis::long_double::LongDouble;
use crate::resp::{Args, Reply};
use skein_data::{
    DiskError, EngineWriter, Error, RowAllocator, RowChange, RowRef, RowView, RowWriter as _, VALUE_BYTES_MAX,
};

use bit_fields::bit_field_key_flags;

const TOO_LONG: CommandError =
    CommandError::text("ERR string exceeds maximum allowed size (proto-max-bulk-len)");

/// Returns the value of a row, if there is a row. Errors if it holds another kind.
pub(super) fn value_of(row: Option<RowRef<'_>>) -> CommandResult<Option<&[u8]>> {
    row.map(|row| row.value().ok_or_else(CommandError::wrong_type)).transpose()
}

pub(super) fn get(row: Option<RowView>, _: &Args, reply: &mut Reply) {
    match row.map(|row| row.value()) {
        None => reply.null(),
        Some(Some(value)) => reply.bulk(value),
        Some(None) => reply.error(WRONG_TYPE),
    }
}

pub(super) fn strlen(row: Option<RowView>, _: &Args, reply: &mut Reply) {
    match row.map(|row| row.value()) {
        None => reply.int(0),
        Some(Some(value)) => reply.count(value.len()),
        Some(None) => reply.error(WRONG_TYPE),
    }
}

/// Returns the use of the key of SET, which reads only with the option GET.
fn set_key_flags(args: &Args<'_>) -> &'static str {
    if args.from(3).any(|word| is(word, "GET")) { "RW access update" } else { "OW update" }
}

/// The options of SET.
#[derive(Default)]
struct SetOptions<'a> {
    if_absent: bool,
    if_present: bool,
    get: bool,
    expiry: ExpiryOption<'a>,
}

impl<'a> SetOptions<'a> {
    fn parse(args: &Args<'a>) -> CommandResult<Self> {
        let mut options = Self::default();
        let mut rest = args.from(3);
        while let Some(arg) = rest.next() {
            if is(arg, "NX") && !options.if_present {
                options.if_absent = true;
            } else if is(arg, "XX") && !options.if_absent {
                options.if_present = true;
            } else if is(arg, "GET") {
                options.get = true;
            } else if is(arg, "PERSIST") || !options.expiry.take(arg, || rest.next()) {
                return Err(SYNTAX);
            }
        }
        Ok(options)
    }
}

pub(super) fn set(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let (key, value) = (args.get(1), args.get(2));
    if args.len() == 3 {
        writer.put(key, value)?;
        reply.ok();
        return Ok(());
    }
    let options = SetOptions::parse(args)?;
    let expires = options.expiry.time("set", writer.now())?;
    let keeps = matches!(options.expiry, ExpiryOption::Keep);
    if !(options.if_absent || options.if_present || options.get || keeps) {
        match expires {
            Some(at) => writer.put_until(key, value, at)?,
            None => writer.put(key, value)?,
        }
        reply.ok();
        return Ok(());
    }
    let start = reply.position();
    let updated = writer.update(key, |row, rows| {
        reply.truncate(start);
        if options.get {
            get(row.map(RowView::from), args, reply);
            if row.is_some_and(|row| row.value().is_none()) {
                return Ok::<_, CommandError>(RowChange::Keep);
            }
        }
        let refused = if row.is_some() { options.if_absent } else { options.if_present };
        let expires = if keeps { row.and_then(skein_data::RowRef::expires_at) } else { expires };
        Ok(if refused { RowChange::Keep } else { RowChange::Put(rows.value_until(&[value], expires)?) })
    })?;
    if !options.get {
        if updated.changed { reply.ok() } else { reply.null() }
    }
    Ok(())
}

pub(super) fn set_nx(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let updated = writer.update(args.get(1), |row, rows| {
        Ok::<_, CommandError>(if row.is_some() {
            RowChange::Keep
        } else {
            RowChange::Put(rows.value(&[args.get(2)])?)
        })
    })?;
    reply.int(updated.changed.into());
    Ok(())
}

pub(super) fn get_del(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let start = reply.position();
    writer.update(args.get(1), |row, _| {
        reply.truncate(start);
        get(row.map(RowView::from), args, reply);
        let removable = row.is_some_and(|row| row.value().is_some());
        Ok::<_, CommandError>(if removable { RowChange::Remove } else { RowChange::Keep })
    })?;
    Ok(())
}

pub(super) fn get_set(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let start = reply.position();
    writer.update(args.get(1), |row, rows| {
        reply.truncate(start);
        let before = value_of(row)?;
        reply.bulk_or_null(before);
        Ok::<_, CommandError>(RowChange::Put(rows.value(&[args.get(2)])?))
    })?;
    Ok(())
}

/// Returns the change to a new value that keeps the expiry time.
pub(super) fn changed(rows: &RowAllocator, row: Option<RowRef>, parts: &[&[u8]]) -> CommandResult<RowChange> {
    Ok(RowChange::Put(rows.value_until(parts, row.and_then(skein_data::RowRef::expires_at))?))
}

pub(super) fn append(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let more = args.get(2);
    let mut len = 0;
    writer.update(args.get(1), |row, rows| {
        let value = value_of(row)?.unwrap_or_default();
        len = value.len() + more.len();
        if len > VALUE_BYTES_MAX {
            return Err(TOO_LONG);
        }
        changed(rows, row, &[value, more])
    })?;
    reply.count(len);
    Ok(())
}

pub(super) fn add(writer: &mut EngineWriter, key: &[u8], by: i64, reply: &mut Reply) -> Replied {
    reply.int(writer.increment(key, by)?);
    Ok(())
}

pub(super) fn incr_by(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    add(writer, args.get(1), parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?, reply)
}

pub(super) fn decr_by(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let by = parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    let by = by.checked_neg().ok_or(CommandError::text("ERR decrement would overflow"))?;
    add(writer, args.get(1), by, reply)
}

pub(super) fn incr_by_float(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let mut text = String::new();
    writer.update(args.get(1), |row, rows| {
        let value = value_of(row)?.map_or(Some(LongDouble::ZERO), LongDouble::parse).ok_or(NOT_A_FLOAT)?;
        let by = LongDouble::parse(args.get(2)).ok_or(NOT_A_FLOAT)?;
        text = value.sum(by).ok_or(INFINITE_SUM)?.to_text();
        changed(rows, row, &[text.as_bytes()])
    })?;
    reply.bulk(text.as_bytes());
    Ok(())
}

pub(super) fn mget(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let keys: Vec<&[u8]> = args.from(1).collect();
    let limit = context.shared.settings.reply_bytes_max.get();
    let start = reply.position();
    let mut too_long = false;
    reply.array(keys.len());
    let lookups = &mut context.client.lookups;
    let read = context.session.get_many_atomic(&keys, limit, |_, row| {
        lookups.note(row.is_some());
        let value = row.and_then(|row| row.value());
        too_long |= reply.position() - start + value.map_or(0, <[u8]>::len) > limit;
        if !too_long {
            reply.bulk_or_null(value);
        }
    });
    match read {
        // The values alone exceed the limit.
        Err(Error::Disk(DiskError::ReadTooLong { .. })) => too_long = true,
        read => read?,
    }
    if too_long {
        return Err(reply_too_long(limit, "ask for fewer keys or raise the limit"));
    }
    Ok(AfterCommand::Done)
}

/// Returns the keys and values of MSET and MSETNX.
pub(super) fn pairs_of<'a>(args: &Args<'a>) -> Vec<(&'a [u8], &'a [u8])> {
    (1..args.len()).step_by(2).map(|i| (args.get(i), args.get(i + 1))).collect()
}

pub(super) fn mset(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    if args.len().is_multiple_of(2) {
        return Err(CommandError::wrong_arity("mset"));
    }
    let pairs = pairs_of(args);
    let together = if planted_bugs::is_on(PlantedBug::SplitMset) { 1 } else { pairs.len() };
    for pairs in pairs.chunks(together) {
        context.ticket = context.session.put_all(pairs).map_err(CommandError::from)?;
    }
    reply.ok();
    Ok(AfterCommand::Done)
}
