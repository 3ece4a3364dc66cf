//! Our own server: this program, as `skein serve`.

use linkme::distributed_slice;

use super::dialect::RESP_HASHES;
use super::{Can, Entry, SERVERS, Start};

/// Its name in reports.
pub const NAME: &str = "skein";

#[distributed_slice(SERVERS)]
static SKEIN: Entry = Entry {
    name: NAME,
    rank: 0,
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
};

/// One worker that logs, and no checkpoint in the middle of a loop, as the paper's rivals had none.
fn options(_: &Start<'_>) -> Vec<String> {
    let options = "serve --workers 1 --durability buffered --checkpoint-log-size 0 --checkpoint-interval 0s";
    options.split(' ').map(str::to_owned).collect()
}
