//! Commands on values, one line each.

use super::super::Handler::{Exclusive, General, Read, ReadOrSlices, Write};
use super::super::strings;
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("get", Read(strings::get)),
    row("set", Write(strings::set)),
    row("append", Write(strings::append)),
    row("bitcount", ReadOrSlices(strings::bit_count, strings::bit_count_alone)),
    row("bitfield", Write(strings::bit_field)),
    row("bitfield_ro", Read(strings::bit_field_ro)),
    row("bitop", Exclusive(strings::bit_op)),
    row("bitpos", ReadOrSlices(strings::bit_pos, strings::bit_pos_alone)),
    row("decr", Write(strings::decr)),
    row("decrby", Write(strings::decr_by)),
    row("getbit", Read(strings::get_bit)),
    row("getdel", Write(strings::get_del)),
    row("getrange", Read(strings::get_range)),
    row("getset", Write(strings::get_set)),
    row("incr", Write(strings::incr)),
    row("incrby", Write(strings::incr_by)),
    row("incrbyfloat", Write(strings::incr_by_float)),
    row("lcs", General(strings::lcs::lcs)),
    row("mget", General(strings::mget)),
    row("mset", General(strings::mset)),
    row("setbit", Write(strings::set_bit)),
    row("setnx", Write(strings::set_nx)),
    row("setrange", Write(strings::set_range)),
    row("strlen", Read(strings::strlen)),
    row("substr", Read(strings::get_range)),
];
