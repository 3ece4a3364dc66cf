//! A simulated file system in memory that loses, tears and fails writes. For tests, behind the
//! feature `sim`.
//!
//! The fault model:
//!
//! - Written bytes are visible immediately, but durable only after `sync_data`. A power cut keeps
//!   or loses every 512-byte sector written since, each independently, so writes tear and change
//!   order. The same holds for a change of length.
//! - Names (created, linked, removed, renamed) are visible immediately, but durable only after
//!   `sync_dir` of their folder. A power cut keeps or loses each change since, each independently;
//!   a rename as a whole.
//! - The power can be cut at any operation, counted from the start. The operation may have had its
//!   effect or a part of it. Until [`SimStorage::reboot`] every operation fails. Handles that were
//!   opened or shared before the cut stay dead: they belong to a process that the power cut ended.
//! - An operation, counted from the start, can fail with a chosen error, once or permanently,
//!   without effect.
//! - A failed `sync_data` has the worst result: the next power cut loses the bytes that it covered.
//!   They stay visible until then, and a later sync that succeeds does not save them. (Linux does
//!   this: it marks pages clean after a failed write-back.)
//! - A folder can be limited like a full disk: operations that extend its files fail with `ENOSPC`.
//!   Files with chosen names can be refused alone, as by a disk whose free space ends meanwhile.
//! - All syncs can fail, and each operation can take a chosen time.
//! - A process can be killed: its handles are dead, and everything that it wrote stays visible.
//!   Only the next power cut loses the bytes that were not synced.
//! - Bytes can be damaged at rest, durably.
//!
//! A seed decides which bytes and names a power cut keeps: the same seed keeps the same ones.

mod disk;
mod file;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::{DirEntry, Storage, StorageFile, StorageLock};
use disk::{NameChange, SimDisk};
use file::{SimFile, SimLock};
use skein_sync::locks::lock;

/// An error to inject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimError {
    /// `EIO`
    Io,
    /// `ENOSPC`
    NoSpace,
    /// `EMFILE`. Operations on open files still succeed.
    TooManyFiles,
    /// No error: the operation panics.
    Panic,
}

/// A fault and the operation at which it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SimFault {
    CutPower { at: u64 },
    Fail { at: u64, error: SimError, lasting: bool },
    FailSyncs,
}

/// The target of an operation, and whether the operation is a sync.
#[derive(Clone, Copy)]
enum SimTarget {
    Names { sync: bool },
    OpenFile { boot: u64, sync: bool },
}

/// The simulated file system. Clones share one disk. A reboot ends a handle from
/// [`share`](Storage::share); a clone of the test's own handle survives it.
#[derive(Debug, Clone, Default)]
pub struct SimStorage {
    disk: Arc<Mutex<SimDisk>>,
    /// The boot that this handle belongs to; `None` for the test's own handle.
    boot: Option<u64>,
}

impl SimStorage {
    /// Creates an empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of operations so far, including reads.
    pub fn operations(&self) -> u64 {
        lock(&self.disk).operations
    }

    /// Cuts the power at operation number `at`, counted from the start (the first is 1).
    pub fn cut_power_at(&self, at: u64) {
        lock(&self.disk).fault = Some(SimFault::CutPower { at });
    }

    /// Makes operation number `at` fail and, if `lasting`, all later ones.
    pub fn fail_at(&self, at: u64, error: SimError, lasting: bool) {
        lock(&self.disk).fault = Some(SimFault::Fail { at, error, lasting });
    }

    /// Makes every sync of a file or a folder fail with `EIO`.
    pub fn fail_syncs(&self) {
        lock(&self.disk).fault = Some(SimFault::FailSyncs);
    }

    /// Makes each operation take at least this time.
    pub fn slow_down(&self, delay: Duration) {
        lock(&self.disk).delay = delay;
    }

    /// Refuses new files with names that begin with one of these: their creation fails with
    /// `ENOSPC`. An empty list ends this.
    pub fn refuse_new_files(&self, prefixes: &[&str]) {
        lock(&self.disk).refused = prefixes.iter().map(|&prefix| prefix.to_owned()).collect();
    }

    /// Cancels faults that have not happened yet.
    pub fn no_faults(&self) {
        lock(&self.disk).fault = None;
    }

    /// Limits the total size of the files below `dir`, even if they are larger already. `None`
    /// removes the limit.
    pub fn limit(&self, dir: &Path, bytes: Option<u64>) {
        lock(&self.disk).limit = bytes.map(|bytes| (dir.into(), bytes));
    }

