//! ACL: users and their permissions. `users` changes users, `dryrun` tries a request, `log` and
//! `denied` tell of denied ones.

pub(crate) mod denied;
mod dryrun;
mod log;
mod users;

use skein_syntax::number::parse_i64;

use super::subcommands::{help, subcommand};
use super::{AfterCommand, CommandContext, CommandError, CommandResult, Replied};
use crate::acl::{self, CATEGORY_NAMES, Category};
use crate::resp::{Args, Reply};

/// Bits of a generated password: the maximum, and the default.
const PASSWORD_BITS_MAX: i64 = 4096;
const PASSWORD_BITS: usize = 256;

const HELP: &[&str] = &[
    "ACL <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "CAT [<category>]",
    "    Return the categories, or the commands of one category.",
    "DELUSER <username> [<username> ...]",
    "    Remove users, and disconnect their clients.",
    "DRYRUN <username> <command> [<arg> ...]",
    "    Return whether the user may run the command, without running it.",
    "GENPASS [<bits>]",
    "    Return a new random password of <bits> bits (256 by default).",
    "GETUSER <username>",
    "    Return the flags, passwords and rules of a user.",
    "LIST",
    "    Return the users as lines of an ACL file.",
    "LOAD",
    "    Load the users from the ACL file.",
    "LOG [<count> | RESET]",
    "    Return the latest denied requests and logins, or delete them.",
    "SAVE",
    "    Write the users to the ACL file.",
    "SETUSER <username> <rule> [<rule> ...]",
    "    Create a user, or change one.",
    "USERS",
    "    Return the names of the users.",
    "WHOAMI",
    "    Return the user of this connection.",
    "HELP",
    "    Prints this help.",
];

pub(super) fn acl(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    match subcommand(args)? {
        "cat" => categories(args, reply)?,
        "deluser" => return users::remove(context, args, reply),
        "dryrun" => dryrun::dry_run(context, args, reply)?,
        "genpass" => generate(args, reply)?,
        "getuser" => users::get(context, args, reply),
        "list" => users::list(context, reply),
        "load" => return users::load(context, reply),
        "log" => log::log(context, args, reply)?,
        "save" => users::save(context, reply)?,
        "setuser" => return users::set(context, args, reply),
        "users" => users::names(context, reply),
        "whoami" => reply.bulk(&context.client.user().name),
        _ => help(HELP, reply),
    }
    Ok(AfterCommand::Done)
}

/// Returns the error of subcommands with an optional argument, which have a text of their own.
fn too_many(args: &Args) -> CommandError {
    let name = String::from_utf8_lossy(super::quoted(args.get(1), super::QUOTED_BYTES_MAX)).into_owned();
    CommandError::owned(format!(
        "ERR unknown subcommand or wrong number of arguments for '{name}'. Try ACL HELP."
    ))
}

fn categories(args: &Args, reply: &mut Reply) -> Replied {
    let names: Vec<&str> = match args.len() {
        2 => CATEGORY_NAMES.to_vec(),
        3 => {
            let category = Category::find(args.get(2)).ok_or_else(|| {
                let name = super::quoted(args.get(2), super::QUOTED_BYTES_MAX);
                CommandError::owned([b"ERR Unknown category '", name, b"'"].concat())
            })?;
            acl::names_in(category)
        }
        _ => return Err(too_many(args)),
    };
    reply.bulks(&names);
    Ok(())
}

fn generate(args: &Args, reply: &mut Reply) -> Replied {
    let bits = match args.len() {
        2 => PASSWORD_BITS,
        3 => {
            let bits = parse_i64(args.get(2)).ok_or(super::command_error::NOT_AN_INTEGER)?;
            let bits = usize::try_from(bits).ok().filter(|_| (1..=PASSWORD_BITS_MAX).contains(&bits));
            bits.ok_or(CommandError::text(
                "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096",
            ))?
        }
        _ => return Err(too_many(args)),
    };
    let password = acl::generate_password(bits).map_err(|error| {
        CommandError::owned(format!("ERR the operating system returned no random bytes: {error}; try again"))
    })?;
    reply.bulk(password.as_bytes());
    Ok(())
}
