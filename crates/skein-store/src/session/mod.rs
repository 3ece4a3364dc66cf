//! A session: the access of one worker to the store, without copies.
//!
//! ```text
//!   write(|w| …)   enter ─ [ put: make row ─ latch: version, epoch ─ record ]* ─ append ─ leave
//! ```
//!
//! The writer reads the epoch of a record under the latch of its key, so epochs never fall along a
//! key's versions. The writer is inside its epoch from before the first write until the append, so
//! no record belongs to a closed epoch.
//!
//! # Files
//!
//! 1. `writer` has single-key writes; `writer/update.rs` has read-modify-writes: the primitives of
//!    `RowWriter`, on which the writes of `skein-model` stand.
//! 2. `member_writer` and `memory_members` change the collections in memory.
//! 3. `group` and `open_batch` write several keys together. `expected_contents` checks a group,
//!    `undo_journal` and `member_changes` undo it.
//! 4. `eviction` makes room. `prefetched_places` and `active_writes` are thread-local helpers.
//!
//! Design: `docs/design/store.md`.

pub(crate) mod active_writes;
mod eviction;
mod expected_contents;
mod group;
mod member_changes;
mod member_writer;
mod memory_members;
mod open_batch;
mod prefetched_places;
mod undo_journal;
mod writer;

use std::ops::ControlFlow;

pub use memory_members::MemoryCollection;
pub use open_batch::OpenBatch;
pub use writer::Writer;

use crate::expiry::OperationTime;
use crate::index::KeyBounds;
use crate::store_core::StoreCore;
use crate::{Result, RowRef, ScanDirection, Store, Ticket};

/// The largest number of keys of one batch that are looked up under one guard.
const LOOKUPS_PER_GUARD: usize = 4096;

/// The largest number of keys that one scan of a range removal collects before it removes them.
const REMOVALS_PER_SCAN: usize = 512;

/// The access of one worker to the store. It is `Send`, but not `Sync`: one thread uses it at a
/// time. A session keeps the store's memory alive and costs little while idle. Writes after
/// [`Store::close`] return an error.
///
/// ```
/// use skein_store::{Error, RowChange, RowWriter, Store, StoreOptions};
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
///         Ok(RowChange::Put(rows.value(&[old, b"geese"])?))
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
    log_shard: usize,
    /// The time that replaces the present time for this session, if it is frozen.
    frozen: Option<u64>,
    /// See [`Session::spread_columns`].
    spread: bool,
    /// See [`Session::pack_members`].
    packs: bool,
    /// See [`Session::admit_all`].
    admits: bool,
    room: eviction::RoomEstimate,
    /// See [`Session::report_evictions`].
    evicted: Option<Vec<Vec<u8>>>,
    not_sync: std::marker::PhantomData<std::cell::Cell<()>>,
}

impl Session {
    pub(crate) fn new(store: Store, log_shard: usize) -> Self {
        let (admits, room) = (false, eviction::RoomEstimate::default());
        Self {
            store,
            log_shard,
            frozen: None,
            spread: false,
            packs: false,
            admits,
            room,
            evicted: None,
            not_sync: std::marker::PhantomData,
        }
    }

    fn core(&self) -> &StoreCore {
        self.store.core()
    }

