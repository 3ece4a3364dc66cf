//! Looking at a store's folder without opening it: what is there, and what is damaged. Changes nothing.
//!
//! ```text
//!   header ─► directories ─► maps ─► every page, its checksum and its id ─► catalog ─► every node of every trie        log ─► every record
//! ```

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

use skein_log::storage::Storage;
use skein_log::{CheckpointEpochs, LogRecoveryReport, Recovered};
use skein_sync::locks::{into_inner, lock};

use super::log_record;
use super::open::TRIE;
use super::{FILE, LOG};
use crate::buffer::{DurableState, WalkStop, read_state};
use crate::catalog::{Catalog, NamedTrie};
use crate::page::{PAGE, PageBytes, PageId, PagePlace};
use crate::page_buf::PageBuf;
use crate::page_file::{FileHeader, PageFile, offset_of};
use crate::record::{PageReader, WalkResult};
use crate::trie::{TrieCensus, TrieShape};
use crate::{DiskError, Result, TrieKind, Values};

/// A trie in a store's file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TrieInspection {
    /// Its name.
    pub name: String,
    /// Which trie it is.
    pub shape: TrieShape,
    /// What its values are.
    pub values: Values,
    /// What it has; none if it was not looked at, because pages are damaged.
    pub census: Option<TrieCensus>,
}

/// What a store's folder holds.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DiskInspection {
    /// The store's id, in hexadecimal.
    pub store_id: String,
    /// The last write that the file has; the log may have later ones.
    pub sequence: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Those of them in places that hold nothing.
    pub free_bytes: u64,
    /// Where a header begins that is not whole, if one does: it was being written when the process or the machine died, or was
    /// damaged since. The other one has all that was promised, together with the log; opening the store mends it.
    pub unfinished_header: Option<u64>,
    /// Pages that were read: those of tries and of the catalog.
    pub pages: u64,
    /// The tries, as the file has them.
    pub tries: Vec<TrieInspection>,
    /// What opening the log would find and keep; none if it is damaged.
    pub log: Option<LogRecoveryReport>,
    /// Writes that opening would do again.
    pub log_records: u64,
    /// What is damaged; nothing, if the store would open.
    pub damage: Vec<DiskError>,
}

/// Whether a folder is one of this engine: it has a file of pages.
pub fn is_disk_folder(folder: impl AsRef<Path>) -> bool {
    folder.as_ref().join(FILE).exists()
}

/// Reads all of a store's folder, checks every checksum, every node and every record of the log, and says what is there. Nobody may write to it meanwhile. Memory for the places
/// of all pages is needed, 4 bytes each, and for what is known of each node.
///
/// # Errors
/// There is no store in the folder, or one of another format, or a file cannot be read. Damage is not an error here, it is in the answer.
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
    let folder = folder.as_ref();
    let file = open(folder, storage)?;
    let mut found =
        DiskInspection { file_bytes: u64::from(file.pages()?) * PAGE as u64, ..DiskInspection::default() };
    match read_state(&file) {
        Ok((durable, places)) => {
            let header = &durable.header;
            found.store_id = format!("{:032x}", u128::from_be_bytes(header.database));
            found.sequence = header.sequence;
            found.unfinished_header = file.unfinished_header()?.map(offset_of);
            found.free_bytes = u64::from(places.counts().1) * PAGE as u64;
            pages(&file, &durable, &mut found)?;
            log(folder, storage, header, &mut found);
        }
        Err(error @ DiskError::Damaged { .. }) => found.damage.push(error),
        Err(error) => return Err(error),
    }
    Ok(found)
}

