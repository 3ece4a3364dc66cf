//! The simple methods that write, usable from any thread. At `Sync` they return when the write is
//! durable.

use skein_model::column_table::Column;

use super::Store;
use crate::index::KeyBounds;
use crate::{Batch, Durability, Result, RowWriter, Session, Ticket, Writer};

impl Store {
    /// Returns the number of the calling thread's log.
    fn own_log_shard(&self) -> usize {
        use std::cell::Cell;
        use std::sync::atomic::{AtomicUsize, Ordering};
        // This does not use the atomics of skein-sync: the ticket is shared by all stores of the
        // process and is part of no protocol.
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        thread_local! { static NUMBER: Cell<Option<usize>> = const { Cell::new(None) } }
        let number = NUMBER.get().unwrap_or_else(|| NEXT.fetch_add(1, Ordering::Relaxed));
        NUMBER.set(Some(number));
        number % self.core().commit.log.logs()
    }

    /// Returns a session on the calling thread's log, for one call.
    fn own_session(&self) -> Session {
        Session::new(self.clone(), self.own_log_shard())
    }

    /// At `Sync`, waits until the ticket's writes are durable.
    fn acknowledge(&self, ticket: Ticket) -> Result<()> {
        if self.durability() == Durability::Sync { self.wait_durable(ticket) } else { Ok(()) }
    }

    fn write<R>(&self, write: impl FnOnce(&mut Writer<'_>) -> Result<R>) -> Result<R> {
        let mut writer = Writer::enter(self.core(), self.own_log_shard(), None)?;
        let answer = write(&mut writer);
        let ticket = writer.finish()?;
        let answer = answer?;
        self.acknowledge(ticket)?;
        Ok(answer)
    }

    /// Sets `key` to `value`, whatever it held. Returns the new version.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// assert_eq!(store.put(b"goose", b"bean")?, 1);
    /// assert_eq!(store.put(b"goose", b"grey")?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Key or value is over its limit, memory is used up, the store is closed, or writes are
    /// stopped.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<u64> {
        self.write(|writer| Ok(writer.put(key, value)?.version))
    }

