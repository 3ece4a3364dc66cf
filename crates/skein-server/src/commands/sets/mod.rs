//! Commands on sets.
//!
//! ```text
//!   SADD ...     Handler::Write      ─► writer.change_set_of(Set, ...)
//!   SMEMBERS     Handler::Read       ─► row.set_of(Set, |set| ...)
//!   SINTER ...   Handler::Exclusive  ─► sorted_sets::algebra
//! ```
//!
//! A set is a sorted set in which all members have one score, which is not stored. So its members
//! have ranks, in the order of their bytes: SPOP and SRANDMEMBER draw ranks, and long replies and
//! the algebra are those of sorted sets.
//!
//! Read in this order: `members` (single members, SMEMBERS, SSCAN), `random` (SPOP, SRANDMEMBER),
//! `algebra` (SUNION and its relatives).

mod algebra;
mod members;
mod random;
pub(crate) mod table;
