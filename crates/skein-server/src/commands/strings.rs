//! Commands on rows of one value.

use skein_disk::DiskError;

use super::fault::{NOT_AN_INTEGER, SYNTAX, WRONG_TYPE};
use super::{Context, Fault, Next, is};
use crate::engine::{Change, Error, RowRef, RowWriter as _, VALUE_BYTES_MAX, Writer};
use crate::resp::number::parse_i64;
use crate::resp::{Args, Reply};

pub(super) fn get(row: Option<RowRef<'_>>, _: &Args<'_>, reply: &mut Reply<'_>) {
    match row.map(RowRef::value) {
        None => reply.null(),
        Some(Some(value)) => reply.bulk(value),
        Some(None) => reply.error(WRONG_TYPE),
    }
}

pub(super) fn strlen(row: Option<RowRef<'_>>, _: &Args<'_>, reply: &mut Reply<'_>) {
    match row.map(RowRef::value) {
        None => reply.int(0),
        Some(Some(value)) => reply.count(value.len()),
        Some(None) => reply.error(WRONG_TYPE),
    }
}

/// The options of SET.
#[derive(Default)]
struct SetOptions<'a> {
    if_absent: bool,
    if_present: bool,
    get: bool,
    /// The option that asks for what is not there yet.
    expiry: Option<&'a [u8]>,
}

impl<'a> SetOptions<'a> {
    fn parse(args: &Args<'a>) -> Result<Self, Fault> {
        let mut options = Self::default();
        let mut rest = args.from(3);
        while let Some(arg) = rest.next() {
            if is(arg, "NX") && !options.if_present {
                options.if_absent = true;
            } else if is(arg, "XX") && !options.if_absent {
                options.if_present = true;
            } else if is(arg, "GET") {
                options.get = true;
            } else if options.expiry.is_none() && is(arg, "KEEPTTL") {
                options.expiry = Some(arg);
            } else if options.expiry.is_none()
                && ["EX", "PX", "EXAT", "PXAT"].iter().any(|word| is(arg, word))
            {
                options.expiry = Some(arg);
                rest.next().ok_or(SYNTAX)?;
            } else {
                return Err(SYNTAX);
            }
        }
        match options.expiry {
            None => Ok(options),
            Some(option) => Err(Fault::owned(format!(
                "ERR keys do not expire in SkeinDB yet, so SET takes no {}; leave it out",
                String::from_utf8_lossy(option).to_ascii_uppercase()
            ))),
        }
    }
}

pub(super) fn set(writer: &mut Writer<'_, '_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Result<(), Fault> {
    let (key, value) = (args.get(1), args.get(2));
    if args.len() == 3 {
        writer.put(key, value)?;
        reply.ok();
        return Ok(());
    }
    let options = SetOptions::parse(args)?;
    let start = reply.position();
    let updated = writer.update(key, |row, rows| {
        reply.truncate(start);
        if options.get {
            get(row, args, reply);
            if row.is_some_and(|row| row.value().is_none()) {
                return Ok::<_, Fault>(Change::Keep);
            }
        }
        let refused = if row.is_some() { options.if_absent } else { options.if_present };
        Ok(if refused { Change::Keep } else { Change::Put(rows.value(&[value])?) })
    })?;
    if !options.get {
        if updated.changed { reply.ok() } else { reply.null() }
    }
    Ok(())
}

pub(super) fn set_nx(
    writer: &mut Writer<'_, '_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Fault> {
    let updated = writer.update(args.get(1), |row, rows| {
        Ok::<_, Fault>(if row.is_some() { Change::Keep } else { Change::Put(rows.value(&[args.get(2)])?) })
    })?;
    reply.int(updated.changed.into());
    Ok(())
}

pub(super) fn get_del(
    writer: &mut Writer<'_, '_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Fault> {
    let start = reply.position();
    writer.update(args.get(1), |row, _| {
        reply.truncate(start);
        get(row, args, reply);
        let removable = row.is_some_and(|row| row.value().is_some());
        Ok::<_, Fault>(if removable { Change::Remove } else { Change::Keep })
    })?;
    Ok(())
}

pub(super) fn append(
    writer: &mut Writer<'_, '_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Fault> {
    let more = args.get(2);
    let mut len = 0;
    writer.update(args.get(1), |row, rows| {
        let value = match row.map(RowRef::value) {
            None => &[][..],
            Some(Some(value)) => value,
            Some(None) => return Err(Fault::wrong_type()),
        };
        len = value.len() + more.len();
        if len > VALUE_BYTES_MAX {
            return Err(Fault::text("ERR string exceeds maximum allowed size (proto-max-bulk-len)"));
        }
        Ok(Change::Put(rows.value(&[value, more])?))
    })?;
    reply.count(len);
    Ok(())
}

fn add(writer: &mut Writer<'_, '_>, key: &[u8], by: i64, reply: &mut Reply<'_>) -> Result<(), Fault> {
    reply.int(writer.increment(key, by)?);
    Ok(())
}

pub(super) fn incr(writer: &mut Writer<'_, '_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Result<(), Fault> {
    add(writer, args.get(1), 1, reply)
}

pub(super) fn decr(writer: &mut Writer<'_, '_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Result<(), Fault> {
    add(writer, args.get(1), -1, reply)
}

pub(super) fn incr_by(
    writer: &mut Writer<'_, '_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Fault> {
    add(writer, args.get(1), parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?, reply)
}

pub(super) fn decr_by(
    writer: &mut Writer<'_, '_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Fault> {
    let by = parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    let by = by.checked_neg().ok_or(Fault::text("ERR decrement would overflow"))?;
    add(writer, args.get(1), by, reply)
}

pub(super) fn mget(context: &mut Context<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Result<Next, Fault> {
    let keys: Vec<&[u8]> = args.from(1).collect();
    let limit = context.shared.options.reply_bytes_max;
    let start = reply.position();
    let mut too_long = false;
    reply.array(keys.len());
    let read = context.session.get_many_atomic(&keys, limit, |_, row| {
        let value = row.and_then(RowRef::value);
        too_long |= reply.position() - start + value.map_or(0, <[u8]>::len) > limit;
        if !too_long {
            reply.bulk_or_null(value);
        }
    });
    match read {
        // The values alone are longer.
        Err(Error::Disk(DiskError::ReadTooLong { .. })) => too_long = true,
        read => read?,
    }
    if too_long {
        return Err(Fault::owned(format!(
            "ERR the reply would be longer than the limit of {limit} bytes; ask for fewer keys or raise the limit"
        )));
    }
    Ok(Next::Done)
}

pub(super) fn mset(context: &mut Context<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Result<Next, Fault> {
    if args.len().is_multiple_of(2) {
        return Err(Fault::wrong_arity("mset"));
    }
    let pairs: Vec<(&[u8], &[u8])> =
        (1..args.len()).step_by(2).map(|i| (args.get(i), args.get(i + 1))).collect();
    context.ticket = context.session.put_all(&pairs).map_err(Fault::from)?;
    reply.ok();
    Ok(Next::Done)
}
