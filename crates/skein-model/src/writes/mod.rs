//! The writes of every engine: to values, columns and collections, over the few primitives of
//! [`RowWriter`].
//!
//! ```text
//!   a command ─► RowWriter ─┬─ update ───────────────► update_with_notes    the row of a key
//!                           ├─ change_set, …, change_list ─► change_or_make
//!                           ├─ put_columns, … ─────────────► hashes
//!                           └─ rename, copy, replace_… ────► whole_rows
//!                                │
//!                                └─► primitives of an engine: update_with_notes, begin_at,
//!                                    change_collection, make_collection
//! ```
//!
//! # Files
//!
//! `row_writer` is the interface. `row_change` is the decision of a write about a row.
//! `change_or_make` finds the members of a collection, in the row or in the engine, for the writes
//! to sets, lists and streams; `hashes` does so for columns, and `row_columns` makes rows of columns.
//! `whole_rows` replaces, renames and copies, `move_member` and `move_element` move, `values` adds
//! and compares.
//!
//! An engine that does several writes as one moment wraps [`rename_row`], [`move_member()`] and
//! [`move_element()`].

mod change_or_make;
mod hashes;
mod move_element;
mod move_member;
mod row_change;
mod row_columns;
mod row_writer;
mod values;
mod whole_rows;

pub use hashes::{ROW_COLUMNS_MAX, put_checked_columns};
pub use move_element::move_element;
pub use move_member::move_member;
pub use row_change::{ColumnChanges, NoteColumns, RowChange, RowUpdate};
pub use row_columns::{check_columns, columns_record_len_max};
pub use row_writer::{RowWriter, StoredCollection};
pub use whole_rows::rename_row;
