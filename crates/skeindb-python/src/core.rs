//! The state that all Python objects of one database share.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use skeindb::{Db, Durability, Engine};

use crate::failure::{Failure, Result};

/// An open database.
#[derive(Debug)]
pub(crate) struct DbCore {
    pub(crate) db: Db,
    pub(crate) path: Option<PathBuf>,
    pub(crate) engine: Engine,
    pub(crate) durability: Durability,
    pub(crate) closed: AtomicBool,
}

impl DbCore {
    /// Runs a read. It keeps the interpreter's lock if the rows are in memory: such a read waits
    /// for nobody, and is over before another thread would have run.
    pub(crate) fn read<R: Send>(&self, py: Python<'_>, read: impl FnOnce() -> R + Send) -> R {
        if self.engine == Engine::Memory { read() } else { py.detach(read) }
    }

    /// Returns an error if the database is closed: for answers that need no read.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_closed() { Err(Failure::Db(skeindb::Error::Closed)) } else { Ok(()) }
    }

    pub(crate) fn is_closed(&self) -> bool {
        // Acquire: pairs with the Release in `close`.
        self.closed.load(Ordering::Acquire)
    }

    pub(crate) fn close(&self) -> Result<()> {
        let closed = self.db.close();
        // A close that fails ends the database, too, but not one in a forked child.
        if !matches!(closed, Err(skeindb::Error::Forked)) {
            // Release: pairs with the Acquire in `is_closed`.
            self.closed.store(true, Ordering::Release);
        }
        Ok(closed?)
    }

    pub(crate) fn engine_name(&self) -> &'static str {
        self.engine.name()
    }

    pub(crate) fn durability_name(&self) -> &'static str {
        self.durability.name()
    }
}

/// Returns the durability of a name.
pub(crate) fn durability_named(name: &str) -> Result<Durability> {
    Durability::ALL.into_iter().find(|level| level.name() == name).ok_or_else(|| {
        let known = Durability::ALL.map(|level| format!("'{level}'")).join(", ");
        Failure::Invalid(format!("there is no durability {name:?}; use one of {known}"))
    })
}
