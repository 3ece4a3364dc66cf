//! The table of commands: name, number of arguments, flags and keys of each, without their handlers
//! (`commands::handlers`). One file for each family.
//!
//! ```text
//!   name ─► hash ─► SLOTS ─► index in COMMANDS ─┬─► CommandSpec: rights, statistics, COMMAND
//!                                               └─► tag of the request ─► handler
//! ```
//!
//! Nothing here depends on how a command runs. So access control and statistics know the commands
//! without their handlers, and handlers may use both.
//!
//! Read this file, then a family (`strings`), then `subcommands`, `request_keys` and `key_specs`.

mod channels;
mod connection;
pub(crate) mod docs;
mod expiry;
mod geo;
mod hashes;
mod hyperloglog;
pub(crate) mod key_specs;
mod keys;
mod lists;
pub(crate) mod migration_args;
pub(crate) mod redis_facts;
pub(crate) mod request_keys;
mod scripts;
mod server;
mod sets;
mod skein;
mod sorted_sets;
mod standalone;
mod streams;
mod strings;
pub(crate) mod subcommands;
mod transactions;

use crate::resp::RequestArgs;
use crate::waiting_clients::WaitingClients;
use skein_data::is_reserved;
use subcommands::Subcommands;

/// A command's row in the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandSpec {
    /// In lower case.
    pub name: &'static str,
    /// Number of arguments, including the name. If negative, the minimum.
    pub arity: i32,
    pub flags: &'static [&'static str],
    /// First key, last key (negative: counted from the end), step; all 0 if there are no such keys.
    pub keys: (i32, i32, i32),
    /// Index of the argument that holds a number of keys; 0 if there is no such argument. Those
    /// keys follow it, and they come after the keys of `keys`.
    pub key_count: usize,
    /// Empty for most commands.
    pub subcommands: Subcommands,
    /// Whether consecutive requests of this command may be timed as one. Such a request takes so
    /// little time that reading the clock would cost more.
    pub timed_together: bool,
    /// Whether it has effects beside those on keys, or Redis lets it write. A pause of writes holds
    /// it back, and scripts that only read may not call it.
    pub has_other_effects: bool,
    /// Whether it may add far more memory than the bytes of its arguments. The worker looks at the
    /// memory limit after it.
    pub outgrows_arguments: bool,
    /// Its possible effect on keys that clients of blocking commands wait for.
    pub wakes: Wakes,
    pub group: &'static str,
    pub summary: &'static str,
    /// Its index in [`COMMANDS`].
    pub number: u16,
}

/// The possible effect of a command on keys that clients wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wakes {
    /// Nothing that a waiting client must know.
    Nobody,
    /// Make what clients wait for.
    ByMaking,
    /// Remove what the clients of XREADGROUP need.
    ByRemoving,
}

const NONE: (i32, i32, i32) = (0, 0, 0);
const ONE: (i32, i32, i32) = (1, 1, 1);
const ALL: (i32, i32, i32) = (1, -1, 1);
const TWO: (i32, i32, i32) = (1, 2, 1);
/// The keys of a command whose last argument is a timeout.
const BUT_LAST: (i32, i32, i32) = (1, -2, 1);
const PAIRS: (i32, i32, i32) = (1, -1, 2);

const CONNECTION: &[&str] = &["noscript", "loading", "stale", "fast", "no_auth", "allow_busy"];
const ANY_TIME: &[&str] = &["loading", "stale", "fast"];
const TRANSACTION: &[&str] = &["noscript", "loading", "stale", "fast", "allow_busy"];
const ALSO_RUN: &[&str] = &["noscript", "loading", "stale", "skip_slowlog"];
const ALSO_LOADING: &[&str] = &["loading", "stale"];
const READ: &[&str] = &["readonly"];
const READ_ALONE: &[&str] = &["readonly", "no_multi"];
const READ_FAST: &[&str] = &["readonly", "fast"];
const WRITE: &[&str] = &["write"];
const WRITE_MOVABLE: &[&str] = &["write", "movablekeys"];
const WRITE_FAST: &[&str] = &["write", "fast"];
const WRITE_GROWS: &[&str] = &["write", "denyoom"];
const ASKING: &[&str] = &["write", "denyoom", "asking"];
const WRITE_GROWS_FAST: &[&str] = &["write", "denyoom", "fast"];
const BLOCKS: &[&str] = &["write", "noscript", "blocking"];
const BLOCKS_MOVABLE: &[&str] = &["write", "blocking", "movablekeys"];
const SAVE: &[&str] = &["admin", "noscript", "no_async_loading", "no_multi"];
const BGSAVE: &[&str] = &["admin", "noscript", "no_async_loading"];
const DEBUG: &[&str] = &["admin", "noscript", "loading", "stale"];
const SCRIPT: &[&str] = &["noscript", "stale", "skip_monitor", "no_mandatory_keys", "movablekeys"];
const SCRIPT_RO: &[&str] =
    &["readonly", "noscript", "stale", "skip_monitor", "no_mandatory_keys", "movablekeys"];
