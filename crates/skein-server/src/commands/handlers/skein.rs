//! Commands that Redis does not have, one line each.

use super::super::Handler::{General, ReadOrSlices, Write};
use super::super::{memory, skein};
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("sk.cas", Write(skein::cas)),
    row("sk.count", General(skein::count)),
    row("sk.delrange", General(skein::del_range)),
    row("sk.first", General(skein::first)),
    row("sk.getv", ReadOrSlices(skein::getv, skein::getv_in_slices)),
    row("sk.last", General(skein::last)),
    row("sk.memory", General(memory::by_part)),
    row("sk.next", General(skein::next)),
    row("sk.prefix", General(skein::prefix)),
    row("sk.prev", General(skein::prev)),
    row("sk.range", General(skein::range)),
    row("sk.snapshot", General(skein::snapshot)),
];
