//! Cursors: a place in a keyspace that moves both ways.
//!
//! ```text
//!   unset ──next──► first row …  ◄─prev── behind the last row
//!   unset ──prev──► last row …   ──next─► before the first row
//! ```
//!
//! A cursor knows the key it stands on and some rows ahead of it, which it has read from an
//! iterator of the library. It keeps no iterator, because one of a transaction borrows it, and the
//! C program writes to the transaction meanwhile: after a write the rows ahead are read again.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::mem::{self, MaybeUninit};
use std::ops::{Bound, RangeBounds};
use std::sync::{Arc, Mutex};

use skein_sync::locks::lock;
use skeindb::index::successor;
use skeindb::{Error, Iter, Keys, Keyspace, ScanDirection, Snapshot};

use crate::border::{Failure, Result, answer};
use crate::keyspace::{KeyspaceHandle, of};
use crate::memory::{Bounds, Slice, bytes, free, handle, make, range};
use crate::status::Status;
use crate::txn::SharedTxn;

/// Rows that are read at first, and at most. Each step reads twice as many and so many more, as the
/// iterator's own chunks do, so that no row is read in vain.
const ROWS_FIRST: usize = 16;
const ROWS_MOST: usize = 496;
/// Bytes of rows after which no more are read ahead.
const BYTES_MOST: usize = 256 << 10;

/// A place in a keyspace that moves in the order of the keys, both ways.
///
/// A new cursor stands nowhere: `skein_cursor_next` moves it to the first row, `skein_cursor_prev`
/// to the last one. A cursor of `skein_cursor_open` is not a snapshot: it shows each key that is
/// present throughout exactly once, and may or may not show a key that is inserted or removed
/// meanwhile. Those of a snapshot or a transaction show one moment.
pub struct CursorHandle(Mutex<Cursor>);

/// Where a cursor reads.
pub(crate) enum Source {
    /// The present rows.
    Present,
    Snapshot(Snapshot),
    Transaction(Arc<SharedTxn>),
}

type RowRead = skeindb::Result<(Vec<u8>, Vec<u8>)>;

struct Cursor {
    source: Source,
    keyspace: Keyspace,
    range: (Bound<Vec<u8>>, Bound<Vec<u8>>),
    place: Place,
    ahead: RowsAhead,
}

enum Place {
    Unset,
    /// Before the first row at or after this key.
    Before(Vec<u8>),
    /// On a row, with its key and its value.
    On(Vec<u8>, Vec<u8>),
    BeforeFirst,
    BehindLast,
}

/// Rows that were read and not yet visited.
struct RowsAhead {
    direction: ScanDirection,
    rows: VecDeque<RowRead>,
    /// Whether no rows follow.
    ended: bool,
    /// The number of rows that the next read asks for.
    ask: usize,
    /// The transaction's writes when the rows were read.
    writes: u64,
}

impl RowsAhead {
    fn none(direction: ScanDirection) -> Self {
        Self { direction, rows: VecDeque::new(), ended: false, ask: ROWS_FIRST, writes: 0 }
    }

    fn fill(&mut self, iter: Iter<'_>) {
        match self.direction {
            ScanDirection::Forward => self.fill_from(iter),
            ScanDirection::Backward => self.fill_from(iter.rev()),
        }
        self.ask = (self.ask * 2 + ROWS_FIRST).min(ROWS_MOST);
    }

    fn fill_from(&mut self, mut rows: impl Iterator<Item = RowRead>) {
        let mut bytes = 0;
        while self.rows.len() < self.ask && bytes < BYTES_MOST {
            let Some(row) = rows.next() else {
                self.ended = true;
                return;
            };
            bytes += row.as_ref().map_or(0, |(key, value)| key.len() + value.len());
            self.rows.push_back(row);
        }
    }
}

