//! The page file: two headers and pages at places. A checkpoint replaces its state atomically.
//!
//! ```text
//!   place 0, 1    headers, both with the same state between checkpoints (headers.rs)
//!   place 2 ...   pages in any order:   header ─► directories ─► maps ─► places of pages
//! ```
//!
//! No page that the last header leads to is overwritten. Changed pages are written to free places,
//! and so are the maps that lead to them. The write of a header then makes them the file's state
//! (shadow pages). So a torn, missing or reordered write damages only pages that nothing leads to.
//! The file grows by 1,024 pages at a time (section 2.1).
//!
//! Read `header.rs` and `headers.rs` first, then `free_space.rs` and `reservation.rs` (places),
//! `gate.rs` and `unsynced.rs` (failures), and `read_mode.rs` and `mapping.rs` (reading).
//!
//! Design: `docs/design/disk.md`.

mod free_space;
mod gate;
mod header;
mod headers;
mod mapping;
mod read_mode;
mod reservation;
mod unsynced;

use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use skein_log::storage::{Storage, StorageFile};

pub(crate) use free_space::FreeSpaceMap;
use gate::FileGate;
#[cfg(test)]
pub(crate) use header::{FORMAT_VERSION, forge_format};
pub(crate) use header::{FileHeader, HEADERS, PER_PAGE};
use mapping::{FileMapping, MappedPage};
pub use read_mode::{ReadMode, SoleWriter};
pub(crate) use reservation::PlaceReservation;
use unsynced::UnsyncedPages;

use crate::page::{PAGE, PageBytes, PageId, PagePlace};
use crate::page_buf::PageBuf;
use crate::{DiskError, Result};

/// The step of the file's growth, in pages.
pub(crate) const GROWTH: u32 = if cfg!(skein_loom) { 16 } else { 1024 };

/// The memory of a page: mapped from the file or owned.
#[derive(Debug)]
pub(crate) enum PageMemory {
    Owned(PageBuf),
    Mapped(MappedPage),
}

impl PageMemory {
    /// Returns the page for changing.
    pub(crate) fn into_copy(self) -> PageBuf {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Mapped(mapped) => PageBuf::copy_of(mapped.bytes()),
        }
    }
}

impl Deref for PageMemory {
    type Target = PageBytes;

    #[inline]
    fn deref(&self) -> &PageBytes {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Mapped(mapped) => mapped.bytes(),
        }
    }
}

/// The open file.
#[derive(Debug)]
pub(crate) struct PageFile {
    file: Box<dyn StorageFile>,
    path: PathBuf,
    reading: ReadMode,
    mapping: FileMapping,
    unsynced: UnsyncedPages,
    gate: FileGate,
}

impl PageFile {
    /// Notes that the file was renamed.
    pub(crate) fn renamed(self, path: &Path) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// Creates the file, which must not exist.
    pub(crate) fn create(storage: &dyn Storage, path: &Path) -> Result<Self> {
        let file = storage.create(path).map_err(|error| DiskError::io("create", path, &error))?;
        Ok(Self::new(file, path))
    }

    fn new(file: Box<dyn StorageFile>, path: &Path) -> Self {
        let (mapping, unsynced, gate) =
            (FileMapping::default(), UnsyncedPages::default(), FileGate::default());
        Self { file, path: path.to_owned(), reading: ReadMode::Calls, mapping, unsynced, gate }
    }

    /// Sets how pages are read.
    pub(crate) fn read_by(self, reading: ReadMode) -> Self {
        Self { reading, ..self }
    }

