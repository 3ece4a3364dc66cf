//! Answers requests while the server is loading: those of commands with a loading handler in the
//! table (`commands::while_loading`). All other commands answer LOADING and an estimate of the time
//! left.

use crate::clients::client::ClientState;
use crate::command_table::Flag;
use crate::commands::access::denied::fault as denied_fault;
use crate::commands::connection::refuse_unauthenticated;
use crate::commands::while_loading::{AfterLoadingCommand, LoadingContext};
use crate::commands::{Command, CommandError, ResolvedTag, refuse};
use crate::net::loading::Loading;
use crate::resp::{ReplyWriter, RequestArgs};

use super::super::admission::is_attack;
use super::super::connection::Connection;
use super::super::reply_buffer::ReplyBuffer;

/// Answers the first request of a connection and removes it from the queue.
pub(super) fn answer(connection: &mut Connection, output: &mut ReplyBuffer, loading: &Loading) {
    let Some(tag) = connection.input.tag(0) else { return };
    let args = connection.input.args(0);
    let start = output.buffer.len();
    let client = &mut connection.client;
    let mut reply = ReplyWriter::new(&mut output.buffer, client.protocol);
    let resolved = ResolvedTag::of(tag);
    let closes = match resolved {
        ResolvedTag::Command(command) => match run(command, tag, client, &args, loading, &mut reply) {
            Ok(closes) => closes,
            Err(fault) => {
                output.buffer.truncate(start);
                fault.write(&mut ReplyWriter::new(&mut output.buffer, client.protocol));
                false
            }
        },
        _ if is_attack(resolved, &args, client, &loading.warnings) => {
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

/// Runs a request. Returns whether the connection must be closed after it.
fn run(
    command: &'static Command,
    tag: u16,
    client: &mut ClientState,
    args: &RequestArgs<'_>,
    loading: &Loading,
    reply: &mut ReplyWriter<'_>,
) -> Result<bool, CommandError> {
    command.check_subcommand(args)?;
    if !client.authenticated && !command.has(Flag::NoAuth) {
        refuse_unauthenticated(command, reply);
        return Ok(false);
    }
    client.check(tag, args).map_err(|denied| denied_fault(&denied))?;
    let early = &mut LoadingContext { client, loading };
    match command.while_loading {
        Some(run) => Ok(run(early, args, reply)? == AfterLoadingCommand::Close),
        None => Err(early.refusal()),
    }
}
