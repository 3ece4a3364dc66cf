//! The keys that a client watches, and their versions.
//!
//! A key with the same version at EXEC was not written (`key_version`).

use std::collections::HashMap;

use crate::request::command_error::CommandError;
use crate::request::databases::Databases;
use crate::request::key_version::KeyVersion;
use crate::request::moved_keys::moved_key;
use crate::resp::Args;
use skein_data::EngineKeys;

/// Approximate bytes of a watched key besides its own: a table that has just grown is half empty.
const PER_KEY: usize = 128;

/// A watched key: that of the store, of the database in which it was watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SeenKey {
    version: KeyVersion,
    database: u32,
    /// How often the database was swapped before.
    swaps: u32,
}

/// The watched keys of a client.
#[derive(Debug, Default)]
pub(crate) struct WatchedKeys {
    keys: HashMap<Box<[u8]>, SeenKey>,
    bytes: usize,
}

impl WatchedKeys {
    /// Watches the arguments, keys of the store, in a database. A key that is already watched keeps
    /// its first state. All watched keys may take `limit` bytes together.
    ///
    /// # Errors
    /// If they would take more, or if a key cannot be read. Some of the keys may be watched then.
    pub(crate) fn add(
        &mut self,
        engine_keys: &mut EngineKeys,
        args: &Args,
        (databases, database): (&Databases, u32),
        limit: usize,
    ) -> Result<(), CommandError> {
        let seen = |version| SeenKey { version, database, swaps: databases.swaps(database) };
        let keys: Vec<&[u8]> = args.from(1).filter(|key| !self.keys.contains_key(*key)).collect();
        let bytes = keys.iter().map(|key| key.len() + PER_KEY).sum::<usize>();
        if self.bytes.saturating_add(bytes) > limit {
            return Err(CommandError::owned(format!(
                "ERR the watched keys would take more than the limit of {limit} bytes; watch fewer or raise client-query-buffer-limit"
            )));
        }
        self.bytes += bytes;
        let (mut failed, mut absent) = (None, Vec::new());
        engine_keys.get_many(
            &keys,
            |_| false,
            |at, row| match row.and_then(|row| row.map(KeyVersion::watched).transpose()) {
                Ok(Some(version)) => {
                    _ = self.keys.entry(keys[at].into()).or_insert_with(|| seen(version));
                }
                Ok(None) => absent.push(keys[at]),
                Err(error) => failed = Some(error),
            },
        );
        if let Some(error) = failed {
            return Err(error.into());
        }
        for key in absent {
            let version = KeyVersion::read_watched(engine_keys, key)?;
            self.keys.entry(key.into()).or_insert_with(|| seen(version));
        }
        Ok(())
    }

    /// Returns the bytes that they take.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.bytes
    }

    /// Stops watching all keys.
    pub(crate) fn clear(&mut self) {
        if !self.keys.is_empty() {
            *self = Self::default();
        }
    }

    /// Returns whether a key was written since it was watched, or its database was swapped and the
    /// key is on either side. `REQUIRES:` no client writes meanwhile.
    ///
    /// # Errors
    /// If a key cannot be read.
    pub(crate) fn changed(
        &self,
        engine_keys: &mut EngineKeys,
        databases: &Databases,
    ) -> skein_data::Result<bool> {
        for (key, seen) in &self.keys {
            if KeyVersion::read_watched(engine_keys, key)? != seen.version {
                return Ok(true);
            }
            if databases.swaps(seen.database) != seen.swaps {
                let moved = moved_key(key, databases.keyspace(seen.database));
                if !seen.version.is_absent() || !KeyVersion::read_watched(engine_keys, &moved)?.is_absent() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