/// What a store's folder was made as, so that it can be opened as that; none if there is no store, or it was never finished.
///
/// # Errors
/// The file is none of this engine, of another format, or damaged; a failed file operation.
///
/// ```
/// use skein_disk::{DiskOptions, DiskStore, Values, kind_of};
/// use skein_log::storage::OsStorage;
///
/// let folder = tempfile::tempdir()?;
/// assert_eq!(kind_of(folder.path(), &OsStorage)?, None);
/// DiskStore::open(folder.path(), DiskOptions { values: Values::Rows, ..DiskOptions::default() })?.close()?;
/// assert_eq!(kind_of(folder.path(), &OsStorage)?.map(|kind| kind.values), Some(Values::Rows));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn kind_of(folder: impl AsRef<Path>, storage: &dyn Storage) -> Result<Option<TrieKind>> {
    let Some(file) = PageFile::open(storage, &folder.as_ref().join(FILE), false)? else { return Ok(None) };
    let (durable, _) = read_state(&file)?;
    let tries = tries(&file, &durable)?;
    Ok(tries.iter().find(|found| found.name == TRIE).map(NamedTrie::kind))
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

/// Pages that a reader keeps.
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
            let no_page = || WalkStop::Wrong(id, "there is no such page, and it is referred to".to_owned());
            let page = self.file.read(self.place(id).ok_or_else(no_page)?, id)?;
            if self.read.len() >= KEPT {
                self.read.clear();
            }
            self.read.insert(id, page);
        }
        Ok(&self.read[&id])
    }
}

/// The tries of a file's catalog.
fn tries(file: &PageFile, durable: &DurableState) -> Result<Vec<NamedTrie>> {
    if durable.header.sequence == 0 {
        return Ok(Vec::new());
    }
    let mut reader = InspectedPages::new(file, durable);
    Catalog::at(durable.header.catalog()).list(&mut reader).map_err(|stop| reader.fault(stop))
}

/// Looks at every page, and if they are whole at every trie.
fn pages(file: &PageFile, durable: &DurableState, found: &mut DiskInspection) -> Result<()> {
    for (place, id) in durable.places.iter().zip(0..).filter(|(place, _)| **place != 0) {
        found.pages += 1;
        keep_damage(file.read(PagePlace(*place), PageId(id)), found)?;
    }
    let is_whole = found.damage.is_empty();
    let Some(tries) = keep_damage(tries(file, durable), found)? else { return Ok(()) };
    for NamedTrie { name, trie, values } in tries {
        let mut census = None;
        if is_whole {
            let mut reader = InspectedPages::new(file, durable);
            let checked = trie.check(&mut reader).map_err(|stop| reader.fault(stop));
            census = keep_damage(checked, found)?;
        }
        found.tries.push(TrieInspection { name, shape: trie.shape(), values, census });
    }
    keep_damage(check_count(file, &durable.header, &found.tries), found)?;
    Ok(())
}

/// Holds the header's number of keys against what the tries have, if all of them could be looked at.
fn check_count(file: &PageFile, header: &FileHeader, tries: &[TrieInspection]) -> Result<()> {
    let censuses: Option<Vec<TrieCensus>> = tries.iter().map(|found| found.census).collect();
    let Some(censuses) = censuses else { return Ok(()) };
    let keys: usize = censuses.iter().map(|census| census.keys).sum();
    if keys as u64 == header.keys {
        return Ok(());
    }
    Err(file
        .damaged(header.place, format!("the header counts {} keys, and the tries have {keys}", header.keys)))
}

/// Puts damage into the answer, once.
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

/// Looks at the log.
fn log(folder: &Path, storage: &dyn Storage, header: &FileHeader, found: &mut DiskInspection) {
    let epochs = CheckpointEpochs { begin: header.epoch, end: header.epoch };
    let epochs = (header.epoch > 0).then_some(epochs);
    let replayed = Recovered::inspect(storage, &[folder.join(LOG)], epochs).and_then(|recovered| {
        found.log = Some(recovered.report().clone());
        // How many records are later than the file, and the last write so far.
        let later = Mutex::new((0, header.sequence));
        recovered.replay(1, header.epoch, |_, found| {
            let (first, writes) = log_record::parse(found.payload)
                .ok_or("the record is whole but not one that this program writes")?;
            let (count, last) = &mut *lock(&later);
            if log_record::is_after(first, *last, header.sequence)? {
                (*count, *last) = (*count + 1, first + writes.len() as u64 - 1);
            }
            Ok(())
        })?;
        Ok(into_inner(later).0)
    });
    match replayed {
        Ok(later) => found.log_records = later,
        Err(error) => {
            found.log = None;
            found.damage.push(error.into());
        }
    }
}