impl Cursor {
    /// Returns the bounds of the rows that follow in a direction; `None` if none do.
    fn rest(&self, direction: ScanDirection) -> Option<Bounds<'_>> {
        let (lower, upper) = (self.range.0.as_ref(), self.range.1.as_ref());
        let (lower, upper) = (lower.map(Vec::as_slice), upper.map(Vec::as_slice));
        match (&self.place, direction) {
            (Place::BeforeFirst, ScanDirection::Backward) | (Place::BehindLast, ScanDirection::Forward) => {
                None
            }
            (Place::Before(key), ScanDirection::Forward) => Some((Bound::Included(key), upper)),
            (Place::On(key, _), ScanDirection::Forward) => Some((Bound::Excluded(key), upper)),
            (Place::On(key, _) | Place::Before(key), ScanDirection::Backward) => {
                Some((lower, Bound::Excluded(key)))
            }
            _ => Some((lower, upper)),
        }
    }

    /// Moves to the row that follows in a direction.
    ///
    /// Rows that were read ahead count only while the database is open: after a close or a fork
    /// this is an error.
    fn step(&mut self, direction: ScanDirection) -> Result<Status> {
        self.check_usable()?;
        let writes = match &self.source {
            Source::Transaction(transaction) => transaction.writes()?,
            _ => 0,
        };
        if self.ahead.direction != direction || self.ahead.writes != writes {
            self.ahead = RowsAhead { writes, ..RowsAhead::none(direction) };
        }
        if self.ahead.rows.is_empty() && !self.ahead.ended {
            self.read_ahead()?;
        }
        match self.ahead.rows.pop_front() {
            Some(Ok((key, value))) => {
                self.place = Place::On(key, value);
                Ok(Status::SKEIN_OK)
            }
            Some(Err(error)) => Err(self.step_over(error)),
            None => {
                self.place = match direction {
                    ScanDirection::Forward => Place::BehindLast,
                    ScanDirection::Backward => Place::BeforeFirst,
                };
                Ok(Status::SKEIN_NOT_FOUND)
            }
        }
    }

    /// Returns an error if nothing can be read any more, as after a close of the database.
    fn check_usable(&self) -> Result<()> {
        match &self.source {
            // A snapshot shows a dropped keyspace, too.
            Source::Snapshot(snapshot) => return Ok(snapshot.check_usable()?),
            Source::Transaction(transaction) => _ = transaction.writes()?,
            Source::Present => {}
        }
        Ok(self.keyspace.check_usable()?)
    }

    fn read_ahead(&mut self) -> Result<()> {
        let mut ahead = mem::replace(&mut self.ahead, RowsAhead::none(ScanDirection::Forward));
        match self.rest(ahead.direction) {
            None => ahead.ended = true,
            Some(bounds) => self.iterate(bounds, |iter| ahead.fill(iter))?,
        }
        self.ahead = ahead;
        Ok(())
    }

    /// Calls `with` with an iterator over a part of the range.
    fn iterate<R>(&self, bounds: Bounds<'_>, with: impl FnOnce(Iter<'_>) -> R) -> Result<R> {
        Ok(match &self.source {
            Source::Present => with(self.keyspace.range::<&[u8]>(bounds)),
            Source::Snapshot(snapshot) => with(snapshot.range::<&[u8]>(&self.keyspace, bounds)),
            Source::Transaction(transaction) => {
                transaction.read(|txn| Ok(with(txn.range::<&[u8]>(&self.keyspace, bounds))))?
            }
        })
    }

    /// Moves onto a row without a value, so that the next step continues behind it. Returns the
    /// failure.
    fn step_over(&mut self, error: Error) -> Failure {
        let (direction, failure) = (self.ahead.direction, Failure::from(error));
        let found = match self.rest(direction) {
            Some(bounds) if failure.status == Status::SKEIN_WRONG_KIND => self.first_key(bounds, direction),
            _ => Ok(None),
        };
        match found {
            Ok(Some(key)) => self.place = Place::On(key, Vec::new()),
            // Another failure, or another thread removed the key meanwhile: the next step reads
            // again.
            Ok(None) => self.ahead = RowsAhead::none(direction),
            Err(failure) => return failure,
        }
        failure
    }

    /// Returns the first key within the bounds, whatever it holds.
    fn first_key(&self, bounds: Bounds<'_>, direction: ScanDirection) -> Result<Option<Vec<u8>>> {
        let find = |mut keys: Keys<'_>| {
            let within = |key: &skeindb::Result<Vec<u8>>| {
                key.as_ref().map_or(true, |key| RangeBounds::<[u8]>::contains(&bounds, key.as_slice()))
            };
            let found = match direction {
                ScanDirection::Forward => {
                    if let Bound::Included(key) | Bound::Excluded(key) = bounds.0 {
                        keys.seek(key);
                    }
                    keys.find(within)
                }
                ScanDirection::Backward => {
                    if let Bound::Included(key) | Bound::Excluded(key) = bounds.1 {
                        keys.seek_back(key);
                    }
                    keys.rfind(within)
                }
            };
            Ok(found.transpose()?)
        };
        match &self.source {
            Source::Present => find(self.keyspace.keys()),
            Source::Snapshot(snapshot) => find(snapshot.keys(&self.keyspace)),
            Source::Transaction(transaction) => transaction.read(|txn| find(txn.keys(&self.keyspace))),
        }
    }

    fn set_range(&mut self, range: (Bound<Vec<u8>>, Bound<Vec<u8>>)) -> Status {
        self.range = range;
        self.move_to(Place::Unset);
        Status::SKEIN_OK
    }

    /// Moves to another place, so that the next step leads to a row.
    fn move_to(&mut self, place: Place) {
        self.place = place;
        self.ahead = RowsAhead::none(ScanDirection::Forward);
    }

    fn seek(&mut self, key: &[u8]) -> Result<Status> {
        let place = match &self.range {
            (Bound::Included(from), _) if key < &from[..] => Place::Before(from.clone()),
            (_, Bound::Excluded(to)) if key >= &to[..] => Place::BehindLast,
            _ => Place::Before(key.to_vec()),
        };
        self.check_usable()?;
        self.move_to(place);
        self.step(ScanDirection::Forward)
    }

    fn seek_last(&mut self) -> Result<Status> {
        self.check_usable()?;
        self.move_to(Place::BehindLast);
        self.step(ScanDirection::Backward)
    }
}

