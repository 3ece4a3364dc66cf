//! Commands that set and show when keys expire.
//!
//! ```text
//!   EX 10   PX 10000   EXAT 1700000010   PXAT 1700000010000
//!      └──────────┴───────────┴────────────────┴─► milliseconds since 1970, kept in the row
//! ```
//!
//! The current time is the worker's. It does not advance while the worker serves a group of
//! connections, so a command sees a single time.

pub(crate) mod table;

use skein_syntax::number::parse_i64;

use super::command_error::{NOT_AN_INTEGER, SYNTAX};
use super::strings::get;
use super::{AfterCommand, CommandContext, CommandError, CommandResult, Replied, is};
use crate::resp::{Args, Reply};
use skein_data::{EngineWriter, RowChange, RowView, RowWriter as _};

/// The unit and origin of a time in an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeUnit {
    /// Milliseconds of one unit.
    ms: i64,
    /// Counted from now instead of 1970.
    from_now: bool,
}

const EX: TimeUnit = TimeUnit { ms: 1000, from_now: true };
const PX: TimeUnit = TimeUnit { ms: 1, from_now: true };
const EXAT: TimeUnit = TimeUnit { ms: 1000, from_now: false };
const PXAT: TimeUnit = TimeUnit { ms: 1, from_now: false };

impl TimeUnit {
    /// Returns milliseconds since 1970, or `None` on overflow.
    fn to_ms(self, number: i64, now: u64) -> Option<i64> {
        let base = if self.from_now { i64::try_from(now).ok()? } else { 0 };
        number.checked_mul(self.ms)?.checked_add(base)
    }
}

fn bad_time(command: &str) -> CommandError {
    CommandError::owned(format!("ERR invalid expire time in '{command}' command"))
}

/// Parses a time, which must be after 1970.
fn time_of(command: &str, unit: TimeUnit, text: &[u8], now: u64) -> CommandResult<u64> {
    let number = parse_i64(text).ok_or(NOT_AN_INTEGER)?;
    let at = if number > 0 { unit.to_ms(number, now) } else { None };
    at.and_then(|at| u64::try_from(at).ok()).ok_or_else(|| bad_time(command))
}

/// The option of SET and GETEX about the key's expiry.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum ExpiryOption<'a> {
    /// No option.
    #[default]
    Unsaid,
    /// KEEPTTL
    Keep,
    /// PERSIST
    Persist,
    /// At a time.
    At(TimeUnit, &'a [u8]),
}

impl<'a> ExpiryOption<'a> {
    /// Parses an option and its argument. Returns false if it is not about expiry, or is not
    /// compatible with the options before it.
    pub(super) fn take(&mut self, arg: &[u8], mut next: impl FnMut() -> Option<&'a [u8]>) -> bool {
        let unit = [("EX", EX), ("PX", PX), ("EXAT", EXAT), ("PXAT", PXAT)];
        let unit = unit.into_iter().find(|(name, _)| is(arg, name)).map(|(_, unit)| unit);
        match (unit, *self) {
            (Some(unit), Self::Unsaid) => next().is_some_and(|text| self.set(unit, text)),
            // If one unit is given several times, the last one counts.
            (Some(unit), Self::At(before, _)) if unit == before => {
                next().is_some_and(|text| self.set(unit, text))
            }
            (None, Self::Unsaid | Self::Keep) if is(arg, "KEEPTTL") => {
                *self = Self::Keep;
                true
            }
            (None, Self::Unsaid | Self::Persist) if is(arg, "PERSIST") => {
                *self = Self::Persist;
                true
            }
            _ => false,
        }
    }

    fn set(&mut self, unit: TimeUnit, text: &'a [u8]) -> bool {
        *self = Self::At(unit, text);
        true
    }

    /// Returns the time of the option, or `None` if the option has no time.
    pub(super) fn time(self, command: &str, now: u64) -> CommandResult<Option<u64>> {
        match self {
            Self::At(unit, text) => time_of(command, unit, text, now).map(Some),
            Self::Unsaid | Self::Keep | Self::Persist => Ok(None),
        }
    }
}

fn set_until(
    writer: &mut EngineWriter,
    args: &Args,
    reply: &mut Reply,
    command: &str,
    unit: TimeUnit,
) -> Replied {
    let expires = time_of(command, unit, args.get(2), writer.now())?;
    writer.put_until(args.get(1), args.get(3), expires)?;
    reply.ok();
    Ok(())
}

