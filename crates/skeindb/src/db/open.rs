//! Opening: chooses the engine, checks the options and reads the catalog.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use skein_data::{DiskEngine, PAGE, foreign_files};
use skein_disk::{DiskOptions, DiskStore, SNAPSHOTS_MOST, Values, is_disk_folder_on, kind_of};
use skein_log::storage::{MemoryStorage, OsStorage, Storage};
use skein_store::{
    SNAPSHOTS_MAX, Store, StoreLimits, StoreOptions, check_no_identity_lost, is_data_folder_on,
};
use skein_sync::rooms::Rooms;
use skein_sync::{forks, threads};

use super::catalog::Catalog;
use super::exclusive_gate::ExclusiveGate;
use super::physical_key::CATALOG;
use super::{Db, DbBuilder, DbShared, Engine};
use crate::{Durability, Error, Result};

/// The folder of a database in memory alone, which exists in its own storage.
const NO_FOLDER: &str = "/in-memory";
/// The size of its log segments. It needs at most one.
const SMALL_SEGMENT: u64 = 64 << 10;
/// Rooms for each core: several threads may share a core, and not wait for each other.
const ROOMS_PER_CORE: usize = 4;
/// The most rooms: a commit takes all of them.
const ROOMS_MOST: usize = 64;

pub(super) fn open(builder: &DbBuilder) -> Result<Db> {
    let engine = match (builder.path(), chosen_engine(builder)?) {
        (None, _) => open_in_memory(builder)?,
        (Some(path), Engine::Memory) => open_memory(builder, path)?,
        (Some(path), Engine::Disk) => open_disk(builder, path)?,
    };
    let rooms = (threads::cores() * ROOMS_PER_CORE).min(ROOMS_MOST);
    let sessions = (0..rooms).map(|_| engine.limited_session());
    let shared = DbShared {
        rooms: Rooms::new(sessions),
        exclusive: ExclusiveGate::default(),
        catalog: Catalog::default(),
        #[cfg(feature = "tokio")]
        durable_watch: crate::aio::DurableWatch::default(),
        closed: AtomicBool::new(false),
        generation: forks::generation(),
        folder: builder.path().and_then(|path| path.canonicalize().ok()),
        engine,
    };
    shared.catalog.load(&shared.engine)?;
    let db = Db { shared: Arc::new(shared) };
    db.finish_drops()?;
    Ok(db)
}

/// Returns the engine that the options name, or that the folder has.
fn chosen_engine(builder: &DbBuilder) -> Result<Engine> {
    let found = builder.path().and_then(|path| {
        let storage = storage(builder);
        let disk = is_disk_folder_on(&*storage, path).then_some(Engine::Disk);
        disk.or_else(|| is_data_folder_on(&*storage, path).then_some(Engine::Memory))
    });
    if let (Some(path), None) = (builder.path(), found) {
        check_no_identity_lost(&*storage(builder), path)?;
    }
    if let (Some(path), None, Some(false)) = (builder.path(), found, builder.given.create) {
        let why = format!("{} has no database, and `create` is off", path.display());
        return Err(Error::BadOption { name: "path", why });
    }
    refuse_foreign(builder)?;
    let engine = builder.given.engine.or(found).unwrap_or(Engine::Memory);
    for (row, number) in builder.given.rows() {
        if row.engine.is_some_and(|of| of != engine) {
            let why = format!("it does not belong to {engine:?}; leave it out, or choose the other engine");
            return Err(Error::BadOption { name: row.name, why });
        }
        number.map_or(Ok(()), |number| row.check(number))?;
    }
    if builder.path().is_none() && engine == Engine::Disk {
        let why = "a database without a folder cannot be on disk; use `Db::builder` with a folder";
        return Err(Error::BadOption { name: "engine", why: why.into() });
    }
    Ok(engine)
}

/// Rejects a folder with the files of others, such as a home folder that was named by mistake.
fn refuse_foreign(builder: &DbBuilder) -> Result<()> {
    // A storage of its own has no folder of the system.
    let Some(path) = builder.path().filter(|_| builder.storage.is_none()) else { return Ok(()) };
    let Some(found) = foreign_files(path) else { return Ok(()) };
    let (path, inner) = (path.display(), path.join("skeindb"));
    let why = format!(
        "{path} is neither a database nor empty: it has {found}; name an empty folder, or a new one such as {}",
        inner.display()
    );
    Err(Error::BadOption { name: "path", why })
}

fn storage(builder: &DbBuilder) -> Arc<dyn Storage> {
    builder.storage.clone().unwrap_or_else(|| Arc::new(OsStorage))
}

fn store_options(builder: &DbBuilder) -> StoreOptions {
    let given = &builder.given;
    StoreOptions {
        durability: given.durability.unwrap_or_default(),
        index: given.index.unwrap_or_default(),
        limits: StoreLimits {
            memory_bytes: given.memory_limit,
            eviction: given.eviction.unwrap_or_default(),
            never_evicted: Some(CATALOG.to_vec()),
            snapshots: given.max_snapshots.unwrap_or(SNAPSHOTS_MAX),
            snapshot_bytes: given.max_snapshot_memory,
            ..StoreLimits::default()
        },
        storage: storage(builder),
        progress: builder.progress.clone(),
        ..StoreOptions::default()
    }
}

fn open_memory(builder: &DbBuilder, path: &Path) -> Result<skein_data::Engine> {
    Ok(Store::open(path, store_options(builder))?.into())
}

fn open_in_memory(builder: &DbBuilder) -> Result<skein_data::Engine> {
    if let Some(durability @ (Durability::Sync | Durability::Buffered)) = builder.given.durability {
        let why = format!("{durability:?}: a database without a folder is never durable; leave it out");
        return Err(Error::BadOption { name: "durability", why });
    }
    let options = StoreOptions {
        durability: Durability::None,
        segment_bytes: SMALL_SEGMENT,
        checkpoint_log_bytes: None,
        checkpoint_interval: None,
        storage: Arc::new(MemoryStorage::default()),
        ..store_options(builder)
    };
    Ok(Store::open(NO_FOLDER, options)?.into())
}

fn open_disk(builder: &DbBuilder, path: &Path) -> Result<skein_data::Engine> {
    let defaults = DiskOptions::default();
    let given = &builder.given;
    let snapshots = given.max_snapshots.unwrap_or(SNAPSHOTS_MAX);
    let limits = StoreLimits { snapshots, ..StoreLimits::default() };
    let storage = storage(builder);
    let kind = kind_of(path, &*storage)?;
    let options = DiskOptions {
        shape: kind.map_or(defaults.shape, |kind| kind.shape),
        values: kind.map_or(Values::Rows, |kind| kind.values),
        cache_pages: given.cache_bytes.map_or(defaults.cache_pages, |bytes| bytes / PAGE),
        durability: given.durability.unwrap_or_default(),
        // The engine's limit is less or equal.
        snapshots: SNAPSHOTS_MOST,
        progress: builder.progress.clone(),
        ..defaults
    };
    Ok(DiskEngine::new(DiskStore::open_on(storage, path, options)?, limits)?.into())
}
