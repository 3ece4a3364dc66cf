//! Numbers that differ from run to run: ids, seeds of checksums.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

/// A random number.
pub fn word() -> u64 {
    // `RandomState` is seeded by the system; the time and the process tell apart what it might repeat.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    if let Ok(time) = SystemTime::now().duration_since(UNIX_EPOCH) {
        hasher.write_u128(time.as_nanos());
    }
    hasher.finish()
}

/// An id that nothing else has: of a database, of a log folder.
pub fn random_id() -> [u8; 16] {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&word().to_le_bytes());
    id[8..].copy_from_slice(&word().to_le_bytes());
    id
}
