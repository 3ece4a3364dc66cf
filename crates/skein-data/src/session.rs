//! A worker's access to an engine.

use std::ops::{Bound, ControlFlow};

use skein_disk::{DiskStore, ScanEntries, ScanRequest};
use skein_model::StoredKeyspace;
use skein_store::RowRef;

use crate::disk::{DiskEngine, DiskRowReader, DiskWriter, StoreSource, live};
use crate::range_steps::{REMOVALS, RangeRemovalStep, count_keys, present};
use crate::transaction::{self, EngineTransaction};
use crate::writer::EngineWriter;
use crate::{Engine, EngineBounds, KeyState, Result, RowView, ScanDirection, Ticket};

/// A worker's access to an engine.
#[derive(Debug)]
pub struct EngineSession {
    engine: Engine,
    pub(crate) backend: SessionBackend,
    /// The time that the session uses as the current one; see [`EngineSession::freeze`].
    frozen: Option<u64>,
}

#[derive(Debug)]
pub(crate) enum SessionBackend {
    Memory(skein_store::Session),
    Disk(DiskEngine, DiskRowReader),
}

impl EngineSession {
    pub(crate) fn new(engine: &Engine, admits_all: bool) -> Self {
        let backend = match engine {
            Engine::Memory(store) => {
                let mut session = store.session();
                session.spread_columns(true);
                session.pack_members(true);
                if admits_all {
                    session.admit_all();
                }
                SessionBackend::Memory(session)
            }
            Engine::Disk(disk) => SessionBackend::Disk(disk.clone(), DiskRowReader::default()),
        };
        Self { engine: engine.clone(), backend, frozen: None }
    }

    /// Returns the engine of this session.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Reads the clock, and keeps this time until the next call, so that all operations between two
    /// calls agree on which keys have expired.
    pub fn freeze(&mut self) {
        let now = self.engine.now();
        self.frozen = Some(now);
        if let SessionBackend::Memory(session) = &mut self.backend {
            session.freeze(Some(now));
        }
    }

    /// Returns the frozen time, or the current one, in milliseconds since 1970.
    pub fn now(&self) -> u64 {
        self.frozen.unwrap_or_else(|| self.engine.now())
    }

    /// Begins a turn of the worker; see [`skein_store::Session::begin_turn`].
    pub fn begin_turn(&mut self) {
        if let SessionBackend::Memory(session) = &mut self.backend {
            session.begin_turn();
        }
    }

    /// Returns the limit in bytes for which keys are evicted or writes rejected. The disk engine
    /// does neither.
    #[inline]
    pub fn memory_limit(&self) -> Option<usize> {
        match &self.backend {
            SessionBackend::Memory(session) => session.memory_limit(),
            SessionBackend::Disk(..) => None,
        }
    }

    /// Makes room for writes of about `bytes`, where `beside` bytes are used outside the engine.
    /// Returns how many bytes can be added; see [`skein_store::Session::make_room`].
    ///
    /// # Errors
    /// If writes are stopped.
    pub fn make_room(&mut self, bytes: usize, beside: usize) -> Result<(usize, Ticket)> {
        match &mut self.backend {
            SessionBackend::Memory(session) => Ok(session.make_room(bytes, beside)?),
            SessionBackend::Disk(..) => Ok((usize::MAX, Ticket::default())),
        }
    }

    /// Returns whether memory exceeds the limit and keys may be evicted; see
    /// [`skein_store::Session::exceeds_limit`].
    pub fn exceeds_limit(&mut self, beside: usize) -> bool {
        match &mut self.backend {
            SessionBackend::Memory(session) => session.exceeds_limit(beside),
            SessionBackend::Disk(..) => false,
        }
    }

