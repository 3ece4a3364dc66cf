//! Commands that Redis does not have, one line each.

use super::super::Handler::{General, ReadOrSlices, Write};
use super::super::{CommandSpec, memory, skein};
use super::{NONE, ONE, READ, READ_FAST, WRITE, WRITE_GROWS_FAST, row};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("sk.cas", 4, WRITE_GROWS_FAST, ONE, "skein", Write(skein::cas), "Sets a key if its version is as given"),
    row("sk.count", 3, READ, NONE, "skein", General(skein::count), "Counts the keys between bounds"),
    row("sk.delrange", 3, WRITE, NONE, "skein", General(skein::del_range), "Removes the keys between bounds"),
    row("sk.first", 1, READ_FAST, NONE, "skein", General(skein::first), "Returns the first key and its contents").timed_alone(),
    row("sk.getv", 2, READ_FAST, ONE, "skein", ReadOrSlices(skein::getv, skein::getv_in_slices), "Returns the contents and the version of a key"),
    row("sk.last", 1, READ_FAST, NONE, "skein", General(skein::last), "Returns the last key and its contents").timed_alone(),
    row("sk.memory", 1, READ, NONE, "skein", General(memory::by_part), "Returns the memory by part"),
    row("sk.next", 2, READ_FAST, ONE, "skein", General(skein::next), "Returns the next key and its contents").timed_alone(),
    row("sk.prefix", -2, READ, NONE, "skein", General(skein::prefix), "Returns the keys with a prefix, in order, and their contents"),
    row("sk.prev", 2, READ_FAST, ONE, "skein", General(skein::prev), "Returns the previous key and its contents").timed_alone(),
    row("sk.range", -3, READ, NONE, "skein", General(skein::range), "Returns the keys between bounds, in order, and their contents"),
];
