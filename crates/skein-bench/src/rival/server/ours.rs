//! Our own server: this program, as `skein serve`.

use linkme::distributed_slice;

use super::dialect::RESP_HASHES;
use super::{Can, Entry, SERVERS, Start};

/// Its name in reports.
pub const NAME: &str = "skein";

#[distributed_slice(SERVERS)]
static BUFFERED: Entry = ours(NAME, 0, |_| options("buffered"));

// Named by `--only` alone: most want to know the level that is the default.
#[distributed_slice(SERVERS)]
static NONE: Entry = Entry { if_named: true, ..ours("skein-none", 1, |_| options("none")) };

#[distributed_slice(SERVERS)]
static SYNC: Entry = Entry { if_named: true, ..ours("skein-sync", 2, |_| options("sync")) };

const fn ours(name: &'static str, rank: u32, options: fn(&Start<'_>) -> Vec<String>) -> Entry {
    Entry {
        name,
        rank,
        if_named: false,
        program: || std::env::current_exe().ok(),
        missing: "this program does not know where it is",
        options,
        place: |start| {
            let folder = start.folder.join("data").display().to_string();
            vec!["--listen".to_owned(), start.address.to_string(), "--data".to_owned(), folder]
        },
        rows: "rows by HSET, HGETALL, SK.RANGE",
        dialect: &RESP_HASHES,
        can: Can { values: true, ping: true, read_columns: true, write_column: true, ranges: true },
    }
}

/// One worker, and no checkpoint in the middle of a loop, as the paper's rivals had none.
fn options(durability: &str) -> Vec<String> {
    let options = ["serve", "--workers", "1", "--durability", durability];
    let no_checkpoints = ["--checkpoint-log-size", "0", "--checkpoint-interval", "0s"];
    options.into_iter().chain(no_checkpoints).map(str::to_owned).collect()
}
