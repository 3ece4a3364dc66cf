//! The options of opening a database.

use std::fmt::Display;

use skeindb::{DbBuilder, Durability, Engine, Eviction, IndexKind};

use crate::border::{Failure, Result};
use crate::status::Status;
use crate::versioned::Versioned;

/// The engine of the folder; for a new folder, the engine in memory.
pub const SKEIN_ENGINE_DEFAULT: u32 = 0;
/// All rows in memory, with logs and checkpoints in the folder.
pub const SKEIN_ENGINE_MEMORY: u32 = 1;
/// Rows on the pages of a file, which may be larger than memory.
pub const SKEIN_ENGINE_DISK: u32 = 2;

/// SKEIN_DURABILITY_BUFFERED.
pub const SKEIN_DURABILITY_DEFAULT: u32 = 0;
/// Nothing is logged. `skein_close` and `skein_checkpoint` write everything.
pub const SKEIN_DURABILITY_NONE: u32 = 1;
/// A write is on disk within 200 ms. A crash leaves a prefix of the writes.
pub const SKEIN_DURABILITY_BUFFERED: u32 = 2;
/// A write that has returned survives a power cut.
pub const SKEIN_DURABILITY_SYNC: u32 = 3;

/// SKEIN_INDEX_MASSTREE.
pub const SKEIN_INDEX_DEFAULT: u32 = 0;
/// For most keys and most work.
pub const SKEIN_INDEX_MASSTREE: u32 = 1;
/// For many scans, and for long keys with long common prefixes.
pub const SKEIN_INDEX_WORMHOLE: u32 = 2;
/// For lookups of short keys.
pub const SKEIN_INDEX_CUCKOO_TRIE: u32 = 3;
/// For keys of up to 8 bytes. There are no named keyspaces then.
pub const SKEIN_INDEX_MLP: u32 = 4;
/// For scans that read ahead; it has no latches.
pub const SKEIN_INDEX_SKIP_LIST: u32 = 5;

/// At the memory limit, writes that add memory fail with SKEIN_FULL.
pub const SKEIN_EVICTION_NONE: u32 = 0;
/// At the memory limit, keys that were not used for long are removed.
pub const SKEIN_EVICTION_LRU: u32 = 1;
/// At the memory limit, the keys that expire first are removed.
pub const SKEIN_EVICTION_TTL: u32 = 2;
/// At the memory limit, keys that are used seldom are removed.
pub const SKEIN_EVICTION_LFU: u32 = 3;
/// At the memory limit, any keys are removed.
pub const SKEIN_EVICTION_RANDOM: u32 = 4;
/// As SKEIN_EVICTION_LRU, of the keys that expire.
pub const SKEIN_EVICTION_VOLATILE_LRU: u32 = 5;
/// As SKEIN_EVICTION_LFU, of the keys that expire.
pub const SKEIN_EVICTION_VOLATILE_LFU: u32 = 6;
/// As SKEIN_EVICTION_RANDOM, of the keys that expire.
pub const SKEIN_EVICTION_VOLATILE_RANDOM: u32 = 7;

/// Options for opening a database. A field that is 0 has its default, so this is enough:
///
///     skein_options options = {.size = sizeof options, .engine = SKEIN_ENGINE_DISK};
///
/// Later versions append fields. Programs that were compiled with this header keep working.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// `sizeof(skein_options)`.
    pub size: usize,
    /// Memory for pages of the disk engine in bytes; 256 MiB if 0, and 64 KiB at least.
    pub cache_bytes: u64,
    /// The most memory of the engine in memory in bytes; no limit if 0.
    pub memory_limit: u64,
    /// SKEIN_ENGINE_*.
    pub engine: u32,
    /// SKEIN_DURABILITY_*. It may differ between openings.
    pub durability: u32,
    /// SKEIN_INDEX_*, of the engine in memory. It may differ between openings.
    pub index: u32,
    /// SKEIN_EVICTION_*.
    pub eviction: u32,
    /// 1 if the database must exist; 0 to create it if it is missing.
    pub must_exist: u32,
    /// The most snapshots and transactions at a time, as many as there can be if 0: 65,536.
    pub max_snapshots: u32,
    /// The most bytes that the engine in memory keeps for snapshots: rows that were replaced or
    /// removed. Over it the oldest snapshot ends. A quarter of `memory_limit` if 0.
    pub max_snapshot_memory: u64,
}

