//! Commands on streams, one line each.

use super::{
    CommandSpec, NONE, ONE, READ, READ_FAST, WRITE, WRITE_FAST, WRITE_GROWS, WRITE_GROWS_FAST, row,
    subcommands,
};

const GROUP: &str = "stream";
const READS: &[&str] = &["readonly", "blocking", "movablekeys"];
const READS_GROUP: &[&str] = &["write", "blocking", "movablekeys"];
/// The key of a command with subcommands.
const SECOND: (i32, i32, i32) = (2, 2, 1);

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("xack", -4, WRITE_FAST, ONE, GROUP, "Acknowledges entries that are pending in a group"),
    row("xadd", -5, WRITE_GROWS_FAST, ONE, GROUP, "Adds an entry").making_waited_keys(),
    row("xautoclaim", -6, WRITE_FAST, ONE, GROUP, "Takes over pending entries that are idle"),
    row("xclaim", -6, WRITE_FAST, ONE, GROUP, "Takes over pending entries"),
    row("xdel", -3, WRITE_FAST, ONE, GROUP, "Removes entries by their ids"),
    row("xgroup", -2, WRITE_GROWS, SECOND, GROUP, "Makes, changes and removes consumer groups").with(subcommands::XGROUP).making_waited_keys(),
    row("xinfo", -2, READ, SECOND, GROUP, "Shows a stream, its groups and their consumers").with(subcommands::XINFO),
    row("xlen", 2, READ_FAST, ONE, GROUP, "Returns the number of entries"),
    row("xpending", -3, READ, ONE, GROUP, "Shows the entries that are pending in a group"),
    row("xrange", -4, READ, ONE, GROUP, "Returns a range of entries"),
    row("xread", -4, READS, NONE, GROUP, "Returns the entries behind an id of streams, or waits for one"),
    row("xreadgroup", -7, READS_GROUP, NONE, GROUP, "Delivers entries to a consumer of a group, or waits for one"),
    row("xrevrange", -4, READ, ONE, GROUP, "Returns a range of entries, the last one first"),
    row("xsetid", -3, WRITE_GROWS_FAST, ONE, GROUP, "Sets the last id of a stream"),
    row("xtrim", -4, WRITE, ONE, GROUP, "Removes the first entries"),
];
