//! The data folder: who may use it, and which logs belong to it.
//!
//! ```text
//!   DIR/lock             held (flock) by the one process that uses the folder
//!   DIR/identity         format version, the store's id, its log folders
//!   DIR/checkpoint-…/    see `checkpoint`
//!   DIR/log/             the logs, unless other folders are named
//!   DIR/log/store-id     in every log folder: whose logs these are
//! ```
//!
//! `docs/format.md`, "The data folder", draws the bytes.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skein_log::storage::{Storage, StorageLock};

use crate::record::Reader;
use crate::{Error, Result};

const IDENTITY_MAGIC: [u8; 8] = *b"SKEINDB\n";
const LOG_ID_MAGIC: [u8; 8] = *b"SKEINOWN";

/// The format version of the data folder and of everything that the store writes into it.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// Identities are small; longer ones are damage.
const IDENTITY_BYTES_MAX: u64 = 1 << 20;

/// A store's id: 16 random bytes, made when its folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreId(pub(crate) [u8; 16]);

impl std::fmt::Display for StoreId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl StoreId {
    fn random() -> Self {
        // `RandomState` is seeded by the system; the time and the process tell apart what it might repeat.
        let word = |salt: u8| {
            let mut hasher = RandomState::new().build_hasher();
            hasher.write_u8(salt);
            hasher.write_u32(std::process::id());
            if let Ok(time) = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
                hasher.write_u128(time.as_nanos());
            }
            hasher.finish()
        };
        let mut id = [0; 16];
        id[..8].copy_from_slice(&word(0).to_le_bytes());
        id[8..].copy_from_slice(&word(1).to_le_bytes());
        Self(id)
    }
}

/// A data folder, locked.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    pub(crate) id: StoreId,
    pub(crate) log_folders: Vec<PathBuf>,
    pub(crate) storage: Arc<dyn Storage>,
}

impl Folder {
    /// Locks the folder, creating it if need be, and makes sure that its log folders are its own.
    pub(crate) fn open(
        path: &Path,
        log_folders: &[PathBuf],
        storage: Arc<dyn Storage>,
    ) -> Result<(Self, Box<dyn StorageLock>)> {
        storage.create_dir_all(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                Error::NotAFolder { path: path.to_owned() }
            }
            _ => Error::io("create", path, &error),
        })?;
        let lock_file = path.join("lock");
        let lock = storage.lock(&lock_file).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => Error::Locked { path: path.to_owned() },
            _ => Error::io("lock", &lock_file, &error),
        })?;
        let log_folders = match log_folders {
            [] => vec![path.join("log")],
            folders => folders.to_vec(),
        };
        let mut folder = Self { path: path.to_owned(), id: StoreId([0; 16]), log_folders, storage };
        folder.identify()?;
        Ok((folder, lock))
    }

    /// Reads the identity, or writes one into a fresh folder, and claims the log folders.
    fn identify(&mut self) -> Result<()> {
        let mut known = Vec::new();
        if let Some(identity) = read_identity(&*self.storage, &self.path)? {
            self.id = identity.id;
            self.refuse_left_out(&identity.log_folders)?;
            known = identity.log_folders;
        } else {
            self.id = StoreId::random();
        }
        // The identity first: a crash in between leaves folders to claim, not folders that seem foreign.
        if known != self.names() {
            self.write_identity()?;
        }
        self.log_folders.iter().try_for_each(|folder| self.claim(folder))
    }

    /// The log folders as the identity names them: within the data folder by name, others in full.
    fn names(&self) -> Vec<PathBuf> {
        let name = |folder: &PathBuf| folder.strip_prefix(&self.path).unwrap_or(folder).to_owned();
        self.log_folders.iter().map(name).collect()
    }

    /// A log folder of the last run that is not named any more may hold what only it holds.
    fn refuse_left_out(&self, known: &[PathBuf]) -> Result<()> {
        for name in known {
            let folder = self.path.join(name);
            let holds_logs = match self.storage.list(&folder) {
                Ok(entries) => entries.iter().any(|entry| holds_log(&entry.name)),
                Err(error) => error.kind() != io::ErrorKind::NotFound,
            };
            if holds_logs && !self.log_folders.contains(&folder) {
                let why = format!(
                    "the folder {} was used before and may still hold logs; name it too (after a checkpoint its \
                     segments are gone, and it may be left out)",
                    folder.display()
                );
                return Err(Error::BadOption { name: "log_folders", why });
            }
        }
        Ok(())
    }

    /// Marks a log folder as this store's; refuses it if it is another's.
    fn claim(&self, folder: &Path) -> Result<()> {
        self.storage.create_dir_all(folder).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                Error::NotAFolder { path: folder.to_owned() }
            }
            _ => Error::io("create", folder, &error),
        })?;
        let path = folder.join("store-id");
        if let Some(bytes) = read_file(&*self.storage, &path, IDENTITY_BYTES_MAX)? {
            let found = checked(&path, &bytes, LOG_ID_MAGIC)?
                .bytes(16)
                .and_then(|id| id.try_into().ok())
                .map(StoreId);
            let found = found.ok_or_else(|| Error::damaged(&path, 0, "it is too short"))?;
            if found != self.id {
                let (found, id) = (found.to_string(), self.id.to_string());
                return Err(Error::Foreign { path: folder.to_owned(), found, id });
            }
            return Ok(());
        }
        replace_file(&*self.storage, &path, &sealed(LOG_ID_MAGIC, &self.id.0))
    }

    fn write_identity(&self) -> Result<()> {
        let mut body = self.id.0.to_vec();
        for name in self.names() {
            let name = name.to_string_lossy().into_owned();
            body.extend_from_slice(&(name.len() as u32).to_le_bytes());
            body.extend_from_slice(name.as_bytes());
        }
        replace_file(&*self.storage, &self.path.join("identity"), &sealed(IDENTITY_MAGIC, &body))
    }
}

