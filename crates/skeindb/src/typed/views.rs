//! A typed keyspace within a snapshot, within a transaction, and within a batch.

use std::marker::PhantomData;
use std::time::SystemTime;

use super::codec::{decode_row, decode_value, encode_value};
use super::{AsKey, AsValue, Key, KeyPrefix, KeyRange, StoredValue, TypedIter, TypedKeys, TypedKeyspace};
use crate::{Batch, Expiry, Keyspace, Result, Snapshot, Transaction};

/// A [`TypedKeyspace`] as of a snapshot. [`TypedKeyspace::in_snapshot`] makes it.
#[derive(Debug)]
pub struct TypedSnapshot<'s, K, V> {
    keyspace: &'s Keyspace,
    snapshot: &'s Snapshot,
    types: PhantomData<fn() -> (K, V)>,
}

/// A [`TypedKeyspace`] within a transaction. [`TypedKeyspace::in_transaction`] makes it, for a
/// single call.
#[derive(Debug)]
pub struct TypedTransaction<'t, K, V> {
    keyspace: &'t Keyspace,
    transaction: &'t mut Transaction,
    types: PhantomData<fn() -> (K, V)>,
}

/// A [`TypedKeyspace`] within a batch. [`TypedKeyspace::in_batch`] makes it, for a chain of calls.
#[derive(Debug)]
pub struct TypedBatch<'b, K, V> {
    keyspace: &'b Keyspace,
    batch: &'b mut Batch,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> TypedKeyspace<K, V> {
    /// Returns the keyspace as of a snapshot.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let geese: skeindb::TypedKeyspace<String, u32> = db.typed("geese")?;
    /// geese.insert("grey", &3)?;
    /// let before = db.snapshot()?;
    /// geese.remove("grey")?;
    /// assert_eq!(geese.in_snapshot(&before).get("grey")?, Some(3));
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    pub fn in_snapshot<'s>(&'s self, snapshot: &'s Snapshot) -> TypedSnapshot<'s, K, V> {
        TypedSnapshot { keyspace: self.untyped(), snapshot, types: PhantomData }
    }

    /// Returns the keyspace within a transaction, for a single call.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let users: skeindb::TypedKeyspace<u64, String> = db.typed("users")?;
    /// let by_name: skeindb::TypedKeyspace<(String, u64), ()> = db.typed("by_name")?;
    /// db.transaction(|tx| {
    ///     users.in_transaction(tx).insert(&1, "Ada")?;
    ///     by_name.in_transaction(tx).insert(&("Ada", 1), &())
    /// })?;
    /// assert!(by_name.contains_key(&("Ada", 1))?);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    pub fn in_transaction<'t>(&'t self, transaction: &'t mut Transaction) -> TypedTransaction<'t, K, V> {
        TypedTransaction { keyspace: self.untyped(), transaction, types: PhantomData }
    }

    /// Returns the keyspace within a batch, for a chain of calls. One batch may write to many
    /// keyspaces, typed and untyped ones.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let users: skeindb::TypedKeyspace<u64, String> = db.typed("users")?;
    /// let by_name: skeindb::TypedKeyspace<(String, u64), ()> = db.typed("by_name")?;
    /// let mut batch = skeindb::Batch::new();
    /// users.in_batch(&mut batch).insert(&1, "Ada").insert(&2, "Grace").remove(&0);
    /// by_name.in_batch(&mut batch).insert(&("Ada", 1), &()).insert(&("Grace", 2), &());
    /// db.apply(batch)?;
    /// assert_eq!(users.get(&2)?.as_deref(), Some("Grace"));
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    pub fn in_batch<'b>(&'b self, batch: &'b mut Batch) -> TypedBatch<'b, K, V> {
        TypedBatch { keyspace: self.untyped(), batch, types: PhantomData }
    }
}

