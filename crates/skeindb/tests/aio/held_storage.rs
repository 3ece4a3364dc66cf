//! A disk that can hold its syncs back.

use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};

use skein_log::storage::sim::SimStorage;
use skein_log::storage::{DirEntry, Storage, StorageFile, StorageLock};

/// Whether syncs of files wait.
#[derive(Debug, Default)]
pub struct SyncGate {
    is_held: Mutex<bool>,
    opened: Condvar,
}

impl SyncGate {
    pub fn hold(&self, is_held: bool) {
        *self.is_held.lock().expect("no panic") = is_held;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let held = self.is_held.lock().expect("no panic");
        drop(self.opened.wait_while(held, |is_held| *is_held));
    }
}

#[derive(Debug, Clone, Default)]
pub struct HeldStorage {
    pub disk: SimStorage,
    pub gate: Arc<SyncGate>,
}

#[derive(Debug)]
struct HeldFile {
    file: Box<dyn StorageFile>,
    gate: Arc<SyncGate>,
}

impl HeldStorage {
    fn file(&self, file: Box<dyn StorageFile>) -> Box<dyn StorageFile> {
        Box::new(HeldFile { file, gate: self.gate.clone() })
    }
}

impl Storage for HeldStorage {
    fn share(&self) -> Arc<dyn Storage> {
        Arc::new(self.clone())
    }

    fn open(&self, path: &Path, writable: bool) -> io::Result<Box<dyn StorageFile>> {
        self.disk.open(path, writable).map(|file| self.file(file))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        self.disk.create(path).map(|file| self.file(file))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.disk.list(dir)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_dir(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.sync_dir(dir)
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.disk.create_dir_all(dir)
    }

    fn same_dir(&self, a: &Path, b: &Path) -> io::Result<bool> {
        self.disk.same_dir(a, b)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn StorageLock>> {
        self.disk.lock(path)
    }
}

impl StorageFile for HeldFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_at(buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.file.allocate(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.gate.pass();
        self.file.sync_data()
    }
}
