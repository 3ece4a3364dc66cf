//! A session: one worker's way into the store, without copies.
//!
//! ```text
//!   write(|w| …)   lane locked ─ epoch entered ─ [ put: row made ─ latch: version, epoch ─ record ]* ─ append ─ left
//! ```
//!
//! The epoch of a record is read under the latch of its key, so it never falls along a key's versions; the
//! writer is inside its epoch from before the first write until the append, so no record belongs to a closed one.

pub(crate) mod active_writes;
mod eviction;
mod expected_contents;
mod group;
mod hashes;
mod member_changes;
mod member_writer;
mod open_batch;
mod prefetched_places;
mod row_writer;
mod sorted_sets;
mod undo_journal;
mod whole_rows;
mod writer;

use std::ops::ControlFlow;

pub use hashes::ROW_COLUMNS_MAX;
pub use open_batch::OpenBatch;
pub use row_writer::{Recorder, RowWriter};
pub use sorted_sets::SetWriter;
pub use writer::{RowChange, RowUpdate, Writer};

use crate::expiry::OperationTime;
use crate::index::KeyBounds;
use crate::store::StoreCore;
use crate::{Result, RowRef, ScanDirection, Store, Ticket};

/// Keys of one batch that are looked up under one guard.
const LOOKUPS_PER_GUARD: usize = 4096;

/// Keys that one scan of a range removal gathers before it removes them.
const REMOVALS_PER_SCAN: usize = 512;

/// One worker's way into the store. `Send`, not `Sync`: one thread at a time. It keeps the store's memory
/// alive, and is cheap to hold idle. Writes after [`Store::close`] answer an error.
///
/// ```
/// use skein_store::{Change, Error, RowWriter, Store, StoreOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let store = Store::open(folder.path(), StoreOptions::default())?;
/// let mut session = store.session();
///
/// // Several writes, one append to the log; durable once the ticket's epoch is.
/// let (appended, ticket) = session.write(|writer| {
///     writer.put(b"flock", b"wild ")?;
///     writer.update::<Error>(b"flock", |row, rows| {
///         let old = row.and_then(|row| row.value()).unwrap_or_default();
///         Ok(Change::Put(rows.value(&[old, b"geese"])?))
///     })
/// })?;
/// assert_eq!(appended?.version, 2);
/// store.wait_durable(ticket)?;
///
/// // Many reads at once, in place.
/// session.get_many(&[b"flock", b"herd"], |i, row| match (i, row) {
///     (0, Some(row)) => assert_eq!(row.value(), Some(&b"wild geese"[..])),
///     (_, row) => assert!(row.is_none()),
/// });
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Session {
    store: Store,
    lane: usize,
    /// The time that the session takes for the present one.
    frozen: Option<u64>,
    /// See [`Session::spread_columns`].
    spread: bool,
    /// See [`Session::admit_all`].
    admits: bool,
    room: eviction::RoomEstimate,
    not_sync: std::marker::PhantomData<std::cell::Cell<()>>,
}

impl Session {
    pub(crate) fn new(store: Store, lane: usize) -> Self {
        let (admits, room) = (false, eviction::RoomEstimate::default());
        Self { store, lane, frozen: None, spread: false, admits, room, not_sync: std::marker::PhantomData }
    }

    fn inner(&self) -> &StoreCore {
        self.store.inner()
    }