impl CursorHandle {
    pub(crate) fn new(source: Source, keyspace: &Keyspace) -> Self {
        Self(Mutex::new(Cursor {
            source,
            keyspace: keyspace.clone(),
            range: (Bound::Unbounded, Bound::Unbounded),
            place: Place::Unset,
            ahead: RowsAhead::none(ScanDirection::Forward),
        }))
    }
}

/// Runs an operation of a cursor.
fn with_cursor(
    cursor: Option<&CursorHandle>,
    act: impl FnOnce(&mut Cursor) -> Result<Status>,
) -> Result<Status> {
    act(&mut lock(&handle(cursor, "cursor")?.0))
}

/// Opens a cursor over the present rows of a keyspace. On success the caller frees `*cursor` with
/// `skein_cursor_free`; otherwise it is NULL. The cursor keeps everything that it reads alive, so
/// other handles may be freed before it.
#[unsafe(no_mangle)]
pub extern "C" fn skein_cursor_open(
    keyspace: Option<&KeyspaceHandle>,
    cursor: Option<&mut MaybeUninit<*mut CursorHandle>>,
) -> Status {
    make(cursor, "cursor", || Ok(CursorHandle::new(Source::Present, of(keyspace)?)))
}

/// Limits a cursor to the keys from `*from`, included, to `*to`, excluded; a NULL bound is open.
/// The cursor then stands nowhere, as a new one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_cursor_set_range(
    cursor: Option<&CursorHandle>,
    from: Option<&Slice>,
    to: Option<&Slice>,
) -> Status {
    answer(|| {
        // SAFETY: the caller's promise.
        let (from, to) = unsafe { range(from, to)? };
        with_cursor(cursor, |cursor| Ok(cursor.set_range((from.map(<[u8]>::to_vec), to.map(<[u8]>::to_vec)))))
    })
}

