//! Opening a store: reads the file's state and replays the log's later records.

use std::path::Path;
use std::sync::{Arc, Mutex};

use skein_log::storage::{OsStorage, Storage, has_file, lock_folder, make_folder};
use skein_log::{CheckpointEpochs, Log, LogError, LogOptions, Recovered};
use skein_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use skein_sync::background::{BackgroundThread, ThreadSignal};
use skein_sync::locks::lock;

use super::spaces::check_spaces;
use super::{
    CheckpointStatus, DiskOptions, DiskShared, DiskStore, FILE, FolderLock, LOG, MEMORY_FILE, ReservedCounts,
    StoreSpaces, log_record, parts,
};
use crate::buffer::{BufferManager, CacheOptions};
use crate::catalog::Catalog;
use crate::page::PageId;
use crate::{DiskError, Result};

impl DiskStore {
    /// Opens the store in a folder, or creates it. The store has all acknowledged writes, as far as
    /// the durability level promises.
    ///
    /// # Errors
    /// - The folder is in use, or belongs to the engine in memory.
    /// - The file does not belong to this engine, has another format or is damaged.
    /// - The file or the log is missing, or they belong to two stores.
    /// - The file has another trie or another kind of values than the options.
    /// - An option is out of its range, or a file operation failed.
    pub fn open(folder: impl AsRef<Path>, options: DiskOptions) -> Result<Self> {
        Self::open_on(Arc::new(OsStorage), folder, options)
    }

    /// Opens the store on a given storage.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_on(
        storage: Arc<dyn Storage>,
        folder: impl AsRef<Path>,
        options: DiskOptions,
    ) -> Result<Self> {
        options.check()?;
        let folder = folder.as_ref();
        make_folder(&*storage, folder)?;
        let held = lock_folder(&*storage, folder, "lock", options.lock_wait)?;
        if has_file(&*storage, folder, MEMORY_FILE)? {
            return Err(DiskError::OtherEngine { path: folder.to_owned() });
        }
        parts::check_file(&*storage, folder)?;
        let DiskOptions { cache_pages: pages, policy, reading, give_up_log, .. } = options;
        let cache = CacheOptions { pages, policy, reading };
        let buffer = BufferManager::open(&*storage, &folder.join(FILE), skein_log::random_id(), cache)
            .map_err(|error| parts::damage_of_file(&*storage, folder, error))?;
        let header = buffer.header();
        parts::check_log(&*storage, folder, &header, give_up_log)?;
        let first = (header.sequence > 0).then(|| header.catalog());
        let (catalog, spaces) = open_spaces(&buffer, first, &options)?;
        let reserved = ReservedCounts::of_bytes(&buffer.take_counts());
        let log_options =
            LogOptions { database: Some(header.database), ..options.log_options(folder.join(LOG)) };
        let epochs = CheckpointEpochs { begin: header.epoch, end: header.epoch };
        let (log, recovered) = Log::open(storage, log_options, (header.epoch > 0).then_some(epochs))?;
        let shared = Arc::new(DiskShared {
            buffer,
            log,
            spaces,
            catalog,
            options,
            record: Mutex::new(Vec::new()),
            sequence: AtomicU64::new(header.sequence.max(1)),
            keys: AtomicU64::new(header.keys),
            reserved: Mutex::new(reserved),
            logged: AtomicU64::new(0),
            checkpoints: CheckpointStatus::default(),
            replayed: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        });
        shared.replay(&recovered, header.epoch)?;
        if header.sequence == 0 {
            // New tries are not logged, so the file must have them before a record names their
            // space (`spaces.rs`, invariant 1). A crash before that leaves the file as it was.
            shared.checkpoint()?;
        }
        let start = |name, signal: &Arc<ThreadSignal>, run: fn(&DiskShared, &ThreadSignal)| {
            let shared = shared.clone();
            BackgroundThread::start(name, signal.clone(), move |signal| run(&shared, signal))
                .map_err(|error| DiskError::io("start a thread for", folder, &error))
        };
        let checkpointer =
            start("skein-disk-checkpoint", &shared.checkpoints.thread, DiskShared::take_checkpoints)?;
        let evictor = start("skein-disk-evict", &shared.buffer.evictor, |shared, signal| {
            shared.buffer.evict_ahead(signal);
        })?;
        let folder = Arc::new(Mutex::new(FolderLock { lock: Some(held), is_closed: false }));
        Ok(Self { shared, checkpointer, evictor, folder })
    }
}

