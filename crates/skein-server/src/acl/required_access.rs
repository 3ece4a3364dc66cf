//! The keys that a request accesses, and whether it reads or writes them.
//!
//! Redis defines for every command how it accesses each of its keys. Rules with `%R~` and `%W~`
//! depend on that. In most cases it follows from whether the command reads or writes; the
//! exceptions are listed here by name.

use std::sync::LazyLock;

use skein_syntax::KeyRange;

use super::patterns::KeyAccess;
use crate::command_table::request_keys::keys_of;
use crate::command_table::{COMMANDS, CommandSpec, is};
use crate::resp::RequestArgs;

/// Commands that reveal a key's existence, length or type, but not its contents.
const TELL_LITTLE: &[&str] = &[
    "exists",
    "hexists",
    "hlen",
    "hstrlen",
    "llen",
    "memory",
    "object",
    "scard",
    "sismember",
    "strlen",
    "touch",
    "type",
    "watch",
    "xlen",
    "zcard",
];
/// Commands that write and return earlier contents, or run scripts that may.
const WRITE_AND_TELL: &[&str] = &[
    "blmpop",
    "blpop",
    "brpop",
    "bzmpop",
    "bzpopmax",
    "bzpopmin",
    "decr",
    "decrby",
    "eval",
    "evalsha",
    "fcall",
    "getdel",
    "getex",
    "getset",
    "hincrby",
    "hincrbyfloat",
    "incr",
    "incrby",
    "incrbyfloat",
    "lmpop",
    "lpop",
    "migrate",
    "move",
    "rpop",
    "setbit",
    "sk.cas",
    "spop",
    "zincrby",
    "zmpop",
    "zpopmax",
    "zpopmin",
];
/// Commands that read the first key and write the second.
const FROM_TO: &[&str] = &["copy"];
/// Commands that remove the first key and write the second.
const MOVE_TO: &[&str] = &["blmove", "brpoplpush", "lmove", "rename", "renamenx", "rpoplpush", "smove"];
/// Commands that read and write the first key and read the others.
const ADD_TO: &[&str] = &["pfmerge"];
/// Commands that write, but nothing that a reader of the key could not see.
const ONLY_READ: &[&str] = &["pfdebug", "xreadgroup"];
/// Commands that write the first key and read the others.
const TO_FROM: &[&str] = &[
    "bitop",
    "geosearchstore",
    "sdiffstore",
    "sinterstore",
    "sunionstore",
    "zdiffstore",
    "zinterstore",
    "zrangestore",
    "zunionstore",
];

/// The access that a command needs to its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequiredAccess {
    /// To the first key, and to the others.
    Keys(KeyAccess, KeyAccess),
    /// SET, which reads only with the option GET.
    Set,
    /// BITFIELD, which only reads if all operations are GET.
    BitField,
    /// To any key, because the command may find all of them.
    Every(KeyAccess),
    /// To the keys between arguments 1 and 2, or with a prefix.
    Between(KeyAccess),
    Prefixed(KeyAccess),
}

static NEEDS: LazyLock<Vec<RequiredAccess>> =
    LazyLock::new(|| COMMANDS.iter().map(required_access).collect());

fn required_access(command: &CommandSpec) -> RequiredAccess {
    let named = |names: &[&str]| names.contains(&command.name);
    let usual = if command.has_flag("write") { KeyAccess::WRITE } else { KeyAccess::READ };
    match command.name {
        "set" => RequiredAccess::Set,
        "bitfield" => RequiredAccess::BitField,
        "georadius" | "georadiusbymember" | "sort" => RequiredAccess::Keys(KeyAccess::READ, KeyAccess::WRITE),
        "sk.first" | "sk.last" | "sk.next" | "sk.prev" => RequiredAccess::Every(usual),
        "sk.count" | "sk.delrange" | "sk.range" => RequiredAccess::Between(usual),
        "sk.prefix" => RequiredAccess::Prefixed(usual),
        _ if named(TELL_LITTLE) => RequiredAccess::Keys(KeyAccess::NONE, KeyAccess::NONE),
        _ if named(WRITE_AND_TELL) => RequiredAccess::Keys(KeyAccess::BOTH, KeyAccess::BOTH),
        _ if named(FROM_TO) => RequiredAccess::Keys(KeyAccess::READ, KeyAccess::WRITE),
        _ if named(MOVE_TO) => RequiredAccess::Keys(KeyAccess::BOTH, KeyAccess::WRITE),
        _ if named(ADD_TO) => RequiredAccess::Keys(KeyAccess::BOTH, KeyAccess::READ),
        _ if named(ONLY_READ) => RequiredAccess::Keys(KeyAccess::READ, KeyAccess::READ),
        _ if named(TO_FROM) => RequiredAccess::Keys(KeyAccess::WRITE, KeyAccess::READ),
        _ => RequiredAccess::Keys(usual, usual),
    }
}