pub(super) fn get_ex(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let mut expiry = ExpiryOption::default();
    let mut rest = args.from(2);
    while let Some(arg) = rest.next() {
        if is(arg, "KEEPTTL") || !expiry.take(arg, || rest.next()) {
            return Err(SYNTAX);
        }
    }
    let (now, start) = (writer.now(), reply.position());
    writer.update(args.get(1), |row, _| {
        reply.truncate(start);
        get(row.map(RowView::from), args, reply);
        if row.is_none_or(|row| row.value().is_none()) {
            return Ok::<_, CommandError>(RowChange::Keep);
        }
        let expires = expiry.time("getex", now)?;
        Ok(match expiry {
            ExpiryOption::At(unit, _) if !unit.from_now && expires.is_some_and(|at| at <= now) => {
                RowChange::Remove
            }
            ExpiryOption::At(..) => RowChange::Expire(expires),
            ExpiryOption::Persist if row.and_then(skein_data::RowRef::expires_at).is_some() => {
                RowChange::Expire(None)
            }
            ExpiryOption::Persist | ExpiryOption::Keep | ExpiryOption::Unsaid => RowChange::Keep,
        })
    })?;
    Ok(())
}

/// The conditions of EXPIRE and its relatives.
#[expect(clippy::struct_excessive_bools, reason = "one for each word")]
#[derive(Default)]
struct ExpireConditions {
    if_none: bool,
    if_some: bool,
    if_greater: bool,
    if_less: bool,
}

impl ExpireConditions {
    fn parse(args: &Args) -> CommandResult<Self> {
        let mut found = Self::default();
        for arg in args.from(3) {
            let known = [
                ("NX", &mut found.if_none),
                ("XX", &mut found.if_some),
                ("GT", &mut found.if_greater),
                ("LT", &mut found.if_less),
            ];
            match known.into_iter().find(|(name, _)| is(arg, name)) {
                Some((_, flag)) => *flag = true,
                None => return Err(CommandError::owned([&b"ERR Unsupported option "[..], arg].concat())),
            }
        }
        if found.if_none && (found.if_some || found.if_greater || found.if_less) {
            return Err(CommandError::text(
                "ERR NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        if found.if_greater && found.if_less {
            return Err(CommandError::text("ERR GT and LT options at the same time are not compatible"));
        }
        Ok(found)
    }

    /// Returns whether a key that expires at `present` (`None`: never) may be set to expire at
    /// `at`.
    fn allow(&self, present: Option<u64>, at: i64) -> bool {
        // A key without expiry counts as later than any time.
        let present = present.map(|present| i64::try_from(present).unwrap_or(i64::MAX));
        !(self.if_none && present.is_some()
            || self.if_some && present.is_none()
            || self.if_greater && present.is_none_or(|present| at <= present)
            || self.if_less && present.is_some_and(|present| at >= present))
    }
}

fn expire_in(
    writer: &mut EngineWriter,
    args: &Args,
    reply: &mut Reply,
    command: &str,
    unit: TimeUnit,
) -> Replied {
    let conditions = ExpireConditions::parse(args)?;
    let now = writer.now();
    let number = parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    let at = unit.to_ms(number, now).ok_or_else(|| bad_time(command))?;
    let mut done = false;
    writer.update(args.get(1), |row, _| {
        done = row.is_some_and(|row| conditions.allow(row.expires_at(), at));
        Ok::<_, CommandError>(match u64::try_from(at) {
            _ if !done => RowChange::Keep,
            Ok(at) if at > now => RowChange::Expire(Some(at)),
            _ => RowChange::Remove,
        })
    })?;
    reply.int(done.into());
    Ok(())
}

pub(super) fn persist(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let updated = writer.update(args.get(1), |row, _| {
        let expires = row.and_then(skein_data::RowRef::expires_at).is_some();
        Ok::<_, CommandError>(if expires { RowChange::Expire(None) } else { RowChange::Keep })
    })?;
    reply.int(updated.changed.into());
    Ok(())
}

/// Converts to seconds, rounded like Redis.
fn seconds(ms: u64) -> u64 {
    ms.saturating_add(500) / 1000
}

/// Replies with `show` of the row's expiry time; -2 without a row, -1 without an expiry time.
fn answer(row: Option<RowView>, reply: &mut Reply, show: impl FnOnce(u64) -> u64) {
    match row.map(|row| row.expires_at()) {
        None => reply.int(-2),
        Some(None) => reply.int(-1),
        Some(Some(at)) => reply.int(i64::try_from(show(at)).unwrap_or(i64::MAX)),
    }
}

fn left(context: &mut CommandContext, args: &Args, reply: &mut Reply, show: fn(u64) -> u64) -> CommandResult {
    let now = context.session.now();
    context.look_up_unused(args.get(1), |row| {
        answer(row?, reply, |at| show(at.saturating_sub(now)));
        Ok::<_, CommandError>(())
    })?;
    Ok(AfterCommand::Done)
}