    /// The time of this session.
    #[inline]
    fn time(&self) -> OperationTime<'_> {
        self.inner().time(self.frozen)
    }

    /// The time by which keys expire for this session, in milliseconds since 1970: the present, unless it was frozen.
    #[inline]
    pub fn now(&self) -> u64 {
        self.time().now()
    }

    /// Lets the session see one time, `unix_ms` (milliseconds since 1970), until this is called again: reads and writes agree on what has expired. With
    /// `None` each sees the time as it goes. What has expired is removed only half a second later; so a time is not to be frozen for longer.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let mut session = store.session();
    /// let now = session.now();
    /// session.freeze(Some(now));
    /// store.put_until(b"goose", b"grey", now)?;
    /// std::thread::sleep(std::time::Duration::from_millis(2));
    /// assert!(session.get_with(b"goose", |row| row.is_some()), "for this session it is still that time");
    /// assert!(store.get(b"goose")?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn freeze(&mut self, unix_ms: Option<u64>) {
        self.frozen = unix_ms;
    }

    /// Lets writes of this session spread columns that are too many for a row, or no longer (as it is at first): what would leave a row with more than
    /// [`ROW_COLUMNS_MAX`] columns makes each of them an entry of its own, so that writes to some of them cost the same however many there are. That is for who has keys with
    /// very many columns; where there are some hundred, a row reads faster. Columns that are spread stay so, for all sessions, and their row's version
    /// changes no more.
    ///
    /// All that reads and writes columns knows both, but [`RowRef::columns`] and its like, which show what lies in the row itself: see
    /// [`RowRef::read_columns`]. Names are up to [`MEMBER_BYTES_MAX`](crate::MEMBER_BYTES_MAX) bytes: a row with a longer one is not spread, and where columns are, it is refused.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let mut session = store.session();
    /// session.spread_columns(true);
    /// let (written, _) = session.write(|writer| {
    ///     (0..100u32).try_for_each(|goose| writer.put_columns(b"flock", &[(&goose.to_be_bytes(), b"grey")]).map(drop))
    /// })?;
    /// written?;
    /// session.get_with(b"flock", |row| {
    ///     let columns = row.and_then(|row| row.read_columns()).expect("it has columns");
    ///     assert_eq!((columns.len(), columns.in_row()), (100, false));
    /// });
    /// assert_eq!(store.get_columns(b"flock", None)?.len(), 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spread_columns(&mut self, spread: bool) {
        self.spread = spread;
    }

    /// Enters the store to write.
    fn enter(&self) -> Result<Writer<'_>> {
        self.enter_at(self.frozen)
    }

    /// The same at a time.
    fn enter_at(&self, frozen: Option<u64>) -> Result<Writer<'_>> {
        let mut writer = if self.admits {
            Writer::enter_unasked(self.inner(), self.lane)?
        } else {
            Writer::enter(self.inner(), self.lane, frozen)?
        };
        (writer.frozen, writer.spread) = (frozen, self.spread);
        Ok(writer)
    }

    /// Shows `look` the row of `key`, in place.
    #[inline]
    pub fn get_with<R>(&self, key: &[u8], look: impl FnOnce(Option<RowRef<'_>>) -> R) -> R {
        let index = &self.inner().index;
        let guard = index.collector().enter();
        let row = self.time().live(index.get(key, &guard));
        self.inner().used(row);
        look(row)
    }

    /// A number that grows when a key that is absent comes and goes again: who looks twice and finds it absent knows whether it was there in between. Seldom it
    /// grows though another key went: there are some thousand such numbers for all keys.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let session = store.session();
    /// let before = session.departures(b"goose");
    /// assert_eq!(session.departures(b"goose"), before);
    /// store.put(b"goose", b"grey")?;
    /// store.remove(b"goose")?;
    /// assert!(session.departures(b"goose") > before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn removal_count(&self, key: &[u8]) -> u64 {
        let inner = self.inner();
        let guard = inner.index.collector().enter();
        // What has expired is as good as gone, and its removal no departure.
        let expired = inner.index.get(key, &guard).map_or(0, |row| row.version() + 1);
        inner.stripes.floor(key).max(expired)
    }

    /// Many lookups whose memory reads overlap; `found` is called once per key, with its position, in no
    /// particular order. Each key is read at a moment of its own.
    pub fn get_many(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<RowRef<'_>>)) {
        let (index, time, used) = (&self.inner().index, self.time(), self.inner().rows.ages().now());
        for (chunk, keys) in keys.chunks(LOOKUPS_PER_GUARD).enumerate() {
            let guard = index.collector().enter();
            index.get_many(keys, &guard, |i, row| {
                let row = time.live(row);
                if let Some(row) = row.filter(|_| used != 0) {
                    row.touch(used);
                }
                found(chunk * LOOKUPS_PER_GUARD + i, row);
            });
        }
    }

    /// As [`get_many`](Self::get_many), but never sees half of a batch (`apply`, MSET): `found` is called when all
    /// keys were read as of one moment with respect to batches, in the order of `keys`.
    pub fn get_many_atomic(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<RowRef<'_>>)) {
        let inner = self.inner();
        let guard = inner.index.collector().enter();
        let mut rows = vec![None; keys.len()];
        if let [key] = keys {
            let row = self.time().live(inner.index.get(key, &guard));
            inner.used(row);
            return found(0, row);
        }
        // One time for all of them.
        let time = if inner.rows.any_expiring() { self.time().fixed() } else { self.time() };
        inner.stripes.consistent(keys.iter().copied(), || {
            inner.index.get_many(keys, &guard, |i, row| rows[i] = row);
        });
        for (i, row) in rows.into_iter().enumerate() {
            let row = time.live(row);
            inner.used(row);
            found(i, row);
        }
    }

    /// Shows `each` the rows within `bounds`, in order, until it breaks. Long scans let memory go every so
    /// many keys, so a row is borrowed for the call only. Not a snapshot: a key that is present all the time is
    /// seen exactly once, one that comes or goes meanwhile maybe.
    pub fn scan(
        &self,
        bounds: KeyBounds<'_>,
        direction: ScanDirection,
        each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) {
        self.inner().scan(self.time(), bounds, direction, each);
    }

    /// Runs several single-key writes with one entry into the epoch and one append to the log. Each write
    /// is visible at once and on its own (for all-or-nothing use [`apply`](Self::apply)); a later error leaves
    /// earlier writes done. The ticket covers everything that was written, also if `writes` returns an error of
    /// its own.
    ///
    /// The writer is inside an epoch, which cannot become durable before the scope ends. So within it the same thread writes by this writer
    /// alone: another write to the store, `flush`, `checkpoint`, `close` and waiting for what is not durable answer
    /// [`InsideWrite`](crate::Error::InsideWrite). Reads work.
    ///
    /// # Errors
    /// The store is closed or writes are stopped; then `writes` may have run, and what it wrote may not be
    /// durable. No acknowledgement may be sent.
    pub fn write<R>(&mut self, writes: impl FnOnce(&mut Writer<'_>) -> R) -> Result<(R, Ticket)> {
        let mut writer = self.enter()?;
        let answer = writes(&mut writer);
        let ticket = writer.finish()?;
        Ok((answer, ticket))
    }

    /// Removes all keys within `bounds`; returns how many. Not atomic: others may see part of it, and a key that
    /// comes meanwhile may stay.
    ///
    /// # Errors
    /// Closed or stopped; part of the keys may be gone then.
    pub fn remove_range(&mut self, bounds: KeyBounds<'_>) -> Result<(usize, Ticket)> {
        let (mut removed, mut ticket) = (0, Ticket::default());
        let mut start = bounds.0.map(<[u8]>::to_vec);
        loop {
            let mut keys = Vec::new();
            let from = start.as_ref().map(Vec::as_slice);
            self.inner().index.scan((from, bounds.1), ScanDirection::Forward, |key, _| {
                keys.push(key.to_vec());
                if keys.len() < REMOVALS_PER_SCAN {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            });
            let (gone, last) = self.write(|writer| -> Result<usize> {
                let mut gone = 0;
                for key in &keys {
                    gone += usize::from(writer.remove(key)?.existed);
                }
                Ok(gone)
            })?;
            removed += gone?;
            ticket = ticket.max(last);
            match keys.pop() {
                Some(key) if keys.len() + 1 == REMOVALS_PER_SCAN => start = std::ops::Bound::Excluded(key),
                _ => return Ok((removed, ticket)),
            }
        }
    }

    /// The store that this session belongs to: for waiting, statistics, checkpoints.
    pub fn store(&self) -> &Store {
        &self.store
    }
}
