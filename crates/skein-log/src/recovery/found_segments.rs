//! Finds the segment files and reads their headers.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::LogFolders;
use crate::segment::{self, BadHeader, FORMAT_VERSION, SEGMENT_HEADER, SegmentHeader};
use crate::segment_manifest::SegmentManifest;
use crate::storage::{Storage, StorageFile};
use crate::{LogError, Result};

/// A segment file with a valid header. The file is open only while it is read, so a log may have
/// more segments than a process may open files.
#[derive(Debug)]
pub struct FoundSegment {
    pub path: PathBuf,
    pub header: SegmentHeader,
    pub len: u64,
    /// Whether the folder's manifest contains it. True if there is no manifest.
    pub listed: bool,
    storage: Arc<dyn Storage>,
}

impl FoundSegment {
    /// Opens the file.
    pub fn open(&self, writable: bool) -> Result<Box<dyn StorageFile>> {
        let opened = self.storage.open(&self.path, writable);
        opened.map_err(|error| LogError::io("open the log segment", &self.path, &error))
    }
}

/// The contents of the log folders.
#[derive(Debug, Default)]
pub struct FoundSegments {
    /// Segments by log, in the order of their numbers.
    pub found: BTreeMap<u32, Vec<Arc<FoundSegment>>>,
    /// Files that a crash left half created or half removed. Nothing in them is needed.
    pub leftovers: Vec<PathBuf>,
}

impl FoundSegments {
    /// Returns whether a segment with a valid header was found.
    pub fn holds(&self, log: u32, number: u64) -> bool {
        let of_log = self.found.get(&log).into_iter().flatten();
        of_log.into_iter().any(|segment| segment.header.number == number)
    }

    /// Returns the number of segments.
    pub fn count(&self) -> usize {
        self.found.values().map(Vec::len).sum()
    }

    /// Returns all segments.
    pub fn all(&self) -> Vec<Arc<FoundSegment>> {
        self.found.values().flatten().cloned().collect()
    }
}

/// Lists the folders and reads the headers of all segments.
pub fn find(storage: &dyn Storage, folders: LogFolders<'_>) -> Result<FoundSegments> {
    let mut segments = FoundSegments::default();
    let storage = storage.share();
    for (folder, manifest) in folders.paths.iter().zip(folders.manifests) {
        let entries = storage.list(folder).map_err(|error| LogError::io("list", folder, &error))?;
        for entry in entries {
            // A folder of this name is damage, which `add` says.
            if let Some(name) = segment::parse_name(&entry.name) {
                add(&storage, &folder.join(&entry.name), name, manifest.as_ref(), &mut segments)?;
            }
        }
    }
    for log in segments.found.values_mut() {
        log.sort_by_key(|segment| segment.header.number);
        segments.leftovers.extend(take_unlisted_duplicates(log));
    }
    check_alike(&segments)?;
    Ok(segments)
}

fn add(
    storage: &Arc<dyn Storage>,
    path: &Path,
    name: (u32, u64),
    manifest: Option<&SegmentManifest>,
    segments: &mut FoundSegments,
) -> Result<()> {
    let read_error = |error: io::Error| LogError::io("read the log segment", path, &error);
    let damaged = |offset, what: &str| LogError::Damaged { path: path.into(), offset, what: what.into() };
    let file = storage.open(path, false).map_err(read_error)?;
    let len = file.len().map_err(read_error)?;
    let mut head = [0; SEGMENT_HEADER];
    // Missing bytes of a short file count as zeros: a crash interrupted its creation, or it is
    // damaged.
    file.read_at(&mut head, 0).map_err(read_error)?;
    match SegmentHeader::parse(&head) {
        Ok(header) if (header.log, header.number) != name => {
            Err(damaged(0, "the segment's name does not match its header"))
        }
        Ok(header) if manifest.is_some_and(|manifest| manifest.database != header.database) => {
            let what = "it belongs to another database than its folder's segment manifest: files of two data \
                        folders are mixed";
            Err(damaged(24, what))
        }
        Ok(header) => {
            let listed = manifest.is_none_or(|manifest| manifest.names(name));
            let segment = FoundSegment { path: path.into(), header, len, listed, storage: storage.clone() };
            segments.found.entry(name.0).or_default().push(Arc::new(segment));
            Ok(())
        }
        Err(BadHeader::Blank) => match first_content(&*file, len).map_err(read_error)? {
            None => {
                segments.leftovers.push(path.into());
                Ok(())
            }
            Some(_) => Err(damaged(0, "the segment's header is empty, but data follow it")),
        },
        Err(BadHeader::Version(found)) => {
            Err(LogError::UnknownFormat { path: path.into(), found, known: FORMAT_VERSION })
        }
        Err(BadHeader::Damaged(what)) => Err(damaged(0, what)),
    }
}

/// Returns the position of the first byte that is not zero.
fn first_content(file: &dyn StorageFile, len: u64) -> io::Result<Option<u64>> {
    let mut piece = vec![0; 256 << 10];
    let mut at = 0;
    while at < len {
        let read = file.read_at(&mut piece, at)?;
        if read == 0 {
            break;
        }
        if let Some(place) = piece[..read].iter().position(|byte| *byte != 0) {
            return Ok(Some(at + place as u64));
        }
        at += read as u64;
    }
    Ok(None)
}

/// Takes out unlisted duplicates: segments with the number of a segment in another folder, which
/// only the other folder's manifest contains. Such a segment was removed, its number was used
/// again, and a power cut restored the file.
fn take_unlisted_duplicates(log: &mut Vec<Arc<FoundSegment>>) -> Vec<PathBuf> {
    let pairs = log.windows(2).filter(|pair| pair[0].header.number == pair[1].header.number);
    let doubled: Vec<u64> = pairs.map(|pair| pair[0].header.number).collect();
    let double =
        |segment: &mut Arc<FoundSegment>| !segment.listed && doubled.contains(&segment.header.number);
    log.extract_if(.., double).map(|segment| segment.path.clone()).collect()
}

/// Checks that all segments belong to one database and that each exists once.
fn check_alike(segments: &FoundSegments) -> Result<()> {
    let mut all = segments.found.values().flatten();
    let Some(first) = all.next() else { return Ok(()) };
    for segment in all {
        if segment.header.database != first.header.database {
            let what = format!(
                "it belongs to another database than {}: files of two data folders are mixed",
                first.path.display()
            );
            return Err(LogError::Damaged { path: segment.path.clone(), offset: 24, what });
        }
    }
    for log in segments.found.values() {
        for pair in log.windows(2) {
            if pair[0].header.number == pair[1].header.number {
                let what = format!("the same segment also exists at {}", pair[0].path.display());
                return Err(LogError::Damaged { path: pair[1].path.clone(), offset: 0, what });
            }
        }
    }
    Ok(())
}
