//! The file: pages at places, and two headers.
//!
//! ```text
//!   place 0      header          both have the file's state; while a checkpoint ends, one of them has what was before (`headers.rs`)
//!   place 1      header
//!   place 2 ...  pages, in any order: where each is, the maps say                            header ─► directories ─► maps ─► places of pages
//! ```
//!
//! Nothing that the last header leads to is ever written over. Pages that change go to free places, and so do the maps that say so; then a header is
//! written, and that is the moment at which the file is the new one (shadow pages). So a torn write, or none, or writes in another order, harm what nobody
//! reads. The file grows 1,024 pages at a time (section 2.1).

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
pub(crate) use header::{FileHeader, HEADERS, PER_PAGE};
use mapping::{FileMapping, MappedPage};
pub use read_mode::{ReadMode, SoleWriter};
pub(crate) use reservation::PlaceReservation;
use unsynced::UnsyncedPages;

use crate::page::{PAGE, PageBytes, PageId, PagePlace};
use crate::page_buf::PageBuf;
use crate::{DiskError, Result};

/// Pages by which the file grows.
pub(crate) const GROWTH: u32 = 1024;

/// A page that was read, or made.
#[derive(Debug)]
pub(crate) enum PageMemory {
    Owned(PageBuf),
    Mapped(MappedPage),
}

impl PageMemory {
    /// The page, to be changed.
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
    /// The file, under the name that it has now.
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

    /// The file, read this way from now on.
    pub(crate) fn read_by(self, reading: ReadMode) -> Self {
        Self { reading, ..self }
    }

    /// Opens the file; none if there is no such file.
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

    /// The file's length, in whole pages.
    pub(crate) fn pages(&self) -> Result<u32> {
        let len = self.file.len().map_err(|error| DiskError::io("read the length of", &self.path, &error))?;
        u32::try_from(len / PAGE as u64).map_err(|_| self.not_ours(format!("it has {len} bytes")))
    }

    pub(crate) fn not_ours(&self, why: String) -> DiskError {
        DiskError::NotADiskFile { path: self.path.clone(), why }
    }

    /// What is wrong with the page at a place.
    pub(crate) fn damaged(&self, place: PagePlace, what: String) -> DiskError {
        DiskError::Damaged { path: self.path.clone(), offset: offset_of(place), what }
    }

    /// Reads the page at a place, which is to be this one.
    pub(crate) fn read(&self, place: PagePlace, id: PageId) -> Result<PageBuf> {
        let page = self.read_raw(place)?;
        self.verify(place, id, &page)?;
        Ok(page)
    }

    /// Whether it is the page that was written last, and the file has not been another process's meanwhile.
    fn verify(&self, place: PagePlace, id: PageId, page: &PageBytes) -> Result<()> {
        self.gate.check_open(&self.path)?;
        if !self.unsynced.is_as_written(place, page) {
            let what = "it is not what was written last; a sync of the file failed, or the disk lost it";
            return Err(self.damaged(place, what.to_owned()));
        }
        page.verify(id).map_err(|what| self.damaged(place, what))
    }

    /// Reads the page at a place, which is to be this one, in the way that was chosen. The place has a reason to be kept.
    pub(crate) fn page(
        &self,
        place: PagePlace,
        id: PageId,
        places: &Arc<Mutex<FreeSpaceMap>>,
    ) -> Result<PageMemory> {
        match self.reading {
            // What is not synced is not mapped either: if a sync fails, its bytes may change.
            ReadMode::Mapping(_) if !self.unsynced.has(place) => {
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

    /// Writes a page at a place, with its checksum.
    pub(crate) fn write(&self, place: PagePlace, page: &PageBytes) -> Result<()> {
        let mut sealed = page.clone();
        sealed.seal();
        self.write_raw(place, &sealed.0)?;
        self.unsynced.wrote(place, &sealed);
        Ok(())
    }

    fn write_raw(&self, place: PagePlace, bytes: &[u8; PAGE]) -> Result<()> {
        let _entered = self.gate.enter(&self.path)?;
        self.file
            .write_at(bytes, offset_of(place))
            .map_err(|error| DiskError::io("write", &self.path, &error))
    }

    /// Makes the file so many pages long, without holes; a disk that is full says so now.
    pub(crate) fn grow(&self, pages: u32) -> Result<()> {
        let _entered = self.gate.enter(&self.path)?;
        self.file
            .allocate(u64::from(pages) * PAGE as u64)
            .map_err(|error| DiskError::io("grow", &self.path, &error))
    }

    /// Cuts the file off after so many pages.
    pub(crate) fn cut(&self, pages: u32) -> Result<()> {
        let _entered = self.gate.enter(&self.path)?;
        self.file
            .set_len(u64::from(pages) * PAGE as u64)
            .map_err(|error| DiskError::io("cut off", &self.path, &error))
    }

    /// Whether it may be read.
    ///
    /// # Errors
    /// It was closed.
    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        self.gate.check_open(&self.path)
    }

    /// Whether writes go on.
    ///
    /// # Errors
    /// A failed sync has stopped them; the file was closed.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.gate.enter(&self.path).map(|_| ())
    }

    /// Why writes are stopped for good, if they are.
    pub(crate) fn stopped(&self) -> Option<DiskError> {
        self.gate.stopped(&self.path)
    }

    /// Ends all use of the file: it may be another process's from now on.
    pub(crate) fn close(&self) {
        self.gate.close();
    }

    /// Makes all that was written durable. If that fails, nothing is written any more. Called by one thread at a time.
    pub(crate) fn sync(&self) -> Result<()> {
        let _entered = self.gate.enter(&self.path)?;
        let sync = || self.file.sync_data().map_err(|error| DiskError::io("sync", &self.path, &error));
        self.gate.or_stop(self.unsynced.sync(sync))
    }
}

pub(crate) fn offset_of(place: PagePlace) -> u64 {
    u64::from(place.0) * PAGE as u64
}
