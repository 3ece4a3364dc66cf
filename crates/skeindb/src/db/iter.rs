//! Iterators over a range: lazy, from both ends, in bounded memory.
//!
//! ```text
//!   yielded by next │ front │      rest, not read      │ back │ yielded by next_back
//! ```
//!
//! Each end reads the rest in chunks that grow from some rows to some hundred. An iterator holds no
//! lock and no position in the engine, so it may be kept for any time and be sent to another
//! thread.

use std::collections::VecDeque;
use std::iter::FusedIterator;
use std::ops::Bound;

use skein_data::ScanDirection;

use super::physical_key::KeyspaceKeys as _;
use super::range_reader::{Chunk, ChunkRequest, OwnedBounds, RowRead, borrowed, earlier, later};
use super::{Keyspace, Snapshot, Transaction};
use crate::Result;

/// Rows of the first chunk, of a later one at most, and the bytes that end a chunk.
const FIRST_ROWS: usize = 16;
const ROWS_MOST: usize = 512;
const BYTES_MOST: usize = 256 << 10;

/// Where an iterator reads.
#[derive(Debug, Clone)]
pub(super) enum Source<'a> {
    /// The present keys.
    Present,
    Snapshot(Snapshot),
    Transaction(&'a Transaction),
}

/// An iterator over the rows of a range in the order of their keys, from both ends.
///
/// Each item is a key with its value, or an error. After an error of the engine the iterator ends.
/// If a key has columns or a set and no value, its item is an error too, and the iterator
/// continues.
///
/// An iterator of a [`Keyspace`] is not a snapshot: it yields each key that is present throughout
/// exactly once, and may or may not yield a key that is inserted or removed meanwhile. An iterator
/// of a [`Snapshot`] or of a [`Transaction`] shows one moment.
///
/// # Writing while iterating
/// A loop over a keyspace that writes to the same keyspace may meet its own writes: it reads in
/// chunks, so it yields a row that it inserts behind its place if no chunk has read past that place
/// yet. A loop that inserts such a row for each row may never end, and one that changes keys may
/// change some of them twice. Iterate over a snapshot, and write to the keyspace:
///
/// ```
/// # let db = skeindb::Db::in_memory()?;
/// # let geese = db.keyspace("geese")?;
/// # geese.insert("grey", "")?;
/// for key in db.snapshot()?.keys(&geese) {
///     let copy = [b"x-".as_slice(), &key?].concat();
///     geese.insert(copy, "")?;
/// }
/// assert_eq!(geese.len()?, 2);
/// # Ok::<(), skeindb::Error>(())
/// ```
///
/// A transaction cannot be written to while an iterator borrows it: collect the keys first.
/// [`Keyspace::remove_range`] removes a range without an iterator.
///
/// # Examples
/// ```
/// # let db = skeindb::Db::in_memory()?;
/// let geese = db.keyspace("geese")?;
/// for name in ["bean", "grey", "snow"] {
///     geese.insert(name, "")?;
/// }
/// let mut iter = geese.iter();
/// assert_eq!(iter.next().transpose()?.expect("three").0, b"bean");
/// assert_eq!(iter.next_back().transpose()?.expect("two").0, b"snow");
/// iter.seek("h");
/// assert!(iter.next().is_none(), "nothing lies between h and snow");
/// # Ok::<(), skeindb::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "iterators are lazy and do nothing unless they are consumed"]
pub struct Iter<'a> {
    source: Source<'a>,
    keyspace: Keyspace,
    values: bool,
    /// The whole range, of the engine's keys.
    range: OwnedBounds,
    /// Where the ends began: the bounds of the range, or a later seek.
    begins: OwnedBounds,
    /// The part that is not read yet; `None` if all is.
    rest: Option<OwnedBounds>,
    front: VecDeque<RowRead>,
    back: VecDeque<RowRead>,
    /// The last keys that the ends have yielded since they began there.
    yielded: (Option<Vec<u8>>, Option<Vec<u8>>),
    chunk_rows: usize,
}

