//! A file system that reads what is there and keeps what is written to itself.
//!
//! ```text
//!  recovery ──► Overlay ──┬─ reads ──► the real files, opened for reading only
//!                         └─ writes ─► memory, gone with the process
//! ```
//!
//! So `skein check` runs the very recovery that a server's start runs, and nothing changes. Folders are taken as they
//! were when they were first listed; the lock sees to it that no server writes meanwhile.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::FlockOperation;
use skein_log::storage::{DirEntry, Storage, StorageFile, StorageLock};

/// The file system.
#[derive(Debug, Default)]
pub struct Overlay {
    /// What differs from the real one: files that were opened, made or (`None`) removed, and folders.
    changes: Mutex<BTreeMap<PathBuf, Option<Entry>>>,
}

#[derive(Debug, Clone)]
enum Entry {
    File(Arc<Mutex<Content>>),
    Folder,
}

/// A file: a part of the real one, and what was written since.
#[derive(Debug)]
struct Content {
    base: Option<File>,
    /// How much of the real file still counts.
    base_len: u64,
    len: u64,
    /// Writes in their order.
    patches: Vec<(u64, Vec<u8>)>,
}

#[derive(Debug)]
struct OverlayFile(Arc<Mutex<Content>>);

/// The real lock, if there is a lock file.
#[derive(Debug)]
struct OverlayLock {
    _file: Option<File>,
}

impl StorageLock for OverlayLock {}

impl Overlay {
    fn changes(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Option<Entry>>> {
        lock(&self.changes)
    }

    fn exists(&self, path: &Path) -> bool {
        match self.changes().get(path) {
            Some(change) => change.is_some(),
            None => path.exists(),
        }
    }

    fn real_file(path: &Path) -> io::Result<Entry> {
        let base = File::open(path)?;
        let len = base.metadata()?.len();
        let content = Content { base: Some(base), base_len: len, len, patches: Vec::new() };
        Ok(Entry::File(Arc::new(Mutex::new(content))))
    }
}

impl Storage for Overlay {
    fn open(&self, path: &Path, _writable: bool) -> io::Result<Box<dyn StorageFile>> {
        let mut changes = self.changes();
        let entry = match changes.get(path) {
            Some(change) => change.clone(),
            None => Some(Self::real_file(path)?),
        };
        let Some(Entry::File(content)) = &entry else { return Err(io::ErrorKind::NotFound.into()) };
        let file = OverlayFile(Arc::clone(content));
        changes.insert(path.to_owned(), entry);
        Ok(Box::new(file))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        if self.exists(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let content = Content { base: None, base_len: 0, len: 0, patches: Vec::new() };
        let content = Arc::new(Mutex::new(content));
        self.changes().insert(path.to_owned(), Some(Entry::File(Arc::clone(&content))));
        Ok(Box::new(OverlayFile(content)))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let mut entries = BTreeMap::new();
        let made = matches!(self.changes().get(dir), Some(Some(Entry::Folder)));
        match fs::read_dir(dir) {
            Ok(listing) => {
                for entry in listing {
                    let entry = entry?;
                    if let Ok(name) = entry.file_name().into_string() {
                        entries.insert(name, entry.file_type()?.is_dir());
                    }
                }
            }
            Err(error) if made && error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        for (path, change) in self.changes().iter() {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { continue };
            let Some(name) = name.to_str().filter(|_| parent == dir) else { continue };
            match change {
                Some(entry) => entries.insert(name.to_owned(), matches!(entry, Entry::Folder)),
                None => entries.remove(name),
            };
        }
        Ok(entries.into_iter().map(|(name, is_dir)| DirEntry { name, is_dir }).collect())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if !self.exists(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.changes().insert(path.to_owned(), None);
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        if !self.list(path)?.is_empty() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        self.changes().insert(path.to_owned(), None);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        if from.is_dir() || matches!(self.changes().get(from), Some(Some(Entry::Folder))) {
            return self.rename_folder(from, to);
        }
        let mut changes = self.changes();
        let entry = match changes.get(from) {
            Some(change) => change.clone(),
            None => Some(Self::real_file(from)?),
        };
        if entry.is_none() {
            return Err(io::ErrorKind::NotFound.into());
        }
        changes.insert(from.to_owned(), None);
        changes.insert(to.to_owned(), entry);
        Ok(())
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        if dir.is_file() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        if !dir.is_dir() {
            self.changes().insert(dir.to_owned(), Some(Entry::Folder));
        }
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn StorageLock>> {
        let file = match File::open(path) {
            Ok(file) => file,
            // Without a lock file, no server has been here.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Box::new(OverlayLock { _file: None }));
            }
            Err(error) => return Err(error),
        };
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Box::new(OverlayLock { _file: Some(file) }))
    }
}

impl Overlay {
    /// Moves every file of a folder, one by one.
    fn rename_folder(&self, from: &Path, to: &Path) -> io::Result<()> {
        for entry in self.list(from)? {
            self.rename(&from.join(&entry.name), &to.join(&entry.name))?;
        }
        let mut changes = self.changes();
        changes.insert(from.to_owned(), None);
        changes.insert(to.to_owned(), Some(Entry::Folder));
        Ok(())
    }
}

impl StorageFile for OverlayFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let content = lock(&self.0);
        let wanted = usize::try_from(content.len.saturating_sub(offset)).unwrap_or(usize::MAX).min(buf.len());
        let buf = &mut buf[..wanted];
        buf.fill(0);
        if let Some(base) = &content.base {
            let real = usize::try_from(content.base_len.saturating_sub(offset)).unwrap_or(usize::MAX);
            let real = real.min(buf.len());
            base.read_exact_at(&mut buf[..real], offset)?;
        }
        for (at, bytes) in &content.patches {
            copy_overlap(bytes, *at, buf, offset);
        }
        Ok(wanted)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut content = lock(&self.0);
        content.len = content.len.max(offset + buf.len() as u64);
        content.patches.push((offset, buf.to_vec()));
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(lock(&self.0).len)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut content = lock(&self.0);
        content.len = len;
        content.base_len = content.base_len.min(len);
        content.patches.retain_mut(|(at, bytes)| {
            let left = usize::try_from(len.saturating_sub(*at)).unwrap_or(usize::MAX);
            bytes.truncate(left);
            !bytes.is_empty()
        });
        Ok(())
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        let mut content = lock(&self.0);
        content.len = content.len.max(len);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Copies what of `bytes`, which lie at `at`, falls into `buf`, which lies at `offset`.
fn copy_overlap(bytes: &[u8], at: u64, buf: &mut [u8], offset: u64) {
    let start = at.max(offset);
    let end = (at + bytes.len() as u64).min(offset + buf.len() as u64);
    if start < end {
        let (from, to, len) = ((start - at) as usize, (start - offset) as usize, (end - start) as usize);
        buf[to..to + len].copy_from_slice(&bytes[from..from + len]);
    }
}

/// Nothing here panics under a lock, so a poisoned one is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &dyn StorageFile) -> Vec<u8> {
        let mut bytes = vec![0xee; 64];
        let len = file.read_at(&mut bytes, 0).unwrap();
        bytes.truncate(len);
        bytes
    }

