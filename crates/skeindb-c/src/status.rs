//! The statuses. `skeindb::ErrorCode` sorts the errors, and a status numbers such a code.

use std::ffi::{CStr, c_char, c_int};

use skeindb::{Error, ErrorCode};

/// The result of a function. SKEIN_OK is 0, positive ones are answers and no errors, negative ones
/// are errors. Later versions may add statuses.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "the names are those of the header")]
pub enum Status {
    /// Done.
    SKEIN_OK = 0,
    /// The key, the row or the keyspace is not there.
    SKEIN_NOT_FOUND = 1,
    /// A compare-and-swap found another value.
    SKEIN_SWAP_REFUSED = 2,
    /// `skein_verify` has found damage.
    SKEIN_DAMAGE_FOUND = 3,
    /// An argument is wrong: NULL, no UTF-8, or a call at the wrong time.
    SKEIN_MISUSE = -1,
    /// The file system refused an operation.
    SKEIN_IO = -2,
    /// The disk is full. Writes continue when it has room again.
    SKEIN_NO_SPACE = -3,
    /// A file is damaged.
    SKEIN_DAMAGED = -4,
    /// Another process, or another handle of this one, has opened the folder.
    SKEIN_LOCKED = -5,
    /// The folder has other files, or those of another engine or version.
    SKEIN_NOT_A_DATABASE = -6,
    /// An option has a value that it cannot have.
    SKEIN_BAD_OPTION = -7,
    /// Another write changed rows or ranges that the transaction had read: begin it again.
    SKEIN_CONFLICT = -8,
    /// The database is closed.
    SKEIN_CLOSED = -9,
    /// The process was forked after the database was opened: open another one in the child.
    SKEIN_FORKED = -10,
    /// The transaction was committed or rolled back.
    SKEIN_TXN_ENDED = -11,
    /// The body of `skein_transaction` returned a number of its own.
    SKEIN_ABORTED = -12,
    /// The transaction was rolled back to an earlier savepoint, so this one is no longer valid.
    SKEIN_SAVEPOINT_GONE = -13,
    /// The keyspace was dropped.
    SKEIN_KEYSPACE_DROPPED = -14,
    /// There is no keyspace of this name.
    SKEIN_NO_KEYSPACE = -15,
    /// There is a keyspace of this name already.
    SKEIN_KEYSPACE_EXISTS = -16,
    /// A keyspace cannot have this name.
    SKEIN_BAD_NAME = -17,
    /// A keyspace or savepoint belongs to another database or transaction.
    SKEIN_FOREIGN = -18,
    /// A key, a value or a batch is longer than the limit.
    SKEIN_TOO_LONG = -19,
    /// The default keyspace cannot have a key that begins with ff 53 4b 00.
    SKEIN_KEY_RESERVED = -20,
    /// The key holds columns or a set, which a server wrote, and no value.
    SKEIN_WRONG_KIND = -21,
    /// The value is not a decimal integer.
    SKEIN_NOT_AN_INTEGER = -22,
    /// The sum does not fit 64 bits.
    SKEIN_OVERFLOW = -23,
    /// The memory limit of the database, or the index or the page file, is full.
    SKEIN_FULL = -24,
    /// Writes are stopped because the disk failed. Reads continue.
    SKEIN_WRITES_STOPPED = -25,
    /// Too many snapshots and transactions are live.
    SKEIN_TOO_MANY_SNAPSHOTS = -26,
    /// The snapshot was ended because it kept too much memory.
    SKEIN_SNAPSHOT_ENDED = -27,
    /// The process has no memory left.
    SKEIN_NO_MEMORY = -28,
    /// The progress callback of a long operation has cancelled it.
    SKEIN_CANCELED = -29,
    /// A folder cannot be used for a backup, a restore or a check: it has other contents, or no
    /// database.
    SKEIN_BAD_FOLDER = -30,
    /// Another error; its text says which.
    SKEIN_OTHER = -99,
    /// A bug of this library. The text has its message.
    SKEIN_INTERNAL = -100,
}

#[allow(clippy::enum_glob_use, reason = "the prefix says enough")]
use Status::*;

/// Lists the statuses for [`Status::name`] and [`Status::of_number`].
macro_rules! list {
    ($($status:ident)+) => {
        impl Status {
            const ALL: &[Self] = &[$($status,)+];

            fn name(self) -> &'static CStr {
                match self {
                    $($status => {
                        const NAME: &str = concat!(stringify!($status), "\0");
                        CStr::from_bytes_with_nul(NAME.as_bytes()).unwrap_or_default()
                    })+
                }
            }
        }
    };
}

