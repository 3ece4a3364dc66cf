//! Single-key writes, many with one append to the log.
//!
//! ```text
//!   memory   each write is visible immediately
//!   disk     commands of one transaction ─► publication when it is full, between two commands
//!            ─► commands of the next transaction ─► publication ...
//! ```
//!
//! On disk, commands that are published together cost one publication and one log record. A command
//! that fails during its execution breaks the transaction and undoes all of it. So the caller must
//! ask [`EngineWriter::published`] after each step to know which writes cannot be undone any more.

use skein_disk::{DiskError, DiskTransaction};
use skein_store::{Recorder, RowAllocator, RowUpdate};

use crate::disk::{DiskEngine, DiskRowReader};
use crate::session::{RangeRemovalStep, live};
use crate::{EngineBounds, Error, Result, RowChange, RowRef, RowWriter, Ticket};

/// The writer that [`EngineSession::write`](super::EngineSession::write) passes to its closure.
#[derive(Debug)]
pub enum EngineWriter<'w, 's> {
    /// Writes to rows in memory.
    Memory(&'w mut skein_store::Writer<'s>),
    /// Writes to the disk engine.
    Disk(&'w mut DiskWriter<'s>),
}

impl EngineWriter<'_, '_> {
    /// Publishes the writes so far if they are many. Call it between two commands.
    ///
    /// # Errors
    /// If the writes could not be published. They were not done.
    pub fn publish_if_many(&mut self) -> Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Disk(disk) => disk.make_room(),
        }
    }

    /// Publishes the writes so far.
    ///
    /// # Errors
    /// If the writes could not be published. They were not done.
    pub fn publish(&mut self) -> Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Disk(disk) => disk.publish(),
        }
    }

    /// Returns whether writes were published since the last call. Those can no longer be undone.
    pub fn published(&mut self) -> bool {
        match self {
            Self::Memory(_) => false,
            Self::Disk(disk) => std::mem::take(&mut disk.published),
        }
    }

    /// Returns whether the transaction has failed: nothing more can be written, and the unpublished
    /// writes are lost.
    pub fn is_broken(&self) -> bool {
        match self {
            Self::Memory(_) => false,
            Self::Disk(disk) => disk.is_broken(),
        }
    }

    /// Loads the index nodes of keys that are about to be written into the cache, if that helps.
    pub fn prefetch(&mut self, keys: &[&[u8]]) {
        match self {
            Self::Memory(writer) => writer.prefetch(keys),
            Self::Disk(disk) => disk.engine.store().prefetch(keys),
        }
    }

    /// Sets a key to a value. Replaces any earlier value.
    ///
    /// # Errors
    /// If the key or the value exceeds its limit, memory is short, writes are stopped, or a file
    /// operation fails.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        match self {
            Self::Memory(writer) => Ok(writer.put(key, value).map(drop)?),
            Self::Disk(disk) => disk.put(key, value, None),
        }
    }

    /// Returns the time that decides which keys have expired, in milliseconds since 1970.
    pub fn now(&self) -> u64 {
        match self {
            Self::Memory(writer) => writer.now(),
            Self::Disk(disk) => disk.now,
        }
    }

    /// Sets a key to a value until a time (milliseconds since 1970).
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn put_until(&mut self, key: &[u8], value: &[u8], expires: u64) -> Result<()> {
        match self {
            Self::Memory(writer) => Ok(writer.put_until(key, value, expires).map(drop)?),
            Self::Disk(disk) => disk.put(key, value, Some(expires)),
        }
    }

    /// Removes a key. Returns `false` if it did not exist. In a series of removals, some may be
    /// published before the last one.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn remove(&mut self, key: &[u8]) -> Result<bool> {
        match self {
            Self::Memory(writer) => Ok(writer.remove(key)?.existed),
            Self::Disk(disk) => disk.remove(key),
        }
    }
}

impl RowWriter for EngineWriter<'_, '_> {
    type Error = Error;

    fn check_sizes(&self, key: &[u8], bytes: usize) -> skein_store::Result<()> {
        match self {
            Self::Memory(writer) => writer.check_sizes(key, bytes),
            Self::Disk(disk) => RowWriter::check_sizes(&**disk, key, bytes),
        }
    }

    fn rename(&mut self, from: &[u8], to: &[u8], replace: bool) -> Result<Option<bool>> {
        match self {
            Self::Memory(writer) => Ok(writer.rename(from, to, replace)?),
            Self::Disk(disk) => disk.rename(from, to, replace),
        }
    }

