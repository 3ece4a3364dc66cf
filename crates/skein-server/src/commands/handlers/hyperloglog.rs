//! Commands on HyperLogLogs, one line each.

use super::super::Handler::{Exclusive, General, ReadOrSlices, Write};
use super::super::hyperloglog as h;
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("pfadd", Write(h::pf_add)),
    row("pfcount", ReadOrSlices(h::pf_count_cached, h::pf_count)),
    row("pfdebug", General(h::pf_debug)),
    row("pfmerge", Exclusive(h::pf_merge)),
    row("pfselftest", General(h::pf_self_test)),
];
