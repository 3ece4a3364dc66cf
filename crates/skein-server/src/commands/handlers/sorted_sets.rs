//! Commands on sorted sets, one line each.

use super::super::Handler::{Exclusive, General, Read, ReadOrSlices, Write};
use super::super::sorted_sets as z;
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("zadd", Write(z::zadd)),
    row("zcard", Read(z::zcard)),
    row("zcount", Read(z::zcount)),
    row("zdiff", Exclusive(z::zdiff)),
    row("zdiffstore", Exclusive(z::zdiff_store)),
    row("zincrby", Write(z::zincr_by)),
    row("zinter", Exclusive(z::zinter)),
    row("zintercard", Exclusive(z::zinter_card)),
    row("zinterstore", Exclusive(z::zinter_store)),
    row("zlexcount", Read(z::zlex_count)),
    row("zmpop", General(z::zmpop)),
    row("zmscore", Read(z::zmscore)),
    row("zpopmax", Write(z::zpop_max)),
    row("zpopmin", Write(z::zpop_min)),
    row("zrandmember", ReadOrSlices(z::zrand_member, z::zrand_member_in_slices)),
    row("zrange", ReadOrSlices(z::zrange::now, z::zrange::in_slices)),
    row("zrangebylex", ReadOrSlices(z::zrange_by_lex::now, z::zrange_by_lex::in_slices)),
    row("zrangebyscore", ReadOrSlices(z::zrange_by_score::now, z::zrange_by_score::in_slices)),
    row("zrangestore", Exclusive(z::zrange_store)),
    row("zrank", Read(z::zrank)),
    row("zrem", Write(z::zrem)),
    row("zremrangebylex", Write(z::zrem_range_by_lex)),
    row("zremrangebyrank", Write(z::zrem_range_by_rank)),
    row("zremrangebyscore", Write(z::zrem_range_by_score)),
    row("zrevrange", ReadOrSlices(z::zrevrange::now, z::zrevrange::in_slices)),
    row("zrevrangebylex", ReadOrSlices(z::zrevrange_by_lex::now, z::zrevrange_by_lex::in_slices)),
    row("zrevrangebyscore", ReadOrSlices(z::zrevrange_by_score::now, z::zrevrange_by_score::in_slices)),
    row("zrevrank", Read(z::zrevrank)),
    row("zscan", General(z::zscan)),
    row("zscore", Read(z::zscore)),
    row("zunion", Exclusive(z::zunion)),
    row("zunionstore", Exclusive(z::zunion_store)),
];