/// Opens the key spaces and finds the catalog's first page. Creates both in a new file.
fn open_spaces(
    buffer: &BufferManager,
    first: Option<PageId>,
    options: &DiskOptions,
) -> Result<(PageId, StoreSpaces)> {
    let mut writer = buffer.write();
    let catalog = match first {
        Some(first) => Catalog::at(first),
        None => Catalog::create(&mut writer)?,
    };
    let spaces = StoreSpaces::open(&mut writer, catalog, options, first.is_none())?;
    writer.publish()?;
    Ok((catalog.first(), spaces))
}

impl DiskShared {
    /// Replays the log's records that are later than the file.
    fn replay(&self, recovered: &Recovered, from_epoch: u64) -> Result<()> {
        let failed = Mutex::new(None);
        let progress = &self.options.progress;
        // One thread, so that the records of the log are replayed in order.
        let replayed = recovered.replay(1, from_epoch, |_, record| {
            self.apply(record.payload)
                .and_then(|writes| {
                    let continues = progress.advance(record.payload.len() as u64, writes as u64);
                    if continues { Ok(()) } else { Err(ReplayFailure::Failed(LogError::Cancelled.into())) }
                })
                .map_err(|why| match why {
                    ReplayFailure::NotARecord(what) => what,
                    ReplayFailure::Failed(error) => lock(&failed).insert(error).to_string(),
                })
        });
        progress.complete();
        match skein_sync::locks::into_inner(failed) {
            Some(error) => Err(error),
            None => Ok(replayed.map(|_| ())?),
        }
    }

    /// Replays those writes of a record that the file lacks. Returns their number.
    fn apply(&self, payload: &[u8]) -> std::result::Result<usize, ReplayFailure> {
        let not_a_record = || {
            ReplayFailure::NotARecord("the record is intact, but not one that this program writes".to_owned())
        };
        let (first, writes) = log_record::parse(payload).ok_or_else(not_a_record)?;
        check_spaces(&writes, |space| self.spaces.has(space)).map_err(ReplayFailure::NotARecord)?;
        let last = self.sequence.load(Ordering::Relaxed);
        if !log_record::is_after(first, last, self.buffer.header().sequence)
            .map_err(ReplayFailure::NotARecord)?
        {
            return Ok(0);
        }
        self.apply_all(first, &writes).map_err(ReplayFailure::Failed)?;
        self.logged.fetch_add(payload.len() as u64, Ordering::Relaxed);
        self.replayed.fetch_add(writes.len() as u64, Ordering::Relaxed);
        Ok(writes.len())
    }

    /// Replays the writes of a record. No other thread reads and no checkpoint runs, so the writes
    /// need not be published at once.
    fn apply_all(&self, first: u64, writes: &[log_record::LoggedWrite<'_>]) -> Result<()> {
        let mut numbered = (first..).zip(writes).peekable();
        while numbered.peek().is_some() {
            let mut writer = self.buffer.write();
            let (mut sequence, mut keys) = (0, self.keys.load(Ordering::Relaxed));
            let mut reserved = ReservedCounts::default();
            while writer.pages() < writer.cache() / 4
                && let Some((number, write)) = numbered.next()
            {
                keys = keys.wrapping_add_signed(self.put(&mut writer, number, write, &mut reserved)?);
                sequence = number;
            }
            writer.publish()?;
            self.sequence.store(sequence, Ordering::Relaxed);
            self.keys.store(keys, Ordering::Relaxed);
            self.add_reserved(&reserved);
        }
        Ok(())
    }
}

/// The reason why a record is not replayed.
enum ReplayFailure {
    NotARecord(String),
    Failed(DiskError),
}