/// Writes, as those of [`Batch`]. If serde cannot write a value, [`Db::apply`](crate::Db::apply)
/// fails with [`Error::Encode`](crate::Error::Encode) and applies none of the batch.
impl<K: Key, V: StoredValue> TypedBatch<'_, K, V> {
    /// Sets a key to a value.
    pub fn insert(
        &mut self,
        key: &(impl AsKey<K> + ?Sized),
        value: &(impl AsValue<V> + ?Sized),
    ) -> &mut Self {
        match encode_value(value) {
            Ok(value) => _ = self.batch.insert(self.keyspace, key.to_key_bytes(), value),
            Err(error) => self.batch.refuse(error),
        }
        self
    }

    /// Sets a key to a value that expires; see [`Keyspace::insert_until`].
    pub fn insert_until(
        &mut self,
        key: &(impl AsKey<K> + ?Sized),
        value: &(impl AsValue<V> + ?Sized),
        expires: SystemTime,
    ) -> &mut Self {
        match encode_value(value) {
            Ok(value) => _ = self.batch.insert_until(self.keyspace, key.to_key_bytes(), value, expires),
            Err(error) => self.batch.refuse(error),
        }
        self
    }

    /// Removes a key.
    pub fn remove(&mut self, key: &(impl AsKey<K> + ?Sized)) -> &mut Self {
        self.batch.remove(self.keyspace, key.to_key_bytes());
        self
    }
}

/// Reads, as those of [`Snapshot`]. They fail with [`Error::Decode`](crate::Error::Decode), too, if
/// a row is not of the types.
#[expect(clippy::missing_errors_doc, reason = "the head of the block has the errors of all methods")]
impl<K: Key, V: StoredValue> TypedSnapshot<'_, K, V> {
    /// Returns the value that a key had.
    pub fn get(&self, key: &(impl AsKey<K> + ?Sized)) -> Result<Option<V>> {
        decode_value(self.snapshot.get(self.keyspace, key.to_key_bytes())?)
    }

    /// Returns whether a key was present.
    pub fn contains_key(&self, key: &(impl AsKey<K> + ?Sized)) -> Result<bool> {
        self.snapshot.contains_key(self.keyspace, key.to_key_bytes())
    }

    /// Returns when a key expires that was present.
    pub fn expiry(&self, key: &(impl AsKey<K> + ?Sized)) -> Result<Expiry> {
        self.snapshot.expiry(self.keyspace, key.to_key_bytes())
    }

    /// Returns an iterator over the rows that were within a range.
    pub fn range(&self, range: impl KeyRange<K>) -> TypedIter<'static, K, V> {
        TypedIter::new(self.snapshot.range(self.keyspace, range.bounds()))
    }

    /// Returns an iterator over the rows of all keys that begin with `prefix`.
    pub fn prefix(&self, prefix: &(impl KeyPrefix<K> + ?Sized)) -> TypedIter<'static, K, V> {
        TypedIter::new(self.snapshot.prefix(self.keyspace, prefix.to_prefix_bytes()))
    }

    /// Returns an iterator over all rows.
    pub fn iter(&self) -> TypedIter<'static, K, V> {
        TypedIter::new(self.snapshot.iter(self.keyspace))
    }

    /// Returns an iterator over all keys, which reads no values.
    pub fn keys(&self) -> TypedKeys<'static, K> {
        TypedKeys::new(self.snapshot.keys(self.keyspace))
    }

    /// Returns the first row.
    pub fn first(&self) -> Result<Option<(K, V)>> {
        self.iter().next().transpose()
    }

    /// Returns the last row.
    pub fn last(&self) -> Result<Option<(K, V)>> {
        self.iter().next_back().transpose()
    }
}

impl<K: Key, V: StoredValue> IntoIterator for &TypedSnapshot<'_, K, V> {
    type Item = Result<(K, V)>;
    type IntoIter = TypedIter<'static, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Reads and writes, as those of [`Transaction`]. They fail with
/// [`Error::Decode`](crate::Error::Decode), too, if a row is not of the types, and with
/// [`Error::Encode`](crate::Error::Encode) if serde cannot write a value.
#[expect(clippy::missing_errors_doc, reason = "the head of the block has the errors of all methods")]
impl<'t, K: Key, V: StoredValue> TypedTransaction<'t, K, V> {
    /// Returns the value of a key.
    pub fn get(&self, key: &(impl AsKey<K> + ?Sized)) -> Result<Option<V>> {
        decode_value(self.transaction.get(self.keyspace, key.to_key_bytes())?)
    }

