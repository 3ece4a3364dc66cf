//! Databases: opening and closing, numbers about them, versions.

use std::ffi::{CStr, c_char, c_int};
use std::mem::MaybeUninit;

use skeindb::{Db, Engine};

use crate::border::call;
use crate::memory::{self, handle, make};
use crate::options::Options;
use crate::status::Status;
use crate::versioned::{self, Versioned};

/// Version of this header. `skein_version_number` has that of the library.
pub const SKEIN_VERSION_MAJOR: u32 = 0;
pub const SKEIN_VERSION_MINOR: u32 = 1;
pub const SKEIN_VERSION_PATCH: u32 = 0;

/// Numbers about a database, of one moment or nearly so. Set `size` before the call.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct DbStats {
    /// `sizeof(skein_db_stats)`, set by the caller. Later versions append fields.
    pub size: usize,
    /// The number of keys of all keyspaces, with those of the catalog.
    pub keys: u64,
    /// Bytes of memory: index and rows, or the pages of the cache that are in use.
    pub memory_bytes: u64,
    /// Bytes of logs that no checkpoint covers.
    pub log_bytes: u64,
    /// Checkpoints since opening.
    pub checkpoints: u64,
    /// Live snapshots, those of transactions included.
    pub snapshots: u64,
    /// The size of the page file of the disk engine in bytes; 0 in memory.
    pub file_bytes: u64,
    /// SKEIN_ENGINE_MEMORY or SKEIN_ENGINE_DISK.
    pub engine: u32,
    /// 1 if writes are refused because the disk failed or is full. A write then has the reason.
    pub writes_stopped: u32,
}

// SAFETY: unsigned integers alone, the widest first and an even number of the others: no padding.
unsafe impl Versioned for DbStats {}

/// Returns the number of an engine in C.
pub(crate) fn engine_number(engine: Engine) -> u32 {
    Engine::ALL.into_iter().zip(1..).find(|(known, _)| *known == engine).map_or(0, |(_, number)| number)
}

/// A database.
pub struct DbHandle(pub(crate) Db);

/// Opens the database in a folder, or creates it there.
///
/// `path` is the folder, in the bytes of the file system. `options` may be NULL for the defaults.
/// On success `*db` is the database, which the caller ends with `skein_close`; otherwise NULL.
///
/// Errors: SKEIN_LOCKED, SKEIN_NOT_A_DATABASE, SKEIN_BAD_OPTION, SKEIN_IO, SKEIN_DAMAGED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_open(
    path: *const c_char,
    options: *const Options,
    db: Option<&mut MaybeUninit<*mut DbHandle>>,
) -> Status {
    make(db, "db", || {
        // SAFETY: the caller's promise.
        let builder = unsafe {
            let path = memory::path(path, "path")?;
            versioned::read(options, "options")?.apply(Db::builder(path))?
        };
        Ok(DbHandle(builder.open()?))
    })
}

/// Opens an empty database that is in memory alone and ends with its last handle, for tests and
/// caches. Otherwise as `skein_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_open_in_memory(
    options: *const Options,
    db: Option<&mut MaybeUninit<*mut DbHandle>>,
) -> Status {
    make(db, "db", || {
        // SAFETY: the caller's promise.
        let builder = unsafe { versioned::read(options, "options")?.apply(Db::memory_builder())? };
        Ok(DbHandle(builder.open()?))
    })
}

/// Makes all writes durable, closes the database and frees `db`, also if it returns an error. Other
/// threads may still use other handles of the database, which return SKEIN_CLOSED from now on; each
/// of them is freed by its own function. NULL is allowed.
///
/// Errors: SKEIN_IO, SKEIN_NO_SPACE or SKEIN_WRITES_STOPPED if writes could not be made durable.
#[unsafe(no_mangle)]
pub extern "C" fn skein_close(db: Option<Box<DbHandle>>) -> Status {
    call(|| db.map_or(Ok(()), |db| Ok(db.0.close()?)))
}

/// Makes all writes durable that returned before this call, except with SKEIN_DURABILITY_NONE,
/// where only `skein_checkpoint` does so.
#[unsafe(no_mangle)]
pub extern "C" fn skein_flush(db: Option<&DbHandle>) -> Status {
    call(|| Ok(handle(db, "db")?.0.flush()?))
}

/// Writes a checkpoint, so that the next opening has little to replay. Reads and writes continue.
#[unsafe(no_mangle)]
pub extern "C" fn skein_checkpoint(db: Option<&DbHandle>) -> Status {
    call(|| Ok(handle(db, "db")?.0.checkpoint()?))
}

/// Stores numbers about the database in `*stats`. The caller must have set `size` in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_stats(db: Option<&DbHandle>, stats: *mut DbStats) -> Status {
    call(|| {
        let found = handle(db, "db")?.0.stats()?;
        let found = DbStats {
            size: 0,
            keys: found.keys,
            memory_bytes: found.memory_bytes,
            log_bytes: found.log_bytes,
            checkpoints: found.checkpoints,
            snapshots: found.snapshots,
            file_bytes: found.file_bytes.unwrap_or(0),
            engine: engine_number(found.engine),
            writes_stopped: u32::from(found.writes_stopped.is_some()),
        };
        // SAFETY: the caller's promise.
        unsafe { versioned::write(stats, &found, "stats") }
    })
}

/// Returns the version of the library, as "0.1.0". The text lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn skein_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    CStr::from_bytes_with_nul(VERSION.as_bytes()).unwrap_or_default().as_ptr()
}

/// Returns the version of the library as one number: 1000000 times its major version, and 1000
/// times its minor version, and its patch version.
#[unsafe(no_mangle)]
pub extern "C" fn skein_version_number() -> c_int {
    (SKEIN_VERSION_MAJOR * 1_000_000 + SKEIN_VERSION_MINOR * 1_000 + SKEIN_VERSION_PATCH).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_version_of_the_library() {
        let version = format!("{SKEIN_VERSION_MAJOR}.{SKEIN_VERSION_MINOR}.{SKEIN_VERSION_PATCH}");
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
    }

    /// Padding would have no value in a program in C.
    #[test]
    fn stats_have_no_padding() {
        let fields = size_of::<usize>() + 6 * size_of::<u64>() + 2 * size_of::<u32>();
        assert_eq!(size_of::<DbStats>(), fields);
    }
}
