//! A keyspace with typed keys and values.

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::time::SystemTime;

use super::codec::{decode_row, decode_value, encode_value};
use super::{AsKey, AsValue, Key, KeyPrefix, KeyRange, StoredValue, TypedIter, TypedKeys};
use crate::{Db, Expiry, Keyspace, Result};

/// A [`Keyspace`] with keys of the type `K`, in their order, and values of the type `V`.
/// [`Db::typed`] opens it.
///
/// Clones are cheap; all methods work from any thread. A key or value that is passed in may be of
/// any type that stands for a `K` or `V` ([`AsKey`], [`AsValue`]), such as `str` for `String`.
///
/// The database does not store the types. [`Db::typed`] refuses other types than those of an
/// earlier call in this process, and types that the first or the last row is not of. Others of the
/// same widths, such as `u64` and `i64` in two runs of a program, return keys and values that look
/// right.
///
/// ```
/// use skeindb::TypedKeyspace;
///
/// # let db = skeindb::Db::in_memory()?;
/// // The readings of each sensor, by time.
/// let readings: TypedKeyspace<(u32, i64), f64> = db.typed("readings")?;
/// readings.insert(&(7, -5), &21.5)?;
/// readings.insert(&(7, 3), &22.0)?;
/// readings.insert(&(8, 0), &19.0)?;
///
/// assert_eq!(readings.get(&(7, 3))?, Some(22.0));
/// assert_eq!(readings.range((7, 0)..(8, 0)).count(), 1);
/// for reading in readings.prefix(&(7,)) {
///     let ((_, at), value) = reading?;
///     println!("{at}: {value}");
/// }
/// let latest = readings.prefix(&(7,)).next_back().transpose()?;
/// assert_eq!(latest, Some(((7, 3), 22.0)));
/// # Ok::<(), skeindb::Error>(())
/// ```
pub struct TypedKeyspace<K, V> {
    keyspace: Keyspace,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> Clone for TypedKeyspace<K, V> {
    fn clone(&self) -> Self {
        Self::new(self.keyspace.clone())
    }
}

impl<K, V> fmt::Debug for TypedKeyspace<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TypedKeyspace").field(&self.keyspace.name()).finish()
    }
}

impl Db {
    /// Returns the keyspace of this name with typed keys and values. Creates it if it does not
    /// exist.
    ///
    /// ```
    /// use skeindb::{Db, Error, TypedKeyspace};
    ///
    /// let db = Db::in_memory()?;
    /// let geese: TypedKeyspace<String, u32> = db.typed("geese")?;
    /// geese.insert("grey", &3)?;
    /// assert!(matches!(db.typed::<String, i64>("geese"), Err(Error::TypesDiffer { .. })));
    /// // Another view of the same bytes.
    /// let bytes = TypedKeyspace::<Vec<u8>, Vec<u8>>::new(db.keyspace("geese")?);
    /// assert_eq!(bytes.len()?, 1);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Decode`](crate::Error::Decode) if the first or the last row is not of these types;
    /// [`Error::TypesDiffer`](crate::Error::TypesDiffer) if the keyspace was opened with others; as
    /// for [`keyspace`](Self::keyspace).
    pub fn typed<K: Key, V: StoredValue>(&self, name: impl AsRef<str>) -> Result<TypedKeyspace<K, V>> {
        let keyspace = TypedKeyspace::new(self.keyspace(name)?);
        keyspace.untyped().note_types((type_name::<K>(), type_name::<V>()), || {
            keyspace.first()?;
            keyspace.last().map(drop)
        })?;
        Ok(keyspace)
    }
}

impl<K, V> TypedKeyspace<K, V> {
    /// Returns a keyspace with typed keys and values. To open one by its name, use [`Db::typed`].
    pub fn new(keyspace: Keyspace) -> Self {
        Self { keyspace, types: PhantomData }
    }

    /// Returns the keyspace without types: the same rows as bytes.
    pub fn untyped(&self) -> &Keyspace {
        &self.keyspace
    }
}

/// Reads. All of them fail as those of [`Keyspace`], and with
/// [`Error::Decode`](crate::Error::Decode) if a row is not of the types.
#[expect(clippy::missing_errors_doc, reason = "the head of the block has the errors of all methods")]
impl<K: Key, V: StoredValue> TypedKeyspace<K, V> {
    /// Returns the value of a key.
    pub fn get(&self, key: &(impl AsKey<K> + ?Sized)) -> Result<Option<V>> {
        decode_value(self.keyspace.get(key.to_key_bytes())?)
    }

    /// Returns the values of many keys in their order, as of one moment; see
    /// [`Keyspace::get_many`].
    pub fn get_many<Q: AsKey<K>>(&self, keys: impl IntoIterator<Item = Q>) -> Result<Vec<Option<V>>> {
        let values = self.keyspace.get_many(keys.into_iter().map(|key| key.to_key_bytes()))?;
        values.into_iter().map(decode_value).collect()
    }

