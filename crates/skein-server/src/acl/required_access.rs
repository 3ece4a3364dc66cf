//! The keys that a request accesses, and whether it reads or writes them.
//!
//! Redis defines for every command how it accesses each of its keys: the flags of its key
//! specifications. Rules with `%R~` and `%W~` depend on that.

use skein_syntax::KeyRange;

use super::patterns::KeyAccess;
use crate::command_table::request_keys::keys_of;
use crate::command_table::{COMMANDS, Command, Flag, KeyReach, has_word};
use crate::resp::Args;

/// The keys that a request accesses.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AccessedKeys<'a> {
    /// Each of these keys.
    Keys(Vec<(&'a [u8], KeyAccess)>),
    /// All keys in this range. The text is the argument that names it.
    Range(KeyRange, &'a [u8], KeyAccess),
}

/// Returns the keys that a request for the command at this index of the table accesses. A request
/// with wrong key arguments accesses no key: its command will reject it.
pub(super) fn accessed_keys<'a>(command: usize, args: &Args<'a>) -> AccessedKeys<'a> {
    let command = &COMMANDS[command];
    let access = if command.has(Flag::Write) { KeyAccess::WRITE } else { KeyAccess::READ };
    let (range, named) = match command.reach {
        KeyReach::Named => return AccessedKeys::Keys(named_keys(command, args).unwrap_or_default()),
        KeyReach::Every => (Some(KeyRange::ALL), &b"*"[..]),
        KeyReach::Between => (KeyRange::parse(args.get(1), args.get(2)).ok().flatten(), args.get(1)),
        KeyReach::Prefixed => (Some(KeyRange::with_prefix(args.get(1))), args.get(1)),
    };
    range.map_or(AccessedKeys::Keys(Vec::new()), |range| AccessedKeys::Range(range, named, access))
}

fn named_keys<'a>(command: &Command, args: &Args<'a>) -> Option<Vec<(&'a [u8], KeyAccess)>> {
    // A subcommand that has no key.
    if usize::try_from(command.keys.0).is_ok_and(|first| first >= args.len()) {
        return None;
    }
    let [first, others] = command.key_uses(args)?.map(access_of);
    let keys = keys_of(command, args)?;
    let all = keys.placed.into_iter().chain(keys.counted).enumerate();
    Some(all.map(|(at, key)| (key, if at == 0 { first } else { others })).collect())
}

/// Returns the access to a key that a command with these flags of a key specification needs.
fn access_of(flags: &str) -> KeyAccess {
    let writes = ["insert", "update", "delete"].iter().any(|flag| has_word(flags, flag));
    KeyAccess { read: has_word(flags, "access"), write: writes }
}
