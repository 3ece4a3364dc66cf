//! Commands about replicas, clusters and modules. This server has no such things, and the answers
//! are those of a standalone Redis: clients and tools ask before they use them.

pub(crate) mod table;

use skein_data::{Durability, Ticket};
use skein_syntax::number::parse_i64;

use super::command_error::{NOT_AN_INTEGER, SYNTAX};
use super::subcommands::{help, subcommand};
use super::{AfterCommand, CommandContext, CommandError, CommandResult, is};
use crate::resp::{Args, Reply};

/// The error for every command about a cluster, also for CLUSTER HELP. Clients know this text.
pub(super) const NO_CLUSTER: CommandError =
    CommandError::text("ERR This instance has cluster support disabled");

const MODULE_HELP: &[&str] = &[
    "MODULE <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "LIST",
    "    Return the loaded modules: none.",
    "HELP",
    "    Prints this help.",
];

pub(super) fn module(_: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    match subcommand(args)? {
        "help" => help(MODULE_HELP, reply),
        "list" => reply.array(0),
        other => {
            return Err(CommandError::owned(format!(
                "ERR MODULE {} is not supported: SkeinDB loads no modules; run Redis or Valkey for them",
                other.to_ascii_uppercase()
            )));
        }
    }
    Ok(AfterCommand::Done)
}

/// Runs REPLICAOF and SLAVEOF. The server is no replica, so NO ONE changes nothing.
pub(super) fn replica_of(_: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    if is(args.get(1), "NO") && is(args.get(2), "ONE") {
        reply.ok();
        return Ok(AfterCommand::Done);
    }
    let port = parse_i64(args.get(2)).filter(|port| (0..=i64::from(u16::MAX)).contains(port));
    if port.is_none() {
        return Err(CommandError::text("ERR Invalid master port"));
    }
    Err(CommandError::text(
        "ERR SkeinDB cannot be a replica; to copy the data of another server, run 'skein copy' \
         (see docs/operations.md)",
    ))
}

/// Writes the role of a master without replicas. Nothing is ever sent to a replica, so the offset
/// is 0.
pub(super) fn role(reply: &mut Reply) -> CommandResult {
    reply.array(3);
    reply.bulk(b"master");
    reply.int(0);
    reply.array(0);
    Ok(AfterCommand::Done)
}

/// `FAILOVER [TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]`: correct requests fail for want
/// of replicas.
pub(super) fn failover(_: &mut CommandContext, args: &Args, _: &mut Reply) -> CommandResult {
    let (mut to, mut force, mut timeout) = (false, false, false);
    if args.len() == 2 && is(args.get(1), "ABORT") {
        return Err(CommandError::text("ERR No failover in progress."));
    }
    let mut at = 1;
    while at < args.len() {
        let has = |more: usize| at + more < args.len();
        if is(args.get(at), "TIMEOUT") && has(1) && !timeout {
            match parse_i64(args.get(at + 1)) {
                None => return Err(NOT_AN_INTEGER),
                Some(..=0) => return Err(CommandError::text("ERR FAILOVER timeout must be greater than 0")),
                Some(_) => (timeout, at) = (true, at + 2),
            }
        } else if is(args.get(at), "TO") && has(2) && !to {
            parse_i64(args.get(at + 2)).ok_or(NOT_AN_INTEGER)?;
            (to, at) = (true, at + 3);
        } else if is(args.get(at), "FORCE") && !force {
            (force, at) = (true, at + 1);
        } else {
            return Err(SYNTAX);
        }
    }
    Err(CommandError::text("ERR FAILOVER requires connected replicas."))
}

/// `WAITAOF numlocal numreplicas timeout` (Redis 7.2): replies when all writes so far are on disk.
/// The log is synced at once, so the timeout is not needed, and there are no replicas to wait for.
pub(super) fn wait_aof(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let must_be_local = match parse_i64(args.get(1)) {
        None => return Err(NOT_AN_INTEGER),
        Some(local @ 0..=1) => local == 1,
        Some(_) => return Err(CommandError::text("ERR value is out of range, value must between 0 and 1")),
    };
    if parse_i64(args.get(2)).is_none_or(|replicas| replicas < 0) {
        return Err(CommandError::text("ERR value is out of range, must be positive"));
    }
    super::server::check_wait_timeout(args.get(3))?;
    let is_logged = context.shared.data.durability != Durability::None;
    if must_be_local && !is_logged {
        return Err(CommandError::text(
            "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.",
        ));
    }
    let stats = context.session.stats();
    let is_durable = is_logged && stats.log_bytes_behind == 0;
    // As in Redis, nothing waits inside a transaction.
    let waits = must_be_local && !is_durable && !context.client.in_exec();
    reply.array(2);
    reply.int(i64::from(is_durable || waits));
    reply.int(0);
    Ok(if waits { AfterCommand::Durable(Ticket { epoch: stats.epoch }) } else { AfterCommand::Done })
}
