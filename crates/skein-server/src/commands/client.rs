//! CLIENT: this connection and the others. `list` shows clients, `filter` selects those of CLIENT
//! KILL, `pause` holds clients back, `tracking` tells them of changed keys.

mod filter;
mod list;
mod pause;
mod tracking;

use std::sync::Arc;

use skein_syntax::number::parse_i64;

use super::command_error::SYNTAX;
use super::connection::{BAD_NAME, checked_name};
use super::reply_limit::ReplyLimit;
use super::subcommands::{help, subcommand};
use super::{
    AfterCommand, CommandContext, CommandError, CommandResult, QUOTED_BYTES_MAX, Replied, is, quoted,
};
use crate::clients::client::ClientState;
use crate::clients::client_registry::{ClientAttributes, ClientRecord};
use crate::resp::{Args, Reply};
use filter::{ClientFilter, ClientKind};
pub(super) use list::line;
pub(crate) use tracking::stop_tracking;

const HELP: &[&str] = &[
    "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "CACHING (YES|NO)",
    "    Track the keys of the next command, in mode OPTIN, or do not, in mode OPTOUT.",
    "GETNAME",
    "    Return the name of the current connection.",
    "GETREDIR",
    "    Return the ID of the client that receives the invalidations, or -1 without tracking.",
    "ID",
    "    Return the ID of the current connection.",
    "INFO",
    "    Return the line of LIST for the current connection.",
    "KILL <ip:port>",
    "    Disconnect the client at <ip:port>.",
    "KILL <option> <value> [<option> <value> [...]]",
    "    Disconnect the clients that match all options. Options are:",
    "    ADDR <ip:port>, LADDR <ip:port>, ID <id>, USER <name>,",
    "    TYPE (NORMAL|MASTER|REPLICA|PUBSUB), SKIPME (YES|NO)",
    "LIST [TYPE (NORMAL|MASTER|REPLICA|PUBSUB)] [ID <id> [<id> [...]]]",
    "    Return a line on each client.",
    "NO-EVICT (ON|OFF)",
    "    Whether the current connection is exempt from maxmemory-clients.",
    "PAUSE <timeout> [WRITE|ALL]",
    "    Pause the requests of all clients for <timeout> milliseconds: writes only, or all (the default).",
    "REPLY (ON|OFF|SKIP)",
    "    Turn replies on or off, or skip the next one.",
    "SETINFO <LIB-NAME|LIB-VER> <value>",
    "    Set the name or the version of the client library.",
    "SETNAME <name>",
    "    Assign the name <name> to the current connection.",
    "TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]] [OPTIN] [OPTOUT] [NOLOOP]",
    "    Tell the connection which keys that it has read are changed.",
    "TRACKINGINFO",
    "    Return the modes of tracking of the current connection.",
    "UNBLOCK <clientid> [TIMEOUT|ERROR]",
    "    End the wait of a client that a command blocks.",
    "UNPAUSE",
    "    End a pause.",
    "HELP",
    "    Prints this help.",
];

/// Runs the subcommands that concern only this client, which also work while the data is loading.
/// Returns false for all other subcommands.
pub(super) fn own_client(client: &mut ClientState, args: &Args, reply: &mut Reply) -> CommandResult<bool> {
    match subcommand(args)? {
        "id" => reply.count(client.id as usize),
        "getname" => match &client.record.attributes().name[..] {
            [] => reply.null(),
            name => reply.bulk(name),
        },
        "setname" => {
            let name = checked_name(args.get(2), "Client names", BAD_NAME)?;
            client.set_attributes(|attributes| attributes.name = name);
            reply.ok();
        }
        "setinfo" => {
            set_info(client, args.get(2), args.get(3))?;
            reply.ok();
        }
        "caching" => tracking::set_caching(client, args, reply)?,
        "getredir" => tracking::write_redirect(client, reply),
        "trackinginfo" => tracking::write_info(client, reply),
        "no-evict" => {
            let no_evict = parse_switch(args.get(2))?;
            client.set_attributes(|attributes| attributes.no_evict = no_evict);
            reply.ok();
        }
        "help" => help(HELP, reply),
        _ => return Ok(false),
    }
    Ok(true)
}

