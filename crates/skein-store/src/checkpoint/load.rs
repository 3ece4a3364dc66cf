//! Loads a checkpoint into an empty index with several threads.
//!
//! The rows of a part are sorted, so consecutive inserts reach neighbouring leaves and find their
//! nodes in the cache.

use std::path::Path;
use std::sync::Mutex;

use skein_log::OpenProgress;
use skein_log::storage::Storage;
use skein_model::RowAllocator;
use skein_sync::atomic::{AtomicUsize, Ordering};
use skein_sync::locks::{into_inner, lock};
use skein_sync::threads;

use super::manifest::{CheckpointManifest, PartInfo};
use super::part::NO_ROW;
use super::{part, part_name};
use crate::collection::MemberIndex;
use crate::index::IndexKind;
use crate::options::StoreLimits;
use crate::snapshot::StoreSnapshots;
use crate::store_keys::Loader;
use crate::{Error, Result};

/// Rows that are loaded under one guard.
const ROWS_PER_GUARD: usize = 1024;

/// Loads the rows of all parts of the checkpoint in the folder `path`.
pub(crate) fn load(
    loader: &Loader<'_>,
    storage: &dyn Storage,
    manifest: &CheckpointManifest,
    path: &Path,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    threads::share(loader.threads.min(manifest.parts.len()), |_| {
        loop {
            // Relaxed: a ticket; the join of the threads publishes their work.
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(info) = manifest.parts.get(number) else { return };
            let file = path.join(part_name(number));
            let mut guards = loader.enter();
            let mut progress = PartProgress { all: loader.progress, info, loaded: 0 };
            let result = part::read(storage, &file, manifest.id, manifest.begin, number, *info, |row| {
                if progress.count() {
                    guards.refresh();
                    // This message is not shown: the error is the cancelled opening below.
                    progress.report(ROWS_PER_GUARD).ok_or_else(|| Error::Cancelled.to_string())?;
                }
                let made = row.row(&loader.keys.members).ok_or(NO_ROW)?;
                let index = loader.index(row.member);
                index
                    .insert(row.key, made, guards.of(row.member))
                    .map(drop)
                    .map_err(|refused| index.refusal_reason(refused))
            });
            let rest = progress.loaded % ROWS_PER_GUARD;
            if progress.report(rest).is_none() {
                lock(&failed).get_or_insert(Error::Cancelled);
            }
            if let Err(error) = result {
                lock(&failed).get_or_insert(error);
                next.store(manifest.parts.len(), Ordering::Relaxed);
                return;
            }
        }
    });
    into_inner(failed).map_or(Ok(()), Err)
}

struct PartProgress<'p> {
    all: &'p OpenProgress,
    info: &'p PartInfo,
    loaded: usize,
}

impl PartProgress<'_> {
    /// Counts a row. Returns whether to report progress.
    fn count(&mut self) -> bool {
        self.loaded += 1;
        self.loaded.is_multiple_of(ROWS_PER_GUARD)
    }

    /// Reports that `rows` more rows were loaded, with their share of the bytes. Returns `None` if
    /// the opening was cancelled.
    fn report(&self, rows: usize) -> Option<()> {
        let rows = rows as u64;
        let bytes = u128::from(self.info.bytes) * u128::from(rows) / u128::from(self.info.rows.max(1));
        self.all.advance(bytes as u64, rows).then_some(())
    }
}

/// Reads and checks all parts without keeping them, for `skein check`. Errors with `Cancelled` if
/// `progress` was cancelled.
pub(crate) fn verify(
    storage: &dyn Storage,
    manifest: &CheckpointManifest,
    path: &Path,
    progress: &OpenProgress,
) -> Result<()> {
    let snapshots = StoreSnapshots::new(&StoreLimits::default());
    let members = MemberIndex::new(IndexKind::default(), snapshots, RowAllocator::new());
    for (number, info) in manifest.parts.iter().enumerate() {
        let file = path.join(part_name(number));
        let mut done = PartProgress { all: progress, info, loaded: 0 };
        let read = part::read(storage, &file, manifest.id, manifest.begin, number, *info, |row| {
            row.row(&members).map(drop).ok_or(NO_ROW)?;
            // As in `load`, this message is not shown.
            let goes_on = !done.count() || done.report(ROWS_PER_GUARD).is_some();
            if goes_on { Ok(()) } else { Err(Error::Cancelled.to_string()) }
        });
        let rest = done.loaded % ROWS_PER_GUARD;
        if done.report(rest).is_none() {
            return Err(Error::Cancelled);
        }
        read?;
    }
    Ok(())
}
