//! Reads the keys that the next scripts of a pipeline declare into the cache, all at the same time.
//! Each script runs alone, so it would wait for each of them.

use std::borrow::Cow;

use crate::command_table::request_keys::keys_of;
use crate::commands::{Command, ResolvedTag};
use skein_data::EngineSession;

use super::connection::Connection;

/// The most scripts, and about the most keys, that are read ahead.
const AHEAD: usize = 32;

/// Reads the keys of the scripts at the front of the queue, if there are several. This is a hint.
#[inline]
pub(super) fn read_ahead(connection: &Connection, session: &mut EngineSession) {
    if script(connection, 0).is_some() && script(connection, 1).is_some() && !connection.client.in_multi() {
        read_keys(connection, session);
    }
}

/// Returns the command of a queued request if it runs a script.
#[inline]
fn script(connection: &Connection, at: usize) -> Option<&'static Command> {
    let command = ResolvedTag::of(connection.input.tag(at)?).command()?;
    command.plan.script().map(|_| command)
}

fn read_keys(connection: &Connection, session: &mut EngineSession) {
    let keyspace = connection.client.keyspace();
    let mut keys: Vec<Cow<'_, [u8]>> = Vec::new();
    for at in 0..AHEAD {
        let Some(command) = script(connection, at).filter(|_| keys.len() <= AHEAD) else { break };
        let declared = keys_of(command, &connection.input.args(at));
        let declared = declared.iter().flat_map(|keys| &keys.counted).take(AHEAD);
        keys.extend(declared.map(|name| keyspace.stored(name)));
    }
    if keys.len() > 1 {
        let keys: Vec<&[u8]> = keys.iter().map(|key| &**key).collect();
        session.prefetch(&keys);
    }
}
