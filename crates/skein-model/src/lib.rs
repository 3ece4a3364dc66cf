//! The data model below the engines: the parts that depend neither on an index nor on pages.
//!
//! ```text
//!   a command ─► SetWriter, ListWriter,    MemberWrites ─┬─ RowMembers     packed in the row of the key
//!                StreamWriter           ─►              ├─ skein-store    entries of an index, locked
//!   a reader ──► ListLayout, Stream, …  ─► Members ─────┴─ skein-data     entries of the disk's spaces
//! ```
//!
//! A collection is members with names, values and ranks. [`Members`] reads them at one moment, and
//! [`MemberWrites`] changes them within one write, wherever they lie. So each kind of collection is
//! written once, over these two, for all engines. [`RowWriter`] finds the members of a key, and has
//! the writes to values and columns.
//!
//! # Where to start
//!
//! 1. `kind`: the kinds of collections. `member`, `members`: their members.
//! 2. `packed`: small collections in the row of their key.
//! 3. `sets`, `lists` and `streams`: these kinds. `texts`: the bytes that they share.
//! 4. `row`: the contents of a key, as both engines show it. `column_table` and `encoding`: its
//!    bytes.
//! 5. `writes`: the writes to keys, over the primitives of an engine.
//! 6. `keyspace`: ranges of keys. `limits` and `error`.
//!
//! Design: `docs/design/model.md`. Bytes on disk: `docs/format.md`.

pub mod column_table;
pub mod encoding;
mod error;
mod keyspace;
mod kind;
mod limits;
mod lists;
mod member;
mod members;
mod packed;
pub mod row;
mod sets;
pub mod streams;
mod texts;
mod writes;

pub use column_table::{Column, ColumnTable};
pub use error::{Error, Result};
pub use keyspace::{
    AFTER_RESERVED, DATABASES_MAX, KEYSPACE_PREFIX, KeyBounds, KeyspaceChange, KeyspaceStats, KeyspaceTotal,
    KeyspaceTotals, RESERVED, StoredBounds, StoredKeyspace, borrowed_bounds, is_reserved, name_within,
};
pub use kind::{CollectionKind, MemberOrder, SET_SCORE, score_in};
pub use limits::{
    COLLECTION_ID, EXPIRING_KEY_BYTES_MAX, KEY_BYTES_MAX, MEMBER_BYTES_MAX, SNAPSHOTS_MAX, VALUE_BYTES_MAX,
};
pub use lists::{ChunkElements, ElementPlace, ListEnd, ListLayout, ListWriter};
pub use member::Member;
pub use members::{EachNamed, EachRanked, FoundMember, MemberWrites, Members, copy_members};
pub use packed::{PackedMembers, RowLimits, RowMembers};
pub use row::{CollectionHead, ColumnIter, Row, RowAllocator, RowBuffer, RowRef, encode_value};
pub use sets::SetWriter;
pub use skein_index::ScanDirection;
pub use texts::{Texts, push_number, push_text, read_number, text_len};
pub use writes::{
    ColumnChanges, NoteColumns, ROW_COLUMNS_MAX, RowChange, RowUpdate, RowWriter, StoredCollection,
    check_columns, columns_record_len_max, move_element, move_member, put_checked_columns, rename_row,
};
