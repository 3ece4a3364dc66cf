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

pub(super) use add::geo_add;
pub(super) use members::{geo_dist, geo_hash, geo_pos};
pub(super) use search_commands::{
    GeoRadiusByMemberRo, GeoRadiusRo, GeoSearch, geo_radius, geo_radius_by_member, geo_search_store,
    may_store,
};
pub(super) use search_task::GeoSearchTask;
