//! What the tests of several layers need.

use std::path::Path;

use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;
use skein_sync::atomic::{AtomicBool, Ordering};

use crate::buffer::{BufferManager, CacheOptions, CheckpointMoment};
use crate::page::PageId;
use crate::page_file::ReadMode;
use crate::{ReplacementPolicy, Result};

/// The page file of a test.
pub(crate) const FILE: &str = "/db/data";

/// Opens the page file with a cache of this many pages. Their number selects the policy.
pub(crate) fn open_file(storage: &SimStorage, pages: usize) -> Result<BufferManager> {
    storage.create_dir_all(Path::new("/db")).unwrap();
    let policy = if pages.is_multiple_of(2) { ReplacementPolicy::Lru } else { ReplacementPolicy::S3Fifo };
    let options = CacheOptions { pages, policy, reading: ReadMode::Calls };
    BufferManager::open(storage, Path::new(FILE), [7; 16], options)
}

/// Creates a page file.
pub(crate) fn new_file(pages: usize) -> (SimStorage, BufferManager) {
    let storage = SimStorage::new();
    let buffer = open_file(&storage, pages).unwrap();
    (storage, buffer)
}

pub(crate) fn moment_of(sequence: u64, catalog: PageId) -> CheckpointMoment {
    CheckpointMoment { sequence, epoch: sequence / 2, catalog, ..CheckpointMoment::default() }
}

pub(crate) fn take_checkpoint(buffer: &BufferManager, sequence: u64, catalog: PageId) -> Result<()> {
    buffer.checkpoint(|| moment_of(sequence, catalog), |_| Ok(()), None)
}

/// A generator of random numbers: `next(n)` is less than n.
pub(crate) fn random_numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut random = seed | 1;
    move |below| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    }
}

/// Tells a test's threads to stop, even if the test fails.
pub(crate) struct TestEnd<'d>(pub(crate) &'d AtomicBool);

impl Drop for TestEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