    /// Returns whether the power is on.
    pub fn is_on(&self) -> bool {
        !lock(&self.disk).off
    }

    /// Cuts the power if it is on, and turns it on again. `seed` decides which bytes and names are
    /// kept. Cancels faults, releases locks and ends open files.
    pub fn reboot(&self, seed: u64) {
        lock(&self.disk).reboot(seed);
    }

    /// Ends the process that uses the disk: its handles and open files are dead, and its locks are
    /// released. Everything that it wrote stays visible, and is lost by the next power cut unless
    /// it was synced. Cancels faults.
    pub fn kill(&self) {
        lock(&self.disk).end_process();
    }

    /// Changes bytes of a file at rest, durably, by XOR with `with`.
    ///
    /// # Panics
    /// Panics if the file does not exist or is shorter.
    pub fn damage(&self, path: &Path, offset: u64, with: &[u8]) {
        lock(&self.disk).damage(path, offset, with);
    }

    /// Returns the visible bytes of a file.
    ///
    /// # Panics
    /// Panics if the file does not exist.
    pub fn contents(&self, path: &Path) -> Vec<u8> {
        let disk = lock(&self.disk);
        disk.nodes[&disk.names[path]].seen.clone()
    }

    /// Begins an operation: counts it, and returns an error if it should fail. The flag is true if
    /// the power was cut at this operation: then it may have an effect, but its caller must get an
    /// error.
    fn begin(&self, on: SimTarget) -> io::Result<(MutexGuard<'_, SimDisk>, bool)> {
        let delay = lock(&self.disk).delay;
        if !delay.is_zero() {
            std::thread::sleep(delay);
        }
        let mut disk = lock(&self.disk);
        disk.failed_sync = false;
        let is_dead = |boot| boot != disk.boot;
        let ended = match on {
            SimTarget::OpenFile { boot, .. } => is_dead(boot),
            SimTarget::Names { .. } => self.boot.is_some_and(is_dead),
        };
        if disk.off || ended {
            return Err(power_is_off());
        }
        disk.operations += 1;
        let number = disk.operations;
        match disk.fault {
            Some(SimFault::CutPower { at }) if number >= at => {
                disk.off = true;
                Ok((disk, true))
            }
            Some(SimFault::Fail { error: SimError::TooManyFiles, .. })
                if matches!(on, SimTarget::OpenFile { .. }) =>
            {
                Ok((disk, false))
            }
            Some(SimFault::FailSyncs)
                if matches!(on, SimTarget::Names { sync: true } | SimTarget::OpenFile { sync: true, .. }) =>
            {
                disk.failed_sync = true;
                Err(io::Error::from_raw_os_error(5))
            }
            Some(SimFault::Fail { at, error, lasting }) if number == at || (lasting && number > at) => {
                disk.failed_sync = true;
                if error == SimError::Panic {
                    drop(disk);
                    panic!("the storage panics at operation {number}, as the test wants");
                }
                Err(match error {
                    SimError::Io => io::Error::from_raw_os_error(5),
                    SimError::NoSpace => io::Error::from_raw_os_error(28),
                    SimError::TooManyFiles | SimError::Panic => io::Error::from_raw_os_error(24),
                })
            }
            _ => Ok((disk, false)),
        }
    }

    /// Runs an operation on names.
    fn on_names<T>(&self, act: impl FnOnce(&mut SimDisk) -> io::Result<T>) -> io::Result<T> {
        let (mut disk, cut) = self.begin(SimTarget::Names { sync: false })?;
        let result = act(&mut disk);
        // Unlocked first: if the power was cut, dropping a `SimLock` in `result` locks the disk.
        drop(disk);
        if cut { Err(power_is_off()) } else { result }
    }
}

fn power_is_off() -> io::Error {
    io::Error::other("the power is off")
}

impl Storage for SimStorage {
    fn share(&self) -> Arc<dyn Storage> {
        let boot = self.boot.unwrap_or_else(|| lock(&self.disk).boot);
        Arc::new(Self { disk: self.disk.clone(), boot: Some(boot) })
    }

