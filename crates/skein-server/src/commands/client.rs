//! CLIENT: the connections, this one and others.

mod filter;
mod list;
mod pause;
mod tracking;

use super::connection::{BAD_NAME, checked_name};
use super::fault::SYNTAX;
use super::subcommands::{Subcommands, help, subcommand};
use super::{Context, Fault, Next, is};
use crate::client::Replies;
use crate::resp::number::parse_i64;
use crate::resp::{Args, Reply};
use filter::{Filter, check_kind};
pub(super) use list::line;

type Answer = Result<Next, Fault>;

const HELP: &[&str] = &[
    "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "CACHING (YES|NO)",
    "    An error: no client's keys are tracked.",
    "GETNAME",
    "    Return the name of the current connection.",
    "GETREDIR",
    "    Return -1: no client's keys are tracked.",
    "ID",
    "    Return the ID of the current connection.",
    "INFO",
    "    Return what LIST says of the current connection.",
    "KILL <ip:port>",
    "    Disconnect the client at <ip:port>.",
    "KILL <option> <value> [<option> <value> [...]]",
    "    Disconnect the clients that all options fit. Options are:",
    "    ADDR <ip:port>, LADDR <ip:port>, ID <id>, USER <name>,",
    "    TYPE (NORMAL|MASTER|REPLICA|PUBSUB), SKIPME (YES|NO)",
    "LIST [TYPE (NORMAL|MASTER|REPLICA|PUBSUB)] [ID <id> [<id> [...]]]",
    "    Return a line on each client.",
    "NO-EVICT (ON|OFF)",
    "    Note that the client is not to be evicted; clients never are.",
    "PAUSE <timeout> [WRITE|ALL]",
    "    Hold back requests of all clients for <timeout> milliseconds: those that write, or all (the default).",
    "REPLY (ON|OFF|SKIP)",
    "    Say which replies are wanted.",
    "SETINFO <LIB-NAME|LIB-VER> <value>",
    "    Set the name or the version of the client library.",
    "SETNAME <name>",
    "    Assign the name <name> to the current connection.",
    "TRACKING (ON|OFF) [<option> ...]",
    "    ON is an error: there is no tracking of keys.",
    "TRACKINGINFO",
    "    Return that this client's keys are not tracked.",
    "UNBLOCK <clientid> [TIMEOUT|ERROR]",
    "    Return 0: no command waits for others.",
    "UNPAUSE",
    "    End what PAUSE began.",
    "HELP",
    "    Prints this help.",
];

pub(super) const SUBCOMMANDS: Subcommands = &[
    ("id", 2),
    ("caching", 3),
    ("getredir", 2),
    ("pause", -3),
    ("tracking", -3),
    ("trackinginfo", 2),
    ("unblock", -3),
    ("unpause", 2),
    ("getname", 2),
    ("setname", 3),
    ("setinfo", 4),
    ("info", 2),
    ("list", -2),
    ("kill", -3),
    ("no-evict", 3),
    ("reply", 3),
    ("help", 2),
];

pub(super) fn client(context: &mut Context<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    match subcommand("client", SUBCOMMANDS, args)? {
        "id" => reply.count(context.client.id as usize),
        "getname" => match &context.client.card.said().name[..] {
            [] => reply.null(),
            name => reply.bulk(name),
        },
        "setname" => {
            context.client.card.said().name = checked_name(args.get(2), BAD_NAME)?;
            reply.ok();
        }
        "setinfo" => {
            set_info(context, args.get(2), args.get(3))?;
            reply.ok();
        }
        "info" => reply.text(&line(context.shared, context.client, &context.client.card, "client|info")),
        "list" => write_list(context, args, reply)?,
        "kill" => return kill(context, args, reply),
        "pause" => return pause::begin(context.shared, args, reply),
        "unpause" => pause::end(context.shared, reply),
        "unblock" => pause::unblock(args, reply)?,
        "caching" => return Err(tracking::CACHING),
        "getredir" => reply.int(tracking::NOBODY),
        "tracking" => tracking::set(args, reply)?,
        "trackinginfo" => tracking::info(reply),
        "no-evict" => {
            context.client.card.said().no_evict = parse_switch(args.get(2))?;
            reply.ok();
        }
        "reply" => set_replies(context, args.get(2), reply)?,
        _ => help(HELP, reply),
    }
    Ok(Next::Done)
}

fn set_info(context: &mut Context<'_>, attribute: &[u8], value: &[u8]) -> Result<(), Fault> {
    let mut said = context.client.card.said();
    let (place, name) = if is(attribute, "lib-name") {
        (&mut said.library, "lib-name")
    } else if is(attribute, "lib-ver") {
        (&mut said.library_version, "lib-ver")
    } else {
        let mut text = b"ERR Unrecognized option '".to_vec();
        text.extend_from_slice(attribute);
        text.push(b'\'');
        return Err(Fault::owned(text));
    };
    let fault = Fault::owned(format!("ERR {name} cannot contain spaces, newlines or special characters."));
    *place = checked_name(value, fault)?;
    Ok(())
}

fn parse_switch(text: &[u8]) -> Result<bool, Fault> {
    if is(text, "ON") {
        Ok(true)
    } else if is(text, "OFF") {
        Ok(false)
    } else {
        Err(SYNTAX)
    }
}

fn set_replies(context: &mut Context<'_>, text: &[u8], reply: &mut Reply<'_>) -> Result<(), Fault> {
    let replies = &mut context.client.replies;
    if is(text, "ON") {
        *replies = Replies::All;
        reply.ok();
    } else if is(text, "OFF") {
        *replies = Replies::None;
    } else if is(text, "SKIP") {
        // Who wants none at all does not want the one after the next.
        if *replies != Replies::None {
            *replies = Replies::SkipNext;
        }
    } else {
        return Err(SYNTAX);
    }
    Ok(())
}

fn write_list(context: &Context<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Result<(), Fault> {
    let mut cards = context.shared.clients.all();
    if args.len() == 4 && is(args.get(2), "TYPE") {
        let normal = check_kind(args.get(3))?;
        cards.retain(|_| normal);
    } else if args.len() > 3 && is(args.get(2), "ID") {
        let bad = Fault::text("ERR Invalid client ID");
        let ids = args.from(3).map(|text| parse_i64(text).ok_or(bad.clone()));
        let ids = ids.collect::<Result<Vec<i64>, Fault>>()?;
        let card_of = |id: i64| cards.iter().find(|card| i64::try_from(card.place.client) == Ok(id)).cloned();
        cards = ids.into_iter().filter_map(card_of).collect();
    } else if args.len() != 2 {
        return Err(SYNTAX);
    }
    let lines = cards.iter().map(|card| line(context.shared, context.client, card, "client|list"));
    reply.text(&lines.collect::<String>());
    Ok(())
}

fn kill(context: &mut Context<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    let by_address = args.len() == 3;
    let filter = if by_address {
        Filter::of_address(args.get(2))
    } else {
        Filter::parse(args, &context.shared.acl.users)?
    };
    let (me, shared) = (context.client.id, context.shared);
    let (mut killed, mut me_too) = (0, false);
    for card in shared.clients.all() {
        if !filter.fits(&card, me) || !card.kill() {
            continue;
        }
        killed += 1;
        if card.place.client == me {
            me_too = true;
        } else {
            shared.disconnect(card.place);
        }
    }
    match (by_address, killed) {
        (true, 0) => return Err(Fault::text("ERR No such client")),
        (true, _) => reply.ok(),
        (false, _) => reply.count(killed),
    }
    Ok(if me_too { Next::Close } else { Next::Done })
}
