//! The arguments of a request that are keys, and the same keys in another keyspace.

use skein_data::StoredKeyspace;

use crate::command_table::request_keys::key_places;
use crate::command_table::{Command, KeyReach};
use crate::resp::{ArgList, Args};

/// Returns the arguments that are keys, in ascending order.
pub(crate) fn places_of(command: &'static Command, args: &Args) -> Vec<usize> {
    // The bound of a range is in the names of the keyspace.
    if command.reach != KeyReach::Named || command.plan.is_exec() || command.plan.script().is_some() {
        return Vec::new();
    }
    let mut places = match command.plan.blocking() {
        // The names of groups may look like options.
        Some(blocking) if command.searches_keys() => {
            (blocking.query)(args).map(|query| query.keys.collect()).unwrap_or_default()
        }
        _ => key_places(command, args).unwrap_or_default(),
    };
    places.sort_unstable();
    places.dedup();
    places
}

/// Returns a stored request with its keys in another keyspace, for a client that waits while its
/// database is swapped.
pub(crate) fn in_other_keyspace(command: &'static Command, request: &Args, to: StoredKeyspace) -> ArgList {
    let (places, mut moved) = (places_of(command, request), ArgList::default());
    for (at, arg) in request.from(0).enumerate() {
        let is_key = places.binary_search(&at).is_ok();
        // A prefix more than a request of almost 4 GiB may have is no key of a waiting client.
        let _fits = if is_key { moved.push(&moved_key(arg, to)) } else { moved.push(arg) };
    }
    moved
}

/// Returns a key in another keyspace.
pub(crate) fn moved_key(stored: &[u8], to: StoredKeyspace) -> Vec<u8> {
    to.stored(skein_data::name_within(stored)).into_owned()
}
