//! Inspection of a store's folder without opening it: reports contents and damage, and changes
//! nothing.
//!
//! ```text
//!   header ─► directories ─► maps ─► pages: checksum, id ─► catalog ─► nodes of all tries
//!                                      └─► each page has one owner (`page_owners.rs`)
//!   log    ─► every record
//! ```

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

use skein_log::storage::{OsStorage, Storage, has_file};
use skein_log::{CheckpointEpochs, LogError, LogRecoveryReport, OpenProgress, RecordProgress, Recovered};
use skein_sync::locks::{into_inner, lock};

use super::check::claim_catalog;
use super::log_record;
use super::spaces::check_spaces;
use super::{FILE, LOG, parts, tell_pages};
use crate::buffer::{DurableState, WalkStop, read_state};
use crate::catalog::{Catalog, CatalogEntry, NamedTrie};
use crate::page::{PAGE, PageBytes, PageId, PagePlace};
use crate::page_buf::PageBuf;
use crate::page_file::{FileHeader, PageFile, offset_of};
use crate::page_owners::PageOwners;
use crate::record::{PageReader, WalkResult};
use crate::trie::{TrieCensus, TrieShape};
use crate::{DiskError, KeySpace, Result, TrieKind, Values};

/// A trie in a store's file: that of a key space.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TrieInspection {
    /// Its name, which is that of its space ([`KeySpace::name`]).
    pub name: String,
    /// Its structure and parameters.
    pub shape: TrieShape,
    /// The kind of its values.
    pub values: Values,
    /// Its size; `None` if damaged pages prevented the check.
    pub census: Option<TrieCensus>,
}

/// An ordered set of keys in a store's file: that of a key space without values.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct KeySetInspection {
    /// Its name, which is that of its space ([`KeySpace::name`]).
    pub name: String,
    /// The number of its keys; `None` if damaged pages prevented the check.
    pub keys: Option<u64>,
}

/// The contents of a store's folder.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DiskInspection {
    /// The store's id in hexadecimal.
    pub store_id: String,
    /// The last write in the file; the log may have later ones.
    pub sequence: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of the file that are free.
    pub free_bytes: u64,
    /// The offset of a header that is not intact. A crash interrupted its write, or it was damaged
    /// later. The other header and the log have everything that was acknowledged, and opening the
    /// store repairs it.
    pub unfinished_header: Option<u64>,
    /// Pages that were read: those of tries and of the catalog.
    pub pages: u64,
    /// The tries in the file.
    pub tries: Vec<TrieInspection>,
    /// The ordered sets of keys in the file.
    pub key_sets: Vec<KeySetInspection>,
    /// The records that opening the log would find and keep; `None` if the log is damaged.
    pub log: Option<LogRecoveryReport>,
    /// Records of the log that opening would replay.
    pub log_records: u64,
    /// All damage. If it is empty, the store can be opened.
    pub damage: Vec<DiskError>,
}

/// Returns whether a folder belongs to this engine: it has a page file.
pub fn is_disk_folder(folder: impl AsRef<Path>) -> bool {
    is_disk_folder_on(&OsStorage, folder)
}

/// Does the same on a given storage.
pub fn is_disk_folder_on(storage: &dyn Storage, folder: impl AsRef<Path>) -> bool {
    has_file(storage, folder.as_ref(), FILE).unwrap_or(true)
}

/// Reads a whole store's folder, checks every checksum, every node and every record of the log, and
/// reports the contents. Nobody may write to the folder meanwhile. Needs 8 bytes of memory per
/// page, and some for each node.
///
/// # Errors
/// The folder has no store or one of another format, or a file cannot be read. Damage is not an
/// error but part of the result.
///
/// ```
/// use skein_disk::{DiskOptions, DiskStore, inspect};
/// use skein_log::storage::OsStorage;
///
/// let folder = tempfile::tempdir()?;
/// let store = DiskStore::open(folder.path(), DiskOptions::default())?;
/// store.set(b"goose", b"honks")?;
/// store.close()?;
/// let found = inspect(folder.path(), &OsStorage)?;
/// assert_eq!(found.tries[0].census.map(|census| census.keys), Some(1));
/// assert!(found.damage.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn inspect(folder: impl AsRef<Path>, storage: &dyn Storage) -> Result<DiskInspection> {
    inspect_with(folder, storage, &OpenProgress::default())
}

