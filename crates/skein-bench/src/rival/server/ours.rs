//! Our own server, `skein serve`; and once more for each index that a store can
//! use, under the name of that index's contender in [`index`](crate::rival::index).

use std::sync::LazyLock;

use skein_store::IndexKind;

use super::dialect::{RESP_HASHES, RESP_SCORED, RESP_SORTED};
use super::{RegisteredServer, ServerAbilities, ServerLaunch, ServerOptions, ServerRole, any_key};
use crate::sys::skein_program;

/// Its name in reports.
pub const NAME: &str = "skein";

/// The name of the server with two workers.
pub const TWO_WORKERS: &str = "skein-2-workers";
/// The name of the server over the disk engine.
pub const DISK: &str = crate::rival::store::DISK_LINKED;
/// The name of the server with keys as members of one sorted set, all with the same score.
pub const SORTED: &str = "skein-sorted-set";
/// The name of the server with keys as members of one sorted set, each with its own score.
pub const SCORED: &str = "skein-scored-set";

/// The servers over the default index. Most users want to know the default level of durability, so
/// only `--only`, or an experiment that is about one of them, selects the others.
pub static ALL: [RegisteredServer; 7] = [
    ours(NAME, |start| options("buffered", start)),
    RegisteredServer { workers: 2, ..if_named(TWO_WORKERS, |start| working("2", "buffered", start)) },
    if_named("skein-none", |start| options("none", start)),
    if_named("skein-sync", |start| options("sync", start)),
    if_named(DISK, on_disk),
    RegisteredServer {
        rows: "keys as members of one sorted set, by score",
        dialect: &RESP_SCORED,
        can: ServerAbilities { scored: true, ..ServerAbilities::NOTHING },
        ..if_named(SCORED, |start| options("buffered", start))
    },
    sorted(if_named(SORTED, |start| options("buffered", start))),
];

/// Returns the options: one worker, default checkpoints.
fn on_disk(_: &ServerLaunch<'_>) -> Vec<String> {
    let words = "serve --workers 1 --durability buffered --engine disk --trie linked";
    words.split(' ').map(str::to_owned).collect()
}

/// Returns two servers for each index: with plain keys, and with all keys in one sorted set. They
/// have no logs, since the comparison is about the index.
pub fn each_index() -> impl Iterator<Item = &'static RegisteredServer> {
    static EACH: LazyLock<Vec<RegisteredServer>> = LazyLock::new(|| {
        let plain = |index| RegisteredServer {
            takes_key: if index == IndexKind::Mlp { short_key } else { any_key },
            ..of_index(index)
        };
        let set = |index| match index {
            IndexKind::Mlp => RegisteredServer {
                rows: "keys as members of one sorted set, all of score 0, in a Masstree",
                ..sorted(of_index(index))
            },
            _ => sorted(of_index(index)),
        };
        IndexKind::ALL.into_iter().flat_map(|index| [plain(index), set(index)]).collect()
    });
    EACH.iter()
}

fn of_index(index: IndexKind) -> RegisteredServer {
    RegisteredServer {
        part: ServerRole::EachIndex,
        index: Some(index),
        ..ours(format!("skein-{index}").leak(), |start| options("none", start))
    }
}

/// Returns a server with all keys in one sorted set.
const fn sorted(server: RegisteredServer) -> RegisteredServer {
    RegisteredServer {
        rows: "keys as members of one sorted set, all of score 0",
        dialect: &RESP_SORTED,
        can: ServerAbilities { ordered: true, ..ServerAbilities::NOTHING },
        ..server
    }
}

fn short_key(key: &[u8]) -> Result<(), &'static str> {
    if key.len() <= IndexKind::Mlp.key_bytes_max() { Ok(()) } else { Err("keys of up to 8 bytes") }
}

const fn if_named(name: &'static str, options: ServerOptions) -> RegisteredServer {
    RegisteredServer { part: ServerRole::IfNamed, ..ours(name, options) }
}

const fn ours(name: &'static str, options: ServerOptions) -> RegisteredServer {
    RegisteredServer {
        name,
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
