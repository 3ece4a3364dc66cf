//! The arguments of commands on keys, expiry times included, in the notation of `notation`.

use super::SyntaxRow;

#[rustfmt::skip]
pub(super) const SYNTAX: &[SyntaxRow] = &[
    ("copy", "source@0 destination@1 [DB=destination-db:int] [REPLACE]"),
    ("del", "key@0..."),
    ("dump", "key@0"),
    ("exists", "key@0..."),
    ("expire", "key@0 seconds:int [condition(NX|XX|GT|LT)]"),
    ("expireat", "key@0 unix-time-seconds:time [condition(NX|XX|GT|LT)]"),
    ("expiretime", "key@0"),
    ("keys", "pattern:pattern"),
    ("migrate",
     "host port:int key_or_empty_string(key@0|empty_string'') destination-db:int timeout:int \
      [COPY] [REPLACE] [authentication([AUTH=password]|[AUTH2=username_password(username \
      password)])] [KEYS=key@1...]"),
    ("move", "key@0 db:int"),
    ("object|encoding", "key@0"),
    ("object|freq", "key@0"),
    ("object|idletime", "key@0"),
    ("object|refcount", "key@0"),
    ("persist", "key@0"),
    ("pexpire", "key@0 milliseconds:int [condition(NX|XX|GT|LT)]"),
    ("pexpireat", "key@0 unix-time-milliseconds:time [condition(NX|XX|GT|LT)]"),
    ("pexpiretime", "key@0"),
    ("pttl", "key@0"),
    ("rename", "key@0 newkey@1"),
    ("renamenx", "key@0 newkey@1"),
    ("restore",
     "key@0 ttl:int serialized-value [REPLACE] [ABSTTL] [IDLETIME=seconds:int] \
      [FREQ=frequency:int]"),
    ("scan", "cursor:int [MATCH=pattern:pattern] [COUNT=count:int] [TYPE=type]"),
    ("sort",
     "key@0 [BY=pattern@1:pattern] [LIMIT=offset_count(offset:int count:int)] \
      [GET=pattern@1:pattern...+] [order(ASC|DESC)] [sorting'ALPHA'] [STORE=destination@2]"),
    ("sort_ro",
     "key@0 [BY=pattern@1:pattern] [LIMIT=offset_count(offset:int count:int)] \
      [GET=pattern@1:pattern...+] [order(ASC|DESC)] [sorting'ALPHA']"),
    ("touch", "key@0..."),
    ("ttl", "key@0"),
    ("type", "key@0"),
    ("unlink", "key@0..."),
    ("wait", "numreplicas:int timeout:int"),
];