pub(super) fn client(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    if own_client(context.client, args, reply)? {
        return Ok(AfterCommand::Done);
    }
    match subcommand(args)? {
        "info" => {
            let (shared, client) = (context.shared, &*context.client);
            reply.text(&line(shared, client, &client.record, "client|info", usize::MAX));
        }
        "list" => write_list(context, args, reply)?,
        "kill" => return kill(context, args, reply),
        "tracking" => return tracking::set(context, args, reply),
        "pause" => return pause::begin(context.shared, args, reply),
        "unpause" => pause::end(context.shared, reply),
        "unblock" => pause::unblock(context.shared, args, reply)?,
        _ => set_replies(context, args.get(2), reply)?,
    }
    Ok(AfterCommand::Done)
}

fn set_info(client: &mut ClientState, attribute: &[u8], value: &[u8]) -> CommandResult<()> {
    let (place, name): (fn(&mut ClientAttributes) -> &mut Vec<u8>, _) = if is(attribute, "lib-name") {
        (|attributes| &mut attributes.library, "lib-name")
    } else if is(attribute, "lib-ver") {
        (|attributes| &mut attributes.library_version, "lib-ver")
    } else {
        let shown = quoted(attribute, QUOTED_BYTES_MAX);
        return Err(CommandError::owned([b"ERR Unrecognized option '", shown, b"'"].concat()));
    };
    let fault =
        CommandError::owned(format!("ERR {name} cannot contain spaces, newlines or special characters."));
    let value = checked_name(value, name, fault)?;
    client.set_attributes(|attributes| *place(attributes) = value);
    Ok(())
}

fn parse_switch(text: &[u8]) -> CommandResult<bool> {
    if is(text, "ON") {
        Ok(true)
    } else if is(text, "OFF") {
        Ok(false)
    } else {
        Err(SYNTAX)
    }
}

fn set_replies(context: &mut CommandContext, text: &[u8], reply: &mut Reply) -> Replied {
    let replies = &mut context.client.replies;
    if is(text, "ON") {
        replies.turn_on();
        reply.ok();
    } else if is(text, "OFF") {
        replies.turn_off();
    } else if is(text, "SKIP") {
        replies.skip_next();
    } else {
        return Err(SYNTAX);
    }
    Ok(())
}

fn write_list(context: &CommandContext, args: &Args, reply: &mut Reply) -> Replied {
    // The records are sorted by number, so a binary search finds each one. A request may name many
    // clients, and the same one many times.
    let mut records = context.shared.clients.registry.all();
    if args.len() == 4 && is(args.get(2), "TYPE") {
        let kind = ClientKind::parse(args.get(3))?;
        records.retain(|record| kind.fits(record));
    } else if args.len() > 3 && is(args.get(2), "ID") {
        let bad = CommandError::text("ERR Invalid client ID");
        let ids = args.from(3).map(|text| parse_i64(text).ok_or(bad.clone()));
        let ids = ids.collect::<Result<Vec<i64>, CommandError>>()?;
        let record_of = |id: i64| {
            let id = u64::try_from(id).ok()?;
            let at = records.binary_search_by_key(&id, |record| record.place.client).ok()?;
            Some(Arc::clone(&records[at]))
        };
        records = ids.into_iter().filter_map(record_of).collect();
    } else if args.len() != 2 {
        return Err(SYNTAX);
    }
    let limit = ReplyLimit::new(context.shared, reply, "name fewer clients at a time, with ID");
    let mut lines = String::new();
    for record in &records {
        lines.push_str(&line(context.shared, context.client, record, "client|list", usize::MAX));
        limit.check_bytes(lines.len())?;
    }
    reply.text(&lines);
    Ok(())
}

fn kill(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let by_address = args.len() == 3;
    let filter = if by_address {
        ClientFilter::of_address(args.get(2))
    } else {
        ClientFilter::parse(args, &context.shared.acl.users)?
    };
    let (killed, next) = disconnect(context, |record| filter.fits(record, context.client.id));
    match (by_address, killed) {
        (true, 0) => return Err(CommandError::text("ERR No such client")),
        (true, _) => reply.ok(),
        (false, _) => reply.count(killed),
    }
    Ok(next)
}

/// Disconnects some clients. Returns their number, and `Close` if this connection is one of them.
pub(super) fn disconnect(
    context: &CommandContext,
    is_meant: impl Fn(&ClientRecord) -> bool,
) -> (usize, AfterCommand) {
    let (mut count, mut next) = (0, AfterCommand::Done);
    for record in context.shared.clients.registry.all().iter().filter(|record| is_meant(record)) {
        if record.place.client != context.client.id {
            count += usize::from(context.shared.disconnect(record));
        } else if record.kill() {
            (count, next) = (count + 1, AfterCommand::Close);
        }
    }
    (count, next)
}
