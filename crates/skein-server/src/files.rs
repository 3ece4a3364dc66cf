//! Room for open files: every connection is one. And files that are read whole.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that a process has open besides its connections: logs, checkpoints, event queues, what its host opened.
const OTHERS: usize = 256;

/// Raises this process's soft limit on open files, as far as its hard limit allows, to what `clients` connections need. Says
/// so in the log if that is not enough: then clients beyond it wait unaccepted.
pub(crate) fn make_room(clients: usize) {
    let wanted = (clients + OTHERS) as u64;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= wanted) {
        return;
    }
    let raised = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let failed = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }).is_err();
    let limit = if failed { current } else { Some(raised) };
    if limit.is_some_and(|limit| limit < wanted) {
        tracing::warn!(
            limit,
            wanted,
            "the limit on open files is too low for clients_max; raise it (ulimit -n)"
        );
    }
}

/// All bytes of a file that has no more than `bytes_max`.
///
/// # Errors
/// What the system says; the file is longer, as a device is that never ends.
pub fn read_at_most(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_whole(File::open(path)?, bytes_max)
}

/// The same of a regular file alone: what is none, as a FIFO or a device, is not waited for.
///
/// # Errors
/// What the system says; it is no regular file; it is longer.
pub(crate) fn read_regular(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    // What is opened is what is looked at, and opening a FIFO does not wait for who writes to it.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    if found.len() > bytes_max {
        let why = format!("it has {} bytes, and the limit is {bytes_max}", found.len());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    read_whole(file, bytes_max)
}

fn read_whole(file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max { Err(too_long(bytes_max)) } else { Ok(bytes) }
}

/// Says that a file has more bytes than it may have.
pub(crate) fn too_long(bytes_max: u64) -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!("it is longer than {bytes_max} bytes, which is the limit"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "1234").unwrap();
        assert_eq!(read_at_most(&path, 4).unwrap(), b"1234");
        let error = read_at_most(&path, 3).expect_err("too long");
        assert_eq!(error.to_string(), "it is longer than 3 bytes, which is the limit");
        assert_eq!(read_at_most(Path::new("/dev/zero"), 9).expect_err("no end").kind(), error.kind());
    }
}
