//! The native module of the Python package `skeindb`.
//!
//! ```text
//!   ReadView ◄─ View ◄─ Keyspace ◄─ Database      the classes: each adds to the one on its left
//!      │          │
//!   Reader     Writer        their operations: at present, in a snapshot, in a transaction
//!      │
//!   chunk ◄─ RowIterator ◄─ Rows
//! ```
//!
//! # Invariants
//! 1. No code of Python runs while a lock of this crate or of the library is held. So a thread that
//!    holds the interpreter's lock may wait for any other lock.
//! 2. Whatever may wait (for a disk, for another writer, for a lock) is done detached from the
//!    interpreter, so that other threads of Python continue.
//! 3. While a thread is detached it reads no memory of Python but that of `bytes`, which never
//!    change (`bytes_arg`).
//!
//! Read in this order:
//!
//! - Arguments and errors: `failure`, `bytes_arg`, `times`, `range`.
//! - Operations: `core` (the state of an open database), `held`, `chunk`, `reader`, `writer`.
//! - The mapping protocol: `read_view`, `view`, `rows`, `row_iterator`.
//! - The classes: `open`, `database`, `keyspace`, `snapshot`, `batch`, `transaction` with `retry`
//!   (repeats it on a conflict).
//! - Results for people: `backup`, `stats`, and `html` for notebooks.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 passes the arguments of methods by value")]

mod backup;
mod batch;
mod bytes_arg;
mod chunk;
mod core;
mod database;
mod failure;
mod held;
mod html;
mod keyspace;
mod open;
mod range;
mod read_view;
mod reader;
mod retry;
mod row_iterator;
mod rows;
mod snapshot;
mod stats;
mod times;
mod transaction;
mod view;
mod writer;

use pyo3::prelude::*;

/// The native part of `skeindb`, which re-exports it.
#[pymodule]
mod _skeindb {
    #[pymodule_export]
    use super::{
        backup::BackupReport,
        batch::{Batch, BatchView},
        database::Database,
        keyspace::Keyspace,
        open::open,
        read_view::ReadView,
        row_iterator::RowIterator,
        rows::Rows,
        snapshot::Snapshot,
        stats::Stats,
        transaction::{Savepoint, Transaction},
        view::View,
    };
}
