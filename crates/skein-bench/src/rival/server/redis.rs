//! `redis-server`. A row of columns is a string whose ranges are read and written, as in Masstree's section 7, or a hash.

use linkme::distributed_slice;

use super::dialect::{RESP_HASHES, RESP_SORTED, RESP_VALUES};
use super::{Can, Entry, Part, SERVERS, Start, any_key, on_path};

/// The name in reports of a sorted set.
pub const SORTED_SET: &str = "redis-sorted-set";

const MISSING: &str = "redis-server is not installed; Debian's package redis-server has it";

#[distributed_slice(SERVERS)]
static REDIS: Entry = Entry {
    name: "redis",
    rank: 10,
    part: Part::Always,
    index: None,
    program: || on_path("redis-server"),
    missing: MISSING,
    options,
    place,
    rows: "rows as strings by SETRANGE and GET, as in the paper",
    dialect: &RESP_VALUES,
    can: Can {
        values: true,
        ping: true,
        read_columns: true,
        write_column: true,
        ranges: false,
        ordered: false,
    },
    takes_key: any_key,
};

/// Rows as hashes; of single values it would do the same as the other.
#[distributed_slice(SERVERS)]
static REDIS_HASH: Entry = Entry {
    name: "redis-hash",
    rank: 11,
    part: Part::Always,
    index: None,
    program: || on_path("redis-server"),
    missing: MISSING,
    options,
    place,
    rows: "rows by HSET and HGETALL",
    dialect: &RESP_HASHES,
    can: Can {
        values: false,
        ping: false,
        read_columns: true,
        write_column: true,
        ranges: false,
        ordered: false,
    },
    takes_key: any_key,
};

/// All keys in one sorted set.
#[distributed_slice(SERVERS)]
static REDIS_ZSET: Entry = Entry {
    name: SORTED_SET,
    rank: 12,
    part: Part::Always,
    index: None,
    program: || on_path("redis-server"),
    missing: MISSING,
    options,
    place,
    rows: "keys as members of one sorted set, all of score 0: ZADD, ZSCORE, ZRANGEBYLEX",
    dialect: &RESP_SORTED,
    can: Can {
        values: false,
        ping: false,
        read_columns: false,
        write_column: false,
        ranges: false,
        ordered: true,
    },
    takes_key: any_key,
};

fn options(start: &Start<'_>) -> Vec<String> {
    let logs: &[&str] = if start.logs {
        &["--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0"]
    } else {
        &["--appendonly", "no"]
    };
    ["--save", ""].iter().chain(logs).map(|&option| option.to_owned()).collect()
}

fn place(start: &Start<'_>) -> Vec<String> {
    let (port, folder) = (start.address.port().to_string(), start.folder.display().to_string());
    ["--bind", "127.0.0.1", "--port", &port, "--dir", &folder].map(str::to_owned).into()
}
