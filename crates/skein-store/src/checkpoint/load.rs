//! Loading a checkpoint into an empty index with several threads.
//!
//! A part is a sorted run, so its inserts walk along the borders of the index: each finds its nodes in the cache.

use std::path::Path;
use std::sync::{Arc, Mutex};

use skein_sync::atomic::{AtomicUsize, Ordering};
use skein_sync::locks::{into_inner, lock};
use skein_sync::threads;

use super::manifest::Manifest;
use super::part::NO_ROW;
use super::{part, part_name};
use crate::collection::Members;
use crate::index::Index;
use crate::options::{IndexKind, Limits};
use crate::row::Rows;
use crate::{Result, folder::Folder};

/// Rows that are loaded under one guard.
const ROWS_PER_GUARD: usize = 1024;

/// Loads all parts.
pub(crate) fn load(
    folder: &Folder,
    (manifest, path): (&Manifest, &Path),
    (index, members): (&Index, &Arc<Members>),
    threads: usize,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    threads::share(threads.min(manifest.parts.len()), |_| {
        loop {
            // Relaxed: a ticket; what the threads did is handed over by the end of the scope.
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(info) = manifest.parts.get(number) else { return };
            let file = path.join(part_name(number));
            let (mut guard, mut members_guard) = (index.collector().enter(), members.enter());
            let mut loaded = 0;
            let result =
                part::read(&*folder.storage, &file, (manifest.id, manifest.begin, number), *info, |row| {
                    loaded += 1;
                    if loaded % ROWS_PER_GUARD == 0 {
                        skein_index::Guard::refresh(&mut guard);
                        skein_index::Guard::refresh(&mut members_guard);
                    }
                    let made = row.row(members).ok_or(NO_ROW)?;
                    let (index, guard) =
                        if row.member { (&members.index, &members_guard) } else { (index, &guard) };
                    index.insert(row.key, made, guard).map(drop).map_err(|refused| index.why(refused))
                });
            if let Err(error) = result {
                lock(&failed).get_or_insert(error);
                next.store(manifest.parts.len(), Ordering::Relaxed);
                return;
            }
        }
    });
    into_inner(failed).map_or(Ok(()), Err)
}

/// Reads all parts and checks them, keeping nothing; for `skein check`.
pub(crate) fn verify(
    storage: &dyn skein_log::storage::Storage,
    manifest: &Manifest,
    path: &Path,
) -> Result<()> {
    let members = Members::new(IndexKind::default(), &Limits::default(), Rows::new());
    for (number, info) in manifest.parts.iter().enumerate() {
        let file = path.join(part_name(number));
        part::read(storage, &file, (manifest.id, manifest.begin, number), *info, |row| {
            row.row(&members).map(drop).ok_or_else(|| NO_ROW.into())
        })?;
    }
    Ok(())
}
