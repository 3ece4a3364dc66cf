//! A storage that fails in a selected way until it is told otherwise.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use skein_log::storage::sim::SimStorage;
use skein_log::storage::{DirEntry, Storage, StorageFile, StorageLock};

/// The current faults.
#[derive(Debug, Default)]
pub struct StorageFaults {
    /// No file grows: the disk is full.
    pub full: AtomicBool,
    /// The most bytes of all files together; 0 for no limit.
    pub quota: AtomicU64,
    /// The next sync of the page file fails, and the system drops all writes since the last one.
    pub sync_of_pages: AtomicBool,
    /// Every sync of a file or a folder fails.
    pub all_syncs: AtomicBool,
    /// The time that each write and each sync takes, in microseconds.
    pub delay_us: AtomicU64,
}

impl StorageFaults {
    fn wait(&self) {
        let delay = self.delay_us.load(SeqCst);
        if delay > 0 {
            std::thread::sleep(Duration::from_micros(delay));
        }
    }

    fn check_sync(&self) -> io::Result<()> {
        self.wait();
        if self.all_syncs.load(SeqCst) { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) }
    }
}

#[derive(Debug, Clone, Default)]
pub struct FaultyStorage {
    pub inner: SimStorage,
    pub faults: Arc<StorageFaults>,
}

#[derive(Debug)]
struct FaultyFile {
    inner: Box<dyn StorageFile>,
    storage: FaultyStorage,
    is_pages: bool,
    /// The previous bytes of each write since the last sync, in order.
    before: Mutex<Vec<(u64, Vec<u8>)>>,
}

impl FaultyStorage {
    fn wrap(&self, path: &Path, inner: Box<dyn StorageFile>) -> Box<dyn StorageFile> {
        let is_pages = path.to_string_lossy().contains("data.skein");
        Box::new(FaultyFile { inner, storage: self.clone(), is_pages, before: Mutex::default() })
    }

    /// Returns the bytes of all files.
    fn used(&self) -> io::Result<u64> {
        let mut used = 0;
        for folder in ["/db", "/db/log"].map(Path::new) {
            for entry in self.inner.list(folder).unwrap_or_default() {
                let path = folder.join(entry.name);
                used += self.inner.open(&path, false).map_or(Ok(0), |file| file.len())?;
            }
        }
        Ok(used)
    }
}

impl FaultyFile {
    fn refuse_growth(&self, len: u64) -> io::Result<()> {
        let more = len.saturating_sub(self.inner.len()?);
        let faults = &self.storage.faults;
        let quota = faults.quota.load(SeqCst);
        let is_full = faults.full.load(SeqCst) || quota > 0 && self.storage.used()? + more > quota;
        if more > 0 && is_full { Err(io::Error::from_raw_os_error(28)) } else { Ok(()) }
    }
}

impl StorageFile for FaultyFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.inner.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.storage.faults.wait();
        self.refuse_growth(offset + buf.len() as u64)?;
        let mut before = self.before.lock().unwrap();
        if self.is_pages {
            let mut old = vec![0; buf.len()];
            let read = self.inner.read_at(&mut old, offset)?;
            old.truncate(read);
            before.push((offset, old));
        }
        self.inner.write_at(buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.refuse_growth(len)?;
        self.inner.set_len(len)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.refuse_growth(len)?;
        self.inner.allocate(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.storage.faults.check_sync()?;
        let before = std::mem::take(&mut *self.before.lock().unwrap());
        if self.is_pages && self.storage.faults.sync_of_pages.swap(false, SeqCst) {
            for (offset, old) in before.into_iter().rev() {
                self.inner.write_at(&old, offset)?;
            }
            return Err(io::Error::from_raw_os_error(5));
        }
        self.inner.sync_data()
    }
}

impl Storage for FaultyStorage {
    fn share(&self) -> Arc<dyn Storage> {
        Arc::new(self.clone())
    }

    fn open(&self, path: &Path, writable: bool) -> io::Result<Box<dyn StorageFile>> {
        Ok(self.wrap(path, self.inner.open(path, writable)?))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        Ok(self.wrap(path, self.inner.create(path)?))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.inner.list(dir)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_dir(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.faults.check_sync()?;
        self.inner.sync_dir(dir)
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.inner.create_dir_all(dir)
    }

    fn same_dir(&self, a: &Path, b: &Path) -> io::Result<bool> {
        self.inner.same_dir(a, b)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn StorageLock>> {
        self.inner.lock(path)
    }
}
