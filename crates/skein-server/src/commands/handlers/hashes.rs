//! Commands on columns, one line each.

use super::super::Handler::{General, Read, ReadOrSlices, Write};
use super::super::hashes;
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("hdel", Write(hashes::hdel)),
    row("hexists", Read(hashes::hexists)),
    row("hget", Read(hashes::hget)),
    row("hgetall", ReadOrSlices(hashes::hgetall::now, hashes::hgetall::in_slices)),
    row("hincrby", Write(hashes::hincr_by)),
    row("hincrbyfloat", Write(hashes::hincr_by_float)),
    row("hkeys", ReadOrSlices(hashes::hkeys::now, hashes::hkeys::in_slices)),
    row("hlen", Read(hashes::hlen)),
    row("hmget", Read(hashes::hmget)),
    row("hmset", Write(hashes::hmset)),
    row("hrandfield", ReadOrSlices(hashes::hrand_field, hashes::hrand_field_in_slices)),
    row("hscan", General(hashes::hscan)),
    row("hset", Write(hashes::hset)),
    row("hsetnx", Write(hashes::hset_nx)),
    row("hstrlen", Read(hashes::hstrlen)),
    row("hvals", ReadOrSlices(hashes::hvals::now, hashes::hvals::in_slices)),
];
