//! What is answered before there is data: what Redis, too, answers then and needs no data. The rest
//! hears LOADING, and how long it may take.

use crate::client::Client;
use crate::commands::access::denied::fault as denied_fault;
use crate::commands::connection::{Entrance, auth_at, hello_at, refuse_unauthenticated, reset_at};
use crate::commands::server::check_shutdown;
use crate::commands::{Command, Fault, Resolved, is_cross_protocol, refuse};
use crate::info;
use crate::loading::Loading;
use crate::resp::{Args, Reply};

use super::super::connection::Connection;
use super::super::output::Output;

/// Answers the first request of a connection, and takes it out of the queue.
pub(super) fn answer(connection: &mut Connection, output: &mut Output, loading: &Loading) {
    let Some(tag) = connection.input.tag(0) else { return };
    let args = connection.input.args(0);
    let start = output.buffer.len();
    let client = &mut connection.client;
    let mut reply = Reply::new(&mut output.buffer, client.protocol);
    let closes = match Resolved::of(tag) {
        Resolved::Command(command) => match run((command, tag), client, &args, loading, &mut reply) {
            Ok(closes) => closes,
            Err(fault) => {
                output.buffer.truncate(start);
                fault.write(&mut Reply::new(&mut output.buffer, client.protocol));
                false
            }
        },
        _ if is_cross_protocol(args.get(0)) => {
            loading.warnings.cross_protocol(&client.card);
            connection.attacked = true;
            true
        }
        other => {
            refuse(other, &args, &mut reply);
            false
        }
    };
    connection.closing |= closes;
    connection.input.take(1);
}

/// Runs a request; whether the connection then closes.
fn run(
    (command, tag): (&'static Command, u16),
    client: &mut Client,
    args: &Args<'_>,
    loading: &Loading,
    reply: &mut Reply<'_>,
) -> Result<bool, Fault> {
    command.check_subcommand(args)?;
    if !client.authenticated && !command.has_flag("no_auth") {
        refuse_unauthenticated(command, reply);
        return Ok(false);
    }
    client.check(tag, args).map_err(|denied| denied_fault(&denied))?;
    // ACL LOG begins with the data; until then the server's log alone has it.
    let refused = |_: &Client, _: &[u8], user: &[u8]| {
        tracing::warn!(user = %user.escape_ascii(), "a client gave a wrong password while the data was read back");
    };
    let mut entrance = Entrance { client, acl: &loading.acl, refused: &refused };
    match command.name {
        "auth" => auth_at(&mut entrance, args, reply)?,
        "hello" => hello_at(&mut entrance, args, reply)?,
        "reset" => reset_at(&mut entrance, reply),
        "echo" => reply.bulk(args.get(1)),
        "info" => {
            let names: Vec<&[u8]> = args.from(1).collect();
            reply.text(&info::loading::text(loading, &names));
        }
        "quit" => {
            reply.ok();
            return Ok(true);
        }
        "shutdown" => {
            check_shutdown(args)?;
            tracing::info!(client = client.id, "a client asked for a stop");
            loading.progress.cancel();
            return Ok(true);
        }
        _ => {
            let words = loading.words();
            return Err(Fault::owned(format!("LOADING SkeinDB is loading the dataset in memory: {words}")));
        }
    }
    Ok(false)
}
