//! COMMAND GETKEYS and GETKEYSANDFLAGS: the keys of a request.

use crate::command_table::key_specs::KeyBegin;
use crate::command_table::request_keys::keys_of;
use crate::command_table::{COMMANDS, Command, Flag, find, takes};
use crate::commands::{CommandError, CommandResult, Replied};
use crate::resp::{Args, Reply};

const UNKNOWN: CommandError = CommandError::text("ERR Invalid command specified");
const NO_KEYS: CommandError = CommandError::text("ERR The command has no key arguments");
const BAD_ARGUMENTS: CommandError = CommandError::text("ERR Invalid arguments specified for command");

/// Replies with the keys of the request that begins at argument 2.
pub(super) fn keys(args: &Args, reply: &mut Reply) -> Replied {
    let request = args.rest(2);
    let found = keys_in(checked(&request)?, &request)?;
    reply.bulks(found);
    Ok(())
}

/// Replies with the keys of the request that begins at argument 2, and with the command's use of
/// each.
pub(super) fn keys_and_flags(args: &Args, reply: &mut Reply) -> Replied {
    let request = args.rest(2);
    let command = checked(&request)?;
    let keys = keys_in(command, &request)?;
    let flags = flags_of(command, &request);
    reply.array(keys.len());
    for (at, key) in keys.iter().enumerate() {
        // The last specification is that of all further keys.
        let flags = flags.get(at).or(flags.last()).copied().unwrap_or_default();
        // That a specification is incomplete says nothing of the keys that are found.
        let words = flags.split_ascii_whitespace().filter(|word| *word != "incomplete");
        reply.array(2);
        reply.bulk(key);
        reply.words(words);
    }
    Ok(())
}

/// Returns the command of a request that has keys.
fn checked(request: &Args<'_>) -> CommandResult<&'static Command> {
    let command = find(request.get(0)).map(|index| &COMMANDS[index]).ok_or(UNKNOWN)?;
    let (mut has_keys, mut arity) = (command.names_keys(), command.arity);
    if !command.subcommands.is_empty() {
        let subcommand = command.subcommand_of(request).ok_or(UNKNOWN)?;
        has_keys &= !subcommand.key_specs.as_slice().is_empty();
        arity = subcommand.arity;
    }
    if !has_keys {
        return Err(NO_KEYS);
    }
    if !takes(arity, request.len()) {
        return Err(CommandError::text("ERR Invalid number of arguments specified for command"));
    }
    Ok(command)
}

fn keys_in<'a>(command: &Command, request: &Args<'a>) -> CommandResult<Vec<&'a [u8]>> {
    match keys_of(command, request) {
        Some(found) => Ok(found.all()),
        None if command.has(Flag::NoMandatoryKeys) => Ok(Vec::new()),
        None => Err(BAD_ARGUMENTS),
    }
}

/// Returns the flags of each key, in the order of the specifications.
fn flags_of(command: &Command, request: &Args<'_>) -> Vec<&'static str> {
    if let Some(flags) = command.key_flags {
        return vec![flags(request)];
    }
    let specs = match command.subcommand_of(request) {
        Some(subcommand) => subcommand.key_specs.as_slice(),
        None => command.key_specs.as_slice(),
    };
    let found = specs.iter().flat_map(|spec| {
        let count = spec.positions(request).map_or(0, |positions| positions.len());
        std::iter::repeat_n(spec.flags, count)
    });
    // A key that no specification finds, like that of SORT's STORE.
    let unfound = specs.last().filter(|spec| spec.begin == KeyBegin::Unknown).map(|spec| spec.flags);
    found.chain(unfound).collect()
}
