//! The real file system: `std::fs`, and `rustix` for system calls that `std` lacks.
//!
//! The files of a store are for its owner alone. Files are created with mode 600 and folders with
//! 700, by the call that creates them, so other users can open them at no time. A umask can only
//! remove more permissions. An existing file with a wider mode is closed to other users when it is
//! opened. An existing folder keeps its mode, because it may hold other things, and no file of ours
//! in it can be read.

use std::fs::{DirBuilder, File, FileType, OpenOptions, Permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::process::{Pid, getpid};

use super::direct::DirectWriter;
use super::{DirEntry, LockHolder, NOT_A_FILE, Storage, StorageFile, StorageLock};

/// The modes of new files and folders: for the owner alone.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;
/// The permissions of users other than the owner.
const OTHERS: u32 = 0o077;

/// Removes the permissions of other users from a file. A file that belongs to another user stays as
/// it is.
fn close_to_others(file: File, path: &Path) -> io::Result<File> {
    let mode = file.metadata()?.mode() & 0o7777;
    if mode & OTHERS == 0 {
        return Ok(file);
    }
    let path = path.display();
    if let Err(cause) = file.set_permissions(Permissions::from_mode(mode & !OTHERS)) {
        tracing::warn!(%cause, %path, "other users can open this file (mode {mode:o}), and it cannot be closed to them");
    } else {
        tracing::info!(%path, "closed to other users: its mode was {mode:o}");
    }
    Ok(file)
}

/// Opens a file, and rejects anything else with this name. The call never blocks: without
/// `O_NONBLOCK` a FIFO would block it until another process opens the other end.
fn open_file(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let opened = options.custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path);
    let found = match &opened {
        Ok(file) => file.metadata(),
        Err(_) => std::fs::metadata(path),
    };
    if let Ok(found) = found
        && !found.is_file()
    {
        return Err(not_a_file(found.file_type()));
    }
    close_to_others(opened?, path)
}

/// Returns the error of a name that should be a file and is something else.
fn not_a_file(found: FileType) -> io::Error {
    let what = match found {
        found if found.is_dir() => "a folder",
        found if found.is_fifo() => "a FIFO",
        found if found.is_socket() => "a socket",
        _ => "a device",
    };
    io::Error::new(NOT_A_FILE, format!("it is {what}, and it should be a file"))
}

/// Logs a warning if other users can look into an existing folder.
fn report_if_open(dir: &Path) {
    let mode = std::fs::metadata(dir).map_or(0, |found| found.mode());
    if mode & OTHERS != 0 {
        tracing::warn!(
            path = %dir.display(),
            "other users can look into this folder (mode {:o}), but not read its files; close it with chmod 700",
            mode & 0o7777
        );
    }
}

/// The file system of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsStorage;

#[derive(Debug)]
struct OsFile {
    file: File,
    path: PathBuf,
    direct: DirectWriter,
}

impl OsFile {
    fn boxed(file: File, path: &Path) -> Box<dyn StorageFile> {
        Box::new(Self { file, path: path.to_owned(), direct: DirectWriter::default() })
    }
}

/// The system releases an `flock` when every copy of the descriptor is closed, also when the process
/// dies. A child process has a copy between `fork` and `exec`.
#[derive(Debug)]
struct OsLock {
    file: File,
    owner: Pid,
}

impl StorageLock for OsLock {}

impl Drop for OsLock {
    fn drop(&mut self) {
        // In a forked child, this is a copy, and the lock is still its parent's.
        if getpid() == self.owner
            && let Err(error) = flock(&self.file, FlockOperation::Unlock)
        {
            tracing::warn!(%error, "a lock file could not be unlocked before it is closed");
        }
    }
}

impl Storage for OsStorage {
    fn share(&self) -> Arc<dyn Storage> {
        Arc::new(*self)
    }

    fn open(&self, path: &Path, writable: bool) -> io::Result<Box<dyn StorageFile>> {
        Ok(OsFile::boxed(open_file(OpenOptions::new().read(true).write(writable), path)?, path))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(FILE_MODE).open(path)?;
        Ok(OsFile::boxed(file, path))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string() {
                entries.push(DirEntry { name, is_dir: entry.file_type()?.is_dir() });
            }
        }
        Ok(entries)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_dir(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        // The second name of a symbolic link would end with the file that it leads to.
        if !std::fs::symlink_metadata(file)?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        std::fs::hard_link(file, name)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        // From the deepest existing folder downwards: a new name is durable once its parent is
        // synced.
        let missing: Vec<&Path> = dir.ancestors().take_while(|path| !path.exists()).collect();
        DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(dir)?;
        if missing.is_empty() {
            report_if_open(dir);
        }
        for made in missing.into_iter().rev() {
            self.sync_dir(&parent_of(made))?;
        }
        Ok(())
    }

    fn same_dir(&self, a: &Path, b: &Path) -> io::Result<bool> {
        let id = |path: &Path| match std::fs::metadata(path) {
            Ok(found) => Ok(found.is_dir().then(|| (found.dev(), found.ino()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        let (a, b) = (id(a)?, id(b)?);
        Ok(a.is_some() && a == b)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn StorageLock>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE);
        let file = open_file(&mut options, path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Box::new(OsLock { file, owner: getpid() }))
    }

    fn lock_holder(&self, path: &Path) -> LockHolder {
        LockHolder::of(path)
    }
}

/// Returns the folder that contains the name `path`. A relative name without a folder lies in the
/// current folder.
fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        Some(_) => PathBuf::from("."),
        None => PathBuf::from("/"),
    }
}

impl StorageFile for OsFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            match self.file.read_at(&mut buf[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.direct.write_at(&self.file, &self.path, buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        match rustix::fs::fallocate(&self.file, rustix::fs::FallocateFlags::empty(), 0, len) {
            Ok(()) => Ok(()),
            // The file system cannot reserve space, so only the length is set.
            Err(rustix::io::Errno::OPNOTSUPP) => {
                if self.len()? < len {
                    self.set_len(len)?;
                }
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }
}
