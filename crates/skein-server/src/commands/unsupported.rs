//! Commands of Redis that are of a family which this server lacks: their error says so, after what
//! clients look for.

/// A family: what is not there, and its commands in lower case, or how they begin.
struct UnsupportedFamily {
    what: &'static str,
    names: &'static [&'static str],
    prefixes: &'static [&'static str],
}

const fn family(
    what: &'static str,
    names: &'static [&'static str],
    prefixes: &'static [&'static str],
) -> UnsupportedFamily {
    UnsupportedFamily { what, names, prefixes }
}

const FAMILIES: [UnsupportedFamily; 14] = [
    family(
        "SkeinDB has no lists",
        &[
            "lpush",
            "rpush",
            "lpushx",
            "rpushx",
            "lpop",
            "rpop",
            "llen",
            "lrange",
            "lindex",
            "lset",
            "lrem",
            "ltrim",
            "linsert",
            "lpos",
            "lmove",
            "lmpop",
            "rpoplpush",
            "blpop",
            "brpop",
            "blmove",
            "blmpop",
            "brpoplpush",
        ],
        &[],
    ),
    family(
        "SkeinDB has no sets but sorted ones; ZADD with a score of 0 keeps members once",
        &[
            "sadd",
            "srem",
            "smembers",
            "sismember",
            "smismember",
            "scard",
            "spop",
            "srandmember",
            "smove",
            "sinter",
            "sinterstore",
            "sintercard",
            "sunion",
            "sunionstore",
            "sdiff",
            "sdiffstore",
            "sscan",
        ],
        &[],
    ),
    family(
        "SkeinDB has no streams",
        &[
            "xadd",
            "xread",
            "xrange",
            "xrevrange",
            "xlen",
            "xdel",
            "xtrim",
            "xack",
            "xgroup",
            "xinfo",
            "xclaim",
            "xautoclaim",
            "xpending",
            "xreadgroup",
            "xsetid",
        ],
        &[],
    ),
    family(
        "SkeinDB has no channels",
        &[
            "subscribe",
            "unsubscribe",
            "psubscribe",
            "punsubscribe",
            "publish",
            "pubsub",
            "ssubscribe",
            "sunsubscribe",
            "spublish",
        ],
        &[],
    ),
    family(
        "SkeinDB runs no scripts; MULTI and WATCH do several commands as one",
        &["eval", "evalsha", "eval_ro", "evalsha_ro", "script", "function", "fcall", "fcall_ro"],
        &[],
    ),
    family("SkeinDB has no places on a map", &[], &["geo"]),
    family("SkeinDB has no HyperLogLogs", &["pfadd", "pfcount", "pfmerge", "pfdebug", "pfselftest"], &[]),
    family(
        "SkeinDB has no replicas",
        &["replicaof", "slaveof", "psync", "sync", "replconf", "role", "failover", "waitaof"],
        &[],
    ),
    family("SkeinDB sorts nothing when asked; a sorted set is in order already", &["sort", "sort_ro"], &[]),
    family("SkeinDB has no cluster", &["cluster", "readonly", "readwrite", "asking"], &[]),
    family(
        "SkeinDB does not move keys in Redis's format; skein dump, load and copy move them",
        &["dump", "restore", "restore-asking", "migrate"],
        &[],
    ),
    family("SkeinDB does not let clients wait for sorted sets", &["bzpopmin", "bzpopmax", "bzmpop"], &[]),
    family("SkeinDB does not show requests as they come; SLOWLOG keeps slow ones", &["monitor"], &[]),
    family(
        "SkeinDB has no modules",
        &["module"],
        &["bf.", "cf.", "ft.", "json.", "ts.", "topk.", "tdigest."],
    ),
];

/// What is not there, if a command that the server does not have is of a known family.
pub(super) fn family_of(name: &[u8]) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let is_of = |family: &&UnsupportedFamily| {
        family.names.iter().any(|known| known.as_bytes() == name)
            || family.prefixes.iter().any(|prefix| name.starts_with(prefix.as_bytes()))
    };
    FAMILIES.iter().find(is_of).map(|family| family.what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::find;

    #[test]
    fn no_command_that_is_there_is_called_absent() {
        for family in &FAMILIES {
            for name in family.names {
                assert!(find(name.as_bytes()).is_none(), "there is {name}: {}", family.what);
            }
        }
        for command in &crate::commands::table::COMMANDS {
            assert_eq!(family_of(command.name.as_bytes()), None, "{}", command.name);
        }
    }

    #[test]
    fn names_are_known_in_any_case() {
        assert_eq!(family_of(b"LPush"), Some("SkeinDB has no lists"));
        assert_eq!(family_of(b"GEOADD"), Some("SkeinDB has no places on a map"));
        assert_eq!(family_of(b"nope"), None);
    }
}