/// Limits a cursor to the keys that begin with a prefix. The cursor then stands nowhere, as a new
/// one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_cursor_set_prefix(
    cursor: Option<&CursorHandle>,
    prefix: *const c_void,
    prefix_len: usize,
) -> Status {
    answer(|| {
        // SAFETY: the caller's promise.
        let prefix = unsafe { bytes(prefix, prefix_len, "prefix")? };
        with_cursor(cursor, |cursor| {
            let upper = successor(prefix).map_or(Bound::Unbounded, Bound::Excluded);
            Ok(cursor.set_range((Bound::Included(prefix.to_vec()), upper)))
        })
    })
}

/// Moves to the first row at or after `key`. Returns SKEIN_OK. If there is no such row, returns
/// SKEIN_NOT_FOUND and stands behind the last row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skein_cursor_seek(
    cursor: Option<&CursorHandle>,
    key: *const c_void,
    key_len: usize,
) -> Status {
    answer(|| {
        // SAFETY: the caller's promise.
        let key = unsafe { bytes(key, key_len, "key")? };
        with_cursor(cursor, |cursor| cursor.seek(key))
    })
}

/// Moves to the last row. Returns SKEIN_OK, or SKEIN_NOT_FOUND if there are no rows.
#[unsafe(no_mangle)]
pub extern "C" fn skein_cursor_seek_last(cursor: Option<&CursorHandle>) -> Status {
    answer(|| with_cursor(cursor, Cursor::seek_last))
}

/// Moves to the next row; a cursor that stands nowhere moves to the first one. Returns SKEIN_OK, or
/// SKEIN_NOT_FOUND and stands behind the last row then.
///
/// Errors: SKEIN_WRONG_KIND if the row has columns or a set, which a server wrote: the cursor
/// stands on it, and the next call continues behind it. After another error the cursor stands where
/// it was.
#[unsafe(no_mangle)]
pub extern "C" fn skein_cursor_next(cursor: Option<&CursorHandle>) -> Status {
    answer(|| with_cursor(cursor, |cursor| cursor.step(ScanDirection::Forward)))
}

/// Moves to the row before; a cursor that stands nowhere moves to the last one. Returns SKEIN_OK,
/// or SKEIN_NOT_FOUND and stands before the first row then. Errors as for `skein_cursor_next`.
#[unsafe(no_mangle)]
pub extern "C" fn skein_cursor_prev(cursor: Option<&CursorHandle>) -> Status {
    answer(|| with_cursor(cursor, |cursor| cursor.step(ScanDirection::Backward)))
}

/// Returns the key and the value that a cursor stands on.
fn row(cursor: Option<&CursorHandle>) -> Option<(Slice, Slice)> {
    match &lock(&cursor?.0).place {
        Place::On(key, value) => Some((Slice::of(key), Slice::of(value))),
        _ => None,
    }
}

/// Returns the key of the row that a cursor stands on; `data` is NULL if it stands on none. The
/// bytes are valid until this cursor moves or is freed.
#[unsafe(no_mangle)]
pub extern "C" fn skein_cursor_key(cursor: Option<&CursorHandle>) -> Slice {
    row(cursor).map_or(Slice::NONE, |row| row.0)
}

/// Returns the value of the row that a cursor stands on; otherwise as `skein_cursor_key`.
#[unsafe(no_mangle)]
pub extern "C" fn skein_cursor_value(cursor: Option<&CursorHandle>) -> Slice {
    row(cursor).map_or(Slice::NONE, |row| row.1)
}

/// Frees a cursor. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn skein_cursor_free(cursor: Option<Box<CursorHandle>>) {
    free(cursor);
}

#[cfg(test)]
mod tests;
