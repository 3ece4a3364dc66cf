//! Backups, restores and checks of folders.

use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::ptr;

use skeindb::Db;

use crate::border::{Result, answer, call};
use crate::db::{DbHandle, engine_number};
use crate::memory::{give_names, handle, path};
use crate::status::Status;
use crate::versioned::{self, Versioned};

/// The progress of a backup or a restore.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// `sizeof(skein_progress)` of the library. Later versions append fields.
    pub size: usize,
    /// Rows that were copied. In memory each member of a set counts as a row, too.
    pub rows: u64,
    /// Bytes that were copied: of keys, values and members, or of files by a restore.
    pub bytes: u64,
}

/// A finished backup or restore. Set `size` before the call.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct BackupReport {
    /// `sizeof(skein_backup_report)`, set by the caller. Later versions append fields.
    pub size: usize,
    /// Rows, as in `skein_progress`.
    pub rows: u64,
    /// Bytes, as in `skein_progress`.
    pub bytes: u64,
    /// The time that it took, in microseconds.
    pub took_us: u64,
}

// SAFETY: unsigned integers alone, of one width: no padding (checked below).
unsafe impl Versioned for BackupReport {}

/// The contents of a folder that was checked. Set `size` before the call.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VerifyReport {
    /// `sizeof(skein_verify_report)`, set by the caller. Later versions append fields.
    pub size: usize,
    /// Rows of the newest checkpoint, or of the page file: those of logs are not among them.
    pub rows: u64,
    /// Records of logs that opening would replay.
    pub log_records: u64,
    /// Bytes of the newest checkpoint or the page file, and of the logs.
    pub bytes: u64,
    /// The number of damages; 0 if the folder can be opened.
    pub damages: u64,
    /// SKEIN_ENGINE_MEMORY or SKEIN_ENGINE_DISK.
    pub engine: u32,
    /// 0.
    pub reserved: u32,
}

// SAFETY: unsigned integers alone, the narrow ones an even number: no padding (checked below).
unsafe impl Versioned for VerifyReport {}

/// A C function that receives the progress of an operation, and returns 0 to continue it.
type ProgressFn = unsafe extern "C" fn(done: *const Progress, context: *mut c_void) -> c_int;

/// Calls the function of C, if there is one.
///
/// # Safety
/// The function may be called with this context.
unsafe fn tell(
    function: Option<ProgressFn>,
    context: *mut c_void,
    done: skeindb::Progress,
) -> ControlFlow<()> {
    let Some(function) = function else { return ControlFlow::Continue(()) };
    let done = Progress { size: size_of::<Progress>(), rows: done.rows, bytes: done.bytes };
    // SAFETY: the caller's promise.
    if unsafe { function(&raw const done, context) } == 0 {
        ControlFlow::Continue(())
    } else {
        ControlFlow::Break(())
    }
}

/// Runs a copy, and stores its report if C wants one. A report of a wrong size is refused first.
///
/// # Safety
/// As for [`versioned::write`].
unsafe fn reported(
    to: *mut BackupReport,
    copy: impl FnOnce() -> skeindb::Result<skeindb::BackupReport>,
) -> Result<()> {
    let mut report = BackupReport { size: 0, rows: 0, bytes: 0, took_us: 0 };
    if to.is_null() {
        return Ok(copy().map(drop)?);
    }
    // SAFETY: the caller's promise.
    unsafe { versioned::write(to, &report, "report")? };
    let done = copy()?;
    (report.rows, report.bytes) = (done.rows, done.bytes);
    report.took_us = u64::try_from(done.took.as_micros()).unwrap_or(u64::MAX);
    // SAFETY: the caller's promise.
    unsafe { versioned::write(to, &report, "report") }
}