// SAFETY: unsigned integers alone, an even number of the narrow ones together: no padding.
unsafe impl Versioned for Options {}

/// Returns the option that a number stands for; `None` is the default.
fn choice<T: Copy>(name: &str, number: u32, choices: &[(u32, Option<T>)]) -> Result<Option<T>> {
    let chosen = choices.iter().find(|(known, _)| *known == number);
    chosen.map(|(_, choice)| *choice).ok_or_else(|| {
        let last = choices.iter().map(|(known, _)| *known).max().unwrap_or(0);
        unknown(name, number, last)
    })
}

fn unknown(name: &str, number: impl Display, last: impl Display) -> Failure {
    let text = format!("the option `{name}` is {number}, but it must be from 0 to {last}");
    Failure::new(Status::SKEIN_BAD_OPTION, text)
}

/// Returns an amount; 0 stands for the default.
fn amount(name: &str, amount: u64) -> Result<Option<usize>> {
    let amount = usize::try_from(amount).map_err(|_| unknown(name, amount, usize::MAX))?;
    Ok((amount > 0).then_some(amount))
}

/// Returns the durability with this number.
pub(crate) fn durability(number: u32) -> Result<Option<Durability>> {
    choice("durability", number, &DURABILITIES)
}

const DURABILITIES: [(u32, Option<Durability>); 4] = [
    (SKEIN_DURABILITY_DEFAULT, None),
    (SKEIN_DURABILITY_NONE, Some(Durability::None)),
    (SKEIN_DURABILITY_BUFFERED, Some(Durability::Buffered)),
    (SKEIN_DURABILITY_SYNC, Some(Durability::Sync)),
];
const ENGINES: [(u32, Option<Engine>); 3] = [
    (SKEIN_ENGINE_DEFAULT, None),
    (SKEIN_ENGINE_MEMORY, Some(Engine::Memory)),
    (SKEIN_ENGINE_DISK, Some(Engine::Disk)),
];
const INDEXES: [(u32, Option<IndexKind>); 6] = [
    (SKEIN_INDEX_DEFAULT, None),
    (SKEIN_INDEX_MASSTREE, Some(IndexKind::Masstree)),
    (SKEIN_INDEX_WORMHOLE, Some(IndexKind::Wormhole)),
    (SKEIN_INDEX_CUCKOO_TRIE, Some(IndexKind::CuckooTrie)),
    (SKEIN_INDEX_MLP, Some(IndexKind::Mlp)),
    (SKEIN_INDEX_SKIP_LIST, Some(IndexKind::SkipList)),
];
const EVICTIONS: [(u32, Option<Eviction>); 8] = [
    (SKEIN_EVICTION_NONE, None),
    (SKEIN_EVICTION_LRU, Some(Eviction::Lru)),
    (SKEIN_EVICTION_TTL, Some(Eviction::Ttl)),
    (SKEIN_EVICTION_LFU, Some(Eviction::Lfu)),
    (SKEIN_EVICTION_RANDOM, Some(Eviction::Random)),
    (SKEIN_EVICTION_VOLATILE_LRU, Some(Eviction::VolatileLru)),
    (SKEIN_EVICTION_VOLATILE_LFU, Some(Eviction::VolatileLfu)),
    (SKEIN_EVICTION_VOLATILE_RANDOM, Some(Eviction::VolatileRandom)),
];

