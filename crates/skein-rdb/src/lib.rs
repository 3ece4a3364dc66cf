//! Redis's serialized values: payloads of `DUMP`, and files of `SAVE`.
//!
//! ```text
//!   file     REDIS0010 │ opcode … │ type key value │ type key value │ … │ FF │ CRC-64
//!   payload                         type     value │ version │ CRC-64
//!
//!   bytes ─► RdbInput ─► ValueReader ─► ValuePiece, ValuePiece, …     parts of one value
//!            lengths,    one type       │
//!            strings                    └─ packed: blobs of many elements
//!   bytes ─► FileReader ─► FileEvent    keys, their pieces, libraries of functions
//! ```
//!
//! The crate does not depend on a server. A reader shows a value in pieces of bounded size, so a
//! value may be larger than memory. [`RdbLimits`] bounds each string and each piece.
//!
//! # Invariants
//! 1. No input panics. Damage is an [`RdbError`], which names its offset and what was expected.
//! 2. A read allocates in proportion to the bytes that were there, not to a length that a field
//!    claims. Only decompression takes more, up to the limits.
//! 3. A value that is written here is read here, and by Redis 7.0 and later.
//! 4. Small values are written in the encoding, and with the bytes, that Redis 7.0 writes.
//!
//! Read in this order: `input` (lengths and strings) with `lzf` (compressed strings), `packed`
//! (listpacks and their ancestors), `value_type`, `value` (all types but streams), `stream`, `file`
//! with `crc64` (its checksum), `write` and `payload`. `error` has the errors of all.
//!
//! The formats are those of Redis's `rdb.c`, `listpack.c`, `ziplist.c`, `zipmap.c`, `intset.c` and
//! `t_stream.c`.

#![forbid(unsafe_code)]

mod crc64;
mod error;
mod file;
mod input;
pub mod lzf;
pub mod packed;
pub mod payload;
pub mod stream;
mod value;
mod value_type;
pub mod write;

pub use crc64::{Crc64, crc64};
pub use error::RdbError;
pub use file::{FileEvent, FileKey, FileReader, is_file};
pub use input::{RdbInput, RdbLimits};
pub use value::{ValuePiece, ValueReader};
pub use value_type::ValueType;

/// The result of a read.
pub type Result<T, E = RdbError> = std::result::Result<T, E>;