const SHUTDOWN: &[&str] = &["admin", "noscript", "loading", "stale", "no_multi", "allow_busy"];

const fn row(
    name: &'static str,
    arity: i32,
    flags: &'static [&'static str],
    keys: (i32, i32, i32),
    group: &'static str,
    summary: &'static str,
) -> CommandSpec {
    CommandSpec {
        name,
        arity,
        flags,
        keys,
        key_count: 0,
        subcommands: &[],
        timed_together: false,
        has_other_effects: false,
        outgrows_arguments: false,
        wakes: Wakes::Nobody,
        group,
        summary,
        number: 0,
    }
}

impl CommandSpec {
    /// Returns the row with subcommands.
    const fn with(self, subcommands: Subcommands) -> Self {
        Self { subcommands, ..self }
    }

    /// Returns the row of a command that is timed together with its neighbours of the same kind.
    /// Reads and writes of single keys run in batches, which are timed as a whole, and need no
    /// mark.
    const fn timed_together(self) -> Self {
        Self { timed_together: true, ..self }
    }

    /// Returns the row of a command to which `has_other_effects` applies.
    const fn having_other_effects(self) -> Self {
        Self { has_other_effects: true, ..self }
    }

    /// Returns the row of a command to which `outgrows_arguments` applies.
    const fn outgrowing_arguments(self) -> Self {
        Self { outgrows_arguments: true, ..self }
    }

    /// Returns the row of a command that may make a list, a sorted set or an entry of a stream.
    const fn making_waited_keys(self) -> Self {
        Self { wakes: Wakes::ByMaking, ..self }
    }

    /// Returns the row of a command that may remove or replace any key.
    const fn removing_waited_keys(self) -> Self {
        Self { wakes: Wakes::ByRemoving, ..self }
    }

    /// Returns whether the command may wake one of these clients.
    #[inline]
    pub(crate) fn may_wake(&self, waiting: &WaitingClients) -> bool {
        match self.wakes {
            Wakes::Nobody => false,
            Wakes::ByMaking => waiting.count() > 0,
            Wakes::ByRemoving => waiting.count_needing_keys() > 0,
        }
    }

    /// Returns the row of a command with a number of keys in this argument.
    const fn counting_keys_at(self, key_count: usize) -> Self {
        Self { key_count, ..self }
    }

    /// Returns whether its requests name keys.
    pub(crate) fn names_keys(&self) -> bool {
        self.keys != NONE || self.has_flag("movablekeys")
    }

    /// Returns whether it removes keys without naming them.
    pub(crate) fn removes_all_keys(&self) -> bool {
        self.wakes == Wakes::ByRemoving && self.keys == NONE
    }

    /// Returns whether its requests may name another database than the selected one.
    #[inline]
    pub(crate) fn may_name_database(&self) -> bool {
        matches!(self.name, "copy" | "move")
    }

    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }
}

/// The families. Strings come first, because their first two commands are the most frequent.
const FAMILIES: [&[CommandSpec]; 17] = [
    strings::COMMANDS,
    hashes::COMMANDS,
    keys::COMMANDS,
    expiry::COMMANDS,
    connection::COMMANDS,
    server::COMMANDS,
    skein::COMMANDS,
    sorted_sets::COMMANDS,
    sets::COMMANDS,
    lists::COMMANDS,
    streams::COMMANDS,
    hyperloglog::COMMANDS,
    geo::COMMANDS,
    channels::COMMANDS,
    transactions::COMMANDS,
    scripts::COMMANDS,
    standalone::COMMANDS,
];

const COUNT: usize = {
    let (mut count, mut family) = (0, 0);
    while family < FAMILIES.len() {
        count += FAMILIES[family].len();
        family += 1;
    }
    count
};

/// All commands, family by family.
pub(crate) static COMMANDS: [CommandSpec; COUNT] = {
    let mut all = [FAMILIES[0][0]; COUNT];
    let (mut at, mut family) = (0, 0);
    while family < FAMILIES.len() {
        let mut i = 0;
        while i < FAMILIES[family].len() {
            all[at] = CommandSpec { number: at as u16, ..FAMILIES[family][i] };
            (at, i) = (at + 1, i + 1);
        }
        family += 1;
    }
    all
};

