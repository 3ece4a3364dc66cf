//! Databases: which keys each has, also after restarts and swaps, and which clients are served and told.
//!
//! `golden/databases.txt` has the replies of each command, `golden_events/events.txt` the events, and
//! the differential tests run all families of commands in several databases.

mod told;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::blocking::{answer, send};
use crate::common::{
    TestClient, TestServer, encode, index, options, run, show, skipped, start_on, start_on_disk, start_with,
    trie, wait_for,
};
use skein_data::{DATABASES_KEY, DiskEngine, Engine, StoredKeyspace};
use skein_disk::{DiskOptions, DiskStore, TrieShape, Values};
use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;
use skein_server::{Server, ServerOptions, StartError};
use skein_store::{Durability, IndexKind, Store, StoreLimits, StoreOptions};

const REASON: &str = "keys of other databases have a prefix of 8 bytes";

fn start() -> TestServer {
    start_with(ServerOptions { workers: 3, ..options() }, Durability::Sync)
}

/// Connects a client of a database.
fn client_of(server: &TestServer, database: u32) -> TestClient {
    let mut client = server.connect();
    assert_eq!(client.ask(&format!("SELECT {database}")), "+OK|");
    client
}

/// Starts a server over each engine.
fn over_each(test: impl Fn(&TestServer)) {
    test(&start());
    for shape in [TrieShape::Linked, TrieShape::Classical { n: 16 }, TrieShape::Hash { n: 16 }] {
        test(&start_on_disk(
            options(),
            DiskOptions { shape, values: Values::Rows, ..DiskOptions::default() },
        ));
    }
}

/// Opens the engine that the environment chooses, on a simulated disk.
fn open(disk: &SimStorage) -> Engine {
    let durability = Durability::Sync;
    match trie() {
        None => {
            let (storage, index) = (disk.share(), index());
            let options = StoreOptions { durability, logs: 3, index, storage, ..StoreOptions::default() };
            Store::open(Path::new("/data"), options).expect("a store").into()
        }
        Some(shape) => {
            let options = DiskOptions { durability, shape, values: Values::Rows, ..DiskOptions::default() };
            let store = DiskStore::open_on(disk.share(), "/data", options).expect("a store");
            DiskEngine::new(store, StoreLimits::default()).expect("a store of rows").into()
        }
    }
}

fn serve(disk: &SimStorage, options: ServerOptions) -> TestServer {
    run(options, open(disk), tempfile::tempdir().expect("a folder"))
}

/// Returns the lines of a section of INFO.
fn info(client: &mut TestClient, section: &str) -> Vec<String> {
    let info = client.ask(&format!("INFO {section}"));
    info.split('|').filter(|line| line.contains(':')).map(str::to_owned).collect()
}

/// Returns the elements of a reply that is a list of texts, in order.
fn texts(reply: &str) -> Vec<String> {
    let mut found: Vec<String> = reply.split('|').skip(2).step_by(2).map(str::to_owned).collect();
    found.sort();
    found
}

#[test]
fn numbers_and_walks_are_of_the_selected_database() {
    if skipped(REASON) {
        return;
    }
    over_each(|server| {
        let mut clients = [0, 1, 15].map(|database| client_of(server, database));
        for (client, count) in clients.iter_mut().zip([3, 5, 0]) {
            for number in 0..count {
                client.ask(&format!("SET k{number} v"));
            }
        }
        clients[1].ask("EXPIRE k0 1000");
        for (client, count) in clients.iter_mut().zip([3, 5, 0]) {
            assert_eq!(client.ask("DBSIZE"), format!(":{count}|"));
            let expected: Vec<String> = (0..count).map(|number| format!("k{number}")).collect();
            assert_eq!(texts(&client.ask("KEYS *")), expected);
            let page = client.ask("SCAN 0 COUNT 100");
            assert_eq!(texts(page.strip_prefix("*2|$1|0|").expect("the last page")), expected);
            let random = client.ask("RANDOMKEY");
            assert_eq!(random == "$-1|", count == 0, "{random}");
        }
        let lines = info(&mut clients[2], "keyspace");
        assert_eq!(lines[0], "db0:keys=3,expires=0,avg_ttl=0");
        let average = lines[1].strip_prefix("db1:keys=5,expires=1,avg_ttl=").expect("database 1");
        assert!((990_000..=1_000_000).contains(&average.parse().expect("milliseconds")), "{lines:?}");
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(clients[1].ask("FLUSHDB"), "+OK|");
        assert_eq!(clients[0].ask("DBSIZE"), ":3|");
        clients[2].ask("MSET a 1 b 2");
        assert_eq!(clients[1].ask("FLUSHALL"), "+OK|");
        for client in &mut clients {
            assert_eq!(client.ask("DBSIZE"), ":0|");
        }
        assert_eq!(info(&mut clients[0], "keyspace"), [""; 0]);
    });
}

