//! Compares our replies with those of a real `redis-server`, byte for byte.
//!
//! The files in `tests/golden`, one for each family of commands, have requests and the replies of
//! redis-server 7.0.15 (Debian's). The test needs no Redis. To record again, start two servers and
//! run the ignored test:
//!
//! ```text
//! redis-server --port 7001 --save "" &
//! redis-server --port 7002 --save "" --requirepass secret &
//! SKEIN_GOLDEN_REDIS=127.0.0.1:7001 SKEIN_GOLDEN_REDIS_PASSWORD=127.0.0.1:7002 \
//!     cargo test -p skein-server --test suite golden -- --ignored
//! ```
//!
//! `SKEIN_GOLDEN_FILE=strings` selects a single file. `golden_file` documents the format.
//! `ordered.txt` is recorded from a `redis-server` with the module `skein-module`. The module's own
//! tests run the file, too.

#[path = "../common/golden_file.rs"]
pub mod golden_file;

use std::net::TcpStream;
use std::path::{Path, PathBuf};

use crate::common::{TestClient, options, skipped, start_with};
use golden_file::{GoldenExchange, GoldenSection, parse, recorded, request};
use skein_server::ServerOptions;
use skein_store::Durability;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
const PASSWORD: &str = "secret";

/// The file about the memory limit. The disk engine keeps data outside of memory, so it has no such
/// limit.
const OF_MEMORY_ALONE: &str = "memory.txt";

/// Returns the server's replies to a section, in order.
fn run(section: &GoldenSection<'_>, servers: &GoldenServers, resp3: bool) -> Vec<String> {
    let mut client = servers.connect(section.name);
    if resp3 {
        assert!(client.call(&[b"HELLO", b"3"]).starts_with(b"%7\r\n"));
    }
    let ask = |exchange: &GoldenExchange<'_>| {
        client.send(&request(exchange.request).expect("a request"));
        recorded(exchange.request, client.try_reply().as_deref())
    };
    section.exchanges.iter().map(ask).collect()
}

/// Returns the golden files, or the selected one: paths and contents.
fn files() -> Vec<(PathBuf, String)> {
    let only = std::env::var("SKEIN_GOLDEN_FILE").ok();
    let asked = |path: &PathBuf| {
        only.as_ref().is_none_or(|only| path.file_stem().is_some_and(|stem| stem == &only[..]))
    };
    let folder = std::fs::read_dir(FOLDER).expect("the folder of golden files");
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.expect("an entry").path()).filter(asked).collect();
    paths.sort();
    assert!(!paths.is_empty(), "no golden file");
    paths
        .into_iter()
        .map(|path| (path.clone(), std::fs::read_to_string(path).expect("a golden file")))
        .collect()
}

/// The servers on which the sections run.
struct GoldenServers {
    open: String,
    with_password: String,
}

impl GoldenServers {
    fn connect(&self, section: &str) -> TestClient {
        let locked = section.contains("password");
        let address = if locked { &self.with_password } else { &self.open };
        let mut client = TestClient::new(TcpStream::connect(address).expect("a connection"));
        if !locked {
            assert_eq!(client.call(&[b"FLUSHALL"]), b"+OK\r\n");
        }
        client
    }
}

/// Runs a section in its versions of the protocol, and records differences in `failures`. Returns
/// the number of requests.
fn compare(
    servers: &GoldenServers,
    path: &Path,
    section: &GoldenSection<'_>,
    failures: &mut Vec<String>,
) -> usize {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    for &resp3 in section.versions() {
        for (exchange, got) in section.exchanges.iter().zip(run(section, servers, resp3)) {
            let expected = exchange.expected(resp3);
            if got != expected {
                let (number, request) = (exchange.number, exchange.request);
                let version = if resp3 { 3 } else { 2 };
                failures.push(format!(
                    "{file}:{number}, RESP{version}: {request}\n  expected {expected}\n  got      {got}"
                ));
            }
        }
    }
    section.exchanges.len() * section.versions().len()
}

/// Returns whether a section has requests to other databases than 0.
fn uses_databases(section: &GoldenSection<'_>) -> bool {
    let to_database = |request: &str| {
        // The first word marks a request.
        let mut words = request.split(' ').skip(1);
        let name = words.next().unwrap_or_default();
        ["SELECT", "SWAPDB", "MOVE"].contains(&name) || words.any(|word| word == "DB" || word == "databases")
    };
    section.exchanges.iter().any(|exchange| to_database(exchange.request))
}

#[test]
fn replies_are_those_of_redis() {
    let open = start_with(options(), Durability::Buffered);
    let with_password = start_with(
        ServerOptions { password: Some(PASSWORD.as_bytes().to_vec()), ..options() },
        Durability::Buffered,
    );
    let servers =
        GoldenServers { open: open.address.to_string(), with_password: with_password.address.to_string() };
    let (mut failures, mut asked) = (Vec::new(), 0);
    let on_disk = crate::common::trie().is_some();
    for (path, file) in files() {
        if on_disk && path.ends_with(OF_MEMORY_ALONE) {
            continue;
        }
        for section in &parse(&file) {
            if uses_databases(section) && skipped("it has database 0 alone") {
                continue;
            }
            asked += compare(&servers, &path, section, &mut failures);
        }
    }
    assert!(failures.is_empty(), "{} of {asked} differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
#[ignore = "records the replies of a real redis-server, see above"]
fn record() {
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("set {name} to HOST:PORT"));
    let servers = GoldenServers {
        open: variable("SKEIN_GOLDEN_REDIS"),
        with_password: variable("SKEIN_GOLDEN_REDIS_PASSWORD"),
    };
    for (path, file) in files() {
        std::fs::write(path, record_file(&servers, &file)).expect("to write the golden file");
    }
}

/// Returns the file with the current replies of the servers.
fn record_file(servers: &GoldenServers, file: &str) -> String {
    let mut answered = Vec::new();
    for section in parse(file) {
        let by_version: Vec<_> =
            section.versions().iter().map(|&resp3| run(&section, servers, resp3)).collect();
        for (i, exchange) in section.exchanges.iter().enumerate() {
            let older = &by_version[0][i];
            let newer = by_version.last().map(|replies| &replies[i]).filter(|newer| *newer != older);
            answered.push((exchange.number, older.clone(), newer.cloned()));
        }
    }
    let mut answered = answered.into_iter().peekable();
    let mut out = String::new();
    for (line, number) in file.lines().zip(1..).filter(|(line, _)| !line.starts_with('<')) {
        out.extend([line, "\n"]);
        if let Some((_, older, newer)) = answered.next_if(|(asked, ..)| *asked == number) {
            out.extend(["< ", &older, "\n"]);
            if let Some(newer) = newer {
                out.extend(["<3 ", &newer, "\n"]);
            }
        }
    }
    out
}
