//! `memcached`, by its text protocol: values, and rows that are read as a whole. It cannot set a
//! single column, and it has no order.

use super::dialect::MEMCACHED;
use super::{RegisteredServer, ServerAbilities, ServerLaunch, ServerRole};
use crate::sys::on_path;

/// The bytes that it takes for a key and a value in addition to both, with the rounding of its
/// slabs. The number is generous, because memcached drops keys when its memory is full.
const BESIDE: u64 = 200;

pub static ENTRY: RegisteredServer = RegisteredServer {
    name: "memcached",
    part: ServerRole::Always,
    workers: 1,
    index: None,
    program: || on_path("memcached"),
    missing: "memcached is not installed; Debian's package memcached has it",
    options,
    place: |start| {
        // As root, memcached runs only if it is told the user.
        let user: &[&str] = if rustix::process::geteuid().is_root() { &["-u", "root"] } else { &[] };
        let port = start.address.port().to_string();
        ["-U", "0", "-l", "127.0.0.1", "-p", &port]
            .iter()
            .chain(user)
            .map(|&option| option.to_owned())
            .collect()
    },
    rows: "rows as one value; gets of a pipeline as one of many keys",
    dialect: &MEMCACHED,
    can: ServerAbilities { values: true, read_columns: true, ..ServerAbilities::NOTHING },
    takes_key: |key| {
        let fits = key.len() <= KEY_BYTES_MAX && key.iter().all(|&byte| byte > b' ' && byte != 0x7f);
        if fits { Ok(()) } else { Err("keys of at most 250 bytes, without spaces and control characters") }
    },
};

/// The longest key that its protocol allows.
const KEY_BYTES_MAX: usize = 250;

/// Returns the options: one thread, memory for everything, and an error instead of a dropped key.
fn options(start: &ServerLaunch<'_>) -> Vec<String> {
    let megabytes = 64 + ((start.bytes + start.keys * BESIDE) >> 20);
    ["-t", "1", "-M", "-m", &megabytes.to_string()].map(str::to_owned).into()
}
