//! Sorted sets, which the engine in memory has.

use super::{EngineWriter, Error, SetWriter};

impl EngineWriter<'_, '_> {
    /// Changes the sorted set at a key, which is made if `make` says so; `None` if it is absent. See [`skein_store::Writer::change_set`].
    ///
    /// # Errors
    /// That of `change`; the key holds something else; a limit; the disk engine has no sorted sets.
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
    /// Makes a key a sorted set of the members that `change` puts, until `expires` or for ever, whatever it held. It is one write: after an error the key holds what it
    /// held. See [`skein_store::Writer::replace_set`].
    ///
    /// # Errors
    /// That of `change`; a limit; the disk engine has no sorted sets.
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
