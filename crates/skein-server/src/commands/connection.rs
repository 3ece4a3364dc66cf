//! Commands about the connection itself.

use super::fault::{NO_AUTH, NOT_AN_INTEGER};
use super::{Context, Fault, Next, is};
use crate::client::same_secret;
use crate::resp::number::parse_i64;
use crate::resp::{Args, Protocol, Reply};

const BAD_NAME: Fault =
    Fault::text("ERR Client names cannot contain spaces, newlines or special characters.");

type Answer = Result<Next, Fault>;

pub(super) fn ping(_: &mut Context<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    match args.len() {
        1 => reply.simple("PONG"),
        2 => reply.bulk(args.get(1)),
        _ => return Err(Fault::wrong_arity("ping")),
    }
    Ok(Next::Done)
}

pub(super) fn echo(_: &mut Context<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    reply.bulk(args.get(1));
    Ok(Next::Done)
}

pub(super) fn quit(_: &mut Context<'_>, _: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    reply.ok();
    Ok(Next::Close)
}

pub(super) fn select(_: &mut Context<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    match parse_i64(args.get(1)).map(i32::try_from) {
        Some(Ok(0)) => reply.ok(),
        Some(Ok(_)) => return Err(Fault::text("ERR DB index is out of range")),
        Some(Err(_)) => {
            return Err(Fault::text(
                "ERR value is out of range, value must between -2147483648 and 2147483647",
            ));
        }
        None => return Err(NOT_AN_INTEGER),
    }
    Ok(Next::Done)
}

/// Checks a password; the only user is "default".
fn log_in(context: &mut Context<'_>, user: &[u8], password: &[u8]) -> Result<(), Fault> {
    let matches = match &context.shared.options.password {
        Some(secret) => same_secret(password, secret),
        // As in Redis, without a password the default user takes any.
        None => true,
    };
    if user == b"default" && matches {
        context.client.authenticated = true;
        return Ok(());
    }
    tracing::warn!(client = context.client.id, "a client gave a wrong password");
    Err(Fault::text("WRONGPASS invalid username-password pair or user is disabled."))
}

pub(super) fn auth(context: &mut Context<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    match args.len() {
        2 if context.shared.options.password.is_none() => {
            return Err(Fault::text(
                "ERR AUTH <password> called without any password configured for the default user. \
                 Are you sure your configuration is correct?",
            ));
        }
        2 => log_in(context, b"default", args.get(1))?,
        3 => log_in(context, args.get(1), args.get(2))?,
        _ => return Err(super::fault::SYNTAX),
    }
    reply.ok();
    Ok(Next::Done)
}

/// `HELLO [version [AUTH user password] [SETNAME name]]`
pub(super) fn hello(context: &mut Context<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    let mut protocol = context.client.protocol;
    if args.len() > 1 {
        protocol = match parse_i64(args.get(1)) {
            None => return Err(Fault::text("ERR Protocol version is not an integer or out of range")),
            Some(2) => Protocol::Resp2,
            Some(3) => Protocol::Resp3,
            Some(_) => return Err(Fault::text("NOPROTO unsupported protocol version")),
        };
    }
    let mut at = 2;
    while at < args.len() {
        let rest = args.len() - at - 1;
        if is(args.get(at), "AUTH") && rest >= 2 {
            log_in(context, args.get(at + 1), args.get(at + 2))?;
            at += 3;
        } else if is(args.get(at), "SETNAME") && rest >= 1 {
            context.client.name = checked_name(args.get(at + 1), BAD_NAME)?;
            at += 2;
        } else {
            let mut text = b"ERR Syntax error in HELLO option '".to_vec();
            text.extend_from_slice(args.get(at));
            text.push(b'\'');
            return Err(Fault::owned(text));
        }
    }
    if !context.client.authenticated {
        return Err(Fault::text(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH \
             <user> <pass> option can be used to authenticate the client and select the RESP protocol version at \
             the same time",
        ));
    }
    context.client.protocol = protocol;
    reply.set_protocol(protocol);
    greet(context, reply);
    Ok(Next::Done)
}

fn greet(context: &Context<'_>, reply: &mut Reply<'_>) {
    reply.map(7);
    for (name, value) in [("server", "skeindb"), ("version", env!("CARGO_PKG_VERSION"))] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"proto");
    reply.int(if context.client.protocol == Protocol::Resp3 { 3 } else { 2 });
    reply.bulk(b"id");
    reply.count(context.client.id as usize);
    for (name, value) in [("mode", "standalone"), ("role", "master")] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"modules");
    reply.array(0);
}

/// Names go into lists that are read line by line and word by word.
fn checked_name(name: &[u8], fault: Fault) -> Result<Vec<u8>, Fault> {
    if name.iter().all(u8::is_ascii_graphic) { Ok(name.to_vec()) } else { Err(fault) }
}

const CLIENT_HELP: &[&str] = &[
    "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "GETNAME",
    "    Return the name of the current connection.",
    "ID",
    "    Return the ID of the current connection.",
    "SETINFO <LIB-NAME|LIB-VER> <value>",
    "    Set the name or the version of the client library.",
    "SETNAME <name>",
    "    Assign the name <name> to the current connection.",
    "HELP",
    "    Print this help.",
];

/// A client's subcommands and how many arguments they take.
pub(super) fn client(context: &mut Context<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    const SUBCOMMANDS: &[(&str, usize)] =
        &[("id", 2), ("getname", 2), ("setname", 3), ("setinfo", 4), ("help", 2)];
    let subcommand = subcommand("client", SUBCOMMANDS, args)?;
    let client = &mut *context.client;
    match subcommand {
        "id" => reply.count(client.id as usize),
        "getname" if client.name.is_empty() => reply.null(),
        "getname" => reply.bulk(&client.name),
        "setname" => {
            client.name = checked_name(args.get(2), BAD_NAME)?;
            reply.ok();
        }
        "setinfo" => {
            set_info(context, args.get(2), args.get(3))?;
            reply.ok();
        }
        _ => help(CLIENT_HELP, reply),
    }
    Ok(Next::Done)
}

fn set_info(context: &mut Context<'_>, attribute: &[u8], value: &[u8]) -> Result<(), Fault> {
    let (place, name) = if is(attribute, "lib-name") {
        (&mut context.client.library, "lib-name")
    } else if is(attribute, "lib-ver") {
        (&mut context.client.library_version, "lib-ver")
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

/// A help text: an array of lines.
pub(super) fn help(lines: &[&str], reply: &mut Reply<'_>) {
    reply.array(lines.len());
    for line in lines {
        reply.simple(line);
    }
}

/// Finds a subcommand (argument 1) and checks how many arguments it has; 0 for any number.
pub(super) fn subcommand(
    command: &str,
    known: &[(&'static str, usize)],
    args: &Args<'_>,
) -> Result<&'static str, Fault> {
    let given = args.get(1);
    match known.iter().find(|(name, _)| is(given, name)) {
        Some((name, wanted)) if *wanted == 0 || *wanted == args.len() => Ok(name),
        Some((name, _)) => Err(Fault::wrong_arity(&format!("{command}|{name}"))),
        None => {
            let mut text = b"ERR unknown subcommand '".to_vec();
            text.extend_from_slice(&given[..given.len().min(128)]);
            text.extend_from_slice(format!("'. Try {} HELP.", command.to_ascii_uppercase()).as_bytes());
            Err(Fault::owned(text))
        }
    }
}

/// What a client hears that has not given the password.
pub(crate) fn refuse_unauthenticated(reply: &mut Reply<'_>) {
    reply.error(NO_AUTH);
}