    /// Returns whether a key is present.
    pub fn contains_key(&self, key: &(impl AsKey<K> + ?Sized)) -> Result<bool> {
        self.keyspace.contains_key(key.to_key_bytes())
    }

    /// Returns when a key expires; see [`Keyspace::expiry`].
    pub fn expiry(&self, key: &(impl AsKey<K> + ?Sized)) -> Result<Expiry> {
        self.keyspace.expiry(key.to_key_bytes())
    }

    /// Returns an iterator over the rows of a range: lazy, from both ends.
    pub fn range(&self, range: impl KeyRange<K>) -> TypedIter<'static, K, V> {
        TypedIter::new(self.keyspace.range(range.bounds()))
    }

    /// Returns an iterator over the rows of all keys that begin with `prefix`, such as `(7,)` for
    /// keys of type `(u32, i64)`.
    pub fn prefix(&self, prefix: &(impl KeyPrefix<K> + ?Sized)) -> TypedIter<'static, K, V> {
        TypedIter::new(self.keyspace.prefix(prefix.to_prefix_bytes()))
    }

    /// Returns an iterator over all rows.
    pub fn iter(&self) -> TypedIter<'static, K, V> {
        TypedIter::new(self.keyspace.iter())
    }

    /// Returns an iterator over all keys, which reads no values.
    pub fn keys(&self) -> TypedKeys<'static, K> {
        TypedKeys::new(self.keyspace.keys())
    }

    /// Returns the first row.
    pub fn first(&self) -> Result<Option<(K, V)>> {
        self.keyspace.first()?.map(decode_row).transpose()
    }

    /// Returns the last row.
    pub fn last(&self) -> Result<Option<(K, V)>> {
        self.keyspace.last()?.map(decode_row).transpose()
    }

    /// Returns the row of the smallest key that is greater than `key`.
    pub fn next_after(&self, key: &(impl AsKey<K> + ?Sized)) -> Result<Option<(K, V)>> {
        self.keyspace.next_after(key.to_key_bytes())?.map(decode_row).transpose()
    }

    /// Returns the row of the greatest key that is less than `key`.
    pub fn next_before(&self, key: &(impl AsKey<K> + ?Sized)) -> Result<Option<(K, V)>> {
        self.keyspace.next_before(key.to_key_bytes())?.map(decode_row).transpose()
    }

    /// Returns the number of keys within a range. It visits each of them.
    pub fn count(&self, range: impl KeyRange<K>) -> Result<u64> {
        self.keyspace.count(range.bounds())
    }

    /// Returns the number of keys; see [`Keyspace::len`].
    pub fn len(&self) -> Result<u64> {
        self.keyspace.len()
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> Result<bool> {
        self.keyspace.is_empty()
    }
}

/// Writes. All of them fail as those of [`Keyspace`]; with
/// [`Error::Encode`](crate::Error::Encode) if serde cannot write a value; and with
/// [`Error::Decode`](crate::Error::Decode) if they return a row that is not of the types.
#[expect(clippy::missing_errors_doc, reason = "the head of the block has the errors of all methods")]
impl<K: Key, V: StoredValue> TypedKeyspace<K, V> {
    /// Sets a key to a value.
    pub fn insert(&self, key: &(impl AsKey<K> + ?Sized), value: &(impl AsValue<V> + ?Sized)) -> Result<()> {
        self.keyspace.insert(key.to_key_bytes(), encode_value(value)?)
    }

    /// Sets a key to a value that expires; see [`Keyspace::insert_until`].
    pub fn insert_until(
        &self,
        key: &(impl AsKey<K> + ?Sized),
        value: &(impl AsValue<V> + ?Sized),
        expires: SystemTime,
    ) -> Result<()> {
        self.keyspace.insert_until(key.to_key_bytes(), encode_value(value)?, expires)
    }

    /// Lets a key expire at a time, and keeps its value; see [`Keyspace::expire_at`]. Returns
    /// whether the key was present.
    pub fn expire_at(&self, key: &(impl AsKey<K> + ?Sized), time: SystemTime) -> Result<bool> {
        self.keyspace.expire_at(key.to_key_bytes(), time)
    }

    /// Lets a key not expire, and keeps its value. Returns whether the key was present.
    pub fn persist(&self, key: &(impl AsKey<K> + ?Sized)) -> Result<bool> {
        self.keyspace.persist(key.to_key_bytes())
    }

    /// Sets a key to a value if it is absent. Returns whether it was set.
    pub fn insert_if_absent(
        &self,
        key: &(impl AsKey<K> + ?Sized),
        value: &(impl AsValue<V> + ?Sized),
    ) -> Result<bool> {
        self.keyspace.insert_if_absent(key.to_key_bytes(), encode_value(value)?)
    }