    /// Calls `look` with the row of a key.
    #[inline]
    pub fn get_with<R>(&mut self, key: &[u8], look: impl FnOnce(Result<Option<RowView<'_>>>) -> R) -> R {
        let now = self.now();
        match &mut self.backend {
            SessionBackend::Memory(session) => session.get_with(key, |row| look(Ok(row.map(RowView::from)))),
            SessionBackend::Disk(disk, reader) => {
                let source = StoreSource { engine: disk, key, now };
                let row = reader.row(key, |value| disk.store().get_into(key, value));
                look(row.map(|row| live(row, now).map(|row| RowView::stored(row, &source))))
            }
        }
    }

    /// Calls `look` with the row of a key. This does not count as a use of the key.
    pub fn peek_with<R>(&mut self, key: &[u8], look: impl FnOnce(Result<Option<RowView<'_>>>) -> R) -> R {
        match &self.backend {
            SessionBackend::Memory(session) => session.peek_with(key, |row| look(Ok(RowView::peeked(row)))),
            SessionBackend::Disk(..) => self.get_with(key, look),
        }
    }

    /// Returns the state of a key. This does not count as a use of the key.
    pub fn key_state(&mut self, key: &[u8]) -> KeyState {
        let now = self.now();
        match &mut self.backend {
            SessionBackend::Memory(session) => session.peek_with(key, KeyState::of),
            SessionBackend::Disk(disk, reader) => {
                KeyState::of_read(reader.row(key, |value| disk.store().get_into(key, value)), now)
            }
        }
    }

    /// Keeps the keys that this session evicts from now on, or stops to do so; see
    /// [`skein_store::Session::report_evictions`].
    #[inline]
    pub fn report_evictions(&mut self, on: bool) {
        if let SessionBackend::Memory(session) = &mut self.backend {
            session.report_evictions(on);
        }
    }

    /// Returns the keys that were evicted since the last call.
    pub fn take_evicted(&mut self) -> Vec<Vec<u8>> {
        match &mut self.backend {
            SessionBackend::Memory(session) => session.take_evicted(),
            SessionBackend::Disk(..) => Vec::new(),
        }
    }

    /// Does the same as [`get_with`](Self::get_with), and sees a batch
    /// ([`apply_if`](Self::apply_if)) whole: after a read has shown one key of the batch, later
    /// reads show its other keys.
    pub fn get_settled_with<R>(
        &mut self,
        key: &[u8],
        look: impl FnOnce(Result<Option<RowView<'_>>>) -> R,
    ) -> R {
        match &mut self.backend {
            SessionBackend::Memory(session) => {
                session.get_settled_with(key, |row| look(Ok(row.map(RowView::from))))
            }
            // A publication is one moment.
            SessionBackend::Disk(..) => self.get_with(key, look),
        }
    }

    /// Returns a number for an absent key that increases when the key is inserted and removed
    /// again.
    pub fn removal_counter(&self, key: &[u8]) -> u64 {
        match &self.backend {
            SessionBackend::Memory(session) => session.removal_count(key),
            SessionBackend::Disk(disk, _) => disk.removal_counter(key),
        }
    }

    /// Looks up many keys. Calls `found` once per key, with its position, in no particular order.
    /// Keys may be read at different moments. A lookup counts as a use of its key if `is_use` says
    /// so of its position.
    pub fn get_many(
        &mut self,
        keys: &[&[u8]],
        is_use: impl Fn(usize) -> bool,
        mut found: impl FnMut(usize, Result<Option<RowView<'_>>>),
    ) {
        let now = self.now();
        match &mut self.backend {
            SessionBackend::Memory(session) => {
                session.get_many_if_used(keys, is_use, |at, row| found(at, Ok(row.map(RowView::from))));
            }
            SessionBackend::Disk(disk, reader) => {
                reader.each(disk.store(), keys, |at, row| {
                    let source = StoreSource { engine: disk, key: keys[at], now };
                    found(at, row.map(|row| live(row, now).map(|row| RowView::stored(row, &source))));
                });
            }
        }
    }

    /// Reads keys that will be needed soon into the cache, with overlapping memory reads. This is a
    /// hint: it does not count as a use of the keys, and errors are ignored.
    ///
    /// ```
    /// # use skein_data::Engine;
    /// # use skein_store::{Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let engine = Engine::Memory(Store::open(folder.path(), StoreOptions::default())?);
    /// let mut session = engine.session();
    /// session.prefetch(&[b"bean goose", b"grey goose"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefetch(&mut self, keys: &[&[u8]]) {
        match &mut self.backend {
            SessionBackend::Memory(session) => session.get_many_if_used(
                keys,
                |_| false,
                |_, row| {
                    std::hint::black_box(row.map(RowRef::version));
                },
            ),
            SessionBackend::Disk(disk, _) => disk.store().prefetch(keys),
        }
    }

    /// Looks up many keys as of one moment with respect to MSET, and calls `found` in the order of
    /// `keys`. Rows of more than `bytes_most` bytes together may be refused.
    ///
    /// # Errors
    /// The rows are too long together, a page cannot be read or is damaged, or a value is no row.
    pub fn get_many_atomic(
        &mut self,
        keys: &[&[u8]],
        bytes_most: usize,
        mut found: impl FnMut(usize, Option<RowView<'_>>),
    ) -> Result<()> {
        let now = self.now();
        match &mut self.backend {
            SessionBackend::Memory(session) => {
                session.get_many_atomic(keys, |at, row| found(at, row.map(RowView::from)));
            }
            SessionBackend::Disk(disk, reader) => {
                return reader.rows(disk.store(), keys, bytes_most, |at, row| {
                    let source = StoreSource { engine: disk, key: keys[at], now };
                    found(at, live(row, now).map(|row| RowView::stored(row, &source)));
                });
            }
        }
        Ok(())
    }

    /// Counts the keys that exist, as of one moment. On disk this is one moment only if their
    /// values are small. Counts as a use of the keys if `is_use` says so.
    ///
    /// # Errors
    /// A page cannot be read or is damaged.
    pub fn count_present(&mut self, keys: &[&[u8]], is_use: bool) -> Result<usize> {
        let mut count = 0;
        match &mut self.backend {
            SessionBackend::Memory(session) => {
                let found = |_: usize, row: Option<RowRef<'_>>| count += usize::from(row.is_some());
                if is_use {
                    session.get_many_atomic(keys, found);
                } else {
                    session.peek_many_atomic(keys, found);
                }
                Ok(count)
            }
            SessionBackend::Disk(..) => {
                let mut failed = None;
                self.get_many(
                    keys,
                    |_| is_use,
                    |_, row| match present(row) {
                        Ok(present) => count += usize::from(present),
                        Err(error) => failed = Some(error),
                    },
                );
                failed.map_or(Ok(count), Err)
            }
        }
    }

    /// Calls `each` with the rows within bounds, in order, until it breaks. `most` is the number of
    /// keys that it wants at most. This is not a snapshot.
    ///
    /// # Errors
    /// If the trie of a disk store keeps no order, a page cannot be read or is damaged, or a value
    /// is not a row. Rows that were read before the error have been passed to `each`.
    pub fn scan(
        &mut self,
        bounds: EngineBounds<'_>,
        direction: ScanDirection,
        most: usize,
        each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.visit(bounds, direction, most, DiskStore::range, each)
    }

    /// Returns whether keys have an order. Without one, [`scan`](Self::scan) returns an error.
    pub fn is_ordered(&self) -> bool {
        match &self.backend {
            SessionBackend::Memory(_) => true,
            SessionBackend::Disk(disk, _) => disk.store().shape().is_ordered(),
        }
    }

    /// Does the same as [`scan`](Self::scan), forward only. If keys have no order, calls `each`
    /// with all rows in no particular order, starting behind the key that the lower bound excludes.
    ///
    /// # Errors
    /// If keys have no order and there are other bounds; otherwise as [`scan`](Self::scan).
    pub fn walk(
        &mut self,
        bounds: EngineBounds<'_>,
        most: usize,
        each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.visit(bounds, ScanDirection::Forward, most, DiskStore::walk, each)
    }

    fn visit(
        &mut self,
        bounds: EngineBounds<'_>,
        direction: ScanDirection,
        most: usize,
        read: impl Fn(&DiskStore, &ScanRequest<'_>) -> skein_disk::Result<ScanEntries>,
        mut each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let now = self.now();
        match &mut self.backend {
            SessionBackend::Memory(session) => {
                session.scan(bounds, direction, |key, row| each(key, row.into()));
            }
            SessionBackend::Disk(disk, reader) => {
                let store = disk.store();
                let read = |portion: &ScanRequest<'_>, before| {
                    let found = read(store, portion)?;
                    store.check_scanned(before, before + found.entries.len() as u64)?;
                    Ok(found)
                };
                return reader.scan(read, bounds, direction, most, |key, row| {
                    let source = StoreSource { engine: disk, key, now };
                    let view = RowView::stored(row, &source);
                    if row.has_expired(now) { ControlFlow::Continue(()) } else { each(key, view) }
                });
            }
        }
        Ok(())
    }

    /// Counts the first `most` keys of a range. Returns the count, and the last key if there may be
    /// more.
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    pub fn count_first(&mut self, bounds: EngineBounds<'_>, most: usize) -> Result<(usize, Option<Vec<u8>>)> {
        let now = self.now();
        match &mut self.backend {
            SessionBackend::Memory(session) => Ok(count_keys(bounds, most, |bounds, each| {
                session.scan(bounds, ScanDirection::Forward, |key, _| each(key));
            })),
            SessionBackend::Disk(disk, reader) => {
                reader.count_first(|portion, _| disk.store().range(portion), bounds, most, now)
            }
        }
    }

    /// Runs single-key writes with one append to the log if they are few. The returned ticket
    /// covers them.
    ///
    /// After an error, none of these writes may be acknowledged. On disk, the writes since the last
    /// publication were not done, and the ticket covers the writes before. (If many writes are
    /// unpublished, [`EngineWriter::publish_if_many`] publishes them.)
    pub fn write<R>(&mut self, writes: impl FnOnce(&mut EngineWriter<'_, '_>) -> R) -> (Result<R>, Ticket) {
        let now = self.now();
        match &mut self.backend {
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

    /// Returns whether the engine undoes writes that cannot be acknowledged.
    pub fn can_roll_back(&self) -> bool {
        matches!(self.backend, SessionBackend::Disk(..))
    }

    /// Sets several keys, all or none, both on disk and for `get_many_atomic`. Used by MSET.
    ///
    /// # Errors
    /// A limit is exceeded, writes are stopped, or a file operation fails. Nothing was written
    /// then.
    pub fn put_all(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<Ticket> {
        let now = self.now();
        match &mut self.backend {
            SessionBackend::Memory(session) => Ok(session.put_all(pairs)?),
            SessionBackend::Disk(disk, reader) => {
                let mut writer = DiskWriter::new_whole(disk, reader, now);
                writer.put_all(pairs)?;
                writer.publish()?;
                Ok(writer.ticket())
            }
        }
    }

    /// Begins a transaction: all reads and writes until its end are one group. It is not isolated;
    /// the caller must keep other threads away.
    ///
    /// # Errors
    /// If writes are stopped.
    pub fn begin(&mut self) -> Result<EngineTransaction<'_>> {
        let now = self.now();
        let backend = match &mut self.backend {
            SessionBackend::Memory(session) => transaction::TransactionBackend::Memory(session.open_batch()?),
            SessionBackend::Disk(disk, reader) => {
                transaction::TransactionBackend::Disk(DiskWriter::new_whole(disk, reader, now))
            }
        };
        Ok(EngineTransaction::new(&self.engine, now, backend))
    }

    /// Removes the first keys within bounds. Not atomic: a key that is inserted meanwhile may stay.
    ///
    /// # Errors
    /// Keys have no order, writes are stopped, or a file operation fails.
    pub fn remove_some(&mut self, bounds: EngineBounds<'_>) -> Result<RangeRemovalStep> {
        let now = self.now();
        match &mut self.backend {
            SessionBackend::Memory(session) => {
                let (_, last) = count_keys(bounds, REMOVALS, |bounds, each| {
                    session.scan(bounds, ScanDirection::Forward, |key, _| each(key));
                });
                let upper = last.as_deref().map_or(bounds.1, Bound::Included);
                let (count, ticket) = session.remove_range((bounds.0, upper))?;
                Ok(RangeRemovalStep { count, rest: last.map(Bound::Excluded), ticket })
            }
            SessionBackend::Disk(disk, reader) => {
                let mut writer = DiskWriter::new_whole(disk, reader, now);
                let removed = writer.remove_range(bounds, REMOVALS)?;
                writer.publish()?;
                Ok(RangeRemovalStep { ticket: writer.ticket(), ..removed })
            }
        }
    }

    /// Does the same for the keys of one keyspace among those within bounds. The engine keeps no
    /// order.
    pub(crate) fn remove_some_of(
        &mut self,
        keyspace: StoredKeyspace,
        bounds: EngineBounds<'_>,
    ) -> Result<RangeRemovalStep> {
        let now = self.now();
        match &mut self.backend {
            SessionBackend::Memory(_) => self.remove_some(bounds),
            SessionBackend::Disk(disk, reader) => {
                let mut writer = DiskWriter::new_whole(disk, reader, now);
                let removed = writer.remove_range_of(keyspace, bounds, REMOVALS)?;
                writer.publish()?;
                Ok(RangeRemovalStep { ticket: writer.ticket(), ..removed })
            }
        }
    }
}
