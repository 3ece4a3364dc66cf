//! The header: the state of the whole file.
//!
//! ```text
//!   0        magic 8            │  8   format 4      │ 12  checksum 4
//!   16       generation 8       │ 24   database 16   │ 40  sequence 8
//!   48       epoch 8            │ 56   pages 4       │ 60  catalog 4
//!   64       keys 8             │ 72   directories, 4 bytes each
//!   4072     counts 4
//! ```
//!
//! - `format`: [`FORMAT_VERSION`].
//! - `checksum`: of the bytes of `format`, and then of those from 16 on.
//! - `sequence`: the number of the last write in the pages.
//! - `epoch`: the first epoch of the log that may have later writes.
//! - `pages`: the number of page ids.
//! - `catalog`: the first page of the catalog.
//! - `keys`: the number of keys of the main key space in the pages.
//! - `counts`: the place of the first page of counts; 0 without one.
//! - A directory holds the places of 1,000 maps, and a map those of 1,000 pages, by their ids.

use super::PageFile;
use crate::page::{PAGE, PageId, PagePlace, u32_at, u64_at};
use crate::{DiskError, Result};

pub(crate) const HEADERS: u32 = 2;
/// Places in a directory or in a map.
pub(crate) const PER_PAGE: u32 = 1000;

const MAGIC: [u8; 8] = *b"SKEINDSK";
const FORMAT: usize = 8;
const CHECKSUM: usize = 12;
const COVERED: usize = 16;
const KEYS: usize = 64;
const DIRECTORIES: usize = 72;
const DIRECTORIES_MOST: usize = 1000;
const COUNTS: usize = DIRECTORIES + 4 * DIRECTORIES_MOST;

/// The format version of a file: this program reads and writes no other. Lesser numbers were those
/// of builds before the first release.
pub(crate) const FORMAT_VERSION: u32 = 10;

/// Returns the checksum of a header's page.
fn checksum(page: &[u8; PAGE]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&page[FORMAT..CHECKSUM]), &page[COVERED..])
}

/// The fields of a header.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileHeader {
    pub(crate) generation: u64,
    pub(crate) database: [u8; 16],
    pub(crate) sequence: u64,
    pub(crate) epoch: u64,
    pub(crate) pages: u32,
    pub(crate) catalog: u32,
    pub(crate) keys: u64,
    pub(crate) directories: Vec<PagePlace>,
    pub(crate) counts: PagePlace,
    /// The place where this header was read.
    pub(crate) place: PagePlace,
}

impl FileHeader {
    pub(crate) fn catalog(&self) -> PageId {
        PageId(self.catalog)
    }

    /// Encodes the header as a page.
    pub(super) fn bytes(&self) -> [u8; PAGE] {
        let mut head = Vec::with_capacity(PAGE);
        head.extend(MAGIC);
        head.extend(FORMAT_VERSION.to_le_bytes());
        head.extend([0; 4]);
        head.extend(self.generation.to_le_bytes());
        head.extend(self.database);
        head.extend(self.sequence.to_le_bytes());
        head.extend(self.epoch.to_le_bytes());
        head.extend(self.pages.to_le_bytes());
        head.extend(self.catalog.to_le_bytes());
        head.extend(self.keys.to_le_bytes());
        head.extend(self.directories.iter().flat_map(|place| place.0.to_le_bytes()));
        let mut page = [0; PAGE];
        page[..head.len()].copy_from_slice(&head);
        page[COUNTS..COUNTS + 4].copy_from_slice(&self.counts.0.to_le_bytes());
        let checksum = checksum(&page);
        page[CHECKSUM..COVERED].copy_from_slice(&checksum.to_le_bytes());
        page
    }

    /// Decodes a header's page.
    pub(super) fn parse(page: &[u8; PAGE], place: PagePlace, file: &PageFile) -> Result<Self> {
        if !page.starts_with(&MAGIC) {
            return Err(file.foreign_file("its first bytes are not those of such a file".to_owned()));
        }
        let damaged = |what: &str| Err(file.damaged(place, what.to_owned()));
        // Before the format is believed: a damaged number must not look like another version.
        if checksum(page) != u32_at(page, CHECKSUM) {
            return damaged("the header's checksum does not match its bytes");
        }
        let found = u32_at(page, FORMAT);
        if found != FORMAT_VERSION {
            let path = file.path().to_owned();
            return Err(DiskError::UnknownFormat { path, found, known: FORMAT_VERSION });
        }
        let generation = u64_at(page, 16);
        let pages = u32_at(page, 56);
        let count = pages.div_ceil(PER_PAGE).div_ceil(PER_PAGE) as usize;
        if count > DIRECTORIES_MOST {
            return damaged("the header counts more pages than a file can have");
        }
        let directories =
            (0..count).map(|number| PagePlace(u32_at(page, DIRECTORIES + 4 * number))).collect();
        let mut database = [0; 16];
        database.copy_from_slice(&page[24..40]);
        Ok(Self {
            generation,
            database,
            sequence: u64_at(page, 40),
            epoch: u64_at(page, 48),
            pages,
            catalog: u32_at(page, 60),
            keys: u64_at(page, KEYS),
            directories,
            counts: PagePlace(u32_at(page, COUNTS)),
            place,
        })
    }
}

/// Writes another format version into both headers of a file, and the checksum that covers it.
#[cfg(test)]
pub(crate) fn forge_format(storage: &dyn skein_log::storage::Storage, path: &std::path::Path, format: u32) {
    let file = storage.open(path, true).expect("a file");
    for header in (0..HEADERS).map(|header| u64::from(header) * PAGE as u64) {
        let mut page = [0; PAGE];
        assert_eq!(file.read_at(&mut page, header).expect("a header"), PAGE);
        page[FORMAT..CHECKSUM].copy_from_slice(&format.to_le_bytes());
        let checksum = checksum(&page);
        page[CHECKSUM..COVERED].copy_from_slice(&checksum.to_le_bytes());
        file.write_at(&page, header).expect("a write");
    }
    file.sync_data().expect("a sync");
}
