//! Commands on lists, one line each.

use super::super::Handler::{Blocking, Exclusive, Read, Write, WriteRun};
use super::super::lists as l;
use super::super::task::read_or_slices;
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("blmove", Blocking(&l::BLMOVE)),
    row("blmpop", Blocking(&l::BLMPOP)),
    row("blpop", Blocking(&l::BLPOP)),
    row("brpop", Blocking(&l::BRPOP)),
    row("brpoplpush", Blocking(&l::BRPOPLPUSH)),
    row("lindex", Read(l::lindex)),
    row("linsert", Write(l::linsert)),
    row("llen", Read(l::llen)),
    row("lmove", Exclusive(l::lmove)),
    row("lmpop", Exclusive(l::lmpop)),
    row("lpop", WriteRun(l::lpop)),
    row("lpos", read_or_slices::<l::LPos>()),
    row("lpush", WriteRun(l::lpush)),
    row("lpushx", WriteRun(l::lpushx)),
    row("lrange", read_or_slices::<l::LRange>()),
    row("lrem", Write(l::lrem)),
    row("lset", Write(l::lset)),
    row("ltrim", Write(l::ltrim)),
    row("rpop", WriteRun(l::rpop)),
    row("rpoplpush", Exclusive(l::rpoplpush)),
    row("rpush", WriteRun(l::rpush)),
    row("rpushx", WriteRun(l::rpushx)),
];