    #[inline]
    fn time(&self) -> OperationTime<'_> {
        self.core().time(self.frozen)
    }

    /// Returns the time by which keys expire for this session, in milliseconds since 1970. This is
    /// the present time unless the session is frozen.
    #[inline]
    pub fn now(&self) -> u64 {
        self.time().now()
    }

    /// Freezes the session at the time `unix_ms` (milliseconds since 1970) until the next call:
    /// reads and writes then agree on the expired keys. `None` ends the freeze, and every operation
    /// reads the present time.
    ///
    /// The expiry thread removes an expired key only half a second later. So do not freeze a time
    /// for longer than that.
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
    /// assert!(session.get_with(b"goose", |row| row.is_some()), "its time is frozen");
    /// assert!(store.get(b"goose")?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn freeze(&mut self, unix_ms: Option<u64>) {
        self.frozen = unix_ms;
    }

    /// Sets whether writes of this session spread rows with too many columns; initially they do
    /// not.
    ///
    /// With `spread`, a write that would leave a row with more than
    /// [`ROW_COLUMNS_MAX`](crate::ROW_COLUMNS_MAX) columns stores each column as its own entry. Then
    /// a write to some columns costs the same for any number of columns. Use it for keys with very many columns; with some hundred columns a row
    /// is faster to read. Spread columns stay spread, for all sessions, and the version of their
    /// row no longer changes.
    ///
    /// All functions that read and write columns handle both forms. The exceptions are
    /// [`RowRef::columns`] and similar functions, which show only the columns in the row itself;
    /// see [`CollectionReads::read_columns`](crate::CollectionReads::read_columns). A spread name has at most
    /// [`MEMBER_BYTES_MAX`](crate::MEMBER_BYTES_MAX) bytes: a row with a longer name is not spread,
    /// and a spread hash rejects a longer name.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let mut session = store.session();
    /// session.spread_columns(true);
    /// let (written, _) = session.write(|writer| {
    ///     (0..100u32).try_for_each(|goose| {
    ///         writer.put_columns(b"flock", &[(&goose.to_be_bytes(), b"grey")]).map(drop)
    ///     })
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

    /// Sets whether writes of this session keep the members of a small new set, sorted or not, or
    /// list in the row of its key, within
    /// [`StoreLimits::row_members`](crate::StoreLimits::row_members); initially they do not.
    ///
    /// Such a row takes a tenth of the memory, and each write copies it. A collection that outgrows
    /// the limits becomes members of its own, and stays so. All functions that read and write
    /// collections handle both forms. Collections in rows are changed in place by any session.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let mut session = store.session();
    /// session.pack_members(true);
    /// let (written, _) = session.write(|writer| {
    ///     writer.change_set::<_, Error>(b"geese", true, |set| set.put(b"grey", 3.5))
    /// })?;
    /// written?;
    /// session.get_with(b"geese", |row| {
    ///     let set = row.and_then(|row| row.sorted_set()).expect("it was put").read();
    ///     assert_eq!((set.len(), set.score(b"grey"), set.in_row()), (1, Some(3.5), true));
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pack_members(&mut self, packs: bool) {
        self.packs = packs;
    }

    fn enter(&self) -> Result<Writer<'_>> {
        self.enter_at(self.frozen)
    }

    /// Enters the store to write at a frozen time.
    fn enter_at(&self, frozen: Option<u64>) -> Result<Writer<'_>> {
        let mut writer = if self.admits {
            Writer::enter_unasked(self.core(), self.log_shard)?
        } else {
            Writer::enter(self.core(), self.log_shard, frozen)?
        };
        (writer.frozen, writer.spread, writer.packs) = (frozen, self.spread, self.packs);
        Ok(writer)
    }

    /// Calls `look` with the row of `key`, without copying it.
    #[inline]
    pub fn get_with<R>(&self, key: &[u8], look: impl FnOnce(Option<RowRef<'_>>) -> R) -> R {
        let index = &self.core().keys.index;
        let guard = index.collector().enter();
        let row = self.time().live(index.get(key, &guard));
        self.core().keys.used(row);
        look(row)
    }

    /// Calls `look` with the row of `key`, even if it has expired, and whether it has. This does
    /// not count as a use of the key.
    pub fn peek_with<R>(&self, key: &[u8], look: impl FnOnce(Option<(RowRef<'_>, bool)>) -> R) -> R {
        let index = &self.core().keys.index;
        let (guard, time) = (index.collector().enter(), self.time());
        look(index.get(key, &guard).map(|row| (row, !time.shows(row))))
    }

    /// Does the same as [`get_with`](Self::get_with), and sees a batch whole: after a read has
    /// shown one key of the batch, later reads show its other keys.
    pub fn get_settled_with<R>(&self, key: &[u8], look: impl FnOnce(Option<RowRef<'_>>) -> R) -> R {
        let core = self.core();
        let guard = core.keys.index.collector().enter();
        let row = self.time().live(core.keys.stripes.settled(key, || core.keys.index.get(key, &guard)));
        core.keys.used(row);
        look(row)
    }

    /// Returns a counter that grows when an absent key is inserted and removed again. A caller that
    /// finds the key absent twice compares the two counters to learn whether the key existed in
    /// between.
    ///
    /// Rarely the counter grows because another key was removed: all keys share some thousand
    /// counters.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let session = store.session();
    /// let before = session.removal_count(b"goose");
    /// assert_eq!(session.removal_count(b"goose"), before);
    /// store.put(b"goose", b"grey")?;
    /// store.remove(b"goose")?;
    /// assert!(session.removal_count(b"goose") > before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn removal_count(&self, key: &[u8]) -> u64 {
        let core = self.core();
        let guard = core.keys.index.collector().enter();
        let row = core.keys.index.get(key, &guard);
        // An expired key counts as removed, so its later removal must not change the counter. A live one
        // does not count: it may have appeared since the caller found the key absent.
        let expired = row.filter(|row| self.time().live(Some(*row)).is_none());
        core.keys.stripes.floor(key).max(expired.map_or(0, |row| row.version() + 1))
    }

    /// Looks up many keys with overlapping memory reads. Calls `found` once per key, with the key's
    /// position, in no particular order. Each key is read at its own moment.
    pub fn get_many(&self, keys: &[&[u8]], found: impl FnMut(usize, Option<RowRef<'_>>)) {
        self.get_many_if_used(keys, |_| true, found);
    }

    /// Does the same as [`get_many`](Self::get_many). A lookup counts as a use of its key only if
    /// `is_use` says so of its position.
    ///
    /// ```
    /// # use skein_store::*;
    /// # use std::time::Duration;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// for key in [b"goose", b"raven"] {
    ///     store.put(key, b"")?;
    ///     store.set_idle_time(key, Duration::from_secs(86_400));
    /// }
    /// store.session().get_many_if_used(&[b"goose", b"raven"], |at| at == 0, |_, row| {
    ///     assert!(row.is_some());
    /// });
    /// assert_eq!(store.idle_time(b"goose"), Some(Duration::ZERO));
    /// assert!(store.idle_time(b"raven") > Some(Duration::from_secs(85_000)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_many_if_used(
        &self,
        keys: &[&[u8]],
        is_use: impl Fn(usize) -> bool,
        mut found: impl FnMut(usize, Option<RowRef<'_>>),
    ) {
        let (index, time, used) = (&self.core().keys.index, self.time(), self.core().keys.rows.ages().now());
        for (chunk, keys) in keys.chunks(LOOKUPS_PER_GUARD).enumerate() {
            let guard = index.collector().enter();
            index.get_many(keys, &guard, |i, row| {
                let (row, at) = (time.live(row), chunk * LOOKUPS_PER_GUARD + i);
                if let Some(row) = row
                    && is_use(at)
                {
                    row.touch(used);
                }
                found(at, row);
            });
        }
    }

    /// Looks up many keys as [`get_many`](Self::get_many) does, but never sees half of a batch
    /// (`apply`, MSET). Calls `found` in the order of `keys`, after all keys were read at one
    /// moment with respect to batches.
    pub fn get_many_atomic(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<RowRef<'_>>)) {
        self.peek_many_atomic(keys, |i, row| {
            self.core().keys.used(row);
            found(i, row);
        });
    }

    /// Does the same as [`get_many_atomic`](Self::get_many_atomic). This does not count as a use of
    /// the keys.
    pub fn peek_many_atomic(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<RowRef<'_>>)) {
        let core = self.core();
        let guard = core.keys.index.collector().enter();
        let mut rows = vec![None; keys.len()];
        if let [key] = keys {
            return found(0, self.time().live(core.keys.index.get(key, &guard)));
        }
        // All keys must be judged by the same time.
        let time = if core.keys.rows.any_expiring() { self.time().fixed() } else { self.time() };
        core.keys.stripes.consistent(keys.iter().copied(), || {
            core.keys.index.look_up(keys, &guard, &mut |i, row| rows[i] = row);
        });
        for (i, row) in rows.into_iter().enumerate() {
            found(i, time.live(row));
        }
    }

    /// Calls `each` with the rows within `bounds`, in order, until it breaks.
    ///
    /// A row is borrowed for the call only, because a long scan releases its guard after some keys.
    /// A scan is not a snapshot. It sees a key that is present throughout exactly once, and may or
    /// may not see a key that is inserted or removed meanwhile.
    pub fn scan(
        &self,
        bounds: KeyBounds<'_>,
        direction: ScanDirection,
        each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) {
        self.core().keys.scan(self.time(), bounds, direction, each);
    }

    /// Runs several single-key writes with one entry into the epoch and one append to the log.
    ///
    /// Each write is visible immediately and on its own; for all-or-nothing use
    /// [`apply`](Self::apply). A later error leaves earlier writes in place. The ticket covers all
    /// writes, also if `writes` returns an error of its own.
    ///
    /// The writer is inside an epoch, and this epoch cannot become durable before the closure ends.
    /// So within the closure the thread must write only through this writer. Another write to the
    /// store, `flush`, `checkpoint`, `close` and a wait for durability return
    /// [`InsideWrite`](crate::Error::InsideWrite). Reads work.
    ///
    /// # Errors
    /// The store is closed or writes are stopped. Then `writes` may have run, and its writes may
    /// not be durable: the caller must not acknowledge them.
    pub fn write<R>(&mut self, writes: impl FnOnce(&mut Writer<'_>) -> R) -> Result<(R, Ticket)> {
        let mut writer = self.enter()?;
        let answer = writes(&mut writer);
        let ticket = writer.finish()?;
        Ok((answer, ticket))
    }

    /// Removes all keys within `bounds` and returns how many. The removal is not atomic: other
    /// sessions may see part of it, and a key that is inserted meanwhile may stay.
    ///
    /// # Errors
    /// The store is closed or writes are stopped; part of the keys may be removed then.
    pub fn remove_range(&mut self, bounds: KeyBounds<'_>) -> Result<(usize, Ticket)> {
        let (mut removed, mut ticket) = (0, Ticket::default());
        let mut start = bounds.0.map(<[u8]>::to_vec);
        loop {
            let mut keys = Vec::new();
            let from = start.as_ref().map(Vec::as_slice);
            self.core().keys.index.scan((from, bounds.1), ScanDirection::Forward, |key, _| {
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

    /// Returns the store of this session: for waiting, statistics and checkpoints.
    pub fn store(&self) -> &Store {
        &self.store
    }
}
