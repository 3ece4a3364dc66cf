//! A keyspace, and its reads.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use skein_data::{EngineError, RowError, ScanDirection, StoredKeyspace, successor};
use skein_store::KEY_BYTES_MAX;

use super::catalog::{KeyspaceState, RowTypes};
use super::entry::Entry;
use super::iter::{Iter, Keys, Source, Values};
use super::physical_key::{KeyspaceKeys as _, PhysicalKey};
use super::range_reader::{Chunk, ChunkRequest, read_chunk};
use super::{DbShared, Value};
use crate::{Error, Result};

/// Keys that one step of a count visits.
const COUNTED: usize = 4096;

/// An ordered table of keys and values. Clones are cheap; all methods work from any thread.
///
/// Reads and writes of one key are linearizable. A transaction or batch becomes visible at once: a
/// thread that has seen one of its writes sees all others.
///
/// A key has at most 65,535 bytes, 8 less in a named keyspace. A value has less than 512 MiB.
///
/// ```
/// # let db = skeindb::Db::in_memory()?;
/// let geese = db.keyspace("geese")?;
/// geese.insert("grey", "Anser anser")?;
/// assert_eq!(geese.get("grey")?.as_deref(), Some(&b"Anser anser"[..]));
/// for item in geese.range("a".."h") {
///     let (key, value) = item?;
///     println!("{}: {}", String::from_utf8_lossy(&key), String::from_utf8_lossy(&value));
/// }
/// # Ok::<(), skeindb::Error>(())
/// ```
#[derive(Clone)]
pub struct Keyspace {
    shared: Arc<DbShared>,
    state: Arc<KeyspaceState>,
}

impl std::fmt::Debug for Keyspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Keyspace").field(&self.name()).finish()
    }
}

/// The bounds of a range of keys, borrowed.
pub(super) fn key_bounds<'r, K: AsRef<[u8]> + 'r>(
    range: &'r impl RangeBounds<K>,
) -> (Bound<&'r [u8]>, Bound<&'r [u8]>) {
    (range.start_bound().map(AsRef::as_ref), range.end_bound().map(AsRef::as_ref))
}

/// Calls `with` with the bounds of the keys that begin with `prefix`.
pub(super) fn prefix_bounds<R>(prefix: &[u8], with: impl FnOnce((Bound<&[u8]>, Bound<&[u8]>)) -> R) -> R {
    let end = successor(prefix);
    with((Bound::Included(prefix), end.as_deref().map_or(Bound::Unbounded, Bound::Excluded)))
}

impl Keyspace {
    pub(super) fn new(shared: Arc<DbShared>, state: Arc<KeyspaceState>) -> Self {
        Self { shared, state }
    }

    /// Returns the name; empty for the default keyspace.
    pub fn name(&self) -> String {
        self.state.name()
    }

    pub(super) fn number(&self) -> StoredKeyspace {
        self.state.number
    }

    /// Notes the types of the rows; an error if others were noted before, or if `check` fails.
    pub(crate) fn note_types(&self, types: RowTypes, check: impl FnOnce() -> Result<()>) -> Result<()> {
        self.state.note_types(types, check)
    }

    pub(crate) fn shared(&self) -> &Arc<DbShared> {
        &self.shared
    }

    #[inline]
    pub(super) fn check_present(&self) -> Result<()> {
        self.state.check_present()
    }

    /// Returns a number that is the same for all handles of this keyspace, and another one for
    /// those of other keyspaces, as long as the handle is kept.
    pub(super) fn identity(&self) -> usize {
        Arc::as_ptr(&self.state).addr()
    }

    /// Checks that the keyspace can be used: a program that keeps rows which it has read may ask
    /// before it uses them further.
    ///
    /// # Errors
    /// The database is closed, or was opened before a fork; the keyspace was dropped.
    #[inline]
    pub fn check_usable(&self) -> Result<()> {
        self.shared.check_usable()?;
        self.check_present()
    }

    /// Checks that the keyspace belongs to a database, and can be used.
    pub(super) fn check_of(&self, shared: &Arc<DbShared>) -> Result<()> {
        if !Arc::ptr_eq(&self.shared, shared) {
            return Err(Error::Foreign { what: "keyspace", of: "database" });
        }
        self.check_usable()
    }

