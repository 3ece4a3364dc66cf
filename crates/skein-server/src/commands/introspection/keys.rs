//! COMMAND GETKEYS: the keys of a request.

use crate::command_table::request_keys::keys_of;
use crate::command_table::subcommands::find as find_subcommand;
use crate::command_table::{COMMANDS, find, takes};
use crate::commands::CommandError;
use crate::resp::{ReplyWriter, RequestArgs};

/// Replies with the keys of the request that begins at argument 2.
pub(super) fn keys(args: &RequestArgs<'_>, reply: &mut ReplyWriter<'_>) -> Result<(), CommandError> {
    const UNKNOWN: CommandError = CommandError::text("ERR Invalid command specified");
    let request = args.rest(2);
    let command = find(request.get(0)).map(|index| &COMMANDS[index]).ok_or(UNKNOWN)?;
    let (mut has_keys, mut arity) = (command.names_keys(), command.arity);
    if !command.subcommands.is_empty() {
        let (name, wanted) = find_subcommand(command.subcommands, request.get(1)).ok_or(UNKNOWN)?;
        has_keys &= name != "help";
        arity = wanted;
    }
    if !has_keys {
        return Err(CommandError::text("ERR The command has no key arguments"));
    }
    if !takes(arity, request.len()) {
        return Err(CommandError::text("ERR Invalid number of arguments specified for command"));
    }
    let found = match keys_of(command, &request) {
        Some(found) => found.all(),
        None if command.has_flag("no_mandatory_keys") => Vec::new(),
        None => return Err(CommandError::text("ERR Invalid arguments specified for command")),
    };
    reply.array(found.len());
    for key in found {
        reply.bulk(key);
    }
    Ok(())
}
