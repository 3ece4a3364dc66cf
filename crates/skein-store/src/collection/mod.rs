//! Collections: sets, sorted or not, and large hashes. A key holds a collection, and the members of
//! all collections are entries of an index of their own.
//!
//! ```text
//!   main index     key ── main row (kind other, code of its kind) ──► Collection: id, kind, state
//!   member index   id, 8 bytes, big-endian │ member ── row: the score, or the column's value
//!   score index    (score, member) in a counted B+-tree, part of the collection's state
//! ```
//!
//! The member index (`members`) is the truth. Only its entries are logged, and the main row when a
//! collection begins or ends. The score index (`score_index`) is derived from it, and `recover`
//! rebuilds it. So adding a member costs the same in any set: one lookup in the member index, and
//! one descent in the tree.
//!
//! There are several kinds (`CollectionKind` of `skein-model`). A *sorted set* is read through
//! `sorted_set`. A *set* is one whose members all have the score 1 and no value. A *hash* is a row
//! of columns that has too many for one row (`columns_reader`); its columns are called spread. Its
//! members are the names of the columns. The member index has them in order, so a hash has no score
//! index, only a count. It has groups of names (`name_groups`) after its first request for random
//! columns. The text below says set and means all three.
//!
//! Long reads take views (`views`): a view shows one moment in many steps, and writers do not wait
//! between the steps. A snapshot shows frozen collections (`frozen`).
//!
//! # Life of a set
//! 1. A set begins when its first members are in both indexes and the main row is put. The main row
//!    of a hash replaces the row that had its columns. Before that no reader can find it.
//! 2. It ends when its last member is removed (the same command removes the main row), or when
//!    another command removes or replaces the main row.
//! 3. Then it is *dead*: it shows no members. A thread that still holds it looks up its key again.
//!    The rest of its members are removed in slices, without records (`sweep_queue`, `sweep`).
//! 4. Ids are never reused. So members without a main row are garbage, and recovery drops them,
//!    too.
//!
//! # Files
//! Read `members`, `score_index`, `sorted_set`, `columns_reader` and `name_groups`, then
//! `views` and `frozen`, then `sweep_queue`, `sweep` and `recover`. Writes are in
//! `session/member_writer.rs`.
//!
//! Design: `docs/design/data-model.md`.
//!
//! # Invariants
//! 1. Members and score index of a set change only under its lock, held exclusively, and they match
//!    whenever it is free. Readers hold it shared.
//! 2. A set is marked dead, under its lock, only after the last main row that stood for it was
//!    replaced or removed. No member is added to a dead set.
//! 3. A holder of a set's lock waits for no epoch, no stripe and no other set's lock.
//! 4. The records of one command's members have one epoch, read once under the lock. It is not
//!    greater than that of the main row's record if the set begins, and not less if it ends. So a
//!    cut at the end of an epoch leaves a whole command, or members without a main row, or a main
//!    row without members. Recovery drops the latter two.

mod columns_reader;
mod frozen;
mod members;
mod name_groups;
mod reads;
pub(crate) mod recover;
mod score_index;
mod sorted_set;
pub(crate) mod sweep;
mod sweep_queue;
mod views;

pub use columns_reader::ColumnsReader;
pub(crate) use members::{
    Collection, CollectionState, ID, MemberIndex, SharedCollection, member_key, score_of, weight,
};
use name_groups::NameGroups;
pub use reads::CollectionReads;
pub(crate) use score_index::ScoreIndex;
pub use sorted_set::{SetReader, SortedSet};
pub use views::{MembersView, ScoreRangeView};
