//! Part files: the rows of one range of keys, in blocks with a checksum each.
//!
//! ```text
//!   head   magic "SKEINCKP" │ format u32 │ part u32 │ store id, 16 │ begin epoch u64
//!          │ CRC-32C of all that u32
//!   block  payload length u32 │ rows u32 │ CRC-32C of length, rows and payload u32 │ payload
//!   row    kind u8 │ key length u16 │ body length u32 │ version u64 │ key
//!          │ expires at u64, if the kind says so │ body
//! ```
//!
//! The manifest has the length and the number of rows of a part, so a part needs no end mark.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skein_log::storage::{Storage, StorageFile};
use skein_model::encoding::{ByteReader, EXPIRES, flagged, put_expiry};
use skein_model::{CollectionKind, Row, RowRef};

use super::manifest::PartInfo;
use crate::collection::{Collection, MemberIndex};
use crate::identity::StoreId;
use crate::record::{self, MEMBER};
use crate::{Error, Result};

const MAGIC: &[u8; 8] = b"SKEINCKP";
const FORMAT_VERSION: u32 = 1;
const HEAD: usize = 8 + 4 + 4 + 16 + 8 + 4;
const BLOCK_HEAD: usize = 12;

/// A block is written when its payload is larger than this.
const BLOCK_BYTES: usize = 256 << 10;

const VALUE: u8 = 1;
const COLUMNS: u8 = 2;

fn head(id: StoreId, begin: u64, part: usize) -> [u8; HEAD] {
    let mut bytes = [0; HEAD];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes[12..16].copy_from_slice(&(part as u32).to_le_bytes());
    bytes[16..32].copy_from_slice(&id.0);
    bytes[32..40].copy_from_slice(&begin.to_le_bytes());
    let crc = crc32c::crc32c(&bytes[..40]);
    bytes[40..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

pub(super) struct PartWriter {
    path: PathBuf,
    file: Box<dyn StorageFile>,
    /// The block that is being filled, including its head.
    block: Vec<u8>,
    block_rows: u32,
    written: PartInfo,
}

impl PartWriter {
    pub(super) fn create(
        storage: &dyn Storage,
        path: PathBuf,
        id: StoreId,
        begin: u64,
        part: usize,
    ) -> Result<Self> {
        let file = storage.create(&path).map_err(|error| Error::io("create", &path, &error))?;
        file.write_at(&head(id, begin, part), 0).map_err(|error| Error::io("write", &path, &error))?;
        let written = PartInfo { rows: 0, bytes: HEAD as u64 };
        Ok(Self { path, file, block: vec![0; BLOCK_HEAD], block_rows: 0, written })
    }

    /// Appends a row of the main index or, if `member`, of the member index.
    pub(super) fn row(&mut self, member: bool, key: &[u8], row: RowRef<'_>) -> Result<()> {
        let start = self.block.len();
        let packed = row.packed_with_code();
        let kind = match (row.collection().map(|collection: &Collection| collection.kind), packed) {
            (Some(kind), _) => kind.part_code(),
            (None, Some((_, code))) => code,
            (None, None) if row.has_columns() => COLUMNS,
            (None, None) => VALUE,
        };
        self.block.push(flagged(kind, row.expires_at()) | if member { MEMBER } else { 0 });
        self.block.extend_from_slice(&(key.len() as u16).to_le_bytes());
        self.block.extend_from_slice(&[0; 4]);
        self.block.extend_from_slice(&row.version().to_le_bytes());
        self.block.extend_from_slice(key);
        put_expiry(&mut self.block, row.expires_at());
        let body = self.block.len();
        if let Some((packed, _)) = packed {
            self.block.extend_from_slice(packed.as_bytes());
        } else if let Some(value) = row.value() {
            self.block.extend_from_slice(value);
        } else if let Some(collection) = row.collection::<Collection>() {
            self.block.extend_from_slice(&collection.id().to_le_bytes());
        } else {
            record::write_tables(&mut self.block, row);
        }
        let body_len = (self.block.len() - body) as u32;
        self.block[start + 3..start + 7].copy_from_slice(&body_len.to_le_bytes());
        self.block_rows += 1;
        if self.block.len() >= BLOCK_BYTES { self.write_block() } else { Ok(()) }
    }

    /// Returns the rows and bytes of the finished blocks.
    pub(super) fn written(&self) -> PartInfo {
        self.written
    }

    fn write_block(&mut self) -> Result<()> {
        if self.block_rows == 0 {
            return Ok(());
        }
        let len = (self.block.len() - BLOCK_HEAD) as u32;
        self.block[..4].copy_from_slice(&len.to_le_bytes());
        self.block[4..8].copy_from_slice(&self.block_rows.to_le_bytes());
        let crc = block_crc(&self.block[..8], &self.block[BLOCK_HEAD..]);
        self.block[8..12].copy_from_slice(&crc.to_le_bytes());
        self.file
            .write_at(&self.block, self.written.bytes)
            .map_err(|error| Error::io("write", &self.path, &error))?;
        self.written.rows += u64::from(self.block_rows);
        self.written.bytes += self.block.len() as u64;
        self.block.truncate(BLOCK_HEAD);
        self.block_rows = 0;
        Ok(())
    }

    /// Writes the last block and makes the part durable.
    pub(super) fn finish(mut self) -> Result<PartInfo> {
        self.write_block()?;
        self.file.sync_data().map_err(|error| Error::io("sync", &self.path, &error))?;
        Ok(self.written)
    }
}

fn block_crc(counts: &[u8], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(counts), payload)
}

/// A row, encoded as in a part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartRow<'a> {
    /// Whether it belongs to the member index.
    pub(crate) member: bool,
    pub(crate) key: &'a [u8],
    pub(crate) version: u64,
    expires: Option<u64>,
    kind: u8,
    body: &'a [u8],
}

