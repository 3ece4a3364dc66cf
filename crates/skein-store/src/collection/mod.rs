//! Collections: what a key holds whose members are entries of an index of their own.
//!
//! ```text
//!   main index       key ── row: kind other, code 1, 2 ──► Collection { id, kind, order, columns, dead }
//!                                                            │
//!   members' index   id, 8 bytes, greatest first │ member ── row: the score, 8 bytes, or the column's value    `members`
//!   order            (score, member) in a counted B+-tree, under the collection's lock                         `order`
//! ```
//!
//! The members' index is the truth, and it alone is logged, beside the main row when a set is made or goes. The order is derived, and built again on
//! recovery (`recover`). So adding a member costs the same in any set: a look at the members' index, and one way down the tree.
//!
//! There are two kinds. A *sorted set* is read through `set`. A *hash* is a row of columns that has become too many for one row (`columns`): its members are the columns'
//! names, which the members' index has in order, so it has no order of its own, only a count. What is said below of sets goes for both.
//!
//! Long reads take views (`views`), which show one moment in many steps and hold up no writer between them.
//!
//! # Life
//! A set begins when its first members are in both orders and the main row is put (of a hash: in the place of the row that had its columns); before that nobody knows it. It ends when its last member goes
//! (the command removes the main row) or when somebody else removes or replaces the main row. Then it is *dead*: it shows no members any more,
//! who came to it looks its key up again, and what is left of its members is removed in slices, without records (`sweep`). Ids are never used again,
//! so members without a main row are garbage (`garbage`) that recovery drops, too.
//!
//! # Invariants
//! 1. Members and order of a set change only under its lock, held alone, and are the same whenever it is free. Readers hold it shared.
//! 2. A set is marked dead, under its lock, only after the last main row that stood for it was replaced or removed. No member is added to a dead set.
//! 3. Who holds a set's lock waits for no epoch, no stripe and no other set's lock.
//! 4. The records of one command's members have one epoch, read once under the lock. It is not greater than that of the main row's record where the
//!    set begins, and not less than where it ends; so a cut at an epoch's end leaves of a command all, or members without a main row, or a main row
//!    without members, and recovery drops both of those.

mod columns_reader;
mod members;
pub(crate) mod recover;
mod score_index;
mod sorted_set;
pub(crate) mod sweep;
mod sweep_queue;
mod views;

pub use columns_reader::ColumnsReader;
pub(crate) use members::{
    Collection, CollectionKind, CollectionState, ID, MemberIndex, member_key, score_of, weight,
};
pub use score_index::Member;
pub(crate) use score_index::ScoreIndex;
pub use sorted_set::{SetReader, SortedSet};
pub use views::{MembersView, ScoreRangeView};

/// The longest member of a sorted set, and the longest name of a column of those that are too many for a row, in bytes: with the collection's id it has to fit the
/// members' index.
pub const MEMBER_BYTES_MAX: usize = crate::options::KEY_BYTES_MAX - ID;
