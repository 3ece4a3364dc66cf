//! Serializable transactions: reads of one snapshot, private writes, and a check at the commit.
//!
//! ```text
//!   begin ── snapshot (at the first read)
//!   get      private writes first, then the snapshot;  the key's version is noted
//!   range    both merged;                              the versions of the part read are noted
//!   insert   private
//!   commit   alone: are the noted versions the present ones? ── apply the writes as one batch
//! ```
//!
//! A transaction that commits could have run whole at the moment of its commit: what it read is
//! what it would read then, ranges included. So committed transactions are serializable, in the
//! order of their commits. A transaction that only reads runs at the moment of its snapshot.
//!
//! A version belongs to one content of one key for ever (promise 6 of an engine), so equal versions
//! mean that nothing changed. A key that was absent, came and went again counts as unchanged, and
//! rightly so.
//!
//! Compared with locks: no transaction waits for another one and none can deadlock; two that meet
//! are sorted out at the commit, where the later one begins again.
//!
//! Read `private_writes`, `read_set`, then this file.

pub mod planted_bugs;
mod private_writes;
mod read_set;

use std::ops::{Bound, RangeBounds};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use skein_data::{BatchWrite, RowView, ScanDirection};
use skein_sync::locks::lock;

use private_writes::PrivateWrites;
use read_set::{RangeDigest, ReadSet};

use super::iter::{Iter, Keys, Source};
use super::keyspace::{key_bounds, prefix_bounds};
use super::range_reader::{Chunk, ChunkRequest, read_chunk};
use super::writes::unix_ms;
use super::{Db, DbShared, Keyspace, Snapshot};
use crate::{Durability, Error, Result};

/// How often [`Db::transaction`] tries.
const ATTEMPTS_MAX: u32 = 1000;
/// Attempts that follow at once; later ones wait, up to `LONGEST_WAIT`.
const ATTEMPTS_AT_ONCE: u32 = 4;
const LONGEST_WAIT: Duration = Duration::from_millis(2);

/// An open transaction; see [`Db::transaction`] and [`Db::begin`]. Dropped without
/// [`commit`](Self::commit), it leaves nothing.
///
/// Its first read takes a [`Snapshot`], which it keeps until its end: keep it short. Its writes are
/// in memory until the commit.
#[derive(Debug)]
pub struct Transaction {
    shared: Arc<DbShared>,
    snapshot: Mutex<Option<Snapshot>>,
    reads: Mutex<ReadSet>,
    writes: PrivateWrites,
    durability: Durability,
}

/// A place in a transaction to which its writes can be rolled back; see
/// [`Transaction::savepoint`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Savepoint(private_writes::Place);

impl Db {
    /// Runs a transaction. Calls `body`, and commits what it did if it returns `Ok`. If another
    /// write has changed what it read, calls it again with a new transaction, up to 1,000 times. If
    /// it returns an error, nothing was done; [`Error::abort`] and [`Error::other`] carry reasons of
    /// your own.
    ///
    /// `body` may use the database, but only what it does through the transaction is part of it.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let accounts = db.keyspace("accounts")?;
    /// accounts.insert("ada", "10")?;
    /// let left = db.transaction(|tx| {
    ///     let balance = tx.increment(&accounts, "ada", -3)?;
    ///     if balance < 0 {
    ///         return Err(skeindb::Error::abort("not enough"));
    ///     }
    ///     tx.increment(&accounts, "bob", 3)?;
    ///     Ok(balance)
    /// })?;
    /// assert_eq!(left, 7);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// That of `body`; [`Error::Conflict`] after 1,000 attempts; as for [`Db::apply`].
    pub fn transaction<T>(&self, mut body: impl FnMut(&mut Transaction) -> Result<T>) -> Result<T> {
        for attempt in 1..=ATTEMPTS_MAX {
            let mut transaction = self.begin()?;
            let answer = body(&mut transaction)?;
            match transaction.commit() {
                Err(Error::Conflict { .. }) => wait_before(attempt),
                done => return done.map(|()| answer),
            }
        }
        Err(Error::Conflict { attempts: ATTEMPTS_MAX })
    }

    /// Begins a transaction that the caller commits. See [`transaction`](Self::transaction), which
    /// also repeats it.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let geese = db.keyspace("geese")?;
    /// let mut tx = db.begin()?;
    /// tx.insert(&geese, "grey", "Anser anser")?;
    /// assert!(!geese.contains_key("grey")?, "nobody else sees it before the commit");
    /// tx.commit()?;
    /// assert!(geese.contains_key("grey")?);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// The database is closed.
    pub fn begin(&self) -> Result<Transaction> {
        self.shared.check_usable()?;
        Ok(Transaction {
            shared: self.shared.clone(),
            snapshot: Mutex::default(),
            reads: Mutex::default(),
            writes: PrivateWrites::default(),
            durability: self.shared.engine.durability(),
        })
    }
}

