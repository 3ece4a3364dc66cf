//! `maxmemory` and `maxmemory-policy`: how much memory there may be, and what happens then.

use std::str::FromStr as _;

use super::table::Apply;
use super::values::{Unit, parse};
use crate::engine::{Eviction, Result as Done};
use crate::shared::Shared;

pub(super) fn limit(shared: &Shared) -> String {
    shared.store.memory_limit().0.unwrap_or(0).to_string()
}

pub(super) fn policy(shared: &Shared) -> String {
    shared.store.memory_limit().1.to_string()
}

/// A number of bytes; 0 for no limit.
pub(super) fn change_limit(shared: &Shared, text: &[u8]) -> Result<Apply, String> {
    let bytes = parse(text, Unit::Bytes, (0, usize::MAX))?;
    if bytes > 0 {
        check(shared)?;
    }
    Ok(Box::new(move |shared| {
        let (_, eviction) = shared.store.memory_limit();
        told(shared.store.set_memory_limit((bytes > 0).then_some(bytes), eviction));
    }))
}

pub(super) fn change_policy(shared: &Shared, text: &[u8]) -> Result<Apply, String> {
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
        told(shared.store.set_memory_limit(limit, eviction));
    }))
}

/// Whether the engine has such a limit.
fn check(shared: &Shared) -> Result<(), String> {
    let (limit, eviction) = shared.store.memory_limit();
    shared.store.set_memory_limit(limit, eviction).map_err(|error| error.to_string())
}

/// What was checked before cannot fail; an engine without a limit keeps having none.
fn told(done: Done<()>) {
    if let Err(error) = done {
        tracing::debug!("the memory limit stays: {error}");
    }
}
