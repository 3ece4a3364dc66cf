//! The file `identity`: the id of the store, its log folders and its newest checkpoint.
//! `docs/format.md`, "Identity", draws the bytes.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use skein_log::small_file::{self, SmallFileKind};
use skein_log::storage::{OsStorage, Storage, has_file};
use skein_model::encoding::ByteReader;

use crate::checkpoint;
use crate::{Error, Result};

const NAME: &str = "identity";
/// The folder of the logs, unless others are named.
pub(crate) const LOG: &str = "log";
/// This file is read before all others, so its version is the version of the whole data folder.
const KIND: SmallFileKind = SmallFileKind { magic: *b"SKEINDB\n", version: 10 };

/// New segments are made in the folder.
const ACTIVE: u32 = 1;

/// Returns whether a folder belongs to a store: whether it has an identity file.
pub fn is_data_folder(folder: impl AsRef<Path>) -> bool {
    is_data_folder_on(&OsStorage, folder)
}

/// Does the same on a given storage.
pub fn is_data_folder_on(storage: &dyn Storage, folder: impl AsRef<Path>) -> bool {
    has_file(storage, folder.as_ref(), NAME).unwrap_or(true)
}

/// Checks that a folder without a store has no data of one either. A store writes its identity file
/// first of all, and a backup writes it last. So beside data the file was lost, or the backup was
/// never finished.
///
/// # Errors
/// `Damaged` if the folder has a checkpoint or a log, and no identity file. The folder cannot be
/// read.
pub fn check_no_identity_lost(storage: &dyn Storage, folder: &Path) -> Result<()> {
    if is_data_folder_on(storage, folder) {
        return Ok(());
    }
    let list = |path: &Path| match storage.list(path) {
        Ok(entries) => Ok(entries),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(Error::io("list", path, &error)),
    };
    let checkpoint = list(folder)?.into_iter().find(|entry| checkpoint::begin_of(&entry.name).is_some());
    let log = list(&folder.join(LOG))?.into_iter().find(|entry| skein_log::is_log_file(&entry.name));
    let found = checkpoint.map(|entry| entry.name).or(log.map(|entry| format!("{LOG}/{}", entry.name)));
    let Some(found) = found else { return Ok(()) };
    let what = format!(
        "the file is missing, but {found} is there (the file data.skein, if this was the disk engine); a backup \
         that was not finished has neither"
    );
    Err(Error::damaged(&folder.join(NAME), 0, what))
}

/// Returns the absolute path, so that a change of the current folder does not matter.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| Error::io("resolve", path, &error))
}

/// The id of a store: 16 random bytes, chosen when its folder is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreId(pub(crate) [u8; 16]);

impl std::fmt::Display for StoreId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A log folder of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogFolder {
    /// The id of the folder, as in its segment manifest.
    pub(crate) id: [u8; 16],
    /// Whether new segments are made there.
    pub(crate) active: bool,
    /// An absolute path.
    pub(crate) path: PathBuf,
}

/// The contents of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) id: StoreId,
    /// The begin epoch of the newest checkpoint that is known to count; 0 if there is no such
    /// checkpoint.
    pub(crate) checkpoint: u64,
    pub(crate) log_folders: Vec<LogFolder>,
}

impl Identity {
    /// Returns the identity of an empty store.
    pub(crate) fn fresh(id: StoreId) -> Self {
        Self { id, checkpoint: 0, log_folders: Vec::new() }
    }

    /// Returns the identity of a store with one log folder.
    pub(crate) fn with_log_folder(id: StoreId, checkpoint: u64, folder: LogFolder) -> Self {
        Self { checkpoint, log_folders: vec![folder], ..Self::fresh(id) }
    }

    /// Reads the file in the data folder `folder`, an absolute path. Returns `None` if there is no
    /// such file.
    pub(crate) fn read(storage: &dyn Storage, folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(NAME);
        let Some(body) = small_file::read(storage, &path, KIND)? else { return Ok(None) };
        Self::parse(&body, folder)
            .map(Some)
            .ok_or_else(|| Error::damaged(&path, 16, "its fields do not fit its length"))
    }

    fn parse(body: &[u8], folder: &Path) -> Option<Self> {
        let mut reader = ByteReader(body);
        let mut identity = Self::fresh(StoreId(reader.bytes(16)?.try_into().ok()?));
        identity.checkpoint = reader.u64()?;
        while !reader.0.is_empty() {
            let id = reader.bytes(16)?.try_into().ok()?;
            let active = reader.u32()? & ACTIVE != 0;
            let len = reader.u32()? as usize;
            let path = folder.join(OsStr::from_bytes(reader.bytes(len)?));
            identity.log_folders.push(LogFolder { id, active, path });
        }
        Some(identity)
    }

    pub(crate) fn write(&self, storage: &dyn Storage, folder: &Path) -> Result<()> {
        let mut body = self.id.0.to_vec();
        body.extend_from_slice(&self.checkpoint.to_le_bytes());
        for log in &self.log_folders {
            let path = log.path.strip_prefix(folder).unwrap_or(&log.path).as_os_str().as_bytes();
            body.extend_from_slice(&log.id);
            body.extend_from_slice(&(if log.active { ACTIVE } else { 0 }).to_le_bytes());
            body.extend_from_slice(&(path.len() as u32).to_le_bytes());
            body.extend_from_slice(path);
        }
        Ok(small_file::replace(storage, &folder.join(NAME), KIND, &body)?)
    }
}