/// Waits before another attempt, longer each time, so that transactions that meet get apart.
fn wait_before(attempt: u32) {
    let Some(late) = attempt.checked_sub(ATTEMPTS_AT_ONCE) else { return };
    // Different threads wait for different times.
    let spread = u64::from(std::process::id()) ^ std::ptr::from_ref(&attempt).addr() as u64 >> 12;
    let longest = (10 << late.min(8)) + spread % 50;
    std::thread::sleep(Duration::from_micros(longest).min(LONGEST_WAIT));
}

impl Transaction {
    /// Returns the snapshot that the transaction reads.
    fn snapshot(&self) -> Result<Snapshot> {
        let mut snapshot = lock(&self.snapshot);
        if let Some(snapshot) = &*snapshot {
            return Ok(snapshot.clone());
        }
        let taken = Snapshot::new(&self.shared)?;
        *snapshot = Some(taken.clone());
        Ok(taken)
    }

    /// Returns the value of a key, with this transaction's writes.
    ///
    /// # Errors
    /// As for [`Snapshot::get`]; the keyspace was dropped.
    pub fn get(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        keyspace.check_of(&self.shared)?;
        let key = keyspace.physical(key.as_ref())?;
        if let Some(write) = self.writes.get(&key) {
            return Ok(private_writes::value_of(write).map(<[u8]>::to_vec));
        }
        let found = self.snapshot()?.value_and_version(&key)?;
        lock(&self.reads).note_key(&key, found.as_ref().map(|(_, version)| *version));
        found.map(|(value, _)| value).transpose()
    }

    /// Returns whether a key is present, with this transaction's writes.
    ///
    /// # Errors
    /// As for [`get`](Self::get), but the key may hold anything.
    pub fn contains_key(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<bool> {
        keyspace.check_of(&self.shared)?;
        let key = keyspace.physical(key.as_ref())?;
        if let Some(write) = self.writes.get(&key) {
            return Ok(private_writes::value_of(write).is_some());
        }
        let snapshot = self.snapshot()?;
        let version = snapshot.engine_snapshot().get_with(&key, |row| row.map(|row| row.version()))?;
        lock(&self.reads).note_key(&key, version);
        Ok(version.is_some())
    }

    /// Returns an iterator over the rows of a range, with this transaction's writes. What it has
    /// read, in chunks, is checked at the commit: no other row may come into that part of the range.
    pub fn range<K: AsRef<[u8]>>(&self, keyspace: &Keyspace, range: impl RangeBounds<K>) -> Iter<'_> {
        Iter::new(Source::Transaction(self), keyspace, key_bounds(&range), true)
    }