#[test]
fn ordered_commands_stay_within_the_database() {
    if skipped(REASON) {
        return;
    }
    let memory = start_on(options(), StoreOptions { index: index(), ..StoreOptions::default() });
    let servers =
        [memory, start_on_disk(options(), DiskOptions { values: Values::Rows, ..DiskOptions::default() })];
    for server in &servers {
        let mut clients = [0, 2, 3].map(|database| client_of(server, database));
        clients[0].call(&[b"MSET", b"a", b"0", b"\xff", b"0", b"\xffT", b"0"]);
        clients[1].ask("MSET b 2 c 2 d 2");
        clients[2].ask("SET e 3");
        let mut middle = |words: &str| clients[1].ask(words);
        assert_eq!(middle("SK.FIRST"), "*2|$1|b|$1|2|");
        assert_eq!(middle("SK.LAST"), "*2|$1|d|$1|2|");
        assert_eq!(middle("SK.NEXT b"), "*2|$1|c|$1|2|");
        assert_eq!(middle("SK.NEXT d"), "*-1|");
        assert_eq!(middle("SK.PREV b"), "*-1|");
        assert_eq!(middle("SK.PREV z"), "*2|$1|d|$1|2|");
        assert_eq!(middle("SK.COUNT - +"), ":3|");
        assert_eq!(middle("SK.COUNT (b +"), ":2|");
        assert_eq!(middle("SK.RANGE - + NOVALUES"), "*3|$1|b|$1|c|$1|d|");
        assert_eq!(middle("SK.RANGE - + NOVALUES REV"), "*3|$1|d|$1|c|$1|b|");
        assert_eq!(middle("SK.RANGE [c + SNAPSHOT"), "*4|$1|c|$1|2|$1|d|$1|2|");
        assert_eq!(middle("SK.PREFIX c NOVALUES"), "*1|$1|c|");
        assert_eq!(middle("SK.DELRANGE (c +"), ":1|");
        assert_eq!(middle("SK.DELRANGE - +"), ":2|");
        // Of database 0, both sides of the reserved keys.
        let all = clients[0].call(&[b"SK.RANGE", b"-", b"+", b"NOVALUES"]);
        assert_eq!(all, b"*3\r\n$1\r\na\r\n$1\r\n\xff\r\n$2\r\n\xffT\r\n");
        let back = clients[0].call(&[b"SK.RANGE", b"-", b"+", b"NOVALUES", b"REV"]);
        assert_eq!(back, b"*3\r\n$2\r\n\xffT\r\n$1\r\n\xff\r\n$1\r\na\r\n");
        assert_eq!(clients[0].call(&[b"SK.NEXT", b"\xff"]), b"*2\r\n$2\r\n\xffT\r\n$1\r\n0\r\n");
        assert_eq!(clients[0].call(&[b"SK.PREV", b"\xffT"]), b"*2\r\n$1\r\n\xff\r\n$1\r\n0\r\n");
        assert_eq!(clients[0].ask("SK.COUNT - +"), ":3|");
        assert_eq!(clients[0].ask("SK.COUNT [b +"), ":2|");
        assert_eq!(clients[0].ask("SK.DELRANGE - +"), ":3|");
        assert_eq!(clients[2].ask("DBSIZE"), ":1|");
    }
}

