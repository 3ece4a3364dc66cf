//! Files in memory, for a store that has no folder and ends with the process.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::{DirEntry, Storage, StorageFile, StorageLock};

/// A file system in memory. Clones share the files; the last one frees them.
#[derive(Debug, Clone, Default)]
pub struct MemoryStorage {
    files: Arc<Mutex<MemoryFiles>>,
}

#[derive(Debug, Default)]
struct MemoryFiles {
    by_path: BTreeMap<PathBuf, MemoryFile>,
    folders: BTreeSet<PathBuf>,
    locked: BTreeSet<PathBuf>,
}

/// The contents of a file. An open file stays usable after its name was removed.
#[derive(Debug, Clone, Default)]
struct MemoryFile(Arc<RwLock<Vec<u8>>>);

#[derive(Debug)]
struct MemoryLock {
    files: Arc<Mutex<MemoryFiles>>,
    path: PathBuf,
}

impl StorageLock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).locked.remove(&self.path);
    }
}

impl MemoryStorage {
    fn with<R>(&self, act: impl FnOnce(&mut MemoryFiles) -> R) -> R {
        act(&mut self.files.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn not_found(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("there is no {}", path.display()))
}

impl MemoryFiles {
    /// Moves the entry `from` and the entries below it.
    fn move_all(&mut self, from: &Path, to: &Path) {
        let moved = |path: &Path| path.strip_prefix(from).ok().map(|rest| to.join(rest));
        self.by_path = std::mem::take(&mut self.by_path)
            .into_iter()
            .map(|(path, file)| (moved(&path).unwrap_or(path), file))
            .collect();
        self.folders =
            std::mem::take(&mut self.folders).into_iter().map(|path| moved(&path).unwrap_or(path)).collect();
    }
}

impl Storage for MemoryStorage {
    fn share(&self) -> Arc<dyn Storage> {
        Arc::new(self.clone())
    }

    fn open(&self, path: &Path, _writable: bool) -> io::Result<Box<dyn StorageFile>> {
        let file = self.with(|files| files.by_path.get(path).cloned());
        file.map(|file| Box::new(file) as Box<dyn StorageFile>).ok_or_else(|| not_found(path))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        self.with(|files| {
            if files.by_path.contains_key(path) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            let file = MemoryFile::default();
            files.by_path.insert(path.to_owned(), file.clone());
            Ok(Box::new(file) as Box<dyn StorageFile>)
        })
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.with(|files| {
            if !files.folders.contains(dir) {
                return Err(not_found(dir));
            }
            let entry = |path: &PathBuf, is_dir| {
                let name = path.file_name()?.to_str()?.to_owned();
                (path.parent() == Some(dir)).then_some(DirEntry { name, is_dir })
            };
            let below = files.by_path.keys().filter_map(|path| entry(path, false));
            Ok(below.chain(files.folders.iter().filter_map(|path| entry(path, true))).collect())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.with(|files| files.by_path.remove(path)).map(drop).ok_or_else(|| not_found(path))
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        if !self.list(path)?.is_empty() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        self.with(|files| files.folders.remove(path));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.with(|files| {
            if !files.by_path.contains_key(from) && !files.folders.contains(from) {
                return Err(not_found(from));
            }
            files.by_path.remove(to);
            files.move_all(from, to);
            Ok(())
        })
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        self.with(|files| {
            let linked = files.by_path.get(file).cloned().ok_or_else(|| not_found(file))?;
            if files.by_path.contains_key(name) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            files.by_path.insert(name.to_owned(), linked);
            Ok(())
        })
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.with(|files| files.folders.extend(dir.ancestors().map(Path::to_owned)));
        Ok(())
    }

    fn same_dir(&self, a: &Path, b: &Path) -> io::Result<bool> {
        Ok(a == b && self.with(|files| files.folders.contains(a)))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn StorageLock>> {
        self.with(|files| {
            if files.locked.insert(path.to_owned()) {
                Ok(Box::new(MemoryLock { files: self.files.clone(), path: path.to_owned() })
                    as Box<dyn StorageLock>)
            } else {
                Err(io::ErrorKind::WouldBlock.into())
            }
        })
    }

    fn is_volatile(&self) -> bool {
        true
    }
}

impl MemoryFile {
    fn change(&self, act: impl FnOnce(&mut Vec<u8>)) {
        act(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }

    fn resize(&self, len: u64, keep_longer: bool) -> io::Result<()> {
        let len = usize::try_from(len).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.change(|bytes| {
            if !keep_longer || bytes.len() < len {
                bytes.resize(len, 0);
            }
        });
        Ok(())
    }
}

impl StorageFile for MemoryFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let end = start.checked_add(buf.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        self.change(|bytes| {
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[start..end].copy_from_slice(buf);
        });
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.read().unwrap_or_else(PoisonError::into_inner).len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.resize(len, false)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.resize(len, true)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_keep_what_was_written_and_follow_their_folder() -> io::Result<()> {
        let (storage, dir) = (MemoryStorage::default(), Path::new("/a/b"));
        assert!(storage.list(dir).is_err());
        storage.create_dir_all(dir)?;
        let file = storage.create(&dir.join("one"))?;
        file.write_at(b"geese", 3)?;
        assert!(storage.create(&dir.join("one")).is_err());
        assert!(storage.remove_dir(dir).is_err(), "it is not empty");
        storage.rename(dir, Path::new("/a/c"))?;
        let mut bytes = [1; 10];
        let moved = storage.open(Path::new("/a/c/one"), true)?;
        assert_eq!(moved.read_at(&mut bytes, 2)?, 6);
        assert_eq!(&bytes[..6], b"\0geese");
        moved.allocate(4)?;
        assert_eq!(moved.len()?, 8);
        moved.set_len(4)?;
        assert_eq!((file.len()?, moved.read_at(&mut bytes, 9)?), (4, 0));
        let second = Path::new("/a/c/two");
        storage.link(Path::new("/a/c/one"), second)?;
        assert!(storage.link(Path::new("/a/c/one"), second).is_err(), "the name is taken");
        moved.set_len(7)?;
        assert_eq!(storage.open(second, false)?.len()?, 7);
        storage.remove(second)?;
        storage.remove(Path::new("/a/c/one"))?;
        assert!(storage.open(Path::new("/a/c/one"), false).is_err());
        storage.remove_dir(Path::new("/a/c"))
    }

    #[test]
    fn a_lock_is_held_once() -> io::Result<()> {
        let (storage, path) = (MemoryStorage::default(), Path::new("/lock"));
        let held = storage.lock(path)?;
        assert_eq!(storage.lock(path).expect_err("it is held").kind(), io::ErrorKind::WouldBlock);
        drop(held);
        storage.lock(path).map(drop)
    }
}
