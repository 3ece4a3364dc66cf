//! Opening and creating a page file.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use skein_log::storage::Storage;
use skein_sync::mutex;
use skein_sync::reclaim::Collector;

use super::cache_room::CacheRoom;
use super::checkpoint::{COUNTS_AT, COUNTS_OF_PAGE, DurableState};
use super::moments::Moments;
use super::page_table::PageTable;
use super::publication_count::PublicationCount;
use super::resize::check_capacity;
use super::retired_frames::RetiredFrames;
use super::writer::PageWriterState;
use super::{BufferCounters, BufferManager};
use crate::page::{DiskPageKind, HEAD, PageBytes, PageId, PagePlace, u32_at};
use crate::page_buf::PageBuf;
use crate::page_file::{FileHeader, FreeSpaceMap, GROWTH, PER_PAGE, PageFile, ReadMode, offset_of};
use crate::{DiskError, ReplacementPolicy, Result};

#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheOptions {
    /// Pages of the cache.
    pub(crate) pages: usize,
    pub(crate) policy: ReplacementPolicy,
    /// How pages are read.
    pub(crate) reading: ReadMode,
}

impl BufferManager {
    /// Opens the file, or creates it for the given database id if it does not exist.
    ///
    /// # Errors
    /// The file is not a page file, has another format, is damaged or was cut off; a file operation
    /// failed; the cache is too small.
    pub(crate) fn open(
        storage: &dyn Storage,
        path: &Path,
        database: [u8; 16],
        cache: CacheOptions,
    ) -> Result<Self> {
        check_capacity(cache.pages)?;
        let file = match PageFile::open(storage, path, true)? {
            Some(file) => file,
            None => make(storage, path, database)?,
        };
        let file = file.read_by(cache.reading);
        let (durable, places) = read_state(&file)?;
        if let Some(place) = file.unfinished_header()? {
            let (path, offset) = (path.display(), offset_of(place));
            tracing::warn!(%path, offset, "a header is not intact; the other one has the state of the last checkpoint");
        }
        // This header may be only in the system's memory, while the disk still has the previous
        // one. Then the places of the previous state are not free yet. So write this header first;
        // a rewrite of the same bytes cannot tear.
        file.write_headers(&durable.header, durable.header.place)?;
        sync_folder(storage, path)?;
        let table = PageTable::default();
        let mut writing = PageWriterState::default();
        for place in &durable.places {
            let Some(id) = table.grow() else { break };
            match (*place, table.get(id)) {
                (1.., Some(entry)) => _ = entry.set_place(Some(PagePlace(*place))),
                _ => writing.free.push(id),
            }
        }
        let policy = cache.policy.for_cache(cache.pages);
        Ok(Self {
            file,
            table,
            room: CacheRoom::new(cache.pages),
            resizing: Mutex::new(()),
            evictor: Arc::default(),
            reports_uses: policy.wants_uses(),
            policy: Mutex::new(policy),
            stripes: std::array::from_fn(|_| mutex::Mutex::new(())),
            places: Arc::new(Mutex::new(places)),
            published: PublicationCount::new(),
            publishing: mutex::Mutex::new(()),
            writing: Mutex::new(writing),
            durable: Mutex::new(durable),
            moments: Moments::new(),
            retired: RetiredFrames::default(),
            collector: Collector::new(),
            counts: BufferCounters::default(),
        })
    }

    /// Takes the counts of the checkpoint with which the file was opened.
    pub(crate) fn take_counts(&self) -> Vec<u8> {
        std::mem::take(&mut skein_sync::locks::lock(&self.durable).count_bytes)
    }

    /// Returns the header of the last checkpoint.
    pub(crate) fn header(&self) -> FileHeader {
        skein_sync::locks::lock(&self.durable).header.clone()
    }
}

/// Creates a file without pages under a temporary name, and renames it when it is complete.
fn make(storage: &dyn Storage, path: &Path, database: [u8; 16]) -> Result<PageFile> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".new");
    let unfinished = Path::new(&unfinished);
    match storage.remove(unfinished) {
        // A file that a crash has left must never be the one that is renamed.
        Ok(()) => sync_folder(storage, unfinished)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(DiskError::io("remove", unfinished, &error)),
    }
    let file = PageFile::create(storage, unfinished)?;
    file.grow(GROWTH)?;
    file.write_headers(&FileHeader { generation: 1, database, ..FileHeader::default() }, PagePlace(0))?;
    storage.rename(unfinished, path).map_err(|error| DiskError::io("rename", unfinished, &error))?;
    Ok(file.renamed(path))
}

