//! Open files and locks of the simulation.

use std::io;
use std::path::PathBuf;

use skein_sync::locks::lock;

use super::disk::SimInode;
use super::{SimStorage, SimTarget, power_is_off};
use crate::storage::{StorageFile, StorageLock};

/// An open file.
#[derive(Debug)]
pub struct SimFile {
    pub storage: SimStorage,
    pub node: u64,
    pub boot: u64,
    pub writable: bool,
}

/// A held lock.
#[derive(Debug)]
pub struct SimLock {
    pub storage: SimStorage,
    pub path: PathBuf,
    pub boot: u64,
}

impl StorageLock for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut disk = lock(&self.storage.disk);
        if disk.boot == self.boot {
            disk.locks.remove(&self.path);
        }
    }
}

impl SimFile {
    fn on_node<T>(&self, act: impl FnOnce(&mut SimInode) -> T) -> io::Result<T> {
        let (mut disk, cut) = self.storage.begin(SimTarget::OpenFile { boot: self.boot, sync: false })?;
        let node = disk.nodes.get_mut(&self.node).ok_or(io::ErrorKind::NotFound)?;
        let result = act(node);
        if cut { Err(power_is_off()) } else { Ok(result) }
    }

    /// Returns an error if the file is read-only or may not become `len` bytes long.
    fn check_writable(&self, len: usize) -> io::Result<()> {
        if !self.writable {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let has_room = lock(&self.storage.disk).has_room(self.node, len);
        if has_room { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }
}

impl StorageFile for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.on_node(|node| {
            let rest = node.seen.get(offset as usize..).unwrap_or_default();
            let len = rest.len().min(buf.len());
            buf[..len].copy_from_slice(&rest[..len]);
            len
        })
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.check_writable(offset as usize + buf.len())?;
        self.on_node(|node| node.write(buf, offset as usize))
    }

    fn len(&self) -> io::Result<u64> {
        self.on_node(|node| node.seen.len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_writable(len as usize)?;
        self.on_node(|node| node.set_len(len as usize))
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.check_writable(len as usize)?;
        self.on_node(|node| {
            if node.seen.len() < len as usize {
                node.set_len(len as usize);
            }
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        match self.storage.begin(SimTarget::OpenFile { boot: self.boot, sync: true }) {
            // The power was cut during the sync: its sectors may be on disk or not, as before the
            // sync.
            Ok((_, true)) => Err(power_is_off()),
            Ok((mut disk, false)) => {
                disk.nodes.entry(self.node).or_default().sync();
                Ok(())
            }
            Err(error) => {
                let mut disk = lock(&self.storage.disk);
                // A dead handle or a disk without power has no effect on the disk; an injected
                // failure has.
                if std::mem::take(&mut disk.failed_sync) && disk.boot == self.boot {
                    disk.nodes.entry(self.node).or_default().fail_sync();
                }
                Err(error)
            }
        }
    }
}
