//! What a request does to which keys.
//!
//! Redis tells for every command what it does to each of its keys, and rules with `%R~` and `%W~` go by that. Most of it follows from whether the
//! command reads or writes; what does not is listed here, by name.

use std::sync::LazyLock;

use skein_syntax::KeyRange;

use super::patterns::KeyAccess;
use crate::commands::introspection::keys::keys_of;
use crate::commands::table::COMMANDS;
use crate::commands::{CommandSpec, is};
use crate::resp::RequestArgs;

/// They tell of a key that it is there, how long it is, or what it is; not what it holds.
const TELL_LITTLE: &[&str] = &[
    "exists", "hexists", "hlen", "hstrlen", "memory", "object", "strlen", "touch", "type", "watch", "zcard",
];
/// They write, and tell what was there.
const WRITE_AND_TELL: &[&str] = &[
    "decr",
    "decrby",
    "getdel",
    "getex",
    "getset",
    "hincrby",
    "hincrbyfloat",
    "incr",
    "incrby",
    "incrbyfloat",
    "move",
    "setbit",
    "sk.cas",
    "zincrby",
    "zmpop",
    "zpopmax",
    "zpopmin",
];
/// They read the first key and write the second.
const FROM_TO: &[&str] = &["copy"];
/// They take the first key away and write the second.
const MOVE_TO: &[&str] = &["rename", "renamenx"];
/// They write the first key and read the others.
const TO_FROM: &[&str] = &["zdiffstore", "zinterstore", "zrangestore", "zunionstore"];

/// What a command does to the keys it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequiredAccess {
    /// To the first key, and to the others.
    Keys(KeyAccess, KeyAccess),
    /// SET: it tells what was there if it is asked to.
    Set,
    /// To any key: what it finds can be any.
    Every(KeyAccess),
    /// To the keys between arguments 1 and 2, or with a prefix.
    Between(KeyAccess),
    Prefixed(KeyAccess),
}

static NEEDS: LazyLock<Vec<RequiredAccess>> = LazyLock::new(|| COMMANDS.iter().map(need).collect());

fn need(command: &CommandSpec) -> RequiredAccess {
    let named = |names: &[&str]| names.contains(&command.name);
    let usual = if command.has_flag("write") { KeyAccess::WRITE } else { KeyAccess::READ };
    match command.name {
        "set" => RequiredAccess::Set,
        "sk.first" | "sk.last" | "sk.next" | "sk.prev" => RequiredAccess::Every(usual),
        "sk.count" | "sk.delrange" | "sk.range" => RequiredAccess::Between(usual),
        "sk.prefix" => RequiredAccess::Prefixed(usual),
        _ if named(TELL_LITTLE) => RequiredAccess::Keys(KeyAccess::NONE, KeyAccess::NONE),
        _ if named(WRITE_AND_TELL) => RequiredAccess::Keys(KeyAccess::BOTH, KeyAccess::BOTH),
        _ if named(FROM_TO) => RequiredAccess::Keys(KeyAccess::READ, KeyAccess::WRITE),
        _ if named(MOVE_TO) => RequiredAccess::Keys(KeyAccess::BOTH, KeyAccess::WRITE),
        _ if named(TO_FROM) => RequiredAccess::Keys(KeyAccess::WRITE, KeyAccess::READ),
        _ => RequiredAccess::Keys(usual, usual),
    }
}

/// What a request does to keys.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AccessedKeys<'a> {
    /// To each of these keys.
    Keys(Vec<(&'a [u8], KeyAccess)>),
    /// To all keys in this range; the text is what it was named by.
    Range(KeyRange, &'a [u8], KeyAccess),
}

/// What a request does to keys, the command being the one at this place of the table. A request that names its keys wrongly touches none: its command refuses it.
pub(super) fn touched<'a>(command: usize, args: &RequestArgs<'a>) -> AccessedKeys<'a> {
    let range = |range: Option<KeyRange>, named: &'a [u8], access| match range {
        Some(range) => AccessedKeys::Range(range, named, access),
        None => AccessedKeys::Keys(Vec::new()),
    };
    match NEEDS[command] {
        RequiredAccess::Keys(first, rest) => keys(command, args, first, rest),
        RequiredAccess::Set => {
            let tells = args.from(3).any(|word| is(word, "GET"));
            let access = if tells { KeyAccess::BOTH } else { KeyAccess::WRITE };
            keys(command, args, access, access)
        }
        RequiredAccess::Every(access) => range(Some(KeyRange::ALL), b"*", access),
        RequiredAccess::Between(access) => {
            range(KeyRange::parse(args.get(1), args.get(2)).ok().flatten(), args.get(1), access)
        }
        RequiredAccess::Prefixed(access) => {
            range(Some(KeyRange::with_prefix(args.get(1))), args.get(1), access)
        }
    }
}

fn keys<'a>(command: usize, args: &RequestArgs<'a>, first: KeyAccess, rest: KeyAccess) -> AccessedKeys<'a> {
    let row = &COMMANDS[command];
    // Of a command with subcommands, one that is not about a key.
    let too_short = usize::try_from(row.keys.0).is_ok_and(|first| first >= args.len());
    let Some(keys) = keys_of(row, args).filter(|_| !too_short) else { return AccessedKeys::Keys(Vec::new()) };
    let placed = keys.placed.into_iter().enumerate();
    let placed = placed.map(|(i, key)| (key, if i == 0 { first } else { rest }));
    AccessedKeys::Keys(placed.chain(keys.counted.into_iter().map(|key| (key, rest))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::find;

    #[test]
    fn every_command_that_is_named_is_there() {
        for names in [TELL_LITTLE, WRITE_AND_TELL, FROM_TO, MOVE_TO, TO_FROM] {
            for name in names {
                assert!(find(name.as_bytes()).is_some(), "{name}");
            }
        }
    }
}
