//! The writes of a keyspace.
//!
//! A closure of the user is never called while a room is held (invariant 2 of `db`), and so no
//! other code of theirs, such as `as_ref`: the write reads the row, calls the closure, and writes
//! only if the row's version is still the same. Otherwise it begins again.

use std::ops::{Bound, RangeBounds};
use std::time::SystemTime;

use skein_data::{EngineError, EngineWriter, RowChange, RowRef, RowWriter as _, ScanDirection, Ticket};

use super::Keyspace;
use super::expiry::unix_ms;
use super::keyspace::{key_bounds, prefix_bounds};
use super::physical_key::KeyspaceKeys as _;
use super::range_reader::borrowed;
use crate::{Error, Result};

/// Rows that are loaded with one append to the log, and the bytes after which it follows earlier.
const LOADED_ROWS: usize = 256;
const LOADED_BYTES: usize = 256 << 10;

/// The answer of a compare-and-swap that was refused: the key holds something else.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SwapRefused {
    /// The present value; `None` if the key is absent.
    pub current: Option<Vec<u8>>,
}

/// The outcome of a conditional write.
pub(super) enum NewValue {
    Keep,
    Put(Vec<u8>),
    Remove,
}

impl NewValue {
    /// Returns the write that makes `new` of the value `old`; `None` stands for an absent key.
    pub(super) fn of(new: Option<Vec<u8>>, old: Option<&[u8]>) -> Self {
        match (new, old) {
            (Some(value), _) => Self::Put(value),
            (None, Some(_)) => Self::Remove,
            (None, None) => Self::Keep,
        }
    }
}

/// Returns the answer of a compare-and-swap, and its effect on the key.
pub(super) fn swapped(
    old: Option<&[u8]>,
    expected: Option<&[u8]>,
    new: Option<&[u8]>,
) -> (Result<(), SwapRefused>, NewValue) {
    if old != expected {
        return (Err(SwapRefused { current: old.map(<[u8]>::to_vec) }), NewValue::Keep);
    }
    (Ok(()), NewValue::of(new.map(<[u8]>::to_vec), old))
}

impl Keyspace {
    /// Runs a write of one key.
    pub(super) fn write_key<R>(
        &self,
        key: impl AsRef<[u8]>,
        write: impl FnOnce(&mut EngineWriter<'_, '_>, &[u8]) -> Result<R, EngineError>,
    ) -> Result<R> {
        let key = self.physical(key.as_ref())?;
        self.write_with(|writer| write(writer, &key))
    }

    fn write_with<R>(
        &self,
        write: impl FnOnce(&mut EngineWriter<'_, '_>) -> Result<R, EngineError>,
    ) -> Result<R> {
        self.shared().write(self, |session| {
            let (done, ticket) = session.keys().write(write);
            Ok((done??, ticket))
        })
    }

    /// Sets a key to a value, whatever it held. The key does not expire then; see
    /// [`expiry`](Self::expiry).
    ///
    /// # Errors
    /// Key or value is longer than the limit, memory is short, writes are stopped, the database is
    /// closed or the keyspace dropped. Nothing was written then, as for all writes.
    pub fn insert(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        let value = value.as_ref();
        self.write_key(key, |writer, key| writer.put(key, value))
    }

    /// Sets a key to a value that expires: from the time `expires` on, the key is absent. Times
    /// have milliseconds. A later [`insert`](Self::insert) removes the time.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    ///
    /// # let db = skeindb::Db::in_memory()?;
    /// let sessions = db.keyspace("sessions")?;
    /// sessions.insert_until("s1", "Ada", SystemTime::now() + Duration::from_secs(3600))?;
    /// assert!(sessions.contains_key("s1")?);
    /// sessions.insert_until("s1", "Ada", SystemTime::now() - Duration::from_secs(1))?;
    /// assert!(!sessions.contains_key("s1")?);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`insert`](Self::insert); the limit of the key is 8 bytes lower.
    pub fn insert_until(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        expires: SystemTime,
    ) -> Result<()> {
        let value = value.as_ref();
        self.write_key(key, |writer, key| writer.put_until(key, value, unix_ms(expires)))
    }

    /// Sets a key to a value if it is absent. Returns whether it was set.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert).
    pub fn insert_if_absent(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        let value = value.as_ref();
        self.write_key(key, |writer, key| Ok(writer.put_if_absent(key, value)?.changed))
    }

    /// Removes a key, whatever it holds. Returns whether it was present.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert).
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method has one lifetime too many")]
    pub fn remove(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.write_key(key, |writer, key| writer.remove(key))
    }

    /// Removes a key and returns its value.
    ///
    /// # Errors
    /// As for [`update`](Self::update).
    pub fn take(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.change(key.as_ref(), |old| (old.map(<[u8]>::to_vec), NewValue::of(None, old)))
    }

