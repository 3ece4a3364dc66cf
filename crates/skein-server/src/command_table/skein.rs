//! Commands that Redis does not have, one line each.

use super::{CommandSpec, NONE, ONE, READ, READ_ALONE, READ_FAST, WRITE, WRITE_GROWS_FAST, row};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("sk.cas", 4, WRITE_GROWS_FAST, ONE, "skein", "Sets a key if its version is as given"),
    row("sk.count", 3, READ, NONE, "skein", "Counts the keys between bounds"),
    row("sk.delrange", 3, WRITE, NONE, "skein", "Removes the keys between bounds"),
    row("sk.first", 1, READ_FAST, NONE, "skein", "Returns the first key and its contents"),
    row("sk.getv", 2, READ_FAST, ONE, "skein", "Returns the contents and the version of a key"),
    row("sk.last", 1, READ_FAST, NONE, "skein", "Returns the last key and its contents"),
    row("sk.memory", 1, READ, NONE, "skein", "Returns the memory by part"),
    row("sk.next", 2, READ_FAST, ONE, "skein", "Returns the next key and its contents"),
    row("sk.prefix", -2, READ, NONE, "skein", "Returns the keys with a prefix, in order, and their contents"),
    row("sk.prev", 2, READ_FAST, ONE, "skein", "Returns the previous key and its contents"),
    row("sk.range", -3, READ, NONE, "skein", "Returns the keys between bounds, in order, and their contents"),
    row("sk.snapshot", 2, READ_ALONE, NONE, "skein", "Begins or ends a snapshot for several ranges"),
];
