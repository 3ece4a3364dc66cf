//! The options of a database.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skein_data::{Durability, Eviction, IndexKind, OpenProgress};
use skein_disk::{CACHE_LEAST, PAGE};
use skein_log::storage::Storage;
use skein_store::SNAPSHOTS_MAX;

use crate::{Db, Result};

use super::open;
use super::option_row::{DbOption, OptionKind, OptionValue, db_options};

/// The engine of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// All rows in memory, with logs and checkpoints in the folder.
    Memory,
    /// Rows in a trie on the pages of a file, which may be larger than memory.
    Disk,
}

impl Engine {
    /// All engines.
    pub const ALL: [Self; 2] = [Self::Memory, Self::Disk];

    /// Returns the name of the engine, as in the options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Disk => "disk",
        }
    }

    /// Describes the engine, for lists of all.
    pub fn about(self) -> &'static str {
        match self {
            Self::Memory => "All rows in memory, with logs and checkpoints in the folder",
            Self::Disk => "Rows on the pages of a file, which may be larger than memory",
        }
    }
}

/// Options for opening a database; [`Db::builder`] makes one. Each has a default.
///
/// ```
/// use skeindb::{Db, Durability, IndexKind};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("geese");
/// let db = Db::builder(&path).durability(Durability::Sync).index(IndexKind::Wormhole).open()?;
/// # Ok::<(), skeindb::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `open` is called"]
pub struct DbBuilder {
    /// `None` for a database in memory alone.
    pub(super) path: Option<PathBuf>,
    pub(super) given: GivenOptions,
    /// `None` for the file system of the machine.
    pub(super) storage: Option<Arc<dyn Storage>>,
    pub(super) progress: Arc<OpenProgress>,
}

db_options! {
    /// Chooses the engine: `memory` keeps all rows in memory, with logs and checkpoints in the
    /// folder, and `disk` keeps them on pages of a file. By default a folder keeps its engine, and
    /// a new one gets `memory`.
    engine(engine: Engine): OptionKind::Name(|| Engine::ALL.map(|one| (one.name(), one.about())).to_vec()), None;

    /// Chooses the promise of a write that has returned. `buffered`, the default: it is on disk
    /// within 200 ms. `sync`: it survives a power cut. `none`: a checkpoint or closing writes it.
    /// It may differ between openings.
    durability(durability: Durability):
        OptionKind::Name(|| Durability::ALL.map(|one| (one.name(), one.about())).to_vec()), None;

    /// Chooses the index of the engine in memory; `masstree` by default. It may differ between
    /// openings.
    index(index: IndexKind):
        OptionKind::Name(|| IndexKind::ALL.map(|one| (one.name(), one.about())).to_vec()), Some(Engine::Memory);

    /// Sets the memory for pages of the disk engine in bytes; 256 MiB by default.
    cache_bytes(bytes: usize): OptionKind::Bytes(CACHE_LEAST * PAGE..=usize::MAX), Some(Engine::Disk);

    /// Sets a limit for the memory of the engine in memory, in bytes; there is none by default. At
    /// the limit, writes that add memory are refused, or keys are evicted, as `eviction` says.
    memory_limit(bytes: usize): OptionKind::Bytes(0..=usize::MAX), Some(Engine::Memory);

    /// Chooses which keys are evicted at `memory_limit`; none by default. The names are those of
    /// Redis's `maxmemory-policy`.
    eviction(eviction: Eviction):
        OptionKind::Name(|| Eviction::ALL.map(|one| (one.name(), one.about())).to_vec()), Some(Engine::Memory);

    /// Sets how many snapshots may live at a time, those of transactions and iterators over them
    /// included. One more is an error that names this option. By default as many as there can be.
    ///
    /// ```
    /// let db = skeindb::Db::memory_builder().max_snapshots(1).open()?;
    /// let first = db.snapshot()?;
    /// let refused = db.snapshot().unwrap_err().to_string();
    /// assert!(refused.contains("raise `max_snapshots`"), "{refused}");
    /// drop(first);
    /// db.snapshot()?;
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    max_snapshots(count: usize): OptionKind::Count(1..=SNAPSHOTS_MAX), None;

    /// Sets how much memory the engine in memory may keep for snapshots, in bytes: the rows that
    /// were replaced or removed while a snapshot lives that shows them. Over it the oldest snapshot
    /// ends, and each read of it is an error that names this option. The default is a quarter of
    /// `memory_limit`; without that limit, snapshots are unlimited, too.
    ///
    /// ```
    /// let db = skeindb::Db::memory_builder().max_snapshot_memory(100_000).open()?;
    /// let geese = db.keyspace("geese")?;
    /// geese.insert("grey", vec![b'a'; 60_000])?;
    /// geese.insert("bean", vec![b'a'; 60_000])?;
    /// let snapshot = db.snapshot()?;
    /// geese.insert("grey", "Anser anser")?;
    /// assert_eq!(snapshot.get(&geese, "grey")?.expect("it is kept").len(), 60_000);
    /// geese.insert("bean", "Anser fabalis")?;
    /// let ended = snapshot.get(&geese, "grey").unwrap_err().to_string();
    /// assert!(ended.contains("raise `max_snapshot_memory`"), "{ended}");
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    max_snapshot_memory(bytes: usize): OptionKind::Bytes(0..=usize::MAX), Some(Engine::Memory);

    /// Sets whether a missing folder is created; it is by default.
    create(create: bool): OptionKind::Switch { default: true }, None;
}

impl DbBuilder {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self { path, given: GivenOptions::default(), storage: None, progress: Arc::default() }
    }

    /// Replaces the file system; see [`storage`](crate::storage). Tests use one that fails.
    pub fn storage(mut self, storage: Arc<dyn Storage>) -> Self {
        self.storage = Some(storage);
        self
    }

    /// Shows the progress of opening, and lets another thread cancel it.
    pub fn progress(mut self, progress: Arc<OpenProgress>) -> Self {
        self.progress = progress;
        self
    }

    /// Opens the database.
    ///
    /// # Errors
    /// As for [`Db::open`]; an option is out of its range or belongs to the other engine.
    pub fn open(self) -> Result<Db> {
        open::open(&self)
    }

    /// Returns the folder.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}