/// The keys that a request accesses.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AccessedKeys<'a> {
    /// Each of these keys.
    Keys(Vec<(&'a [u8], KeyAccess)>),
    /// All keys in this range. The text is the argument that names it.
    Range(KeyRange, &'a [u8], KeyAccess),
}

/// Returns the keys that a request accesses, whose command is at this index of the table. A request
/// whose key arguments are wrong accesses no key: its command will reject it.
pub(super) fn accessed_keys<'a>(command: usize, args: &RequestArgs<'a>) -> AccessedKeys<'a> {
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
        RequiredAccess::BitField => {
            let access = if only_gets(args) { KeyAccess::READ } else { KeyAccess::BOTH };
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

/// Returns whether a request of BITFIELD has no operation that writes.
fn only_gets(args: &RequestArgs<'_>) -> bool {
    let mut rest = args.from(2);
    while let Some(word) = rest.next() {
        let skipped = match word {
            _ if is(word, "GET") => 2,
            _ if is(word, "OVERFLOW") => 1,
            _ => return false,
        };
        if rest.len() < skipped {
            return false;
        }
        let _ = rest.nth(skipped - 1);
    }
    true
}

fn keys<'a>(command: usize, args: &RequestArgs<'a>, first: KeyAccess, rest: KeyAccess) -> AccessedKeys<'a> {
    let row = &COMMANDS[command];
    // A subcommand that has no key.
    let too_short = usize::try_from(row.keys.0).is_ok_and(|first| first >= args.len());
    let Some(keys) = keys_of(row, args).filter(|_| !too_short) else { return AccessedKeys::Keys(Vec::new()) };
    let placed = keys.placed.into_iter().enumerate();
    let placed = placed.map(|(i, key)| (key, if i == 0 { first } else { rest }));
    AccessedKeys::Keys(placed.chain(keys.counted.into_iter().map(|key| (key, rest))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_table::find;
    use crate::command_table::key_specs::{KeySpec, of_subcommand};

    /// Incident: SCARD, SISMEMBER and XLEN needed the right to read, and some commands of sets and
    /// streams other rights than in Redis. Fix: the key specifications of Redis say what is needed.
    #[test]
    fn keys_need_the_access_that_their_specifications_name() {
        let needed = |spec: &KeySpec| {
            let has = |flags: &[&str]| spec.flags.split(' ').any(|flag| flags.contains(&flag));
            match (has(&["access"]), has(&["insert", "delete", "update"])) {
                (true, true) => KeyAccess::BOTH,
                (true, false) => KeyAccess::READ,
                (false, true) => KeyAccess::WRITE,
                (false, false) => KeyAccess::NONE,
            }
        };
        for command in COMMANDS {
            // The patterns of SORT have no place, so they are checked by themselves.
            let specs = if command.name == "sort" { &[] } else { of_subcommand(command.name) };
            let RequiredAccess::Keys(first, rest) = required_access(&command) else { continue };
            let keys = specs.iter().filter(|spec| !spec.flags.contains("not_key"));
            let wanted: Vec<_> = keys.map(needed).collect();
            let Some((wanted_first, wanted_rest)) = wanted.split_first() else { continue };
            assert_eq!(first, *wanted_first, "the first key of {}", command.name);
            assert!(wanted_rest.iter().all(|wanted| *wanted == rest), "other keys of {}", command.name);
        }
    }

    #[test]
    fn every_named_command_exists() {
        for names in [TELL_LITTLE, WRITE_AND_TELL, FROM_TO, MOVE_TO, ADD_TO, ONLY_READ, TO_FROM] {
            for name in names {
                assert!(find(name.as_bytes()).is_some(), "{name}");
            }
        }
    }
}
