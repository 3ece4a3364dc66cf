//! CONFIG: the server's settings under Redis's names. Their rows are in `config`. `table` shows and
//! sets the parameter of a row, `rewrite` writes the file, `values` parses numbers. The other files
//! have the parameters that need more than their row: `clients`, `memory`, `observing`,
//! `output_limit`, `tls`, `users`, and `kept` those that mean nothing here.

pub(crate) mod clients;
pub(crate) mod kept;
pub(crate) mod memory;
pub(crate) mod observing;
pub(crate) mod output_limit;
mod rewrite;
mod table;
mod tls;
pub(crate) mod users;
mod values;

use super::command_error::SYNTAX;
use super::subcommands::{help, subcommand};
use super::{AfterCommand, CommandContext, CommandError, CommandResult, is};
use crate::config::{CONFIG_PARAMETERS, Parameter};
use crate::redis::glob::Glob;
use crate::resp::{Args, Reply};
use crate::shared::ServerShared;
pub(crate) use clients::check_clients;
pub(crate) use kept::KeptKind;
use skein_sync::locks::lock;
pub(crate) use table::{ApplyChange, IMMUTABLE, TlsFile};

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

pub(super) fn config(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    match subcommand(args)? {
        "get" => get(context.shared, args, reply),
        "set" => {
            set(context.shared, args)?;
            reply.ok();
            if args.from(2).step_by(2).any(|name| is(name, "notify-keyspace-events")) {
                // From now on, other workers notice the changes of keys that clients observe.
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

fn get(shared: &ServerShared, args: &Args, reply: &mut Reply) {
    // As in Redis, a name without wildcards is returned as the client wrote it, and the first
    // matching pattern names the parameter.
    let mut names: Vec<Option<&[u8]>> = vec![None; CONFIG_PARAMETERS.len()];
    for pattern in args.from(2) {
        let plain = !pattern.iter().any(|byte| b"[*?".contains(byte));
        let glob = Glob::new(&pattern.to_ascii_lowercase());
        for ((full, _), name) in CONFIG_PARAMETERS.iter().zip(&mut names).filter(|(_, name)| name.is_none()) {
            let full = full.as_bytes();
            *name = glob.matches(full, &mut 0).then_some(if plain { pattern } else { full });
        }
    }
    let found = CONFIG_PARAMETERS.iter().zip(names);
    let found: Vec<_> = found
        .filter_map(|((full, parameter), name)| Some((name?, table::value(parameter, full, shared))))
        .collect();
    reply.map(found.len());
    for (name, value) in found {
        reply.bulk(name);
        reply.bulk(value.as_bytes());
    }
}

/// Sets all named parameters, or none if one of them is wrong. Any parameter, even a fixed one, can
/// be set to its current value.
fn set(shared: &ServerShared, args: &Args) -> CommandResult<()> {
    if !args.len().is_multiple_of(2) {
        return Err(SYNTAX);
    }
    let _one = lock(&shared.settings.changing);
    let mut named: Vec<NamedValue<'_>> = Vec::new();
    for at in (2..args.len()).step_by(2) {
        let Some((name, row)) = CONFIG_PARAMETERS.iter().find(|(known, _)| is(args.get(at), known)) else {
            let before = &b"ERR Unknown option or number of arguments for CONFIG SET - '"[..];
            return Err(CommandError::owned([before, args.get(at), b"'"].concat()));
        };
        let text = args.get(at + 1);
        if table::is_fixed(row, shared) && table::value(row, name, shared).as_bytes() != text {
            return Err(failed(name, table::refusal(row)));
        }
        if named.iter().any(|other| other.name == *name) {
            return Err(failed(name, "duplicate parameter"));
        }
        named.push(NamedValue { name, row, text });
    }
    let mut changes = Vec::new();
    for NamedValue { name, row, text } in &named {
        changes.push(table::change(row, name, shared, text).map_err(|why| failed(name, &why))?);
    }
    changes.extend(tls::change(shared, &named)?);
    for apply in changes {
        apply(shared);
    }
    let set = named.iter().filter(|named| !table::is_fixed(named.row, shared)).map(|named| named.name);
    lock(&shared.settings.set_by_clients).extend(set);
    Ok(())
}

/// A parameter of CONFIG SET, under the name that the client gave, with its new value.
struct NamedValue<'a> {
    name: &'static str,
    row: &'static Parameter,
    text: &'a [u8],
}

/// Returns the value of a parameter, which is empty for an unknown name.
pub(crate) fn value_of(shared: &ServerShared, name: &str) -> String {
    let known = CONFIG_PARAMETERS.iter().find(|(known, _)| *known == name);
    known.map_or_else(String::new, |(_, row)| table::value(row, name, shared))
}

fn yes_or_no(on: bool) -> &'static str {
    if on { "yes" } else { "no" }
}

/// Returns how many parameters accept this value.
#[cfg(fuzzing)]
pub(crate) fn takers(text: &[u8]) -> usize {
    CONFIG_PARAMETERS.iter().filter(|(_, row)| table::takes(row, text)).count()
}

fn failed(name: &str, why: &str) -> CommandError {
    CommandError::owned(format!("ERR CONFIG SET failed (possibly related to argument '{name}') - {why}"))
}
