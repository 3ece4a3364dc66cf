//! A worker's way into an engine.

use std::ops::{Bound, ControlFlow};

use super::disk::{self, DiskEngine, Reader};
use super::writer::{DiskWriter, Writer};
use super::{Bounds, Direction, Engine, Result, RowRef, Ticket};

/// Keys that one step of a range removal removes at most.
const REMOVALS: usize = 256;

/// What one step of a range removal did.
#[derive(Debug)]
pub(crate) struct Removed {
    pub count: usize,
    /// The lower bound of what is left to do; `None` if nothing is.
    pub rest: Option<Bound<Vec<u8>>>,
    pub ticket: Ticket,
}

/// A worker's way into an engine.
#[derive(Debug)]
pub struct Session {
    engine: Engine,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Memory(skein_store::Session),
    Disk(DiskEngine, Reader),
}

impl Session {
    pub(super) fn new(engine: &Engine) -> Self {
        let way = match engine {
            Engine::Memory(store) => Way::Memory(store.session()),
            Engine::Disk(disk) => Way::Disk(disk.clone(), Reader::default()),
        };
        Self { engine: engine.clone(), way }
    }

    /// The engine that it is of.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Shows `look` the row of a key.
    #[inline]
    pub(crate) fn get_with<R>(
        &mut self,
        key: &[u8],
        look: impl FnOnce(Result<Option<RowRef<'_>>>) -> R,
    ) -> R {
        match &mut self.way {
            Way::Memory(session) => session.get_with(key, |row| look(Ok(row))),
            Way::Disk(disk, reader) => look(reader.row(key, |value| disk.store().get_into(key, value))),
        }
    }

    /// Many lookups; `found` is called once per key, with its position, in no particular order. Each key is read at a moment of its own.
    pub(crate) fn get_many(
        &mut self,
        keys: &[&[u8]],
        mut found: impl FnMut(usize, Result<Option<RowRef<'_>>>),
    ) {
        match &mut self.way {
            Way::Memory(session) => session.get_many(keys, |at, row| found(at, Ok(row))),
            Way::Disk(disk, reader) => reader.each(disk.store(), keys, found),
        }
    }

    /// As `get_many`, as of one moment with respect to MSET, and in the order of `keys`. Rows of more than `bytes_most` bytes together may be refused.
    pub(crate) fn get_many_atomic(
        &mut self,
        keys: &[&[u8]],
        bytes_most: usize,
        found: impl FnMut(usize, Option<RowRef<'_>>),
    ) -> Result<()> {
        match &mut self.way {
            Way::Memory(session) => session.get_many_atomic(keys, found),
            Way::Disk(disk, reader) => return reader.rows(disk.store(), keys, bytes_most, found),
        }
        Ok(())
    }

    /// How many of the keys are there, as of one moment.
    pub(crate) fn count_present(&mut self, keys: &[&[u8]]) -> Result<usize> {
        match &mut self.way {
            Way::Memory(session) => {
                let mut count = 0;
                session.get_many_atomic(keys, |_, row| count += usize::from(row.is_some()));
                Ok(count)
            }
            Way::Disk(disk, _) => Ok(disk.store().versions(keys)?.into_iter().flatten().count()),
        }
    }

    /// Shows `each` the rows within bounds, in order, until it breaks; it wants so many keys at most. Not a snapshot.
    ///
    /// # Errors
    /// The trie of a disk store keeps no order; a page that cannot be read, or is damaged; a value that is no row. What was read before was shown.
    pub fn scan(
        &mut self,
        bounds: Bounds<'_>,
        direction: Direction,
        most: usize,
        each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        match &mut self.way {
            Way::Memory(session) => session.scan(bounds, direction, each),
            Way::Disk(disk, reader) => return reader.scan(disk.store(), bounds, direction, most, each),
        }
        Ok(())
    }

    /// How many of the first `most` keys of a range there are, and the last of them if there may be more.
    pub(crate) fn step_over(&mut self, bounds: Bounds<'_>, most: usize) -> Result<(usize, Option<Vec<u8>>)> {
        match &mut self.way {
            Way::Memory(session) => Ok(step_over(session, bounds, most)),
            Way::Disk(disk, _) => disk::step_over(disk.store(), bounds, most),
        }
    }

    /// Runs single-key writes with one append to the log, if they are few; the ticket covers what was written.
    ///
    /// If there is an error, none of it may be acknowledged. On disk what was written since it was last published, which is in [`Writer::between`] if it is much,
    /// was not done then, and the ticket is of what was done before.
    pub fn write<R>(&mut self, writes: impl FnOnce(&mut Writer<'_, '_>) -> R) -> (Result<R>, Ticket) {
        match &mut self.way {
            Way::Memory(session) => match session.write(|writer| writes(&mut Writer::Memory(writer))) {
                Ok((answer, ticket)) => (Ok(answer), ticket),
                Err(error) => (Err(error.into()), Ticket::default()),
            },
            Way::Disk(disk, reader) => {
                let mut writer = DiskWriter::new(disk, reader);
                let answer = writes(&mut Writer::Disk(&mut writer));
                let done = writer.publish();
                (done.map(|()| answer), writer.ticket())
            }
        }
    }

    /// Whether writes that cannot be acknowledged were not done.
    pub(crate) fn undoes(&self) -> bool {
        matches!(self.way, Way::Disk(..))
    }

    /// Sets several keys together: all or nothing, on disk and for `get_many_atomic`. MSET.
    pub(crate) fn put_all(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<Ticket> {
        let (disk, reader) = match &mut self.way {
            Way::Memory(session) => return Ok(session.put_all(pairs)?),
            Way::Disk(disk, reader) => (disk, reader),
        };
        let mut transaction = disk.store().begin();
        for (key, value) in pairs {
            disk.check_sizes(key, value.len())?;
            transaction.set(key, reader.of_value(value))?;
        }
        Ok(transaction.commit()?)
    }

    /// Removes the first keys within bounds. Not atomic: a key that comes meanwhile may stay.
    pub(crate) fn remove_some(&mut self, bounds: Bounds<'_>) -> Result<Removed> {
        match &mut self.way {
            Way::Memory(session) => {
                let (_, last) = step_over(session, bounds, REMOVALS);
                let upper = last.as_deref().map_or(bounds.1, Bound::Included);
                let (count, ticket) = session.remove_range((bounds.0, upper))?;
                Ok(Removed { count, rest: last.map(Bound::Excluded), ticket })
            }
            Way::Disk(disk, _) => {
                let mut transaction = disk.store().begin();
                let removed = transaction.remove_range(bounds, REMOVALS)?;
                let ticket = transaction.commit()?;
                Ok(Removed { count: removed.count, rest: removed.rest, ticket })
            }
        }
    }
}

fn step_over(session: &skein_store::Session, bounds: Bounds<'_>, most: usize) -> (usize, Option<Vec<u8>>) {
    let (mut count, mut last) = (0, None);
    session.scan(bounds, Direction::Forward, |key, _| {
        count += 1;
        if count == most {
            last = Some(key.to_vec());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    (count, last)
}
