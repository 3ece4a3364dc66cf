//! CONFIG: the server's settings under Redis's names.

mod clients;
mod kept;
mod memory;
mod observing;
mod output_limit;
mod redis_parameters;
mod rewrite;
mod table;
mod tls;
mod users;
mod values;

use super::command_error::SYNTAX;
use super::subcommands::{help, subcommand};
use super::{AfterCommand, CommandContext, CommandError, is};
use crate::command_table::subcommands;
use crate::glob::Glob;
use crate::resp::{ReplyWriter, RequestArgs};
use crate::shared::ServerShared;
use skein_sync::locks::lock;
use table::{ConfigParameter, PARAMETERS};

const HELP: &[&str] = &[
    "CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "GET <pattern> [<pattern> [...]]",
    "    Return the parameters that match a pattern, and their values.",
    "SET <parameter> <value> [<parameter> <value> [...]]",
    "    Set parameters that can change while the server runs. Some of Redis are only kept.",
    "RESETSTAT",
    "    Reset the statistics of INFO.",
    "REWRITE",
    "    Write the changed parameters to the options file, except secrets.",
    "HELP",
    "    Prints this help.",
];

pub(super) fn config(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    match subcommand("config", subcommands::CONFIG, args)? {
        "get" => get(context.shared, args, reply),
        "set" => {
            set(context.shared, args)?;
            reply.ok();
            if args.from(2).step_by(2).any(|name| is(name, "notify-keyspace-events")) {
                // Other workers notice the changes of keys that clients want to know from now on.
                return Ok(AfterCommand::Fence);
            }
        }
        "resetstat" => {
            context.shared.reset_statistics();
            reply.ok();
        }
        "rewrite" => {
            rewrite::rewrite(context.shared)?;
            reply.ok();
        }
        _ => help(HELP, reply),
    }
    Ok(AfterCommand::Done)
}

fn get(shared: &ServerShared, args: &RequestArgs<'_>, reply: &mut ReplyWriter<'_>) {
    // As in Redis, a name without wildcards is returned as the client wrote it, and the first
    // matching pattern names the parameter.
    let mut names: Vec<Option<&[u8]>> = vec![None; PARAMETERS.len()];
    for pattern in args.from(2) {
        let plain = !pattern.iter().any(|byte| b"[*?".contains(byte));
        let glob = Glob::new(&pattern.to_ascii_lowercase());
        for (parameter, name) in PARAMETERS.iter().zip(&mut names).filter(|(_, name)| name.is_none()) {
            let full = parameter.name.as_bytes();
            *name = glob.matches(full, &mut 0).then_some(if plain { pattern } else { full });
        }
    }
    let found = PARAMETERS.iter().zip(names);
    let found: Vec<_> =
        found.filter_map(|(parameter, name)| Some((name?, parameter.value(shared)))).collect();
    reply.map(found.len());
    for (name, value) in found {
        reply.bulk(name);
        reply.bulk(value.as_bytes());
    }
}

/// Sets all named parameters, or none if one of them is wrong. Any parameter, even a fixed one, can
/// be set to its current value.
fn set(shared: &ServerShared, args: &RequestArgs<'_>) -> Result<(), CommandError> {
    if !args.len().is_multiple_of(2) {
        return Err(SYNTAX);
    }
    let _one = lock(&shared.configuring);
    let mut named: Vec<(&'static ConfigParameter, &[u8])> = Vec::new();
    for at in (2..args.len()).step_by(2) {
        let Some(&parameter) = PARAMETERS.iter().find(|known| is(args.get(at), known.name)) else {
            let before = &b"ERR Unknown option or number of arguments for CONFIG SET - '"[..];
            return Err(CommandError::owned([before, args.get(at), b"'"].concat()));
        };
        let unchanged = parameter.value(shared).as_bytes() == args.get(at + 1);
        if parameter.is_fixed(shared) && !unchanged {
            return Err(failed(parameter, parameter.refusal()));
        }
        if named.iter().any(|(other, _)| other.name == parameter.name) {
            return Err(failed(parameter, "duplicate parameter"));
        }
        named.push((parameter, args.get(at + 1)));
    }
    let mut changes = Vec::new();
    for &(parameter, value) in &named {
        changes.push(parameter.change(shared, value).map_err(|why| failed(parameter, &why))?);
    }
    changes.extend(tls::change(shared, &named)?);
    for apply in changes {
        apply(shared);
    }
    let set = named.iter().map(|(parameter, _)| *parameter).filter(|parameter| !parameter.is_fixed(shared));
    lock(&shared.settings.set_by_clients).extend(set.map(|parameter| parameter.name));
    Ok(())
}

/// Returns the value of a parameter, which is empty for an unknown name.
pub(crate) fn value_of(shared: &ServerShared, name: &str) -> String {
    let known = PARAMETERS.iter().find(|parameter| parameter.name == name);
    known.map_or_else(String::new, |parameter| parameter.value(shared))
}

/// Returns how many parameters accept this value.
#[cfg(fuzzing)]
pub(crate) fn takers(text: &[u8]) -> usize {
    PARAMETERS.iter().filter(|parameter| parameter.takes(text)).count()
}

fn failed(parameter: &ConfigParameter, why: &str) -> CommandError {
    let name = parameter.name;
    CommandError::owned(format!("ERR CONFIG SET failed (possibly related to argument '{name}') - {why}"))
}
