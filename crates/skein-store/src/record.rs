//! The payload of a log record: one write to one key. `docs/format.md`, "Log payloads", draws the bytes.
//!
//! A record says what the key holds afterwards, so it may be replayed in any order by versions; only `Merge`,
//! used for rows whose columns lie in blocks, says what changed, and stands on the version just before its own.

use crate::row::table::{self, Column, Table};
use crate::row::{Row, RowRef, Rows, TABLE_BYTES_MAX};

const VALUE: u8 = 1;
const COLUMNS: u8 = 2;
const REMOVE: u8 = 3;
const MERGE: u8 = 4;

/// Kind, key length, version.
const HEAD: usize = 1 + 2 + 8;

/// What a write did to its key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effect<'a> {
    /// The key holds this value.
    Value(&'a [u8]),
    /// The key holds the columns of these tables, joined.
    Columns(&'a [u8]),
    /// The key is gone.
    Remove,
    /// Some columns were set and some removed.
    Merge(Merge<'a>),
}

/// The changes of a merge as they lie in a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Merge<'a> {
    bytes: &'a [u8],
}

/// A write to one key, as read back from a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) version: u64,
    pub(crate) effect: Effect<'a>,
}

fn head(out: &mut Vec<u8>, kind: u8, key: &[u8], version: u64) {
    out.push(kind);
    out.extend_from_slice(&(key.len() as u16).to_le_bytes());
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(key);
}

/// Where the version lies.
const VERSION: std::ops::Range<usize> = 3..11;

/// Puts the version into an encoded record.
#[inline]
pub(crate) fn set_version(record: &mut [u8], version: u64) {
    record[VERSION].copy_from_slice(&version.to_le_bytes());
}

/// Appends the record of `key` holding `row`, whole.
pub(crate) fn write_row(out: &mut Vec<u8>, key: &[u8], row: RowRef<'_>) {
    if let Some(value) = row.value() {
        head(out, VALUE, key, row.version());
        out.extend_from_slice(value);
    } else {
        head(out, COLUMNS, key, row.version());
        write_tables(out, row);
    }
}

/// Appends the tables of a row of columns.
pub(crate) fn write_tables(out: &mut Vec<u8>, row: RowRef<'_>) {
    for i in 0..row.table_count() {
        out.extend_from_slice(row.table(i).bytes());
    }
}

/// Appends the record of a value set.
#[inline]
pub(crate) fn write_value(out: &mut Vec<u8>, key: &[u8], version: u64, value: &[u8]) {
    head(out, VALUE, key, version);
    out.extend_from_slice(value);
}

/// Appends the record of a removal.
pub(crate) fn write_remove(out: &mut Vec<u8>, key: &[u8], version: u64) {
    head(out, REMOVE, key, version);
}

/// Appends the record of columns set and removed.
pub(crate) fn write_merge(out: &mut Vec<u8>, key: &[u8], version: u64, set: &[Column<'_>], remove: &[&[u8]]) {
    head(out, MERGE, key, version);
    out.extend_from_slice(&(set.len() as u32).to_le_bytes());
    for (name, value) in set {
        out.extend_from_slice(&(name.len() as u32).to_le_bytes());
        out.extend_from_slice(&(value.len() as u32).to_le_bytes());
        out.extend_from_slice(name);
        out.extend_from_slice(value);
    }
    for name in remove {
        out.extend_from_slice(&(name.len() as u32).to_le_bytes());
        out.extend_from_slice(name);
    }
}

/// More bytes than any record of a put of these columns takes. The longest is that of the whole row, each column in a
/// table of its own; what the row had before fits one small table then (else the record is a merge).
pub(crate) fn columns_len_max(key: &[u8], columns: &[Column<'_>]) -> usize {
    let tables = columns.len() * table::size_of(1, 0) + table::content_len(columns);
    HEAD + key.len() + 2 * TABLE_BYTES_MAX + tables
}

/// Takes bytes off the front of a slice.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.bytes(2)?.try_into().ok()?))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(4)?.try_into().ok()?))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(8)?.try_into().ok()?))
    }
}

impl<'a> Record<'a> {
    /// Reads a payload; `None` if it is not one, whatever it is.
    #[inline]
    pub(crate) fn parse(payload: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(payload);
        let kind = reader.u8()?;
        let key_len = reader.u16()? as usize;
        let version = reader.u64()?;
        let key = reader.bytes(key_len)?;
        let body = reader.0;
        let effect = match kind {
            VALUE => Effect::Value(body),
            COLUMNS => Effect::Columns(body),
            REMOVE if body.is_empty() => Effect::Remove,
            MERGE => Effect::Merge(Merge { bytes: body }),
            _ => return None,
        };
        debug_assert!(HEAD + key_len + body.len() == payload.len(), "the parts are the whole");
        Some(Self { key, version, effect })
    }
}

/// Makes a row from tables as they lie on disk; `None` if they are not well-formed.
pub(crate) fn row_of_tables(rows: &Rows, mut tables: &[u8]) -> Option<Row> {
    let mut columns: Vec<Column<'_>> = Vec::new();
    while !tables.is_empty() {
        let (table, rest) = Table::parse(tables)?;
        if columns.last().is_some_and(|last| last.0 >= table.name(0)) {
            return None;
        }
        columns.extend(table.columns());
        tables = rest;
    }
    Row::from_sorted(rows, &columns)
}

