//! `maxmemory-clients`: the memory that all clients may take together.

use skein_syntax::number::parse_i64;

use super::table::ApplyChange;
use super::values::bytes;
use crate::ClientMemoryLimit;
use crate::shared::ServerShared;

/// Returns bytes, or percent of `maxmemory`.
pub(super) fn limit(shared: &ServerShared) -> String {
    match shared.client_eviction.limit() {
        ClientMemoryLimit::Unlimited => "0".to_owned(),
        ClientMemoryLimit::Bytes(bytes) => bytes.to_string(),
        ClientMemoryLimit::Percent(percent) => format!("{percent}%"),
    }
}

pub(super) fn change_limit(text: &[u8]) -> Result<ApplyChange, String> {
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
    Ok(Box::new(move |shared| shared.client_eviction.set(limit)))
}