impl PartRow<'_> {
    /// Makes the row. Returns `None` if the bytes are not a row.
    #[inline]
    pub(crate) fn row(&self, members: &Arc<MemberIndex>) -> Option<Row> {
        let rows = &members.rows;
        if self.member && !members.note_key(self.key) {
            return None;
        }
        let mut row = match self.kind {
            VALUE => rows.value_until(&[self.body], self.expires).ok()?,
            COLUMNS => record::row_of_tables(rows, self.body, self.expires)?,
            code if CollectionKind::of_packed_code(code).is_some() => {
                rows.packed(record::packed_of(code, self.body)?, self.expires).ok()?
            }
            code => {
                let kind = CollectionKind::of_part_code(code)?;
                let collection = members.collection(kind, record::id_of(self.body)?);
                rows.collection(collection, self.expires)
            }
        };
        row.set_version(self.version);
        Some(row)
    }

    fn take<'a>(reader: &mut ByteReader<'a>) -> Option<PartRow<'a>> {
        let byte = reader.u8()?;
        let member = byte & MEMBER != 0;
        let known = |kind: &u8| match *kind {
            VALUE => true,
            COLUMNS => !member,
            code => {
                let of_kind =
                    CollectionKind::of_part_code(code).or_else(|| CollectionKind::of_packed_code(code));
                !member && of_kind.is_some()
            }
        };
        let kind = Some(byte & !(EXPIRES | MEMBER)).filter(known)?;
        let key_len = reader.u16()? as usize;
        let body_len = reader.u32()? as usize;
        let version = reader.u64()?;
        let (key, expires) = (reader.bytes(key_len)?, reader.expiry(byte)?);
        Some(PartRow { member, key, version, expires, kind, body: reader.bytes(body_len)? })
    }
}

/// The error for bytes that no store has written as a row.
pub(crate) const NO_ROW: &str = "a block holds bytes that are not a row";

/// Reads a part block by block and calls `each` with its rows. `each` returns the reason if it
/// rejects a row.
pub(crate) fn read(
    storage: &dyn Storage,
    path: &Path,
    id: StoreId,
    begin: u64,
    part: usize,
    info: PartInfo,
    mut each: impl FnMut(&PartRow<'_>) -> std::result::Result<(), String>,
) -> Result<()> {
    let io = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::damaged(path, 0, "the file is missing"),
        _ => Error::io("read", path, &error),
    };
    let file = storage.open(path, false).map_err(io)?;
    let len = file.len().map_err(io)?;
    if len != info.bytes {
        let what = format!("it has {len} bytes, and the manifest says {}", info.bytes);
        return Err(Error::damaged(path, len.min(info.bytes), what));
    }
    // One read covers a block and the head of the next one.
    let mut buffer = vec![0; HEAD + BLOCK_HEAD];
    let (mut offset, mut rows) = (HEAD as u64, 0);
    let got = file.read_at(&mut buffer, 0).map_err(io)?;
    check_head(path, &buffer[..got.min(HEAD)], head(id, begin, part))?;
    let mut block_head: Vec<u8> = buffer[HEAD..got.max(HEAD)].to_vec();
    while offset < len {
        let mut counts = ByteReader(&block_head);
        let (Some(payload), Some(block_rows), Some(crc)) = (counts.u32(), counts.u32(), counts.u32()) else {
            return Err(Error::damaged(path, offset, "a block ends within its head"));
        };
        let end = offset + BLOCK_HEAD as u64 + u64::from(payload);
        if end > len {
            return Err(Error::damaged(path, offset, "a block reaches past the end"));
        }
        buffer.resize(payload as usize + BLOCK_HEAD, 0);
        let got = file.read_at(&mut buffer, offset + BLOCK_HEAD as u64).map_err(io)?;
        let Some((bytes, next_head)) = buffer[..got].split_at_checked(payload as usize) else {
            return Err(Error::damaged(path, offset, "a block is cut short"));
        };
        if block_crc(&block_head[..8], bytes) != crc {
            return Err(Error::damaged(path, offset, "a block's checksum does not match its contents"));
        }
        let mut reader = ByteReader(bytes);
        for _ in 0..block_rows {
            let taken = PartRow::take(&mut reader).ok_or_else(|| NO_ROW.into()).and_then(|row| each(&row));
            taken.map_err(|why: String| Error::damaged(path, offset, why))?;
        }
        rows += u64::from(block_rows);
        block_head.clear();
        block_head.extend_from_slice(next_head);
        offset = end;
    }
    if rows == info.rows {
        Ok(())
    } else {
        Err(Error::damaged(path, len, format!("it has {rows} rows, and the manifest says {}", info.rows)))
    }
}

fn check_head(path: &Path, found: &[u8], expected: [u8; HEAD]) -> Result<()> {
    let is_head = found.len() == HEAD
        && found[..8] == expected[..8]
        && found[HEAD - 4..] == crc32c::crc32c(&found[..HEAD - 4]).to_le_bytes();
    // With a wrong checksum it is damage, and not another version.
    if is_head && found[8..12] != expected[8..12] {
        let found = u32::from_le_bytes([found[8], found[9], found[10], found[11]]);
        return Err(Error::UnknownFormat { path: path.to_owned(), found, known: FORMAT_VERSION });
    }
    if found == expected {
        Ok(())
    } else {
        Err(Error::damaged(path, 0, "its head belongs to another checkpoint or part"))
    }
}
