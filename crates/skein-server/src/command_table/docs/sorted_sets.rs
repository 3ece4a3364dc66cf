//! The arguments of commands on sorted sets, in the notation of `notation`.

use super::SyntaxRow;

#[rustfmt::skip]
pub(super) const SYNTAX: &[SyntaxRow] = &[
    ("bzmpop", "timeout:double numkeys:int key@0... where(MIN|MAX) [COUNT=count:int]"),
    ("bzpopmax", "key@0... timeout:double"),
    ("bzpopmin", "key@0... timeout:double"),
    ("zadd",
     "key@0 [condition(NX|XX)] [comparison(GT|LT)] [change'CH'] [increment'INCR'] \
      score_member(score:double member)..."),
    ("zcard", "key@0"),
    ("zcount", "key@0 min:double max:double"),
    ("zdiff", "numkeys:int key@0... [WITHSCORES]"),
    ("zdiffstore", "destination@0 numkeys:int key@1..."),
    ("zincrby", "key@0 increment:int member"),
    ("zinter",
     "numkeys:int key@0... [WEIGHTS=weight:int...] [AGGREGATE=aggregate(SUM|MIN|MAX)] [WITHSCORES]"),
    ("zintercard", "numkeys:int key@0... [LIMIT=limit:int]"),
    ("zinterstore",
     "destination@0 numkeys:int key@1... [WEIGHTS=weight:int...] \
      [AGGREGATE=aggregate(SUM|MIN|MAX)]"),
    ("zlexcount", "key@0 min max"),
    ("zmpop", "numkeys:int key@0... where(MIN|MAX) [COUNT=count:int]"),
    ("zmscore", "key@0 member..."),
    ("zpopmax", "key@0 [count:int]"),
    ("zpopmin", "key@0 [count:int]"),
    ("zrandmember", "key@0 [options(count:int [WITHSCORES])]"),
    ("zrange",
     "key@0 start stop [sortby(BYSCORE|BYLEX)] [REV] [LIMIT=offset_count(offset:int count:int)] \
      [WITHSCORES]"),
    ("zrangebylex", "key@0 min max [LIMIT=offset_count(offset:int count:int)]"),
    ("zrangebyscore", "key@0 min:double max:double [WITHSCORES] [LIMIT=offset_count(offset:int count:int)]"),
    ("zrangestore",
     "dst@0 src@1 min max [sortby(BYSCORE|BYLEX)] [REV] [LIMIT=offset_count(offset:int count:int)]"),
    ("zrank", "key@0 member [WITHSCORE]"),
    ("zrem", "key@0 member..."),
    ("zremrangebylex", "key@0 min max"),
    ("zremrangebyrank", "key@0 start:int stop:int"),
    ("zremrangebyscore", "key@0 min:double max:double"),
    ("zrevrange", "key@0 start:int stop:int [WITHSCORES]"),
    ("zrevrangebylex", "key@0 max min [LIMIT=offset_count(offset:int count:int)]"),
    ("zrevrangebyscore",
     "key@0 max:double min:double [WITHSCORES] [LIMIT=offset_count(offset:int count:int)]"),
    ("zrevrank", "key@0 member [WITHSCORE]"),
    ("zscan", "key@0 cursor:int [MATCH=pattern:pattern] [COUNT=count:int]"),
    ("zscore", "key@0 member"),
    ("zunion",
     "numkeys:int key@0... [WEIGHTS=weight:int...] [AGGREGATE=aggregate(SUM|MIN|MAX)] [WITHSCORES]"),
    ("zunionstore",
     "destination@0 numkeys:int key@1... [WEIGHTS=weight:int...] \
      [AGGREGATE=aggregate(SUM|MIN|MAX)]"),
];
