//! Segment manifests: each log folder has a list of the segments that it must hold.
//!
//! Recovery notices a lost record because other records refer to it. If whole segments or all of
//! them disappear, no record refers to them. So the list is a separate file: it shows which
//! segments are missing, and a folder without a list is not the log folder.
//!
//! 1. A segment is added to the manifest before a record is written to it. The segment allocator
//!    adds it when its header and name are durable.
//! 2. A segment is removed from the manifest before its file is removed.
//!
//! So a segment in the manifest without a file was lost. A file that is not in the manifest was
//! left when a crash interrupted its creation or removal.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use skein_sync::locks::lock;

use crate::record::{u32_at, u64_at};
use crate::segment::{file_name, numbers_of, parse_name};
use crate::small_file::{self, SmallFileKind};
use crate::storage::{Storage, make_folder};
use crate::{LogError, Result};

const KIND: SmallFileKind = SmallFileKind { magic: *b"SKEINROS", version: 1 };

/// Returns whether a file of this name belongs to a log folder: a segment, or the manifest. The
/// lock does not count, because it holds no data.
pub fn is_log_file(name: &str) -> bool {
    name == SegmentManifest::NAME || parse_name(name).is_some()
}

/// The manifest of one log folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentManifest {
    /// The database to which the logs of the folder belong.
    pub database: [u8; 16],
    /// The folder's own id. It does not change when the folder is moved.
    pub folder: [u8; 16],
    segments: BTreeSet<(u32, u64)>,
}

impl SegmentManifest {
    /// The name of the file in its folder.
    pub const NAME: &str = "log.roster";

    /// Reads the manifest of a log folder. Returns `None` if the file or the folder does not exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, has an unknown version, or is damaged.
    pub fn read(storage: &dyn Storage, folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(Self::NAME);
        let Some(body) = small_file::read(storage, &path, KIND)? else { return Ok(None) };
        if body.len() < 32 || body.len() % 16 != 0 {
            return Err(LogError::damaged(&path, 16, "its fields do not fit its length"));
        }
        let (mut database, mut id) = ([0; 16], [0; 16]);
        database.copy_from_slice(&body[..16]);
        id.copy_from_slice(&body[16..32]);
        let segments = body[32..].chunks_exact(16).map(|entry| (u32_at(entry, 0), u64_at(entry, 8)));
        Ok(Some(Self { database, folder: id, segments: segments.collect() }))
    }

    /// Creates a folder if it is missing, and writes an empty manifest into it.
    ///
    /// # Errors
    /// Returns an error if the path is a file or a file operation fails.
    pub fn create(storage: &dyn Storage, folder: &Path, database: [u8; 16]) -> Result<Self> {
        make_folder(storage, folder)?;
        Self::create_with(storage, folder, database, BTreeSet::new())
    }

    /// Writes a manifest with these segments, as log and segment numbers, into a folder without
    /// one.
    pub(crate) fn create_with(
        storage: &dyn Storage,
        folder: &Path,
        database: [u8; 16],
        segments: BTreeSet<(u32, u64)>,
    ) -> Result<Self> {
        let manifest = Self { database, folder: crate::random_id(), segments };
        manifest.write(storage, folder)?;
        Ok(manifest)
    }

    /// Returns the segments that the folder must hold, as log and segment numbers.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.segments.iter().copied()
    }

    /// Returns whether the manifest contains a segment, given by log and segment number.
    pub(crate) fn names(&self, segment: (u32, u64)) -> bool {
        self.segments.contains(&segment)
    }

    /// Returns whether the folder need not hold any segment.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    fn write(&self, storage: &dyn Storage, folder: &Path) -> Result<()> {
        let mut body = [self.database, self.folder].concat();
        for (log, number) in &self.segments {
            body.extend_from_slice(&u64::from(*log).to_le_bytes());
            body.extend_from_slice(&number.to_le_bytes());
        }
        small_file::replace(storage, &folder.join(Self::NAME), KIND, &body)
    }
}

/// Reads the manifests of `folders`, in their order. A folder without a manifest holds no segments
/// of ours.
pub fn read_all(storage: &dyn Storage, folders: &[PathBuf]) -> Result<Vec<Option<SegmentManifest>>> {
    folders.iter().map(|folder| SegmentManifest::read(storage, folder)).collect()
}

/// Returns an error if a manifest contains a segment that is not among those `found`.
pub fn check(
    folders: &[PathBuf],
    manifests: &[Option<SegmentManifest>],
    found: impl Fn(u32, u64) -> bool,
) -> Result<()> {
    for (folder, manifest) in folders.iter().zip(manifests) {
        let mut listed = manifest.iter().flat_map(SegmentManifest::segments);
        if let Some((log, number)) = listed.find(|(log, number)| !found(*log, *number)) {
            let what = "the segment is missing or empty, but its folder's segment manifest contains it; searched \
                        all log folders";
            return Err(LogError::damaged(&folder.join(file_name(log, number)), 0, what));
        }
    }
    Ok(())
}

/// The manifests of all folders of an open log.
#[derive(Debug)]
pub struct SegmentManifests {
    storage: Arc<dyn Storage>,
    folders: Mutex<Vec<(PathBuf, SegmentManifest)>>,
}

impl SegmentManifests {
    /// Takes over the manifests of `folders` and changes them to contain exactly the segments
    /// `kept`.
    pub fn reconcile(
        storage: Arc<dyn Storage>,
        folders: &[PathBuf],
        manifests: Vec<Option<SegmentManifest>>,
        database: [u8; 16],
        kept: &[PathBuf],
    ) -> Result<Self> {
        let mut settled = Vec::new();
        for (folder, manifest) in folders.iter().zip(manifests) {
            let mut manifest = match manifest {
                Some(manifest) => manifest,
                None => SegmentManifest::create(&*storage, folder, database)?,
            };
            let within = kept.iter().filter(|path| path.parent() == Some(folder.as_path()));
            let segments = within.filter_map(|path| numbers_of(path)).collect();
            if manifest.segments != segments {
                manifest.segments = segments;
                manifest.write(&*storage, folder)?;
            }
            settled.push((folder.clone(), manifest));
        }
        Ok(Self { storage, folders: Mutex::new(settled) })
    }

    /// Adds a segment. Its header and its name must be durable.
    pub fn add(&self, path: &Path) -> Result<()> {
        self.change(&[path], BTreeSet::insert)
    }

    /// Removes segments from their manifests, before their files are removed.
    pub fn remove(&self, paths: &[&Path]) -> Result<()> {
        self.change(paths, |segments, segment| segments.remove(&segment))
    }

    /// Changes manifests. If a manifest cannot be written, it stays as it was.
    fn change(
        &self,
        paths: &[&Path],
        change: impl Fn(&mut BTreeSet<(u32, u64)>, (u32, u64)) -> bool,
    ) -> Result<()> {
        for (folder, manifest) in lock(&self.folders).iter_mut() {
            let mut new = manifest.clone();
            let mut changed = false;
            for path in paths.iter().filter(|path| path.parent() == Some(folder.as_path())) {
                changed |= numbers_of(path).is_some_and(|segment| change(&mut new.segments, segment));
            }
            if changed {
                new.write(&*self.storage, folder)?;
                *manifest = new;
            }
        }
        Ok(())
    }
}
