//! The disk of the simulation: the visible state, and the state that a power cut would leave.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::SimFault;
use crate::storage::DirEntry;

/// The unit that a disk writes as a whole.
const SECTOR: usize = 512;

/// The bytes of a file.
#[derive(Debug, Default)]
pub struct SimInode {
    pub seen: Vec<u8>,
    durable: Vec<u8>,
    /// Sectors that were written and not synced.
    dirty: BTreeSet<usize>,
}

/// A change of names that is not durable yet.
#[derive(Debug, Clone)]
pub enum NameChange {
    Create(PathBuf, u64),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
    RemoveDir(PathBuf),
}

/// The simulated disk.
#[derive(Debug, Default)]
pub struct SimDisk {
    pub operations: u64,
    pub fault: Option<SimFault>,
    pub off: bool,
    /// Increased by every reboot. Handles of an earlier boot are dead.
    pub boot: u64,
    /// A folder with a limit on the bytes of its files together.
    pub limit: Option<(PathBuf, u64)>,
    /// The beginnings of names that no new file may have.
    pub refused: Vec<String>,
    /// The time that each operation takes at least.
    pub delay: Duration,
    /// The operation that just failed may be a sync.
    pub failed_sync: bool,
    pub nodes: BTreeMap<u64, SimInode>,
    pub names: BTreeMap<PathBuf, u64>,
    pub dirs: BTreeSet<PathBuf>,
    pub durable_dirs: BTreeSet<PathBuf>,
    pub locks: BTreeSet<PathBuf>,
    durable_names: BTreeMap<PathBuf, u64>,
    /// In the order of the changes.
    pending: Vec<NameChange>,
}

impl SimInode {
    /// Writes `bytes` at `offset`, and extends the file if necessary.
    pub fn write(&mut self, bytes: &[u8], offset: usize) {
        let end = offset + bytes.len();
        if end > self.seen.len() {
            self.set_len(end);
        }
        self.seen[offset..end].copy_from_slice(bytes);
        self.dirty.extend(offset / SECTOR..end.div_ceil(SECTOR));
    }

    /// Truncates the file, or extends it with zeros.
    pub fn set_len(&mut self, len: usize) {
        let from = len.min(self.seen.len());
        self.seen.resize(len, 0);
        // These zeros are new; the disk may still have other bytes there.
        self.dirty.extend(from / SECTOR..len.div_ceil(SECTOR));
    }

    /// Makes the visible bytes durable.
    pub fn sync(&mut self) {
        self.durable.resize(self.seen.len(), 0);
        for sector in std::mem::take(&mut self.dirty) {
            self.keep(sector);
        }
    }

    /// Simulates a failed sync: no later sync writes these sectors.
    pub fn fail_sync(&mut self) {
        self.dirty.clear();
    }

    fn keep(&mut self, sector: usize) {
        let start = sector * SECTOR;
        let end = (start + SECTOR).min(self.seen.len()).min(self.durable.len());
        if start < end {
            self.durable[start..end].copy_from_slice(&self.seen[start..end]);
        }
    }

    fn cut(&mut self, draw: &mut SurvivalDraw) {
        if self.seen.len() != self.durable.len() && draw.keep() {
            self.durable.resize(self.seen.len(), 0);
        }
        for sector in std::mem::take(&mut self.dirty) {
            if draw.keep() {
                self.keep(sector);
            }
        }
        self.seen.clone_from(&self.durable);
    }
}

impl NameChange {
    fn is_in(&self, dir: &Path) -> bool {
        let within = |path: &Path| path.parent() == Some(dir);
        match self {
            Self::Create(path, _) | Self::Remove(path) | Self::RemoveDir(path) => within(path),
            Self::Rename(from, to) => within(from) || within(to),
        }
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, u64>, dirs: &mut BTreeSet<PathBuf>) {
        match self {
            Self::Create(path, node) => {
                names.insert(path.clone(), *node);
            }
            Self::Remove(path) => {
                names.remove(path);
            }
            Self::RemoveDir(path) => {
                dirs.remove(path);
                names.retain(|name, _| !name.starts_with(path));
            }
            Self::Rename(from, to) => {
                let moved = |path: &Path| match path.strip_prefix(from) {
                    Ok(rest) if rest.as_os_str().is_empty() => to.clone(),
                    Ok(rest) => to.join(rest),
                    Err(_) => path.to_owned(),
                };
                let old = std::mem::take(names);
                let (mine, others): (Vec<_>, Vec<_>) =
                    old.into_iter().partition(|(path, _)| path.starts_with(from));
                names.extend(others);
                names.extend(mine.into_iter().map(|(path, node)| (moved(&path), node)));
                *dirs = std::mem::take(dirs).iter().map(|dir| moved(dir)).collect();
            }
        }
    }
}

