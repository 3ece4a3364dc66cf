//! The arguments of commands on lists, in the notation of `notation`.

use super::SyntaxRow;

#[rustfmt::skip]
pub(super) const SYNTAX: &[SyntaxRow] = &[
    ("blmove", "source@0 destination@1 wherefrom(LEFT|RIGHT) whereto(LEFT|RIGHT) timeout:double"),
    ("blmpop", "timeout:double numkeys:int key@0... where(LEFT|RIGHT) [COUNT=count:int]"),
    ("blpop", "key@0... timeout:double"),
    ("brpop", "key@0... timeout:double"),
    ("brpoplpush", "source@0 destination@1 timeout:double"),
    ("lindex", "key@0 index:int"),
    ("linsert", "key@0 where(BEFORE|AFTER) pivot element"),
    ("llen", "key@0"),
    ("lmove", "source@0 destination@1 wherefrom(LEFT|RIGHT) whereto(LEFT|RIGHT)"),
    ("lmpop", "numkeys:int key@0... where(LEFT|RIGHT) [COUNT=count:int]"),
    ("lpop", "key@0 [count:int]"),
    ("lpos", "key@0 element [RANK=rank:int] [COUNT=num-matches:int] [MAXLEN=len:int]"),
    ("lpush", "key@0 element..."),
    ("lpushx", "key@0 element..."),
    ("lrange", "key@0 start:int stop:int"),
    ("lrem", "key@0 count:int element"),
    ("lset", "key@0 index:int element"),
    ("ltrim", "key@0 start:int stop:int"),
    ("rpop", "key@0 [count:int]"),
    ("rpoplpush", "source@0 destination@1"),
    ("rpush", "key@0 element..."),
    ("rpushx", "key@0 element..."),
];
