//! Commands on columns, one line each.

use super::super::Handler::{General, Read, Write};
use super::super::hashes;
use super::super::task::read_or_slices;
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("hdel", Write(hashes::hdel)),
    row("hexists", Read(hashes::hexists)),
    row("hget", Read(hashes::hget)),
    row("hgetall", read_or_slices::<hashes::HGetAll>()),
    row("hincrby", Write(hashes::hincr_by)),
    row("hincrbyfloat", Write(hashes::hincr_by_float)),
    row("hkeys", read_or_slices::<hashes::HKeys>()),
    row("hlen", Read(hashes::hlen)),
    row("hmget", Read(hashes::hmget)),
    row("hmset", Write(hashes::hmset)),
    row("hrandfield", read_or_slices::<hashes::HRandField>()),
    row("hscan", General(hashes::hscan)),
    row("hset", Write(hashes::hset)),
    row("hsetnx", Write(hashes::hset_nx)),
    row("hstrlen", Read(hashes::hstrlen)),
    row("hvals", read_or_slices::<hashes::HVals>()),
];
