//! The engines under test.

use std::fmt;
use std::time::{Duration, Instant};

use skein_data::{DiskEngine, Durability, Engine, EngineError, IndexKind, Ticket};
use skein_disk::{DiskOptions, DiskStore, TrieShape, Values};
use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;
use skein_store::{ExpiryClock, RowLimits, Store, StoreLimits, StoreOptions};

/// An engine that passes this suite.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    Memory(IndexKind),
    Disk(TrieShape),
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(index) => write!(f, "memory, {index}"),
            Self::Disk(shape) => write!(f, "disk, {shape}"),
        }
    }
}

/// Returns all engines. Keys of these tests have at most 8 bytes, the limit of `mlp`.
pub fn all() -> Vec<EngineKind> {
    let shapes = [TrieShape::Linked, TrieShape::Classical { n: 16 }, TrieShape::Hash { n: 16 }];
    let disk = shapes.map(EngineKind::Disk);
    IndexKind::ALL.map(EngineKind::Memory).into_iter().chain(disk).collect()
}

/// Returns the disk engine over each trie.
pub fn on_disk() -> impl Iterator<Item = EngineKind> {
    all().into_iter().filter(|kind| matches!(kind, EngineKind::Disk(_)))
}

/// Runs a test over each engine.
pub fn over_each(test: impl Fn(EngineKind)) {
    for kind in all() {
        eprintln!("over {kind}");
        test(kind);
    }
}

/// The limit of values, smaller than the cache of the disk engine.
pub const VALUE_BYTES: usize = 100_000;

impl EngineKind {
    /// Returns whether small collections are in the rows of their keys. About half of the engines
    /// have them elsewhere, so that both forms pass this suite over memory and over disk.
    pub fn packs_members(self) -> bool {
        let elsewhere = [
            Self::Memory(IndexKind::SkipList),
            Self::Memory(IndexKind::Wormhole),
            Self::Disk(TrieShape::Classical { n: 16 }),
        ];
        !elsewhere.contains(&self)
    }

    /// Opens the engine on a simulated disk, with acknowledged writes that survive a power cut.
    pub fn open(self, disk: &SimStorage, clock: &ExpiryClock) -> Result<Engine, EngineError> {
        let row_members = if self.packs_members() { RowLimits::DEFAULT } else { RowLimits::NONE };
        let limits = StoreLimits { value_bytes: VALUE_BYTES, row_members, ..StoreLimits::default() };
        match self {
            Self::Memory(index) => {
                let options = StoreOptions {
                    index,
                    durability: Durability::Sync,
                    logs: 2,
                    recovery_threads: 2,
                    checkpoint_threads: 2,
                    segment_bytes: 64 << 10,
                    checkpoint_log_bytes: None,
                    checkpoint_interval: None,
                    storage: disk.share(),
                    limits,
                    clock: clock.clone(),
                    ..StoreOptions::default()
                };
                Ok(Store::open("/data", options)?.into())
            }
            Self::Disk(shape) => {
                let options = DiskOptions {
                    shape,
                    values: Values::Rows,
                    durability: Durability::Sync,
                    cache_pages: 64,
                    checkpoint_bytes: 0,
                    segment_bytes: 64 << 10,
                    ..DiskOptions::default()
                };
                let store = DiskStore::open_on(disk.share(), "/data", options)?;
                Ok(DiskEngine::with_clock(store, limits, clock.clone())?.into())
            }
        }
    }

    /// Opens the engine on a fresh disk that does not fail, at a time of its own.
    pub fn open_fresh(self) -> Engine {
        self.open(&SimStorage::new(), &ExpiryClock::manual(1_000_000)).expect("an engine")
    }
}

/// Waits until writes are durable. Returns the error that stopped the log.
pub fn wait_durable(engine: &Engine, ticket: Ticket) -> Result<(), EngineError> {
    engine.request_durable(ticket);
    let since = Instant::now();
    while engine.durable_epoch() < ticket.epoch {
        if let Some(error) = engine.log_stopped() {
            return Err(error);
        }
        assert!(since.elapsed() < Duration::from_secs(60), "epoch {} does not come", ticket.epoch);
        std::thread::yield_now();
    }
    Ok(())
}
