//! The database: keyspaces with iterators, transactions and snapshots, over the engine in memory or
//! on disk.
//!
//! ```text
//!   Db ─┬─ Keyspace      reads and writes of single keys, iterators, ranges
//!       ├─ Transaction   reads of one snapshot, private writes, a check at the commit
//!       ├─ Batch         writes that are applied together
//!       └─ Snapshot      reads of one moment
//!             │
//!         DbShared       rooms for writers, catalog of keyspaces ──► skein-data: Engine
//! ```
//!
//! A named keyspace is a range of the engine's keys (`physical_key`), and its name is in the
//! catalog (`catalog`). The default keyspace has the engine's other keys, which are a server's
//! data.
//!
//! # Invariants
//! 1. A thread that writes holds a room, and the commit of a transaction or of a batch holds all
//!    rooms. So nobody else writes between the check of a transaction and its last write.
//! 2. No code of the user runs while a room is held: a closure that runs more than once, as in
//!    [`Keyspace::update`], is called between a read and a conditional write.
//! 3. A writer checks within its room that its keyspace was not dropped. A drop holds all rooms
//!    while it marks the keyspace, so no row is written to a dropped keyspace.
//! 4. Nobody waits for a disk while it holds a room: at [`Durability::Sync`] the wait follows.
//! 5. While an exclusive transaction is open, its gate (`exclusive_gate`) is closed: a writer that
//!    finds it closed leaves its room and waits. Nobody waits there with a room, or with a lock
//!    that the body of a transaction may need.
//!
//! Read in this order:
//!
//! - Opening: `options`, made of rows by `option_row`; `open`, `catalog`, `physical_key`.
//! - Rows: `value` and `entry` (the results of reads), `keyspace` (reads), `writes`, `expiry`,
//!   `batch`.
//! - Many rows: `iter` over `range_reader`, which reads a range in chunks; `snapshot`.
//! - Transactions: `exclusive_gate`, `transaction`.
//! - The whole database: `backup`, `compact`, `progress` (their callbacks), `stats`.
//!
//! Design: `docs/design/library.md`.

mod backup;
mod batch;
mod catalog;
mod compact;
mod entry;
mod exclusive_gate;
mod expiry;
mod iter;
mod keyspace;
mod open;
mod option_row;
mod options;
mod physical_key;
mod progress;
mod range_reader;
mod snapshot;
mod stats;
mod transaction;
mod value;
mod writes;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};

use skein_data::{Durability, EngineSession, Ticket};
use skein_sync::forks;
use skein_sync::rooms::{AllRooms, Rooms};

pub use backup::{BackupReport, VerifyReport};
pub use batch::Batch;
pub use compact::CompactReport;
pub use entry::Entry;
pub use expiry::Expiry;
pub use iter::{Iter, Keys, Values};
pub use keyspace::Keyspace;
pub use option_row::{DbOption, OptionKind};
pub use options::{DbBuilder, Engine};
pub use physical_key::CATALOG;
pub use progress::Progress;
pub use snapshot::Snapshot;
pub use stats::DbStats;
#[cfg(feature = "planted-bugs")]
pub use transaction::planted_bugs;
pub use transaction::{Savepoint, Transaction};
pub use value::Value;
pub use writes::SwapRefused;

use crate::{Error, Result};
use catalog::Catalog;
use exclusive_gate::{ExclusiveGate, ExclusiveTurn};

/// A database. Clones are cheap and share it; all methods work from any thread.
///
/// The last handle that is dropped (of the database, its keyspaces, iterators and snapshots)
/// closes it and makes all writes durable, but cannot report an error: call [`close`](Self::close).
///
/// ```
/// use skeindb::{Db, Engine};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("geese");
/// let db = Db::builder(&path).engine(Engine::Disk).open()?;
/// let geese = db.keyspace("geese")?;
/// geese.insert("grey", "Anser anser")?;
/// geese.insert("bean", "Anser fabalis")?;
/// let first = geese.first()?.expect("there are two");
/// assert_eq!(first.0, b"bean");
/// db.close()?;
/// # Ok::<(), skeindb::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Db {
    pub(crate) shared: Arc<DbShared>,
}

/// The state that all handles of a database share.
#[derive(Debug)]
pub(crate) struct DbShared {
    pub(crate) engine: skein_data::Engine,
    /// The sessions of writers; see invariant 1.
    rooms: Rooms<EngineSession>,
    /// Closed by exclusive transactions; see invariant 5.
    exclusive: ExclusiveGate,
    catalog: Catalog,
    #[cfg(feature = "tokio")]
    pub(crate) durable_watch: crate::aio::DurableWatch,
    closed: AtomicBool,
    /// The value of [`forks::generation`] in the process that opened the database.
    generation: u32,
    /// The folder, unless the database is in memory alone or over another storage.
    folder: Option<PathBuf>,
}