    /// Returns an iterator over the rows whose keys begin with `prefix`; as [`range`](Self::range).
    pub fn prefix(&self, keyspace: &Keyspace, prefix: impl AsRef<[u8]>) -> Iter<'_> {
        prefix_bounds(prefix.as_ref(), |bounds| Iter::new(Source::Transaction(self), keyspace, bounds, true))
    }

    /// Returns an iterator over all rows of a keyspace; as [`range`](Self::range).
    pub fn iter(&self, keyspace: &Keyspace) -> Iter<'_> {
        Iter::new(Source::Transaction(self), keyspace, (Bound::Unbounded, Bound::Unbounded), true)
    }

    /// Returns an iterator over the keys of a range, which reads no values; as
    /// [`range`](Self::range).
    pub fn keys_in<K: AsRef<[u8]>>(&self, keyspace: &Keyspace, range: impl RangeBounds<K>) -> Keys<'_> {
        Keys(Iter::new(Source::Transaction(self), keyspace, key_bounds(&range), false))
    }

    /// Returns an iterator over all keys of a keyspace; as [`range`](Self::range).
    pub fn keys(&self, keyspace: &Keyspace) -> Keys<'_> {
        Keys(Iter::new(Source::Transaction(self), keyspace, (Bound::Unbounded, Bound::Unbounded), false))
    }

    /// Returns the first row of a keyspace, and reads no more than it.
    ///
    /// # Errors
    /// As for an item of [`Iter`].
    pub fn first(&self, keyspace: &Keyspace) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.iter(keyspace).chunk_rows(1).next().transpose()
    }

    /// Returns the last row of a keyspace, and reads no more than it.
    ///
    /// # Errors
    /// As for an item of [`Iter`].
    pub fn last(&self, keyspace: &Keyspace) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.iter(keyspace).chunk_rows(1).next_back().transpose()
    }

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

    /// Sets a key to what `change` makes of its value; see [`Keyspace::update`]. The key does not
    /// expire then.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub fn update<V: Into<Vec<u8>>>(
        &mut self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        change: impl FnOnce(Option<&[u8]>) -> Option<V>,
    ) -> Result<Option<Vec<u8>>> {
        let old = self.get(keyspace, &key)?;
        let new = change(old.as_deref()).map(Into::into);
        match &new {
            Some(value) => self.write(keyspace, key.as_ref(), BatchWrite::Put(value.clone(), None))?,
            None if old.is_some() => self.write(keyspace, key.as_ref(), BatchWrite::Remove)?,
            None => {}
        }
        Ok(new)
    }

    /// Adds to a decimal integer and returns the sum. An absent key counts as 0.
    ///
    /// # Errors
    /// As for [`get`](Self::get); the value is no integer, or the sum overflows.
    pub fn increment(&mut self, keyspace: &Keyspace, key: impl AsRef<[u8]>, by: i64) -> Result<i64> {
        let old = self.get(keyspace, &key)?;
        let value = match old.as_deref().map(skein_syntax::number::parse_i64) {
            None => 0,
            Some(value) => value.ok_or(skein_store::Error::NotAnInteger)?,
        };
        let sum = value.checked_add(by).ok_or(skein_store::Error::Overflow { value, by })?;
        self.insert(keyspace, key, sum.to_string())?;
        Ok(sum)
    }

    fn write(&mut self, keyspace: &Keyspace, key: &[u8], write: BatchWrite) -> Result<()> {
        keyspace.check_of(&self.shared)?;
        let key = keyspace.physical(key)?;
        self.writes.put(keyspace, &key, write);
        Ok(())
    }

    /// Sets how durable the commit is when it returns. By default it is as durable as the database
    /// promises.
    ///
    /// # Errors
    /// The database has [`Durability::None`], so a commit cannot be durable.
    pub fn set_durability(&mut self, durability: Durability) -> Result<()> {
        if self.shared.engine.durability() == Durability::None && durability != Durability::None {
            let why = format!("{durability:?}: the database was opened with `none`, so it has no log");
            return Err(Error::BadOption { name: "durability", why });
        }
        self.durability = durability;
        Ok(())
    }

    /// Returns a savepoint: the writes after it can be undone without the others.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let geese = db.keyspace("geese")?;
    /// let mut tx = db.begin()?;
    /// tx.insert(&geese, "grey", "Anser anser")?;
    /// let savepoint = tx.savepoint();
    /// tx.insert(&geese, "bean", "Anser fabalis")?;
    /// tx.rollback_to(savepoint)?;
    /// tx.commit()?;
    /// assert_eq!(geese.len()?, 1);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    pub fn savepoint(&mut self) -> Savepoint {
        Savepoint(self.writes.savepoint())
    }

    /// Undoes the writes after a savepoint, which stays. What was read meanwhile is still checked
    /// at the commit.
    ///
    /// # Errors
    /// The savepoint belongs to another transaction, or an earlier one was rolled back to.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        self.writes.rollback_to(savepoint.0)
    }

    /// Applies all writes, if what was read has not changed, and ends the transaction.
    ///
    /// # Errors
    /// [`Error::Conflict`] if it has changed; otherwise as for [`Db::apply`]. Nothing was written
    /// then. If writes are stopped or the database is closed while the commit becomes durable, the
    /// writes may be lost or not.
    pub fn commit(self) -> Result<()> {
        self.shared.check_usable()?;
        if self.writes.is_empty() {
            return Ok(());
        }
        let Self { shared, snapshot, reads, writes, durability } = self;
        // So that the commit itself keeps nothing for it.
        drop(snapshot);
        let reads = lock(&reads);
        let (batch, keyspaces) = writes.into_batch();
        let check = |present: &mut skein_data::PresentRows<'_, '_>| reads.is_unchanged(present);
        if shared.apply_alone(&batch, keyspaces.iter(), check, durability)? {
            Ok(())
        } else {
            Err(Error::Conflict { attempts: 1 })
        }
    }

    /// Ends the transaction and undoes everything, as dropping it does.
    pub fn rollback(self) {}

    /// Reads a chunk of the snapshot, notes it, and merges the private writes into it.
    pub(super) fn read_chunk(&self, keyspace: &Keyspace, request: &ChunkRequest<'_>) -> Result<Chunk> {
        keyspace.check_of(&self.shared)?;
        let snapshot = self.snapshot()?;
        let mut digest = RangeDigest::default();
        let chunk = read_chunk(request, |bounds, each| {
            let snapshot = snapshot.engine_snapshot();
            snapshot.scan(bounds, request.direction, request.rows, |key, row: RowView<'_>| {
                digest.add(key, row.version());
                each(key, row)
            })
        })?;
        lock(&self.reads).note_range(request, chunk.more_after.as_deref(), digest);
        Ok(self.writes.merge(request, chunk, request.direction == ScanDirection::Forward))
    }
}
