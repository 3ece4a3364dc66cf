//! Tells an observer which expired keys the store removes by itself.

use std::fmt::Debug;

/// Hears of expired keys that a background thread removes.
///
/// ```text
///   thread ─► begin ─► batch: key, key, key ─► removals are in the log ─► drop
/// ```
pub trait RemovalObserver: Debug + Send + Sync {
    /// Called before some removals. Returns `None` if they are not observed.
    ///
    /// An observer that orders removals among other writes holds its lock in the batch. So the
    /// thread calls this before it enters the epoch, and holds no lock of the store.
    fn begin(&self) -> Option<Box<dyn RemovalBatch + '_>>;
}

/// Some removals. It is dropped after the last one.
pub trait RemovalBatch {
    /// Notes that a key was removed because it had expired.
    fn expired(&mut self, key: &[u8]);
}
