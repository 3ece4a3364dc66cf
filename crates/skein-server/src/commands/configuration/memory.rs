//! `maxmemory` and `maxmemory-policy`: the memory limit, and the reaction when it is reached. Over
//! the disk engine the limit is the size of the cache.

use std::str::FromStr as _;

use super::table::ApplyChange;
use super::values::{NumberUnit, parse};
use crate::shared::ServerShared;
use skein_data::Eviction;

pub(crate) fn limit(shared: &ServerShared) -> String {
    shared.data.store.memory_limit().0.unwrap_or(0).to_string()
}

pub(crate) fn policy(shared: &ServerShared) -> String {
    shared.data.store.memory_limit().1.to_string()
}

/// Parses a number of bytes; 0 means no limit, or the cache's size at the start.
pub(crate) fn change_limit(shared: &ServerShared, text: &[u8]) -> Result<ApplyChange, String> {
    let bytes = parse(text, NumberUnit::Bytes, (0, usize::MAX))?;
    let limit = (bytes > 0).then_some(bytes);
    check(shared, limit, shared.data.store.memory_limit().1)?;
    Ok(Box::new(move |shared| set(shared, limit, shared.data.store.memory_limit().1)))
}

pub(crate) fn change_policy(shared: &ServerShared, text: &[u8]) -> Result<ApplyChange, String> {
    let named = std::str::from_utf8(text).map(str::to_ascii_lowercase).unwrap_or_default();
    let eviction = Eviction::from_str(&named).map_err(|_| {
        let known = Eviction::ALL.map(Eviction::name).join(", ");
        format!("argument(s) must be one of the following: {known}")
    })?;
    check(shared, shared.data.store.memory_limit().0, eviction)?;
    Ok(Box::new(move |shared| set(shared, shared.data.store.memory_limit().0, eviction)))
}

fn check(shared: &ServerShared, limit: Option<usize>, eviction: Eviction) -> Result<(), String> {
    shared.data.store.check_memory_limit(limit, eviction).map_err(|error| error.to_string())
}

/// Sets the limit after `check`. Over the disk engine this can still fail if a changed page cannot
/// be written. The limit holds nevertheless, and the page leaves the cache later.
fn set(shared: &ServerShared, limit: Option<usize>, eviction: Eviction) {
    if let Err(error) = shared.data.store.set_memory_limit(limit, eviction) {
        tracing::warn!(%error, "maxmemory is set, but some pages of the cache are over it until they can be written");
    }
    shared.data.eviction_attempts.begin();
}
