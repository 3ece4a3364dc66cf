//! Single-key writes, many with one append to the log.
//!
//! ```text
//!   memory   each write is visible immediately
//!   disk     commands of one transaction ─► publication when it is full, between two commands
//!            ─► commands of the next transaction ─► publication ...
//! ```
//!
//! On disk, commands that are published together cost one publication and one log record. A command
//! that fails during its execution breaks the transaction and undoes all of it. So the caller must
//! ask [`EngineWriter::published`] after each step to know which writes cannot be undone any more.

use skein_model::{
    CollectionHead, CollectionKind, ListEnd, MemberWrites, NoteColumns, RowAllocator, RowChange, RowLimits,
    RowRef, RowUpdate, RowWriter, StoredCollection,
};
use skein_store::MemoryCollection;

use crate::disk::DiskWriter;
use crate::{Error, KeyState, Result};

/// The writer that [`EngineKeys::write`](super::EngineKeys::write) passes to its closure.
#[derive(Debug)]
pub enum EngineWriter<'w, 's> {
    /// Writes to rows in memory.
    Memory(&'w mut skein_store::Writer<'s>),
    /// Writes to the disk engine.
    Disk(&'w mut DiskWriter<'s>),
}

/// Calls a method that the writers of both engines have.
macro_rules! each {
    ($self:expr, $engine:ident => $call:expr) => {
        match $self {
            EngineWriter::Memory($engine) => $call,
            EngineWriter::Disk($engine) => $call,
        }
    };
}

impl EngineWriter<'_, '_> {
    /// Publishes the writes so far if they are many. Call it between two commands.
    ///
    /// # Errors
    /// If the writes could not be published. They were not done.
    pub fn publish_if_many(&mut self) -> Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Disk(disk) => disk.make_room(),
        }
    }

    /// Publishes the writes so far.
    ///
    /// # Errors
    /// If the writes could not be published. They were not done.
    pub fn publish(&mut self) -> Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Disk(disk) => disk.publish(),
        }
    }

    /// Returns whether writes were published since the last call. Those can no longer be undone.
    pub fn published(&mut self) -> bool {
        match self {
            Self::Memory(_) => false,
            Self::Disk(disk) => disk.published(),
        }
    }

    /// Returns whether the transaction has failed: nothing more can be written, and the unpublished
    /// writes are lost.
    pub fn is_broken(&self) -> bool {
        match self {
            Self::Memory(_) => false,
            Self::Disk(disk) => disk.is_broken(),
        }
    }

    /// Loads the index nodes of keys that are about to be written into the cache, if that helps.
    pub fn prefetch(&mut self, keys: &[&[u8]]) {
        each!(self, engine => engine.prefetch(keys));
    }

    /// Returns the state of a key with the writes so far. This does not count as a use of the key.
    pub fn key_state(&mut self, key: &[u8]) -> KeyState {
        match self {
            Self::Memory(writer) => writer.peek_with(key, KeyState::of),
            Self::Disk(disk) => {
                let now = disk.now();
                KeyState::of_read(disk.row(key), now)
            }
        }
    }

    /// Removes a key if it has expired. Returns whether it was removed.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn remove_expired(&mut self, key: &[u8]) -> Result<bool> {
        each!(self, engine => Ok(engine.remove_expired(key)?))
    }

    /// Sets a key to a value. Replaces any earlier value.
    ///
    /// # Errors
    /// If the key or the value exceeds its limit, memory is short, writes are stopped, or a file
    /// operation fails.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        match self {
            Self::Memory(writer) => Ok(writer.put(key, value).map(drop)?),
            Self::Disk(disk) => disk.put(key, value, None),
        }
    }

    /// Returns the time that decides which keys have expired, in milliseconds since 1970.
    pub fn now(&self) -> u64 {
        each!(self, engine => engine.now())
    }

    /// Sets a key to a value until a time (milliseconds since 1970).
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn put_until(&mut self, key: &[u8], value: &[u8], expires: u64) -> Result<()> {
        match self {
            Self::Memory(writer) => Ok(writer.put_until(key, value, expires).map(drop)?),
            Self::Disk(disk) => disk.put(key, value, Some(expires)),
        }
    }

    /// Removes a key. Returns `false` if it did not exist. In a series of removals, some may be
    /// published before the last one.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn remove(&mut self, key: &[u8]) -> Result<bool> {
        match self {
            Self::Memory(writer) => Ok(writer.remove(key)?.existed),
            Self::Disk(disk) => disk.remove(key),
        }
    }
}

