//! Our own server, `skein serve`; and once more for each index that a store can
//! use, under the name of that index's contender in [`index`](crate::rival::index).

use std::sync::LazyLock;

use linkme::distributed_slice;
use skein_store::IndexKind;

use super::dialect::{RESP_HASHES, RESP_SCORED, RESP_SORTED};
use super::{RegisteredServer, SERVERS, ServerAbilities, ServerLaunch, ServerRole, any_key};
use crate::sys::skein_program;

/// Its name in reports.
pub const NAME: &str = "skein";

#[distributed_slice(SERVERS)]
static BUFFERED: RegisteredServer = ours(NAME, 0, |start| options("buffered", start));

// Only `--only` selects these: most users want to know the default level.
#[distributed_slice(SERVERS)]
static NONE: RegisteredServer =
    RegisteredServer { part: ServerRole::IfNamed, ..ours("skein-none", 1, |start| options("none", start)) };

#[distributed_slice(SERVERS)]
static SYNC: RegisteredServer =
    RegisteredServer { part: ServerRole::IfNamed, ..ours("skein-sync", 2, |start| options("sync", start)) };

/// The name of the server with two workers.
pub const TWO_WORKERS: &str = "skein-2-workers";

#[distributed_slice(SERVERS)]
static TWO: RegisteredServer = RegisteredServer {
    part: ServerRole::IfNamed,
    workers: 2,
    ..ours(TWO_WORKERS, 1, |start| working("2", "buffered", start))
};

/// The name of the server over the disk engine.
pub const DISK: &str = crate::rival::store::DISK_LINKED;

// Only `--only`, or the experiment that is about it, selects it.
#[distributed_slice(SERVERS)]
static ON_DISK: RegisteredServer = RegisteredServer { part: ServerRole::IfNamed, ..ours(DISK, 3, on_disk) };

/// Returns the options: one worker, default checkpoints.
fn on_disk(_: &ServerLaunch<'_>) -> Vec<String> {
    let words = "serve --workers 1 --durability buffered --engine disk --trie linked";
    words.split(' ').map(str::to_owned).collect()
}

/// The name of the server with keys as members of one sorted set, all with the same score.
pub const SORTED: &str = "skein-sorted-set";
/// The name of the server with keys as members of one sorted set, each with its own score.
pub const SCORED: &str = "skein-scored-set";

#[distributed_slice(SERVERS)]
static SORTED_SET: RegisteredServer = RegisteredServer {
    part: ServerRole::IfNamed,
    rows: "keys as members of one sorted set, all of score 0",
    dialect: &RESP_SORTED,
    can: ServerAbilities { ordered: true, ..ServerAbilities::NOTHING },
    ..ours(SORTED, 4, |start| options("buffered", start))
};

#[distributed_slice(SERVERS)]
static SCORED_SET: RegisteredServer = RegisteredServer {
    part: ServerRole::IfNamed,
    rows: "keys as members of one sorted set, by score",
    dialect: &RESP_SCORED,
    can: ServerAbilities { scored: true, ..ServerAbilities::NOTHING },
    ..ours(SCORED, 4, |start| options("buffered", start))
};

/// Returns a server for each index, without logs, since the comparison is about the index.
pub fn each_index() -> impl Iterator<Item = &'static RegisteredServer> {
    static EACH: LazyLock<Vec<RegisteredServer>> = LazyLock::new(|| {
        let own = |index, rank| RegisteredServer {
            takes_key: if index == IndexKind::Mlp { short_key } else { any_key },
            ..of_index(index, rank)
        };
        IndexKind::ALL.into_iter().zip(4..).map(|(index, rank)| own(index, rank)).collect()
    });
    EACH.iter()
}

/// Returns a server for each index, with all keys in one sorted set.
pub fn each_index_sorted() -> impl Iterator<Item = &'static RegisteredServer> {
    static EACH: LazyLock<Vec<RegisteredServer>> = LazyLock::new(|| {
        let own = |index, rank| RegisteredServer {
            rows: match index {
                IndexKind::Mlp => "keys as members of one sorted set, all of score 0, in a Masstree",
                _ => "keys as members of one sorted set, all of score 0",
            },
            dialect: &RESP_SORTED,
            can: ServerAbilities { ordered: true, ..ServerAbilities::NOTHING },
            ..of_index(index, rank)
        };
        IndexKind::ALL.into_iter().zip(4..).map(|(index, rank)| own(index, rank)).collect()
    });
    EACH.iter()
}

fn of_index(index: IndexKind, rank: u32) -> RegisteredServer {
    RegisteredServer {
        part: ServerRole::EachIndex,
        index: Some(index),
        ..ours(format!("skein-{index}").leak(), rank, |start| options("none", start))
    }
}

fn short_key(key: &[u8]) -> Result<(), &'static str> {
    if key.len() <= IndexKind::Mlp.key_bytes_max() { Ok(()) } else { Err("keys of up to 8 bytes") }
}

const fn ours(
    name: &'static str,
    rank: u32,
    options: fn(&ServerLaunch<'_>) -> Vec<String>,
) -> RegisteredServer {
    RegisteredServer {
        name,
        rank,
        part: ServerRole::OneOfOurs,
        workers: 1,
        index: None,
        program: skein_program,
        missing: "there is no `skein` beside skein-bench or on the PATH; `cargo build --release` builds both",
        options,
        place: |start| {
            let folder = start.folder.join("data").display().to_string();
            vec!["--listen".to_owned(), start.address.to_string(), "--data".to_owned(), folder]
        },
        rows: "rows by HSET, HGETALL, SK.RANGE",
        dialect: &RESP_HASHES,
        can: ServerAbilities {
            values: true,
            ping: true,
            read_columns: true,
            write_column: true,
            ranges: true,
            many: true,
            families: true,
            ..ServerAbilities::NOTHING
        },
        takes_key: any_key,
    }
}

/// Returns the options for one worker.
fn options(durability: &str, start: &ServerLaunch<'_>) -> Vec<String> {
    working("1", durability, start)
}

/// Returns options without checkpoints, which would start during a loop. The paper's rivals had
/// none.
fn working(workers: &str, durability: &str, start: &ServerLaunch<'_>) -> Vec<String> {
    let options = ["serve", "--workers", workers, "--durability", durability];
    let no_checkpoints = ["--checkpoint-log-size", "0", "--checkpoint-interval", "0s"];
    let index = start.index.map(|index| ["--index", index.name()]);
    options.into_iter().chain(no_checkpoints).chain(index.into_iter().flatten()).map(str::to_owned).collect()
}
