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
//! - `format`: the least version that describes the file ([`FileFormat`]).
//! - `checksum`: of the bytes from 16 on; from format 3 on, of the bytes of `format` and then
//!   these.
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

/// The format version of a file: the least one that describes the file. So an older program refuses
/// the files that it would misread, and no others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileFormat {
    /// One trie has all keys.
    #[default]
    OneTrie = 2,
    /// Several key spaces. The header counts the keys of the main one, and its checksum covers the
    /// format.
    KeySpaces = 3,
    /// As `KeySpaces`, and rows may be sets.
    Sets = 4,
    /// As `Sets`, and rows may be lists.
    Lists = 5,
    /// As `Lists`, and rows may be streams.
    Streams = 6,
    /// As `Streams`, and lists and entries of streams may lie in chunks.
    Chunks = 7,
    /// As `Chunks`, with the numbers of reserved keys.
    Counts = 8,
}

impl FileFormat {
    pub(crate) const NEWEST: Self = Self::Counts;

    fn of_number(number: u32) -> Option<Self> {
        let rows = [Self::KeySpaces, Self::Sets, Self::Lists, Self::Streams, Self::Chunks, Self::Counts];
        std::iter::once(Self::OneTrie).chain(rows).find(|format| *format as u32 == number)
    }
}

/// Returns the checksum of a header's page. Formats before `KeySpaces` left the format out.
fn checksum(page: &[u8; PAGE]) -> u32 {
    let is_old = u32_at(page, FORMAT) < FileFormat::KeySpaces as u32;
    let format = if is_old { 0 } else { crc32c::crc32c(&page[FORMAT..CHECKSUM]) };
    crc32c::crc32c_append(format, &page[COVERED..])
}

/// The fields of a header.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileHeader {
    pub(crate) format: FileFormat,
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
        head.extend((self.format as u32).to_le_bytes());
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
        let Some(format) = FileFormat::of_number(found) else {
            let (path, oldest) = (file.path().to_owned(), FileFormat::OneTrie as u32);
            return Err(DiskError::UnknownFormat { path, found, oldest, known: FileFormat::NEWEST as u32 });
        };
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
            format,
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
