//! Writes to sorted sets, which only the engine in memory has.

use crate::{EngineWriter, Error, SetWriter};

impl EngineWriter<'_, '_> {
    /// Changes the sorted set of a key. If the key is absent, creates the set if `make` is true,
    /// and otherwise returns `None`. See [`skein_store::Writer::change_set`].
    ///
    /// # Errors
    /// If `change` fails, the key holds another type, a limit is exceeded, or this is the disk
    /// engine.
    pub fn change_set<R, E: From<skein_store::Error> + From<Error>>(
        &mut self,
        key: &[u8],
        make: bool,
        change: impl FnMut(&mut SetWriter<'_>) -> Result<R, E>,
    ) -> Result<Option<R>, E> {
        match self {
            Self::Memory(writer) => writer.change_set(key, make, change),
            Self::Disk(_) => Err(Error::NoSortedSets.into()),
        }
    }
    /// Replaces the value of a key by a sorted set of the members that `change` adds, until
    /// `expires` or for ever. This is one write: after an error the key has its old value. See
    /// [`skein_store::Writer::replace_set`].
    ///
    /// # Errors
    /// If `change` fails, a limit is exceeded, or this is the disk engine.
    pub fn replace_set<R, E: From<skein_store::Error> + From<Error>>(
        &mut self,
        key: &[u8],
        expires: Option<u64>,
        change: impl FnMut(&mut SetWriter<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        match self {
            Self::Memory(writer) => writer.replace_set(key, expires, change),
            Self::Disk(_) => Err(Error::NoSortedSets.into()),
        }
    }
}
