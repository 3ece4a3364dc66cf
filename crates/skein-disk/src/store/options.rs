//! How a disk store is opened.

use skein_log::Durability;

use crate::trie::Shape;
use crate::{Policy, Reading};

/// Options; each has a default.
///
/// ```
/// use skein_disk::{DiskOptions, Policy, Shape};
///
/// let options = DiskOptions { cache_pages: 1 << 18, policy: Policy::Lru, ..DiskOptions::default() };
/// assert_eq!(options.shape, Shape::Linked);
/// ```
#[derive(Debug, Clone)]
pub struct DiskOptions {
    /// Which trie the store keeps its keys in: a linked one by default. An existing store has to be opened as what it is.
    pub shape: Shape,
    /// Pages of 4 KiB in memory: 65,536 by default, as in the paper's runs; 16 at least.
    pub cache_pages: usize,
    /// Which page leaves a full cache.
    pub policy: Policy,
    /// How pages are read.
    pub reading: Reading,
    /// What an acknowledged write promises.
    pub durability: Durability,
    /// A checkpoint is taken when so many bytes were logged: 64 MiB by default. 0: only when asked for, and when the store is closed.
    pub checkpoint_bytes: u64,
    /// Size of the log's segment files, in bytes: 64 MiB by default, 64 KiB at least.
    pub segment_bytes: u64,
}

impl Default for DiskOptions {
    fn default() -> Self {
        Self {
            shape: Shape::Linked,
            cache_pages: 1 << 16,
            policy: Policy::default(),
            reading: Reading::default(),
            durability: Durability::default(),
            checkpoint_bytes: 64 << 20,
            segment_bytes: 64 << 20,
        }
    }
}
