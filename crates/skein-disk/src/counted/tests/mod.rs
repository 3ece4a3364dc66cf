//! Counted sets against a sorted set (`model`), with a cache so small that most steps evict pages,
//! and tests of single operations: `page` (one key page), `long` (long keys), `fill` (how full
//! pages are), `damage`, and `shared` (readers beside a writer).

mod damage;
mod fill;
mod long;
mod model;
mod page;
mod shared;

use std::ops::ControlFlow;
use std::path::Path;

use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;

use super::CountedSet;
use super::check::CountedSetCensus;
use crate::buffer::{BufferManager, CacheOptions, CheckpointMoment, FrozenPages, PageWalk, WalkStop};
use crate::catalog::Catalog;
use crate::page_file::ReadMode;
use crate::trie::WalkDirection;
use crate::{ReplacementPolicy, Result};

/// A file with one counted set.
struct TestSet {
    storage: SimStorage,
    cache: usize,
    buffer: BufferManager,
    catalog: Catalog,
    set: CountedSet,
}

fn open(storage: &SimStorage, pages: usize) -> BufferManager {
    storage.create_dir_all(Path::new("/db")).unwrap();
    let policy = if pages.is_multiple_of(2) { ReplacementPolicy::Lru } else { ReplacementPolicy::S3Fifo };
    let options = CacheOptions { pages, policy, reading: ReadMode::Calls };
    BufferManager::open(storage, Path::new("/db/sets"), [7; 16], options).unwrap()
}

impl TestSet {
    fn new(cache: usize) -> Self {
        let storage = SimStorage::new();
        let buffer = open(&storage, cache);
        let mut writer = buffer.write();
        let catalog = Catalog::create(&mut writer).unwrap();
        let set = catalog.open_set(&mut writer, "scores").unwrap();
        writer.publish().unwrap();
        let store = Self { storage, cache, buffer, catalog, set };
        store.checkpoint(0);
        store
    }

    fn checkpoint(&self, sequence: u64) {
        let catalog = self.catalog.first();
        let moment =
            || CheckpointMoment { sequence, keys: 0, epoch: 0, catalog, ..CheckpointMoment::default() };
        self.buffer.checkpoint(moment, |_| Ok(()), None).unwrap();
    }

    /// Cuts the power and opens the file again.
    fn crash(&mut self, seed: u64) {
        self.storage.reboot(seed);
        self.buffer = open(&self.storage, self.cache);
        self.catalog = Catalog::at(self.buffer.header().catalog());
        let sets = self.buffer.read_with(|mut view| self.catalog.counted_sets(&mut view)).unwrap();
        assert_eq!(sets.iter().map(|found| &found.name[..]).collect::<Vec<_>>(), ["scores"]);
        assert_eq!(sets[0].set, self.set, "the root never changes");
    }

    fn insert(&self, key: &[u8]) -> Result<bool> {
        let mut writer = self.buffer.write();
        let is_new = self.set.insert(&mut writer, key)?;
        writer.publish()?;
        Ok(is_new)
    }

    fn remove(&self, key: &[u8]) -> Result<bool> {
        let mut writer = self.buffer.write();
        let was_there = self.set.remove(&mut writer, key)?;
        writer.publish()?;
        Ok(was_there)
    }

    fn read<T>(
        &self,
        read: impl Fn(CountedSet, &mut PageWalk<'_, '_>) -> std::result::Result<T, WalkStop>,
    ) -> Result<T> {
        self.buffer.read_pages(|pages| read(self.set, pages))
    }

    fn rank(&self, key: &[u8]) -> u64 {
        self.read(|set, pages| set.rank_by(pages, |other| other < key)).unwrap()
    }

    fn contains(&self, key: &[u8]) -> Result<bool> {
        self.read(|set, pages| Ok(set.find(pages, key)?.1.is_ok()))
    }

    /// Returns at most `most` keys from a position.
    fn walk(&self, position: u64, direction: WalkDirection, most: usize) -> Result<Vec<Vec<u8>>> {
        self.read(|set, pages| {
            let mut keys = Vec::new();
            set.walk(pages, position, direction, |key| {
                if keys.len() == most {
                    return ControlFlow::Break(());
                }
                keys.push(key.to_vec());
                ControlFlow::Continue(())
            })?;
            Ok(keys)
        })
    }

    /// Checks the set, and that no other page is in use.
    fn check(&self) -> CountedSetCensus {
        let mut writer = self.buffer.write();
        let census = self.set.check(&mut FrozenPages::of(&mut writer), |_| Ok(())).unwrap();
        drop(writer);
        assert_eq!(self.buffer.ids_in_use(), 1 + census.pages(), "{census:?}");
        census
    }
}

/// A generator of random numbers: `next(n)` is less than n.
fn random_numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut random = seed | 1;
    move |below| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    }
}
