//! The payload of a log record: one write to one key. `docs/format.md`, "Log payloads", draws the
//! bytes.
//!
//! Most records have the complete contents of the key after the write. So they may be replayed in
//! any order: the greatest version wins. Two kinds have only a change and need the version just
//! before their own: `Merge`, for rows with columns in blocks, and `Expiry`, for a new time of a
//! large row.

use skein_model::column_table::{Column, ColumnTable};
use skein_model::encoding::{ByteReader, EXPIRES, flagged, put_expiry, put_kind};
use skein_model::row::TABLE_BYTES_MAX;
use skein_model::{CollectionKind, PackedMembers, Row, RowAllocator, RowRef};

use crate::collection::Collection;

const VALUE: u8 = 1;
const COLUMNS: u8 = 2;
const REMOVE: u8 = 3;
const MERGE: u8 = 4;
const EXPIRY: u8 = 5;

/// A bit of the kind: the key belongs to the member index (a collection's id, then a member). Used
/// in log records and in the rows of checkpoints.
pub(crate) const MEMBER: u8 = 0x40;

/// The reason why a record with [`MEMBER`] is rejected if its key is too short for an id.
pub(crate) const NO_MEMBER: &str = "the record's key is too short for a member";

/// Returns whether a key may belong to the member index: a collection's id, and a member.
pub(crate) fn is_member_key(key: &[u8]) -> bool {
    key.len() >= size_of::<u64>()
}

