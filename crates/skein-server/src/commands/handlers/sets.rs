//! Commands on sets, one line each.

use super::super::Handler::{Exclusive, General, Read, Write, WriteRun};
use super::super::sets as s;
use super::super::task::read_or_slices;
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("sadd", WriteRun(s::sadd)),
    row("scard", Read(s::scard)),
    row("sdiff", Exclusive(s::sdiff)),
    row("sdiffstore", Exclusive(s::sdiff_store)),
    row("sinter", Exclusive(s::sinter)),
    row("sintercard", Exclusive(s::sinter_card)),
    row("sinterstore", Exclusive(s::sinter_store)),
    row("sismember", Read(s::sis_member)),
    row("smembers", read_or_slices::<s::SMembers>()),
    row("smismember", Read(s::smis_member)),
    row("smove", Exclusive(s::smove)),
    row("spop", Write(s::spop)),
    row("srandmember", read_or_slices::<s::SRandMember>()),
    row("srem", WriteRun(s::srem)),
    row("sscan", General(s::sscan)),
    row("sunion", Exclusive(s::sunion)),
    row("sunionstore", Exclusive(s::sunion_store)),
];