/// Does the same, and counts the bytes and records that were read: each page, then the log. The
/// nodes of the tries are checked between these. `progress` may cancel it.
///
/// # Errors
/// As for [`inspect`], and [`LogError::Cancelled`].
pub fn inspect_with(
    folder: impl AsRef<Path>,
    storage: &dyn Storage,
    progress: &OpenProgress,
) -> Result<DiskInspection> {
    let folder = folder.as_ref();
    parts::check_file(storage, folder)?;
    let file = open(folder, storage)?;
    let mut found =
        DiskInspection { file_bytes: u64::from(file.pages()?) * PAGE as u64, ..DiskInspection::default() };
    match read_state(&file).map_err(|error| parts::damage_of_file(storage, folder, error)) {
        Ok((durable, places)) => {
            let header = &durable.header;
            found.store_id = parts::store_id(header.database);
            found.sequence = header.sequence;
            found.unfinished_header = file.unfinished_header()?.map(offset_of);
            found.free_bytes = u64::from(places.counts().1) * PAGE as u64;
            pages(&file, &durable, progress, &mut found)?;
            match parts::check_log(storage, folder, header, false) {
                Ok(()) => log(folder, storage, header, progress, &mut found)?,
                Err(error) => found.damage.push(error),
            }
        }
        Err(error @ DiskError::Damaged { .. }) => found.damage.push(error),
        Err(error) => return Err(error),
    }
    Ok(found)
}

/// Returns the kind of the main trie in a store's folder, so that the store can be opened with it.
/// Returns `None` if there is no store, or its creation did not finish.
///
/// # Errors
/// The file does not belong to this engine, has another format or is damaged, or a file operation
/// failed.
///
/// ```
/// use skein_disk::{DiskOptions, DiskStore, Values, kind_of};
/// use skein_log::storage::OsStorage;
///
/// let folder = tempfile::tempdir()?;
/// assert_eq!(kind_of(folder.path(), &OsStorage)?, None);
/// let options = DiskOptions { values: Values::Rows, ..DiskOptions::default() };
/// DiskStore::open(folder.path(), options)?.close()?;
/// assert_eq!(kind_of(folder.path(), &OsStorage)?.map(|kind| kind.values), Some(Values::Rows));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn kind_of(folder: impl AsRef<Path>, storage: &dyn Storage) -> Result<Option<TrieKind>> {
    let folder = folder.as_ref();
    let Some(file) = PageFile::open(storage, &folder.join(FILE), false)? else { return Ok(None) };
    let (durable, _) = read_state(&file).map_err(|error| parts::damage_of_file(storage, folder, error))?;
    Ok(catalog(&file, &durable)?.into_iter().find_map(|entry| match entry {
        CatalogEntry::Trie(found) if found.name == KeySpace::Main.name() => Some(found.kind()),
        _ => None,
    }))
}

fn open(folder: &Path, storage: &dyn Storage) -> Result<PageFile> {
    let path = folder.join(FILE);
    let missing = || {
        let cause = std::io::Error::new(
            std::io::ErrorKind::NotFound,
            "there is no such file; name the data folder of a disk store",
        );
        DiskError::io("open", &path, &cause)
    };
    PageFile::open(storage, &path, false)?.ok_or_else(missing)
}

/// The pages of a file, read one by one.
struct InspectedPages<'f> {
    file: &'f PageFile,
    places: &'f [u32],
    read: HashMap<PageId, PageBuf>,
}

