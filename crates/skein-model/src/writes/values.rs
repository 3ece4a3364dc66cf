//! Writes to one value that depend on it: integers, and comparisons.

use crate::RowRef;
use skein_syntax::number::parse_i64;

use super::row_change::{RowChange, RowUpdate};
use super::row_writer::RowWriter;
use crate::{Error, Result};

/// Returns the current value, or `None` for an absent key. Errors if the key holds columns.
fn value_of(current: Option<RowRef<'_>>) -> Result<Option<&[u8]>> {
    current.map(RowRef::needed_value).transpose()
}

fn sum(text: Option<&[u8]>, by: i64) -> Result<i64> {
    let value = text.map_or(Some(0), parse_i64).ok_or(Error::NotAnInteger)?;
    value.checked_add(by).ok_or(Error::Overflow { value, by })
}

/// Adds to an integer; see [`RowWriter::increment`].
pub(super) fn increment<W: RowWriter + ?Sized>(
    writer: &mut W,
    key: &[u8],
    by: i64,
) -> std::result::Result<i64, W::Error> {
    let mut after = 0;
    writer.update::<W::Error>(key, |current, rows| {
        after = sum(value_of(current)?, by)?;
        let expires = current.and_then(RowRef::expires_at);
        Ok(RowChange::Put(rows.value_until(&[after.to_string().as_bytes()], expires)?))
    })?;
    Ok(after)
}

/// Adds to an integer in a column; see [`RowWriter::increment_column`].
pub(super) fn increment_column<W: RowWriter + ?Sized>(
    writer: &mut W,
    key: &[u8],
    column: &[u8],
    by: i64,
) -> std::result::Result<i64, W::Error> {
    let mut after = 0;
    writer.update_column::<W::Error>(key, column, |text| {
        after = sum(text, by)?;
        Ok(Some(after.to_string().into_bytes()))
    })?;
    Ok(after)
}

/// Sets a key that has a version; see [`RowWriter::compare_and_swap`].
pub(super) fn compare_and_swap<W: RowWriter + ?Sized>(
    writer: &mut W,
    key: &[u8],
    version: u64,
    value: &[u8],
) -> std::result::Result<std::result::Result<u64, u64>, W::Error> {
    let done = writer.update::<W::Error>(key, |current, rows| {
        let same = current.map_or(0, RowRef::version) == version;
        Ok(if same { RowChange::Put(rows.value(&[value])?) } else { RowChange::Keep })
    })?;
    Ok(if done.changed { Ok(done.version) } else { Err(done.version) })
}

/// Sets a key that has a value; see [`RowWriter::compare_value_and_swap`].
pub(super) fn compare_value_and_swap<W: RowWriter + ?Sized>(
    writer: &mut W,
    key: &[u8],
    expected: Option<&[u8]>,
    value: &[u8],
) -> std::result::Result<RowUpdate, W::Error> {
    writer.update(key, |current, rows| {
        let same = value_of(current)? == expected;
        Ok(if same { RowChange::Put(rows.value(&[value])?) } else { RowChange::Keep })
    })
}
