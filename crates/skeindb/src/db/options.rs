//! The options of a database.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skein_data::{Durability, Eviction, IndexKind, OpenProgress};
use skein_log::storage::Storage;

use crate::{Db, Result};

use super::open;

/// The engine of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// All rows in memory, with logs and checkpoints in the folder.
    Memory,
    /// Rows in a trie on the pages of a file, which may be larger than memory.
    Disk,
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
    pub(super) engine: Option<Engine>,
    pub(super) durability: Option<Durability>,
    pub(super) index: Option<IndexKind>,
    pub(super) cache_bytes: Option<usize>,
    pub(super) memory_limit: Option<usize>,
    pub(super) eviction: Eviction,
    pub(super) max_snapshots: Option<usize>,
    pub(super) max_snapshot_memory: Option<usize>,
    pub(super) create: bool,
    /// `None` for the file system of the machine.
    pub(super) storage: Option<Arc<dyn Storage>>,
    pub(super) progress: Arc<OpenProgress>,
}

impl DbBuilder {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self {
            path,
            engine: None,
            durability: None,
            index: None,
            cache_bytes: None,
            memory_limit: None,
            eviction: Eviction::None,
            max_snapshots: None,
            max_snapshot_memory: None,
            create: true,
            storage: None,
            progress: Arc::default(),
        }
    }

    /// Chooses the engine. By default an existing folder is opened with its own, and a new one gets
    /// [`Engine::Memory`].
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = Some(engine);
        self
    }

    /// Chooses the promise of a write that has returned; [`Durability::Buffered`] by default. It
    /// may differ between openings.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = Some(durability);
        self
    }

    /// Chooses the index of the engine in memory; [`IndexKind::Masstree`] by default. It may differ
    /// between openings.
    pub fn index(mut self, index: IndexKind) -> Self {
        self.index = Some(index);
        self
    }

    /// Sets the memory for pages of the disk engine in bytes; 256 MiB by default, and 64 KiB at
    /// least.
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = Some(bytes);
        self
    }

    /// Sets a limit for the memory of the engine in memory, in bytes. At the limit, writes that add
    /// memory are refused, or keys are evicted; see [`eviction`](Self::eviction).
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// Chooses which keys are evicted at the memory limit; none by default.
    pub fn eviction(mut self, eviction: Eviction) -> Self {
        self.eviction = eviction;
        self
    }

    /// Sets how many snapshots may live at a time, those of transactions and iterators over them
    /// included. One more is an error that names this option. From 1 to 65,536; by default as many
    /// as that.
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
    pub fn max_snapshots(mut self, count: usize) -> Self {
        self.max_snapshots = Some(count);
        self
    }

    /// Sets how much memory the engine in memory may keep for snapshots, in bytes: the rows that
    /// were replaced or removed while a snapshot lives that shows them. Over it the oldest snapshot
    /// ends, and each read of it returns an error that names this option. The default is a quarter
    /// of the [`memory_limit`](Self::memory_limit); without that limit, snapshots are unlimited,
    /// too.
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
    pub fn max_snapshot_memory(mut self, bytes: usize) -> Self {
        self.max_snapshot_memory = Some(bytes);
        self
    }

    /// Sets whether a missing folder is created; it is by default.
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
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
