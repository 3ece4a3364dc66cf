//! Our disk engine, once for each of its tries. `None` runs without a log; `Relaxed` is `buffered`.

use std::ops::Range;

use linkme::distributed_slice;
use skein_disk::{DiskError, DiskOptions, DiskStore, Durability, PAGE, TrieShape};

use super::{
    BenchRows, DurabilityLevel, RegisteredStore, STORES, StoreContender, StoreResult, StoreRole, StoreSetup,
    text,
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
    DiskTrieSetup {
        name: "skein-disk-linked",
        words: "linked trie",
        shape: TrieShape::Linked,
        papers: false,
    },
    DiskTrieSetup {
        name: "skein-disk-classical",
        words: "classical trie",
        shape: TrieShape::Classical { n: N },
        papers: false,
    },
    DiskTrieSetup {
        name: "skein-disk-hash",
        words: "hash trie",
        shape: TrieShape::Hash { n: N },
        papers: false,
    },
];

/// The tries in the paper's own layout, with the parameters of its figures. They run together with
/// those above, and users select both by the names above.
pub const PAPER_TRIES: [DiskTrieSetup; 3] = [
    DiskTrieSetup {
        words: "linked trie, paper's layout",
        shape: TrieShape::FixedLinked { k: 12 },
        papers: true,
        ..TRIES[0]
    },
    DiskTrieSetup {
        words: "classical trie, paper's layout",
        shape: TrieShape::FixedClassical { n: N },
        papers: true,
        ..TRIES[1]
    },
    DiskTrieSetup {
        words: "hash trie, paper's layout",
        shape: TrieShape::FixedHash { n: N },
        papers: true,
        ..TRIES[2]
    },
];

#[distributed_slice(STORES)]
static LINKED: RegisteredStore = RegisteredStore {
    name: TRIES[0].name,
    about: "skein_disk::DiskStore over its linked trie; without a log, or at sync; the cache that \
            is asked for, or twice the data",
    rank: 1,
    part: StoreRole::Pages,
    durable: true,
    open: |setup| DiskContender::open(TRIES[0].shape, setup),
};

#[distributed_slice(STORES)]
static CLASSICAL: RegisteredStore = RegisteredStore {
    name: TRIES[1].name,
    about: "the same over its classical trie, 16 pointers a node",
    rank: 2,
    part: StoreRole::Pages,
    durable: true,
    open: |setup| DiskContender::open(TRIES[1].shape, setup),
};

#[distributed_slice(STORES)]
static HASH: RegisteredStore = RegisteredStore {
    name: TRIES[2].name,
    about: "the same over its hash trie, 16 pointers a node",
    rank: 3,
    part: StoreRole::Pages,
    durable: true,
    open: |setup| DiskContender::open(TRIES[2].shape, setup),
};

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

    fn get_each(
        &mut self,
        rows: &BenchRows,
        numbers: &[usize],
        found: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> StoreResult<()> {
        for &n in numbers {
            found(n, self.store.get(&rows.key(n)).map_err(text)?.as_deref());
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> StoreResult<()> {
        self.store.close().map_err(text)
    }
}