    fn put_columns(&mut self, key: &[u8], columns: &[(&[u8], &[u8])]) -> Result<usize> {
        match self {
            Self::Memory(writer) => Ok(writer.put_columns(key, columns)?),
            Self::Disk(disk) => disk.put_columns(key, columns),
        }
    }

    fn replace_columns(
        &mut self,
        key: &[u8],
        columns: &[(&[u8], &[u8])],
        expires: Option<u64>,
    ) -> Result<()> {
        match self {
            Self::Memory(writer) => Ok(writer.replace_columns(key, columns, expires)?),
            Self::Disk(disk) => disk.replace_columns(key, columns, expires),
        }
    }

    fn remove_columns(&mut self, key: &[u8], names: &[&[u8]]) -> Result<usize> {
        match self {
            Self::Memory(writer) => Ok(writer.remove_columns(key, names)?),
            Self::Disk(disk) => disk.remove_columns(key, names),
        }
    }

    fn update_column<E: From<skein_store::Error> + From<Error>>(
        &mut self,
        key: &[u8],
        column: &[u8],
        decide: impl FnMut(Option<&[u8]>) -> std::result::Result<Option<Vec<u8>>, E>,
    ) -> std::result::Result<RowUpdate, E> {
        match self {
            Self::Memory(writer) => writer.update_column(key, column, decide),
            Self::Disk(disk) => disk.update_column(key, column, decide),
        }
    }

    fn update_recorded<E: From<skein_store::Error> + From<Error>>(
        &mut self,
        key: &[u8],
        decide: impl FnMut(
            Option<RowRef<'_>>,
            &RowAllocator,
            &mut Recorder<'_>,
        ) -> std::result::Result<RowChange, E>,
    ) -> std::result::Result<RowUpdate, E> {
        match self {
            Self::Memory(writer) => writer.update_recorded(key, decide),
            Self::Disk(disk) => disk.update_recorded(key, decide),
        }
    }
}

/// Writes to the disk engine.
#[derive(Debug)]
pub struct DiskWriter<'w> {
    engine: &'w DiskEngine,
    reader: &'w mut DiskRowReader,
    /// Begun by the first write.
    transaction: Option<DiskTransaction<'w>>,
    /// Whether all writes form one transaction, which is published at its end.
    whole: bool,
    /// If `whole`: the error that prevents the publication.
    failed: Option<Error>,
    published: bool,
    /// The time that decides which keys have expired.
    now: u64,
    /// The ticket of the published writes.
    ticket: Ticket,
}

impl<'w> DiskWriter<'w> {
    pub(crate) fn new(engine: &'w DiskEngine, reader: &'w mut DiskRowReader, now: u64) -> Self {
        let ticket = Ticket::default();
        Self { engine, reader, transaction: None, whole: false, failed: None, published: false, now, ticket }
    }

    /// Creates a writer that publishes all its writes together, or none.
    pub(crate) fn new_whole(engine: &'w DiskEngine, reader: &'w mut DiskRowReader, now: u64) -> Self {
        let transaction = Some(engine.store().begin());
        Self { whole: true, transaction, ..Self::new(engine, reader, now) }
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.failed.is_some() || self.transaction.as_ref().is_some_and(DiskTransaction::is_broken)
    }

    pub(crate) fn ticket(&self) -> Ticket {
        self.ticket
    }

    pub(crate) fn publish(&mut self) -> Result<()> {
        if let Some(failed) = self.failed.take() {
            self.transaction = None;
            return Err(failed);
        }
        if let Some(transaction) = self.transaction.take() {
            self.ticket = self.ticket.max(transaction.commit()?);
            self.published = true;
        }
        Ok(())
    }

    fn make_room(&mut self) -> Result<()> {
        let full = !self.whole && self.transaction.as_ref().is_some_and(DiskTransaction::is_full);
        if full { self.publish() } else { Ok(()) }
    }

    /// Handles the result of a write. In a `whole` transaction, an error fails the transaction,
    /// because the command may have done other writes already.
    fn note_result<T>(&mut self, done: skein_disk::Result<T>) -> Result<T> {
        if let (true, Err(error)) = (self.whole, &done) {
            self.failed.get_or_insert_with(|| error.clone().into());
        }
        Ok(done?)
    }

    /// Returns whether keys have an order.
    pub(crate) fn is_ordered(&self) -> bool {
        self.engine.store().shape().is_ordered()
    }

