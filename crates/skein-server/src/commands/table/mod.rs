//! The table of commands: what each is called, what it takes, where its keys are, who runs it. A file per family.

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
    // Reads and writes of single keys run in batches, which are timed as such.
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

/// Whether Redis calls a command fast.
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
    /// The row of a command with subcommands.
    const fn with(self, subcommands: Subcommands) -> Self {
        Self { subcommands, timed_together: false, ..self }
    }

    /// The row of a command that is answered before there is data, too.
    const fn early(self, early: LoadingHandler) -> Self {
        Self { early: Some(early), ..self }
    }

    /// The row of a command that is timed with those of its kind beside it.
    const fn timed_together(self) -> Self {
        Self { timed_together: true, ..self }
    }

    /// The row of a command that Redis calls fast, and that may take long here.
    const fn timed_alone(self) -> Self {
        Self { timed_together: false, ..self }
    }

    /// The row of a command that says in this argument how many keys follow.
    const fn counting_keys_at(self, key_count: usize) -> Self {
        Self { key_count, ..self }
    }
}

/// The families; the values' come first, because their first two commands are the hottest.
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

/// Every command, family after family.
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

/// Slots of [`SLOTS`]: some four per command, so that a name is found at once or nearly.
pub(crate) const SLOT_COUNT: usize = 1024;

/// Place + 1 in [`COMMANDS`] by [`hash`], linear probing; 0 is free.
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

    /// Which commands run before there is data was a list of its own beside this table, and the two could disagree. Redis runs what its
    /// table calls `loading`. What it calls so and we cannot run yet is named here.
    #[test]
    fn what_is_answered_early_is_flagged_so() {
        // In Redis, each of their subcommands is flagged, and not the command.
        const BY_SUBCOMMAND: [&str; 1] = ["client"];
        const NEEDS_DATA: &[&str] = &["debug", "discard", "exec", "lastsave", "multi", "unwatch", "watch"];
        for command in COMMANDS.iter().filter(|command| !BY_SUBCOMMAND.contains(&command.name)) {
            let flagged = command.has_flag("loading");
            let expected = flagged && !NEEDS_DATA.contains(&command.name);
            assert_eq!(command.early.is_some(), expected, "{}", command.name);
            assert!(flagged || !NEEDS_DATA.contains(&command.name), "{}", command.name);
        }
    }

    /// SK.FIRST and its like, which give all that a key holds, were timed with up to 63 others, since Redis's flag for what looks keys up was taken for a promise. Whoever adds
    /// one here has looked: with few arguments it takes about as long as a look at the clock.
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
