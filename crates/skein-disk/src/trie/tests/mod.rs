//! Tries against a model (`model`), with a cache so small that every step evicts, and tests of
//! single operations: `single`, `remove`, `pack` (a compaction), `scale` (many keys, and threads),
//! `damage` and `shared` (two pointers to one record).

mod damage;
mod model;
mod pack;
pub(crate) mod remove;
mod scale;
pub(crate) mod shared;
mod single;

use std::ops::{Bound, Range};

use skein_log::storage::sim::SimStorage;

use super::{
    DiskTrie, LookupProgress, ScanEntry, ScanRequest, TrieCensus, TrieLayout, TrieShape, WalkDirection,
};
use crate::buffer::BufferManager;
use crate::catalog::{Catalog, CatalogEntry};
use crate::record::{PageReader, WalkResult};
use crate::test_fixtures::{new_file, open_file, take_checkpoint};
use crate::{Result, TrieKind, Values};

const SHAPES: [TrieShape; 9] = [
    TrieShape::Linked,
    TrieShape::Classical { n: 4 },
    TrieShape::Classical { n: 8 },
    TrieShape::Classical { n: 16 },
    TrieShape::Classical { n: 32 },
    TrieShape::Classical { n: 64 },
    TrieShape::Classical { n: 128 },
    TrieShape::Classical { n: 256 },
    TrieShape::Hash { n: 16 },
];

/// In the paper's layout.
const FIXED: [TrieShape; 8] = [
    TrieShape::FixedLinked { k: 1 },
    TrieShape::FixedLinked { k: 12 },
    TrieShape::FixedClassical { n: 4 },
    TrieShape::FixedClassical { n: 16 },
    TrieShape::FixedClassical { n: 256 },
    TrieShape::FixedHash { n: 4 },
    TrieShape::FixedHash { n: 16 },
    TrieShape::FixedHash { n: 64 },
];

/// A file with one trie.
pub(super) struct TestTrie {
    storage: SimStorage,
    cache: usize,
    pub(super) buffer: BufferManager,
    pub(super) catalog: Catalog,
    pub(super) trie: DiskTrie,
    /// The bits of a hash that are used.
    mask: u128,
}

/// Returns the kind for a trie of this shape with plain bytes as values.
pub(super) fn of_bytes(shape: TrieShape) -> TrieKind {
    TrieKind { shape, values: Values::Bytes }
}

/// The version and the value of a key, if it has one.
pub(super) type TestValue = Option<(u64, Vec<u8>)>;

impl DiskTrie {
    fn get(&self, pages: &mut impl PageReader, key: &[u8]) -> WalkResult<Option<(u64, Vec<u8>)>> {
        let mut value = Vec::new();
        let version = self.get_into(pages, key, &mut value)?;
        Ok(version.map(|version| (version, value)))
    }
}

impl TestTrie {
    pub(super) fn new(shape: TrieShape, cache: usize, mask: u128) -> Self {
        let (storage, buffer) = new_file(cache);
        let mut writer = buffer.write();
        let catalog = Catalog::create(&mut writer).unwrap();
        let trie = catalog.open(&mut writer, "it", of_bytes(shape), [9; 16]).unwrap();
        writer.publish().unwrap();
        let mut store = Self { storage, cache, buffer, catalog, trie, mask };
        store.set_mask();
        store.checkpoint(0);
        store
    }

    fn set_mask(&mut self) {
        match &mut self.trie.nodes {
            TrieLayout::Compressed { hashing, .. } => hashing,
            TrieLayout::Fixed(fixed) => &mut fixed.hashing,
        }
        .iter_mut()
        .for_each(|hashing| hashing.mask = self.mask);
    }

    pub(super) fn is_fixed(&self) -> bool {
        matches!(self.trie.nodes, TrieLayout::Fixed(_))
    }

    /// Returns a value of this length, or an integer if the trie keeps only integers.
    fn value(&self, version: u64, len: usize) -> Vec<u8> {
        if self.is_fixed() {
            (version as i32).wrapping_mul(i32::from(len as u8) - 100).to_string().into_bytes()
        } else {
            vec![version as u8; len]
        }
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
        let [CatalogEntry::Trie(found)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((&found.name[..], found.trie.shape()), ("it", self.trie.shape()));
        self.trie = found.trie;
        self.set_mask();
    }

    pub(super) fn get(&self, key: &[u8]) -> Result<Option<(u64, Vec<u8>)>> {
        let found = self.buffer.read_pages(|pages| self.trie.get(pages, key));
        let version = self.buffer.read_pages(|pages| self.trie.version(pages, key));
        // If a long value is damaged, its version is still intact.
        if let Ok(found) = &found {
            assert_eq!(version.unwrap(), found.as_ref().map(|found| found.0));
        }
        found
    }

    pub(super) fn set(&self, key: &[u8], version: u64, value: &[u8]) -> Result<bool> {
        let mut writer = self.buffer.write();
        let is_new = self.trie.set(&mut writer, key, version, value)?;
        writer.publish()?;
        Ok(is_new)
    }

    pub(super) fn remove(&self, key: &[u8]) -> Result<bool> {
        let mut writer = self.buffer.write();
        let was_there = self.trie.remove(&mut writer, key)?;
        writer.publish()?;
        Ok(was_there)
    }

    pub(super) fn collect(
        &self,
        from: Bound<&[u8]>,
        direction: WalkDirection,
        limit: usize,
    ) -> Result<Vec<ScanEntry>> {
        let from = ScanRequest::from_bound(from, direction);
        let request = ScanRequest { keys: limit, bytes: usize::MAX, ..from };
        let found = self.buffer.read_pages(|pages| self.trie.collect(pages, &request))?;
        Ok(found.entries)
    }

    /// Looks up several keys at once.
    pub(super) fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<TestValue>> {
        let (mut bytes, mut places, mut progress) = (Vec::new(), Vec::new(), LookupProgress::default());
        self.buffer.read_with(|view| {
            bytes.clear();
            places.clear();
            places.resize(keys.len(), None);
            self.trie.get_many(view, keys, &mut progress, &mut bytes, |which, value| {
                assert_eq!(places[which].replace(value), None, "each key is reported once");
                Ok(())
            })
        })?;
        let value = |(version, range): (u64, Range<usize>)| (version, bytes[range].to_vec());
        Ok(places.into_iter().map(|found| found.expect("each key is reported").map(value)).collect())
    }

    /// Checks the trie, and that no other page is in use.
    pub(super) fn check(&self) -> TrieCensus {
        let census = self.buffer.read_with(|mut view| self.trie.check(&mut view, |_| Ok(()))).unwrap();
        assert_eq!(self.buffer.ids_in_use(), 1 + census.pages + census.overflow_pages, "{census:?}");
        census
    }
}
