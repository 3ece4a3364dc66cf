//! The simple methods: owned answers, usable from any thread; at `Sync` a write returns when it is durable.

use std::ops::{Bound, ControlFlow};

use super::Store;
use crate::index::Bounds;
use crate::row::RowRef;
use crate::row::table::Column;
use crate::{Batch, Direction, Durability, Error, Result, Session, Ticket, Writer};

/// A key with what it holds, owned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Vec<u8>,
    /// The row's version.
    pub version: u64,
    /// The value, if the row has one and no columns.
    pub value: Option<Vec<u8>>,
    /// The columns by name; empty if the row has a value.
    pub columns: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Entry {
    fn new(key: &[u8], row: RowRef<'_>) -> Self {
        Self {
            key: key.to_vec(),
            version: row.version(),
            value: row.value().map(<[u8]>::to_vec),
            columns: row.columns().map(|(name, value)| (name.to_vec(), value.to_vec())).collect(),
        }
    }
}

impl Store {
    /// The value of `key`.
    ///
    /// # Errors
    /// `WrongKind` if the key holds columns.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let index = &self.inner().index;
        let guard = index.collector().enter();
        let Some(row) = index.get(key, &guard) else { return Ok(None) };
        match row.value() {
            None => Err(Error::WrongKind { found: row.holds(), needed: "a value" }),
            value => Ok(value.map(<[u8]>::to_vec)),
        }
    }

    /// All that `key` holds, with its version.
    pub fn get_entry(&self, key: &[u8]) -> Option<Entry> {
        let index = &self.inner().index;
        let guard = index.collector().enter();
        index.get(key, &guard).map(|row| Entry::new(key, row))
    }

    /// The columns of `key` that are named, by position, or all in the order of their names.
    ///
    /// # Errors
    /// `WrongKind` if the key holds a value.
    pub fn get_columns(&self, key: &[u8], names: Option<&[&[u8]]>) -> Result<Vec<Option<Vec<u8>>>> {
        let index = &self.inner().index;
        let guard = index.collector().enter();
        let row = index.get(key, &guard);
        if let Some(row) = row.filter(|row| !row.has_columns()) {
            return Err(Error::WrongKind { found: row.holds(), needed: "columns" });
        }
        Ok(match (names, row) {
            (None, None) => Vec::new(),
            (None, Some(row)) => row.columns().map(|(_, value)| Some(value.to_vec())).collect(),
            (Some(names), row) => {
                let column = |name: &&[u8]| row.and_then(|row| row.column(name)).map(<[u8]>::to_vec);
                names.iter().map(column).collect()
            }
        })
    }

    /// The rows within `bounds`, at most `limit`, in order. Not a snapshot; see [`Session::scan`].
    pub fn range(&self, bounds: Bounds<'_>, direction: Direction, limit: usize) -> Vec<Entry> {
        let mut entries = Vec::new();
        if limit > 0 {
            self.inner().index.scan(bounds, direction, |key, row| {
                entries.push(Entry::new(key, row));
                if entries.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
        }
        entries
    }

    /// The rows whose keys start with `prefix`, at most `limit`, in order.
    pub fn prefix(&self, prefix: &[u8], direction: Direction, limit: usize) -> Vec<Entry> {
        let end = skein_index::successor(prefix);
        let end = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        self.range((Bound::Included(prefix), end), direction, limit)
    }

    /// The log of the calling thread.
    fn own_lane(&self) -> usize {
        use std::cell::Cell;
        use std::sync::atomic::{AtomicUsize, Ordering};
        // Not the façade's atomics: a ticket shared by all stores of the process, and no part of any protocol.
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        thread_local! { static NUMBER: Cell<Option<usize>> = const { Cell::new(None) } }
        let number = NUMBER.get().unwrap_or_else(|| NEXT.fetch_add(1, Ordering::Relaxed));
        NUMBER.set(Some(number));
        number % self.inner().log.logs()
    }

    /// A session of the calling thread's log, for one call.
    fn own_session(&self) -> Session {
        Session::new(self.clone(), self.own_lane())
    }

    /// At `Sync`, waits until the ticket's writes are durable.
    fn acknowledge(&self, ticket: Ticket) -> Result<()> {
        if self.durability() == Durability::Sync { self.wait_durable(ticket) } else { Ok(()) }
    }

    fn write<R>(&self, write: impl FnOnce(&mut Writer<'_>) -> Result<R>) -> Result<R> {
        let mut writer = Writer::enter(self.inner(), self.own_lane())?;
        let answer = write(&mut writer);
        let ticket = writer.finish()?;
        let answer = answer?;
        self.acknowledge(ticket)?;
        Ok(answer)
    }

    /// Sets `key` to `value`, whatever it held; returns the new version.
    ///
    /// # Errors
    /// Key or value over its limit, memory over the budget; closed or stopped.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<u64> {
        self.write(|writer| Ok(writer.put(key, value)?.version))
    }

    /// Sets `key` to `value` if it is absent; returns whether it did.
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    pub fn put_if_absent(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.write(|writer| Ok(writer.put_if_absent(key, value)?.changed))
    }

    /// Sets columns of `key`, atomically; the others carry over. Returns how many names are new.
    ///
    /// # Errors
    /// As for [`put`](Self::put), and `WrongKind` if the key holds a value.
    pub fn put_columns(&self, key: &[u8], columns: &[Column<'_>]) -> Result<usize> {
        self.write(|writer| writer.put_columns(key, columns))
    }

    /// Removes columns of `key`, atomically, and the key with the last one. Returns how many were there.
    ///
    /// # Errors
    /// `WrongKind` if the key holds a value; closed or stopped.
    pub fn remove_columns(&self, key: &[u8], names: &[&[u8]]) -> Result<usize> {
        self.write(|writer| writer.remove_columns(key, names))
    }

    /// Removes `key`; returns whether it was there.
    ///
    /// # Errors
    /// The key is over its limit; closed or stopped.
    pub fn remove(&self, key: &[u8]) -> Result<bool> {
        self.write(|writer| Ok(writer.remove(key)?.existed))
    }

    /// Sets `key` to `value` if its version is `version` (0: if it is absent). Returns the new version, or in `Err`
    /// the present one.
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    pub fn compare_and_swap(
        &self,
        key: &[u8],
        version: u64,
        value: &[u8],
    ) -> Result<std::result::Result<u64, u64>> {
        self.write(|writer| writer.compare_and_swap(key, version, value))
    }

    /// Sets `key` to `value` if it holds `expected` (`None`: if it is absent); returns whether it did.
    ///
    /// # Errors
    /// `WrongKind` if the key holds columns, and those of [`put`](Self::put).
    pub fn compare_value_and_swap(&self, key: &[u8], expected: Option<&[u8]>, value: &[u8]) -> Result<bool> {
        self.write(|writer| Ok(writer.compare_value_and_swap(key, expected, value)?.changed))
    }

    /// Adds to a decimal integer; an absent key counts as 0. Returns the sum.
    ///
    /// # Errors
    /// `WrongKind`, `NotAnInteger`, `Overflow`, and those of [`put`](Self::put).
    pub fn increment(&self, key: &[u8], by: i64) -> Result<i64> {
        self.write(|writer| writer.increment(key, by))
    }

    /// Does all writes of a batch together, or none.
    ///
    /// # Errors
    /// As for [`Session::apply`].
    pub fn apply(&self, batch: &Batch) -> Result<()> {
        let ticket = self.own_session().apply(batch)?;
        self.acknowledge(ticket)
    }

    /// Removes all keys within `bounds`; returns how many. Not atomic: others may see part of it.
    ///
    /// # Errors
    /// Closed or stopped; part of the keys may be gone then.
    pub fn remove_range(&self, bounds: Bounds<'_>) -> Result<usize> {
        let (removed, ticket) = self.own_session().remove_range(bounds)?;
        self.acknowledge(ticket)?;
        Ok(removed)
    }
}