    /// Returns the transaction for reading. Begins one if there is none.
    pub(crate) fn parts(&mut self) -> (&mut DiskRowReader, &mut DiskTransaction<'w>) {
        (&mut *self.reader, transaction_of(self.engine, &mut self.transaction))
    }

    /// Sets several keys. After an error the whole transaction fails. `REQUIRES: whole`
    pub(crate) fn put_all(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        for (key, value) in pairs {
            self.engine.check_sizes(key, value.len())?;
        }
        pairs.iter().try_for_each(|(key, value)| self.put(key, value, None))
    }

    /// Removes the first `most` keys within bounds.
    pub(crate) fn remove_range(&mut self, bounds: EngineBounds<'_>, most: usize) -> Result<RangeRemovalStep> {
        let removed = transaction_of(self.engine, &mut self.transaction).remove_range(bounds, most);
        // A store without an order refuses before it removes anything.
        if let Err(error @ DiskError::NoOrder) = removed {
            return Err(error.into());
        }
        let removed = self.note_result(removed)?;
        Ok(RangeRemovalStep { count: removed.count, rest: removed.rest, ticket: Ticket::default() })
    }

    fn put(&mut self, key: &[u8], value: &[u8], expires: Option<u64>) -> Result<()> {
        self.engine.check_sizes(key, value.len())?;
        let Self { engine, reader, transaction, .. } = self;
        let done = transaction_of(engine, transaction).set(key, reader.of_value(value, expires));
        self.note_result(done).map(drop)
    }

    fn remove(&mut self, key: &[u8]) -> Result<bool> {
        DiskEngine::check_key(key)?;
        self.make_room()?;
        let Self { engine, reader, transaction, .. } = self;
        let transaction = transaction_of(engine, transaction);
        let was_there = match reader.row(key, |value| transaction.get_into(key, value)) {
            Ok(row) => live(row, self.now).is_some(),
            // The value is removed even if it is not a row.
            Err(Error::NotARow { .. }) => true,
            Err(error) => return Err(error),
        };
        let done = transaction.remove(key);
        self.note_result(done)?;
        Ok(was_there)
    }

    fn update_row<E: From<skein_store::Error> + From<Error>>(
        &mut self,
        key: &[u8],
        mut decide: impl FnMut(
            Option<RowRef<'_>>,
            &RowAllocator,
            &mut Recorder<'_>,
        ) -> std::result::Result<RowChange, E>,
    ) -> std::result::Result<RowUpdate, E> {
        DiskEngine::check_key(key)?;
        let Self { engine, reader, transaction, .. } = self;
        let transaction = transaction_of(engine, transaction);
        let current = live(reader.row(key, |value| transaction.get_into(key, value))?, self.now);
        let version = current.map(RowRef::version);
        let unchanged =
            RowUpdate { existed: version.is_some(), changed: false, version: version.unwrap_or(0) };
        let mut recorder = Recorder::none();
        let change = decide(current, engine.rows(), &mut recorder)?;
        let done = match recorder.resolve_expiry(key, current, change, engine.rows()) {
            RowChange::Put(row) => {
                engine.check_sizes(key, row.as_ref().content_len())?;
                transaction.set(key, reader.of_row(row.as_ref())).map(drop)
            }
            RowChange::Remove if version.is_some() => transaction.remove(key).map(drop),
            RowChange::Keep | RowChange::Expire(_) | RowChange::Remove => return Ok(unchanged),
        };
        let version = transaction.version_of_last();
        self.note_result(done)?;
        Ok(RowUpdate { changed: true, version, ..unchanged })
    }
}

/// On disk, columns are always in their row, however many there are.
impl RowWriter for DiskWriter<'_> {
    type Error = Error;

    fn check_sizes(&self, key: &[u8], bytes: usize) -> skein_store::Result<()> {
        self.engine.check_sizes(key, bytes)
    }

    fn update_recorded<E: From<skein_store::Error> + From<Error>>(
        &mut self,
        key: &[u8],
        decide: impl FnMut(
            Option<RowRef<'_>>,
            &RowAllocator,
            &mut Recorder<'_>,
        ) -> std::result::Result<RowChange, E>,
    ) -> std::result::Result<RowUpdate, E> {
        self.update_row(key, decide)
    }
}

/// Returns the open transaction. Begins one if there is none.
fn transaction_of<'t, 'w>(
    engine: &'w DiskEngine,
    transaction: &'t mut Option<DiskTransaction<'w>>,
) -> &'t mut DiskTransaction<'w> {
    transaction.get_or_insert_with(|| engine.store().begin())
}
