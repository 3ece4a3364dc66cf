//! The table of commands: name, number of arguments, keys and handler of each. One file for each
//! family.

mod connection;
mod expiry;
mod hashes;
mod keys;
mod server;
mod skein;
mod sorted_sets;
mod strings;
mod transactions;

use super::subcommands::Subcommands;
use super::while_loading::LoadingHandler;
use super::{CommandSpec, Handler, hash};

const NONE: (i32, i32, i32) = (0, 0, 0);
const ONE: (i32, i32, i32) = (1, 1, 1);
const ALL: (i32, i32, i32) = (1, -1, 1);
const TWO: (i32, i32, i32) = (1, 2, 1);
const PAIRS: (i32, i32, i32) = (1, -1, 2);

const CONNECTION: &[&str] = &["noscript", "loading", "stale", "fast", "no_auth", "allow_busy"];
const ANY_TIME: &[&str] = &["loading", "stale", "fast"];
const TRANSACTION: &[&str] = &["noscript", "loading", "stale", "fast", "allow_busy"];
const ALSO_RUN: &[&str] = &["noscript", "loading", "stale", "skip_slowlog"];
const ALSO_LOADING: &[&str] = &["loading", "stale"];
const READ: &[&str] = &["readonly"];
const READ_FAST: &[&str] = &["readonly", "fast"];
const WRITE: &[&str] = &["write"];
const WRITE_FAST: &[&str] = &["write", "fast"];
const WRITE_GROWS: &[&str] = &["write", "denyoom"];
const WRITE_GROWS_FAST: &[&str] = &["write", "denyoom", "fast"];
const SAVE: &[&str] = &["admin", "noscript", "no_async_loading", "no_multi"];
const BGSAVE: &[&str] = &["admin", "noscript", "no_async_loading"];
const DEBUG: &[&str] = &["admin", "noscript", "loading", "stale"];
const SHUTDOWN: &[&str] = &["admin", "noscript", "loading", "stale", "no_multi", "allow_busy"];

const fn row(
    name: &'static str,
    arity: i32,
    flags: &'static [&'static str],
    keys: (i32, i32, i32),
    group: &'static str,
    handler: Handler,
    summary: &'static str,
) -> CommandSpec {
    // Reads and writes of single keys run in batches, which are timed as a whole.
    let timed_together =
        has_fast(flags) && matches!(handler, Handler::General(_) | Handler::ReadOneOrMany(..));
    CommandSpec {
        name,
        arity,
        flags,
        keys,
        key_count: 0,
        subcommands: &[],
        timed_together,
        group,
        summary,
        handler,
        early: None,
    }
}

/// Returns whether Redis flags a command as fast.
const fn has_fast(flags: &[&str]) -> bool {
    let mut at = 0;
    while at < flags.len() {
        if matches!(flags[at].as_bytes(), b"fast") {
            return true;
        }
        at += 1;
    }
    false
}

impl CommandSpec {
    /// Returns the row with subcommands.
    const fn with(self, subcommands: Subcommands) -> Self {
        Self { subcommands, timed_together: false, ..self }
    }

    /// Returns the row with a handler for the time while the data is loading.
    const fn early(self, early: LoadingHandler) -> Self {
        Self { early: Some(early), ..self }
    }

    /// Returns the row of a command that is timed together with its neighbours of the same kind.
    const fn timed_together(self) -> Self {
        Self { timed_together: true, ..self }
    }

    /// Returns the row of a command that Redis flags as fast but that may take long here.
    const fn timed_alone(self) -> Self {
        Self { timed_together: false, ..self }
    }

    /// Returns the row of a command with a number of keys in this argument.
    const fn counting_keys_at(self, key_count: usize) -> Self {
        Self { key_count, ..self }
    }
}

/// The families. Strings come first, because their first two commands are the most frequent.
const FAMILIES: [&[CommandSpec]; 9] = [
    strings::COMMANDS,
    hashes::COMMANDS,
    keys::COMMANDS,
    expiry::COMMANDS,
    connection::COMMANDS,
    server::COMMANDS,
    skein::COMMANDS,
    sorted_sets::COMMANDS,
    transactions::COMMANDS,
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
            all[at] = FAMILIES[family][i];
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

#[cfg(test)]
mod tests {
    use super::super::find;
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

    #[test]
    fn batched_commands_have_a_key() {
        for command in &COMMANDS {
            let batched = matches!(
                command.handler,
                Handler::Read(_)
                    | Handler::ReadOneOrMany(..)
                    | Handler::ReadOrSlices(..)
                    | Handler::Write(_)
                    | Handler::WriteOrSlices(..)
            );
            if batched {
                assert!(command.keys.0 == 1 && command.arity.abs() >= 2, "{}", command.name);
            }
        }
    }

    /// Incident: the commands that run while the data is loading were a separate list, which could
    /// contradict this table. Fix: like Redis, the server runs the commands that the table flags as
    /// `loading`. The exceptions, which cannot run yet, are named here.
    #[test]
    fn what_is_answered_early_is_flagged_so() {
        // Redis flags each subcommand instead of the command.
        const BY_SUBCOMMAND: [&str; 1] = ["client"];
        const NEEDS_DATA: &[&str] = &["debug", "discard", "exec", "lastsave", "multi", "unwatch", "watch"];
        for command in COMMANDS.iter().filter(|command| !BY_SUBCOMMAND.contains(&command.name)) {
            let flagged = command.has_flag("loading");
            let expected = flagged && !NEEDS_DATA.contains(&command.name);
            assert_eq!(command.early.is_some(), expected, "{}", command.name);
            assert!(flagged || !NEEDS_DATA.contains(&command.name), "{}", command.name);
        }
    }

    /// Incident: SK.FIRST and its relatives, which return the whole contents of a key, were timed
    /// together with up to 63 others, because Redis's flag for key lookups was taken as a promise.
    /// Add a command here only after checking that with few arguments it takes about as long as
    /// reading the clock.
    #[test]
    fn what_is_timed_together_is_short() {
        const SHORT: &[&str] = &[
            "auth", "discard", "echo", "exists", "hello", "lastsave", "mget", "move", "mset", "multi",
            "ping", "pttl", "quit", "reset", "select", "swapdb", "time", "touch", "ttl", "unwatch", "watch",
        ];
        let mut together: Vec<&str> =
            COMMANDS.iter().filter(|command| command.timed_together).map(|command| command.name).collect();
        together.sort_unstable();
        assert_eq!(together, SHORT);
    }
}