/// Reads pages of SCAN until the end.
fn scanned(client: &mut TestClient, options: &str) -> Vec<String> {
    let (mut cursor, mut all) = ("0".to_owned(), Vec::new());
    loop {
        let page = client.ask(&format!("SCAN {cursor}{options}"));
        let (next, list) = page
            .strip_prefix("*2|")
            .and_then(|rest| rest[rest.find('|').unwrap() + 1..].split_once('|'))
            .expect("a page");
        all.extend(texts(list));
        next.clone_into(&mut cursor);
        if cursor == "0" {
            all.sort();
            return all;
        }
    }
}

/// Long tasks, which run in slices, in a database between others.
#[test]
fn many_keys_are_scanned_counted_and_removed_in_slices() {
    if skipped(REASON) {
        return;
    }
    over_each(|server| {
        let mut clients = [0, 7, 8].map(|database| client_of(server, database));
        let name = |number: usize| format!("key:{number:05}");
        for client in &mut clients {
            for chunk in (0..3000).collect::<Vec<_>>().chunks(500) {
                let names: Vec<String> = chunk.iter().map(|number| name(*number)).collect();
                let mut words: Vec<&[u8]> = vec![b"MSET"];
                words.extend(names.iter().flat_map(|name| [name.as_bytes(), b"v"]));
                assert_eq!(client.call(&words), b"+OK\r\n");
            }
        }
        let all: Vec<String> = (0..3000).map(name).collect();
        assert_eq!(texts(&clients[1].ask("KEYS *")), all);
        assert_eq!(scanned(&mut clients[1], " COUNT 700"), all);
        assert_eq!(scanned(&mut clients[1], " MATCH key:000* COUNT 7"), all[..100]);
        let mut del: Vec<&[u8]> = vec![b"DEL"];
        del.extend(all[..1000].iter().map(String::as_bytes));
        assert_eq!(clients[1].call(&del), b":1000\r\n");
        assert_eq!(clients[1].ask("DBSIZE"), ":2000|");
        assert_eq!(clients[1].ask("FLUSHDB"), "+OK|");
        assert_eq!(clients[1].ask("DBSIZE"), ":0|");
        assert_eq!(clients[0].ask("DBSIZE"), ":3000|");
        assert_eq!(clients[0].ask("FLUSHDB"), "+OK|");
        assert_eq!(clients[2].ask("DBSIZE"), ":3000|");
        assert_eq!(clients[0].ask("FLUSHALL"), "+OK|");
        assert_eq!(clients[2].ask("DBSIZE"), ":0|");
    });
}

#[test]
fn databases_and_their_swaps_survive_a_restart() {
    if skipped(REASON) {
        return;
    }
    let disk = SimStorage::new();
    for round in 0..2 {
        let server = serve(&disk, options());
        let mut clients = [0, 1, 2].map(|database| client_of(&server, database));
        if round == 0 {
            for (database, client) in clients.iter_mut().enumerate() {
                assert_eq!(client.ask(&format!("SET name {database}")), "+OK|");
                assert_eq!(client.ask("SET timed v EX 5000"), "+OK|");
                assert_eq!(client.ask("SADD members a b"), ":2|");
            }
            for words in ["SWAPDB 0 1", "SWAPDB 1 2", "SWAPDB 3 0"] {
                assert_eq!(clients[0].ask(words), "+OK|");
            }
        }
        let mut third = client_of(&server, 3);
        for (client, name) in
            clients.iter_mut().zip([None, Some("2"), Some("0")]).chain([(&mut third, Some("1"))])
        {
            let expected = name.map_or("$-1|".to_owned(), |name| format!("$1|{name}|"));
            assert_eq!(client.ask("GET name"), expected);
            assert_eq!(client.ask("DBSIZE"), if name.is_some() { ":3|" } else { ":0|" });
        }
        let lines = info(&mut third, "keyspace");
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines.iter().all(|line| line.contains(":keys=3,expires=1,avg_ttl=4")), "{lines:?}");
    }
    // With fewer databases, the others keep their keys.
    let server = serve(&disk, ServerOptions { databases: 2, ..options() });
    let mut client = client_of(&server, 1);
    assert_eq!(client.ask("SELECT 2"), "-ERR DB index is out of range|");
    assert_eq!(client.ask("SWAPDB 0 2"), "-ERR DB index is out of range|");
    assert_eq!(client.ask("CONFIG GET databases"), "*2|$9|databases|$1|2|");
    assert_eq!(client.ask("GET name"), "$1|2|");
    drop(server);
    let server = serve(&disk, options());
    assert_eq!(client_of(&server, 3).ask("GET name"), "$1|1|");
    assert_eq!(client_of(&server, 3).ask("FLUSHALL"), "+OK|");
    drop(server);
    assert_eq!(info(&mut serve(&disk, options()).connect(), "keyspace"), [""; 0]);
}

