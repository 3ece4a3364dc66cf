//! A request of MIGRATE.

use std::ops::Range;
use std::time::Duration;

use skein_syntax::number::parse_i64;

use crate::command_table::migration_args::{KEY, MigrationArgs, OPTIONS};
use crate::commands::command_error::{NOT_AN_INTEGER, SYNTAX};
use crate::commands::{CommandError, CommandResult, is};
use crate::resp::Args;
use crate::shared::migrations::MigrationTarget;
use skein_data::name_within;

const KEY_AND_KEYS: CommandError = CommandError::text(
    "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string",
);

/// The timeout of a request that gives none, as in Redis.
const TIMEOUT_MS: u64 = 1000;

/// A parsed request.
#[derive(Debug)]
pub(crate) struct MigrationQuery {
    pub target: MigrationTarget,
    /// Whether the keys stay here.
    pub copy: bool,
    /// The arguments that are keys.
    pub keys: Range<usize>,
}

impl MigrationQuery {
    /// Parses a request. The checks have the order of Redis.
    pub(crate) fn parse(args: &Args) -> CommandResult<Self> {
        let (mut copy, mut replace, mut login, mut at) = (false, false, Vec::new(), OPTIONS);
        let mut keys = KEY..KEY + 1;
        while at < args.len() {
            let word = args.get(at);
            at += 1;
            if is(word, "COPY") {
                copy = true;
            } else if is(word, "REPLACE") {
                replace = true;
            } else if is(word, "AUTH") || is(word, "AUTH2") {
                let end = at + if is(word, "AUTH") { 1 } else { 2 };
                if end > args.len() {
                    return Err(SYNTAX);
                }
                login = (at..end).map(|at| args.get(at).to_vec()).collect();
                at = end;
            } else if is(word, "KEYS") {
                if !name_within(args.get(KEY)).is_empty() {
                    return Err(KEY_AND_KEYS);
                }
                keys = at..args.len();
                break;
            } else {
                return Err(SYNTAX);
            }
        }
        let timeout = parse_i64(args.get(5)).ok_or(NOT_AN_INTEGER)?;
        let database = parse_i64(args.get(4)).ok_or(NOT_AN_INTEGER)?;
        let timeout = u64::try_from(timeout).ok().filter(|ms| *ms > 0).unwrap_or(TIMEOUT_MS);
        debug_assert!(keys.is_empty() || keys == MigrationArgs::of(args).keys, "{keys:?}");
        Ok(Self {
            target: MigrationTarget {
                host: String::from_utf8_lossy(args.get(1)).into_owned(),
                port: parse_i64(args.get(2)).and_then(|port| u16::try_from(port).ok()),
                database,
                timeout: Duration::from_millis(timeout),
                login,
                replace,
            },
            copy,
            keys,
        })
    }
}
