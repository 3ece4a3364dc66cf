//! Batches: writes to any keyspaces that are applied together.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::time::SystemTime;

use skein_data::{BatchWrite, Ticket};

use super::exclusive_gate::ExclusiveTurn;
use super::expiry::unix_ms;
use super::{Db, DbShared, Keyspace};
use crate::{Error, Result};

/// Writes to any keyspaces of one database, applied together by [`Db::apply`]: all of them or none,
/// on disk, for snapshots and for readers. Of two writes to one key the last counts.
///
/// ```
/// # let db = skeindb::Db::in_memory()?;
/// let (users, by_city) = (db.keyspace("users")?, db.keyspace("by_city")?);
/// let mut batch = skeindb::Batch::new();
/// batch.insert(&users, "u1", "Ada").insert(&by_city, "London/u1", "").remove(&users, "u0");
/// db.apply(batch)?;
/// assert_eq!(users.len()?, 1);
/// # Ok::<(), skeindb::Error>(())
/// ```
#[derive(Debug, Default, Clone)]
pub struct Batch {
    writes: skein_data::Batch,
    /// The keyspaces that are written, by their identity.
    keyspaces: HashMap<usize, Keyspace>,
    /// The first write that cannot be applied.
    refused: Option<Error>,
}

impl Batch {
    /// Returns an empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a key to a value.
    pub fn insert(
        &mut self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        value: impl Into<Vec<u8>>,
    ) -> &mut Self {
        self.push(keyspace, key.as_ref(), BatchWrite::Put(value.into(), None))
    }

    /// Sets a key to a value that expires; see [`Keyspace::insert_until`].
    pub fn insert_until(
        &mut self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        value: impl Into<Vec<u8>>,
        expires: SystemTime,
    ) -> &mut Self {
        self.push(keyspace, key.as_ref(), BatchWrite::Put(value.into(), Some(unix_ms(expires))))
    }

    /// Removes a key, whatever it holds.
    pub fn remove(&mut self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> &mut Self {
        self.push(keyspace, key.as_ref(), BatchWrite::Remove)
    }

    /// Returns the number of writes.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Returns whether there are no writes.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Notes a write that cannot be applied. The first one is the error of [`Db::apply`].
    pub(crate) fn refuse(&mut self, error: Error) {
        self.refused.get_or_insert(error);
    }

    fn push(&mut self, keyspace: &Keyspace, key: &[u8], write: BatchWrite) -> &mut Self {
        match keyspace.physical(key) {
            Ok(key) => _ = self.writes.push(&*key, write),
            Err(error) => self.refuse(error),
        }
        self.keyspaces.entry(keyspace.identity()).or_insert_with(|| keyspace.clone());
        self
    }
}

impl Db {
    /// Applies all writes of a batch, or none. Pass a reference to apply the batch again later.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let geese = db.keyspace("geese")?;
    /// let mut batch = skeindb::Batch::new();
    /// batch.insert(&geese, "grey", "Anser anser");
    /// db.apply(&batch)?;
    /// geese.clear()?;
    /// db.apply(batch)?;
    /// assert!(geese.contains_key("grey")?);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// A keyspace belongs to another database or was dropped; otherwise as for
    /// [`Keyspace::insert`], for any of the writes. Nothing was written then.
    pub fn apply(&self, batch: impl Borrow<Batch>) -> Result<()> {
        let Batch { writes, keyspaces, refused } = batch.borrow();
        if let Some(refused) = refused {
            return Err(refused.clone());
        }
        for keyspace in keyspaces.values() {
            keyspace.check_of(&self.shared)?;
        }
        let ticket = self.shared.apply_alone(None, writes, keyspaces.values(), |_| Ok(true))?;
        self.shared.acknowledge(ticket.unwrap_or_default(), self.shared.engine.durability())
    }
}

impl DbShared {
    /// Applies a batch while nobody else writes, if `check` returns true; see `alone` for `turn`.
    /// Returns `None` if it returned false. The caller acknowledges the ticket.
    pub(super) fn apply_alone<'k>(
        &self,
        turn: Option<&ExclusiveTurn>,
        writes: &skein_data::Batch,
        mut keyspaces: impl Iterator<Item = &'k Keyspace>,
        check: impl FnOnce(&mut skein_data::PresentRows<'_, '_>) -> skein_data::Result<bool>,
    ) -> Result<Option<Ticket>> {
        self.alone(turn, |session| {
            keyspaces.try_for_each(Keyspace::check_present)?;
            Ok(session.apply_if(writes, check)?)
        })
    }
}