    /// Sets a key to the result of `change` for its value (`None` for an absent key, and to remove
    /// the key). Returns the new value. The key keeps its time of expiry.
    ///
    /// `change` is called again if another thread changes the key meanwhile. It may use the
    /// database.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let words = db.keyspace("words")?;
    /// for word in ["goose", "goose"] {
    ///     words.update(word, |old| {
    ///         let count = old.and_then(|old| old.try_into().ok()).map_or(0, u64::from_be_bytes);
    ///         Some((count + 1).to_be_bytes().to_vec())
    ///     })?;
    /// }
    /// assert_eq!(words.get("goose")?.as_deref(), Some(&2u64.to_be_bytes()[..]));
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`insert`](Self::insert), and if the key holds columns or a set.
    pub fn update<V: Into<Vec<u8>>>(
        &self,
        key: impl AsRef<[u8]>,
        mut change: impl FnMut(Option<&[u8]>) -> Option<V>,
    ) -> Result<Option<Vec<u8>>> {
        self.change(key.as_ref(), |old| {
            let new = change(old).map(Into::into);
            (new.clone(), NewValue::of(new, old))
        })
    }

    /// Combines a key's value with an operand: `update` with a function of both, for counters,
    /// lists and sets of your own encoding. Returns the new value.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let tags = db.keyspace("tags")?;
    /// let append = |old: Option<&[u8]>, tag: &[u8]| [old.unwrap_or_default(), tag, b";"].concat();
    /// tags.merge("goose", "grey", append)?;
    /// tags.merge("goose", "wild", append)?;
    /// assert_eq!(tags.get("goose")?.as_deref(), Some(&b"grey;wild;"[..]));
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`update`](Self::update).
    pub fn merge<V: Into<Vec<u8>>>(
        &self,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
        mut operator: impl FnMut(Option<&[u8]>, &[u8]) -> V,
    ) -> Result<Vec<u8>> {
        let new = self.update(key, |old| Some(operator(old, operand.as_ref())))?;
        Ok(new.unwrap_or_default())
    }

    /// Sets a key to `new` (`None` removes it) if its value is `expected` (`None` if it is absent).
    /// Otherwise returns the present value, and changes nothing.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let geese = db.keyspace("geese")?;
    /// assert!(geese.compare_and_swap("grey", None, Some(b"wild"))?.is_ok());
    /// let refused = geese.compare_and_swap("grey", None, Some(b"tame"))?.unwrap_err();
    /// assert_eq!(refused.current.as_deref(), Some(&b"wild"[..]));
    /// assert!(geese.compare_and_swap("grey", Some(b"wild"), None)?.is_ok());
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`update`](Self::update).
    pub fn compare_and_swap(
        &self,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<Result<(), SwapRefused>> {
        self.change(key.as_ref(), |old| swapped(old, expected, new))
    }

    /// Adds to a decimal integer and returns the sum. An absent key counts as 0.
    ///
    /// # Errors
    /// As for [`update`](Self::update); the value is no integer, or the sum overflows.
    pub fn increment(&self, key: impl AsRef<[u8]>, by: i64) -> Result<i64> {
        self.write_key(key, |writer, key| writer.increment(key, by))
    }

    /// Removes the first row and returns it. Of several threads, each gets a row of its own.
    ///
    /// # Errors
    /// As for [`update`](Self::update).
    pub fn pop_first(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.pop(ScanDirection::Forward)
    }

    /// Removes the last row and returns it. Of several threads, each gets a row of its own.
    ///
    /// # Errors
    /// As for [`update`](Self::update).
    pub fn pop_last(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.pop(ScanDirection::Backward)
    }

    fn pop(&self, end: ScanDirection) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        while let Some((key, _)) = self.end_row(end)? {
            if let Some(value) = self.take(&key)? {
                return Ok(Some((key, value)));
            }
        }
        Ok(None)
    }

    /// Removes all keys within a range, whatever they hold. Returns how many. Other threads may see
    /// a part of the removal, and a key that is inserted meanwhile may stay.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert); a part of the keys may be removed then.
    pub fn remove_range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Result<u64> {
        self.remove_between(key_bounds(&range))
    }

    /// Removes all keys that begin with `prefix`; as [`remove_range`](Self::remove_range).
    ///
    /// # Errors
    /// As for [`remove_range`](Self::remove_range).
    pub fn remove_prefix(&self, prefix: impl AsRef<[u8]>) -> Result<u64> {
        prefix_bounds(prefix.as_ref(), |bounds| self.remove_between(bounds))
    }

    /// Removes all keys; as [`remove_range`](Self::remove_range).
    ///
    /// # Errors
    /// As for [`remove_range`](Self::remove_range).
    pub fn clear(&self) -> Result<u64> {
        self.remove_between((Bound::Unbounded, Bound::Unbounded))
    }

    fn remove_between(&self, bounds: (Bound<&[u8]>, Bound<&[u8]>)) -> Result<u64> {
        self.check_usable()?;
        let range = self.number().owned_bounds(bounds);
        let mut removed = 0;
        for (lower, upper) in self.number().pieces(borrowed(&range)).into_iter().flatten() {
            let mut lower = lower.map(<[u8]>::to_vec);
            loop {
                let step = self.shared().write(self, |session| {
                    let step = session.keys().remove_stored((lower.as_ref().map(Vec::as_slice), upper))?;
                    let ticket = step.ticket;
                    Ok((step, ticket))
                })?;
                removed += step.count as u64;
                let Some(rest) = step.rest else { break };
                lower = rest;
            }
        }
        Ok(removed)
    }

    /// Inserts many rows in ascending order of their keys, with few appends to the log. Returns
    /// their number. Other threads may see a part of them.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let numbers = db.keyspace("numbers")?;
    /// let rows = (0..1000u32).map(|number| (number.to_be_bytes(), "a number"));
    /// assert_eq!(numbers.bulk_load(rows)?, 1000);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotSorted`] if a key is not greater than the one before; otherwise as for
    /// [`insert`](Self::insert). The rows before it are inserted then.
    pub fn bulk_load<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        rows: impl IntoIterator<Item = (K, V)>,
    ) -> Result<u64> {
        let mut part: Vec<(Vec<u8>, V)> = Vec::with_capacity(LOADED_ROWS);
        let (mut loaded, mut bytes, mut last): (u64, usize, Option<Vec<u8>>) = (0, 0, None);
        let mut refused = None;
        for (key, value) in rows {
            let number = loaded + part.len() as u64;
            let key = match self.physical(key.as_ref()) {
                Ok(key) if last.as_deref().is_some_and(|last| last >= &*key) => {
                    Err(Error::NotSorted { number })
                }
                key => key.map(|key| key.to_vec()),
            };
            match key {
                Ok(key) => {
                    last.get_or_insert_default().clone_from(&key);
                    bytes += key.len() + value.as_ref().len();
                    part.push((key, value));
                }
                Err(error) => {
                    refused = Some(error);
                    break;
                }
            }
            if part.len() == LOADED_ROWS || bytes >= LOADED_BYTES {
                loaded += self.load_part(&mut part)?;
                bytes = 0;
            }
        }
        loaded += self.load_part(&mut part)?;
        refused.map_or(Ok(loaded), Err)
    }

    /// Inserts the rows of a part and empties it.
    fn load_part<V: AsRef<[u8]>>(&self, part: &mut Vec<(Vec<u8>, V)>) -> Result<u64> {
        if part.is_empty() {
            return Ok(0);
        }
        let rows: Vec<(&[u8], &[u8])> = part.iter().map(|(key, value)| (&key[..], value.as_ref())).collect();
        self.write_with(|writer| {
            for (key, value) in rows {
                writer.put(key, value)?;
                writer.publish_if_many()?;
            }
            Ok(())
        })?;
        let loaded = part.len() as u64;
        part.clear();
        Ok(loaded)
    }

    /// Changes the value of a key by a function that may be called several times. Returns the
    /// function's last answer.
    fn change<R>(&self, key: &[u8], mut change: impl FnMut(Option<&[u8]>) -> (R, NewValue)) -> Result<R> {
        self.check_usable()?;
        let key = self.physical(key)?;
        loop {
            let old = self.value_and_version(&key)?;
            let (answer, new) = change(old.as_ref().map(|(value, _)| &value[..]));
            if matches!(new, NewValue::Keep)
                || self.put_if_unchanged(&key, old.map(|(_, version)| version), &new)?
            {
                return Ok(answer);
            }
        }
    }

    /// Writes a key if its version is still `version`. Returns whether it was.
    fn put_if_unchanged(&self, key: &[u8], version: Option<u64>, new: &NewValue) -> Result<bool> {
        self.shared().write(self, |session| {
            let mut same = true;
            let (done, ticket) = session.keys().write(|writer| {
                writer.update::<EngineError>(key, |row, rows| {
                    same = row.map(RowRef::version) == version;
                    Ok(match new {
                        NewValue::Put(value) if same => {
                            let expires = row.and_then(RowRef::expires_at);
                            RowChange::Put(rows.value_until(&[value], expires)?)
                        }
                        NewValue::Remove if same => RowChange::Remove,
                        _ => RowChange::Keep,
                    })
                })
            });
            done??;
            Ok((same, if same { ticket } else { Ticket::default() }))
        })
    }
}
