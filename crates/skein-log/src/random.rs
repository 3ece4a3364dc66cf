//! Random numbers for ids and for seeds of checksums.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns a random number.
pub fn word() -> u64 {
    // The system seeds `RandomState`; time and process id make a repeated seed harmless.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    if let Ok(time) = SystemTime::now().duration_since(UNIX_EPOCH) {
        hasher.write_u128(time.as_nanos());
    }
    hasher.finish()
}

/// Returns a unique id for a database or a log folder.
pub fn random_id() -> [u8; 16] {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&word().to_le_bytes());
    id[8..].copy_from_slice(&word().to_le_bytes());
    id
}
