//! Commands on positions, one line each.

use super::{CommandSpec, ONE, READ, TWO, WRITE_GROWS, row};

const GROUP: &str = "geo";
const MAY_STORE: &[&str] = &["write", "denyoom", "movablekeys"];

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("geoadd", -5, WRITE_GROWS, ONE, GROUP, "Sets the positions of members").making_waited_keys(),
    row("geodist", -4, READ, ONE, GROUP, "Returns the distance between two members"),
    row("geohash", -2, READ, ONE, GROUP, "Returns the geohashes of members"),
    row("geopos", -2, READ, ONE, GROUP, "Returns the positions of members"),
    row("georadius", -6, MAY_STORE, ONE, GROUP, "Returns or stores the members around a position").making_waited_keys(),
    row("georadius_ro", -6, READ, ONE, GROUP, "Returns the members around a position"),
    row("georadiusbymember", -5, MAY_STORE, ONE, GROUP, "Returns or stores the members around a member").making_waited_keys(),
    row("georadiusbymember_ro", -5, READ, ONE, GROUP, "Returns the members around a member"),
    row("geosearch", -7, READ, ONE, GROUP, "Returns the members in a circle or a box"),
    row("geosearchstore", -8, WRITE_GROWS, TWO, GROUP, "Stores the members in a circle or a box").making_waited_keys(),
];
