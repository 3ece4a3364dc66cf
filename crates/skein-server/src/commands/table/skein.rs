//! Commands that Redis lacks, a line each.

use super::super::Handler::{General, ReadOrSlices, Write};
use super::super::{CommandSpec, memory, skein};
use super::{NONE, ONE, READ, READ_FAST, WRITE, WRITE_GROWS_FAST, row};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("sk.cas", 4, WRITE_GROWS_FAST, ONE, "skein", Write(skein::cas), "Sets a key if its version is as given"),
    row("sk.count", 3, READ, NONE, "skein", General(skein::count), "How many keys lie between bounds"),
    row("sk.delrange", 3, WRITE, NONE, "skein", General(skein::del_range), "Removes the keys between bounds"),
    row("sk.first", 1, READ_FAST, NONE, "skein", General(skein::first), "The first key and what it holds").timed_alone(),
    row("sk.getv", 2, READ_FAST, ONE, "skein", ReadOrSlices(skein::getv, skein::getv_in_slices), "What a key holds, and its version"),
    row("sk.last", 1, READ_FAST, NONE, "skein", General(skein::last), "The last key and what it holds").timed_alone(),
    row("sk.memory", 1, READ, NONE, "skein", General(memory::by_part), "Memory by part"),
    row("sk.next", 2, READ_FAST, ONE, "skein", General(skein::next), "The key after this one and what it holds").timed_alone(),
    row("sk.prefix", -2, READ, NONE, "skein", General(skein::prefix), "The keys with a prefix, in order, and what they hold"),
    row("sk.prev", 2, READ_FAST, ONE, "skein", General(skein::prev), "The key before this one and what it holds").timed_alone(),
    row("sk.range", -3, READ, NONE, "skein", General(skein::range), "The keys between bounds, in order, and what they hold"),
];
