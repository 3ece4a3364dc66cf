//! Our disk engine, once for each of its tries. `None` runs without a log; `Relaxed` is `buffered`.

use std::ops::Range;

use skein_disk::{DiskError, DiskOptions, DiskStore, Durability, PAGE, TrieShape};

use super::{
    BenchRows, DurabilityLevel, FoundRow, RegisteredStore, StoreContender, StoreResult, StoreRole,
    StoreSetup, text,
};

/// A trie of the disk engine as a contender.
#[derive(Debug, Clone, Copy)]
pub struct DiskTrieSetup {
    /// Its name in reports.
    pub name: &'static str,
    /// Its name in sentences.
    pub words: &'static str,
    /// The option that selects it.
    pub shape: TrieShape,
    /// Whether the layout is the paper's, which takes kilobytes per key.
    pub papers: bool,
}

/// The number of pointers in a node that has a pointer array, as in the paper's figures.
const N: u16 = 16;

/// The name of the store over a linked trie.
pub const DISK_LINKED: &str = TRIES[0].name;

/// The tries, the default one first.
pub const TRIES: [DiskTrieSetup; 3] = [
    trie("skein-disk-linked", "linked trie", TrieShape::Linked),
    trie("skein-disk-classical", "classical trie", TrieShape::Classical { n: N }),
    trie("skein-disk-hash", "hash trie", TrieShape::Hash { n: N }),
];

const fn trie(name: &'static str, words: &'static str, shape: TrieShape) -> DiskTrieSetup {
    DiskTrieSetup { name, words, shape, papers: false }
}

/// The tries in the paper's own layout, with the parameters of its figures. They run together with
/// those above, and users select both by the names above.
pub const PAPER_TRIES: [DiskTrieSetup; 3] = [
    papers(0, "linked trie, paper's layout", TrieShape::FixedLinked { k: 12 }),
    papers(1, "classical trie, paper's layout", TrieShape::FixedClassical { n: N }),
    papers(2, "hash trie, paper's layout", TrieShape::FixedHash { n: N }),
];

const fn papers(number: usize, words: &'static str, shape: TrieShape) -> DiskTrieSetup {
    DiskTrieSetup { words, shape, papers: true, ..TRIES[number] }
}

pub static LINKED: RegisteredStore = store::<0>(
    "skein_disk::DiskStore over its linked trie; without a log, or at sync; the cache that is asked \
     for, or twice the data",
);

pub static CLASSICAL: RegisteredStore = store::<1>("the same over its classical trie, 16 pointers a node");

pub static HASH: RegisteredStore = store::<2>("the same over its hash trie, 16 pointers a node");

/// Returns the entry of the store over one of [`TRIES`].
const fn store<const NUMBER: usize>(about: &'static str) -> RegisteredStore {
    RegisteredStore {
        name: TRIES[NUMBER].name,
        about,
        part: StoreRole::Pages,
        durable: true,
        open: |setup| DiskContender::open(TRIES[NUMBER].shape, setup),
    }
}

/// `skein_disk::DiskStore`.
struct DiskContender {
    store: DiskStore,
    level: DurabilityLevel,
}

impl DiskContender {
    fn open(shape: TrieShape, setup: &StoreSetup<'_>) -> StoreResult<Box<dyn StoreContender>> {
        let durability = match setup.level {
            DurabilityLevel::None => Durability::None,
            DurabilityLevel::Relaxed => Durability::Buffered,
            DurabilityLevel::Sync => Durability::Sync,
        };
        let pages = usize::try_from(setup.cache_bytes() / PAGE as u64).map_err(text)?;
        let cache_pages = pages.max(skein_disk::CACHE_LEAST);
        let options = DiskOptions { shape, durability, cache_pages, ..DiskOptions::default() };
        let store = DiskStore::open(setup.folder, options).map_err(text)?;
        Ok(Box::new(Self { store, level: setup.level }))
    }
}

impl StoreContender for DiskContender {
    /// Splits the batch into several transactions if the cache is too small for one.
    fn put_batch(&mut self, rows: &BenchRows, mut numbers: Range<usize>) -> StoreResult<()> {
        while !numbers.is_empty() {
            let done = self.store.write::<_, DiskError>(|transaction| {
                for n in numbers.by_ref() {
                    transaction.set(&rows.key(n), &rows.value(n))?;
                    if transaction.is_full() {
                        break;
                    }
                }
                Ok(())
            });
            done.map_err(text)?;
        }
        Ok(())
    }

    fn put(&mut self, rows: &BenchRows, n: usize) -> StoreResult<()> {
        self.store.set(&rows.key(n), &rows.value(n)).map(drop).map_err(text)
    }

    fn inc(&mut self, rows: &BenchRows, n: usize) -> StoreResult<()> {
        self.store.inc(&rows.key(n), 1).map(drop).map_err(text)
    }

    fn force(&mut self) -> StoreResult<()> {
        let done =
            if self.level == DurabilityLevel::None { self.store.checkpoint() } else { self.store.sync() };
        done.map_err(text)
    }

    fn get_each(&mut self, rows: &BenchRows, numbers: &[usize], found: FoundRow<'_>) -> StoreResult<()> {
        for &n in numbers {
            found(n, self.store.get(&rows.key(n)).map_err(text)?.as_deref());
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> StoreResult<()> {
        self.store.close().map_err(text)
    }
}
