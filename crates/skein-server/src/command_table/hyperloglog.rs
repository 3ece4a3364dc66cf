//! Commands on HyperLogLogs, one line each.

use super::{ALL, CommandSpec, NONE, ONE, READ, WRITE_GROWS, WRITE_GROWS_FAST, row};

const GROUP: &str = "hyperloglog";
const DEBUGS: &[&str] = &["write", "denyoom", "admin"];

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("pfadd", -2, WRITE_GROWS_FAST, ONE, GROUP, "Adds elements to a HyperLogLog"),
    row("pfcount", -2, READ, ALL, GROUP, "Returns about how many distinct elements were added")
        .having_other_effects(),
    row("pfdebug", 3, DEBUGS, (2, 2, 1), GROUP, "Shows the registers or the encoding of a HyperLogLog"),
    row("pfmerge", -2, WRITE_GROWS, ALL, GROUP, "Adds all elements of other HyperLogLogs"),
    row("pfselftest", 1, &["admin"], NONE, GROUP, "Tests the encodings and the estimates"),
];