/// Makes the file's name durable.
fn sync_folder(storage: &dyn Storage, path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    storage.sync_dir(folder).map_err(|error| DiskError::io("sync", folder, &error))
}

/// Reads the state that a file's header leads to, and determines the free places.
///
/// # Errors
/// The file is not a page file, has another format, is damaged or was cut off; a file operation
/// failed.
pub(crate) fn read_state(file: &PageFile) -> Result<(DurableState, FreeSpaceMap)> {
    let header = file.header()?;
    let mut places = FreeSpaceMap::of_file(file.pages()?);
    let durable = read_maps(file, header, &mut places)?;
    places.collect_free();
    Ok((durable, places))
}

/// Reads the directories and maps, and retains all their places. A page's place is retained twice:
/// for the header and for the current state.
fn read_maps(file: &PageFile, header: FileHeader, places: &mut FreeSpaceMap) -> Result<DurableState> {
    let mut durable = DurableState::default();
    let maps = header.pages.div_ceil(PER_PAGE);
    for (&place, number) in header.directories.iter().zip(0..) {
        let page = read_list(file, places, place, number, DiskPageKind::Directory)?;
        durable.maps.extend(list(&page, maps, number).map(PagePlace));
    }
    for (&place, number) in durable.maps.iter().zip(0..) {
        let page = read_list(file, places, place, number, DiskPageKind::Map)?;
        durable.places.extend(list(&page, header.pages, number));
    }
    for place in durable.places.iter().copied().filter(|place| *place != 0).map(PagePlace) {
        keep(file, places, place)?;
        places.retain(place);
    }
    read_counts(file, &header, places, |place, part| {
        durable.counts.push(place);
        durable.count_bytes.extend_from_slice(part);
    })?;
    durable.header = header;
    Ok(durable)
}

/// Calls `found` with the place of each page of counts, and with its part of the counts.
fn read_counts(
    file: &PageFile,
    header: &FileHeader,
    places: &mut FreeSpaceMap,
    mut found: impl FnMut(PagePlace, &[u8]),
) -> Result<()> {
    let (mut place, mut number) = (header.counts, 0);
    // A ring would have a place twice.
    while place != PagePlace(0) {
        let page = read_list(file, places, place, number, DiskPageKind::Counts)?;
        let body = page.body();
        let len = u32_at(body, 4) as usize;
        if len > COUNTS_OF_PAGE {
            return Err(file.damaged(place, format!("it has {len} bytes of counts, more than fit")));
        }
        found(place, &body[COUNTS_AT..COUNTS_AT + len]);
        (place, number) = (PagePlace(u32_at(body, 0)), number + 1);
    }
    Ok(())
}

fn read_list(
    file: &PageFile,
    places: &mut FreeSpaceMap,
    place: PagePlace,
    number: u32,
    kind: DiskPageKind,
) -> Result<PageBuf> {
    keep(file, places, place)?;
    let page = file.read(place, PageId(number))?;
    if page.kind() == Some(kind) {
        return Ok(page);
    }
    Err(file.damaged(
        place,
        format!("a page of the kind {kind:?} should be here, but it is of the kind {:?}", page.kind()),
    ))
}

/// Returns the entries of list `number`, if all lists together have `all` entries.
fn list(page: &PageBytes, all: u32, number: u32) -> impl Iterator<Item = u32> {
    let count = (all - number * PER_PAGE).min(PER_PAGE) as usize;
    (0..count).map(|at| u32_at(&page.0, HEAD + 4 * at))
}

/// Retains a place that must not be in use already.
fn keep(file: &PageFile, places: &mut FreeSpaceMap, place: PagePlace) -> Result<()> {
    if places.is_kept(place) {
        return Err(file.damaged(place, "two pages, or a header and a page, have this place".to_owned()));
    }
    if places.keep(place) {
        return Ok(());
    }
    let pages = places.counts().0;
    Err(file.damaged(
        place,
        format!("a page should be here, but the file has only {pages} pages: it was cut off"),
    ))
}
