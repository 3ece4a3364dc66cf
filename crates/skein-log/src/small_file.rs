//! Small files that are replaced whole: rosters here, the identity and manifests of a store.
//!
//! `docs/format.md`, "Small files", draws the bytes. After a crash such a file is there in its old form or in its new one.

use std::io;
use std::path::Path;

use crate::record::u32_at;
use crate::storage::Storage;
use crate::{LogError, Result};

/// Magic, format version, checksum.
const HEAD: usize = 16;

/// How a kind of small file begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmallFileKind {
    /// The first eight bytes.
    pub magic: [u8; 8],
    /// The format version that is written, and the newest one that is read.
    pub version: u32,
    /// The oldest one that is read.
    pub oldest: u32,
}

/// What a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmallFileContents {
    /// The format version that it was written in.
    pub version: u32,
    /// What comes after its head.
    pub body: Vec<u8>,
}

/// The longest body: these files are small, and a longer one is damage.
const BODY_MAX: u64 = 64 << 20;

/// Reads a file; `None` if there is no such file.
///
/// # Errors
/// It cannot be read, is of another version, or is damaged.
pub fn read(storage: &dyn Storage, path: &Path, kind: SmallFileKind) -> Result<Option<SmallFileContents>> {
    let file = match storage.open(path, false) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LogError::io("open", path, &error)),
    };
    let len = file.len().map_err(|error| LogError::io("read", path, &error))?;
    if len > BODY_MAX + HEAD as u64 {
        let most = BODY_MAX + HEAD as u64;
        return Err(LogError::damaged(
            path,
            most,
            format!("it has {len} bytes, and at most {most} are possible"),
        ));
    }
    let mut bytes = vec![0; len as usize];
    let read = file.read_at(&mut bytes, 0).map_err(|error| LogError::io("read", path, &error))?;
    bytes.truncate(read);
    let version = check(path, &bytes, kind)?;
    Ok(Some(SmallFileContents { version, body: bytes.split_off(HEAD) }))
}

/// The version of a file that is sound.
fn check(path: &Path, bytes: &[u8], kind: SmallFileKind) -> Result<u32> {
    if !bytes.starts_with(&kind.magic) {
        return Err(LogError::damaged(path, 0, "it does not start as such a file does"));
    }
    if bytes.len() < HEAD {
        return Err(LogError::damaged(path, 8, "it ends within its head"));
    }
    // Before the checksum: another version may have another one.
    let found = u32_at(bytes, 8);
    if !(kind.oldest..=kind.version).contains(&found) {
        return Err(LogError::UnknownFormat { path: path.to_owned(), found, known: kind.version });
    }
    if crc32c::crc32c(&bytes[HEAD..]) != u32_at(bytes, 12) {
        return Err(LogError::damaged(path, 12, "its checksum does not match its contents"));
    }
    Ok(found)
}

/// Writes a file, in place of an older one if there is one; durable when it returns.
///
/// # Errors
/// A failed file operation; the file is then there in its old form or in its new one.
pub fn replace(storage: &dyn Storage, path: &Path, kind: SmallFileKind, body: &[u8]) -> Result<()> {
    let mut bytes = kind.magic.to_vec();
    bytes.extend_from_slice(&kind.version.to_le_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(body).to_le_bytes());
    bytes.extend_from_slice(body);
    let temporary = path.with_extension("tmp");
    let parent = path.parent().unwrap_or(Path::new("."));
    let sync_parent = || storage.sync_dir(parent).map_err(|error| LogError::io("sync", parent, &error));
    match storage.remove(&temporary) {
        // Durably: what a crash has left there is never to be the one that is renamed.
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
