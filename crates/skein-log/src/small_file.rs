//! Small files that are replaced as a whole: segment manifests, and a store's identity and
//! manifests.
//!
//! After a crash the file has its old or its new contents. `docs/format.md`, "Small files",
//! describes the bytes.

use std::io;
use std::path::Path;

use crate::record::u32_at;
use crate::storage::Storage;
use crate::{LogError, Result};

/// Magic, format version, checksum.
const HEAD: usize = 16;

/// The first fields of one kind of small file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmallFileKind {
    /// The first eight bytes.
    pub magic: [u8; 8],
    /// The format version: this program reads and writes no other.
    pub version: u32,
}

/// The longest body. A longer file is damaged.
const BODY_MAX: u64 = 64 << 20;

/// Returns the body of a file: the bytes after the head. Returns `None` if the file does not exist.
///
/// # Errors
/// Returns an error if the file cannot be read, has another version, or is damaged.
pub fn read(storage: &dyn Storage, path: &Path, kind: SmallFileKind) -> Result<Option<Vec<u8>>> {
    let file = match storage.open(path, false) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LogError::io("open", path, &error)),
    };
    let len = file.len().map_err(|error| LogError::io("read", path, &error))?;
    if len > BODY_MAX + HEAD as u64 {
        let most = BODY_MAX + HEAD as u64;
        return Err(LogError::damaged(path, most, format!("it has {len} bytes, and the limit is {most}")));
    }
    let mut bytes = vec![0; len as usize];
    let read = file.read_at(&mut bytes, 0).map_err(|error| LogError::io("read", path, &error))?;
    bytes.truncate(read);
    check(path, &bytes, kind)?;
    Ok(Some(bytes.split_off(HEAD)))
}

/// Checks a file's head and checksum.
fn check(path: &Path, bytes: &[u8], kind: SmallFileKind) -> Result<()> {
    if !bytes.starts_with(&kind.magic) {
        return Err(LogError::damaged(path, 0, "its first eight bytes are not the magic number of its kind"));
    }
    if bytes.len() < HEAD {
        return Err(LogError::damaged(path, 8, "it ends within its first 16 bytes"));
    }
    // Checked before the version, so that damage does not look like another version. So every
    // version has this checksum at this place.
    if crc32c::crc32c(&bytes[HEAD..]) != u32_at(bytes, 12) {
        return Err(LogError::damaged(path, 12, "its checksum does not match its contents"));
    }
    let found = u32_at(bytes, 8);
    if found != kind.version {
        return Err(LogError::UnknownFormat { path: path.to_owned(), found, known: kind.version });
    }
    Ok(())
}

/// Writes or replaces a file. The file is durable when this returns.
///
/// # Errors
/// Returns an error if a file operation fails. The file then has its old or its new contents.
pub fn replace(storage: &dyn Storage, path: &Path, kind: SmallFileKind, body: &[u8]) -> Result<()> {
    let mut bytes = kind.magic.to_vec();
    bytes.extend_from_slice(&kind.version.to_le_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(body).to_le_bytes());
    bytes.extend_from_slice(body);
    let temporary = path.with_extension("tmp");
    let parent = path.parent().unwrap_or(Path::new("."));
    let sync_parent = || storage.sync_dir(parent).map_err(|error| LogError::io("sync", parent, &error));
    match storage.remove(&temporary) {
        // The removal must be durable, so that a later rename never takes the remains of an earlier
        // crash.
        Ok(()) => sync_parent()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(LogError::io("remove", &temporary, &error)),
    }
    let file = storage.create(&temporary).map_err(|error| LogError::io("create", &temporary, &error))?;
    file.write_at(&bytes, 0).map_err(|error| LogError::io("write", &temporary, &error))?;
    file.sync_data().map_err(|error| LogError::io("sync", &temporary, &error))?;
    storage.rename(&temporary, path).map_err(|error| LogError::io("rename", path, &error))?;
    sync_parent()
}
