//! The budget of open files, which bounds the connections; and functions that read a whole file.
//!
//! ```text
//!   limit:  ├ open at the start ┤├ reserved: segments, checkpoints, metrics ┤├ connections ┤
//! ```
//!
//! Connections must never take the descriptor of the next log segment, because then writes would
//! stop. So a part of the limit is reserved, and connections beyond the rest are refused (see
//! `acceptor`).

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are open for a while: parts of a checkpoint, manifests, the ACL file, a connection
/// that is being refused.
const KEPT: usize = 32;

/// The most connections of the metrics endpoint at a time.
pub(crate) const METRICS_CONNECTIONS_MAX: usize = 16;

/// Files of a log that may be open besides the file that it had at the start: the next segment, a
/// segment that is being synced, and the segment manifest.
const KEPT_PER_LOG: usize = 4;

/// The assumed number of open files where the system does not report it: those of logs and event
/// queues.
const OPEN: usize = 64;

/// The files that are left for connections.
#[derive(Debug)]
pub(crate) struct OpenFileBudget {
    /// The number of files besides connections.
    pub kept: usize,
}

impl OpenFileBudget {
    /// Computes the budget from the files that are open now, including `connections` connections,
    /// and the files that the logs and checkpoints of `workers` may open.
    pub(crate) fn now(workers: usize, connections: usize) -> Self {
        // The listing itself is open too.
        let listed = std::fs::read_dir("/proc/self/fd").map(|open| open.count().saturating_sub(1));
        let open = listed.map_or(OPEN + KEPT_PER_LOG * workers, |listed| listed.saturating_sub(connections));
        Self { kept: open + KEPT + KEPT_PER_LOG * workers + METRICS_CONNECTIONS_MAX }
    }

    /// Raises this process's soft limit to the needs of `clients` connections, as far as the hard
    /// limit allows. Returns how many of them fit.
    pub(crate) fn make(&self, clients: usize) -> usize {
        let wanted = clients.saturating_add(self.kept) as u64;
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current.is_some_and(|current| current < wanted) {
            let raised = maximum.map_or(wanted, |maximum| maximum.min(wanted));
            // Whether this succeeded is checked below.
            let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum });
        }
        self.fitting(limit(), clients)
    }

    /// Returns how many of the connections fit under a limit.
    fn fitting(&self, limit: Option<u64>, clients: usize) -> usize {
        let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        clients.min(limit.saturating_sub(self.kept))
    }
}

/// Returns the soft limit on open files, if there is one.
pub(crate) fn limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Reads a file of at most `bytes_max` bytes.
///
/// # Errors
/// If the file cannot be read or is longer. A device that never ends is longer.
pub fn read_at_most(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_whole(File::open(path)?, bytes_max)
}

/// Does the same for regular files only. Never blocks on a FIFO or a device.
///
/// # Errors
/// If the file cannot be read, is not a regular file, or is longer.
pub(crate) fn read_regular(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    // The opened file is the one that is checked. With this flag, opening a FIFO does not wait for
    // a writer.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if found.len() > bytes_max {
        let why = format!("it has {} bytes; the limit is {bytes_max}", found.len());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    read_whole(file, bytes_max)
}

fn read_whole(file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max { Err(too_long(bytes_max)) } else { Ok(bytes) }
}

/// Returns the error for a file that has more than `bytes_max` bytes.
pub(crate) fn too_long(bytes_max: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than the limit of {bytes_max} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_reserved() {
        let room = OpenFileBudget { kept: 100 };
        for (limit, clients, fitting) in [
            (None, 10_000, 10_000),
            (Some(10_100), 10_000, 10_000),
            (Some(10_099), 10_000, 9_999),
            (Some(101), 10_000, 1),
            (Some(100), 10_000, 0),
            (Some(3), 10_000, 0),
            (Some(u64::MAX), usize::MAX, usize::MAX - 100),
        ] {
            assert_eq!(room.fitting(limit, clients), fitting, "{limit:?}");
        }
        let (few, many) = (OpenFileBudget::now(1, 0), OpenFileBudget::now(100, 0));
        assert!(few.kept > KEPT && many.kept > few.kept);
    }

    #[test]
    fn longer_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "1234").unwrap();
        assert_eq!(read_at_most(&path, 4).unwrap(), b"1234");
        let error = read_at_most(&path, 3).expect_err("too long");
        assert_eq!(error.to_string(), "it is longer than the limit of 3 bytes");
        assert_eq!(read_at_most(Path::new("/dev/zero"), 9).expect_err("no end").kind(), error.kind());
    }
}
