//! Writes to columns, integers, and comparisons, all on one primitive, so that every engine that keeps rows has the same.

use super::writer::{Change, Updated};
use crate::options::VALUE_BYTES_MAX;
use crate::record;
use crate::row::table::{self, Column};
use crate::row::{Row, RowRef, Rows};
use crate::{Error, Result};

/// The current row if it has columns; an absent key is fine, a value is not.
fn columns_of(current: Option<RowRef<'_>>) -> Result<Option<RowRef<'_>>> {
    match current {
        Some(row) if !row.has_columns() => Err(Error::WrongKind { found: row.holds(), needed: "columns" }),
        row => Ok(row),
    }
}

/// The current value; an absent key is fine, columns are not.
fn value_of(current: Option<RowRef<'_>>) -> Result<Option<&[u8]>> {
    match current {
        None => Ok(None),
        Some(row) => match row.value() {
            None => Err(Error::WrongKind { found: row.holds(), needed: "a value" }),
            value => Ok(value),
        },
    }
}

/// A decimal integer as Redis writes it: no sign but `-`, no leading zeros, no spaces.
fn integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let plain = match digits {
        [b'0'] => text.len() == 1,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if plain { std::str::from_utf8(text).ok()?.parse().ok() } else { None }
}

fn sum(text: Option<&[u8]>, by: i64) -> Result<i64> {
    let value = text.map_or(Some(0), integer).ok_or(Error::NotAnInteger)?;
    value.checked_add(by).ok_or(Error::Overflow { value, by })
}

/// Takes down what a write is in the log, for an engine whose log has such records.
#[derive(Debug)]
pub struct Recorder<'r>(pub(super) Option<&'r mut Vec<u8>>);

impl Recorder<'_> {
    /// For an engine that logs rows whole, in its own way.
    pub fn none() -> Self {
        Self(None)
    }

    /// A change that says all that the key holds then.
    fn whole(&mut self, key: &[u8], change: &Change) {
        match (&mut self.0, change) {
            (Some(out), Change::Put(row)) => record::write_row(out, key, row.as_ref()),
            (Some(out), Change::Remove) => record::write_remove(out, key, 0),
            (None, _) | (_, Change::Keep) => {}
        }
    }
}

