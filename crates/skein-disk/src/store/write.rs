//! Blocking writes: each is a transaction. These are the paper's operations (section 2), there only
//! for integers.

use skein_log::{Durability, Ticket};

use super::{DiskStore, DiskTransaction, UpdateAction, UpdateOutcome};
use crate::{DiskError, Result};

impl DiskStore {
    /// Performs several reads and writes at one moment or not at all. If `body` returns an error,
    /// nothing is changed. At [`Durability::Sync`] the call returns when the writes are durable.
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
    /// The errors of `body` and of [`DiskTransaction::commit`]. Nothing was changed then, unless
    /// the error is the log's.
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

    /// Sets the value of a key. Returns its version.
    ///
    /// # Errors
    /// The key or the value is too long, a file operation failed, or an earlier failure has stopped
    /// writes. Nothing was changed, unless the error is the log's.
    pub fn set(&self, key: &[u8], value: &[u8]) -> Result<u64> {
        self.write(|transaction| transaction.set(key, value))
    }

    /// Sets the value of a key if it has the expected version, or, with `None`, if it has no value.
    /// Returns the new version. After an interrupted write the key has no version, and any expected
    /// version matches.
    ///
    /// # Errors
    /// [`DiskError::VersionDiffers`] with the key's version; otherwise as [`set`](Self::set).
    pub fn cas(&self, key: &[u8], expected: Option<u64>, value: &[u8]) -> Result<u64> {
        self.write(|transaction| transaction.cas(key, expected, value))
    }

    /// Adds to a value that is an integer in decimal digits. A missing value counts as 0. Returns
    /// the sum.
    ///
    /// # Errors
    /// [`DiskError::NotAnInteger`], [`DiskError::Overflow`]; otherwise as [`set`](Self::set).
    pub fn inc(&self, key: &[u8], by: i64) -> Result<i64> {
        self.write(|transaction| transaction.inc(key, by))
    }

    /// Removes a key. Returns false if it has no value.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn remove(&self, key: &[u8]) -> Result<bool> {
        self.write(|transaction| transaction.remove(key))
    }

    /// Calls `decide` with the version and the value of a key, and changes the key as it decides.
    ///
    /// # Errors
    /// As [`DiskTransaction::update`].
    pub fn update<E: From<DiskError>>(
        &self,
        key: &[u8],
        decide: impl FnOnce(Option<(u64, &[u8])>) -> std::result::Result<UpdateAction, E>,
    ) -> std::result::Result<UpdateOutcome, E> {
        self.write(|transaction| transaction.update(key, decide))
    }
}
