//! The manifest: the list of a checkpoint's parts. Its presence shows that the checkpoint is
//! complete.

use std::path::{Path, PathBuf};

use skein_log::CheckpointEpochs;
use skein_log::small_file::{self, SmallFileKind};
use skein_log::storage::Storage;
use skein_model::encoding::ByteReader;

use crate::identity::StoreId;
use crate::{Error, Result};

pub(crate) const NAME: &str = "manifest";

const KIND: SmallFileKind = SmallFileKind { magic: *b"SKEINMAN", version: 1 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartInfo {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

impl PartInfo {
    pub(crate) const NONE: Self = Self { rows: 0, bytes: 0 };
}

/// A complete checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckpointManifest {
    pub(crate) id: StoreId,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// The version floor: no removal up to `begin` took a greater version.
    pub(crate) floor: u64,
    pub(crate) unix_s: u64,
    pub(crate) parts: Vec<PartInfo>,
}

impl CheckpointManifest {
    pub(crate) fn epochs(&self) -> CheckpointEpochs {
        CheckpointEpochs { begin: self.begin, end: self.end }
    }

    pub(crate) fn rows(&self) -> u64 {
        self.parts.iter().map(|part| part.rows).sum()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Writes the manifest into the checkpoint's folder. From then on the checkpoint counts.
    pub(super) fn write(&self, storage: &dyn Storage, folder: &Path) -> Result<()> {
        let mut body = self.id.0.to_vec();
        for word in [self.begin, self.end, self.floor, self.unix_s] {
            body.extend_from_slice(&word.to_le_bytes());
        }
        for part in &self.parts {
            body.extend_from_slice(&part.rows.to_le_bytes());
            body.extend_from_slice(&part.bytes.to_le_bytes());
        }
        Ok(small_file::replace(storage, &folder.join(NAME), KIND, &body)?)
    }

    /// Reads the manifest in a checkpoint's folder. Returns `None` if there is no manifest, so that
    /// the checkpoint does not count.
    pub(crate) fn read(storage: &dyn Storage, folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(NAME);
        let Some(body) = small_file::read(storage, &path, KIND)? else { return Ok(None) };
        let mut reader = ByteReader(&body);
        let mut parse = || {
            let id = StoreId(reader.bytes(16)?.try_into().ok()?);
            let [begin, end, floor, unix_s] = [reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?];
            let mut parts = Vec::new();
            while !reader.0.is_empty() {
                parts.push(PartInfo { rows: reader.u64()?, bytes: reader.u64()? });
            }
            Some(Self { id, begin, end, floor, unix_s, parts })
        };
        parse().map(Some).ok_or_else(|| Error::damaged(&path, 16, "its fields do not fit its length"))
    }

    /// Returns the newest checkpoint that counts, with its folder. If `least` is not 0, errors
    /// unless there is one of store `id` that began at `least` or later.
    pub(crate) fn newest(
        storage: &dyn Storage,
        path: &Path,
        id: StoreId,
        least: u64,
    ) -> Result<Option<(Self, PathBuf)>> {
        for (begin, folder) in super::folders(storage, path)? {
            if let Some(manifest) = Self::read(storage, &folder)? {
                if manifest.id != id || manifest.begin != begin {
                    let what = "it belongs to another store or checkpoint";
                    return Err(Error::damaged(&folder.join(NAME), 16, what));
                }
                if manifest.begin < least {
                    break;
                }
                return Ok(Some((manifest, folder)));
            }
        }
        if least == 0 {
            return Ok(None);
        }
        let what = "this checkpoint, or a newer one, is missing";
        Err(Error::damaged(&path.join(super::folder_name(least)).join(NAME), 0, what))
    }
}