/// Whether a name in a log folder is that of a segment.
fn holds_log(name: &str) -> bool {
    std::path::Path::new(name).extension().is_some_and(|extension| extension == "skl")
}

/// What the identity file says.
pub(crate) struct Identity {
    pub(crate) id: StoreId,
    pub(crate) log_folders: Vec<PathBuf>,
}

/// Reads the identity file; `None` if there is none.
pub(crate) fn read_identity(storage: &dyn Storage, folder: &Path) -> Result<Option<Identity>> {
    let path = folder.join("identity");
    let Some(bytes) = read_file(storage, &path, IDENTITY_BYTES_MAX)? else { return Ok(None) };
    let mut reader = checked(&path, &bytes, IDENTITY_MAGIC)?;
    let mut parse = || {
        let id = StoreId(reader.bytes(16)?.try_into().ok()?);
        let mut log_folders = Vec::new();
        while !reader.0.is_empty() {
            let len = reader.u32()? as usize;
            log_folders.push(PathBuf::from(std::str::from_utf8(reader.bytes(len)?).ok()?));
        }
        Some(Identity { id, log_folders })
    };
    parse().map(Some).ok_or_else(|| Error::damaged(&path, 0, "its fields do not fit its length"))
}

/// A small file's bytes: magic, format version, CRC of the body, body.
pub(crate) fn sealed(magic: [u8; 8], body: &[u8]) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(body).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// The body of a small file, if its magic, version and CRC are right.
pub(crate) fn checked<'a>(path: &Path, bytes: &'a [u8], magic: [u8; 8]) -> Result<Reader<'a>> {
    let mut reader = Reader(bytes);
    if reader.bytes(8) != Some(&magic) {
        return Err(Error::damaged(path, 0, "it does not start as such a file does"));
    }
    let (Some(found), Some(crc)) = (reader.u32(), reader.u32()) else {
        return Err(Error::damaged(path, 8, "it ends within its head"));
    };
    if found != FORMAT_VERSION {
        return Err(Error::UnknownFormat { path: path.to_owned(), found, known: FORMAT_VERSION });
    }
    if crc32c::crc32c(reader.0) != crc {
        return Err(Error::damaged(path, 12, "its checksum does not match its contents"));
    }
    Ok(reader)
}

/// All bytes of a file, `None` if there is no such file.
pub(crate) fn read_file(storage: &dyn Storage, path: &Path, max: u64) -> Result<Option<Vec<u8>>> {
    let file = match storage.open(path, false) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("open", path, &error)),
    };
    let len = file.len().map_err(|error| Error::io("read", path, &error))?;
    if len > max {
        return Err(Error::damaged(path, max, format!("it has {len} bytes, and at most {max} are possible")));
    }
    let mut bytes = vec![0; len as usize];
    let read = file.read_at(&mut bytes, 0).map_err(|error| Error::io("read", path, &error))?;
    bytes.truncate(read);
    Ok(Some(bytes))
}

/// Writes a small file so that after a crash it is there whole, in its old form or its new one.
pub(crate) fn replace_file(storage: &dyn Storage, path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = path.with_extension("tmp");
    match storage.remove(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::io("remove", &temporary, &error));
        }
        _ => {}
    }
    let file = storage.create(&temporary).map_err(|error| Error::io("create", &temporary, &error))?;
    file.write_at(bytes, 0).map_err(|error| Error::io("write", &temporary, &error))?;
    file.sync_data().map_err(|error| Error::io("sync", &temporary, &error))?;
    storage.rename(&temporary, path).map_err(|error| Error::io("rename", path, &error))?;
    let parent = path.parent().unwrap_or(Path::new("."));
    storage.sync_dir(parent).map_err(|error| Error::io("sync", parent, &error))
}
