//! Large writes that bypass the page cache.
//!
//! ```text
//!   a large write:   ├─ head ─┼──────── whole pages ────────┼─ tail ─┤
//!                     buffered    direct, from an aligned      buffered
//!                                 staging buffer
//! ```
//!
//! A log is written once and read only after a crash. Through the page cache, each of its pages is
//! allocated, copied to and later written back, on cores that have other work. On the machine of
//! `docs/benchmarks/`, 8 MiB took 65 ms in this way and 8 ms directly. Small writes (a commit at
//! `sync`) stay in the page cache, which keeps the last page of the file.
//!
//! 1. A direct write covers whole pages, at offsets and from memory aligned to [`PAGE`]. Heads and
//!    tails are buffered writes. So no page is written in both ways at once. If a direct write
//!    covers a cached page, the system first drops it from the cache.
//! 2. `fdatasync` makes both kinds of writes durable.
//! 3. If a file system does not support direct writes, all writes are buffered.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Mutex;

use skein_sync::locks::lock;

/// The alignment of direct writes. No known device requires more.
const PAGE: usize = 4096;
/// The size from which a direct write pays for its additional system call.
const WORTH_IT: usize = 64 << 10;
/// The number of bytes per direct write.
const STAGING: usize = 1 << 20;

/// A second descriptor of a file, for large writes.
#[derive(Debug, Default)]
pub struct DirectWriter(Mutex<DirectState>);

#[derive(Debug, Default)]
enum DirectState {
    /// Not opened yet.
    #[default]
    Closed,
    Open(File, StagingBuffer),
    /// The file system does not support direct writes.
    Refused,
}

/// Memory that begins at an aligned address.
#[derive(Debug)]
struct StagingBuffer {
    memory: Vec<u8>,
    start: usize,
}

impl StagingBuffer {
    fn new() -> Self {
        let memory = vec![0; STAGING + PAGE];
        let address = memory.as_ptr().addr();
        let start = address.next_multiple_of(PAGE) - address;
        Self { memory, start }
    }

    /// Copies `bytes`, at most [`STAGING`], to the aligned part of the buffer. Less than a page
    /// lies before that part.
    fn fill(&mut self, bytes: &[u8]) -> &[u8] {
        let aligned = &mut self.memory[self.start..self.start + bytes.len()];
        aligned.copy_from_slice(bytes);
        aligned
    }
}

impl DirectWriter {
    /// Writes all of `bytes` at `offset` of the file `path`. `buffered` is its open descriptor.
    pub fn write_at(&self, buffered: &File, path: &Path, bytes: &[u8], offset: u64) -> io::Result<()> {
        if bytes.len() < WORTH_IT {
            return buffered.write_all_at(bytes, offset);
        }
        // Less than a page, and so less than `bytes`.
        let head = (offset.next_multiple_of(PAGE as u64) - offset) as usize;
        let pages = (bytes.len() - head) / PAGE * PAGE;
        let (head, rest) = bytes.split_at(head);
        let (pages, tail) = rest.split_at(pages);
        let pages_at = offset + head.len() as u64;
        buffered.write_all_at(head, offset)?;
        if !self.write_pages(buffered, path, pages, pages_at)? {
            buffered.write_all_at(pages, pages_at)?;
        }
        buffered.write_all_at(tail, pages_at + pages.len() as u64)
    }

    /// Writes whole pages. Returns false if the file system does not support direct writes; the
    /// caller must then write all pages.
    fn write_pages(&self, buffered: &File, path: &Path, pages: &[u8], offset: u64) -> io::Result<bool> {
        let mut state = lock(&self.0);
        if matches!(*state, DirectState::Closed) {
            *state = open(buffered, path)?;
        }
        let DirectState::Open(file, staging) = &mut *state else { return Ok(false) };
        let mut at = offset;
        for piece in pages.chunks(STAGING) {
            match file.write_all_at(staging.fill(piece), at) {
                Ok(()) => at += piece.len() as u64,
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    *state = DirectState::Refused;
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

#[cfg(target_os = "linux")]
fn open(buffered: &File, path: &Path) -> io::Result<DirectState> {
    use std::os::unix::fs::MetadataExt;

    let flags = rustix::fs::OFlags::DIRECT.bits().cast_signed();
    let file = match OpenOptions::new().write(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(DirectState::Refused),
        // The file was renamed or removed meanwhile, but its descriptor is still open.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(DirectState::Refused),
        // Too many files are open: this write goes through the cache.
        Err(error) if crate::error::kind_of(&error) == io::ErrorKind::QuotaExceeded => {
            return Ok(DirectState::Closed);
        }
        Err(error) => return Err(error),
    };
    // The file was renamed, and another file may have its name now.
    let (ours, found) = (buffered.metadata()?, file.metadata()?);
    if (ours.dev(), ours.ino()) != (found.dev(), found.ino()) {
        return Ok(DirectState::Refused);
    }
    Ok(DirectState::Open(file, StagingBuffer::new()))
}

#[cfg(not(target_os = "linux"))]
fn open(_buffered: &File, _path: &Path) -> io::Result<DirectState> {
    Ok(DirectState::Refused)
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn writes_of_all_sizes_and_places_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
        let direct = DirectWriter::default();
        let mut expected = Vec::new();
        for (turn, len) in
            [10, 70_000, 4_096, 100_000, 1 << 20, (1 << 20) + 4_097, 5, 65_536].into_iter().enumerate()
        {
            let bytes: Vec<u8> = (0..len).map(|place| (place * 31 + turn) as u8).collect();
            direct.write_at(&file, &path, &bytes, expected.len() as u64).unwrap();
            expected.extend(bytes);
            // Once more, over existing data and pages that are in the cache.
            let again = vec![turn as u8; expected.len() / 2];
            direct.write_at(&file, &path, &again, 77.min(expected.len() as u64 / 2)).unwrap();
            let from = 77.min(expected.len() / 2);
            expected[from..from + again.len()].copy_from_slice(&again);
            let mut read = vec![0; expected.len()];
            file.read_exact_at(&mut read, 0).unwrap();
            assert!(read == expected, "after a write of {len} bytes");
        }
    }
}