/// A collection of either engine.
#[derive(Debug)]
pub enum EngineCollection {
    /// Its members are in memory.
    Memory(MemoryCollection),
    /// Its members are on disk.
    Disk(CollectionHead),
}

impl StoredCollection for EngineCollection {
    fn of(row: RowRef<'_>) -> Option<Self> {
        let stored = || CollectionHead::of(row).map(Self::Disk);
        MemoryCollection::of(row).map(Self::Memory).or_else(stored)
    }

    fn kind(&self) -> CollectionKind {
        match self {
            Self::Memory(collection) => collection.kind(),
            Self::Disk(head) => head.kind,
        }
    }
}

impl RowWriter for EngineWriter<'_, '_> {
    type Error = Error;
    type Collection = EngineCollection;

    fn check_sizes(&self, key: &[u8], bytes: usize) -> skein_model::Result<()> {
        each!(self, engine => engine.check_sizes(key, bytes))
    }

    fn spreads_columns(&self) -> bool {
        each!(self, engine => engine.spreads_columns())
    }

    fn row_limits(&self) -> RowLimits {
        each!(self, engine => engine.row_limits())
    }

    fn begin_at<R>(&mut self, key: &[u8], look: impl FnOnce(Option<RowRef<'_>>) -> R) -> Result<R> {
        each!(self, engine => Ok(engine.begin_at(key, look)?))
    }

    fn change_collection<R, E: From<skein_model::Error> + From<Error>>(
        &mut self,
        key: &[u8],
        collection: &EngineCollection,
        change: impl FnOnce(&mut dyn MemberWrites) -> Result<R, E>,
    ) -> Result<Option<R>, E> {
        match (self, collection) {
            (Self::Memory(writer), EngineCollection::Memory(found)) => {
                writer.change_collection(key, found, change)
            }
            (Self::Disk(disk), EngineCollection::Disk(head)) => disk.change_collection(key, head, change),
            _ => Err(skein_model::Error::OfAnotherKey.into()),
        }
    }

    fn make_collection<R, E: From<skein_model::Error> + From<Error>>(
        &mut self,
        key: &[u8],
        kind: CollectionKind,
        base: Option<u64>,
        expires: Option<u64>,
        change: impl FnOnce(&mut dyn MemberWrites) -> Result<R, E>,
    ) -> Result<Option<(R, u64)>, E> {
        each!(self, engine => engine.make_collection(key, kind, base, expires, change))
    }

    fn rename(&mut self, from: &[u8], to: &[u8], replace: bool) -> Result<Option<bool>> {
        each!(self, engine => Ok(engine.rename(from, to, replace)?))
    }

    fn move_member(&mut self, kind: CollectionKind, from: &[u8], to: &[u8], member: &[u8]) -> Result<bool> {
        match self {
            Self::Memory(writer) => Ok(writer.move_member(kind, from, to, member)?),
            Self::Disk(disk) => disk.as_one_write(|disk| disk.move_member(kind, from, to, member)),
        }
    }

    fn move_element(&mut self, from: (&[u8], ListEnd), to: (&[u8], ListEnd)) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Memory(writer) => Ok(writer.move_element(from, to)?),
            Self::Disk(disk) => disk.as_one_write(|disk| disk.move_element(from, to)),
        }
    }

    fn update_with_notes<E: From<skein_model::Error> + From<Error>>(
        &mut self,
        key: &[u8],
        decide: impl FnMut(
            Option<RowRef<'_>>,
            &RowAllocator,
            NoteColumns<'_>,
        ) -> std::result::Result<RowChange, E>,
    ) -> std::result::Result<RowUpdate, E> {
        each!(self, engine => engine.update_with_notes(key, decide))
    }
}