/// Copies the database to another folder, as it is at one moment, while reads and writes continue.
/// `skein_open` opens the copy. The folder must be absent or empty. It appears when the copy is
/// whole and durable, and not after an error.
///
/// `progress` may be NULL. It is called on this thread after every part, of about a megabyte at
/// most. It gets `context` and may use the database. 0 continues the backup, any other number
/// cancels it. `done` is valid during the call. It must not leave by longjmp or a C++ exception.
///
/// `report` may be NULL.
///
/// Errors: SKEIN_BAD_FOLDER if the folder has contents or another backup writes it, SKEIN_CANCELED,
/// SKEIN_SNAPSHOT_ENDED, SKEIN_IO, SKEIN_NO_SPACE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_backup(
    db: Option<&DbHandle>,
    folder: *const c_char,
    progress: Option<unsafe extern "C" fn(done: *const Progress, context: *mut c_void) -> c_int>,
    context: *mut c_void,
    report: *mut BackupReport,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let folder = unsafe { path(folder, "folder")? };
        let db = &handle(db, "db")?.0;
        // SAFETY: the caller's promise.
        let told = |done: &skeindb::Progress| unsafe { tell(progress, context, *done) };
        // SAFETY: the caller's promise.
        unsafe { reported(report, || db.backup_with(folder, told)) }
    })
}

/// Makes a database in `folder` from a backup, and leaves the backup as it is. All of the backup is
/// checked first, as by `skein_verify`. Any copy of a database folder will do that is not open and
/// has its logs within. The other parameters are those of `skein_backup`.
///
/// Errors: SKEIN_DAMAGED, SKEIN_LOCKED if the backup is open, and those of `skein_backup`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_restore(
    backup: *const c_char,
    folder: *const c_char,
    progress: Option<unsafe extern "C" fn(done: *const Progress, context: *mut c_void) -> c_int>,
    context: *mut c_void,
    report: *mut BackupReport,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (backup, folder) = unsafe { (path(backup, "backup")?, path(folder, "folder")?) };
        // SAFETY: the caller's promise.
        let told = |done: &skeindb::Progress| unsafe { tell(progress, context, *done) };
        // SAFETY: the caller's promise.
        unsafe { reported(report, || Db::restore_with(backup, folder, told)) }
    })
}

/// Reads all files of a database that is not open, checks every checksum, and on disk every node of
/// the tries. It changes nothing. Returns SKEIN_OK, or SKEIN_DAMAGE_FOUND, which is no error.
///
/// `report` may be NULL. `damages` may be NULL; otherwise `*damages` is a list of texts, one for
/// each damage, with a NULL behind the last one. The caller frees the whole list by one
/// `skein_free(damages)`.
///
/// Errors: SKEIN_BAD_FOLDER if there is no database, SKEIN_LOCKED if it is open, SKEIN_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_verify(
    folder: *const c_char,
    report: *mut VerifyReport,
    damages: Option<&mut MaybeUninit<*mut *mut c_char>>,
) -> Status {
    answer(|| {
        let damages = damages.map(|damages| damages.write(ptr::null_mut()));
        let write = |written: &VerifyReport| {
            if report.is_null() {
                return Ok(());
            }
            // SAFETY: the caller's promise.
            unsafe { versioned::write(report, written, "report") }
        };
        let mut written =
            VerifyReport { size: 0, rows: 0, log_records: 0, bytes: 0, damages: 0, engine: 0, reserved: 0 };
        write(&written)?;
        // SAFETY: the caller's promise.
        let found = Db::verify(unsafe { path(folder, "folder")? })?;
        if let Some(damages) = damages {
            *damages = give_names(&found.damage.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        }
        (written.rows, written.log_records) = (found.rows, found.log_records);
        (written.bytes, written.damages) = (found.bytes, found.damage.len() as u64);
        written.engine = engine_number(found.engine);
        write(&written)?;
        Ok(if found.is_sound() { Status::SKEIN_OK } else { Status::SKEIN_DAMAGE_FOUND })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Padding would have no value in a program in C.
    #[test]
    fn reports_have_no_padding() {
        let word = size_of::<usize>();
        assert_eq!(size_of::<Progress>(), word + 2 * size_of::<u64>());
        assert_eq!(size_of::<BackupReport>(), word + 3 * size_of::<u64>());
        assert_eq!(size_of::<VerifyReport>(), word + 4 * size_of::<u64>() + 2 * size_of::<u32>());
    }
}
