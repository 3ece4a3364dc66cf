//! ACL SETUSER, GETUSER, DELUSER, LIST, USERS, LOAD, SAVE.

use std::path::Path;

use crate::acl::{AclFileError, AclRuleError, AclSelector, AllKeys, DEFAULT, SetUserError};
use crate::clients::client_registry::ClientRecord;
use crate::commands::client::disconnect;
use crate::commands::{
    AfterCommand, CommandContext, CommandError, CommandResult, QUOTED_BYTES_MAX, Replied, quoted,
};
use crate::notice::channels::ChannelKind;
use crate::resp::{Args, Reply};

pub(super) fn set(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let rules: Vec<&[u8]> = args.from(3).collect();
    context.shared.acl.users.set(args.get(2), &rules).map_err(|error| refusal(&error))?;
    log_change(context, "a user was changed", args.get(2));
    // Later requests of this connection are checked against the new permissions.
    context.client.refresh(&context.shared.acl.users);
    reply.ok();
    Ok(disconnect_subscribers(context, args.get(2)))
}

/// Closes the connections of a user that have subscribed to channels which it may not read any
/// more. A client that subscribes meanwhile is closed when a message arrives (`worker::messages`).
fn disconnect_subscribers(context: &CommandContext, name: &[u8]) -> AfterCommand {
    let shared = context.shared;
    let Some(user) = shared.acl.users.get(name).filter(|_| shared.notices.channels.any()) else {
        return AfterCommand::Done;
    };
    let is_lost = |kind, channel: &[u8]| !user.may_read_channel(channel, kind == ChannelKind::Pattern);
    let losing = shared.notices.channels.clients_of(is_lost);
    let is_meant =
        |record: &ClientRecord| *record.attributes().user == *name && losing.contains(&record.place.client);
    disconnect(context, is_meant).1
}

/// Logs a change of a user, with the client that made it. Never logs the rules, which may contain a
/// password.
fn log_change(context: &CommandContext, what: &str, user: &[u8]) {
    let by = context.client.user().name.escape_ascii();
    tracing::info!(client = context.client.id, %by, user = %user.escape_ascii(), "{what}");
}

fn refusal(error: &SetUserError) -> CommandError {
    match error {
        SetUserError::BadName => CommandError::text("ERR Usernames can't contain spaces or null characters"),
        SetUserError::Unmatched(rule) => CommandError::owned(
            [b"ERR Unmatched parenthesis in acl selector starting at '", &**rule, b"'."].concat(),
        ),
        SetUserError::Rule(rule, error) => {
            let before = &b"ERR Error in ACL SETUSER modifier '"[..];
            let after = format!("': {error}");
            CommandError::owned([before, without_secret(rule, *error), after.as_bytes()].concat())
        }
    }
}

/// Returns a rule as errors quote it. Leaves out anything that may be a password.
fn without_secret(rule: &[u8], error: AclRuleError) -> &[u8] {
    match error {
        AclRuleError::NoSuchPassword | AclRuleError::BadHash => &rule[..1],
        _ => quoted(rule, QUOTED_BYTES_MAX),
    }
}

pub(super) fn get(context: &CommandContext, args: &Args, reply: &mut Reply) {
    let Some(user) = context.shared.acl.users.get(args.get(2)) else {
        reply.null();
        return;
    };
    reply.map(6);
    reply.bulk(b"flags");
    let flags = user.flags();
    reply.set(flags.len());
    for flag in &flags {
        reply.bulk(flag.as_bytes());
    }
    reply.bulk(b"passwords");
    let hashes = user.hashes();
    reply.bulks(&hashes);
    write_rights(&user.root, reply);
    reply.bulk(b"selectors");
    reply.array_of(&user.selectors, |reply, selector| {
        reply.map(3);
        write_rights(selector, reply);
    });
}

fn write_rights(selector: &AclSelector, reply: &mut Reply) {
    for (name, rules) in [
        ("commands", selector.print_commands()),
        ("keys", selector.print_keys(AllKeys::AsInRedis)),
        ("channels", selector.print_channels()),
    ] {
        reply.bulk(name.as_bytes());
        reply.bulk(&rules);
    }
}

pub(super) fn remove(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    if args.from(2).any(|name| name == DEFAULT) {
        return Err(CommandError::text("ERR The 'default' user cannot be removed"));
    }
    let users = &context.shared.acl.users;
    let removed: Vec<&[u8]> = args.from(2).filter(|name| users.remove(name)).collect();
    for name in &removed {
        log_change(context, "a user was removed", name);
    }
    reply.count(removed.len());
    Ok(disconnect_users(context, &removed))
}

/// Closes the connections of these users.
fn disconnect_users(context: &CommandContext, names: &[&[u8]]) -> AfterCommand {
    if names.is_empty() {
        return AfterCommand::Done;
    }
    disconnect(context, |record| names.contains(&&*record.attributes().user)).1
}

pub(super) fn list(context: &CommandContext, reply: &mut Reply) {
    reply.array_of(context.shared.acl.users.all(), |reply, user| reply.bulk(&user.print(AllKeys::AsInRedis)));
}

pub(super) fn names(context: &CommandContext, reply: &mut Reply) {
    reply.array_of(context.shared.acl.users.all(), |reply, user| reply.bulk(&user.name));
}

fn file<'c>(context: &'c CommandContext<'_>) -> CommandResult<&'c Path> {
    context.shared.acl.file.as_deref().ok_or(CommandError::text(
        "ERR This Redis instance is not configured to use an ACL file. Start SkeinDB with the option acl-file, or specify users via the ACL SETUSER command.",
    ))
}

/// Loads the ACL file. Reads it on the worker's thread: the file is short and the caller waits for
/// the result.
pub(super) fn load(context: &mut CommandContext, reply: &mut Reply) -> CommandResult {
    let path = file(context)?;
    let changed = context.shared.acl.users.load(path).map_err(|error| match error {
        AclFileError::Read(cause) => {
            CommandError::owned(format!("ERR Error loading ACLs, opening file '{}': {cause}", path.display()))
        }
        AclFileError::Wrong(what) => CommandError::owned(format!(
            "ERR {what}WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
        )),
    })?;
    tracing::info!(client = context.client.id, path = %path.display(), "the users were loaded");
    context.client.refresh(&context.shared.acl.users);
    reply.ok();
    let changed: Vec<&[u8]> = changed.iter().map(Vec::as_slice).collect();
    Ok(disconnect_users(context, &changed))
}

/// Saves the ACL file, on the worker's thread like `load`.
pub(super) fn save(context: &CommandContext, reply: &mut Reply) -> Replied {
    let path = file(context)?;
    context.shared.acl.users.save(path).map_err(|cause| {
        tracing::error!(%cause, path = %path.display(), "the ACL file was not saved");
        CommandError::owned(format!(
            "ERR There was an error trying to save the ACLs to {}: {cause}",
            path.display()
        ))
    })?;
    reply.ok();
    Ok(())
}
