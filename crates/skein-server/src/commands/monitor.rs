//! MONITOR, and which requests monitors see.

use super::{AfterCommand, CommandContext, CommandError, CommandResult};
use crate::clients::client::ClientState;
use crate::clients::client_registry::ClientMode;
use crate::command_table::{Command, Flag};
use crate::notice::monitors::{Monitors, RequestSource};
use crate::resp::{Args, Reply};
use crate::shared::ServerShared;

/// In Redis a monitor is a kind of replica.
const MONITORS: CommandError = CommandError::text("ERR Replica can't interact with the keyspace");
const IN_EXEC: CommandError = CommandError::text("ERR MONITOR isn't allowed for DENY BLOCKING client");

pub(super) fn monitor(context: &mut CommandContext, _: &Args, reply: &mut Reply) -> CommandResult {
    let CommandContext { client, shared, .. } = context;
    if client.in_exec() {
        return Err(IN_EXEC);
    }
    // As in Redis, the second MONITOR of a client is not answered.
    if client.monitors {
        return Ok(AfterCommand::Done);
    }
    client.monitors = true;
    client.record.set_mode(ClientMode::Monitor, true);
    shared.notices.monitors.add(client.record.place);
    reply.ok();
    Ok(AfterCommand::Fence)
}

/// Stops to send requests to a client: for RESET and for a closed connection.
pub(crate) fn stop_monitoring(shared: &ServerShared, client: &mut ClientState) {
    if std::mem::take(&mut client.monitors) {
        client.record.set_mode(ClientMode::Monitor, false);
        shared.notices.monitors.remove(client.record.place);
    }
}

/// Refuses a request that reads or writes keys, or publishes, to a client that monitors.
pub(crate) fn check_monitoring(client: &ClientState, command: &Command, args: &Args) -> CommandResult<()> {
    if !client.monitors {
        return Ok(());
    }
    let flags = command.flags_of(args);
    let interacts = flags.has(Flag::Write)
        || flags.has(Flag::ReadOnly)
        || command.has(Flag::OtherEffects)
        || command.plan.script().is_some();
    if interacts { Err(MONITORS) } else { Ok(()) }
}

/// Shows a request to the monitors, if there are any and the command is no secret. Commands that
/// feed themselves have the flag `skip_monitor`.
#[inline]
pub(crate) fn feed(monitors: &Monitors, command: &Command, source: RequestSource<'_>, args: &Args) {
    if monitors.any() && is_shown(command, args) {
        monitors.feed(source, args);
    }
}

/// Returns whether monitors see a request. As in Redis, requests of administrators are hidden.
#[cold]
fn is_shown(command: &Command, args: &Args) -> bool {
    !command.has(Flag::SkipMonitor) && !command.flags_of(args).has(Flag::Admin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_table::{ResolvedTag, resolve};
    use crate::resp::RequestQueue;

    #[test]
    fn requests_of_administrators_are_hidden() {
        let shown = |words: &str| {
            let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
            let queue = RequestQueue::of(&[&words[..]]);
            let (_, args) = queue.iter().next().expect("a request");
            let ResolvedTag::Command(command) = ResolvedTag::of(resolve(&args)) else { panic!("{words:?}") };
            is_shown(command, &args)
        };
        for words in
            ["get k", "client setname n", "lastsave", "role", "auth pw", "exec", "config help", "ping"]
        {
            assert!(shown(words), "{words}");
        }
        for words in ["config set a b", "acl whoami", "slowlog get", "monitor", "eval s 0", "client kill a:1"]
        {
            assert_eq!(shown(words), words == "acl whoami", "{words}");
        }
    }
}