/// Number of slots in [`SLOTS`]: about four for each command, so that a search rarely probes
/// further.
pub(crate) const SLOT_COUNT: usize = 1024;

/// Index + 1 in [`COMMANDS`] by [`hash`], with linear probing; 0 is free.
pub(crate) static SLOTS: [u16; SLOT_COUNT] = {
    let mut slots = [0; SLOT_COUNT];
    let mut i = 0;
    while i < COMMANDS.len() {
        let mut slot = hash(COMMANDS[i].name.as_bytes());
        while slots[slot] != 0 {
            slot = (slot + 1) % slots.len();
        }
        slots[slot] = i as u16 + 1;
        i += 1;
    }
    slots
};

/// Returns whether an arity allows this number of arguments, including the command's name.
pub(crate) fn takes(arity: i32, args: usize) -> bool {
    let wanted = arity.unsigned_abs() as usize;
    if arity < 0 { args >= wanted } else { args == wanted }
}

/// The tag of a request whose command is not in the table.
const UNKNOWN: u16 = u16::MAX;
/// Bit in the tag of a request with a wrong number of arguments.
pub(crate) const BAD_ARITY: u16 = 1 << 15;
/// Bit in the tag of a request that names a reserved key.
pub(crate) const RESERVED_KEY: u16 = 1 << 14;

/// The meaning of a tag.
#[derive(Clone, Copy)]
pub(crate) enum ResolvedTag {
    Command(&'static CommandSpec),
    WrongArity(&'static CommandSpec),
    /// A key of the request is reserved (`skein_data::is_reserved`).
    ReservedKey(&'static CommandSpec),
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
}

/// Returns the tag of a request: the index of its command in the table, or a mark of its fault.
#[inline]
pub(crate) fn resolve(args: &RequestArgs<'_>) -> u16 {
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
fn names_reserved_key(command: &CommandSpec, args: &RequestArgs<'_>) -> bool {
    // The name of a group may look like an option, and hide the keys behind it.
    command.name.starts_with("xread")
        || request_keys::keys_of(command, args).is_some_and(|keys| keys.all().into_iter().any(is_reserved))
}

/// Returns a command's index in the table. Ignores the case of the name.
#[inline(always)]
pub(crate) fn find(name: &[u8]) -> Option<usize> {
    if name.is_empty() {
        return None;
    }
    let mut slot = hash(name);
    loop {
        match SLOTS[slot] {
            0 => return None,
            entry => {
                let index = entry as usize - 1;
                if COMMANDS[index].name.as_bytes().eq_ignore_ascii_case(name) {
                    return Some(index);
                }
            }
        }
        slot = (slot + 1) % SLOTS.len();
    }
}

/// Returns the slot where the search for a name starts. Ignores the case of letters. `REQUIRES:
/// !name.is_empty()`
pub(crate) const fn hash(name: &[u8]) -> usize {
    const fn letter(byte: u8) -> usize {
        (byte | 0x20) as usize
    }
    let len = name.len();
    (letter(name[0]) * 7 + letter(name[len / 2]) * 31 + letter(name[len - 1]) * 101 + len * 61) % SLOT_COUNT
}

/// Returns whether an argument is this word. Ignores the case.
pub(crate) fn is(arg: &[u8], word: &str) -> bool {
    arg.eq_ignore_ascii_case(word.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_in_any_case() {
        for (i, command) in COMMANDS.iter().enumerate() {
            assert_eq!(find(command.name.as_bytes()), Some(i));
            assert_eq!(find(command.name.to_uppercase().as_bytes()), Some(i));
            assert_eq!(command.name, command.name.to_lowercase());
        }
        for name in ["", "g", "gets", "sk", "sk.", "\0", "GE\0"] {
            assert_eq!(find(name.as_bytes()), None, "{name:?}");
        }
    }

    /// Incident: SK.FIRST and its relatives, which return the whole contents of a key, were timed
    /// together with up to 63 others, because Redis's flag for key lookups was taken as a promise.
    /// Add a command here only after checking that with few arguments it takes about as long as
    /// reading the clock.
    #[test]
    fn what_is_timed_together_is_short() {
        const SHORT: &[&str] = &[
            "auth", "discard", "echo", "exists", "hello", "lastsave", "mget", "mset", "multi", "ping",
            "pttl", "quit", "reset", "select", "time", "touch", "ttl", "unwatch", "watch",
        ];
        let mut together: Vec<&str> =
            COMMANDS.iter().filter(|command| command.timed_together).map(|command| command.name).collect();
        together.sort_unstable();
        assert_eq!(together, SHORT);
    }
}
