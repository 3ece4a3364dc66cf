//! The arguments of commands about the server, in the notation of `notation`.

use super::SyntaxRow;

#[rustfmt::skip]
pub(super) const SYNTAX: &[SyntaxRow] = &[
    ("acl|cat", "[categoryname]"),
    ("acl|deluser", "username..."),
    ("acl|dryrun", "username command [arg...]"),
    ("acl|genpass", "[bits:int]"),
    ("acl|getuser", "username"),
    ("acl|log", "[operation(count:int|RESET)]"),
    ("acl|setuser", "username [rule...]"),
    ("bgsave", "[SCHEDULE]"),
    ("command|docs", "[command-name...]"),
    ("command|getkeys", "command argument..."),
    ("command|getkeysandflags", "command argument..."),
    ("command|info", "[command-name...]"),
    ("command|list", "[FILTERBY=filterby(MODULE=module-name|ACLCAT=category|PATTERN=pattern:pattern)]"),
    ("config|get", "parameter(parameter)..."),
    ("config|set", "parameter_value(parameter value)..."),
    ("debug", "subcommand [argument...]"),
    ("flushall", "[async(ASYNC|SYNC)]"),
    ("flushdb", "[async(ASYNC|SYNC)]"),
    ("info", "[section...]"),
    ("latency|graph", "event"),
    ("latency|histogram", "[command...]"),
    ("latency|history", "event"),
    ("latency|reset", "[event...]"),
    ("lolwut", "[VERSION=version:int]"),
    ("memory|usage", "key@0 [SAMPLES=count:int]"),
    ("restore-asking",
     "key@0 ttl:int serialized-value [REPLACE] [ABSTTL] [IDLETIME=seconds:int] \
      [FREQ=frequency:int]"),
    ("shutdown", "[SAVE] [NOW] [ABORT]"),
    ("slowlog|get", "[count:int]"),
    ("swapdb", "index1:int index2:int"),
];