/// Pages that are reported to the progress together.
const TOLD_TOGETHER: u64 = 256;

/// Pages that are kept in memory.
const KEPT: usize = 1 << 12;

impl<'f> InspectedPages<'f> {
    fn new(file: &'f PageFile, durable: &'f DurableState) -> Self {
        Self { file, places: &durable.places, read: HashMap::new() }
    }

    fn place(&self, id: PageId) -> Option<PagePlace> {
        self.places.get(id.0 as usize).copied().filter(|place| *place != 0).map(PagePlace)
    }

    fn fault(&self, stop: WalkStop) -> DiskError {
        match stop.into_damage() {
            Ok((id, what)) => {
                self.file.damaged(self.place(id).unwrap_or(PagePlace(0)), format!("page {}: {what}", id.0))
            }
            Err(error) => error,
        }
    }
}

impl PageReader for InspectedPages<'_> {
    fn page(&mut self, id: PageId) -> WalkResult<&PageBytes> {
        if !self.read.contains_key(&id) {
            let no_page =
                || WalkStop::Damaged(id, "there is no such page, but a pointer leads to it".to_owned());
            let page = self.file.read(self.place(id).ok_or_else(no_page)?, id)?;
            if self.read.len() >= KEPT {
                self.read.clear();
            }
            self.read.insert(id, page);
        }
        Ok(&self.read[&id])
    }
}

/// Returns the entries of the catalog.
fn catalog(file: &PageFile, durable: &DurableState) -> Result<Vec<CatalogEntry>> {
    if durable.header.sequence == 0 {
        return Ok(Vec::new());
    }
    let mut reader = InspectedPages::new(file, durable);
    Catalog::at(durable.header.catalog()).list(&mut reader).map_err(|stop| reader.fault(stop))
}

/// Checks every page and, if all are intact, every trie and that it owns its pages alone.
fn pages(
    file: &PageFile,
    durable: &DurableState,
    progress: &OpenProgress,
    found: &mut DiskInspection,
) -> Result<()> {
    let in_use = || durable.places.iter().zip(0..).filter(|(place, _)| **place != 0);
    progress.expect((in_use().count() * PAGE) as u64);
    for (place, id) in in_use() {
        found.pages += 1;
        keep_damage(file.read(PagePlace(*place), PageId(id)), found)?;
        if found.pages.is_multiple_of(TOLD_TOGETHER) {
            tell_pages(progress, TOLD_TOGETHER)?;
        }
    }
    tell_pages(progress, found.pages % TOLD_TOGETHER)?;
    let is_whole = found.damage.is_empty();
    let Some(entries) = keep_damage(catalog(file, durable), found)? else { return Ok(()) };
    let (mut reader, mut owners) =
        (InspectedPages::new(file, durable), PageOwners::of_ids(durable.places.len()));
    if is_whole {
        let claimed = claim_others(durable, &mut reader, &mut owners);
        keep_damage(claimed.map_err(|stop| reader.fault(stop)), found)?;
    }
    for entry in entries {
        match entry {
            CatalogEntry::Trie(NamedTrie { name, trie, values }) => {
                let mut census = None;
                if is_whole {
                    owners.begin(format!("the trie `{name}`"));
                    let checked = trie.check(&mut reader, |page| owners.claim(page));
                    census = keep_damage(checked.map_err(|stop| reader.fault(stop)), found)?;
                }
                found.tries.push(TrieInspection { name, shape: trie.shape(), values, census });
            }
            CatalogEntry::Set(name, set) => {
                let mut keys = None;
                if is_whole {
                    owners.begin(format!("the set of keys `{name}`"));
                    let checked = set.check(&mut reader, |page| owners.claim(page));
                    let census = keep_damage(checked.map_err(|stop| reader.fault(stop)), found)?;
                    keys = census.map(|census| census.keys);
                }
                found.key_sets.push(KeySetInspection { name, keys });
            }
        }
    }
    // A damaged structure was not walked to its end.
    if found.damage.is_empty() {
        keep_damage(owners.check_all_owned().map_err(|stop| reader.fault(stop)), found)?;
    }
    keep_damage(check_count(file, &durable.header, &found.tries), found)?;
    Ok(())
}

