//! A file system in memory that loses, tears and fails. For tests, behind the feature `sim`.
//!
//! The fault model:
//!
//! - What is written is seen at once, and durable only after `sync_data`. At a power cut every 512-byte sector written
//!   since is kept or lost by itself, in any combination (so writes tear and change order); so is a change of length.
//! - Names (made, removed, renamed) are seen at once, and durable only after `sync_dir` of their folder. At a power
//!   cut each change since is kept or lost by itself; a rename as a whole.
//! - The power can be cut at any operation, counted from the start. The operation may have had its effect or part of
//!   it. Until [`SimStorage::reboot`] everything fails. What was opened or shared before stays dead after it: whoever
//!   has it is a process that the power cut ended.
//! - An operation, counted from the start, can fail, once or from then on, with an error of choice, without effect.
//! - A `sync_data` that fails is the worst there is: what it should have made durable is lost at the next power cut, but
//!   is seen until then, and a later sync that succeeds does not bring it back. (Linux does this: it marks
//!   pages clean after a failed write-back.)
//! - A folder can be as small as a disk that is full: what would make its files longer fails with `ENOSPC`.
//! - Bytes can be damaged at rest, durably.
//!
//! What is kept at a power cut is drawn from a seed: the same seed, the same cut.

mod disk;
mod file;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use super::{DirEntry, Storage, StorageFile, StorageLock};
use disk::{NameChange, SimDisk};
use file::{SimFile, SimLock};
use skein_sync::locks::lock;

/// An error to fail with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimError {
    /// `EIO`
    Io,
    /// `ENOSPC`
    NoSpace,
    /// `EMFILE`; what works on open files goes on.
    TooManyFiles,
}

/// When something happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SimFault {
    CutPower { at: u64 },
    Fail { at: u64, error: SimError, lasting: bool },
}

/// What an operation works on.
#[derive(Clone, Copy)]
enum SimTarget {
    Names,
    OpenFile { boot: u64 },
}

/// The file system; clones are the same one. [`share`](Storage::share) gives a handle that a reboot ends; one made here outlives them.
#[derive(Debug, Clone, Default)]
pub struct SimStorage {
    disk: Arc<Mutex<SimDisk>>,
    /// The boot that this handle ends with; none for the test's own.
    boot: Option<u64>,
}

impl SimStorage {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// Operations so far, reads included.
    pub fn operations(&self) -> u64 {
        lock(&self.disk).operations
    }

    /// Cuts the power at the operation that is number `at`, counted from the start (the first is 1).
    pub fn cut_power_at(&self, at: u64) {
        lock(&self.disk).fault = Some(SimFault::CutPower { at });
    }

    /// Lets operation number `at` fail, and with `lasting` all after it.
    pub fn fail_at(&self, at: u64, error: SimError, lasting: bool) {
        lock(&self.disk).fault = Some(SimFault::Fail { at, error, lasting });
    }

    /// Takes faults back that have not happened yet.
    pub fn no_faults(&self) {
        lock(&self.disk).fault = None;
    }

    /// Lets the files below `dir`, together, have no more than so many bytes, whatever they have now; `None` takes that back.
    pub fn limit(&self, dir: &Path, bytes: Option<u64>) {
        lock(&self.disk).limit = bytes.map(|bytes| (dir.into(), bytes));
    }

    /// Whether the power is on.
    pub fn is_on(&self) -> bool {
        !lock(&self.disk).off
    }

    /// Cuts the power, if it is on, and turns it on again: `seed` decides what was kept. Faults are taken back, locks
    /// are gone, open files are dead.
    pub fn reboot(&self, seed: u64) {
        lock(&self.disk).reboot(seed);
    }

    /// Changes bytes of a file at rest, durably, by XOR with `with`.
    ///
    /// # Panics
    /// If there is no such file, or it is shorter.
    pub fn damage(&self, path: &Path, offset: u64, with: &[u8]) {
        lock(&self.disk).damage(path, offset, with);
    }

    /// The bytes of a file, as they are seen now.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn contents(&self, path: &Path) -> Vec<u8> {
        let disk = lock(&self.disk);
        disk.nodes[&disk.names[path]].seen.clone()
    }

    /// Begins an operation: counts it, and answers an error if it is to fail. The flag says whether the power went off
    /// with it: then it may have an effect, but its caller never hears of it.
    fn begin(&self, on: SimTarget) -> io::Result<(MutexGuard<'_, SimDisk>, bool)> {
        let mut disk = lock(&self.disk);
        disk.failed_sync = false;
        let is_dead = |boot| boot != disk.boot;
        let ended = match on {
            SimTarget::OpenFile { boot } => is_dead(boot),
            SimTarget::Names => self.boot.is_some_and(is_dead),
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
            Some(SimFault::Fail { at, error, lasting }) if number == at || (lasting && number > at) => {
                disk.failed_sync = true;
                Err(match error {
                    SimError::Io => io::Error::from_raw_os_error(5),
                    SimError::NoSpace => io::Error::from_raw_os_error(28),
                    SimError::TooManyFiles => io::Error::from_raw_os_error(24),
                })
            }
            _ => Ok((disk, false)),
        }
    }

    /// An operation on names.
    fn on_names<T>(&self, act: impl FnOnce(&mut SimDisk) -> io::Result<T>) -> io::Result<T> {
        let (mut disk, cut) = self.begin(SimTarget::Names)?;
        let result = act(&mut disk);
        // A lock that nobody will hear of is dropped, and asks for the disk.
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

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let (mut disk, cut) = self.begin(SimTarget::Names)?;
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
            for path in dir.ancestors() {
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

    /// Incident: a test turned the power off and on under a store that lived on. Its thread removed a segment by name, which its successor had
    /// found and was to remove. Consequence: recovery was refused now and then, for a file that was gone. Fix: a reboot ends the
    /// handles of before as it ends open files.
    #[test]
    fn a_reboot_ends_the_handles_of_before() {
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