/// At `sync`, acknowledged writes to all databases and swaps survive a power cut.
#[test]
fn databases_and_their_swaps_survive_a_power_cut() {
    if skipped(REASON) {
        return;
    }
    let disk = SimStorage::new();
    let server = serve(&disk, options());
    let mut client = server.connect();
    for words in
        ["SET a 0", "SELECT 1", "SET a 1", "SET b 1", "SWAPDB 1 4", "SELECT 5", "SET a 5", "SWAPDB 5 0"]
    {
        assert_eq!(client.ask(words), "+OK|", "{words}");
    }
    // The state as the disk has it now: writes that were not synced are lost.
    let cut = disk.share();
    disk.reboot(7);
    drop(server);
    drop(cut);
    let server = serve(&disk, options());
    let mut client = server.connect();
    for (database, value, count) in [(0, "$1|5|", 1), (1, "$-1|", 0), (4, "$1|1|", 2), (5, "$1|0|", 1)] {
        assert_eq!(client.ask(&format!("SELECT {database}")), "+OK|");
        assert_eq!(client.ask("GET a"), value, "{database}");
        assert_eq!(client.ask("DBSIZE"), format!(":{count}|"), "{database}");
    }
}

#[test]
fn a_damaged_table_stops_the_start() {
    if skipped(REASON) {
        return;
    }
    let disk = SimStorage::new();
    let engine = open(&disk);
    let (put, _) = engine.session().keys().write(|writer| writer.put(DATABASES_KEY, b"no table"));
    put.expect("a write").expect("a put");
    let error = Server::start(engine.clone(), options()).expect_err("a damaged row");
    assert!(matches!(error, StartError::Databases { .. }), "{error}");
    assert!(error.to_string().contains("no table"), "{error}");
    engine.close().expect("closed");
}

/// No client of any database can name a key of another one, or a row of the server.
#[test]
fn reserved_keys_are_refused_in_every_database() {
    if skipped(REASON) {
        return;
    }
    let server = start();
    client_of(&server, 3).ask("MSET k secret w_1 7");
    let stored = StoredKeyspace::of_database(3).stored(b"k").into_owned();
    let refused =
        r"-ERR keys that begin with \xffSK\x00 are reserved for databases and keyspaces; use another key|";
    for database in [0, 3, 5] {
        let mut client = client_of(&server, database);
        for key in [&stored[..], DATABASES_KEY, b"\xffSK\0"] {
            for request in [
                &[&b"GET"[..], key][..],
                &[b"SET", key, b"v"],
                &[b"DEL", b"a", key],
                &[b"COPY", key, b"mine"],
                &[b"MOVE", key, b"9"],
                &[b"SK.NEXT", key],
                &[b"XREADGROUP", b"COUNT", b"1", b"GROUP", b"streams", b"c", b"STREAMS", key, b">"],
                &[b"EVAL", b"return 1", b"1", key],
            ] {
                assert_eq!(show(&client.call(request)), refused, "{request:?}");
            }
        }
        // Ranges and patterns do not show them either.
        let [low, high] = [[b"[", &stored[..]].concat(), [b"[", &stored[..], b"\xff"].concat()];
        if trie().is_none_or(TrieShape::is_ordered) {
            assert_eq!(client.call(&[b"SK.RANGE", &low, &high]), b"*0\r\n");
            assert_eq!(client.call(&[b"SK.COUNT", &low, &high]), b":0\r\n");
            assert_eq!(client.call(&[b"SK.DELRANGE", &low, &high]), b":0\r\n");
        }
        assert_eq!(client.call(&[b"KEYS", b"\xffSK*"]), b"*0\r\n");
        client.call(&[b"RPUSH", b"elements", &stored]);
        assert_eq!(show(&client.call(&[b"SORT", b"elements", b"ALPHA", b"GET", b"*"])), "*1|$-1|");
        client.call(&[b"SET", b"value", &stored]);
        assert_eq!(client.call(&[b"GET", b"value"]), [&b"$9\r\n"[..], &stored, b"\r\n"].concat());
    }
    assert_eq!(client_of(&server, 3).ask("GET k"), "$6|secret|");
}