    /// Sets `key` to `value`, whatever it held, until the time `expires` in milliseconds since
    /// 1970. From then on the key is absent. Returns the new version.
    ///
    /// Every put of a value replaces the time of the key, and removes it if none is given. Puts of
    /// columns and [`increment`](Self::increment) keep it. A key that expires has at most 65,527
    /// bytes.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let now = store.options().clock.now();
    /// store.put_until(b"goose", b"grey", now + 86_400_000)?;
    /// assert_eq!(store.get(b"goose")?.as_deref(), Some(&b"grey"[..]));
    /// store.put_until(b"goose", b"grey", now - 1)?;
    /// assert_eq!(store.get(b"goose")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    pub fn put_until(&self, key: &[u8], value: &[u8], expires: u64) -> Result<u64> {
        self.write(|writer| Ok(writer.put_until(key, value, expires)?.version))
    }

    /// Lets `key` expire at the time `expires` in milliseconds since 1970, whatever it holds. If
    /// that time is past, the key is absent at once. Returns whether the key was present.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let tomorrow = store.options().clock.now() + 86_400_000;
    /// store.put_columns(b"flock", &[(b"size", b"40")])?;
    /// assert!(store.expire(b"flock", tomorrow)?);
    /// assert_eq!(store.expires_at(b"flock"), Some(tomorrow));
    /// assert!(!store.expire(b"swan", tomorrow)?);
    /// assert!(store.expire(b"flock", 0)?);
    /// assert!(store.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The key is over its limit, the store is closed, or writes are stopped.
    pub fn expire(&self, key: &[u8], expires: u64) -> Result<bool> {
        self.write(|writer| writer.expire(key, Some(expires)))
    }

    /// Removes the expiry of `key`. Returns whether the key is present.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let tomorrow = store.options().clock.now() + 86_400_000;
    /// store.put_until(b"goose", b"grey", tomorrow)?;
    /// assert!(store.persist(b"goose")?);
    /// assert_eq!(store.expires_at(b"goose"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The key is over its limit, the store is closed, or writes are stopped.
    pub fn persist(&self, key: &[u8]) -> Result<bool> {
        self.write(|writer| writer.expire(key, None))
    }

    /// Sets `key` to `value` if it is absent. Returns whether it was set.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// assert!(store.put_if_absent(b"goose", b"grey")?);
    /// assert!(!store.put_if_absent(b"goose", b"bean")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    pub fn put_if_absent(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.write(|writer| Ok(writer.put_if_absent(key, value)?.changed))
    }

    /// Sets columns of `key` atomically and keeps the other columns. Returns the number of new
    /// names.
    ///
    /// A name consists of any bytes, and columns are ordered by these bytes. To use integers as
    /// names, use one width for all and put the greatest byte first (`to_be_bytes`); then the
    /// columns are in numeric order. Through a server, names are the bytes that the client sends.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// assert_eq!(store.put_columns(b"flock", &[(b"size", b"40"), (b"leader", b"goose")])?, 2);
    /// // No reader sees the new size with the old leader.
    /// assert_eq!(store.put_columns(b"flock", &[(b"size", b"41"), (b"leader", b"gander")])?, 0);
    ///
    /// // Integers as names: one width, the greatest byte first, so that they are in order.
    /// let (seven, many) = (7u32.to_be_bytes(), 300u32.to_be_bytes());
    /// store.put_columns(b"counts", &[(&seven, b"seven"), (&many, b"three hundred")])?;
    /// let seven = store.get_columns(b"counts", Some(&[&7u32.to_be_bytes()]))?;
    /// assert_eq!(seven[0].1.as_deref(), Some(&b"seven"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Self::put), and `WrongKind` if the key holds a value.
    pub fn put_columns(&self, key: &[u8], columns: &[Column<'_>]) -> Result<usize> {
        self.write(|writer| writer.put_columns(key, columns))
    }

    /// Removes columns of `key` atomically, and the key with its last column. Returns the number of
    /// removed columns.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// store.put_columns(b"flock", &[(b"size", b"40"), (b"leader", b"goose")])?;
    /// assert_eq!(store.remove_columns(b"flock", &[b"leader", b"place"])?, 1);
    /// assert_eq!(store.remove_columns(b"flock", &[b"size"])?, 1);
    /// assert!(store.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `WrongKind` if the key holds a value; the store is closed, or writes are stopped.
    pub fn remove_columns(&self, key: &[u8], names: &[&[u8]]) -> Result<usize> {
        self.write(|writer| writer.remove_columns(key, names))
    }

    /// Removes `key`. Returns whether it was present.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// store.put(b"goose", b"grey")?;
    /// assert!(store.remove(b"goose")?);
    /// assert!(!store.remove(b"goose")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The key is over its limit, the store is closed, or writes are stopped.
    pub fn remove(&self, key: &[u8]) -> Result<bool> {
        self.write(|writer| Ok(writer.remove(key)?.existed))
    }

    /// Sets `key` to `value` if its version is `version` (0 if it must be absent). Returns the new
    /// version, or `Err` with the present version.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let version = store.put(b"goose", b"grey")?;
    /// assert_eq!(store.compare_and_swap(b"goose", version, b"bean")?, Ok(version + 1));
    /// assert_eq!(store.compare_and_swap(b"goose", version, b"too late")?, Err(version + 1));
    /// assert_eq!(store.compare_and_swap(b"swan", 0, b"the first")?, Ok(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    pub fn compare_and_swap(
        &self,
        key: &[u8],
        version: u64,
        value: &[u8],
    ) -> Result<std::result::Result<u64, u64>> {
        self.write(|writer| writer.compare_and_swap(key, version, value))
    }

    /// Sets `key` to `value` if it holds `expected` (`None` if it must be absent). Returns whether
    /// it was set.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// assert!(store.compare_value_and_swap(b"goose", None, b"grey")?);
    /// assert!(store.compare_value_and_swap(b"goose", Some(b"grey"), b"bean")?);
    /// assert!(!store.compare_value_and_swap(b"goose", Some(b"grey"), b"too late")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `WrongKind` if the key holds columns, and those of [`put`](Self::put).
    pub fn compare_value_and_swap(&self, key: &[u8], expected: Option<&[u8]>, value: &[u8]) -> Result<bool> {
        self.write(|writer| Ok(writer.compare_value_and_swap(key, expected, value)?.changed))
    }

    /// Adds to a decimal integer and returns the sum. An absent key counts as 0.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// assert_eq!(store.increment(b"geese", 40)?, 40);
    /// assert_eq!(store.increment(b"geese", -3)?, 37);
    /// assert_eq!(store.get(b"geese")?, Some(b"37".to_vec()));
    /// assert!(matches!(store.increment(b"geese", i64::MAX), Err(Error::Overflow { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `WrongKind`, `NotAnInteger`, `Overflow`, and those of [`put`](Self::put).
    pub fn increment(&self, key: &[u8], by: i64) -> Result<i64> {
        self.write(|writer| writer.increment(key, by))
    }

    /// Applies all writes of a batch, or none.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let mut batch = Batch::new();
    /// batch.put("goose", "grey").put_columns("flock", &[(b"leader", b"goose")]).remove("swan");
    /// store.apply(&batch)?;
    /// assert_eq!(store.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Session::apply`].
    pub fn apply(&self, batch: &Batch) -> Result<()> {
        let ticket = self.own_session().apply(batch)?;
        self.acknowledge(ticket)
    }

    /// Removes all keys within `bounds`. Returns how many. The removal is not atomic: other threads
    /// may see part of it.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// use std::ops::Bound::{Excluded, Included};
    ///
    /// for key in ["a", "b", "c"] {
    ///     store.put(key.as_bytes(), b"")?;
    /// }
    /// assert_eq!(store.remove_range((Included(&b"a"[..]), Excluded(&b"c"[..])))?, 2);
    /// assert!(store.get(b"c")?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The store is closed or writes are stopped; part of the keys may be removed then.
    pub fn remove_range(&self, bounds: KeyBounds<'_>) -> Result<usize> {
        let (removed, ticket) = self.own_session().remove_range(bounds)?;
        self.acknowledge(ticket)?;
        Ok(removed)
    }
}
