//! The arguments of commands on sets, in the notation of `notation`.

use super::SyntaxRow;

#[rustfmt::skip]
pub(super) const SYNTAX: &[SyntaxRow] = &[
    ("sadd", "key@0 member..."),
    ("scard", "key@0"),
    ("sdiff", "key@0..."),
    ("sdiffstore", "destination@0 key@1..."),
    ("sinter", "key@0..."),
    ("sintercard", "numkeys:int key@0... [LIMIT=limit:int]"),
    ("sinterstore", "destination@0 key@1..."),
    ("sismember", "key@0 member"),
    ("smembers", "key@0"),
    ("smismember", "key@0 member..."),
    ("smove", "source@0 destination@1 member"),
    ("spop", "key@0 [count:int]"),
    ("srandmember", "key@0 [count:int]"),
    ("srem", "key@0 member..."),
    ("sscan", "key@0 cursor:int [MATCH=pattern:pattern] [COUNT=count:int]"),
    ("sunion", "key@0..."),
    ("sunionstore", "destination@0 key@1..."),
];