impl Db {
    /// Opens the database in a folder, or creates it there. A folder that exists is opened with its
    /// own engine; a new one gets the engine in memory. See [`builder`](Self::builder) for options.
    ///
    /// # Errors
    /// Another process, or another handle of this one, has opened the folder; the folder has other
    /// files; a file cannot be read or is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder(path).open()
    }

    /// Returns a builder with options for the database in a folder.
    pub fn builder(path: impl AsRef<Path>) -> DbBuilder {
        DbBuilder::new(Some(path.as_ref().to_owned()))
    }

    /// Opens an empty database that is in memory alone and ends with its last handle: for tests and
    /// caches.
    ///
    /// ```
    /// let db = skeindb::Db::in_memory()?;
    /// db.keyspace("geese")?.insert("grey", "Anser anser")?;
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// Threads could not be started.
    pub fn in_memory() -> Result<Self> {
        Self::memory_builder().open()
    }

    /// Returns a builder with options for a database that is in memory alone.
    pub fn memory_builder() -> DbBuilder {
        DbBuilder::new(None)
    }

    /// Makes all writes durable that returned before this call, at every durability but
    /// [`Durability::None`], where only [`checkpoint`](Self::checkpoint) does so.
    ///
    /// # Errors
    /// The database is closed, or writes are stopped by an error of the disk.
    pub fn flush(&self) -> Result<()> {
        self.shared.check_usable()?;
        Ok(self.shared.engine.flush()?)
    }

    /// Writes a checkpoint, so that the next opening has little to replay. Reads and writes
    /// continue.
    ///
    /// # Errors
    /// The database is closed, writes are stopped, or a file cannot be written.
    pub fn checkpoint(&self) -> Result<()> {
        self.shared.check_usable()?;
        Ok(self.shared.engine.checkpoint()?)
    }

    /// Makes everything durable and ends all writing. Later operations on any handle return
    /// [`Error::Closed`]. A second call does nothing.
    ///
    /// # Errors
    /// Writes could not be made durable.
    pub fn close(&self) -> Result<()> {
        self.shared.check_process()?;
        // Release: pairs with the Acquire in `check_usable`.
        self.shared.closed.store(true, Ordering::Release);
        self.shared.exclusive.wake_all();
        let closed = self.shared.engine.close();
        #[cfg(feature = "tokio")]
        self.shared.durable_watch.close();
        Ok(closed?)
    }

    /// Returns a snapshot: all keyspaces as they are now. Writers continue.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let geese = db.keyspace("geese")?;
    /// geese.insert("grey", "Anser anser")?;
    /// let before = db.snapshot()?;
    /// geese.remove("grey")?;
    /// assert!(before.get(&geese, "grey")?.is_some());
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// The database is closed, or too many snapshots and transactions are live.
    pub fn snapshot(&self) -> Result<Snapshot> {
        Snapshot::new(&self.shared)
    }
}

impl DbShared {
    /// Returns an error if the database is closed, or was opened by the parent of this process.
    #[inline]
    pub(crate) fn check_usable(&self) -> Result<()> {
        self.check_process()?;
        // Acquire: pairs with the Release in `close`.
        if self.closed.load(Ordering::Acquire) { Err(Error::Closed) } else { Ok(()) }
    }

    #[inline]
    fn check_process(&self) -> Result<()> {
        if forks::generation() == self.generation { Ok(()) } else { Err(Error::Forked) }
    }

    /// Runs writes of single keys, then waits until they are durable if that was promised.
    fn write<R>(
        &self,
        keyspace: &Keyspace,
        writes: impl FnOnce(&mut EngineSession) -> skein_data::Result<(R, Ticket)>,
    ) -> Result<R> {
        self.check_usable()?;
        let done = {
            let mut session = self.enter_room()?;
            // Invariant 3.
            keyspace.check_present()?;
            writes(&mut session)
        };
        let (answer, ticket) = done?;
        self.acknowledge(ticket, self.engine.durability())?;
        Ok(answer)
    }

    /// Enters the room of the calling thread, once no exclusive transaction is open.
    fn enter_room(&self) -> Result<MutexGuard<'_, EngineSession>> {
        let number = room_of_thread(self.rooms.count());
        let room = self.rooms.enter(number).ok_or(Error::Closed)?;
        if !self.exclusive.is_closed() {
            return Ok(room);
        }
        drop(room);
        let _admission = self.exclusive.admit(|| self.check_usable())?;
        self.rooms.enter(number).ok_or(Error::Closed)
    }

    /// Takes all rooms, once no exclusive transaction is open. That one takes them by its `turn`.
    fn enter_all_rooms(&self, turn: Option<&ExclusiveTurn>) -> Result<AllRooms<'_, EngineSession>> {
        let all = self.rooms.enter_all();
        if turn.is_some() || !self.exclusive.is_closed() {
            return Ok(all);
        }
        drop(all);
        let _admission = self.exclusive.admit(|| self.check_usable())?;
        Ok(self.rooms.enter_all())
    }

    /// Runs `act` while nobody else writes.
    fn alone<R>(
        &self,
        turn: Option<&ExclusiveTurn>,
        act: impl FnOnce(&mut EngineSession) -> Result<R>,
    ) -> Result<R> {
        self.check_usable()?;
        let mut all = self.enter_all_rooms(turn)?;
        act(all.room(room_of_thread(self.rooms.count())).ok_or(Error::Closed)?)
    }

    /// Waits until the ticket's writes are durable, if `durability` promises that.
    fn acknowledge(&self, ticket: Ticket, durability: Durability) -> Result<()> {
        if durability != Durability::Sync {
            return Ok(());
        }
        #[cfg(feature = "tokio")]
        if crate::aio::defer(self, ticket) {
            return Ok(());
        }
        Ok(self.engine.wait_durable(ticket)?)
    }
}

impl Drop for DbShared {
    fn drop(&mut self) {
        // In a forked child the threads that closing waits for do not exist. One more handle keeps
        // the engine from closing.
        if self.check_process().is_err() {
            std::mem::forget(self.engine.clone());
            return;
        }
        if let Err(error) = self.engine.close() {
            tracing::error!("closing the database: {error}");
        }
    }
}

/// Returns the number of the calling thread's room.
fn room_of_thread(rooms: usize) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! { static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed) }
    NUMBER.try_with(|number| number % rooms).unwrap_or(0)
}
