//! The arguments of commands on columns, in the notation of `notation`.

use super::SyntaxRow;

#[rustfmt::skip]
pub(super) const SYNTAX: &[SyntaxRow] = &[
    ("hdel", "key@0 field..."),
    ("hexists", "key@0 field"),
    ("hget", "key@0 field"),
    ("hgetall", "key@0"),
    ("hincrby", "key@0 field increment:int"),
    ("hincrbyfloat", "key@0 field increment:double"),
    ("hkeys", "key@0"),
    ("hlen", "key@0"),
    ("hmget", "key@0 field..."),
    ("hmset", "key@0 field_value(field value)..."),
    ("hrandfield", "key@0 [options(count:int [WITHVALUES])]"),
    ("hscan", "key@0 cursor:int [MATCH=pattern:pattern] [COUNT=count:int]"),
    ("hset", "key@0 field_value(field value)..."),
    ("hsetnx", "key@0 field value"),
    ("hstrlen", "key@0 field"),
    ("hvals", "key@0"),
];
