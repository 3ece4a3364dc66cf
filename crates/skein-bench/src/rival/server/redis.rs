//! `redis-server`. A row of columns is a hash, or a string with a byte range for each column, as in
//! Masstree's section 7.

use super::dialect::{RESP_HASHES, RESP_SCORED, RESP_SORTED, RESP_VALUES};
use super::{RegisteredServer, ServerAbilities, ServerLaunch, ServerOptions, ServerRole, any_key};
use crate::sys::on_path;

/// The name in reports of the server without a log.
pub const NAME: &str = "redis";

/// The name in reports of the sorted set.
pub const SORTED_SET: &str = "redis-sorted-set";

const MISSING: &str = "redis-server is not installed; Debian's package redis-server has it";

/// The operations on plain values.
const VALUES: ServerAbilities = ServerAbilities {
    values: true,
    ping: true,
    read_columns: true,
    write_column: true,
    many: true,
    families: true,
    ..ServerAbilities::NOTHING
};

/// The name in reports of the server that logs and syncs its log every second.
pub const EVERYSEC: &str = "redis-everysec";

/// The name in reports of the sorted set with many scores.
pub const SCORED_SET: &str = "redis-scored-set";

/// Redis in its configurations. On single values, rows as hashes would be the same as the first.
pub static ALL: [RegisteredServer; 5] = [
    with_values(NAME, ServerRole::Always, options),
    with_values(EVERYSEC, ServerRole::IfNamed, |_| logging(true)),
    RegisteredServer {
        rows: "rows by HSET and HGETALL",
        dialect: &RESP_HASHES,
        can: ServerAbilities { read_columns: true, write_column: true, ..ServerAbilities::NOTHING },
        ..with_values("redis-hash", ServerRole::Always, options)
    },
    RegisteredServer {
        rows: "keys as members of one sorted set, all of score 0: ZADD, ZSCORE, ZRANGEBYLEX",
        dialect: &RESP_SORTED,
        can: ServerAbilities { ordered: true, ..ServerAbilities::NOTHING },
        ..with_values(SORTED_SET, ServerRole::Always, options)
    },
    RegisteredServer {
        rows: "keys as members of one sorted set, by score: ZADD, ZSCORE, ZRANGE BYSCORE",
        dialect: &RESP_SCORED,
        can: ServerAbilities { scored: true, ..ServerAbilities::NOTHING },
        ..with_values(SCORED_SET, ServerRole::IfNamed, options)
    },
];

/// Returns a server with Redis's options.
pub const fn with_values(name: &'static str, part: ServerRole, options: ServerOptions) -> RegisteredServer {
    RegisteredServer {
        name,
        part,
        workers: 1,
        index: None,
        program: || on_path("redis-server"),
        missing: MISSING,
        options,
        place,
        rows: "rows as strings by SETRANGE and GET, as in the paper",
        dialect: &RESP_VALUES,
        can: VALUES,
        takes_key: any_key,
    }
}

/// Returns the options of a server that logs only where an experiment wants logs.
pub fn options(start: &ServerLaunch<'_>) -> Vec<String> {
    logging(start.logs)
}

fn logging(logs: bool) -> Vec<String> {
    let logs: &[&str] = if logs {
        &["--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0"]
    } else {
        &["--appendonly", "no"]
    };
    ["--save", ""].iter().chain(logs).map(|&option| option.to_owned()).collect()
}

fn place(start: &ServerLaunch<'_>) -> Vec<String> {
    let (port, folder) = (start.address.port().to_string(), start.folder.display().to_string());
    ["--bind", "127.0.0.1", "--port", &port, "--dir", &folder].map(str::to_owned).into()
}
