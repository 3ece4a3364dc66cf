//! The file: pages at places, and two headers that take turns.
//!
//! ```text
//!   place 0      header, of even generations          the newer one that is whole is the file's state; the other one is what was before
//!   place 1      header, of odd generations
//!   place 2 ...  pages, in any order: where each is, the maps say                            header ─► directories ─► maps ─► places of pages
//! ```
//!
//! Nothing that the last header leads to is ever written over. Pages that change go to free places, and so do the maps that say so; then the other header is
//! written, and that is the moment at which the file is the new one (shadow pages). So a torn write, or none, or writes in another order, harm what nobody
//! reads. The file grows 1,024 pages at a time (section 2.1).

mod header;
mod mapping;
mod places;

use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, OnceLock};

use skein_log::storage::{Storage, StorageFile};

pub(crate) use header::{HEADERS, Header, PER_PAGE};
use mapping::{Mapped, Mapping};
pub(crate) use places::Places;

use crate::page::{Bytes, PAGE, PageId, Place};
use crate::page_buf::PageBuf;
use crate::{DiskError, Result};

/// Pages by which the file grows.
pub(crate) const GROWTH: u32 = 1024;

/// How pages are read. They are written by calls either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reading {
    /// By calls, into memory of the cache's own. What cannot be read is an error.
    #[default]
    Calls,
    /// From the file mapped into memory, as in the paper (section 2.1). The cache has pages that have changed, and keeps the books of the others; what cannot
    /// be read ends the process by a signal.
    Mapping,
}

impl FromStr for Reading {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        match name {
            "pread" => Ok(Self::Calls),
            "mmap" => Ok(Self::Mapping),
            other => Err(format!("there is no way to read called '{other}'; there are pread and mmap")),
        }
    }
}

/// A page that was read, or made.
#[derive(Debug)]
pub(crate) enum Page {
    Owned(PageBuf),
    Mapped(Mapped),
}

impl Page {
    /// The page, to be changed.
    pub(crate) fn into_copy(self) -> PageBuf {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Mapped(mapped) => PageBuf::copy_of(mapped.bytes()),
        }
    }
}

impl Deref for Page {
    type Target = Bytes;

    #[inline]
    fn deref(&self) -> &Bytes {
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
    reading: Reading,
    mapping: Mapping,
    /// Why nothing is written any more, if so: after a failed sync nobody knows what the file holds.
    stopped: OnceLock<String>,
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
        let (reading, mapping, stopped) = (Reading::Calls, Mapping::default(), OnceLock::new());
        Self { file, path: path.to_owned(), reading, mapping, stopped }
    }