/// Makes the row of a merge and its record: the changes alone if they fall on a large row, else the whole row.
fn merge(
    rows: &Rows,
    recorder: &mut Recorder<'_>,
    key: &[u8],
    current: Option<RowRef<'_>>,
    set: &[Column<'_>],
    remove: &[&[u8]],
) -> Result<Option<Row>> {
    let Some(row) = rows.merged(current, set, remove)? else { return Ok(None) };
    if let Some(out) = &mut recorder.0 {
        if current.is_some_and(RowRef::is_large) && row.as_ref().is_large() {
            record::write_merge(out, key, 0, set, remove);
        } else {
            record::write_row(out, key, row.as_ref());
        }
    }
    Ok(Some(row))
}

/// Refuses columns that no row or no record can hold, whatever they are put to.
pub(super) fn check_columns(key: &[u8], columns: &[Column<'_>]) -> Result<()> {
    Error::check_value_len(table::content_len(columns), VALUE_BYTES_MAX)?;
    Error::check_record_len(record::columns_len_max(key, columns))
}

/// Puts columns that were checked; how many names are new.
pub(super) fn put_checked_columns<W: RowWriter + ?Sized>(
    writer: &mut W,
    key: &[u8],
    columns: &[Column<'_>],
) -> std::result::Result<usize, W::Error> {
    let mut new = 0;
    writer.update_recorded::<W::Error>(key, |current, rows, recorder| {
        let current = columns_of(current)?;
        let Some(row) = merge(rows, recorder, key, current, columns, &[])? else { return Ok(Change::Keep) };
        new = row.as_ref().column_count() - current.map_or(0, RowRef::column_count);
        Ok(Change::Put(row))
    })?;
    Ok(new)
}

/// Read-modify-writes of rows. An engine gives the primitive, [`update_recorded`](Self::update_recorded); [`Writer`](super::Writer) is one.
pub trait RowWriter {
    /// Why a write was not done.
    type Error: From<Error>;

    /// Refuses a key, or what it is to hold, over its limit.
    ///
    /// # Errors
    /// `KeyTooLong`, `ValueTooLong`.
    fn check_sizes(&self, key: &[u8], bytes: usize) -> Result<()>;

    /// As [`update`](Self::update); the closure also records what it decided.
    ///
    /// # Errors
    /// The closure's; a limit, the budget, what the engine says.
    fn update_recorded<E: From<Error> + From<Self::Error>>(
        &mut self,
        key: &[u8],
        decide: impl FnMut(Option<RowRef<'_>>, &Rows, &mut Recorder<'_>) -> std::result::Result<Change, E>,
    ) -> std::result::Result<Updated, E>;

    /// Atomic read-modify-write, on which set-if-absent, compare-and-swap, append and the like stand. The
    /// closure sees the row, and where to make a new one (no latch is held; it may take its time), and decides;
    /// if the row changed meanwhile it is called again. An error from it ends the update with nothing changed.
    ///
    /// # Errors
    /// The closure's; a limit, the budget, what the engine says.
    fn update<E: From<Error> + From<Self::Error>>(
        &mut self,
        key: &[u8],
        mut decide: impl FnMut(Option<RowRef<'_>>, &Rows) -> std::result::Result<Change, E>,
    ) -> std::result::Result<Updated, E> {
        self.update_recorded(key, |current, rows, recorder| {
            let change = decide(current, rows)?;
            recorder.whole(key, &change);
            Ok(change)
        })
    }

    /// Sets columns of a key, atomically; the other columns carry over. Returns how many names are new. With no
    /// columns it does nothing.
    ///
    /// # Errors
    /// As for [`update`](Self::update), `WrongKind` if the key holds a value, and `WriteTooLong`.
    fn put_columns(&mut self, key: &[u8], columns: &[Column<'_>]) -> std::result::Result<usize, Self::Error> {
        if columns.is_empty() {
            return Ok(0);
        }
        self.check_sizes(key, table::content_len(columns))?;
        check_columns(key, columns)?;
        put_checked_columns(self, key, columns)
    }

    /// Removes columns of a key, atomically, and the key with the last one. Returns how many were there.
    ///
    /// # Errors
    /// As for [`update`](Self::update), `WrongKind` if the key holds a value, and `WriteTooLong`.
    fn remove_columns(&mut self, key: &[u8], names: &[&[u8]]) -> std::result::Result<usize, Self::Error> {
        let mut gone = 0;
        self.update_recorded::<Self::Error>(key, |current, rows, recorder| {
            let Some(old) = columns_of(current)? else { return Ok(Change::Keep) };
            // Only what is there gets into the log's record, whose length is bounded.
            let names: Vec<&[u8]> = names.iter().copied().filter(|name| old.column(name).is_some()).collect();
            if names.is_empty() {
                gone = 0;
                return Ok(Change::Keep);
            }
            let row = merge(rows, recorder, key, current, &[], &names)?;
            gone = old.column_count() - row.as_ref().map_or(0, |row| row.as_ref().column_count());
            if let Some(row) = row {
                return Ok(Change::Put(row));
            }
            recorder.whole(key, &Change::Remove);
            Ok(Change::Remove)
        })?;
        Ok(gone)
    }

    /// Adds to a decimal integer; an absent key counts as 0. Returns the sum.
    ///
    /// # Errors
    /// As for [`update`](Self::update), `WrongKind`, `NotAnInteger`, `Overflow`.
    fn increment(&mut self, key: &[u8], by: i64) -> std::result::Result<i64, Self::Error> {
        let mut after = 0;
        self.update::<Self::Error>(key, |current, rows| {
            after = sum(value_of(current)?, by)?;
            Ok(Change::Put(rows.value(&[after.to_string().as_bytes()])?))
        })?;
        Ok(after)
    }

    /// Adds to a decimal integer in a column; an absent one counts as 0. Returns the sum.
    ///
    /// # Errors
    /// As for [`increment`](Self::increment).
    fn increment_column(
        &mut self,
        key: &[u8],
        column: &[u8],
        by: i64,
    ) -> std::result::Result<i64, Self::Error> {
        let mut after = 0;
        self.update_recorded::<Self::Error>(key, |current, rows, recorder| {
            let current = columns_of(current)?;
            after = sum(current.and_then(|row| row.column(column)), by)?;
            let set = [(column, after.to_string())];
            let set = [(set[0].0, set[0].1.as_bytes())];
            Ok(merge(rows, recorder, key, current, &set, &[])?.map_or(Change::Keep, Change::Put))
        })?;
        Ok(after)
    }

    /// Sets a key to `value` if it is absent; `changed` says whether it was done.
    ///
    /// # Errors
    /// As for [`update`](Self::update).
    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<Updated, Self::Error> {
        self.update(key, |current, rows| {
            Ok(if current.is_some() { Change::Keep } else { Change::Put(rows.value(&[value])?) })
        })
    }

    /// Sets a key to `value` if its version is `version` (0: if it is absent). Returns the new version, or in
    /// `Err` the present one.
    ///
    /// # Errors
    /// As for [`update`](Self::update).
    fn compare_and_swap(
        &mut self,
        key: &[u8],
        version: u64,
        value: &[u8],
    ) -> std::result::Result<std::result::Result<u64, u64>, Self::Error> {
        let done = self.update::<Self::Error>(key, |current, rows| {
            let same = current.map_or(0, RowRef::version) == version;
            Ok(if same { Change::Put(rows.value(&[value])?) } else { Change::Keep })
        })?;
        Ok(if done.changed { Ok(done.version) } else { Err(done.version) })
    }

    /// Sets a key to `value` if it holds the value `expected` (`None`: if it is absent). `changed` says whether it
    /// was done.
    ///
    /// # Errors
    /// As for [`update`](Self::update), and `WrongKind` if the key holds columns.
    fn compare_value_and_swap(
        &mut self,
        key: &[u8],
        expected: Option<&[u8]>,
        value: &[u8],
    ) -> std::result::Result<Updated, Self::Error> {
        self.update(key, |current, rows| {
            let same = value_of(current)? == expected;
            Ok(if same { Change::Put(rows.value(&[value])?) } else { Change::Keep })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::integer;

    #[test]
    fn integers_are_read_as_redis_reads_them() {
        for (text, value) in [("0", 0), ("-1", -1), ("10", 10), ("9223372036854775807", i64::MAX)] {
            assert_eq!(integer(text.as_bytes()), Some(value));
        }
        assert_eq!(integer(b"-9223372036854775808"), Some(i64::MIN));
        for text in ["", "-", "+1", "01", "-0", " 1", "1 ", "1a", "9223372036854775808", "0x1"] {
            assert_eq!(integer(text.as_bytes()), None, "{text:?}");
        }
    }
}