/// Notes the pages that belong to no trie.
fn claim_others(
    durable: &DurableState,
    pages: &mut impl PageReader,
    owners: &mut PageOwners,
) -> WalkResult<()> {
    owners.begin("the free pages");
    let free = durable.places.iter().zip(0..).filter(|(place, _)| **place == 0);
    free.map(|(_, id)| PageId(id)).try_for_each(|id| owners.claim(id))?;
    if durable.header.sequence > 0 {
        claim_catalog(Catalog::at(durable.header.catalog()), pages, owners)?;
    }
    Ok(())
}

/// Compares the header's number of keys with the main trie, if it could be checked.
fn check_count(file: &PageFile, header: &FileHeader, tries: &[TrieInspection]) -> Result<()> {
    let main = tries.iter().find(|found| found.name == KeySpace::Main.name());
    let keys = main.map_or(Some(0), |found| found.census.map(|census| census.keys));
    let Some(keys) = keys.filter(|keys| *keys as u64 != header.keys) else { return Ok(()) };
    let what =
        format!("the header counts {} keys, but the trie `{}` has {keys}", header.keys, KeySpace::Main);
    Err(file.damaged(header.place, what))
}

/// Adds damage to the report once, and returns other errors.
fn keep_damage<T>(result: Result<T>, found: &mut DiskInspection) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error @ DiskError::Damaged { .. }) => {
            let text = error.to_string();
            if !found.damage.iter().any(|known| known.to_string() == text) {
                found.damage.push(error);
            }
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Inspects the log.
fn log(
    folder: &Path,
    storage: &dyn Storage,
    header: &FileHeader,
    progress: &OpenProgress,
    found: &mut DiskInspection,
) -> Result<()> {
    let epochs = CheckpointEpochs { begin: header.epoch, end: header.epoch };
    let epochs = (header.epoch > 0).then_some(epochs);
    let tries = found.tries.iter().map(|trie| trie.name.clone());
    let spaces: Vec<String> = tries.chain(found.key_sets.iter().map(|set| set.name.clone())).collect();
    // Without a space, the catalog is damaged, or the store's creation did not finish.
    let has = |space: KeySpace| spaces.is_empty() || spaces.iter().any(|name| name == space.name());
    let replayed = Recovered::inspect(storage, &[folder.join(LOG)], epochs, progress).and_then(|recovered| {
        found.log = Some(recovered.report().clone());
        later_records(&recovered, header, has, progress)
    });
    if progress.is_cancelled() {
        return Err(LogError::Cancelled.into());
    }
    match replayed {
        Ok(later) => {
            found.log_records = later;
            progress.complete();
        }
        Err(error) => {
            found.log = None;
            found.damage.push(error.into());
        }
    }
    Ok(())
}

/// Checks all records, and returns the number of those that are later than the file.
fn later_records(
    recovered: &Recovered,
    header: &FileHeader,
    has: impl Fn(KeySpace) -> bool + Sync,
    progress: &OpenProgress,
) -> skein_log::Result<u64> {
    // The number of later records, and the last write so far.
    let later = Mutex::new((0, header.sequence));
    let counted = RecordProgress::new(progress);
    recovered.replay(1, header.epoch, |_, found| {
        let (first, writes) = log_record::parse(found.payload)
            .ok_or("the record is intact, but not one that this program writes")?;
        check_spaces(&writes, &has)?;
        let (count, last) = &mut *lock(&later);
        if log_record::is_after(first, *last, header.sequence)? {
            (*count, *last) = (*count + 1, first + writes.len() as u64 - 1);
        }
        counted.count(found.payload)
    })?;
    Ok(into_inner(later).0)
}