    /// Returns whether a key is present.
    pub fn contains_key(&self, key: &(impl AsKey<K> + ?Sized)) -> Result<bool> {
        self.transaction.contains_key(self.keyspace, key.to_key_bytes())
    }

    /// Returns when a key expires; see [`Keyspace::expiry`].
    pub fn expiry(&self, key: &(impl AsKey<K> + ?Sized)) -> Result<Expiry> {
        self.transaction.expiry(self.keyspace, key.to_key_bytes())
    }

    /// Lets a key expire at a time, and keeps its value. Returns whether the key was present.
    pub fn expire_at(&mut self, key: &(impl AsKey<K> + ?Sized), time: SystemTime) -> Result<bool> {
        self.transaction.expire_at(self.keyspace, key.to_key_bytes(), time)
    }

    /// Lets a key not expire, and keeps its value. Returns whether the key was present.
    pub fn persist(&mut self, key: &(impl AsKey<K> + ?Sized)) -> Result<bool> {
        self.transaction.persist(self.keyspace, key.to_key_bytes())
    }

    /// Returns an iterator over the rows of a range.
    pub fn range(self, range: impl KeyRange<K>) -> TypedIter<'t, K, V> {
        let transaction: &'t Transaction = self.transaction;
        TypedIter::new(transaction.range(self.keyspace, range.bounds()))
    }

    /// Returns an iterator over the rows of all keys that begin with `prefix`.
    pub fn prefix(self, prefix: &(impl KeyPrefix<K> + ?Sized)) -> TypedIter<'t, K, V> {
        let transaction: &'t Transaction = self.transaction;
        TypedIter::new(transaction.prefix(self.keyspace, prefix.to_prefix_bytes()))
    }

    /// Returns an iterator over all rows.
    pub fn iter(self) -> TypedIter<'t, K, V> {
        let transaction: &'t Transaction = self.transaction;
        TypedIter::new(transaction.iter(self.keyspace))
    }

    /// Returns an iterator over all keys, which reads no values.
    pub fn keys(self) -> TypedKeys<'t, K> {
        let transaction: &'t Transaction = self.transaction;
        TypedKeys::new(transaction.keys(self.keyspace))
    }

    /// Returns the first row.
    pub fn first(&self) -> Result<Option<(K, V)>> {
        self.transaction.first(self.keyspace)?.map(decode_row).transpose()
    }

    /// Returns the last row.
    pub fn last(&self) -> Result<Option<(K, V)>> {
        self.transaction.last(self.keyspace)?.map(decode_row).transpose()
    }

    /// Sets a key to a value.
    pub fn insert(
        &mut self,
        key: &(impl AsKey<K> + ?Sized),
        value: &(impl AsValue<V> + ?Sized),
    ) -> Result<()> {
        self.transaction.insert(self.keyspace, key.to_key_bytes(), encode_value(value)?)
    }

    /// Sets a key to a value that expires.
    pub fn insert_until(
        &mut self,
        key: &(impl AsKey<K> + ?Sized),
        value: &(impl AsValue<V> + ?Sized),
        expires: SystemTime,
    ) -> Result<()> {
        self.transaction.insert_until(self.keyspace, key.to_key_bytes(), encode_value(value)?, expires)
    }

    /// Removes a key. Returns whether it was present.
    pub fn remove(&mut self, key: &(impl AsKey<K> + ?Sized)) -> Result<bool> {
        self.transaction.remove(self.keyspace, key.to_key_bytes())
    }

    /// Sets a key to the value that `change` returns for its present one, and returns it. `None`
    /// stands for an absent key, and removes it. A present key keeps its time of expiry.
    pub fn update(
        &mut self,
        key: &(impl AsKey<K> + ?Sized),
        change: impl FnOnce(Option<V>) -> Option<V>,
    ) -> Result<Option<V>> {
        let old = self.get(key)?;
        let new = change(old);
        let bytes = new.as_ref().map(encode_value).transpose()?;
        self.transaction.update(self.keyspace, key.to_key_bytes(), |_| bytes)?;
        Ok(new)
    }
}
