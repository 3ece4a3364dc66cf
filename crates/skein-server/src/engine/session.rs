//! A worker's way into an engine.

use std::ops::{Bound, ControlFlow};

use skein_disk::{DiskStore, ScanEntries, ScanRequest};

use super::disk::{DiskEngine, DiskRowReader};
use super::transaction::{self, EngineTransaction};
use super::writer::{DiskWriter, EngineWriter};
use super::{Engine, EngineBounds, Error, Result, RowRef, ScanDirection, Ticket};

/// Keys that one step of a range removal removes at most.
pub(super) const REMOVALS: usize = 256;

/// What one step of a range removal did.
#[derive(Debug)]
pub(crate) struct RangeRemovalStep {
    pub count: usize,
    /// The lower bound of what is left to do; `None` if nothing is.
    pub rest: Option<Bound<Vec<u8>>>,
    pub ticket: Ticket,
}

/// A worker's way into an engine.
#[derive(Debug)]
pub struct EngineSession {
    engine: Engine,
    way: SessionBackend,
    /// The time that the session takes for the present one; see [`Session::freeze`].
    frozen: Option<u64>,
}

#[derive(Debug)]
enum SessionBackend {
    Memory(skein_store::Session),
    Disk(DiskEngine, DiskRowReader),
}

impl EngineSession {
    pub(super) fn new(engine: &Engine) -> Self {
        let way = match engine {
            Engine::Memory(store) => {
                let mut session = store.session();
                session.spread_columns(true);
                session.admit_all();
                SessionBackend::Memory(session)
            }
            Engine::Disk(disk) => SessionBackend::Disk(disk.clone(), DiskRowReader::default()),
        };
        Self { engine: engine.clone(), way, frozen: None }
    }

    /// The engine that it is of.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Lets the session see the present time from now on, and no other until this is called again: what is done meanwhile agrees on what has expired.
    pub(crate) fn freeze(&mut self) {
        let now = self.engine.now();
        self.frozen = Some(now);
        if let SessionBackend::Memory(session) = &mut self.way {
            session.freeze(Some(now));
        }
    }

    /// The time by which keys expire, in milliseconds since 1970: the present, or as it was frozen.
    pub(crate) fn now(&self) -> u64 {
        self.frozen.unwrap_or_else(|| self.engine.now())
    }

    /// A worker begins a turn; see [`skein_store::Session::begin_turn`].
    pub(crate) fn begin_turn(&mut self) {
        if let SessionBackend::Memory(session) = &mut self.way {
            session.begin_turn();
        }
    }

    /// The limit that memory has, in bytes.
    #[inline]
    pub(crate) fn memory_limit(&self) -> Option<usize> {
        match &self.way {
            SessionBackend::Memory(session) => session.memory_limit(),
            SessionBackend::Disk(..) => None,
        }
    }

    /// Asks for room for writes of about `bytes`, where there are `beside` besides the engine's; how many bytes can be added, see
    /// [`skein_store::Session::make_room`].
    ///
    /// # Errors
    /// Writes are stopped.
    pub(crate) fn make_room(&mut self, bytes: usize, beside: usize) -> Result<(usize, Ticket)> {
        match &mut self.way {
            SessionBackend::Memory(session) => Ok(session.make_room(bytes, beside)?),
            SessionBackend::Disk(..) => Ok((usize::MAX, Ticket::default())),
        }
    }

