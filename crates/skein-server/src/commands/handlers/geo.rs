//! Commands on positions, one line each.

use super::super::Handler::{Exclusive, ExclusiveIf, Read, Write};
use super::super::geo as g;
use super::super::task::read_or_slices;
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("geoadd", Write(g::geo_add)),
    row("geodist", Read(g::geo_dist)),
    row("geohash", Read(g::geo_hash)),
    row("geopos", Read(g::geo_pos)),
    row("georadius", ExclusiveIf(g::may_store, g::geo_radius)),
    row("georadius_ro", read_or_slices::<g::GeoRadiusRo>()),
    row("georadiusbymember", ExclusiveIf(g::may_store, g::geo_radius_by_member)),
    row("georadiusbymember_ro", read_or_slices::<g::GeoRadiusByMemberRo>()),
    row("geosearch", read_or_slices::<g::GeoSearch>()),
    row("geosearchstore", Exclusive(g::geo_search_store)),
];
