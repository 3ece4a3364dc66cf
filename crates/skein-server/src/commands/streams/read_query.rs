//! Requests of XREAD and XREADGROUP.

use std::ops::Range;
use std::time::Duration;

use super::ranges::parse_count;
use crate::command_table::Flag;
use crate::commands::blocking::BlockingQuery;
use crate::commands::command_error::SYNTAX;
use crate::commands::{Command, CommandError, CommandResult, QUOTED_BYTES_MAX, is, quoted};
use crate::resp::Args;
use skein_syntax::number::parse_i64;

const UNBALANCED: CommandError = CommandError::text(
    "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.",
);
const NO_GROUP_OPTION: CommandError = CommandError::text("ERR Missing GROUP option for XREADGROUP");
const BAD_TIMEOUT: CommandError = CommandError::text("ERR timeout is not an integer or out of range");
const NEGATIVE_TIMEOUT: CommandError = CommandError::text("ERR timeout is negative");

/// The most entries for a client that has waited, unless COUNT says otherwise.
const MOST_AFTER_WAIT: u64 = 1000;

/// The group and the consumer that a client reads for.
#[derive(Clone, Copy)]
pub(super) struct ReadFor<'a> {
    pub group: &'a [u8],
    pub consumer: &'a [u8],
    /// Whether entries count as acknowledged at once.
    pub is_acknowledged: bool,
}

/// A request of XREAD or XREADGROUP.
pub(super) struct ReadQuery<'a> {
    /// The arguments that are keys. The ids follow, as many.
    pub keys: Range<usize>,
    /// The most entries of each stream; `None` for all.
    pub most: Option<u64>,
    /// Whether the client waits if nothing is there to read.
    waits: bool,
    /// The longest wait; `None` for ever.
    timeout: Option<Duration>,
    /// `None` in XREAD.
    pub read_for: Option<ReadFor<'a>>,
}

impl<'a> ReadQuery<'a> {
    /// Reads a request of XREAD.
    pub(super) fn parse(args: &Args<'a>) -> CommandResult<Self> {
        Self::parse_either(args, false)
    }

    /// Reads a request of XREADGROUP. Also returns the group and the consumer that read.
    pub(super) fn parse_of_group(args: &Args<'a>) -> CommandResult<(Self, ReadFor<'a>)> {
        let query = Self::parse_either(args, true)?;
        let read_for = query.read_for.ok_or(NO_GROUP_OPTION)?;
        Ok((query, read_for))
    }

    fn parse_either(args: &Args<'a>, of_group: bool) -> CommandResult<Self> {
        let mut query = Self { keys: 0..0, most: None, waits: false, timeout: None, read_for: None };
        let (mut at, mut is_acknowledged) = (1, false);
        while at < args.len() {
            let (word, more) = (args.get(at), args.len() - 1 - at);
            if is(word, "BLOCK") && more > 0 {
                query.timeout = parse_milliseconds(args.get(at + 1))?;
                query.waits = true;
                at += 2;
            } else if is(word, "COUNT") && more > 0 {
                query.most = Some(parse_count(args.get(at + 1))?).filter(|most| *most > 0);
                at += 2;
            } else if is(word, "STREAMS") && more > 0 {
                if more % 2 == 1 {
                    return Err(UNBALANCED);
                }
                query.keys = at + 1..at + 1 + more / 2;
                break;
            } else if is(word, "GROUP") && more >= 2 {
                if !of_group {
                    return Err(only_for_groups("GROUP"));
                }
                let (group, consumer) = (args.get(at + 1), args.get(at + 2));
                query.read_for = Some(ReadFor { group, consumer, is_acknowledged: false });
                at += 3;
            } else if is(word, "NOACK") {
                if !of_group {
                    return Err(only_for_groups("NOACK"));
                }
                is_acknowledged = true;
                at += 1;
            } else {
                return Err(SYNTAX);
            }
        }
        if query.keys.is_empty() {
            return Err(SYNTAX);
        }
        query.read_for = query.read_for.map(|read_for| ReadFor { is_acknowledged, ..read_for });
        Ok(query)
    }

    pub(super) fn blocking(&self) -> BlockingQuery {
        let keys = self.keys.clone();
        BlockingQuery { keys, timeout: self.timeout, waits: self.waits }
    }

    /// Returns the argument with the id for the key in another one.
    pub(super) fn id_of(&self, key: usize) -> usize {
        key + self.keys.len()
    }

    /// Returns the most entries for a client that has waited.
    pub(super) fn most_after_wait(&self) -> u64 {
        self.most.unwrap_or(MOST_AFTER_WAIT)
    }
}

/// Refuses a request of a script that asks to wait.
pub(crate) fn check_in_script(command: &Command, args: &Args) -> CommandResult<()> {
    match command.plan.blocking() {
        Some(blocking) if command.has(Flag::WaitsIfAsked) && (blocking.query)(args)?.waits => {}
        _ => return Ok(()),
    }
    let name = quoted(args.get(0), QUOTED_BYTES_MAX);
    let why = &b" command is not allowed with BLOCK option from scripts"[..];
    Err(CommandError::owned([b"ERR ", name, why].concat()))
}

fn only_for_groups(option: &str) -> CommandError {
    CommandError::owned(format!(
        "ERR The {option} option is only supported by XREADGROUP. You called XREAD instead."
    ))
}

/// Parses a timeout in milliseconds; 0 waits for ever.
fn parse_milliseconds(text: &[u8]) -> CommandResult<Option<Duration>> {
    let timeout = parse_i64(text).ok_or(BAD_TIMEOUT)?;
    let timeout = Duration::from_millis(u64::try_from(timeout).map_err(|_| NEGATIVE_TIMEOUT)?);
    Ok((!timeout.is_zero()).then_some(timeout))
}
