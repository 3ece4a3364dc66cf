//! The work around each command while clients observe keys: a client's reads are remembered before
//! it reads, and the changes of a command are noted.

use super::{Command, CommandContext, CommandResult, ResolvedTag, resolve};
use crate::command_table::Flag;
use crate::command_table::request_keys::keys_of;
use crate::notice::key_events::{CommandWatch, KeyChanges};
use crate::resp::Args;
use skein_data::name_within;

/// Runs a request, and notes its changes if clients observe keys. REQUIRES: if the command writes
/// and clients observe keys, the caller may write (`KeyObserver::order`).
#[inline]
pub(crate) fn run<R>(
    context: &mut CommandContext,
    command: &'static Command,
    args: &Args,
    handler: impl FnOnce(&mut CommandContext) -> CommandResult<R>,
) -> CommandResult<R> {
    let watch = begin(context, command, args);
    let done = handler(context);
    end(context, watch, done.is_ok());
    done
}

/// Begins to observe a request that is about to run. Returns `None` if no client observes keys.
#[inline]
fn begin<'a>(
    context: &mut CommandContext,
    command: &'static Command,
    args: &Args<'a>,
) -> Option<CommandWatch<'a>> {
    if context.client.tracking.is_some() {
        remember_reads(context, command, args);
    }
    if !context.changes.is_on() {
        // A command of this transaction may have begun to track keys.
        context.changes = KeyChanges::of(&context.shared.notices.key_observer, context.client.id);
        if !context.changes.is_on() {
            return None;
        }
    }
    // A command that runs in slices observes each of them.
    if command.plan.is_long(args) {
        return None;
    }
    context.changes.begin(&mut context.session, command, args)
}

/// Notes the changes of a request. If a transaction's writes are visible already, this cannot be
/// undone.
#[inline]
fn end(context: &mut CommandContext, watch: Option<CommandWatch<'_>>, succeeded: bool) {
    if watch.is_none() {
        return;
    }
    let CommandContext { session, changes, .. } = context;
    changes.end(watch, session, succeeded);
    if session.is_visible_transaction() {
        changes.keep();
    }
}

/// Remembers the keys that a client is about to read, if it tracks them.
fn remember_reads(context: &mut CommandContext, command: &Command, args: &Args) {
    if command.flags_of(args).has(Flag::ReadOnly) {
        remember_keys(context, command, args);
    }
}

/// Remembers the keys that a script declares. As in Redis, each script that reads counts as a read
/// of all of them.
pub(crate) fn remember_declared(context: &mut CommandContext, request: &Args) {
    if let ResolvedTag::Command(command) = ResolvedTag::of(resolve(request)) {
        remember_keys(context, command, request);
    }
}

fn remember_keys(context: &mut CommandContext, command: &Command, args: &Args) {
    let tracks = context.client.tracking.as_ref().is_some_and(|tracking| tracking.tracks_reads());
    let Some(keys) = tracks.then(|| keys_of(command, args)).flatten() else { return };
    let most = context.shared.settings.tracking_keys_max.get();
    let names: Vec<&[u8]> = keys.all().into_iter().map(name_within).collect();
    // Only beside a transaction can no other worker change the key before it is remembered.
    let is_alone = context.session.is_transaction();
    if !(is_alone && context.changes.read_later(&names, most)) {
        context.shared.notices.key_observer.tracking.remember(names, context.client.id, most);
    }
}