impl<'a> Iter<'a> {
    pub(super) fn new(
        source: Source<'a>,
        keyspace: &Keyspace,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        values: bool,
    ) -> Self {
        let range = keyspace.number().owned_bounds(bounds);
        Self {
            source,
            keyspace: keyspace.clone(),
            values,
            rest: Some(range.clone()),
            begins: range.clone(),
            range,
            front: VecDeque::new(),
            back: VecDeque::new(),
            yielded: (None, None),
            chunk_rows: FIRST_ROWS,
        }
    }

    /// Sets how many rows are read ahead at first: from 1, for callers that want one row, to 512.
    /// Later chunks grow. Without it the first chunk has 16 rows.
    pub fn chunk_rows(mut self, rows: usize) -> Self {
        self.chunk_rows = rows.clamp(1, ROWS_MOST);
        self
    }

    /// Moves the front to the first key of the range that is not less than `key`, before or behind
    /// its present place. Rows that the back has yielded are not yielded again.
    pub fn seek(&mut self, key: impl AsRef<[u8]>) {
        let key = self.keyspace.number().owned_bounds((Bound::Included(key.as_ref()), Bound::Unbounded)).0;
        let lower = later(self.range.0.as_ref().map(Vec::as_slice), key.as_ref().map(Vec::as_slice));
        let lower = lower.map(<[u8]>::to_vec);
        let upper = self.behind_back();
        self.begins.0.clone_from(&lower);
        self.yielded.0 = None;
        self.restart((lower, upper));
    }

    /// Moves the back to the last key of the range that is not greater than `key`, before or behind
    /// its present place. Rows that the front has yielded are not yielded again.
    pub fn seek_back(&mut self, key: impl AsRef<[u8]>) {
        let key = self.keyspace.number().owned_bounds((Bound::Unbounded, Bound::Included(key.as_ref()))).1;
        let upper = earlier(self.range.1.as_ref().map(Vec::as_slice), key.as_ref().map(Vec::as_slice));
        let upper = upper.map(<[u8]>::to_vec);
        let lower = self.before_front();
        self.begins.1.clone_from(&upper);
        self.yielded.1 = None;
        self.restart((lower, upper));
    }

    fn before_front(&self) -> Bound<Vec<u8>> {
        self.yielded.0.as_ref().map_or_else(|| self.begins.0.clone(), |key| self.beside(key).0)
    }

    fn behind_back(&self) -> Bound<Vec<u8>> {
        self.yielded.1.as_ref().map_or_else(|| self.begins.1.clone(), |key| self.beside(key).1)
    }

    /// Returns the bounds that begin behind a key and end before it.
    fn beside(&self, key: &[u8]) -> OwnedBounds {
        self.keyspace.number().owned_bounds((Bound::Excluded(key), Bound::Excluded(key)))
    }

    fn restart(&mut self, rest: OwnedBounds) {
        self.front.clear();
        self.back.clear();
        self.rest = Some(rest);
        self.chunk_rows = FIRST_ROWS;
    }

    /// Reads the next chunk at one end of the rest.
    fn read(&mut self, direction: ScanDirection) -> Result<()> {
        let Some(rest) = self.rest.take() else { return Ok(()) };
        let request = ChunkRequest {
            number: self.keyspace.number(),
            bounds: borrowed(&rest),
            direction,
            rows: self.chunk_rows,
            bytes: BYTES_MOST,
            values: self.values,
        };
        let Chunk { rows, more_after } = match &self.source {
            Source::Present => self.keyspace.read_chunk(&request)?,
            Source::Snapshot(snapshot) => snapshot.read_chunk(&self.keyspace, &request)?,
            Source::Transaction(transaction) => transaction.read_chunk(&self.keyspace, &request)?,
        };
        self.chunk_rows = (self.chunk_rows * 2).clamp(FIRST_ROWS, ROWS_MOST);
        match direction {
            ScanDirection::Forward => {
                self.front.extend(rows);
                self.rest = more_after.map(|key| (Bound::Excluded(key), rest.1));
            }
            ScanDirection::Backward => {
                self.back.extend(rows);
                self.rest = more_after.map(|key| (rest.0, Bound::Excluded(key)));
            }
        }
        Ok(())
    }

