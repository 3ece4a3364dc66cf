//! Parts of values: GETRANGE (and SUBSTR, its older name), SETRANGE.

use skein_syntax::number::parse_i64;

use super::{TOO_LONG, changed, value_of};
use crate::commands::command_error::NOT_AN_INTEGER;
use crate::commands::{CommandError, CommandResult, Replied};
use crate::resp::{Args, Reply};
use skein_data::{EngineWriter, RowChange, RowView, RowWriter as _, VALUE_BYTES_MAX};

/// Parses two consecutive integers.
pub(super) fn parse_pair(args: &Args, first: usize) -> CommandResult<(i64, i64)> {
    let parse = |at| parse_i64(args.get(at)).ok_or(NOT_AN_INTEGER);
    Ok((parse(first)?, parse(first + 1)?))
}

/// Returns the first and last position of a range within `total` positions; `None` if it is empty.
/// Negative ends count from the end.
pub(super) fn clamp(start: i64, end: i64, total: usize) -> Option<(usize, usize)> {
    let total = i64::try_from(total).unwrap_or(i64::MAX);
    let place = |at: i64| if at < 0 { (total + at).max(0) } else { at };
    let (start, end) = (place(start), place(end).min(total - 1));
    (start <= end).then_some((usize::try_from(start).ok()?, usize::try_from(end).ok()?))
}

/// Returns whether both ends count from the end and are crossed. Such a range is always empty, even
/// where [`clamp`] would return the first position.
pub(super) fn is_crossed(start: i64, end: i64) -> bool {
    start < 0 && end < 0 && start > end
}

pub(super) fn get_range(row: Option<RowView>, args: &Args, reply: &mut Reply) {
    let read = || {
        let (start, end) = parse_pair(args, 2)?;
        let value = value_of(row.map(RowView::row))?.unwrap_or_default();
        let part = if is_crossed(start, end) { None } else { clamp(start, end, value.len()) };
        Ok::<_, CommandError>(part.map_or(&[][..], |(first, last)| &value[first..=last]))
    };
    match read() {
        Ok(part) => reply.bulk(part),
        Err(fault) => fault.write(reply),
    }
}

pub(super) fn set_range(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let offset = parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    let offset = usize::try_from(offset).map_err(|_| CommandError::text("ERR offset is out of range"))?;
    let part = args.get(3);
    let mut len = 0;
    writer.update(args.get(1), |row, rows| {
        let value = value_of(row)?.unwrap_or_default();
        len = value.len();
        if part.is_empty() {
            return Ok(RowChange::Keep);
        }
        let end = offset.checked_add(part.len()).filter(|end| *end <= VALUE_BYTES_MAX).ok_or(TOO_LONG)?;
        len = len.max(end);
        let gap = vec![0; offset.saturating_sub(value.len())];
        let (before, after) = (&value[..offset.min(value.len())], &value[end.min(value.len())..]);
        changed(rows, row, &[before, &gap, part, after])
    })?;
    reply.count(len);
    Ok(())
}