    #[inline]
    pub(super) fn physical<'k>(&self, key: &'k [u8]) -> Result<PhysicalKey<'k>> {
        self.number().physical(key, KEY_BYTES_MAX)
    }

    /// Returns the value of a key, without a copy if it is in memory.
    ///
    /// # Errors
    /// The key holds columns or a set, or is longer than the limit; a page cannot be read; the
    /// database is closed or the keyspace dropped.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value<'_>>> {
        self.check_usable()?;
        let key = self.physical(key.as_ref())?;
        Ok(self.shared.engine.get(&key)?.map(Value))
    }

    /// Returns whether a key is present, whatever it holds.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        match self.get(key) {
            Err(Error::Engine(EngineError::Rows(RowError::WrongKind { .. }))) => Ok(true),
            found => found.map(|value| value.is_some()),
        }
    }

    /// Returns the contents of a key: a value, columns or the members of a set. Long ones are
    /// copied as a whole.
    ///
    /// # Errors
    /// As for [`get`](Self::get), but a key may hold anything.
    pub fn entry(&self, key: impl AsRef<[u8]>) -> Result<Option<Entry>> {
        self.check_usable()?;
        let key = self.physical(key.as_ref())?;
        let mut session = self.shared.engine.session();
        session.keys().get_settled_with(&key, |row| row.map_err(Error::from)?.map(Entry::of).transpose())
    }

    /// Returns the values of many keys in their order, as of one moment. The reads of memory
    /// overlap, so this is faster than as many calls of [`get`](Self::get).
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let geese = db.keyspace("geese")?;
    /// geese.insert("grey", "Anser anser")?;
    /// let found = geese.get_many(["bean", "grey"])?;
    /// assert_eq!(found, [None, Some(b"Anser anser".to_vec())]);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`get`](Self::get), for any of the keys.
    pub fn get_many<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        self.check_usable()?;
        let keys: Vec<K> = keys.into_iter().collect();
        if let [key] = &keys[..] {
            return Ok(vec![self.get(key)?.map(Value::into_vec)]);
        }
        let physical =
            keys.iter().map(|key| self.physical(key.as_ref())).collect::<Result<Vec<PhysicalKey<'_>>>>()?;
        let borrowed: Vec<&[u8]> = physical.iter().map(|key| &**key).collect();
        let (mut values, mut failed) = (vec![None; keys.len()], None);
        self.shared.engine.session().keys().get_many_atomic(&borrowed, usize::MAX, |at, row| {
            match row.map(|row| row.needed_value().map(<[u8]>::to_vec)).transpose() {
                Ok(value) => values[at] = value,
                Err(error) => failed = Some(error),
            }
        })?;
        failed.map_or(Ok(values), |error| Err(error.into()))
    }

    /// Returns an iterator over the rows of a range; see [`Iter`].
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let geese = db.keyspace("geese")?;
    /// for name in ["bean", "grey", "snow"] {
    ///     geese.insert(name, "")?;
    /// }
    /// let keys = geese.range("c"..).map(|row| Ok(row?.0)).collect::<skeindb::Result<Vec<_>>>()?;
    /// assert_eq!(keys, [b"grey", b"snow"]);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Iter<'static> {
        Iter::new(Source::Present, self, key_bounds(&range), true)
    }

    /// Returns an iterator over the rows of all keys that begin with `prefix`.
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Iter<'static> {
        prefix_bounds(prefix.as_ref(), |bounds| Iter::new(Source::Present, self, bounds, true))
    }

    /// Returns an iterator over all rows.
    pub fn iter(&self) -> Iter<'static> {
        Iter::new(Source::Present, self, (Bound::Unbounded, Bound::Unbounded), true)
    }

    /// Returns an iterator over the keys of a range, which reads no values.
    pub fn keys_in<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Keys<'static> {
        Keys(Iter::new(Source::Present, self, key_bounds(&range), false))
    }

    /// Returns an iterator over all keys.
    pub fn keys(&self) -> Keys<'static> {
        Keys(Iter::new(Source::Present, self, (Bound::Unbounded, Bound::Unbounded), false))
    }

    /// Returns an iterator over all values, in the order of their keys.
    pub fn values(&self) -> Values<'static> {
        Values(self.iter())
    }

    /// Returns the first row.
    ///
    /// # Errors
    /// As for an item of [`Iter`].
    pub fn first(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.iter().chunk_rows(1).next().transpose()
    }

    /// Returns the last row.
    ///
    /// # Errors
    /// As for an item of [`Iter`].
    pub fn last(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.iter().chunk_rows(1).next_back().transpose()
    }

    /// Returns the row of the smallest key that is greater than `key`.
    ///
    /// # Errors
    /// As for an item of [`Iter`].
    pub fn next_after(&self, key: impl AsRef<[u8]>) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let bounds = (Bound::Excluded(key.as_ref()), Bound::Unbounded);
        Iter::new(Source::Present, self, bounds, true).chunk_rows(1).next().transpose()
    }

    /// Returns the row of the greatest key that is less than `key`.
    ///
    /// # Errors
    /// As for an item of [`Iter`].
    pub fn next_before(&self, key: impl AsRef<[u8]>) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let bounds = (Bound::Unbounded, Bound::Excluded(key.as_ref()));
        Iter::new(Source::Present, self, bounds, true).chunk_rows(1).next_back().transpose()
    }

    /// Returns the number of keys within a range. It visits each of them.
    ///
    /// # Errors
    /// As for an item of [`Iter`].
    pub fn count<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Result<u64> {
        self.count_between(key_bounds(&range))
    }

    /// Returns the number of keys. It visits each of them, unless there are no named keyspaces.
    ///
    /// # Errors
    /// As for an item of [`Iter`].
    pub fn len(&self) -> Result<u64> {
        self.check_usable()?;
        if self.number().is_default() && !self.shared.catalog.has_other_keys() {
            return Ok(self.shared.engine.len() as u64);
        }
        self.count_between((Bound::Unbounded, Bound::Unbounded))
    }

    /// Returns whether there are no keys.
    ///
    /// # Errors
    /// As for an item of [`Iter`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(Keys(Iter::new(Source::Present, self, (Bound::Unbounded, Bound::Unbounded), false).chunk_rows(1))
            .next()
            .transpose()?
            .is_none())
    }

    fn count_between(&self, bounds: (Bound<&[u8]>, Bound<&[u8]>)) -> Result<u64> {
        self.check_usable()?;
        let (mut session, mut lower) = (self.shared.engine.session(), bounds.0.map(<[u8]>::to_vec));
        let mut count = 0;
        loop {
            let rest = (lower.as_ref().map(Vec::as_slice), bounds.1);
            let (counted, last) = session.keys().count_first(self.number(), rest, COUNTED)?;
            count += counted as u64;
            let Some(last) = last else { return Ok(count) };
            lower = Bound::Excluded(last);
        }
    }

    pub(super) fn read_chunk(&self, request: &ChunkRequest<'_>) -> Result<Chunk> {
        self.check_usable()?;
        let mut session = self.shared.engine.session();
        let most = request.rows;
        read_chunk(request, |bounds, each| {
            session.keys().scan_stored(bounds, request.direction, most, |key, row| each(key, row))
        })
    }

    /// Reads the present row of a key for a write that depends on it.
    pub(super) fn value_and_version(&self, key: &[u8]) -> Result<Option<(Vec<u8>, u64)>> {
        let mut session = self.shared.engine.session();
        session.keys().get_settled_with(key, |row| {
            let Some(row) = row? else { return Ok(None) };
            Ok(Some((row.needed_value()?.to_vec(), row.version())))
        })
    }

    /// Returns the direction's first row of a range, for removals from an end.
    pub(super) fn end_row(&self, direction: ScanDirection) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        match direction {
            ScanDirection::Forward => self.first(),
            ScanDirection::Backward => self.last(),
        }
    }
}

impl IntoIterator for &Keyspace {
    type Item = Result<(Vec<u8>, Vec<u8>)>;
    type IntoIter = Iter<'static>;

    fn into_iter(self) -> Iter<'static> {
        self.iter()
    }
}