impl SimDisk {
    /// Returns whether the limit allows a file of this length.
    pub fn has_room(&self, node: u64, len: usize) -> bool {
        let Some((dir, limit)) = &self.limit else { return true };
        let within = || self.names.iter().filter(|(path, _)| path.starts_with(dir)).map(|(_, node)| *node);
        // A file with several names takes its room once.
        let others: BTreeSet<u64> = within().filter(|other| *other != node).collect();
        let taken: usize =
            others.iter().filter_map(|other| self.nodes.get(other)).map(|other| other.seen.len()).sum();
        let is_longer = self.nodes.get(&node).is_some_and(|node| len > node.seen.len());
        !(is_longer && within().any(|other| other == node) && (taken + len) as u64 > *limit)
    }

    /// Returns an error if no file can have this name.
    pub fn check_name(&self, path: &Path) -> io::Result<()> {
        if self.names.contains_key(path) || self.dirs.contains(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if path.parent().is_some_and(|parent| !self.dirs.contains(parent)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(())
    }

    /// Creates a file.
    pub fn create(&mut self, path: &Path) -> io::Result<u64> {
        self.check_name(path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if self.refused.iter().any(|prefix| name.starts_with(prefix)) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let node = self.nodes.len() as u64;
        self.nodes.insert(node, SimInode::default());
        self.change(NameChange::Create(path.into(), node));
        Ok(node)
    }

    /// Changes a name: visible now, durable later.
    pub fn change(&mut self, change: NameChange) {
        change.apply(&mut self.names, &mut self.dirs);
        self.pending.push(change);
    }

    pub fn remove_dir(&mut self, path: &Path) -> io::Result<()> {
        if !self.dirs.contains(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if !self.list(path)?.is_empty() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        self.change(NameChange::RemoveDir(path.into()));
        Ok(())
    }

    pub fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        if !self.dirs.contains(dir) {
            let file = self.names.contains_key(dir);
            return Err(if file { io::ErrorKind::NotADirectory } else { io::ErrorKind::NotFound }.into());
        }
        let files = self.names.keys().map(|path| (path, false));
        let dirs = self.dirs.iter().map(|path| (path, true));
        let within = files.chain(dirs).filter(|(path, _)| path.parent() == Some(dir));
        let entry = |(path, is_dir): (&PathBuf, bool)| {
            let name = path.file_name()?.to_str()?.to_owned();
            Some(DirEntry { name, is_dir })
        };
        Ok(within.filter_map(entry).collect())
    }

    /// Makes the changes of names in a folder durable.
    pub fn sync_dir(&mut self, dir: &Path) {
        let (durable, pending) =
            std::mem::take(&mut self.pending).into_iter().partition(|change| change.is_in(dir));
        self.pending = pending;
        let durable: Vec<NameChange> = durable;
        for change in durable {
            change.apply(&mut self.durable_names, &mut self.durable_dirs);
        }
    }

    /// Simulates a power cut and a restart.
    pub fn reboot(&mut self, seed: u64) {
        let mut draw = SurvivalDraw::new(seed);
        for change in std::mem::take(&mut self.pending) {
            if draw.keep() {
                change.apply(&mut self.durable_names, &mut self.durable_dirs);
            }
        }
        for node in self.nodes.values_mut() {
            node.cut(&mut draw);
        }
        self.names.clone_from(&self.durable_names);
        self.dirs.clone_from(&self.durable_dirs);
        self.end_process();
    }

    /// Ends the process that uses the disk. Its changes stay as they are, durable or not.
    pub fn end_process(&mut self) {
        self.locks.clear();
        self.fault = None;
        self.off = false;
        self.boot += 1;
    }

    /// Changes bytes at rest.
    pub fn damage(&mut self, path: &Path, offset: u64, with: &[u8]) {
        let Some(node) = self.names.get(path).and_then(|node| self.nodes.get_mut(node)) else {
            panic!("there is no {}", path.display());
        };
        for (place, byte) in with.iter().enumerate() {
            node.seen[offset as usize + place] ^= byte;
            node.durable[offset as usize + place] ^= byte;
        }
    }
}

/// Draws the writes that a power cut keeps: one seed in four keeps no write, one keeps all, the
/// others mix.
struct SurvivalDraw {
    mode: u64,
    state: u64,
}

impl SurvivalDraw {
    fn new(seed: u64) -> Self {
        Self { mode: seed % 4, state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 }
    }

    fn keep(&mut self) -> bool {
        // A multiply-and-shift generator like `splitmix64`.
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        match self.mode {
            0 => false,
            1 => true,
            _ => (word ^ (word >> 31)) & 1 == 1,
        }
    }
}
