//! The writes of a transaction. A present key keeps its time of expiry as by those of a keyspace;
//! see `expiry`.

use std::time::SystemTime;

use skein_data::BatchWrite;
use skein_sync::locks::lock;

use super::Transaction;
use super::private_writes::value_of;
use crate::Result;
use crate::db::expiry::unix_ms;
use crate::db::writes::{NewValue, swapped};
use crate::db::{Keyspace, SwapRefused};

/// Returns the sum of a decimal integer, or of 0 for an absent one, and `by`.
fn sum_of(old: Option<&[u8]>, by: i64) -> Result<i64> {
    let value = match old.map(skein_syntax::number::parse_i64) {
        None => 0,
        Some(value) => value.ok_or(skein_store::Error::NotAnInteger)?,
    };
    Ok(value.checked_add(by).ok_or(skein_store::Error::Overflow { value, by })?)
}

impl Transaction {
    /// Sets a key to a value.
    ///
    /// # Errors
    /// The key is longer than the limit, or the keyspace was dropped or belongs to another
    /// database. Other limits are checked at the commit.
    pub fn insert(
        &mut self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        value: impl Into<Vec<u8>>,
    ) -> Result<()> {
        self.write(keyspace, key.as_ref(), BatchWrite::Put(value.into(), None))
    }

    /// Sets a key to a value that expires; see [`Keyspace::insert_until`]. Within the transaction
    /// it does not expire.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert).
    pub fn insert_until(
        &mut self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        value: impl Into<Vec<u8>>,
        expires: SystemTime,
    ) -> Result<()> {
        self.write(keyspace, key.as_ref(), BatchWrite::Put(value.into(), Some(unix_ms(expires))))
    }

    /// Removes a key, whatever it holds. Returns whether it was present.
    ///
    /// # Errors
    /// As for [`contains_key`](Self::contains_key).
    pub fn remove(&mut self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<bool> {
        let present = self.contains_key(keyspace, &key)?;
        if present {
            self.write(keyspace, key.as_ref(), BatchWrite::Remove)?;
        }
        Ok(present)
    }

    /// Sets a key to the result of `change` for its value; see [`Keyspace::update`]. As there, a
    /// present key keeps its time of expiry.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub fn update<V: Into<Vec<u8>>>(
        &mut self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        change: impl FnOnce(Option<&[u8]>) -> Option<V>,
    ) -> Result<Option<Vec<u8>>> {
        self.change(keyspace, key.as_ref(), |old| {
            let new = change(old).map(Into::into);
            (new.clone(), NewValue::of(new, old))
        })
    }

    /// Combines a key's value with an operand; see [`Keyspace::merge`]. Returns the new value.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub fn merge<V: Into<Vec<u8>>>(
        &mut self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
        operator: impl FnOnce(Option<&[u8]>, &[u8]) -> V,
    ) -> Result<Vec<u8>> {
        let new = self.update(keyspace, key, |old| Some(operator(old, operand.as_ref())))?;
        Ok(new.unwrap_or_default())
    }

    /// Sets a key to `new` if its value is `expected`; see [`Keyspace::compare_and_swap`].
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub fn compare_and_swap(
        &mut self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<Result<(), SwapRefused>> {
        self.change(keyspace, key.as_ref(), |old| swapped(old, expected, new))
    }

    /// Adds to a decimal integer and returns the sum. An absent key counts as 0.
    ///
    /// # Errors
    /// As for [`get`](Self::get); the value is no integer, or the sum overflows.
    pub fn increment(&mut self, keyspace: &Keyspace, key: impl AsRef<[u8]>, by: i64) -> Result<i64> {
        self.change(keyspace, key.as_ref(), |old| match sum_of(old, by) {
            Ok(sum) => (Ok(sum), NewValue::Put(sum.to_string().into())),
            refused => (refused, NewValue::Keep),
        })?
    }

    /// Lets a key expire at a time, and keeps its value; see [`Keyspace::expire_at`]. Within the
    /// transaction it does not expire. Returns whether the key was present.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub fn expire_at(
        &mut self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        time: SystemTime,
    ) -> Result<bool> {
        self.set_expiry(keyspace, key.as_ref(), Some(unix_ms(time)))
    }

    /// Lets a key not expire, and keeps its value. Returns whether the key was present.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub fn persist(&mut self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<bool> {
        self.set_expiry(keyspace, key.as_ref(), None)
    }

    fn set_expiry(&mut self, keyspace: &Keyspace, key: &[u8], expires: Option<u64>) -> Result<bool> {
        keyspace.check_of(&self.shared)?;
        let key = keyspace.physical(key)?;
        let Some((value, old)) = self.value_and_expiry(&key)? else { return Ok(false) };
        if old != expires {
            self.put(keyspace, &key, BatchWrite::Put(value, expires));
        }
        Ok(true)
    }

    /// Changes the value of a key, which keeps its time of expiry. Returns the function's answer.
    fn change<R>(
        &mut self,
        keyspace: &Keyspace,
        key: &[u8],
        change: impl FnOnce(Option<&[u8]>) -> (R, NewValue),
    ) -> Result<R> {
        keyspace.check_of(&self.shared)?;
        let key = keyspace.physical(key)?;
        let (old, expires) = self.value_and_expiry(&key)?.unzip();
        let (answer, new) = change(old.as_deref());
        match new {
            NewValue::Keep => {}
            NewValue::Put(value) => self.put(keyspace, &key, BatchWrite::Put(value, expires.flatten())),
            NewValue::Remove => self.put(keyspace, &key, BatchWrite::Remove),
        }
        Ok(answer)
    }

    fn write(&mut self, keyspace: &Keyspace, key: &[u8], write: BatchWrite) -> Result<()> {
        keyspace.check_of(&self.shared)?;
        let key = keyspace.physical(key)?;
        self.put(keyspace, &key, write);
        Ok(())
    }

    /// Notes a write to a key of the engine.
    fn put(&mut self, keyspace: &Keyspace, key: &[u8], write: BatchWrite) {
        if value_of(&write).is_some() {
            lock(&self.reads).hidden.show(keyspace.number(), key);
        }
        self.writes.put(keyspace, key, write);
    }
}