    /// Shows `look` the row of a key.
    #[inline]
    pub(crate) fn get_with<R>(
        &mut self,
        key: &[u8],
        look: impl FnOnce(Result<Option<RowRef<'_>>>) -> R,
    ) -> R {
        let now = self.now();
        match &mut self.way {
            SessionBackend::Memory(session) => session.get_with(key, |row| look(Ok(row))),
            SessionBackend::Disk(disk, reader) => {
                look(reader.row(key, |value| disk.store().get_into(key, value)).map(|row| live(row, now)))
            }
        }
    }

    /// Of a key that is absent: a number that grows when it comes and goes again. On disk it never does.
    pub(crate) fn removal_counter(&self, key: &[u8]) -> u64 {
        match &self.way {
            SessionBackend::Memory(session) => session.removal_count(key),
            SessionBackend::Disk(..) => 0,
        }
    }

    /// Many lookups; `found` is called once per key, with its position, in no particular order. Each key is read at a moment of its own.
    pub(crate) fn get_many(
        &mut self,
        keys: &[&[u8]],
        mut found: impl FnMut(usize, Result<Option<RowRef<'_>>>),
    ) {
        let now = self.now();
        match &mut self.way {
            SessionBackend::Memory(session) => session.get_many(keys, |at, row| found(at, Ok(row))),
            SessionBackend::Disk(disk, reader) => {
                reader.each(disk.store(), keys, |at, row| found(at, row.map(|row| live(row, now))));
            }
        }
    }

    /// As `get_many`, as of one moment with respect to MSET, and in the order of `keys`. Rows of more than `bytes_most` bytes together may be refused.
    pub(crate) fn get_many_atomic(
        &mut self,
        keys: &[&[u8]],
        bytes_most: usize,
        mut found: impl FnMut(usize, Option<RowRef<'_>>),
    ) -> Result<()> {
        let now = self.now();
        match &mut self.way {
            SessionBackend::Memory(session) => session.get_many_atomic(keys, found),
            SessionBackend::Disk(disk, reader) => {
                return reader.rows(disk.store(), keys, bytes_most, |at, row| found(at, live(row, now)));
            }
        }
        Ok(())
    }

    /// How many of the keys are there; as of one moment, but on disk only if they do not hold much.
    pub(crate) fn count_present(&mut self, keys: &[&[u8]]) -> Result<usize> {
        let mut count = 0;
        match &mut self.way {
            SessionBackend::Memory(session) => {
                session.get_many_atomic(keys, |_, row| count += usize::from(row.is_some()));
                Ok(count)
            }
            SessionBackend::Disk(..) => {
                let mut failed = None;
                self.get_many(keys, |_, row| match present(row) {
                    Ok(present) => count += usize::from(present),
                    Err(error) => failed = Some(error),
                });
                failed.map_or(Ok(count), Err)
            }
        }
    }

    /// Shows `each` the rows within bounds, in order, until it breaks; it wants so many keys at most. Not a snapshot.
    ///
    /// # Errors
    /// The trie of a disk store keeps no order; a page that cannot be read, or is damaged; a value that is no row. What was read before was shown.
    pub fn scan(
        &mut self,
        bounds: EngineBounds<'_>,
        direction: ScanDirection,
        most: usize,
        each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.show(bounds, direction, most, DiskStore::range, each)
    }

    /// Whether keys have an order; without one, [`scan`](Self::scan) is refused.
    pub fn is_ordered(&self) -> bool {
        match &self.way {
            SessionBackend::Memory(_) => true,
            SessionBackend::Disk(disk, _) => disk.store().shape().is_ordered(),
        }
    }

    /// The same as [`scan`](Self::scan), forward; where keys have no order, it shows all of them in no particular one, behind a key that the lower bound excludes.
    ///
    /// # Errors
    /// Keys have no order, and there are other bounds; otherwise as [`scan`](Self::scan).
    pub fn walk(
        &mut self,
        bounds: EngineBounds<'_>,
        most: usize,
        each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.show(bounds, ScanDirection::Forward, most, DiskStore::walk, each)
    }

    fn show(
        &mut self,
        bounds: EngineBounds<'_>,
        direction: ScanDirection,
        most: usize,
        read: impl Fn(&DiskStore, &ScanRequest<'_>) -> skein_disk::Result<ScanEntries>,
        mut each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let now = self.now();
        match &mut self.way {
            SessionBackend::Memory(session) => session.scan(bounds, direction, each),
            SessionBackend::Disk(disk, reader) => {
                let store = disk.store();
                let read = |portion: &ScanRequest<'_>, before| {
                    let found = read(store, portion)?;
                    store.check_scanned(before, before + found.entries.len() as u64)?;
                    Ok(found)
                };
                return reader.scan(read, bounds, direction, most, |key, row| {
                    if row.has_expired(now) { ControlFlow::Continue(()) } else { each(key, row) }
                });
            }
        }
        Ok(())
    }

    /// How many of the first `most` keys of a range there are, and the last of them if there may be more.
    pub(crate) fn step_over(
        &mut self,
        bounds: EngineBounds<'_>,
        most: usize,
    ) -> Result<(usize, Option<Vec<u8>>)> {
        let now = self.now();
        match &mut self.way {
            SessionBackend::Memory(session) => Ok(count_keys(bounds, most, |bounds, each| {
                session.scan(bounds, ScanDirection::Forward, each);
            })),
            SessionBackend::Disk(disk, reader) => {
                reader.step_over(|portion, _| disk.store().range(portion), bounds, most, now)
            }
        }
    }

    /// Runs single-key writes with one append to the log, if they are few; the ticket covers what was written.
    ///
    /// If there is an error, none of it may be acknowledged. On disk what was written since it was last published, which is in [`Writer::between`] if it is much,
    /// was not done then, and the ticket is of what was done before.
    pub fn write<R>(&mut self, writes: impl FnOnce(&mut EngineWriter<'_, '_>) -> R) -> (Result<R>, Ticket) {
        let now = self.now();
        match &mut self.way {
            SessionBackend::Memory(session) => {
                match session.write(|writer| writes(&mut EngineWriter::Memory(writer))) {
                    Ok((answer, ticket)) => (Ok(answer), ticket),
                    Err(error) => (Err(error.into()), Ticket::default()),
                }
            }
            SessionBackend::Disk(disk, reader) => {
                let mut writer = DiskWriter::new(disk, reader, now);
                let answer = writes(&mut EngineWriter::Disk(&mut writer));
                let done = writer.publish();
                (done.map(|()| answer), writer.ticket())
            }
        }
    }

    /// Whether writes that cannot be acknowledged were not done.
    pub(crate) fn can_roll_back(&self) -> bool {
        matches!(self.way, SessionBackend::Disk(..))
    }

    /// Sets several keys together: all or nothing, on disk and for `get_many_atomic`. MSET.
    pub(crate) fn put_all(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<Ticket> {
        let now = self.now();
        match &mut self.way {
            SessionBackend::Memory(session) => Ok(session.put_all(pairs)?),
            SessionBackend::Disk(disk, reader) => {
                let mut writer = DiskWriter::whole(disk, reader, now);
                writer.put_all(pairs)?;
                writer.publish()?;
                Ok(writer.ticket())
            }
        }
    }

    /// Begins a transaction: all that is read and written until its end is one group. Whoever wants isolation keeps others away meanwhile.
    ///
    /// # Errors
    /// Writes are stopped.
    pub(crate) fn begin(&mut self) -> Result<EngineTransaction<'_>> {
        let now = self.now();
        let way = match &mut self.way {
            SessionBackend::Memory(session) => transaction::TransactionBackend::Memory(session.open_batch()?),
            SessionBackend::Disk(disk, reader) => {
                transaction::TransactionBackend::Disk(DiskWriter::whole(disk, reader, now))
            }
        };
        Ok(EngineTransaction::new(&self.engine, now, way))
    }

    /// Removes the first keys within bounds. Not atomic: a key that comes meanwhile may stay.
    pub(crate) fn remove_some(&mut self, bounds: EngineBounds<'_>) -> Result<RangeRemovalStep> {
        let now = self.now();
        match &mut self.way {
            SessionBackend::Memory(session) => {
                let (_, last) = count_keys(bounds, REMOVALS, |bounds, each| {
                    session.scan(bounds, ScanDirection::Forward, each);
                });
                let upper = last.as_deref().map_or(bounds.1, Bound::Included);
                let (count, ticket) = session.remove_range((bounds.0, upper))?;
                Ok(RangeRemovalStep { count, rest: last.map(Bound::Excluded), ticket })
            }
            SessionBackend::Disk(disk, reader) => {
                let mut writer = DiskWriter::whole(disk, reader, now);
                let removed = writer.remove_range(bounds, REMOVALS)?;
                writer.publish()?;
                Ok(RangeRemovalStep { ticket: writer.ticket(), ..removed })
            }
        }
    }
}

/// Whether a key that was looked up is there.
pub(super) fn present(row: Result<Option<RowRef<'_>>>) -> Result<bool> {
    match row {
        Ok(row) => Ok(row.is_some()),
        // It says not when it expires, so it does not.
        Err(Error::NotARow { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

/// A row, if it has not expired.
pub(super) fn live(row: Option<RowRef<'_>>, now: u64) -> Option<RowRef<'_>> {
    row.filter(|row| !row.has_expired(now))
}

/// How many of the first `most` keys of a range there are, which `scan` goes through, and the last of them if there may be more.
pub(super) fn count_keys(
    bounds: EngineBounds<'_>,
    most: usize,
    scan: impl FnOnce(EngineBounds<'_>, &mut dyn FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>),
) -> (usize, Option<Vec<u8>>) {
    let (mut count, mut last) = (0, None);
    scan(bounds, &mut |key, _| {
        count += 1;
        if count == most {
            last = Some(key.to_vec());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    (count, last)
}
