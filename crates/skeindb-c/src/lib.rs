//! SkeinDB for C: functions and structs over the library `skeindb`. The header
//! `include/skeindb.h` is made from this crate, and its comments are the documentation.
//!
//! ```text
//!   C ── skein_put(keyspace, key, key_len, …)
//!          │ border::call      catches panics, stores the error's text, returns the status
//!          │ memory            pointers and lengths become slices, values become malloc's memory
//!          ▼
//!        skeindb::Keyspace::insert
//! ```
//!
//! # Invariants
//! 1. A parameter `Option<&T>` is NULL or points to a live handle of this library, which no thread
//!    frees during the call. The C program promises it. Such a parameter is a const pointer in C,
//!    which says that the call does not free the handle.
//! 2. A handle is changed only through `&`, behind its own locks, and is `Send` and `Sync`
//!    (checked below). So two threads that use a handle at once are no data race.
//! 3. A pointer with a length has so many readable bytes (or, if it is of a type, values of that
//!    type) until the call returns, and a C string ends with a NUL byte. The C program promises it.
//!    Nothing keeps them after the call.
//! 4. A parameter `Option<&mut MaybeUninit<T>>` is NULL or points to memory for one `T` that nobody
//!    else uses during the call. The C program promises it.
//! 5. A parameter `Option<Box<T>>` is NULL or a handle that [`memory::give`] has made, and the C
//!    program passes it once. This is how handles are freed.
//! 6. Memory that is not a handle and that the C program frees comes from `malloc`
//!    ([`memory::allocate`]), so `skein_free` needs no length.
//! 7. Every function that could panic runs within [`border::call`] or [`border::answer`], so no
//!    panic crosses into C.
//! 8. C passes no Rust enum: enumerations are integers that are checked.
//! 9. Of a struct that has a field `size`, only so many bytes are read or written ([`versioned`]).
//!
//! Read in this order: `status`, `border`, `memory`, `versioned`, then the families of functions:
//!
//! - `options` and `db` open a database; `keyspace` and `rows` read and write it.
//! - `cursor` moves over rows in order, and `expiry` has their times.
//! - `batch`, `txn` and `snapshot` work on several rows at one moment.
//! - `backup` copies, restores and checks folders.

#![allow(
    clippy::doc_markdown,
    clippy::missing_safety_doc,
    reason = "the comments are those of the header, and what the C program promises is in the invariants"
)]

// In the order of the header.
mod status;

mod border;

mod memory;

mod versioned;

mod options;

mod db;

mod keyspace;

mod rows;

mod batch;

mod snapshot;

mod cursor;

mod txn;

mod expiry;

mod backup;

/// Invariant 2.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<db::DbHandle>();
    is_shared::<keyspace::KeyspaceHandle>();
    is_shared::<batch::BatchHandle>();
    is_shared::<snapshot::SnapshotHandle>();
    is_shared::<cursor::CursorHandle>();
    is_shared::<txn::TxnHandle>();
};
