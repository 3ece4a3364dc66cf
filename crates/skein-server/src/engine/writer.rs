//! Single-key writes, many with one append to the log.
//!
//! ```text
//!   memory   each write is visible at once
//!   disk     command, command, ...  in one transaction  ─ published when it is full, between two commands ─  command, ...  ─ published
//! ```
//!
//! On disk, commands that are published together cost one publication and one record of the log. What fails on its way breaks the transaction, and all of it
//! was not done; so who writes asks [`Writer::published`] after each step, to know what can no longer be undone.

use skein_disk::Transaction;
use skein_store::{Recorder, Rows, Updated};

use super::disk::{DiskEngine, Reader};
use super::{Change, Error, Result, RowRef, RowWriter, Ticket};

/// The scope of [`Session::write`](super::Session::write).
#[derive(Debug)]
pub enum Writer<'w, 's> {
    /// To rows in memory.
    Memory(&'w mut skein_store::Writer<'s>),
    /// To the disk engine.
    Disk(&'w mut DiskWriter<'s>),
}

impl Writer<'_, '_> {
    /// Between two commands: publishes what was written if that is much.
    ///
    /// # Errors
    /// It could not be published, and was not done.
    pub fn between(&mut self) -> Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Disk(disk) => disk.make_room(),
        }
    }

    /// Publishes what was written.
    ///
    /// # Errors
    /// It could not be published, and was not done.
    pub(crate) fn publish(&mut self) -> Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Disk(disk) => disk.publish(),
        }
    }

    /// Whether something was published since this was last asked, in which nothing can be undone any more.
    pub(crate) fn published(&mut self) -> bool {
        match self {
            Self::Memory(_) => false,
            Self::Disk(disk) => std::mem::take(&mut disk.published),
        }
    }

    /// Whether nothing more can be written, and what was not published will not be.
    pub fn is_broken(&self) -> bool {
        match self {
            Self::Memory(_) => false,
            Self::Disk(disk) => disk.transaction.as_ref().is_some_and(Transaction::is_broken),
        }
    }

    /// Looks the keys up for the cache, because they are about to be written, where that helps.
    pub(crate) fn prefetch(&self, keys: &[&[u8]]) {
        match self {
            Self::Memory(writer) => writer.prefetch(keys),
            Self::Disk(disk) => disk.engine.store().prefetch(keys),
        }
    }

    /// Sets a key to a value, whatever it held.
    ///
    /// # Errors
    /// A key or a value over its limit; no room; writes are stopped; a failed file operation.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        match self {
            Self::Memory(writer) => Ok(writer.put(key, value).map(drop)?),
            Self::Disk(disk) => disk.put(key, value),
        }
    }

    /// Removes a key; false if it was not there. Removals that follow each other may be published before the last one.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Result<bool> {
        match self {
            Self::Memory(writer) => Ok(writer.remove(key)?.existed),
            Self::Disk(disk) => disk.remove(key),
        }
    }
}

impl RowWriter for Writer<'_, '_> {
    type Error = Error;

    fn check_sizes(&self, key: &[u8], bytes: usize) -> skein_store::Result<()> {
        match self {
            Self::Memory(writer) => writer.check_sizes(key, bytes),
            Self::Disk(disk) => disk.engine.check_sizes(key, bytes),
        }
    }

    fn update_recorded<E: From<skein_store::Error> + From<Error>>(
        &mut self,
        key: &[u8],
        decide: impl FnMut(Option<RowRef<'_>>, &Rows, &mut Recorder<'_>) -> std::result::Result<Change, E>,
    ) -> std::result::Result<Updated, E> {
        match self {
            Self::Memory(writer) => writer.update_recorded(key, decide),
            Self::Disk(disk) => disk.update(key, decide),
        }
    }
}

/// Writes to the disk engine.
#[derive(Debug)]
pub struct DiskWriter<'w> {
    engine: &'w DiskEngine,
    reader: &'w mut Reader,
    /// Begun by the first write.
    transaction: Option<Transaction<'w>>,
    published: bool,
    /// Of what was published.
    ticket: Ticket,
}

impl<'w> DiskWriter<'w> {
    pub(super) fn new(engine: &'w DiskEngine, reader: &'w mut Reader) -> Self {
        Self { engine, reader, transaction: None, published: false, ticket: Ticket::default() }
    }

    pub(super) fn ticket(&self) -> Ticket {
        self.ticket
    }

    pub(super) fn publish(&mut self) -> Result<()> {
        if let Some(transaction) = self.transaction.take() {
            self.ticket = self.ticket.max(transaction.commit()?);
            self.published = true;
        }
        Ok(())
    }

    fn make_room(&mut self) -> Result<()> {
        if self.transaction.as_ref().is_some_and(Transaction::is_full) { self.publish() } else { Ok(()) }
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.engine.check_sizes(key, value.len())?;
        let Self { engine, reader, transaction, .. } = self;
        transaction_of(engine, transaction).set(key, reader.of_value(value))?;
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> Result<bool> {
        DiskEngine::check_key(key)?;
        self.make_room()?;
        Ok(transaction_of(self.engine, &mut self.transaction).remove(key)?)
    }

    fn update<E: From<skein_store::Error> + From<Error>>(
        &mut self,
        key: &[u8],
        mut decide: impl FnMut(Option<RowRef<'_>>, &Rows, &mut Recorder<'_>) -> std::result::Result<Change, E>,
    ) -> std::result::Result<Updated, E> {
        DiskEngine::check_key(key)?;
        let Self { engine, reader, transaction, .. } = self;
        let transaction = transaction_of(engine, transaction);
        let current = reader.row(key, |value| transaction.get_into(key, value))?;
        let version = current.map(RowRef::version);
        let unchanged = Updated { existed: version.is_some(), changed: false, version: version.unwrap_or(0) };
        match decide(current, engine.rows(), &mut Recorder::none())? {
            Change::Put(row) => {
                engine.check_sizes(key, row.as_ref().content_len())?;
                transaction.set(key, reader.of_row(row.as_ref())).map(drop).map_err(Error::from)?;
            }
            Change::Remove if version.is_some() => {
                transaction.remove(key).map(drop).map_err(Error::from)?;
            }
            Change::Keep | Change::Remove => return Ok(unchanged),
        }
        Ok(Updated { changed: true, version: transaction.version_of_last(), ..unchanged })
    }
}

/// The transaction under way; begins one if there is none.
fn transaction_of<'t, 'w>(
    engine: &'w DiskEngine,
    transaction: &'t mut Option<Transaction<'w>>,
) -> &'t mut Transaction<'w> {
    transaction.get_or_insert_with(|| engine.store().begin())
}