#[test]
fn keys_of_other_databases_are_shorter_by_their_prefix() {
    if skipped(REASON) {
        return;
    }
    let limits = StoreLimits { key_bytes: 20, ..StoreLimits::default() };
    let server = start_on(options(), StoreOptions { limits, index: index(), ..StoreOptions::default() });
    let (fits, too_long) = ("k".repeat(12), "k".repeat(13));
    let mut client = client_of(&server, 1);
    assert_eq!(client.ask(&format!("SET {fits} v")), "+OK|");
    let error = client.ask(&format!("SET {too_long} v"));
    assert!(error.contains("has 13 bytes") && error.contains("at most 12"), "{error}");
    assert_eq!(client.ask(&format!("GET {too_long}")), "$-1|");
    client.ask("SELECT 0");
    assert_eq!(client.ask(&format!("SET {too_long} v")), "+OK|");
    assert!(client.ask(&format!("COPY {too_long} {too_long} DB 1")).contains("at most 12"));
    assert_eq!(client.ask(&format!("EXISTS {too_long}")), ":1|");
    assert_eq!(client.ask("SELECT 1"), "+OK|");
    assert_eq!(client.ask("DBSIZE"), ":1|");
}

#[test]
fn an_index_of_short_keys_has_one_database() {
    let server = start_on(options(), StoreOptions { index: IndexKind::Mlp, ..StoreOptions::default() });
    let mut client = server.connect();
    assert_eq!(client.ask("SELECT 0"), "+OK|");
    assert_eq!(client.ask("SELECT 1"), "-ERR DB index is out of range|");
    assert_eq!(client.ask("CONFIG GET databases"), "*2|$9|databases|$1|1|");
    for words in ["SET k v", "SWAPDB 0 0"] {
        assert_eq!(client.ask(words), "+OK|");
    }
    assert_eq!(client.ask("DBSIZE"), ":1|");
}

