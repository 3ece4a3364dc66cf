//! Values of either engine, without a copy where that is possible.

use std::ops::Deref;

use skein_store::PinnedValue;

use crate::disk::{DiskRowReader, live};
use crate::{Engine, Result};

/// The value of a key. In memory it is read in place, and keeps memory from being freed while it
/// lives; on disk it is a copy.
#[derive(Debug)]
pub enum FoundValue<'e> {
    /// In the memory of the engine.
    InPlace(PinnedValue<'e>),
    /// A copy.
    Copied(Vec<u8>),
}

impl FoundValue<'_> {
    /// Returns the value as a vector of its own.
    pub fn into_vec(self) -> Vec<u8> {
        match self {
            Self::InPlace(value) => value.to_vec(),
            Self::Copied(value) => value,
        }
    }
}

impl Deref for FoundValue<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::InPlace(value) => value,
            Self::Copied(value) => value,
        }
    }
}

impl Engine {
    /// Returns the value of a key. A batch
    /// ([`EngineSession::apply_if`](crate::EngineSession::apply_if)) is seen whole: if this shows
    /// one key of it, a later call shows its other keys.
    ///
    /// # Errors
    /// The key holds columns or a set, or a page cannot be read or is damaged.
    pub fn get(&self, key: &[u8]) -> Result<Option<FoundValue<'_>>> {
        let disk = match self {
            Self::Memory(store) => return Ok(store.get_pinned(key)?.map(FoundValue::InPlace)),
            Self::Disk(disk) => disk,
        };
        let mut reader = DiskRowReader::default();
        let row = reader.row(key, |value| disk.store().get_into(key, value))?;
        let Some(row) =
            row.filter(|row| row.expires_at().is_none() || live(Some(*row), self.now()).is_some())
        else {
            return Ok(None);
        };
        Ok(Some(FoundValue::Copied(row.needed_value()?.to_vec())))
    }
}
