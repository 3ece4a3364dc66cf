//! Facts about commands and subcommands that only COMMAND INFO reports: the tips of commands, and the
//! flags of subcommands.
//!
//! Source: the reply of `COMMAND` of redis-server 7.0.15.

use super::key_specs::names;

/// Tips, and the names of the commands and subcommands that have them.
#[rustfmt::skip]
const TIPS: &[(&str, &str)] = &[
    ("nondeterministic_output",
     "client|info client|list cluster|bumpepoch cluster|count-failure-reports \
      cluster|getkeysinslot cluster|info cluster|links cluster|nodes cluster|replicas \
      cluster|shards cluster|slaves cluster|slots dump hrandfield hscan lastsave migrate \
      object|encoding object|freq object|idletime object|refcount pttl spop srandmember sscan \
      time ttl xadd xautoclaim xclaim xinfo|consumers xpending xtrim zrandmember zscan"),
    ("nondeterministic_output_order",
     "command command|docs command|info command|list function|list hgetall hkeys hvals \
      module|list sdiff sinter smembers sunion"),
    ("request_policy:all_nodes response_policy:all_succeeded",
     "config|set latency|reset script|flush script|load slowlog|reset"),
    ("request_policy:all_shards response_policy:agg_sum",
     "dbsize"),
    ("request_policy:multi_shard response_policy:agg_sum",
     "del exists touch unlink"),
    ("request_policy:all_shards response_policy:all_succeeded",
     "flushall flushdb function|delete function|flush function|load function|restore \
      memory|purge ping"),
    ("request_policy:all_shards response_policy:one_succeeded",
     "function|kill script|kill"),
    ("nondeterministic_output request_policy:all_shards response_policy:special",
     "function|stats info memory|doctor memory|malloc-stats memory|stats"),
    ("request_policy:all_shards nondeterministic_output_order",
     "keys"),
    ("nondeterministic_output request_policy:all_nodes response_policy:special",
     "latency|doctor latency|graph latency|histogram latency|history latency|latest"),
    ("request_policy:multi_shard",
     "mget"),
    ("request_policy:multi_shard response_policy:all_succeeded",
     "mset"),
    ("request_policy:multi_shard response_policy:agg_min",
     "msetnx"),
    ("request_policy:all_shards nondeterministic_output",
     "randomkey"),
    ("nondeterministic_output request_policy:special",
     "scan"),
    ("request_policy:all_shards response_policy:agg_logical_and",
     "script|exists"),
    ("request_policy:all_nodes nondeterministic_output",
     "slowlog|get"),
    ("request_policy:all_nodes response_policy:agg_sum nondeterministic_output",
     "slowlog|len"),
    ("request_policy:all_shards response_policy:agg_min",
     "wait waitaof"),
];

/// Flags, and the names of the subcommands that have them.
#[rustfmt::skip]
const SUBCOMMAND_FLAGS: &[(&str, &str)] = &[
    ("noscript loading stale",
     "acl|cat acl|genpass acl|whoami client|caching client|getname client|getredir client|id \
      client|info client|reply client|setinfo client|setname \
      client|tracking client|trackinginfo"),
    ("admin noscript loading stale",
     "acl|deluser acl|dryrun acl|getuser acl|list acl|load acl|log acl|save acl|setuser \
      acl|users client|kill client|list client|no-evict client|pause client|unblock \
      client|unpause config|get config|resetstat config|rewrite config|set latency|doctor \
      latency|graph latency|histogram latency|history latency|latest latency|reset"),
    ("loading stale",
     "acl|help client|help cluster|help command|count command|docs command|getkeys \
      command|getkeysandflags command|help command|info command|list config|help function|help \
      latency|help memory|help module|help object|help pubsub|help script|help slowlog|help \
      xgroup|help xinfo|help"),
    ("admin stale no_async_loading",
     "cluster|addslots cluster|addslotsrange cluster|bumpepoch cluster|delslots \
      cluster|delslotsrange cluster|failover cluster|flushslots cluster|forget cluster|meet \
      cluster|replicate cluster|saveconfig cluster|set-config-epoch cluster|setslot"),
    ("admin stale",
     "cluster|count-failure-reports cluster|replicas cluster|slaves"),
    ("stale",
     "cluster|countkeysinslot cluster|getkeysinslot cluster|info cluster|keyslot cluster|links \
      cluster|myid cluster|nodes cluster|shards cluster|slots"),
    ("admin noscript stale",
     "cluster|reset"),
    ("write noscript",
     "function|delete function|flush"),
    ("noscript",
     "function|dump function|list script|debug script|exists script|flush"),
    ("noscript allow_busy",
     "function|kill function|stats script|kill"),
    ("write denyoom noscript",
     "function|load function|restore"),
    ("",
     "memory|doctor memory|malloc-stats memory|purge memory|stats"),
    ("readonly",
     "memory|usage object|encoding object|freq object|idletime object|refcount xinfo|consumers \
      xinfo|groups xinfo|stream"),
    ("admin noscript",
     "module|list"),
    ("admin noscript no_async_loading",
     "module|load module|loadex module|unload"),
    ("pubsub loading stale",
     "pubsub|channels pubsub|numpat pubsub|numsub pubsub|shardchannels pubsub|shardnumsub"),
    ("noscript stale",
     "script|load"),
    ("admin loading stale",
     "slowlog|get slowlog|len slowlog|reset"),
    ("write denyoom",
     "xgroup|create xgroup|createconsumer"),
    ("write",
     "xgroup|delconsumer xgroup|destroy xgroup|setid"),
];

fn words_of(table: &[(&'static str, &str)], name: &str) -> Vec<&'static str> {
    let found = table.iter().find(|(_, list)| names(list, name));
    found.map_or_else(Vec::new, |(words, _)| words.split_ascii_whitespace().collect())
}

/// Returns the tips of a command, or of a subcommand by its full name.
pub(crate) fn tips(name: &str) -> Vec<&'static str> {
    words_of(TIPS, name)
}

/// Returns the flags of a subcommand by its full name.
pub(crate) fn subcommand_flags(full_name: &str) -> Vec<&'static str> {
    words_of(SUBCOMMAND_FLAGS, full_name)
}
