//! The one door to the file system.
//!
//! Logs and checkpoints reach files through [`Storage`] alone, so that tests can put a file system in its
//! place that cuts the power, tears writes and fails the N-th operation.
//!
//! What an implementation promises, and nothing else is assumed (see "the medium" in `docs/format.md`):
//!
//! 1. What was written to a file before [`StorageFile::sync_data`] began is durable once it has returned
//!    `Ok`, and so is the file's length.
//! 2. Names that were created, removed or renamed in a folder before [`Storage::sync_dir`] began are durable
//!    once it has returned `Ok`.
//! 3. What was not synced may survive a power cut in any part: any subset of its 512-byte sectors, any
//!    subset of its names. A rename happens as a whole or not at all.
//! 4. After an error from a sync nothing is known of what it covered.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;

mod direct;
mod folder_lock;
mod lock_holder;
mod os;
#[cfg(any(test, feature = "sim"))]
pub mod sim;

pub use folder_lock::{LOCK_WAIT, has_file, lock_folder, make_folder};
pub use lock_holder::LockHolder;
pub use os::OsStorage;

/// What is in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name within the folder; names that are not Unicode are not listed.
    pub name: String,
    /// Whether it is a folder itself.
    pub is_dir: bool,
}

/// Keeps a lock file locked until it is dropped.
pub trait StorageLock: Send + Sync + std::fmt::Debug {}

/// A file system, as far as logs and checkpoints need one.
#[expect(clippy::missing_errors_doc, reason = "every method answers what the system says")]
pub trait Storage: Send + Sync + std::fmt::Debug + 'static {
    /// A handle of one's own to the same file system.
    fn share(&self) -> Arc<dyn Storage>;

    /// Opens a file that exists, for reading and, if `writable`, for writing.
    fn open(&self, path: &Path, writable: bool) -> io::Result<Box<dyn StorageFile>>;

    /// Creates a file for reading and writing; [`io::ErrorKind::AlreadyExists`] if the name is taken.
    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>>;

    /// What is in a folder, in no particular order.
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty folder.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Renames a file or folder, replacing a file of that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes the names in a folder durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Creates a folder and the folders above it, as far as they are missing, and makes them durable.
    fn create_dir_all(&self, dir: &Path) -> io::Result<()>;

    /// Whether two paths lead to the same folder, by way of links, say; false if one of them leads to none.
    fn same_dir(&self, a: &Path, b: &Path) -> io::Result<bool>;

    /// Locks the file `path` for this process, creating it if need be;
    /// [`io::ErrorKind::WouldBlock`] if another one holds it.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn StorageLock>>;

    /// Who holds the lock of the file `path`, as far as that can be known.
    fn lock_holder(&self, _path: &Path) -> LockHolder {
        LockHolder::Unknown
    }
}

/// An open file. Reading and writing name their position, so a file is used from many threads.
#[expect(clippy::missing_errors_doc, reason = "every method answers what the system says")]
#[expect(clippy::len_without_is_empty, reason = "the length may fail, and nobody asks for emptiness")]
pub trait StorageFile: Send + Sync + std::fmt::Debug {
    /// Reads from `offset` until `buf` is full or the file ends; returns how many bytes were read.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all of `buf` at `offset`; the file grows if need be.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;

    /// The length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Cuts the file off at `len`, or extends it by zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Reserves room for the first `len` bytes, so that writing them cannot fail for want of space; the file
    /// grows to at least `len`, by zeros.
    fn allocate(&self, len: u64) -> io::Result<()>;

    /// Makes the contents and the length durable.
    fn sync_data(&self) -> io::Result<()>;

    /// The file's descriptor, by which it can be mapped into memory; none if it is no file of the system.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
