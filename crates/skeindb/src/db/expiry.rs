//! When keys expire: reads of the time, and changes of the time alone.
//!
//! # Writes that keep the time of a key
//! One rule for all writes, at once and in a transaction. A write that is given a whole value sets
//! the time, too: `insert` and a batch's insert remove it, `insert_until` sets another one. A write
//! that changes a present value keeps it: `update`, `merge`, `increment`, `compare_and_swap`, and
//! `insert_if_absent`, which leaves a present key alone. A key that was removed, or has expired,
//! and is written again has no time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use skein_data::{EngineError, RowView, RowWriter as _};

use super::{Keyspace, Snapshot};
use crate::{Error, Result};

/// When a key expires; see [`Keyspace::expiry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expiry {
    /// There is no such key.
    Absent,
    /// The key does not expire.
    Never,
    /// The key is absent from this time on.
    At(SystemTime),
}

impl Expiry {
    /// Returns the time, or `None` for a key that is absent or does not expire.
    pub fn time(self) -> Option<SystemTime> {
        match self {
            Self::At(time) => Some(time),
            Self::Absent | Self::Never => None,
        }
    }

    /// Returns the expiry of a present key with this time in milliseconds since 1970.
    pub(super) fn of_present(unix_ms: Option<u64>) -> Self {
        let time = |ms| UNIX_EPOCH.checked_add(Duration::from_millis(ms));
        // A time that the system cannot represent is never reached.
        unix_ms.and_then(time).map_or(Self::Never, Self::At)
    }

    pub(super) fn of_row(row: Option<RowView<'_>>) -> Self {
        row.map_or(Self::Absent, |row| Self::of_present(row.row().expires_at()))
    }
}

/// Returns the milliseconds since 1970.
pub(super) fn unix_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Keyspace {
    /// Returns when a key expires, whatever it holds.
    ///
    /// `insert` removes the time, and `insert_until` sets another one. [`update`](Self::update),
    /// [`merge`](Self::merge), [`increment`](Self::increment) and
    /// [`compare_and_swap`](Self::compare_and_swap) keep it, here as in a transaction. A key that
    /// was removed, or has expired, and is written again does not expire.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    ///
    /// use skeindb::Expiry;
    ///
    /// # let db = skeindb::Db::in_memory()?;
    /// let hits = db.keyspace("hits")?;
    /// assert_eq!(hits.expiry("page")?, Expiry::Absent);
    /// hits.increment("page", 1)?;
    /// assert_eq!(hits.expiry("page")?, Expiry::Never);
    /// let midnight = SystemTime::UNIX_EPOCH + Duration::from_secs(4_102_444_800);
    /// assert!(hits.expire_at("page", midnight)?);
    /// hits.increment("page", 1)?;
    /// assert_eq!(hits.expiry("page")?, Expiry::At(midnight));
    /// assert!(hits.persist("page")?);
    /// assert_eq!(hits.expiry("page")?.time(), None);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`get`](Self::get), but the key may hold anything.
    pub fn expiry(&self, key: impl AsRef<[u8]>) -> Result<Expiry> {
        self.check_usable()?;
        let key = self.physical(key.as_ref())?;
        let mut session = self.shared().engine.session();
        session.keys().get_settled_with(&key, |row| Ok(Expiry::of_row(row.map_err(Error::from)?)))
    }

    /// Lets a key expire at a time, whatever it holds: from then on it is absent, at once if the
    /// time is past. Its value stays. Returns whether the key was present.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert); the limit of the key is 8 bytes lower.
    pub fn expire_at(&self, key: impl AsRef<[u8]>, time: SystemTime) -> Result<bool> {
        self.write_key(key, |writer, key| writer.expire(key, Some(unix_ms(time))))
    }

    /// Lets a key not expire. Its value stays. Returns whether the key was present.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert).
    pub fn persist(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.write_key(key, |writer, key| -> Result<bool, EngineError> { writer.expire(key, None) })
    }
}

impl Snapshot {
    /// Returns when a key expires that was present, whatever it held.
    ///
    /// # Errors
    /// As for [`get`](Self::get), but the key may hold anything.
    pub fn expiry(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<Expiry> {
        self.check(keyspace)?;
        let key = keyspace.physical(key.as_ref())?;
        Ok(self.engine_snapshot().get_with(&key, Expiry::of_row)?)
    }
}
