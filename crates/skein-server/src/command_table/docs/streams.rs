//! The arguments of commands on streams, in the notation of `notation`.

use super::SyntaxRow;

#[rustfmt::skip]
pub(super) const SYNTAX: &[SyntaxRow] = &[
    ("xack", "key@0 group id..."),
    ("xadd",
     "key@0 [NOMKSTREAM] [trim(strategy(MAXLEN|MINID) [operator(equal'='|approximately'~')] \
      threshold [LIMIT=count:int])] id_or_auto(auto_id'*'|id) field_value(field value)..."),
    ("xautoclaim", "key@0 group consumer min-idle-time start [COUNT=count:int] [JUSTID]"),
    ("xclaim",
     "key@0 group consumer min-idle-time id... [IDLE=ms:int] [TIME=unix-time-milliseconds:time] \
      [RETRYCOUNT=count:int] [FORCE] [JUSTID] [LASTID=id]"),
    ("xdel", "key@0 id..."),
    ("xgroup|create", "key@0 groupname id(id|new_id'$') [MKSTREAM] [ENTRIESREAD=entries_read:int]"),
    ("xgroup|createconsumer", "key@0 groupname consumername"),
    ("xgroup|delconsumer", "key@0 groupname consumername"),
    ("xgroup|destroy", "key@0 groupname"),
    ("xgroup|setid", "key@0 groupname id(id|new_id'$') [ENTRIESREAD=entries_read:int]"),
    ("xinfo|consumers", "key@0 groupname"),
    ("xinfo|groups", "key@0"),
    ("xinfo|stream", "key@0 [FULL=full([COUNT=count:int])]"),
    ("xlen", "key@0"),
    ("xpending", "key@0 group [filters([IDLE=min-idle-time:int] start end count:int [consumer])]"),
    ("xrange", "key@0 start end [COUNT=count:int]"),
    ("xread", "[COUNT=count:int] [BLOCK=milliseconds:int] STREAMS=streams(key@0... id...)"),
    ("xreadgroup",
     "GROUP=group_consumer(group consumer) [COUNT=count:int] [BLOCK=milliseconds:int] [NOACK] \
      STREAMS=streams(key@0... id...)"),
    ("xrevrange", "key@0 end start [COUNT=count:int]"),
    ("xsetid", "key@0 last-id [ENTRIESADDED=entries_added:int] [MAXDELETEDID=max_deleted_entry_id]"),
    ("xtrim",
     "key@0 trim(strategy(MAXLEN|MINID) [operator(equal'='|approximately'~')] threshold \
      [LIMIT=count:int])"),
];
