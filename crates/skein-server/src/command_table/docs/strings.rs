//! The arguments of commands on values, in the notation of `notation`.

use super::SyntaxRow;

#[rustfmt::skip]
pub(super) const SYNTAX: &[SyntaxRow] = &[
    ("append", "key@0 value"),
    ("bitcount", "key@0 [index(start:int end:int [index_unit(BYTE|BIT)])]"),
    ("bitfield",
     "key@0 [operation(GET=encoding_offset(encoding \
      offset:int)|write([OVERFLOW=wrap_sat_fail(WRAP|SAT|FAIL)] \
      write_operation(SET=encoding_offset_value(encoding offset:int \
      value:int)|INCRBY=encoding_offset_increment(encoding offset:int increment:int))))...]"),
    ("bitfield_ro", "key@0 [GET=encoding_offset(encoding offset:int)...+]"),
    ("bitop", "operation destkey@0 key@1..."),
    ("bitpos", "key@0 bit:int [index(start:int [end_index(end:int [index_unit(BYTE|BIT)])])]"),
    ("decr", "key@0"),
    ("decrby", "key@0 decrement:int"),
    ("get", "key@0"),
    ("getbit", "key@0 offset:int"),
    ("getdel", "key@0"),
    ("getex",
     "key@0 \
      [expiration(EX=seconds:int|PX=milliseconds:int|EXAT=unix-time-seconds:time|PXAT=unix-time-milliseconds:time|PERSIST)]"),
    ("getrange", "key@0 start:int end:int"),
    ("getset", "key@0 value"),
    ("incr", "key@0"),
    ("incrby", "key@0 increment:int"),
    ("incrbyfloat", "key@0 increment:double"),
    ("lcs", "key1@0 key2@0 [LEN] [IDX] [MINMATCHLEN=len:int] [WITHMATCHLEN]"),
    ("mget", "key@0..."),
    ("mset", "key_value(key@0 value)..."),
    ("msetnx", "key_value(key@0 value)..."),
    ("psetex", "key@0 milliseconds:int value"),
    ("set",
     "key@0 value [condition(NX|XX)] [GET] \
      [expiration(EX=seconds:int|PX=milliseconds:int|EXAT=unix-time-seconds:time|PXAT=unix-time-milliseconds:time|KEEPTTL)]"),
    ("setbit", "key@0 offset:int value:int"),
    ("setex", "key@0 seconds:int value"),
    ("setnx", "key@0 value"),
    ("setrange", "key@0 offset:int value"),
    ("strlen", "key@0"),
    ("substr", "key@0 start:int end:int"),
];