    fn open(&self, path: &Path, writable: bool) -> io::Result<Box<dyn StorageFile>> {
        self.on_names(|disk| {
            let node = *disk.names.get(path).ok_or(io::ErrorKind::NotFound)?;
            let file = SimFile { storage: self.clone(), node, boot: disk.boot, writable };
            Ok(Box::new(file) as Box<dyn StorageFile>)
        })
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        self.on_names(|disk| {
            let node = disk.create(path)?;
            let file = SimFile { storage: self.clone(), node, boot: disk.boot, writable: true };
            Ok(Box::new(file) as Box<dyn StorageFile>)
        })
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.on_names(|disk| disk.list(dir))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.on_names(|disk| {
            if !disk.names.contains_key(path) {
                return Err(io::ErrorKind::NotFound.into());
            }
            disk.change(NameChange::Remove(path.into()));
            Ok(())
        })
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.on_names(|disk| disk.remove_dir(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.on_names(|disk| {
            if !disk.names.contains_key(from) && !disk.dirs.contains(from) {
                return Err(io::ErrorKind::NotFound.into());
            }
            disk.change(NameChange::Rename(from.into(), to.into()));
            Ok(())
        })
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        self.on_names(|disk| {
            let node = *disk.names.get(file).ok_or(io::ErrorKind::NotFound)?;
            disk.check_name(name)?;
            disk.change(NameChange::Create(name.into(), node));
            Ok(())
        })
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let (mut disk, cut) = self.begin(SimTarget::Names { sync: true })?;
        if cut {
            return Err(power_is_off());
        }
        disk.sync_dir(dir);
        Ok(())
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.on_names(|disk| {
            if dir.ancestors().any(|path| disk.names.contains_key(path)) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            let missing: Vec<&Path> = dir.ancestors().filter(|path| !disk.dirs.contains(*path)).collect();
            for path in missing.into_iter().rev() {
                // The sync of the parent also covers the removal of an earlier folder of this name.
                path.parent().into_iter().for_each(|parent| disk.sync_dir(parent));
                disk.dirs.insert(path.into());
                disk.durable_dirs.insert(path.into());
            }
            Ok(())
        })
    }

    fn same_dir(&self, a: &Path, b: &Path) -> io::Result<bool> {
        self.on_names(|disk| Ok(a == b && disk.dirs.contains(a)))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn StorageLock>> {
        self.on_names(|disk| {
            if !disk.names.contains_key(path) {
                disk.create(path)?;
            }
            if !disk.locks.insert(path.into()) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let held = SimLock { storage: self.clone(), path: path.into(), boot: disk.boot };
            Ok(Box::new(held) as Box<dyn StorageLock>)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both names lead to one file, and each name becomes durable by itself.
    #[test]
    fn a_link_is_a_second_name_of_the_same_file() {
        let sim = SimStorage::new();
        let (dir, [one, two]) = (Path::new("/db"), ["/db/one", "/db/two"].map(Path::new));
        let storage = sim.share();
        storage.create_dir_all(dir).unwrap();
        let file = storage.create(one).unwrap();
        file.write_at(b"geese", 0).unwrap();
        file.sync_data().unwrap();
        storage.sync_dir(dir).unwrap();
        assert_eq!(storage.link(one, one).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(storage.link(two, one).unwrap_err().kind(), io::ErrorKind::NotFound);
        storage.link(one, two).unwrap();
        file.write_at(b"swans", 0).unwrap();
        assert_eq!(sim.contents(two), b"swans");
        // Seed 0 keeps nothing that was not synced.
        sim.reboot(0);
        assert_eq!(sim.contents(one), b"geese");
        let storage = sim.share();
        assert_eq!(storage.open(two, false).unwrap_err().kind(), io::ErrorKind::NotFound);
        storage.link(one, two).unwrap();
        storage.sync_dir(dir).unwrap();
        storage.remove(one).unwrap();
        storage.sync_dir(dir).unwrap();
        sim.reboot(0);
        assert_eq!(sim.contents(two), b"geese");
    }

    /// Incident: a test cut the power under a store that was still running. A thread of that store
    /// removed a segment by name, which the next store had found and was going to remove.
    /// Consequence: recovery sometimes failed because the file had disappeared. Fix: a reboot ends
    /// earlier handles as it ends open files.
    #[test]
    fn a_reboot_ends_earlier_handles() {
        let sim = SimStorage::new();
        let (dir, path) = (Path::new("/db"), Path::new("/db/segment"));
        let before = sim.share();
        before.create_dir_all(dir).unwrap();
        let file = before.create(path).unwrap();
        before.sync_dir(dir).unwrap();
        sim.reboot(0);
        for refused in [before.remove(path), before.share().remove(path), file.sync_data()] {
            assert_eq!(refused.unwrap_err().to_string(), "the power is off");
        }
        sim.share().remove(path).unwrap();
    }
}
