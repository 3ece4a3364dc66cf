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

use skein_log::storage::sim::SimStorage;

use super::CountedSet;
use super::check::CountedSetCensus;
use crate::Result;
use crate::buffer::{BufferManager, FrozenPages, PageWalk, WalkResult};
use crate::catalog::{Catalog, CatalogEntry};
use crate::test_fixtures::{new_file, open_file, take_checkpoint};
use crate::trie::WalkDirection;

/// A file with one counted set.
struct TestSet {
    storage: SimStorage,
    cache: usize,
    buffer: BufferManager,
    catalog: Catalog,
    set: CountedSet,
}

impl TestSet {
    fn new(cache: usize) -> Self {
        let (storage, buffer) = new_file(cache);
        let mut writer = buffer.write();
        let catalog = Catalog::create(&mut writer).unwrap();
        let set = catalog.open_set(&mut writer, "scores").unwrap();
        writer.publish().unwrap();
        let store = Self { storage, cache, buffer, catalog, set };
        store.checkpoint(0);
        store
    }

    fn checkpoint(&self, sequence: u64) {
        take_checkpoint(&self.buffer, sequence, self.catalog.first()).unwrap();
    }

    /// Cuts the power and opens the file again.
    fn crash(&mut self, seed: u64) {
        self.storage.reboot(seed);
        self.buffer = open_file(&self.storage, self.cache).unwrap();
        self.catalog = Catalog::at(self.buffer.header().catalog());
        let found = self.buffer.read_with(|mut view| self.catalog.list(&mut view)).unwrap();
        let [CatalogEntry::Set(name, set)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((&name[..], *set), ("scores", self.set), "the root never changes");
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

    fn read<T>(&self, read: impl Fn(CountedSet, &mut PageWalk<'_, '_>) -> WalkResult<T>) -> Result<T> {
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
