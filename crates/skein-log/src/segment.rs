//! Segment files: their names, headers and sizes. `docs/format.md` describes the bytes.

use std::io;
use std::path::{Path, PathBuf};

use crate::record::{u32_at, u64_at};
use crate::storage::{Storage, StorageFile};
use crate::{LogError, Result};

/// The size of a segment's header, in bytes.
pub const SEGMENT_HEADER: usize = 64;
/// The format version: this program reads and writes no other.
pub const FORMAT_VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"SKEINLOG";
/// The size of the first segment of a run, and the unit of sizes.
const FIRST_CAPACITY: u64 = 1 << 20;

/// The fields of a segment's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    pub log: u32,
    pub number: u64,
    pub database: [u8; 16],
    /// The smallest epoch that a record of the segment may have.
    pub first_epoch: u64,
    /// The start value of the records' checksums.
    pub seed: u32,
    /// The bytes that were reserved durably before the first record.
    pub capacity: u64,
}

/// The reason why a header cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub enum BadHeader {
    /// All bytes are zero. If the rest of the file is zero, too, a crash interrupted its creation.
    Blank,
    /// A format version that this program does not know.
    Version(u32),
    /// Any other reason.
    Damaged(&'static str),
}

impl SegmentHeader {
    /// Returns the header's bytes.
    pub fn encode(&self) -> [u8; SEGMENT_HEADER] {
        let mut bytes = [0; SEGMENT_HEADER];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.log.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..40].copy_from_slice(&self.database);
        bytes[40..48].copy_from_slice(&self.first_epoch.to_le_bytes());
        bytes[48..52].copy_from_slice(&self.seed.to_le_bytes());
        bytes[52..60].copy_from_slice(&self.capacity.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads a header. Checks the checksum before the version, so that damage does not look like
    /// another version. So every version has this checksum at this place.
    pub fn parse(bytes: &[u8; SEGMENT_HEADER]) -> std::result::Result<Self, BadHeader> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Err(BadHeader::Blank);
        }
        if bytes[..8] != MAGIC {
            return Err(BadHeader::Damaged("this is not the start of a log segment"));
        }
        if crc32c::crc32c(&bytes[..60]) != u32_at(bytes, 60) {
            return Err(BadHeader::Damaged("the checksum of the segment's header does not match"));
        }
        let version = u32_at(bytes, 8);
        if version != FORMAT_VERSION {
            return Err(BadHeader::Version(version));
        }
        let mut database = [0; 16];
        database.copy_from_slice(&bytes[24..40]);
        Ok(Self {
            log: u32_at(bytes, 12),
            number: u64_at(bytes, 16),
            database,
            first_epoch: u64_at(bytes, 40),
            seed: u32_at(bytes, 48),
            capacity: u64_at(bytes, 52),
        })
    }
}

/// Returns the name of a segment file.
pub fn file_name(log: u32, number: u64) -> String {
    format!("log-{log:04}-{number:08}.skl")
}

/// Returns the log and segment numbers in a segment file's name; `None` for any other name.
pub fn parse_name(name: &str) -> Option<(u32, u64)> {
    let (log, number) = name.strip_prefix("log-")?.strip_suffix(".skl")?.split_once('-')?;
    let (log, number) = (log.parse().ok()?, number.parse().ok()?);
    (number > 0 && file_name(log, number) == name).then_some((log, number))
}

/// Returns the log and segment numbers of a segment file.
pub fn numbers_of(path: &Path) -> Option<(u32, u64)> {
    parse_name(path.file_name()?.to_str()?)
}

/// Returns the size of a log's next segment: half of `held`, the bytes in the log's segments of
/// this run. A log reserves at most two segments ahead of its records, so its files take at most
/// twice its bytes, or 2 MiB more. A log stays small if its segments are removed soon, and opening
/// one does not write 64 MiB.
pub fn next_capacity(held: u64, limit: u64) -> u64 {
    (held / 2 / FIRST_CAPACITY * FIRST_CAPACITY).clamp(FIRST_CAPACITY.min(limit), limit)
}

/// Returns a smaller size than `capacity`, for a disk without room for that. Not below the size of
/// a run's first segment.
pub fn smaller_capacity(capacity: u64) -> u64 {
    (capacity / 4).max(FIRST_CAPACITY.min(capacity))
}