impl Options {
    /// Sets the options of a builder.
    pub(crate) fn apply(&self, mut builder: DbBuilder) -> Result<DbBuilder> {
        if let Some(engine) = choice("engine", self.engine, &ENGINES)? {
            builder = builder.engine(engine);
        }
        if let Some(durability) = durability(self.durability)? {
            builder = builder.durability(durability);
        }
        if let Some(index) = choice("index", self.index, &INDEXES)? {
            builder = builder.index(index);
        }
        if let Some(eviction) = choice("eviction", self.eviction, &EVICTIONS)? {
            builder = builder.eviction(eviction);
        }
        if let Some(bytes) = amount("cache_bytes", self.cache_bytes)? {
            builder = builder.cache_bytes(bytes);
        }
        if let Some(bytes) = amount("memory_limit", self.memory_limit)? {
            builder = builder.memory_limit(bytes);
        }
        let create = choice("must_exist", self.must_exist, &[(0, None), (1, Some(false))])?;
        if let Some(count) = amount("max_snapshots", self.max_snapshots.into())? {
            builder = builder.max_snapshots(count);
        }
        if let Some(bytes) = amount("max_snapshot_memory", self.max_snapshot_memory)? {
            builder = builder.max_snapshot_memory(bytes);
        }
        Ok(builder.create(create.unwrap_or(true)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::versioned;

    #[test]
    fn every_index_has_a_number() {
        for kind in IndexKind::ALL {
            let numbers = INDEXES.iter().filter(|(_, index)| *index == Some(kind)).count();
            assert_eq!(numbers, 1, "numbers of {kind} in `INDEXES`");
        }
    }

    /// Padding would have no value in a program in C.
    #[test]
    fn options_have_no_padding() {
        let fields = size_of::<usize>() + 3 * size_of::<u64>() + 6 * size_of::<u32>();
        assert_eq!(size_of::<Options>(), fields);
    }

    /// Incident: three of eight eviction policies had a number. Consequence: a program in C could
    /// not choose the others. Fix: this test holds the numbers against the lists of the library.
    #[test]
    fn every_value_of_the_library_has_a_number() {
        fn numbers<T: Copy + PartialEq + std::fmt::Debug>(
            choices: &[(u32, Option<T>)],
            all: &[T],
            default: Option<T>,
        ) {
            let known: Vec<T> = choices.iter().filter_map(|(_, choice)| choice.or(default)).collect();
            assert!(all.iter().all(|one| known.contains(one)), "{all:?} are more than {known:?}");
            for (at, (number, _)) in choices.iter().enumerate() {
                assert_eq!(*number as usize, at, "{choices:?}");
            }
        }
        numbers(&EVICTIONS, &Eviction::ALL, Some(Eviction::default()));
        numbers(&INDEXES, &IndexKind::ALL, None);
        numbers(&DURABILITIES, &Durability::ALL, None);
    }

    #[test]
    fn structs_of_other_versions_are_read() {
        #[repr(C)]
        struct Longer(Options, u64);
        let size = size_of::<Longer>();
        let mut longer = Longer(Options { size, engine: SKEIN_ENGINE_DISK, ..Options::default() }, 0);
        let read = |options: &Options| {
            // SAFETY: each begins with its size, or a smaller one.
            unsafe { versioned::read(std::ptr::from_ref(options), "options") }
                .map_err(|failure| failure.status)
        };
        // SAFETY: it begins with its size.
        let whole = || unsafe { versioned::read((&raw const longer).cast::<Options>(), "options") };
        assert_eq!(whole().expect("zeros behind it").engine, SKEIN_ENGINE_DISK);
        longer.1 = 1 << 40;
        // SAFETY: as above.
        let read_longer = unsafe { versioned::read((&raw const longer).cast::<Options>(), "options") };
        assert_eq!(read_longer.map_err(|failure| failure.status).err(), Some(Status::SKEIN_BAD_OPTION));
        let shorter =
            Options { size: size_of::<usize>() + 8, cache_bytes: 7, engine: 2, ..Options::default() };
        let shorter = read(&shorter).expect("an older one");
        assert_eq!((shorter.cache_bytes, shorter.engine), (7, 0));
        assert_eq!(read(&Options::default()).err(), Some(Status::SKEIN_MISUSE));
    }
}
