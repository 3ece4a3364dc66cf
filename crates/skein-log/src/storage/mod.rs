//! File access: the [`Storage`] trait and its implementations.
//!
//! Logs and checkpoints use files only through [`Storage`]. So tests can replace the file system by
//! one that cuts the power, tears writes and fails the N-th operation (`sim/`).
//!
//! An implementation guarantees this and nothing else (see "the medium" in `docs/format.md`):
//!
//! 1. Bytes that were written to a file before [`StorageFile::sync_data`] began are durable once it
//!    has returned `Ok`, and so is the file's length.
//! 2. Names that were created, removed or renamed in a folder before [`Storage::sync_dir`] began
//!    are durable once it has returned `Ok`.
//! 3. Changes that were not synced may survive a power cut in part: any subset of the 512-byte
//!    sectors, any subset of the names. A rename happens as a whole or not at all.
//! 4. After an error from a sync, nothing is known about the changes that it covered.
//!
//! Read `os.rs` for the real file system, then `direct.rs`, `folder_lock.rs` and `lock_holder.rs`.
//! `memory.rs` is for stores that have no folder. `file_copy.rs` copies files from one to another.
//!
//! Design: `docs/design/log.md`.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;

mod direct;
mod file_copy;
mod folder_lock;
mod lock_holder;
mod memory;
mod os;
#[cfg(any(test, feature = "sim"))]
pub mod sim;

pub use file_copy::FileCopier;
pub use folder_lock::{LOCK_WAIT, has_file, lock_folder, make_folder};
pub use lock_holder::LockHolder;
pub use memory::MemoryStorage;
pub use os::OsStorage;

/// The kind of the error if a path leads to a folder, a FIFO, a socket or a device instead of a
/// file. No system call has this kind. The stores report it as damage of the path.
pub const NOT_A_FILE: io::ErrorKind = io::ErrorKind::InvalidData;

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name within the folder. Names that are not Unicode are not listed.
    pub name: String,
    /// Whether the entry is a folder.
    pub is_dir: bool,
}

/// A held lock of a file. Dropping it unlocks the file.
pub trait StorageLock: Send + Sync + std::fmt::Debug {}

/// The operations of a file system that logs and checkpoints need.
#[expect(clippy::missing_errors_doc, reason = "every method returns the system's error")]
pub trait Storage: Send + Sync + std::fmt::Debug + 'static {
    /// Returns another handle of the same file system.
    fn share(&self) -> Arc<dyn Storage>;

    /// Opens an existing file for reading and, if `writable`, for writing. Returns [`NOT_A_FILE`]
    /// if the path leads to anything but a file. Never blocks.
    fn open(&self, path: &Path, writable: bool) -> io::Result<Box<dyn StorageFile>>;

    /// Creates a file for reading and writing. Returns [`io::ErrorKind::AlreadyExists`] if the name
    /// is taken.
    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>>;

    /// Returns the entries of a folder in arbitrary order.
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty folder.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Renames a file or folder, and replaces a file of the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a second name, a hard link. Returns [`io::ErrorKind::AlreadyExists`] if the
    /// name is taken. Not every file system has links, so callers must be able to copy the file
    /// instead.
    fn link(&self, _file: &Path, _name: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Makes the names in a folder durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Creates a folder and all missing folders above it, and makes them durable.
    fn create_dir_all(&self, dir: &Path) -> io::Result<()>;

    /// Returns whether two paths lead to the same folder, maybe through links. Returns false if one
    /// of them leads to no folder.
    fn same_dir(&self, a: &Path, b: &Path) -> io::Result<bool>;

    /// Locks the file `path` for this process. Creates it if it is missing. Returns
    /// [`io::ErrorKind::WouldBlock`] if another process holds the lock.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn StorageLock>>;

    /// Returns whether all files end with the process, so that nothing needs to be saved in them.
    fn is_volatile(&self) -> bool {
        false
    }

    /// Returns the holder of the lock of the file `path`, as far as it is known.
    fn lock_holder(&self, _path: &Path) -> LockHolder {
        LockHolder::Unknown
    }
}

/// An open file. Each read and write names its position, so many threads can use a file.
#[expect(clippy::missing_errors_doc, reason = "every method returns the system's error")]
#[expect(clippy::len_without_is_empty, reason = "reading the length may fail, and no caller needs is_empty")]
pub trait StorageFile: Send + Sync + std::fmt::Debug {
    /// Reads from `offset` until `buf` is full or the file ends. Returns the number of bytes read.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all of `buf` at `offset`, and extends the file if necessary.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;

    /// Returns the length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Truncates the file to `len` bytes, or extends it with zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Reserves space for the first `len` bytes, so that a write to them cannot fail for lack of
    /// space. Extends a shorter file to `len` bytes, with zeros.
    fn allocate(&self, len: u64) -> io::Result<()>;

    /// Makes the contents and the length durable.
    fn sync_data(&self) -> io::Result<()>;

    /// Returns the file's descriptor, for mapping the file into memory. Returns `None` if the file
    /// is not a system file.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
