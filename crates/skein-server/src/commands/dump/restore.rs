//! RESTORE. The checks have the order of Redis.

use std::time::Duration;

use super::restored_value::RestoredValue;
use crate::commands::command_error::{NOT_AN_INTEGER, SYNTAX};
use crate::commands::{AfterCommand, CommandContext, CommandError, CommandResult, is};
use crate::resp::{Args, Reply};
use crate::scripting::functions::DAMAGED;
use skein_rdb::payload;
use skein_syntax::number::parse_i64;

const BUSY: CommandError = CommandError::text("BUSYKEY Target key name already exists.");
const BAD_TIME: CommandError = CommandError::text("ERR Invalid TTL value, must be >= 0");
const BAD_IDLE_TIME: CommandError = CommandError::text("ERR Invalid IDLETIME value, must be >= 0");
const BAD_FREQUENCY: CommandError = CommandError::text("ERR Invalid FREQ value, must be >= 0 and <= 255");

/// The use of the key at its origin. As in Redis, only the value that the eviction policy needs
/// counts.
#[derive(Clone, Copy)]
enum KeyUse {
    IdleFor(Duration),
    Frequency(u8),
}

/// The options of a request.
#[derive(Default)]
struct RestoreOptions {
    replace: bool,
    used: Option<KeyUse>,
    /// The time is one since 1970, not from now.
    absolute: bool,
}

impl RestoreOptions {
    fn parse(args: &Args) -> CommandResult<Self> {
        let mut options = Self::default();
        let mut rest = args.from(4);
        while let Some(word) = rest.next() {
            if is(word, "REPLACE") {
                options.replace = true;
            } else if is(word, "ABSTTL") {
                options.absolute = true;
            } else if is(word, "IDLETIME") && !matches!(options.used, Some(KeyUse::Frequency(_))) {
                let seconds = parse_i64(rest.next().ok_or(SYNTAX)?).ok_or(NOT_AN_INTEGER)?;
                let seconds = u64::try_from(seconds).map_err(|_| BAD_IDLE_TIME)?;
                options.used = Some(KeyUse::IdleFor(Duration::from_secs(seconds)));
            } else if is(word, "FREQ") && !matches!(options.used, Some(KeyUse::IdleFor(_))) {
                let count = parse_i64(rest.next().ok_or(SYNTAX)?).ok_or(NOT_AN_INTEGER)?;
                options.used = Some(KeyUse::Frequency(u8::try_from(count).map_err(|_| BAD_FREQUENCY)?));
            } else {
                return Err(SYNTAX);
            }
        }
        Ok(options)
    }
}

/// Returns the time when the key expires, in milliseconds since 1970.
fn expiry_of(text: &[u8], options: &RestoreOptions, now: u64) -> CommandResult<Option<i64>> {
    let time = parse_i64(text).ok_or(NOT_AN_INTEGER)?;
    match time {
        ..0 => Err(BAD_TIME),
        0 => Ok(None),
        _ if options.absolute => Ok(Some(time)),
        // As in Redis, a sum that is too large is a time in the past.
        _ => Ok(Some(time.wrapping_add(now.cast_signed()))),
    }
}

/// Runs RESTORE and RESTORE-ASKING.
pub(crate) fn restore(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let options = RestoreOptions::parse(args)?;
    let key = args.get(1);
    let is_present = context.session.get_with(key, |row| row.map(|row| row.is_some()))?;
    if is_present && !options.replace {
        return Err(BUSY);
    }
    let now = context.session.now();
    let expires = expiry_of(args.get(2), &options, now)?;
    let (version, body) = payload::open(args.get(3)).ok_or(DAMAGED)?;
    if !payload::is_read(version) {
        return Err(DAMAGED);
    }
    let value = RestoredValue::read(version, body)?;
    let expires = expires.map(|at| u64::try_from(at).unwrap_or(0));
    context.write(|writer| {
        if expires.is_some_and(|at| at <= now) {
            writer.remove(key)?;
            return Ok(());
        }
        value.write(writer, key, expires)
    })?;
    match options.used {
        Some(KeyUse::IdleFor(idle)) => context.shared.data.store.set_idle_time(key, idle),
        Some(KeyUse::Frequency(count)) => context.shared.data.store.set_frequency(key, count),
        None => {}
    }
    reply.ok();
    Ok(AfterCommand::Done)
}