    /// Opens the file. Returns `None` if it does not exist.
    pub(crate) fn open(storage: &dyn Storage, path: &Path, writable: bool) -> Result<Option<Self>> {
        match storage.open(path, writable) {
            Ok(file) => Ok(Some(Self::new(file, path))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(DiskError::io("open", path, &error)),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file's length in whole pages.
    pub(crate) fn pages(&self) -> Result<u32> {
        let len = self.file.len().map_err(|error| DiskError::io("read the length of", &self.path, &error))?;
        u32::try_from(len / PAGE as u64).map_err(|_| self.foreign_file(format!("it has {len} bytes")))
    }

    pub(crate) fn foreign_file(&self, why: String) -> DiskError {
        DiskError::NotADiskFile { path: self.path.clone(), why }
    }

    pub(crate) fn damaged(&self, place: PagePlace, what: String) -> DiskError {
        DiskError::Damaged { path: self.path.clone(), offset: offset_of(place), what }
    }

    /// Reads the page at a place. Errors if it is not page `id`, as it was written there.
    pub(crate) fn read(&self, place: PagePlace, id: PageId) -> Result<PageBuf> {
        let page = self.read_raw(place)?;
        self.verify(place, id, &page)?;
        Ok(page)
    }

    /// Checks that these are the last bytes written to the place, and that the file was not closed
    /// during the read.
    fn verify(&self, place: PagePlace, id: PageId, page: &PageBytes) -> Result<()> {
        self.gate.check_open(&self.path)?;
        if !self.unsynced.is_as_written(place, page) {
            let what =
                "its bytes are not those written last; a sync of the file failed, or the disk lost the write";
            return Err(self.damaged(place, what.to_owned()));
        }
        page.verify(id, place).map_err(|what| self.damaged(place, what))
    }

    /// Reads the page at a place in the selected mode. Errors if it is not page `id`. The caller
    /// must hold a reason to keep the place.
    pub(crate) fn page(
        &self,
        place: PagePlace,
        id: PageId,
        places: &Arc<Mutex<FreeSpaceMap>>,
    ) -> Result<PageMemory> {
        match self.reading {
            // Unsynced pages are not read through the mapping: their bytes may change if a sync
            // fails.
            ReadMode::Mapping(_) if !self.unsynced.contains(place) => {
                let mapped = self.mapping.page(&*self.file, place, places);
                let mapped = mapped.map_err(|error| DiskError::io("map", &self.path, &error))?;
                self.verify(place, id, mapped.bytes())?;
                Ok(PageMemory::Mapped(mapped))
            }
            ReadMode::Calls | ReadMode::Mapping(_) => self.read(place, id).map(PageMemory::Owned),
        }
    }

    fn read_raw(&self, place: PagePlace) -> Result<PageBuf> {
        let mut page = PageBuf::of_any_bytes();
        let read = self.file.read_at(&mut page.0, offset_of(place));
        match read.map_err(|error| DiskError::io("read", &self.path, &error))? {
            PAGE => Ok(page),
            read => Err(self.damaged(place, format!("the file ends {read} bytes into it"))),
        }
    }

    /// Writes a page to a place, with this place and its checksum.
    pub(crate) fn write(&self, place: PagePlace, page: &PageBytes) -> Result<()> {
        let mut sealed = page.clone();
        sealed.seal(place);
        self.write_raw(place, &sealed.0)?;
        self.unsynced.note_written(place, &sealed);
        Ok(())
    }

    fn write_raw(&self, place: PagePlace, bytes: &[u8; PAGE]) -> Result<()> {
        let _permit = self.gate.enter(&self.path)?;
        self.file
            .write_at(bytes, offset_of(place))
            .map_err(|error| DiskError::io("write", &self.path, &error))
    }

    /// Extends the file to this many pages without holes, so that a full disk is reported now.
    pub(crate) fn grow(&self, pages: u32) -> Result<()> {
        let _permit = self.gate.enter(&self.path)?;
        self.file
            .allocate(u64::from(pages) * PAGE as u64)
            .map_err(|error| DiskError::io("grow", &self.path, &error))
    }

    /// Cuts the file off after this many pages.
    pub(crate) fn cut(&self, pages: u32) -> Result<()> {
        let _permit = self.gate.enter(&self.path)?;
        self.file
            .set_len(u64::from(pages) * PAGE as u64)
            .map_err(|error| DiskError::io("cut off", &self.path, &error))
    }

    /// Checks that the file is open.
    ///
    /// # Errors
    /// The file is closed.
    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        self.gate.check_open(&self.path)
    }

    /// Checks that writes are accepted.
    ///
    /// # Errors
    /// A failed sync has stopped writes, or the file is closed.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.gate.enter(&self.path).map(|_| ())
    }

    /// Returns the error that has stopped writes permanently, if there is one.
    pub(crate) fn stopped(&self) -> Option<DiskError> {
        self.gate.stopped(&self.path)
    }

    /// Ends all use of the file; afterwards another process may own it.
    pub(crate) fn close(&self) {
        self.gate.close();
    }

    /// Makes all earlier writes durable. If this fails, all later writes are refused. Must be
    /// called by one thread at a time.
    pub(crate) fn sync(&self) -> Result<()> {
        let _permit = self.gate.enter(&self.path)?;
        let sync = || self.file.sync_data().map_err(|error| DiskError::io("sync", &self.path, &error));
        self.gate.stop_on_error(self.unsynced.sync(sync))
    }
}

pub(crate) fn offset_of(place: PagePlace) -> u64 {
    u64::from(place.0) * PAGE as u64
}
