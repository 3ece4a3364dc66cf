//! Writes for who waits for them: each is a transaction (section 2: the paper's operations, there on integers alone).

use skein_log::{Durability, Ticket};

use super::{DiskStore, DiskTransaction, UpdateAction, UpdateOutcome};
use crate::{DiskError, Result};

impl DiskStore {
    /// Does reads and writes at one moment, or not at all: nothing if `body` answers an error. At [`Durability::Sync`] it returns when they are durable.
    ///
    /// ```
    /// # use skein_disk::{DiskError, DiskOptions, DiskStore};
    /// # let folder = tempfile::tempdir()?;
    /// # let store = DiskStore::open(folder.path(), DiskOptions::default())?;
    /// let fly = |from: &[u8], to: &[u8]| {
    ///     store.write::<_, DiskError>(|flock| {
    ///         flock.inc(to, 1)?;
    ///         flock.inc(from, -1)
    ///     })
    /// };
    /// store.set(b"pond", b"2")?;
    /// assert_eq!(fly(b"pond", b"lake")?, 1);
    /// store.set(b"meadow", b"no number")?;
    /// assert!(fly(b"meadow", b"lake").is_err());
    /// assert_eq!(store.get(b"lake")?, Some(b"1".to_vec()), "the second one never flew");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `body`, and of [`Transaction::commit`]: nothing was changed then, unless the error is the log's.
    pub fn write<T, E: From<DiskError>>(
        &self,
        body: impl FnOnce(&mut DiskTransaction<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let mut transaction = self.begin();
        let answer = body(&mut transaction)?;
        let ticket = transaction.commit()?;
        self.acknowledge(ticket)?;
        Ok(answer)
    }

    /// At `Sync`, waits until the ticket's writes are durable.
    fn acknowledge(&self, ticket: Ticket) -> Result<()> {
        if self.durability() == Durability::Sync { self.wait_durable(ticket) } else { Ok(()) }
    }

    /// Sets the value of a key; returns its version.
    ///
    /// # Errors
    /// A key or a value that is too long; a failed file operation; writes that were stopped by one. Unless the error is the log's, nothing was changed.
    pub fn set(&self, key: &[u8], value: &[u8]) -> Result<u64> {
        self.write(|transaction| transaction.set(key, value))
    }

    /// Sets the value of a key if its version is the one that is expected, or, with none, if it has no value; returns its new version. A last write that was
    /// interrupted has no version: whatever is expected, it starts over.
    ///
    /// # Errors
    /// [`DiskError::VersionDiffers`], with the version that it has; otherwise as [`set`](Self::set).
    pub fn cas(&self, key: &[u8], expected: Option<u64>, value: &[u8]) -> Result<u64> {
        self.write(|transaction| transaction.cas(key, expected, value))
    }

    /// Adds to the integer that a key's value is, as decimal text; a key without a value counts as 0. Returns the sum.
    ///
    /// # Errors
    /// [`DiskError::NotAnInteger`], [`DiskError::Overflow`]; otherwise as [`set`](Self::set).
    pub fn inc(&self, key: &[u8], by: i64) -> Result<i64> {
        self.write(|transaction| transaction.inc(key, by))
    }

    /// Removes a key; false if it has no value.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn remove(&self, key: &[u8]) -> Result<bool> {
        self.write(|transaction| transaction.remove(key))
    }

    /// Changes a key as `decide` says, which is shown its version and its value.
    ///
    /// # Errors
    /// As [`Transaction::update`].
    pub fn update<E: From<DiskError>>(
        &self,
        key: &[u8],
        decide: impl FnOnce(Option<(u64, &[u8])>) -> std::result::Result<UpdateAction, E>,
    ) -> std::result::Result<UpdateOutcome, E> {
        self.write(|transaction| transaction.update(key, decide))
    }
}