    /// The file, read this way from now on.
    pub(crate) fn read_by(self, reading: Reading) -> Self {
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
    pub(crate) fn damaged(&self, place: Place, what: String) -> DiskError {
        DiskError::Damaged { path: self.path.clone(), offset: offset_of(place), what }
    }

    /// Reads the page at a place, which is to be this one.
    pub(crate) fn read(&self, place: Place, id: PageId) -> Result<PageBuf> {
        let page = self.read_raw(place)?;
        page.verify(id).map_err(|what| self.damaged(place, what))?;
        Ok(page)
    }

    /// Reads the page at a place, which is to be this one, in the way that was chosen. The place has a reason to be kept.
    pub(crate) fn page(&self, place: Place, id: PageId, places: &Arc<Mutex<Places>>) -> Result<Page> {
        match self.reading {
            Reading::Calls => self.read(place, id).map(Page::Owned),
            Reading::Mapping => {
                let mapped = self.mapping.page(&*self.file, place, places);
                let mapped = mapped.map_err(|error| DiskError::io("map", &self.path, &error))?;
                mapped.bytes().verify(id).map_err(|what| self.damaged(place, what))?;
                Ok(Page::Mapped(mapped))
            }
        }
    }

    fn read_raw(&self, place: Place) -> Result<PageBuf> {
        let mut page = PageBuf::of_any_bytes();
        let read = self.file.read_at(&mut page.0, offset_of(place));
        match read.map_err(|error| DiskError::io("read", &self.path, &error))? {
            PAGE => Ok(page),
            read => Err(self.damaged(place, format!("the file ends {read} bytes into it"))),
        }
    }

    /// Writes a page at a place, with its checksum.
    pub(crate) fn write(&self, place: Place, page: &Bytes) -> Result<()> {
        let mut sealed = page.clone();
        sealed.seal();
        self.write_raw(place, &sealed.0)
    }

    fn write_raw(&self, place: Place, bytes: &[u8; PAGE]) -> Result<()> {
        self.check()?;
        self.file
            .write_at(bytes, offset_of(place))
            .map_err(|error| DiskError::io("write", &self.path, &error))
    }

    /// Makes the file so many pages long, without holes; a disk that is full says so now.
    pub(crate) fn grow(&self, pages: u32) -> Result<()> {
        self.file
            .allocate(u64::from(pages) * PAGE as u64)
            .map_err(|error| DiskError::io("grow", &self.path, &error))
    }

    /// Cuts the file off after so many pages.
    pub(crate) fn cut(&self, pages: u32) -> Result<()> {
        self.check()?;
        self.file
            .set_len(u64::from(pages) * PAGE as u64)
            .map_err(|error| DiskError::io("cut off", &self.path, &error))
    }

    /// Whether writes go on.
    fn check(&self) -> Result<()> {
        match self.stopped.get() {
            Some(cause) => Err(DiskError::Stopped { path: self.path.clone(), cause: cause.clone() }),
            None => Ok(()),
        }
    }

    /// Nothing is written any more if this has failed.
    fn or_stop<T>(&self, result: Result<T>) -> Result<T> {
        result.inspect_err(|error| _ = self.stopped.set(error.to_string()))
    }

    /// Makes all that was written durable. If that fails, nothing is written any more.
    pub(crate) fn sync(&self) -> Result<()> {
        self.check()?;
        self.or_stop(self.file.sync_data().map_err(|error| DiskError::io("sync", &self.path, &error)))
    }

    /// Writes a header in its turn. If that fails, nothing is written any more.
    pub(crate) fn write_header(&self, header: &Header) -> Result<()> {
        self.or_stop(self.write_raw(Place((header.generation % 2) as u32), &header.bytes()))
    }

    /// The newest header that is whole.
    pub(crate) fn header(&self) -> Result<Header> {
        let len = self.file.len().map_err(|error| DiskError::io("read the length of", &self.path, &error))?;
        if len < u64::from(HEADERS) * PAGE as u64 {
            return Err(self.not_ours(format!("it has {len} bytes, and the headers alone have more")));
        }
        let mut newest: Option<Header> = None;
        let mut wrong = None;
        for place in (0..HEADERS).map(Place) {
            match self.read_raw(place).and_then(|page| Header::parse(&page.0, self)) {
                Ok(header) if newest.as_ref().is_none_or(|newest| header.generation > newest.generation) => {
                    newest = Some(header);
                }
                Ok(_) => {}
                Err(error @ (DiskError::Io { .. } | DiskError::UnknownFormat { .. })) => return Err(error),
                Err(error) => wrong = wrong.or(Some(error)),
            }
        }
        newest.ok_or_else(|| wrong.unwrap_or_else(|| self.not_ours("it has no header".to_owned())))
    }
}

impl PageFile {
    /// A header that is there and not whole, if one is: that of a checkpoint that was never ended, or a damaged one.
    pub(crate) fn unfinished_header(&self) -> Result<Option<Place>> {
        for place in (0..HEADERS).map(Place) {
            let page = self.read_raw(place)?;
            let is_new = page.0.iter().all(|byte| *byte == 0);
            if !is_new && Header::parse(&page.0, self).is_err() {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }
}

pub(crate) fn offset_of(place: Place) -> u64 {
    u64::from(place.0) * PAGE as u64
}
