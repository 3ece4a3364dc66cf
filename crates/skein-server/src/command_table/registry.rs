//! The table of all commands, made of the tables of the families: `commands/FAMILY/table.rs`.
//!
//! ```text
//!   name ─► names::find ─► index in COMMANDS ─┬─► Command: rights, statistics, COMMAND
//!                                             └─► tag of the request ─► plan
//! ```
//!
//! This is the one place that knows the families. Everything else asks the rows.

use super::names::find;
use super::{Command, request_keys};
use crate::commands::{
    Plan, channels, connection, expiry, geo, hashes, hyperloglog, keys, lists, scripts, server, sets, skein,
    sorted_sets, standalone, streams, strings, transactions,
};
use crate::resp::Args;
use skein_data::is_reserved;

/// The families. Strings are first, because their first two commands are the most frequent.
const FAMILIES: [&[Command]; 17] = [
    strings::table::COMMANDS,
    hashes::table::COMMANDS,
    keys::table::COMMANDS,
    expiry::table::COMMANDS,
    connection::table::COMMANDS,
    server::table::COMMANDS,
    skein::table::COMMANDS,
    sorted_sets::table::COMMANDS,
    sets::table::COMMANDS,
    lists::table::COMMANDS,
    streams::table::COMMANDS,
    hyperloglog::table::COMMANDS,
    geo::table::COMMANDS,
    channels::table::COMMANDS,
    transactions::table::COMMANDS,
    scripts::table::COMMANDS,
    standalone::table::COMMANDS,
];

pub(super) const COUNT: usize = {
    let (mut count, mut family) = (0, 0);
    while family < FAMILIES.len() {
        count += FAMILIES[family].len();
        family += 1;
    }
    count
};

/// All commands, family by family.
pub(crate) static COMMANDS: [Command; COUNT] = {
    let mut all = [FAMILIES[0][0]; COUNT];
    let (mut at, mut family) = (0, 0);
    while family < FAMILIES.len() {
        let mut i = 0;
        while i < FAMILIES[family].len() {
            all[at] = FAMILIES[family][i].finished(at as u16);
            (at, i) = (at + 1, i + 1);
        }
        family += 1;
    }
    all
};

/// The plans by [`Command::number`]. They lie side by side, so those of the frequent commands are
/// in few cache lines.
static PLANS: [Plan; COUNT] = {
    let mut all = [COMMANDS[0].plan; COUNT];
    let mut at = 0;
    while at < COUNT {
        all[at] = COMMANDS[at].plan;
        at += 1;
    }
    all
};

/// A tag with a mark is the index of no command.
const _: () = assert!(COUNT < RESERVED_KEY as usize);

/// Returns the plan of a request with this tag, or `None` if the command is unknown or has another
/// number of arguments.
#[inline]
pub(crate) fn plan_of(tag: u16) -> Option<&'static Plan> {
    PLANS.get(usize::from(tag))
}

/// Returns whether an arity allows this number of arguments, including the command's name.
pub(crate) fn takes(arity: i32, args: usize) -> bool {
    let wanted = arity.unsigned_abs() as usize;
    if arity < 0 { args >= wanted } else { args == wanted }
}

/// The tag of a request for a command that is not in the table.
const UNKNOWN: u16 = u16::MAX;
/// Bit in the tag of a request with a wrong number of arguments.
pub(crate) const BAD_ARITY: u16 = 1 << 15;
/// Bit in the tag of a request that names a reserved key.
pub(crate) const RESERVED_KEY: u16 = 1 << 14;

/// The meaning of a tag.
#[derive(Clone, Copy)]
pub(crate) enum ResolvedTag {
    Command(&'static Command),
    WrongArity(&'static Command),
    /// A key of the request is reserved (`skein_data::is_reserved`).
    ReservedKey(&'static Command),
    Unknown,
}

impl ResolvedTag {
    #[inline]
    pub(crate) fn of(tag: u16) -> Self {
        match COMMANDS.get((tag & !(BAD_ARITY | RESERVED_KEY)) as usize) {
            Some(command) if tag & (BAD_ARITY | RESERVED_KEY) == 0 => Self::Command(command),
            Some(command) if tag & RESERVED_KEY == 0 => Self::WrongArity(command),
            Some(command) => Self::ReservedKey(command),
            None => Self::Unknown,
        }
    }

    /// Returns the command of a request that may run.
    #[inline]
    pub(crate) fn command(self) -> Option<&'static Command> {
        if let Self::Command(command) = self { Some(command) } else { None }
    }
}

/// Returns the tag of a request: the index of its command in the table, or a mark of its fault.
#[inline]
pub(crate) fn resolve(args: &Args) -> u16 {
    match find(args.get(0)) {
        Some(index) if takes(COMMANDS[index].arity, args.len()) => {
            // The first test is of one byte of each argument, in almost all cases.
            if args.from(1).any(is_reserved) && names_reserved_key(&COMMANDS[index], args) {
                return index as u16 | RESERVED_KEY;
            }
            index as u16
        }
        Some(index) => index as u16 | BAD_ARITY,
        None => UNKNOWN,
    }
}

#[cold]
fn names_reserved_key(command: &Command, args: &Args) -> bool {
    command.searches_keys()
        || request_keys::keys_of(command, args).is_some_and(|keys| keys.all().into_iter().any(is_reserved))
}
