//! ACL DRYRUN: tells whether a user may run a request.

use crate::acl::Denial;
use crate::command_table::COMMANDS;
use crate::commands::{CommandContext, CommandError, Replied, find, takes};
use crate::resp::{Args, Reply};

pub(super) fn dry_run(context: &CommandContext, args: &Args, reply: &mut Reply) -> Replied {
    let not_found = |what: &str, name: &[u8]| {
        CommandError::owned([b"ERR ", what.as_bytes(), b" '", name, b"' not found"].concat())
    };
    let user = context.shared.acl.users.get(args.get(2)).ok_or_else(|| not_found("User", args.get(2)))?;
    let request = args.rest(3);
    let index = find(request.get(0)).ok_or_else(|| not_found("Command", request.get(0)))?;
    let command = &COMMANDS[index];
    let (mut name, mut arity) = (command.name.to_owned(), command.arity);
    if !command.subcommands.is_empty() && request.len() > 1 {
        let subcommand =
            command.subcommand_of(&request).ok_or_else(|| not_found("Command", request.get(0)))?;
        (name, arity) = (subcommand.full_name(command), subcommand.arity);
    }
    if !takes(arity, request.len()) {
        return Err(CommandError::wrong_arity(&name));
    }
    match user.check(index, &request) {
        Ok(()) => reply.ok(),
        Err(Denial::Command(name)) => {
            reply.bulk(format!("This user has no permissions to run the '{name}' command").as_bytes());
        }
        Err(Denial::Key(_, key)) => {
            reply.bulk(&[b"This user has no permissions to access the '", &*key, b"' key"].concat());
        }
        Err(Denial::Channel(_, channel)) => {
            reply.bulk(&[b"This user has no permissions to access the '", &*channel, b"' channel"].concat());
        }
    }
    Ok(())
}
