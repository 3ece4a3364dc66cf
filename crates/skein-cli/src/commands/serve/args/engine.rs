//! The engine, and the options that concern only one engine.

use skein_disk::{
    CACHE_LEAST, DiskOptions, PAGE, ReadMode, ReplacementPolicy, SNAPSHOTS_MOST, TrieShape, Values,
};
use skein_store::IndexKind;

use crate::exit::Failure;
use crate::units::parse_size;

/// The default number of children of a node of a classical or a hash trie: the paper's figures use
/// it.
const TRIE_SIZE: u16 = 16;

/// The engine's options.
#[derive(clap::Args)]
#[command(next_help_heading = "Engine")]
pub struct EngineArgs {
    /// The engine: rows in memory, or in a file of pages that may be larger than memory.
    #[arg(long, value_enum, default_value = "memory")]
    pub engine: EngineArg,
    /// The index that holds the rows in memory: masstree, wormhole, cuckoo-trie, mlp (keys of up to
    /// 8 bytes) or skip-list [default: masstree].
    #[arg(long, value_name = "NAME")]
    index: Option<IndexKind>,
    /// The trie of the disk engine; a data folder keeps the trie that it was created with [default:
    /// linked].
    #[arg(long, value_enum)]
    trie: Option<TrieArg>,
    /// Children of a node of a classical or a hash trie: 4, 8, 16, 32, 64, 128 or 256 [default: 16].
    #[arg(long, value_name = "N")]
    trie_size: Option<u16>,
    /// The number of 4 KiB pages that the disk engine keeps in memory [default: 65536].
    #[arg(long, value_name = "N", conflicts_with_all = ["cache", "max_memory"])]
    cache_pages: Option<usize>,
    /// The same limit as a size; --max-memory means the same.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "max_memory")]
    cache: Option<u64>,
    /// How the disk engine reads pages: pread or mmap [default: pread].
    #[arg(long, value_name = "WAY", value_parser = parse_reading)]
    reading: Option<ReadMode>,
    /// The disk engine's policy to evict pages from a full cache: s3-fifo or lru [default:
    /// s3-fifo].
    #[arg(long, value_name = "NAME")]
    policy: Option<ReplacementPolicy>,
}

/// `--engine`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum EngineArg {
    /// Rows in memory, under an index; logs and checkpoints on disk.
    Memory,
    /// Rows in a trie on pages of a file; the cache holds some of them.
    Disk,
}

/// `--trie`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum TrieArg {
    /// Nodes with an array of children.
    Classical,
    /// Nodes with a list of children: the smallest, and keys in order.
    Linked,
    /// A classical trie of the keys' hashes: keys without an order, so no ranges.
    Hash,
}

fn parse_reading(name: &str) -> Result<ReadMode, String> {
    match name {
        "pread" => Ok(ReadMode::Calls),
        // SAFETY: the store locks its folder and makes its files accessible only to their owner,
        // and the server opens one store there. `docs/operations.md` tells the owner not to write
        // to these files.
        "mmap" => Ok(unsafe { ReadMode::mapping() }),
        other => Err(format!("unknown read mode '{other}'; use pread or mmap")),
    }
}

impl EngineArgs {
    /// Rejects options of the other engine. `memory_only` are the memory engine's options that were
    /// given elsewhere.
    pub fn refuse_others(&self, memory_only: &[&'static str]) -> Result<(), Failure> {
        let (given, other) = match self.engine {
            EngineArg::Memory => (self.disk_only(), "disk"),
            EngineArg::Disk => (
                self.index.map(|_| "--index").into_iter().chain(memory_only.iter().copied()).collect(),
                "memory",
            ),
        };
        match given.first() {
            None => Ok(()),
            Some(name) => Err(Failure::usage(format!(
                "{name} is of --engine {other}; leave it out, or choose that engine"
            ))),
        }
    }

    /// Returns the given options that concern only the disk engine.
    fn disk_only(&self) -> Vec<&'static str> {
        let given = [
            ("--trie", self.trie.is_some()),
            ("--trie-size", self.trie_size.is_some()),
            ("--cache-pages", self.cache_pages.is_some()),
            ("--cache", self.cache.is_some()),
            ("--reading", self.reading.is_some()),
            ("--policy", self.policy.is_some()),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }

    /// Returns whether the command line or the configuration file names a trie.
    pub fn names_trie(&self) -> bool {
        self.trie.is_some() || self.trie_size.is_some()
    }

    /// Returns the index of the memory engine.
    pub fn index(&self) -> IndexKind {
        self.index.unwrap_or_default()
    }

    /// Returns the options of the disk engine. `max_memory` is another name for the cache's size; 0
    /// means the default.
    pub fn disk_options(&self, max_memory: Option<u64>) -> Result<DiskOptions, Failure> {
        let defaults = DiskOptions::default();
        let least = CACHE_LEAST * PAGE;
        let max_memory = max_memory.filter(|size| *size > 0);
        for (name, size) in [("--cache", self.cache), ("--max-memory", max_memory)] {
            if let Some(size) = size.filter(|size| *size < least as u64) {
                let what = "over the disk engine it is the size of the cache";
                return Err(Failure::usage(format!("{name} {size}: {what}, {least} bytes at least")));
            }
        }
        let size = self.cache.or(max_memory);
        let by_size = size.map(|size| usize::try_from(size / PAGE as u64).unwrap_or(usize::MAX));
        Ok(DiskOptions {
            shape: self.shape()?,
            values: Values::Rows,
            // One for each read of a collection. `DiskEngine` bounds those of clients.
            snapshots: SNAPSHOTS_MOST,
            cache_pages: self.cache_pages.or(by_size).unwrap_or(defaults.cache_pages),
            policy: self.policy.unwrap_or_default(),
            reading: self.reading.unwrap_or_default(),
            ..defaults
        })
    }

    fn shape(&self) -> Result<TrieShape, Failure> {
        let n = self.trie_size.unwrap_or(TRIE_SIZE);
        match (self.trie.unwrap_or(TrieArg::Linked), self.trie_size) {
            (TrieArg::Classical, _) => Ok(TrieShape::Classical { n }),
            (TrieArg::Hash, _) => Ok(TrieShape::Hash { n }),
            (TrieArg::Linked, None) => Ok(TrieShape::Linked),
            (TrieArg::Linked, Some(_)) => Err(Failure::usage(
                "--trie-size is of --trie classical and --trie hash; a linked trie has as many children as there are",
            )),
        }
    }
}
