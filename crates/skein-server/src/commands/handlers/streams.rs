//! Commands on streams, one line each.

use super::super::Handler::{Blocking, General, Read, Write, WriteRun};
use super::super::streams as x;
use super::super::task::read_or_slices;
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("xack", Write(x::xack)),
    row("xadd", WriteRun(x::xadd)),
    row("xautoclaim", General(x::xautoclaim)),
    row("xclaim", General(x::xclaim)),
    row("xdel", Write(x::xdel)),
    row("xgroup", General(x::xgroup)),
    row("xinfo", General(x::xinfo)),
    row("xlen", Read(x::xlen)),
    row("xpending", General(x::xpending)),
    row("xrange", read_or_slices::<x::XRange>()),
    row("xread", Blocking(&x::XREAD)),
    row("xreadgroup", Blocking(&x::XREADGROUP)),
    row("xrevrange", read_or_slices::<x::XRevRange>()),
    row("xsetid", Write(x::xsetid)),
    row("xtrim", Write(x::xtrim)),
];