impl<'a> Merge<'a> {
    /// The columns set and the names removed; `None` if the bytes are not a merge.
    fn parts(self) -> Option<(Vec<Column<'a>>, Vec<&'a [u8]>)> {
        let mut reader = Reader(self.bytes);
        let count = reader.u32()?;
        let mut set = Vec::new();
        for _ in 0..count {
            let (name, value) = (reader.u32()? as usize, reader.u32()? as usize);
            set.push((reader.bytes(name)?, reader.bytes(value)?));
        }
        let mut remove = Vec::new();
        while !reader.0.is_empty() {
            let name = reader.u32()? as usize;
            remove.push(reader.bytes(name)?);
        }
        Some((set, remove))
    }

    /// The row that the merge makes of `base`; `None` if the bytes are not a merge that leaves a column.
    pub(crate) fn onto(self, rows: &Rows, base: RowRef<'_>) -> Option<Row> {
        let (set, remove) = self.parts()?;
        rows.merged(Some(base), &set, &remove).ok()?
    }

    /// The record's own bytes, to be kept for later.
    pub(crate) fn to_vec(self) -> Vec<u8> {
        self.bytes.to_vec()
    }

    /// The merge that [`to_vec`](Self::to_vec) kept.
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back() {
        let rows = Rows::new();
        let mut row = rows.columns(&[(b"a", b"1"), (b"b", &[7; 3000])]).unwrap().unwrap();
        row.set_version(5);
        let mut out = Vec::new();
        write_row(&mut out, b"key", row.as_ref());
        let record = Record::parse(&out).unwrap();
        assert_eq!((record.key, record.version), (&b"key"[..], 5));
        let Effect::Columns(tables) = record.effect else { panic!("{record:?}") };
        assert!(row_of_tables(&rows, tables).unwrap().as_ref().columns().eq(row.as_ref().columns()));

        out.clear();
        write_merge(&mut out, b"", 6, &[(b"c", b"3")], &[b"a", b"b"]);
        let Effect::Merge(merge) = Record::parse(&out).unwrap().effect else { panic!() };
        let merged = Merge::of(&merge.to_vec()).onto(&rows, row.as_ref()).unwrap();
        assert!(merged.as_ref().columns().eq([(&b"c"[..], &b"3"[..])]));

        out.clear();
        write_remove(&mut out, b"k", 7);
        assert!(matches!(Record::parse(&out).unwrap().effect, Effect::Remove));
    }

    #[test]
    fn what_is_not_a_record_is_refused() {
        let mut out = Vec::new();
        write_value(&mut out, b"key", 1, b"value");
        for len in 0..HEAD + 3 {
            assert!(Record::parse(&out[..len]).is_none(), "{len} bytes");
        }
        out[0] = 99;
        assert!(Record::parse(&out).is_none());
        let rows = Rows::new();
        let base = rows.columns(&[(b"a", b"1")]).unwrap().unwrap();
        for bad in [&b"\x01\0\0\0"[..], b"\xff\xff\xff\xff\0\0\0\0\0\0\0\0", b"\0\0\0\0\x01\0\0\0a"] {
            assert!(Merge::of(bad).onto(&rows, base.as_ref()).is_none());
        }
        assert!(row_of_tables(&rows, b"").is_none());
    }

    proptest::proptest! {
        /// The bound holds for rows that become large and for those that are.
        #[test]
        fn records_of_columns_have_a_bound(
            old in 0usize..120,
            set in proptest::collection::btree_map(0u16..500, 0usize..200, 1..90),
        ) {
            let rows = Rows::new();
            let names: Vec<[u8; 2]> = (0..old as u16).map(u16::to_be_bytes).collect();
            let old: Vec<Column<'_>> = names.iter().map(|name| (&name[..], &[][..])).collect();
            let set: Vec<([u8; 2], Vec<u8>)> =
                set.into_iter().map(|(name, len)| (name.to_be_bytes(), vec![0; len])).collect();
            let set: Vec<Column<'_>> = set.iter().map(|(name, value)| (&name[..], &value[..])).collect();
            let before = rows.columns(&old).unwrap();
            let after = rows.merged(before.as_ref().map(Row::as_ref), &set, &[]).unwrap().unwrap();
            let bound = columns_len_max(b"key", &set);
            let mut out = Vec::new();
            write_row(&mut out, b"key", after.as_ref());
            proptest::prop_assert!(out.len() <= bound, "{} bytes", out.len());
            out.clear();
            write_merge(&mut out, b"key", 1, &set, &[]);
            proptest::prop_assert!(out.len() <= bound, "{} bytes", out.len());
        }

        /// Whatever a payload is, reading it gives a record or none, and making its row gives a row or none.
        #[test]
        fn garbage_makes_no_harm(kind in 0u8..6, key_len in 0u16..8, body: Vec<u8>) {
            let mut payload = vec![kind];
            payload.extend_from_slice(&key_len.to_le_bytes());
            payload.extend_from_slice(&7u64.to_le_bytes());
            payload.extend_from_slice(&body);
            let rows = Rows::new();
            let base = rows.columns(&[(b"a", b"1")]).unwrap().unwrap();
            match Record::parse(&payload).map(|record| record.effect) {
                Some(Effect::Columns(tables)) => drop(row_of_tables(&rows, tables)),
                Some(Effect::Merge(merge)) => drop(merge.onto(&rows, base.as_ref())),
                _ => {}
            }
        }
    }
}
