//! Rosters: in every log folder a list of the segments that it must hold.
//!
//! Recovery knows a lost record by what other records say of it. When whole segments go, or all of them, nobody is left to
//! say anything; so the list is kept apart from them, and the folder's absence shows by the list's.
//!
//! 1. A segment is on the roster before a record is written to it: the maker enters it when its header and name are durable.
//! 2. It is struck off before its file is removed.
//!
//! So a segment on a roster without a file was lost, and a file on no roster is what a crash left of a making or a
//! removal.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use skein_sync::locks::lock;

use crate::record::{u32_at, u64_at};
use crate::segment::{file_name, parse_name};
use crate::small_file::{self, SmallFileKind};
use crate::storage::{Storage, make_folder};
use crate::{LogError, Result};

const NAME: &str = "log.roster";
const KIND: SmallFileKind = SmallFileKind { magic: *b"SKEINROS", version: 1, oldest: 1 };

/// A log folder's roster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentManifest {
    /// The database whose logs the folder holds.
    pub database: [u8; 16],
    /// The folder's own id, which stays with it wherever it is moved.
    pub folder: [u8; 16],
    segments: BTreeSet<(u32, u64)>,
}

impl SegmentManifest {
    /// The roster of a log folder; `None` if it has none, or if there is no such folder.
    ///
    /// # Errors
    /// It cannot be read, is of another version, or is damaged.
    pub fn read(storage: &dyn Storage, folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(NAME);
        let Some(file) = small_file::read(storage, &path, KIND)? else { return Ok(None) };
        let body = file.body;
        if body.len() < 32 || body.len() % 16 != 0 {
            return Err(LogError::damaged(&path, 16, "its fields do not fit its length"));
        }
        let (mut database, mut id) = ([0; 16], [0; 16]);
        database.copy_from_slice(&body[..16]);
        id.copy_from_slice(&body[16..32]);
        let segments = body[32..].chunks_exact(16).map(|entry| (u32_at(entry, 0), u64_at(entry, 8)));
        Ok(Some(Self { database, folder: id, segments: segments.collect() }))
    }

    /// Makes a folder, if need be, and gives it an empty roster.
    ///
    /// # Errors
    /// The path is a file, or a file operation failed.
    pub fn create(storage: &dyn Storage, folder: &Path, database: [u8; 16]) -> Result<Self> {
        make_folder(storage, folder)?;
        let roster = Self { database, folder: crate::random_id(), segments: BTreeSet::new() };
        roster.write(storage, folder)?;
        Ok(roster)
    }

    /// The segments that the folder must hold: log and number.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.segments.iter().copied()
    }

    /// Whether a segment, by log and number, is on it.
    pub(crate) fn names(&self, segment: (u32, u64)) -> bool {
        self.segments.contains(&segment)
    }

    /// Whether the folder need not hold any segment.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    fn write(&self, storage: &dyn Storage, folder: &Path) -> Result<()> {
        let mut body = [self.database, self.folder].concat();
        for (log, number) in &self.segments {
            body.extend_from_slice(&u64::from(*log).to_le_bytes());
            body.extend_from_slice(&number.to_le_bytes());
        }
        small_file::replace(storage, &folder.join(NAME), KIND, &body)
    }
}

/// The rosters of the folders that are there, in their order; a folder that has none yet holds nothing of ours.
pub fn read_all(storage: &dyn Storage, folders: &[PathBuf]) -> Result<Vec<Option<SegmentManifest>>> {
    folders.iter().map(|folder| SegmentManifest::read(storage, folder)).collect()
}

/// A segment that is on a roster and not among those `found`, as an error.
pub fn check(
    folders: &[PathBuf],
    rosters: &[Option<SegmentManifest>],
    found: impl Fn(u32, u64) -> bool,
) -> Result<()> {
    for (folder, roster) in folders.iter().zip(rosters) {
        let mut listed = roster.iter().flat_map(SegmentManifest::segments);
        if let Some((log, number)) = listed.find(|(log, number)| !found(*log, *number)) {
            let what = "the segment is missing or empty, and its folder's roster says that it was durable; looked \
                        for in all log folders";
            return Err(LogError::damaged(&folder.join(file_name(log, number)), 0, what));
        }
    }
    Ok(())
}

/// The rosters of open logs.
#[derive(Debug)]
pub struct SegmentManifests {
    storage: Arc<dyn Storage>,
    folders: Mutex<Vec<(PathBuf, SegmentManifest)>>,
}

impl SegmentManifests {
    /// Takes over the rosters of `folders` and lets them name `kept`, and no others.
    pub fn reconcile(
        storage: Arc<dyn Storage>,
        folders: &[PathBuf],
        rosters: Vec<Option<SegmentManifest>>,
        database: [u8; 16],
        kept: &[PathBuf],
    ) -> Result<Self> {
        let mut settled = Vec::new();
        for (folder, roster) in folders.iter().zip(rosters) {
            let mut roster = match roster {
                Some(roster) => roster,
                None => SegmentManifest::create(&*storage, folder, database)?,
            };
            let within = kept.iter().filter(|path| path.parent() == Some(folder.as_path()));
            let segments = within.filter_map(|path| numbers_of(path)).collect();
            if roster.segments != segments {
                roster.segments = segments;
                roster.write(&*storage, folder)?;
            }
            settled.push((folder.clone(), roster));
        }
        Ok(Self { storage, folders: Mutex::new(settled) })
    }

    /// Enters a segment whose header and name are durable.
    pub fn add(&self, path: &Path) -> Result<()> {
        self.change(&[path], BTreeSet::insert)
    }

    /// Strikes off segments that are to be removed.
    pub fn remove(&self, paths: &[&Path]) -> Result<()> {
        self.change(paths, |segments, segment| segments.remove(&segment))
    }

    /// Changes rosters; a folder's stays as it was if it cannot be written.
    fn change(
        &self,
        paths: &[&Path],
        change: impl Fn(&mut BTreeSet<(u32, u64)>, (u32, u64)) -> bool,
    ) -> Result<()> {
        for (folder, roster) in lock(&self.folders).iter_mut() {
            let mut new = roster.clone();
            let mut changed = false;
            for path in paths.iter().filter(|path| path.parent() == Some(folder.as_path())) {
                changed |= numbers_of(path).is_some_and(|segment| change(&mut new.segments, segment));
            }
            if changed {
                new.write(&*self.storage, folder)?;
                *roster = new;
            }
        }
        Ok(())
    }
}

/// Log and number of a segment file.
fn numbers_of(path: &Path) -> Option<(u32, u64)> {
    parse_name(path.file_name()?.to_str()?)
}