/// Both keys of a database have one value at any time, whatever is swapped meanwhile by clients of
/// several workers, alone, in pipelines and in transactions.
#[test]
fn a_swap_is_atomic() {
    if skipped(REASON) {
        return;
    }
    let server = start();
    for database in [0, 1, 2] {
        client_of(&server, database).ask(&format!("MSET one {database} other {database}"));
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for reader in 0..4 {
            let (server, done) = (&server, &done);
            scope.spawn(move || {
                let mut client = client_of(server, reader % 3);
                while !done.load(Ordering::Relaxed) {
                    let both = client.ask("MGET one other");
                    let (one, other) = both["*2|$1|".len()..].split_at(1);
                    assert!(other.ends_with(&format!("|{one}|")), "{both}");
                    for words in ["MULTI", "GET one", "GET other"] {
                        client.ask(words);
                    }
                    let both = client.ask("EXEC");
                    let (one, other) = both["*2|$1|".len()..].split_at(1);
                    assert!(other.ends_with(&format!("|{one}|")), "{both}");
                    let pipeline = [&[b"GET", &b"one"[..]][..], &[b"SET", b"mine", b"1"], &[b"GET", b"mine"]];
                    let bytes: Vec<u8> = pipeline.iter().flat_map(|request| encode(request)).collect();
                    client.send(&bytes);
                    assert!(show(&client.reply()).starts_with("$1|"));
                    assert_eq!([client.reply(), client.reply()].map(|reply| reply[0]), *b"+$");
                }
            });
        }
        let mut swapper = server.connect();
        for round in 0..400 {
            let words = ["SWAPDB 0 1", "SWAPDB 1 2", "SWAPDB 2 0"][round % 3];
            assert_eq!(swapper.ask(words), "+OK|");
        }
        done.store(true, Ordering::Relaxed);
    });
    let mut values: Vec<String> =
        [0, 1, 2].iter().map(|database| client_of(&server, *database).ask("GET one")).collect();
    values.sort();
    assert_eq!(values, ["$1|0|", "$1|1|", "$1|2|"]);
}

/// A transaction that the disk engine undoes swaps nothing.
#[test]
fn an_undone_exec_swaps_nothing() {
    let disk = SimStorage::new();
    let values = Values::Rows;
    let small =
        DiskOptions { values, durability: Durability::Buffered, cache_pages: 32, ..DiskOptions::default() };
    let open = || {
        let store = DiskStore::open_on(disk.share(), "/db", small.clone()).expect("a store");
        Engine::from(DiskEngine::new(store, StoreLimits::default()).expect("a store of rows"))
    };
    let long = "v".repeat(3000);
    {
        let server = run(options(), open(), tempfile::tempdir().expect("a folder"));
        let mut client = server.connect();
        for number in 0..200 {
            assert_eq!(client.ask(&format!("SET filler{number} {long}")), "+OK|");
        }
        for words in ["SET name zero", "SELECT 1", "SET name one"] {
            assert_eq!(client.ask(words), "+OK|");
        }
    }
    // Its cache is empty, so the transaction must read pages.
    let server = run(options(), open(), tempfile::tempdir().expect("a folder"));
    let mut client = client_of(&server, 0);
    for words in ["MULTI", "SWAPDB 0 1", "GET name", "SELECT 1"] {
        client.ask(words);
    }
    for number in 0..200 {
        client.ask(&format!("SET filler{number} {long}"));
    }
    disk.fail_at(disk.operations() + 3, skein_log::storage::sim::SimError::Io, true);
    let executed = client.ask("EXEC");
    disk.no_faults();
    assert!(executed.starts_with("-EXECABORT"), "{executed}");
    assert!(client.ask("CLIENT INFO").contains(" db=1 "), "what it has selected stays");
    assert_eq!(client.ask("GET name"), "$3|one|");
    client.ask("SELECT 0");
    assert_eq!(client.ask("GET name"), "$4|zero|");
}

/// A client that waits while its data is loading, or selects a database then, keeps it.
#[test]
fn a_database_can_be_selected_while_the_data_is_loading() {
    if skipped(REASON) {
        return;
    }
    let bound = Server::bind(options(), std::sync::Arc::default())
        .and_then(skein_server::BoundServer::answer_loading)
        .expect("it answers");
    let stream = std::net::TcpStream::connect(bound.local_addr()).expect("a connection");
    let mut early = TestClient::new(stream);
    assert_eq!(early.ask("SELECT 3"), "+OK|");
    let disk = SimStorage::new();
    let engine = open(&disk);
    let server = bound.serve(engine.clone()).expect("it serves");
    wait_for(|| early.ask("SET k v") == "+OK|");
    assert_eq!(early.ask("INFO keyspace"), "$44|# Keyspace|db3:keys=1,expires=0,avg_ttl=0||");
    send(&mut early, "CLIENT INFO");
    assert!(answer(&mut early).contains(" db=3 "));
    server.handle().shutdown();
    assert!(server.wait().failed_threads.is_empty());
    engine.close().expect("closed");
}