    /// Removes a key. Returns whether it was present.
    pub fn remove(&self, key: &(impl AsKey<K> + ?Sized)) -> Result<bool> {
        self.keyspace.remove(key.to_key_bytes())
    }

    /// Removes a key and returns its value. If the value is not of the type, the key is removed and
    /// the value is lost.
    pub fn take(&self, key: &(impl AsKey<K> + ?Sized)) -> Result<Option<V>> {
        decode_value(self.keyspace.take(key.to_key_bytes())?)
    }

    /// Sets a key to the value that `change` returns for its present one. `None` stands for an
    /// absent key, and removes it. Returns the new value. The key keeps its time of expiry.
    ///
    /// `change` is called again if another thread changes the key meanwhile. It may use the
    /// database.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let words: skeindb::TypedKeyspace<String, u64> = db.typed("words")?;
    /// for word in ["goose", "goose"] {
    ///     words.update(word, |count| Some(count.unwrap_or(0) + 1))?;
    /// }
    /// assert_eq!(words.get("goose")?, Some(2));
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    pub fn update(
        &self,
        key: &(impl AsKey<K> + ?Sized),
        mut change: impl FnMut(Option<V>) -> Option<V>,
    ) -> Result<Option<V>> {
        let key = key.to_key_bytes();
        let mut old = self.keyspace.get(&key)?.map(crate::Value::into_vec);
        loop {
            let new = change(decode_value(old.as_deref())?);
            let bytes = new.as_ref().map(encode_value).transpose()?;
            match self.keyspace.compare_and_swap(&key, old.as_deref(), bytes.as_deref())? {
                Ok(()) => return Ok(new),
                Err(refused) => old = refused.current,
            }
        }
    }

    /// Sets a key to `new` (`None` removes it) if its value is `expected` (`None` if it is absent).
    /// Otherwise returns the present value, and changes nothing. Values are compared as bytes.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let geese: skeindb::TypedKeyspace<String, u32> = db.typed("geese")?;
    /// assert_eq!(geese.compare_and_swap("grey", None, Some(&3))?, Ok(()));
    /// assert_eq!(geese.compare_and_swap("grey", None, Some(&4))?, Err(Some(3)));
    /// assert_eq!(geese.compare_and_swap("grey", Some(&3), None)?, Ok(()));
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    pub fn compare_and_swap(
        &self,
        key: &(impl AsKey<K> + ?Sized),
        expected: Option<&V>,
        new: Option<&V>,
    ) -> Result<Result<(), Option<V>>> {
        let expected = expected.map(encode_value).transpose()?;
        let new = new.map(encode_value).transpose()?;
        match self.keyspace.compare_and_swap(key.to_key_bytes(), expected.as_deref(), new.as_deref())? {
            Ok(()) => Ok(Ok(())),
            Err(refused) => decode_value(refused.current).map(Err),
        }
    }

    /// Removes the first row and returns it. Of several threads, each gets a row of its own.
    pub fn pop_first(&self) -> Result<Option<(K, V)>> {
        self.keyspace.pop_first()?.map(decode_row).transpose()
    }

    /// Removes the last row and returns it. Of several threads, each gets a row of its own.
    pub fn pop_last(&self) -> Result<Option<(K, V)>> {
        self.keyspace.pop_last()?.map(decode_row).transpose()
    }

    /// Removes all keys within a range, and returns their number; see [`Keyspace::remove_range`].
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let readings: skeindb::TypedKeyspace<(u32, i64), f64> = db.typed("readings")?;
    /// readings.insert(&(7, -5), &21.5)?;
    /// readings.insert(&(7, 3), &22.0)?;
    /// // The readings of sensor 7 before time 0.
    /// assert_eq!(readings.remove_range((7, i64::MIN)..(7, 0))?, 1);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    pub fn remove_range(&self, range: impl KeyRange<K>) -> Result<u64> {
        self.keyspace.remove_range(range.bounds())
    }

    /// Removes all keys that begin with `prefix`, and returns their number; see
    /// [`Keyspace::remove_range`].
    pub fn remove_prefix(&self, prefix: &(impl KeyPrefix<K> + ?Sized)) -> Result<u64> {
        self.keyspace.remove_prefix(prefix.to_prefix_bytes())
    }

    /// Removes all keys, and returns their number; see [`Keyspace::remove_range`].
    pub fn clear(&self) -> Result<u64> {
        self.keyspace.clear()
    }
}

impl<K: Key, V: StoredValue> IntoIterator for &TypedKeyspace<K, V> {
    type Item = Result<(K, V)>;
    type IntoIter = TypedIter<'static, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
