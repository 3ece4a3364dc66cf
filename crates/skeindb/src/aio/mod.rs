//! The database for programs on a Tokio runtime (feature `tokio`).
//!
//! ```text
//!   future ─► blocking thread: reads, writes, commit ─► ticket ─► future waits for its epoch
//! ```
//!
//! - Work that may wait for a lock or a disk runs on the runtime's blocking threads. Reads of
//!   single keys of the engine in memory run in place: they wait at most for a commit that is
//!   writing the key's stripe.
//! - At [`Durability::Sync`](crate::Durability::Sync) no thread is held while a commit waits for
//!   the disk. The future is woken when the commit's epoch is durable.
//! - [`AsyncIter`] is a stream that reads a range in chunks.
//!
//! # Cancellation
//!
//! Dropping a future does not stop work that has begun. A write or transaction then takes effect as
//! a whole, or not at all if it had not begun. Only its answer is lost, and with it the knowledge
//! whether it is durable. Dropping a stream ends it after the chunk that is being read.
//!
//! # Usage
//!
//! ```
//! use skeindb::Db;
//! use skeindb::aio::AsyncDb;
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! # runtime.block_on(async {
//! let db = AsyncDb::from(Db::in_memory()?);
//! let geese = db.keyspace("geese").await?;
//! geese.insert("bean", "Anser fabalis").await?;
//! let handle = geese.keyspace().clone();
//! db.transaction(move |tx| tx.insert(&handle, "grey", "Anser anser")).await?;
//!
//! let mut rows = geese.range("a".."z");
//! while let Some(row) = rows.next().await {
//!     let (key, value) = row?;
//!     println!("{}: {}", String::from_utf8_lossy(&key), String::from_utf8_lossy(&value));
//! }
//! assert_eq!(geese.get("grey").await?.as_deref(), Some(&b"Anser anser"[..]));
//! db.close().await
//! # })?;
//! # Ok::<(), skeindb::Error>(())
//! ```
//!
//! Read `durable` first, then `iter`.

mod durable;
mod iter;

use std::ops::RangeBounds;
use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinHandle};

pub(crate) use durable::{DurableWatch, defer};
pub use iter::AsyncIter;

use crate::db::DbShared;
use crate::{Batch, Db, Error, Keyspace, Result, Transaction};

/// A database with futures as operations. Clones are cheap and share it.
///
/// Call [`close`](Self::close) at the end: dropping the last handle closes the database on the
/// thread that drops it.
#[derive(Debug, Clone)]
pub struct AsyncDb(Db);

impl From<Db> for AsyncDb {
    fn from(db: Db) -> Self {
        Self(db)
    }
}

/// A keyspace with futures as operations. Clones are cheap.
#[derive(Debug, Clone)]
pub struct AsyncKeyspace(Keyspace);

/// Starts work on a blocking thread of the current runtime.
fn spawn<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> Result<JoinHandle<R>> {
    let runtime = Handle::try_current().map_err(|_| Error::NoRuntime)?;
    Ok(runtime.spawn_blocking(work))
}

/// Returns the error of work that has no answer. A panic continues in the caller.
fn no_answer(error: JoinError) -> Error {
    match error.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        // The runtime ends.
        Err(_) => Error::Canceled { operation: "task" },
    }
}

/// Runs work on a blocking thread, then waits until its writes are durable, if that was promised.
async fn run<R: Send + 'static>(
    shared: &Arc<DbShared>,
    work: impl FnOnce() -> Result<R> + Send + 'static,
) -> Result<R> {
    let of_work = shared.clone();
    let task = spawn(move || durable::collect(&of_work, work))?;
    let (answer, ticket) = task.await.map_err(no_answer)?;
    let answer = answer?;
    durable::wait(shared, ticket).await?;
    Ok(answer)
}

impl AsyncDb {
    /// Returns the database, for operations that do not wait.
    pub fn db(&self) -> &Db {
        &self.0
    }

