//! `maxmemory` and `maxmemory-policy`: the memory limit, and what happens when it is reached.

use std::str::FromStr as _;

use super::table::ApplyChange;
use super::values::{NumberUnit, parse};
use crate::shared::ServerShared;
use skein_data::{Eviction, Result as Done};

pub(super) fn limit(shared: &ServerShared) -> String {
    shared.store.memory_limit().0.unwrap_or(0).to_string()
}

pub(super) fn policy(shared: &ServerShared) -> String {
    shared.store.memory_limit().1.to_string()
}

/// Parses a number of bytes; 0 means no limit.
pub(super) fn change_limit(shared: &ServerShared, text: &[u8]) -> Result<ApplyChange, String> {
    let bytes = parse(text, NumberUnit::Bytes, (0, usize::MAX))?;
    if bytes > 0 {
        check(shared)?;
    }
    Ok(Box::new(move |shared| {
        let (_, eviction) = shared.store.memory_limit();
        log_failure(shared.store.set_memory_limit((bytes > 0).then_some(bytes), eviction));
    }))
}

pub(super) fn change_policy(shared: &ServerShared, text: &[u8]) -> Result<ApplyChange, String> {
    let named = std::str::from_utf8(text).map(str::to_ascii_lowercase).unwrap_or_default();
    let eviction = Eviction::from_str(&named).map_err(|_| {
        let known = Eviction::ALL.map(Eviction::name).join(", ");
        format!("argument(s) must be one of the following: {known}")
    })?;
    if eviction != Eviction::None {
        check(shared)?;
    }
    Ok(Box::new(move |shared| {
        let (limit, _) = shared.store.memory_limit();
        log_failure(shared.store.set_memory_limit(limit, eviction));
    }))
}

/// Returns an error if the engine has no such limit.
fn check(shared: &ServerShared) -> Result<(), String> {
    let (limit, eviction) = shared.store.memory_limit();
    shared.store.set_memory_limit(limit, eviction).map_err(|error| error.to_string())
}

/// Logs a failure. It cannot happen after `check`, except that an engine without a limit stays
/// without one.
fn log_failure(done: Done<()>) {
    if let Err(error) = done {
        tracing::debug!("the memory limit stays: {error}");
    }
}