/// A segment file that is ready for records: its header and its name are durable.
#[derive(Debug)]
pub struct NewSegment {
    pub number: u64,
    pub path: PathBuf,
    pub file: Box<dyn StorageFile>,
    /// Reserved bytes, including the header, as the header says.
    pub capacity: u64,
}

/// Creates a segment file with the capacity in `header`.
///
/// With `zeroed` the bytes are written and not only reserved. A file system keeps reserved extents
/// as "unwritten", and the first write to them changes metadata that a sync must then commit.
/// Measured on ext4 (a virtual disk whose flush takes 4 ms), writing and syncing 1 MiB at a time:
/// p50 8.0 ms reserved, 4.1 ms zeroed; 200 bytes at a time: 4.0 ms either way. So segments are
/// zeroed at `sync`, in the background. At `buffered` this would only double the written bytes.
pub fn make(storage: &dyn Storage, dir: &Path, header: &SegmentHeader, zeroed: bool) -> Result<NewSegment> {
    let capacity = header.capacity;
    let path = dir.join(file_name(header.log, header.number));
    let failed = |error| LogError::io("make the log segment", &path, &error).with_size(capacity);
    let file = storage.create(&path).map_err(failed)?;
    let write = || -> io::Result<()> {
        file.allocate(capacity)?;
        if zeroed {
            // In small pieces, which stay in the page cache: a small write into a page that is not
            // cached must read the page first.
            let zeros = vec![0; 32 << 10];
            let mut at = 0;
            while at < capacity {
                let n = (capacity - at).min(zeros.len() as u64);
                file.write_at(&zeros[..n as usize], at)?;
                at += n;
            }
        }
        file.write_at(&header.encode(), 0)?;
        file.sync_data()?;
        storage.sync_dir(dir)
    };
    if let Err(error) = write() {
        // The disk may be full, so the space of the incomplete file must be freed.
        let _ = storage.remove(&path);
        return Err(failed(error));
    }
    Ok(NewSegment { number: header.number, path, file, capacity })
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    const HEADER: SegmentHeader =
        SegmentHeader { log: 3, number: 12, database: [5; 16], first_epoch: 40, seed: 99, capacity: 1 << 20 };

    #[test]
    fn a_header_reads_back_and_every_flipped_bit_shows() {
        let bytes = HEADER.encode();
        assert_eq!(SegmentHeader::parse(&bytes), Ok(HEADER));
        assert_eq!(SegmentHeader::parse(&[0; SEGMENT_HEADER]), Err(BadHeader::Blank));
        for bit in 0..SEGMENT_HEADER * 8 {
            let mut bad = bytes;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(SegmentHeader::parse(&bad).is_err(), "bit {bit} flipped");
        }
    }

    #[test]
    fn names_read_back_and_others_are_left_alone() {
        assert_eq!(file_name(0, 1), "log-0000-00000001.skl");
        assert_eq!(parse_name("log-0003-00000012.skl"), Some((3, 12)));
        assert_eq!(parse_name(&file_name(70_000, 1 << 40)), Some((70_000, 1 << 40)));
        for other in ["log-3-12.skl", "log-0003-00000000.skl", "log-0003-0000001x.skl", "log.lock", "LOG"] {
            assert_eq!(parse_name(other), None, "{other}");
        }
    }

    #[test]
    fn segments_grow_with_the_log_up_to_the_limit() {
        let (mut held, mut sizes) = (0, Vec::new());
        while sizes.len() < 20 {
            sizes.push(next_capacity(held, 64 << 20) >> 20);
            held += sizes[sizes.len() - 1] << 20;
        }
        assert_eq!(sizes, [1, 1, 1, 1, 2, 3, 4, 6, 9, 14, 21, 31, 47, 64, 64, 64, 64, 64, 64, 64]);
        assert_eq!((next_capacity(0, 64 << 10), next_capacity(1 << 40, 64 << 10)), (64 << 10, 64 << 10));
    }

    #[test]
    fn smaller_sizes_end_at_the_first_one() {
        let mut sizes = vec![64 << 20];
        while sizes.len() < 5 {
            sizes.push(smaller_capacity(sizes[sizes.len() - 1]));
        }
        assert_eq!(sizes, [64 << 20, 16 << 20, 4 << 20, 1 << 20, 1 << 20]);
        assert_eq!(smaller_capacity(64 << 10), 64 << 10);
    }
}