    fn names(storage: &Overlay, dir: &Path) -> Vec<String> {
        storage.list(dir).unwrap().into_iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn writes_are_seen_and_the_real_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, b"0123456789").unwrap();
        let storage = Overlay::default();
        let file = storage.open(&path, true).unwrap();
        file.write_at(b"ab", 4).unwrap();
        assert_eq!(read(file.as_ref()), b"0123ab6789");
        file.set_len(5).unwrap();
        file.set_len(7).unwrap();
        assert_eq!(read(file.as_ref()), b"0123a\0\0");
        file.write_at(b"xyz", 6).unwrap();
        assert_eq!(file.len().unwrap(), 9);
        // Opened again, it is the changed one.
        assert_eq!(read(storage.open(&path, false).unwrap().as_ref()), b"0123a\0xyz");
        let mut part = [0; 2];
        assert_eq!(file.read_at(&mut part, 8).unwrap(), 1);
        assert_eq!(fs::read(&path).unwrap(), b"0123456789");
    }

    #[test]
    fn names_change_in_memory_only() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        fs::write(dir.join("a"), b"a").unwrap();
        let storage = Overlay::default();
        storage.create(&dir.join("b")).unwrap();
        assert!(storage.create(&dir.join("a")).is_err());
        storage.rename(&dir.join("a"), &dir.join("c")).unwrap();
        assert_eq!(names(&storage, dir), ["b", "c"]);
        storage.create_dir_all(&dir.join("d")).unwrap();
        storage.create(&dir.join("d/e")).unwrap();
        storage.rename(&dir.join("d"), &dir.join("f")).unwrap();
        assert_eq!(names(&storage, &dir.join("f")), ["e"]);
        assert!(storage.remove_dir(&dir.join("f")).is_err());
        storage.remove(&dir.join("f/e")).unwrap();
        storage.remove_dir(&dir.join("f")).unwrap();
        assert_eq!(names(&storage, dir), ["b", "c"]);
        assert!(storage.open(&dir.join("a"), false).is_err());
        let real: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(real, ["a"]);
    }

    #[test]
    fn a_lock_that_is_held_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let storage = Overlay::default();
        storage.lock(&path).unwrap();
        assert!(!path.exists());
        let held = File::create(&path).unwrap();
        rustix::fs::flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert_eq!(storage.lock(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