list! {
    SKEIN_OK SKEIN_NOT_FOUND SKEIN_SWAP_REFUSED SKEIN_DAMAGE_FOUND
    SKEIN_MISUSE SKEIN_IO SKEIN_NO_SPACE SKEIN_DAMAGED SKEIN_LOCKED
    SKEIN_NOT_A_DATABASE SKEIN_BAD_OPTION SKEIN_CONFLICT SKEIN_CLOSED SKEIN_FORKED SKEIN_TXN_ENDED SKEIN_ABORTED
    SKEIN_SAVEPOINT_GONE SKEIN_KEYSPACE_DROPPED SKEIN_NO_KEYSPACE SKEIN_KEYSPACE_EXISTS SKEIN_BAD_NAME
    SKEIN_FOREIGN SKEIN_TOO_LONG SKEIN_KEY_RESERVED SKEIN_WRONG_KIND SKEIN_NOT_AN_INTEGER SKEIN_OVERFLOW
    SKEIN_FULL SKEIN_WRITES_STOPPED SKEIN_TOO_MANY_SNAPSHOTS SKEIN_SNAPSHOT_ENDED SKEIN_NO_MEMORY
    SKEIN_CANCELED SKEIN_BAD_FOLDER SKEIN_OTHER SKEIN_INTERNAL
}

impl Status {
    /// Returns the status of a number that C passed (invariant 8).
    pub(crate) fn of_number(number: c_int) -> Option<Self> {
        Self::ALL.iter().copied().find(|status| *status as c_int == number)
    }

    /// Returns the status of an error of the library.
    pub(crate) fn of(error: &Error) -> Self {
        match error.code() {
            ErrorCode::Conflict => SKEIN_CONFLICT,
            ErrorCode::Aborted => SKEIN_ABORTED,
            ErrorCode::Closed => SKEIN_CLOSED,
            ErrorCode::SnapshotEnded => SKEIN_SNAPSHOT_ENDED,
            ErrorCode::Forked => SKEIN_FORKED,
            ErrorCode::KeyspaceDropped => SKEIN_KEYSPACE_DROPPED,
            ErrorCode::NoKeyspace => SKEIN_NO_KEYSPACE,
            ErrorCode::KeyspaceExists => SKEIN_KEYSPACE_EXISTS,
            ErrorCode::KeyspaceName => SKEIN_BAD_NAME,
            ErrorCode::Foreign => SKEIN_FOREIGN,
            ErrorCode::KeyReserved => SKEIN_KEY_RESERVED,
            ErrorCode::SavepointGone => SKEIN_SAVEPOINT_GONE,
            ErrorCode::BadOption => SKEIN_BAD_OPTION,
            ErrorCode::Misuse => SKEIN_MISUSE,
            ErrorCode::NotANumber => SKEIN_NOT_AN_INTEGER,
            ErrorCode::TooLong => SKEIN_TOO_LONG,
            ErrorCode::Overflow => SKEIN_OVERFLOW,
            ErrorCode::Full => SKEIN_FULL,
            ErrorCode::TooManySnapshots => SKEIN_TOO_MANY_SNAPSHOTS,
            ErrorCode::WrongKind => SKEIN_WRONG_KIND,
            ErrorCode::Locked => SKEIN_LOCKED,
            ErrorCode::Io => SKEIN_IO,
            ErrorCode::NoSpace => SKEIN_NO_SPACE,
            ErrorCode::WritesStopped => SKEIN_WRITES_STOPPED,
            ErrorCode::Folder => SKEIN_BAD_FOLDER,
            ErrorCode::OtherEngine | ErrorCode::UnknownFormat => SKEIN_NOT_A_DATABASE,
            ErrorCode::Damaged => SKEIN_DAMAGED,
            ErrorCode::Cancelled => SKEIN_CANCELED,
            _ => SKEIN_OTHER,
        }
    }
}

/// Returns the name of a status, as "SKEIN_CONFLICT", or "SKEIN_?" for another number. The text
/// lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn skein_status_name(status: c_int) -> *const c_char {
    Status::of_number(status).map_or(c"SKEIN_?", Status::name).as_ptr()
}