/// The effect of a write on its key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RecordEffect<'a> {
    /// The key holds this value.
    Value(&'a [u8]),
    /// The key holds the columns of these tables, concatenated.
    Columns(&'a [u8]),
    /// The key is absent.
    Remove,
    /// The key holds the collection with this id.
    Collection(CollectionKind, u64),
    /// The key holds these members.
    Packed(PackedMembers<'a>),
    /// The version just before was changed.
    Delta(RowDelta<'a>),
}

/// A change of the version just before, encoded as in a record.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowDelta<'a> {
    /// Some columns were set and some removed.
    Merge(&'a [u8]),
    /// The key expires at this time, or never.
    Expiry(Option<u64>),
}

/// A write to one key, as read from a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreRecord<'a> {
    /// Whether the key belongs to the member index.
    pub(crate) member: bool,
    pub(crate) key: &'a [u8],
    pub(crate) version: u64,
    /// The time of expiry of a value or of columns.
    pub(crate) expires: Option<u64>,
    pub(crate) effect: RecordEffect<'a>,
}

fn head(out: &mut Vec<u8>, kind: u8, key: &[u8], version: u64, expires: Option<u64>) {
    out.push(flagged(kind, expires));
    out.extend_from_slice(&(key.len() as u16).to_le_bytes());
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(key);
    put_expiry(out, expires);
}

/// The bytes of the version.
const VERSION: std::ops::Range<usize> = 3..11;

/// Sets the version of an encoded record.
#[inline]
pub(crate) fn set_version(record: &mut [u8], version: u64) {
    record[VERSION].copy_from_slice(&version.to_le_bytes());
}

/// Appends the record with all contents of `row` at `key`.
pub(crate) fn write_row(out: &mut Vec<u8>, key: &[u8], row: RowRef<'_>) {
    if let Some(value) = row.value() {
        write_value(out, key, row.version(), value, row.expires_at());
    } else if let Some(collection) = row.collection::<Collection>() {
        head(out, collection.kind.record_code(), key, row.version(), row.expires_at());
        out.extend_from_slice(&collection.id().to_le_bytes());
    } else if let Some((packed, code)) = row.packed_with_code() {
        head(out, code, key, row.version(), row.expires_at());
        out.extend_from_slice(packed.as_bytes());
    } else {
        head(out, COLUMNS, key, row.version(), row.expires_at());
        write_tables(out, row);
    }
}

/// Returns the members in the body of a row with this code.
pub(crate) fn packed_of(code: u8, body: &[u8]) -> Option<PackedMembers<'_>> {
    PackedMembers::parse(CollectionKind::of_packed_code(code)?, body)
}

/// Appends the tables of a row of columns.
pub(crate) fn write_tables(out: &mut Vec<u8>, row: RowRef<'_>) {
    for i in 0..row.table_count() {
        out.extend_from_slice(row.table(i).bytes());
    }
}

/// Appends the record of a put of a value.
#[inline]
pub(crate) fn write_value(out: &mut Vec<u8>, key: &[u8], version: u64, value: &[u8], expires: Option<u64>) {
    head(out, VALUE, key, version, expires);
    out.extend_from_slice(value);
}

/// Appends the record of a removal.
pub(crate) fn write_remove(out: &mut Vec<u8>, key: &[u8], version: u64) {
    head(out, REMOVE, key, version, None);
}

/// Appends the record of a member with its score, or of a column with its value.
pub(crate) fn write_member(out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    head(out, VALUE | MEMBER, key, 0, None);
    out.extend_from_slice(value);
}

/// Appends the record of the removal of a member.
pub(crate) fn write_remove_member(out: &mut Vec<u8>, key: &[u8]) {
    head(out, REMOVE | MEMBER, key, 0, None);
}

/// Appends the record of columns that were set and removed.
pub(crate) fn write_merge(out: &mut Vec<u8>, key: &[u8], version: u64, set: &[Column<'_>], remove: &[&[u8]]) {
    head(out, MERGE, key, version, None);
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

/// Appends the record of `row`, which differs from the row before only in its time of expiry. The
/// record has only the time if the row is large, else the whole row.
pub(crate) fn write_expiry(out: &mut Vec<u8>, key: &[u8], row: RowRef<'_>) {
    if row.is_large() || row.content_len() > TABLE_BYTES_MAX {
        head(out, EXPIRY, key, row.version(), row.expires_at());
    } else {
        write_row(out, key, row);
    }
}

impl<'a> StoreRecord<'a> {
    /// Parses a payload. Returns `None` for any bytes that are not a payload.
    #[inline]
    pub(crate) fn parse(payload: &'a [u8]) -> Option<Self> {
        let mut reader = ByteReader(payload);
        let kind = reader.u8()?;
        let key_len = reader.u16()? as usize;
        let version = reader.u64()?;
        let key = reader.bytes(key_len)?;
        let expires = reader.expiry(kind)?;
        let body = reader.0;
        let member = kind & MEMBER != 0;
        let effect = match kind & !(EXPIRES | MEMBER) {
            VALUE if !member || expires.is_none() => RecordEffect::Value(body),
            REMOVE if body.is_empty() && expires.is_none() => RecordEffect::Remove,
            _ if member => return None,
            COLUMNS => RecordEffect::Columns(body),
            MERGE if expires.is_none() => RecordEffect::Delta(RowDelta::Merge(body)),
            EXPIRY if body.is_empty() => RecordEffect::Delta(RowDelta::Expiry(expires)),
            other => match CollectionKind::of_record_code(other) {
                Some(kind) => RecordEffect::Collection(kind, id_of(body)?),
                None => RecordEffect::Packed(packed_of(other, body)?),
            },
        };
        Some(Self { member, key, version, expires, effect })
    }
}

/// Returns the id of a collection, which is the whole body.
pub(crate) fn id_of(body: &[u8]) -> Option<u64> {
    body.try_into().ok().map(u64::from_le_bytes)
}

/// Makes a row from tables as they are on disk. Returns `None` if they are not well-formed.
pub(crate) fn row_of_tables(rows: &RowAllocator, mut tables: &[u8], expires: Option<u64>) -> Option<Row> {
    let mut columns: Vec<Column<'_>> = Vec::new();
    while !tables.is_empty() {
        let (table, rest) = ColumnTable::parse(tables)?;
        if columns.last().is_some_and(|last| last.0 >= table.name(0)) {
            return None;
        }
        columns.extend(table.columns());
        tables = rest;
    }
    Row::from_sorted(rows, &columns, expires)
}

/// Returns the columns that a merge sets and the names that it removes, or `None` if the bytes are
/// not a merge.
fn merge_parts(bytes: &[u8]) -> Option<(Vec<Column<'_>>, Vec<&[u8]>)> {
    let mut reader = ByteReader(bytes);
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

impl<'a> RowDelta<'a> {
    /// Applies the change to `base`. Returns `None` if it does not fit `base`, if the bytes are not
    /// a merge, or if no column is left.
    pub(crate) fn onto(self, rows: &RowAllocator, base: RowRef<'_>) -> Option<Row> {
        match self {
            Self::Merge(bytes) if base.has_columns() => {
                let (set, remove) = merge_parts(bytes)?;
                rows.merged(Some(base), &set, &remove).ok()?
            }
            Self::Expiry(expires) if !base.is_tombstone() => Some(rows.until(base, expires)),
            Self::Merge(_) | Self::Expiry(_) => None,
        }
    }

    /// Encodes the change for later, as in a record but without the head.
    pub(crate) fn to_vec(self) -> Vec<u8> {
        let (kind, expires, body) = match self {
            Self::Merge(body) => (MERGE, None, body),
            Self::Expiry(expires) => (EXPIRY, expires, &[][..]),
        };
        let mut out = Vec::with_capacity(1 + size_of::<u64>() + body.len());
        put_kind(&mut out, kind, expires);
        out.extend_from_slice(body);
        out
    }

    /// Decodes a change that [`to_vec`](Self::to_vec) encoded. Returns `None` for other bytes.
    pub(crate) fn of(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = ByteReader(bytes);
        let kind = reader.u8()?;
        let expires = reader.expiry(kind)?;
        Some(if kind == MERGE { Self::Merge(reader.0) } else { Self::Expiry(expires) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_parsed_as_written() {
        let rows = RowAllocator::new();
        let mut row = rows.columns(&[(b"a", b"1"), (b"b", &[7; 3000])]).unwrap().unwrap();
        row.set_version(5);
        let mut out = Vec::new();
        write_row(&mut out, b"key", row.as_ref());
        let record = StoreRecord::parse(&out).unwrap();
        assert_eq!((record.key, record.version), (&b"key"[..], 5));
        let RecordEffect::Columns(tables) = record.effect else { panic!("{record:?}") };
        assert!(row_of_tables(&rows, tables, None).unwrap().as_ref().columns().eq(row.as_ref().columns()));

        out.clear();
        write_merge(&mut out, b"", 6, &[(b"c", b"3")], &[b"a", b"b"]);
        let RecordEffect::Delta(merge) = StoreRecord::parse(&out).unwrap().effect else { panic!() };
        let merged = RowDelta::of(&merge.to_vec()).unwrap().onto(&rows, row.as_ref()).unwrap();
        assert!(merged.as_ref().columns().eq([(&b"c"[..], &b"3"[..])]));

        out.clear();
        write_remove(&mut out, b"k", 7);
        assert!(matches!(StoreRecord::parse(&out).unwrap().effect, RecordEffect::Remove));
    }

    #[test]
    fn members_hold_a_score_or_a_column_value() {
        for value in [&b""[..], b"12345678", &[7; 3000]] {
            let mut out = Vec::new();
            write_member(&mut out, b"\0\0\0\0\0\0\0\x01name", value);
            let record = StoreRecord::parse(&out).unwrap();
            assert!(record.member && is_member_key(record.key));
            assert!(matches!(record.effect, RecordEffect::Value(found) if found == value));
        }
    }

    #[test]
    fn expiry_times_are_parsed_as_written() {
        let rows = RowAllocator::new();
        let small = rows.columns(&[(b"a", b"1")]).unwrap().unwrap();
        let large = rows.columns(&[(b"a", b"1"), (b"b", &[7; 3000])]).unwrap().unwrap();
        let long = rows.value(&[&[7; 3000]]).unwrap();
        for base in [&rows.value(&[b"value"]).unwrap(), &small, &large, &long] {
            let base = base.as_ref();
            for expires in [Some(77), None] {
                let row = rows.until(base, expires);
                let mut whole = Vec::new();
                write_row(&mut whole, b"key", row.as_ref());
                assert_eq!(StoreRecord::parse(&whole).unwrap().expires, expires);
                let mut change = Vec::new();
                write_expiry(&mut change, b"key", row.as_ref());
                let record = StoreRecord::parse(&change).unwrap();
                assert_eq!((record.key, record.expires), (&b"key"[..], expires));
                let RecordEffect::Delta(delta) = record.effect else { continue };
                assert!(base.content_len() > 1000 && change.len() < 30);
                let made = RowDelta::of(&delta.to_vec()).unwrap().onto(&rows, base).unwrap();
                assert_eq!(made.as_ref().expires_at(), expires);
                assert!(made.as_ref().value() == base.value() && made.as_ref().columns().eq(base.columns()));
            }
        }
        let tombstone = Row::tombstone(&rows, 1);
        assert!(RowDelta::Expiry(Some(1)).onto(&rows, tombstone.as_ref()).is_none());
    }

    #[test]
    fn bytes_that_are_no_record_are_refused() {
        let mut out = Vec::new();
        write_value(&mut out, b"key", 1, b"value", None);
        for len in 0..VERSION.end + 3 {
            assert!(StoreRecord::parse(&out[..len]).is_none(), "{len} bytes");
        }
        for kind in [99, REMOVE, REMOVE | EXPIRES, MERGE | EXPIRES, EXPIRY, 0] {
            out[0] = kind;
            assert!(StoreRecord::parse(&out).is_none(), "kind {kind}");
        }
        out.clear();
        write_value(&mut out, b"key", 1, b"", Some(5));
        assert!((0..out.len()).all(|len| StoreRecord::parse(&out[..len]).is_none()), "its time is cut short");
        let rows = RowAllocator::new();
        let base = rows.columns(&[(b"a", b"1")]).unwrap().unwrap();
        for bad in [&b"\x01\0\0\0"[..], b"\xff\xff\xff\xff\0\0\0\0\0\0\0\0", b"\0\0\0\0\x01\0\0\0a"] {
            assert!(RowDelta::Merge(bad).onto(&rows, base.as_ref()).is_none());
        }
        assert!(row_of_tables(&rows, b"", None).is_none());
    }

    proptest::proptest! {
        /// The bound holds for rows that become large and for rows that are large.
        #[test]
        fn records_of_columns_have_a_bound(
            old in 0usize..120,
            set in proptest::collection::btree_map(0u16..500, 0usize..200, 1..90),
        ) {
            let rows = RowAllocator::new();
            let names: Vec<[u8; 2]> = (0..old as u16).map(u16::to_be_bytes).collect();
            let old: Vec<Column<'_>> = names.iter().map(|name| (&name[..], &[][..])).collect();
            let set: Vec<([u8; 2], Vec<u8>)> =
                set.into_iter().map(|(name, len)| (name.to_be_bytes(), vec![0; len])).collect();
            let set: Vec<Column<'_>> = set.iter().map(|(name, value)| (&name[..], &value[..])).collect();
            let before = rows.columns(&old).unwrap();
            let after = rows.merged(before.as_ref().map(Row::as_ref), &set, &[]).unwrap().unwrap();
            let bound = skein_model::columns_record_len_max(b"key", &set);
            let mut out = Vec::new();
            write_row(&mut out, b"key", after.as_ref());
            proptest::prop_assert!(out.len() <= bound, "{} bytes", out.len());
            out.clear();
            write_merge(&mut out, b"key", 1, &set, &[]);
            proptest::prop_assert!(out.len() <= bound, "{} bytes", out.len());
        }

        /// Any payload is parsed as a record or rejected, and the row of a record is made or
        /// rejected.
        #[test]
        fn garbage_does_no_harm(kind in 0u8..9, expires: bool, key_len in 0u16..8, body: Vec<u8>) {
            let mut payload = vec![if expires { kind | EXPIRES } else { kind }];
            payload.extend_from_slice(&key_len.to_le_bytes());
            payload.extend_from_slice(&7u64.to_le_bytes());
            payload.extend_from_slice(&body);
            let rows = RowAllocator::new();
            let base = rows.columns(&[(b"a", b"1")]).unwrap().unwrap();
            match StoreRecord::parse(&payload).map(|record| record.effect) {
                Some(RecordEffect::Columns(tables)) => drop(row_of_tables(&rows, tables, None)),
                Some(RecordEffect::Delta(delta)) => drop(delta.onto(&rows, base.as_ref())),
                _ => {}
            }
        }
    }
}
