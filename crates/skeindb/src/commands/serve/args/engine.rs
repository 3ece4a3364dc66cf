//! Which engine, and what is said of it alone.

use skein_disk::{CACHE_LEAST, DiskOptions, PAGE, ReadMode, ReplacementPolicy, TrieShape, Values};
use skein_store::IndexKind;

use crate::exit::Failure;
use crate::units::parse_size;

/// Children of a node of a classical or a hash trie, unless told otherwise: what the paper's figures have.
const TRIE_SIZE: u16 = 16;

/// Where the rows lie.
#[derive(clap::Args)]
#[command(next_help_heading = "Engine")]
pub struct EngineArgs {
    /// Where the rows lie: in memory, or in a file of pages that may be larger than memory.
    #[arg(long, value_enum, default_value = "memory")]
    pub engine: EngineArg,
    /// The index that holds the rows in memory: masstree, wormhole, cuckoo-trie, mlp (keys of up to 8 bytes) or skip-list
    /// [default: masstree].
    #[arg(long, value_name = "NAME")]
    index: Option<IndexKind>,
    /// The trie of the disk engine; it stays what the data folder was made with [default: linked].
    #[arg(long, value_enum)]
    trie: Option<TrieArg>,
    /// Children of a node of a classical or a hash trie: 4, 8, 16, 32, 64, 128 or 256 [default: 16].
    #[arg(long, value_name = "N")]
    trie_size: Option<u16>,
    /// Pages of 4 KiB that the disk engine keeps in memory [default: 65536].
    #[arg(long, value_name = "N", conflicts_with = "cache")]
    cache_pages: Option<usize>,
    /// The same as a size.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    cache: Option<u64>,
    /// How the disk engine reads pages: pread or mmap [default: pread].
    #[arg(long, value_name = "WAY", value_parser = parse_reading)]
    reading: Option<ReadMode>,
    /// Which page leaves a full cache of the disk engine: s3-fifo or lru [default: s3-fifo].
    #[arg(long, value_name = "NAME")]
    policy: Option<ReplacementPolicy>,
}

/// `--engine`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum EngineArg {
    /// Rows in memory, under an index; logs and checkpoints on disk.
    Memory,
    /// Rows in a trie on pages of a file, of which some are in memory.
    Disk,
}

/// `--trie`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum TrieArg {
    /// Nodes with an array of children.
    Classical,
    /// Nodes with a list of children: the least space, and keys in order.
    Linked,
    /// A classical trie of the keys' hashes: no order of keys, so no ranges.
    Hash,
}

fn parse_reading(name: &str) -> Result<ReadMode, String> {
    match name {
        "pread" => Ok(ReadMode::Calls),
        // SAFETY: the store locks its folder and makes its files the owner's alone, and the server opens
        // one store there. `docs/operations.md` tells the owner to write nothing to them.
        "mmap" => Ok(unsafe { ReadMode::mapping() }),
        other => Err(format!("there is no way to read called '{other}'; there are pread and mmap")),
    }
}

impl EngineArgs {
    /// Refuses options that are of the other engine; `memory_only` are those of the engine in memory that were given elsewhere.
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

    /// Options that were given and say something about the disk engine alone.
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

    /// The index of the engine in memory.
    pub fn index(&self) -> IndexKind {
        self.index.unwrap_or_default()
    }

    /// What these options say of the disk engine.
    pub fn disk_options(&self) -> Result<DiskOptions, Failure> {
        let defaults = DiskOptions::default();
        let by_size = self.cache.map(|size| usize::try_from(size / PAGE as u64).unwrap_or(usize::MAX));
        let least = CACHE_LEAST * PAGE;
        if let Some(size) = self.cache.filter(|size| *size < least as u64) {
            return Err(Failure::usage(format!("--cache {size}: a cache has {least} bytes at least")));
        }
        Ok(DiskOptions {
            shape: self.shape()?,
            values: Values::Rows,
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
