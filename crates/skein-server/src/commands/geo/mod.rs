//! Commands on positions, which are members of a sorted set. `crate::redis::geo` has the scores and the
//! distances.
//!
//! ```text
//!   GEOADD      positions ─► scores ─► as ZADD
//!   GEOSEARCH   query ─► cells ─► ranges of the set ─► members inside the area, in order
//!                                  few members: at once; many: views of the ranges, in slices
//! ```
//!
//! Read in this order: `add`, `members` (GEODIST, GEOHASH, GEOPOS), `units`, `query` (options),
//! `search` (the members that are found), `search_task` (the same in slices), `search_commands`.

mod add;
mod members;
mod query;
mod search;
mod search_commands;
mod search_task;
pub(crate) mod table;
mod units;
