//! `maxmemory-clients`: the memory that all clients may take together; and the check of
//! `maxclients`.

use skein_syntax::number::parse_i64;

use super::table::ApplyChange;
use super::values::bytes;
use crate::ClientMemoryLimit;
use crate::shared::ServerShared;

/// Returns bytes, or percent of `maxmemory`.
pub(crate) fn limit(shared: &ServerShared) -> String {
    shared.clients.eviction.limit().to_string()
}

pub(crate) fn change_limit(text: &[u8]) -> Result<ApplyChange, String> {
    let wrong = || "argument must be a memory or percent value".to_owned();
    let limit = match text.strip_suffix(b"%") {
        Some(digits) => match parse_i64(digits) {
            Some(0) => ClientMemoryLimit::Unlimited,
            Some(percent @ 1..=100) => ClientMemoryLimit::Percent(percent.unsigned_abs() as u8),
            Some(101..) => return Err("percentage argument must be less or equal to 100".to_owned()),
            _ => return Err(wrong()),
        },
        None => match bytes(text).ok_or_else(wrong)? {
            0 => ClientMemoryLimit::Unlimited,
            bytes => ClientMemoryLimit::Bytes(bytes),
        },
    };
    Ok(Box::new(move |shared| shared.clients.eviction.set(limit)))
}

/// Errors, in Redis's words, if the limit on open files does not allow this number of clients.
pub(crate) fn check_clients(shared: &ServerShared, clients: u64) -> Result<(), String> {
    let fitting = shared.clients.files.make(usize::try_from(clients).unwrap_or(usize::MAX)) as u64;
    if fitting >= clients {
        return Ok(());
    }
    Err(format!(
        "The operating system is not able to handle the specified number of clients, try with {fitting}"
    ))
}