    /// Runs any operations on a blocking thread. In `work` a write returns when it is visible; the
    /// future ends when all of them are durable, if the database promises that.
    ///
    /// ```
    /// # use skeindb::{Db, aio::AsyncDb};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let copy = folder.path().join("copy");
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let db = AsyncDb::from(Db::in_memory()?);
    /// db.run(move |db| db.backup(copy)).await?;
    /// # Ok::<(), skeindb::Error>(())
    /// # })?;
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// That of `work`; [`Error::NoRuntime`] outside of a Tokio runtime; writes are stopped before
    /// they are durable.
    pub async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Db) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let db = self.0.clone();
        run(&self.0.shared, move || work(&db)).await
    }

    /// Returns the keyspace of this name. Creates it if it is missing.
    ///
    /// # Errors
    /// As for [`Db::keyspace`] and [`run`](Self::run).
    pub async fn keyspace(&self, name: impl Into<String>) -> Result<AsyncKeyspace> {
        let name = name.into();
        self.run(move |db| db.keyspace(name)).await.map(AsyncKeyspace)
    }

    /// Returns the default keyspace.
    pub fn default_keyspace(&self) -> AsyncKeyspace {
        AsyncKeyspace(self.0.default_keyspace())
    }

    /// Runs a transaction on a blocking thread; see [`Db::transaction`]. The future ends when the
    /// commit is durable, if that was promised.
    ///
    /// # Errors
    /// As for [`Db::transaction`] and [`run`](Self::run).
    pub async fn transaction<T: Send + 'static>(
        &self,
        body: impl FnMut(&mut Transaction) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.run(move |db| db.transaction(body)).await
    }

    /// Runs an exclusive transaction on a blocking thread; see [`Db::transaction_exclusive`].
    /// Writes that wait for it hold a blocking thread each.
    ///
    /// # Errors
    /// As for [`Db::transaction_exclusive`] and [`run`](Self::run).
    pub async fn transaction_exclusive<T: Send + 'static>(
        &self,
        body: impl FnOnce(&mut Transaction) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.run(move |db| db.transaction_exclusive(body)).await
    }

    /// Applies all writes of a batch, or none; see [`Db::apply`].
    ///
    /// # Errors
    /// As for [`Db::apply`] and [`run`](Self::run).
    pub async fn apply(&self, batch: Batch) -> Result<()> {
        self.run(move |db| db.apply(batch)).await
    }

    /// Makes everything durable and ends all writing; see [`Db::close`].
    ///
    /// # Errors
    /// As for [`Db::close`].
    pub async fn close(&self) -> Result<()> {
        self.run(Db::close).await
    }
}

impl From<Keyspace> for AsyncKeyspace {
    fn from(keyspace: Keyspace) -> Self {
        Self(keyspace)
    }
}

impl AsyncKeyspace {
    /// Returns the keyspace, for transactions and for operations that do not wait.
    pub fn keyspace(&self) -> &Keyspace {
        &self.0
    }

    /// Runs any operations on a blocking thread, as [`AsyncDb::run`].
    ///
    /// # Errors
    /// As for [`AsyncDb::run`].
    pub async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Keyspace) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let keyspace = self.0.clone();
        run(self.0.shared(), move || work(&keyspace)).await
    }

    /// Returns the value of a key.
    ///
    /// # Errors
    /// As for [`Keyspace::get`] and [`AsyncDb::run`].
    pub async fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        if matches!(self.0.shared().engine, skein_data::Engine::Memory(_)) {
            return Ok(self.0.get(key)?.map(|value| value.to_vec()));
        }
        let key = key.as_ref().to_vec();
        self.run(move |keyspace| Ok(keyspace.get(key)?.map(|value| value.to_vec()))).await
    }

    /// Sets a key to a value.
    ///
    /// # Errors
    /// As for [`Keyspace::insert`] and [`AsyncDb::run`].
    pub async fn insert(&self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Result<()> {
        let (key, value) = (key.into(), value.into());
        self.run(move |keyspace| keyspace.insert(key, value)).await
    }

    /// Removes a key. Returns whether it was present.
    ///
    /// # Errors
    /// As for [`Keyspace::remove`] and [`AsyncDb::run`].
    pub async fn remove(&self, key: impl Into<Vec<u8>>) -> Result<bool> {
        let key = key.into();
        self.run(move |keyspace| keyspace.remove(key)).await
    }

    /// Returns a stream over the rows of a range, in order.
    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> AsyncIter {
        AsyncIter::from(self.0.range(range))
    }

    /// Returns a stream over the rows of all keys that begin with `prefix`.
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> AsyncIter {
        AsyncIter::from(self.0.prefix(prefix))
    }

    /// Returns a stream over all rows.
    pub fn rows(&self) -> AsyncIter {
        AsyncIter::from(self.0.iter())
    }
}
