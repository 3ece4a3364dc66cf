//! Commands on sorted sets, one line each.

use super::super::Handler::{Blocking, Exclusive, General, Read, Write, WriteRun};
use super::super::sorted_sets as z;
use super::super::task::read_or_slices;
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("bzmpop", Blocking(&z::BZMPOP)),
    row("bzpopmax", Blocking(&z::BZPOPMAX)),
    row("bzpopmin", Blocking(&z::BZPOPMIN)),
    row("zadd", WriteRun(z::zadd)),
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
    row("zrandmember", read_or_slices::<z::ZRandMember>()),
    row("zrange", read_or_slices::<z::ZRange>()),
    row("zrangebylex", read_or_slices::<z::ZRangeByLex>()),
    row("zrangebyscore", read_or_slices::<z::ZRangeByScore>()),
    row("zrangestore", Exclusive(z::zrange_store)),
    row("zrank", Read(z::zrank)),
    row("zrem", WriteRun(z::zrem)),
    row("zremrangebylex", Write(z::zrem_range_by_lex)),
    row("zremrangebyrank", Write(z::zrem_range_by_rank)),
    row("zremrangebyscore", Write(z::zrem_range_by_score)),
    row("zrevrange", read_or_slices::<z::ZRevRange>()),
    row("zrevrangebylex", read_or_slices::<z::ZRevRangeByLex>()),
    row("zrevrangebyscore", read_or_slices::<z::ZRevRangeByScore>()),
    row("zrevrank", Read(z::zrevrank)),
    row("zscan", General(z::zscan)),
    row("zscore", Read(z::zscore)),
    row("zunion", Exclusive(z::zunion)),
    row("zunionstore", Exclusive(z::zunion_store)),
];
