//! Reads the keys that the next scripts of a pipeline declare into the cache, all at the same time.
//! Each script runs alone, so it would wait for each of them.

use std::borrow::Cow;

use crate::command_table::request_keys::keys_of;
use crate::commands::{Handler, ResolvedTag};
use skein_data::EngineSession;

use super::connection::Connection;

/// The most scripts, and about the most keys, that are read ahead.
const AHEAD: usize = 32;

/// Reads the keys of the scripts at the front of the queue, if there are several. This is a hint.
#[inline]
pub(super) fn read_ahead(connection: &Connection, session: &mut EngineSession) {
    if is_script(connection, 0) && is_script(connection, 1) && !connection.client.in_multi() {
        read_keys(connection, session);
    }
}

#[inline]
fn is_script(connection: &Connection, at: usize) -> bool {
    let resolved = connection.input.tag(at).map(ResolvedTag::of);
    matches!(resolved, Some(ResolvedTag::Command(command)) if matches!(command.handler, Handler::Script(_)))
}

fn read_keys(connection: &Connection, session: &mut EngineSession) {
    let keyspace = connection.client.keyspace();
    let mut keys: Vec<Cow<'_, [u8]>> = Vec::new();
    for at in 0..AHEAD {
        let Some(ResolvedTag::Command(command)) = connection.input.tag(at).map(ResolvedTag::of) else {
            break;
        };
        if !matches!(command.handler, Handler::Script(_)) || keys.len() > AHEAD {
            break;
        }
        let declared = keys_of(command, &connection.input.args(at));
        let declared = declared.iter().flat_map(|keys| &keys.counted).take(AHEAD);
        keys.extend(declared.map(|name| keyspace.stored(name)));
    }
    if keys.len() > 1 {
        let keys: Vec<&[u8]> = keys.iter().map(|key| &**key).collect();
        session.prefetch(&keys);
    }
}