    /// Fills one end, if it is empty. After an error the iterator ends. Rows that were read ahead
    /// count only while the database is open.
    fn fill(&mut self, direction: ScanDirection) -> Result<()> {
        let filled = self.try_fill(direction);
        if filled.is_err() {
            self.front.clear();
            self.back.clear();
            self.rest = None;
        }
        filled
    }

    fn try_fill(&mut self, direction: ScanDirection) -> Result<()> {
        let has_rows = !self.front.is_empty() || !self.back.is_empty();
        if has_rows {
            self.keyspace.shared().check_usable()?;
        }
        let is_empty = |iter: &Self| match direction {
            ScanDirection::Forward => iter.front.is_empty(),
            ScanDirection::Backward => iter.back.is_empty(),
        };
        while is_empty(self) && self.rest.is_some() {
            self.read(direction)?;
        }
        Ok(())
    }
}

/// Notes the key of a row that is yielded in a buffer that is used again.
fn yielded(place: &mut Option<Vec<u8>>, (key, value): RowRead) -> Result<(Vec<u8>, Vec<u8>)> {
    place.get_or_insert_default().clone_from(&key);
    value.map(|value| (key, value))
}

impl Iterator for Iter<'_> {
    type Item = Result<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(error) = self.fill(ScanDirection::Forward) {
            return Some(Err(error));
        }
        let row = self.front.pop_front().or_else(|| self.back.pop_back())?;
        Some(yielded(&mut self.yielded.0, row))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let read = self.front.len() + self.back.len();
        (read, self.rest.is_none().then_some(read))
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if let Err(error) = self.fill(ScanDirection::Backward) {
            return Some(Err(error));
        }
        let row = self.back.pop_front().or_else(|| self.front.pop_back())?;
        Some(yielded(&mut self.yielded.1, row))
    }
}

impl FusedIterator for Iter<'_> {}

/// An iterator over the keys of a range; see [`Iter`]. It reads no values.
#[derive(Debug, Clone)]
#[must_use = "iterators are lazy and do nothing unless they are consumed"]
pub struct Keys<'a>(pub(super) Iter<'a>);

/// An iterator over the values of a range, in the order of their keys; see [`Iter`].
#[derive(Debug, Clone)]
#[must_use = "iterators are lazy and do nothing unless they are consumed"]
pub struct Values<'a>(pub(super) Iter<'a>);

/// Implements an iterator over one half of the rows.
macro_rules! half_of_rows {
    ($name:ident, $half:tt) => {
        impl $name<'_> {
            /// Does the same as [`Iter::seek`].
            pub fn seek(&mut self, key: impl AsRef<[u8]>) {
                self.0.seek(key);
            }

            /// Does the same as [`Iter::chunk_rows`].
            pub fn chunk_rows(self, rows: usize) -> Self {
                Self(self.0.chunk_rows(rows))
            }

            /// Does the same as [`Iter::seek_back`].
            pub fn seek_back(&mut self, key: impl AsRef<[u8]>) {
                self.0.seek_back(key);
            }
        }

        impl Iterator for $name<'_> {
            type Item = Result<Vec<u8>>;

            fn next(&mut self) -> Option<Self::Item> {
                self.0.next().map(|row| row.map(|row| row.$half))
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.size_hint()
            }
        }

        impl DoubleEndedIterator for $name<'_> {
            fn next_back(&mut self) -> Option<Self::Item> {
                self.0.next_back().map(|row| row.map(|row| row.$half))
            }
        }

        impl FusedIterator for $name<'_> {}
    };
}

half_of_rows!(Keys, 0);
half_of_rows!(Values, 1);
