//! The table of commands. A command is one row, which has all facts about it: see `command`.
//!
//! ```text
//!   commands/FAMILY/table.rs   rows ─► registry: COMMANDS, found by name
//!                                        │
//!          ┌──────────────┬──────────────┼───────────────┬──────────────────┐
//!   keys of a request   rights   keyspace events   COMMAND DOCS   loading, busy, MULTI, …
//! ```
//!
//! No other place names a command: code asks for a property of its row. So a new command is a row
//! and a handler, and `checks` finds a row that contradicts itself.
//!
//! Read `command`, then a family's table (`commands/lists/table.rs`), then `registry`, `names`,
//! `key_specs` and `request_keys`. A row is made of `flags`, a `group`, its `subcommands` and the
//! `notation` of its arguments; `words` has constants of several words, `migration_args` the keys
//! of MIGRATE. `literal_names` is the test that no other place names a command. Design:
//! `docs/design/command-table.md`.

#[cfg(test)]
mod checks;
mod command;
mod flags;
mod group;
pub(crate) mod key_specs;
#[cfg(test)]
mod literal_names;
pub(crate) mod migration_args;
mod names;
pub(crate) mod notation;
mod registry;
pub(crate) mod request_keys;
pub(crate) mod subcommands;
mod words;

pub(crate) use command::{ChannelArgs, Command, command};
pub(crate) use flags::{CommandFlags, Flag};
pub(crate) use group::Group;
pub(crate) use key_specs::{KeyLookup, KeyReach, range};
pub(crate) use names::find;
pub(crate) use registry::{COMMANDS, ResolvedTag, plan_of, resolve, takes};
pub(crate) use subcommands::{HELP, Subcommand, subcommand};
pub(crate) use words::has_word;

/// Returns the rows of a family. Those that name no group have this one.
pub(crate) const fn family<const N: usize>(group: Group, mut rows: [Command; N]) -> [Command; N] {
    let mut at = 0;
    while at < N {
        if !rows[at].has_own_group {
            rows[at].group = group;
        }
        at += 1;
    }
    rows
}

/// Commands of Redis that this server does not have: those between a primary and its replicas.
/// Rules of access control may name them.
pub(crate) const OF_REPLICAS: [&str; 3] = ["psync", "replconf", "sync"];

/// Returns whether an argument is this word. Ignores the case.
pub(crate) fn is(arg: &[u8], word: &str) -> bool {
    arg.eq_ignore_ascii_case(word.as_bytes())
}
