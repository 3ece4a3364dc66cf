//! The keys that are on their way to another server. Requests that write one of them wait.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use skein_sync::locks::lock;

use super::MovingKey;
use skein_data::name_within;

/// The keys that move.
#[derive(Debug, Default)]
pub(crate) struct MovingKeys {
    count: AtomicUsize,
    keys: Mutex<HashSet<Vec<u8>>>,
}

impl MovingKeys {
    /// Returns whether any key moves.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        // Relaxed: a worker that runs requests has acquired, through the exclusion gate, the
        // additions that matter to it (invariant 1 of `migrations`).
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Returns whether one of these keys of the store moves.
    pub(crate) fn has_any(&self, keys: &[&[u8]]) -> bool {
        let moving = lock(&self.keys);
        keys.iter().any(|key| moving.contains(*key))
    }

    /// Returns whether a key with one of these names moves, in any database.
    pub(crate) fn has_any_name(&self, names: &[&[u8]]) -> bool {
        let moving = lock(&self.keys);
        moving.iter().any(|key| names.contains(&name_within(key)))
    }

    /// Holds writes to these keys back. REQUIRES: no other worker runs requests, and none of the
    /// keys moves.
    pub(crate) fn hold(&self, keys: &[MovingKey]) {
        let mut moving = lock(&self.keys);
        moving.extend(keys.iter().map(|moved| moved.key.clone()));
        self.count.store(moving.len(), Ordering::Relaxed);
    }

    /// Lets writes to these keys run. The caller must then wake the workers.
    pub(crate) fn release(&self, keys: &[MovingKey]) {
        let mut moving = lock(&self.keys);
        for moved in keys {
            moving.remove(&moved.key);
        }
        self.count.store(moving.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::key_version::KeyVersion;

    fn moving(names: &[&str]) -> Vec<MovingKey> {
        let of = |name: &&str| MovingKey { key: name.as_bytes().to_vec(), version: KeyVersion::Version(1) };
        names.iter().map(of).collect()
    }

    #[test]
    fn keys_move_from_hold_to_release() {
        let keys = MovingKeys::default();
        assert!(!keys.any() && !keys.has_any(&[b"a"]));
        keys.hold(&moving(&["a", "b", "a"]));
        keys.hold(&moving(&["c"]));
        assert!(keys.any() && keys.has_any(&[b"x", b"b"]) && !keys.has_any(&[b"x"]));
        assert!(keys.has_any_name(&[b"c"]) && !keys.has_any_name(&[b"x"]));
        keys.release(&moving(&["a", "b", "a"]));
        assert!(keys.any() && !keys.has_any(&[b"a", b"b"]));
        keys.release(&moving(&["c"]));
        assert!(!keys.any());
    }
}
