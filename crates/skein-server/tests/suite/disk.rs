//! Special cases of the disk engine: a cache smaller than the data, unreadable pages, a trie
//! without order.

use std::ops::Range;
use std::path::Path;

use crate::common::{TestClient, TestServer, encode, options, show, start_on_disk};
use skein_data::{DiskEngine, Engine};
use skein_disk::{DiskOptions, DiskStore, TrieShape, Values};
use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;
use skein_server::Server;
use skein_store::{Durability, StoreLimits};

const SHAPES: [TrieShape; 3] = [TrieShape::Linked, TrieShape::Classical { n: 16 }, TrieShape::Hash { n: 16 }];

fn small(shape: TrieShape) -> DiskOptions {
    let values = Values::Rows;
    DiskOptions { shape, values, cache_pages: 32, checkpoint_bytes: 200_000, ..DiskOptions::default() }
}

fn key(number: u32) -> String {
    format!("key/{:08x}", number.wrapping_mul(2_654_435_769))
}

/// Pipelines a request for each number, and checks the replies.
fn pipeline(
    client: &mut TestClient,
    numbers: Range<u32>,
    request: impl Fn(u32) -> Vec<String>,
    reply: impl Fn(u32) -> String,
) {
    let numbers: Vec<u32> = numbers.collect();
    for numbers in numbers.chunks(300) {
        let mut bytes = Vec::new();
        for number in numbers {
            let words = request(*number);
            bytes.extend(encode(&words.iter().map(String::as_bytes).collect::<Vec<_>>()));
        }
        client.send(&bytes);
        for number in numbers {
            assert_eq!(show(&client.reply()), reply(*number), "{number}");
        }
    }
}

fn bulk(text: &str) -> String {
    format!("${}|{text}|", text.len())
}

fn fill(client: &mut TestClient, numbers: Range<u32>, value: &str) {
    let set = |number| vec!["SET".to_owned(), key(number), format!("{value}{number}")];
    pipeline(client, numbers, set, |_| "+OK|".to_owned());
}

#[test]
fn pipelines_pass_through_a_small_cache() {
    for shape in SHAPES {
        let server = start_on_disk(options(), small(shape));
        let mut client = server.connect();
        fill(&mut client, 0..3_000, "value ");
        let get = |number| vec!["GET".to_owned(), key(number)];
        pipeline(&mut client, 0..3_000, get, |number| bulk(&format!("value {number}")));
        let count = |number| vec!["INCR".to_owned(), format!("count {}", number % 7)];
        pipeline(&mut client, 0..700, count, |number| format!(":{}|", number / 7 + 1));
        let columns = |number: u32| {
            ["HSET", &format!("row {}", number % 50), &format!("c{}", number / 50), "7"]
                .map(str::to_owned)
                .to_vec()
        };
        pipeline(&mut client, 0..1_000, columns, |_| ":1|".to_owned());
        assert_eq!(client.ask("HLEN row 3"), "-ERR wrong number of arguments for 'hlen' command|");
        assert_eq!(show(&client.call(&[b"HLEN", b"row 3"])), ":20|");
        assert_eq!(client.ask("DBSIZE"), ":3057|");
        let info = client.ask("INFO engine");
        for line in ["engine:disk|", &format!("trie:{shape}|"), "cache_pages:32|"] {
            assert!(info.contains(line), "{line} is not in {info}");
        }
        let number = |name: &str| -> u64 {
            let line = info.split('|').find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.strip_prefix(':')).expect(name).parse().expect(name)
        };
        assert!(number("cache_evictions") > 100 && number("cache_misses") > 100, "{info}");
        assert!(number("file_pages") > number("free_pages") && number("bytes_per_key") > 10, "{info}");
        let engine = engine_of(&server);
        assert_eq!(engine.store().check().expect("whole tries").main.keys, 3_057);
        assert_eq!(client.ask("FLUSHALL"), "+OK|");
        assert_eq!(client.ask("DBSIZE"), ":0|");
        assert_eq!(engine.store().check().expect("whole tries").main.keys, 0);
    }
}

fn engine_of(server: &TestServer) -> DiskEngine {
    match &server.store {
        Engine::Disk(disk) => disk.clone(),
        Engine::Memory(_) => panic!("the server is not over the disk engine"),
    }
}

#[test]
fn a_trie_without_order_rejects_ordered_commands() {
    let server = start_on_disk(options(), small(TrieShape::Hash { n: 16 }));
    let mut client = server.connect();
    assert_eq!(client.ask("MSET a 1 b 2 c 3"), "+OK|");
    for request in [
        "SK.RANGE - +",
        "SK.PREFIX a",
        "SK.COUNT [a +",
        "SK.DELRANGE [a [b",
        "SK.FIRST",
        "SK.LAST",
        "SK.NEXT a",
        "SK.PREV b",
    ] {
        let reply = client.ask(request);
        assert!(reply.starts_with("-ERR a hash trie has no order of keys"), "{request}: {reply}");
    }
    assert_eq!(client.ask("SK.COUNT - +"), ":3|");
    assert_eq!(client.ask("MGET a x c"), "*3|$1|1|$-1|$1|3|");
    assert_eq!(client.ask("EXISTS a x c a"), ":3|");
    assert_eq!(client.ask("SK.DELRANGE - +"), ":3|");
}

/// SCAN, KEYS and RANDOMKEY promise no order.
#[test]
fn a_trie_without_order_shows_all_of_its_keys() {
    let server = start_on_disk(options(), small(TrieShape::Hash { n: 16 }));
    let mut client = server.connect();
    assert_eq!(client.ask("RANDOMKEY"), "$-1|");
    assert_eq!(client.ask("SCAN 0"), "*2|$1|0|*0|");
    let keys: Vec<String> = (0..2_500).map(|number| format!("key:{number:04}")).collect();
    for key in &keys {
        assert_eq!(client.ask(&format!("SET {key} v")), "+OK|");
    }
    for (request, count) in
        [("", 2_500), (" COUNT 700", 2_500), (" MATCH key:1* COUNT 300", 1_000), (" TYPE hash", 0)]
    {
        let (mut seen, mut cursor) = (Vec::new(), "0".to_owned());
        loop {
            let reply = client.ask(&format!("SCAN {cursor}{request}"));
            let mut words = reply.split('|').filter(|word| !word.starts_with(['$', '*']) && !word.is_empty());
            cursor = words.next().unwrap().to_owned();
            seen.extend(words.map(str::to_owned));
            if cursor == "0" {
                break;
            }
        }
        seen.sort();
        assert_eq!(seen.len(), count, "{request}");
        assert!(seen.iter().all(|key| keys.contains(key)) && seen.is_sorted_by(|a, b| a < b), "{request}");
    }
    assert!(client.ask("KEYS *").starts_with("*2500|"));
    assert!(client.ask("KEYS key:00*").starts_with("*100|"));
    assert_eq!(client.ask("KEYS key:0007"), "*1|$8|key:0007|");
    let drawn: std::collections::BTreeSet<String> = (0..50).map(|_| client.ask("RANDOMKEY")).collect();
    assert!(drawn.len() > 30 && drawn.iter().all(|key| key.starts_with("$8|key:")), "{drawn:?}");
    // A transaction sees its own writes, too.
    for request in ["MULTI", "SET key:last v", "KEYS key:l*", "SCAN 0 COUNT 1", "RANDOMKEY"] {
        client.ask(request);
    }
    let reply = client.ask("EXEC");
    assert!(reply.starts_with("*4|+OK|*1|$8|key:last|*2|$"), "{reply}");
    assert!(!reply.contains("ERR"), "{reply}");
}

/// A cache of 256 pages holds a part of the collections.
#[test]
fn collections_larger_than_the_cache_are_read_and_removed() {
    let server = start_on_disk(options(), DiskOptions { cache_pages: 256, ..small(TrieShape::Linked) });
    let mut client = server.connect();
    for chunk in (0..20_000).collect::<Vec<u32>>().chunks(50) {
        let pairs: Vec<_> = chunk.iter().map(|i| format!("{} member:{i:08}", i * 7 % 1_000)).collect();
        assert_eq!(client.ask(&format!("ZADD z {}", pairs.join(" "))), ":50|");
        let fields: Vec<_> = chunk.iter().map(|i| format!("field:{i:08} {i}")).collect();
        assert_eq!(client.ask(&format!("HSET h {}", fields.join(" "))), ":50|");
    }
    assert_eq!((client.ask("ZCARD z"), client.ask("HLEN h")), (":20000|".into(), ":20000|".into()));
    assert_eq!(client.ask("ZCOUNT z 500 +inf"), ":10000|");
    assert_eq!(client.ask("ZRANK z member:00000000"), ":0|");
    assert_eq!(client.ask("ZREVRANGE z 0 0"), "*1|$15|member:00019857|");
    assert_eq!(client.ask("HGET h field:00012345"), "$5|12345|");
    let all = client.ask("ZRANGE z 0 -1");
    assert!(all.starts_with("*20000|$15|member:00000000|$15|member:00001000|"), "{}", &all[..60]);
    assert_eq!(client.ask("DEL z h"), ":2|");
    assert_eq!((client.ask("ZCARD z"), client.ask("DBSIZE")), (":0|".into(), ":0|".into()));
    assert_eq!(client.ask("ZADD z 1 other"), ":1|");
    assert_eq!(client.ask("ZRANGE z 0 -1"), "*1|$5|other|");
    let Engine::Disk(engine) = &server.store else { panic!("a disk engine") };
    let members = || engine.store().check().expect("whole spaces").members.expect("a store of rows").keys;
    // On a busy machine the removal may take minutes, but it makes progress.
    let (mut least, mut since) = (usize::MAX, std::time::Instant::now());
    while least > 0 {
        let left = members();
        if left < least {
            (least, since) = (left, std::time::Instant::now());
        }
        assert!(since.elapsed().as_secs() < 60, "{left} members stay");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    // `other` is in the row of its key.
    assert_eq!(engine.store().check().expect("whole spaces").set_keys, 0);
}

/// Incident: the thread that removes the members of dead collections listed as many as fit a step,
/// and found its transaction full before the first removal. Consequence: members of 20 KB stayed
/// for ever, and so did those of all later collections. Fix: each step removes one member at least.
#[test]
fn long_members_of_a_removed_set_leave_a_small_cache() {
    let server = start_on_disk(options(), DiskOptions { cache_pages: 128, ..small(TrieShape::Linked) });
    let mut client = server.connect();
    for number in 0..100 {
        let member = format!("{number}{}", "v".repeat(20_000));
        assert_eq!(client.ask(&format!("ZADD long {number} {member}")), ":1|");
    }
    let fields: Vec<_> = (0..500).map(|field| format!("{field} v")).collect();
    for chunk in fields.chunks(50) {
        client.ask(&format!("HSET other {}", chunk.join(" ")));
    }
    assert_eq!(client.ask("DEL long other"), ":2|");
    let Engine::Disk(engine) = &server.store else { panic!("a disk engine") };
    let members = || engine.store().check().expect("whole spaces").members.expect("a store of rows").keys;
    crate::common::wait_for(|| members() == 0);
}

#[test]
fn a_snapshot_shows_the_collections_of_its_moment() {
    let server = start_on_disk(options(), small(TrieShape::Linked));
    let mut client = server.connect();
    client.ask("ZADD z 1 a 2 b");
    client.ask("SET s value");
    let shown = client.ask("SK.RANGE - + SNAPSHOT");
    assert_eq!(shown, "*4|$1|s|$5|value|$1|z|*4|$1|a|$1|1|$1|b|$1|2|");
}

#[test]
fn a_write_may_be_larger_than_the_cache() {
    let server = start_on_disk(options(), small(TrieShape::Linked));
    let mut client = server.connect();
    let long = vec![b'v'; 200_000];
    assert_eq!(show(&client.call(&[b"SET", b"long", &long])), "+OK|");
    assert_eq!(client.ask("STRLEN long"), ":200000|");
    let keys: Vec<String> = (0..8_000).map(key).collect();
    let mut mset: Vec<&[u8]> = vec![b"MSET"];
    mset.extend(keys.iter().flat_map(|key| [key.as_bytes(), b"some value"]));
    assert_eq!(show(&client.call(&mset)), "+OK|");
    assert_eq!(client.ask("DBSIZE"), ":8001|");
    assert_eq!(client.ask(&format!("GET {}", keys[7_999])), "$10|some value|");
    engine_of(&server).store().check().expect("whole pages");
    // Commands that need not be atomic run in parts.
    let mut del: Vec<&[u8]> = vec![b"DEL"];
    del.extend(keys.iter().map(String::as_bytes));
    assert_eq!(show(&client.call(&del)), ":8000|");
}

#[test]
fn a_foreign_value_is_an_error_and_can_be_replaced() {
    let server = start_on_disk(options(), small(TrieShape::Linked));
    let engine = engine_of(&server);
    engine.store().set(b"foreign", b"plain bytes").expect("a write");
    let mut client = server.connect();
    for request in
        ["GET foreign", "TYPE foreign", "HGETALL foreign", "APPEND foreign x", "MGET a foreign", "SK.FIRST"]
    {
        let reply = client.ask(request);
        assert!(reply.starts_with("-ERR the value of the key `foreign` is not a row"), "{request}: {reply}");
    }
    assert_eq!(client.ask("SET foreign mine"), "+OK|");
    assert_eq!(client.ask("GET foreign"), "$4|mine|");
}

#[test]
fn a_store_of_plain_bytes_is_not_served() {
    let storage = SimStorage::new();
    let options = DiskOptions { values: Values::Bytes, ..small(TrieShape::Linked) };
    let store = DiskStore::open_on(storage.share(), "/db", options).expect("a store");
    let refused = DiskEngine::new(store, StoreLimits::default()).expect_err("it has no rows").to_string();
    assert!(
        refused.starts_with("the values of the store are plain bytes, but a server needs rows"),
        "{refused}"
    );
}

/// Returns a server over a store with a damaged page.
fn damaged(durability: Durability) -> (SimStorage, Server, DiskEngine) {
    let storage = SimStorage::new();
    let open = || {
        let options = DiskOptions { durability, segment_bytes: 64 << 10, ..small(TrieShape::Linked) };
        DiskStore::open_on(storage.share(), "/db", options).expect("a store")
    };
    let store = open();
    for number in 0..2_000 {
        store.set(key(number).as_bytes(), &[b"\x01", &[b'v'; 100][..]].concat()).expect("a write");
    }
    store.close().expect("a clean end");
    drop(store);
    // Damages a page that holds only some of the keys. Undoes the damage of other pages.
    let is_leaf = |place: u64| {
        let flip = || storage.damage(Path::new("/db/data.skein"), place * 4096 + 100, &[0x40]);
        flip();
        let store = DiskStore::open_on(storage.share(), "/db", small(TrieShape::Linked));
        let fails = |store: &DiskStore, number| store.get(key(number).as_bytes()).is_err();
        let failing = store.map_or(0, |store| {
            let others = store.get(b"counter").is_err();
            if others { 0 } else { (0..2_000).filter(|number| fails(&store, *number)).count() }
        });
        let is_one = (1..500).contains(&failing);
        if !is_one {
            flip();
        }
        is_one
    };
    assert!((20..1_000).any(is_leaf), "no page can be damaged alone");
    let engine = DiskEngine::new(open(), StoreLimits::default()).expect("a store of rows");
    let server = Server::start(engine.clone(), options()).expect("a server");
    (storage, server, engine)
}

/// Incident: a write that fails half-way fails together with all writes published with it.
/// Consequence: neighbours in the batch would report a failure that does not concern them. Fix: the
/// neighbours run again, one by one.
#[test]
fn a_damaged_page_fails_only_the_commands_that_need_it() {
    for durability in [Durability::Buffered, Durability::Sync] {
        let (_storage, server, engine) = damaged(durability);
        let mut client =
            TestClient::new(std::net::TcpStream::connect(server.local_addr()).expect("a connection"));
        let mut bytes = Vec::new();
        for number in 0..2_000 {
            bytes.extend(encode(&[b"GET", key(number).as_bytes()]));
            bytes.extend(encode(&[b"APPEND", key(number).as_bytes(), b"!"]));
            bytes.extend(encode(&[b"INCR", b"counter"]));
        }
        let mut writer = TestClient::new(client.stream.try_clone().expect("a clone"));
        let sender = std::thread::spawn(move || writer.send(&bytes));
        let (mut failed, mut counted) = (0, 0);
        for number in 0..2_000 {
            let (got, appended) = (show(&client.reply()), show(&client.reply()));
            if got.starts_with("$100|vvv") {
                assert_eq!(appended, ":101|", "{number}");
            } else {
                for reply in [got, appended] {
                    assert!(
                        reply.starts_with("-ERR /db/data.skein is damaged in the page at byte"),
                        "{reply}"
                    );
                }
                failed += 1;
            }
            counted += 1;
            assert_eq!(show(&client.reply()), format!(":{counted}|"));
        }
        sender.join().expect("it was sent");
        assert!(failed > 0 && failed < 1_500, "{failed}");
        assert_eq!(client.ask("SAVE"), "+OK|");
        server.handle().shutdown();
        assert!(server.wait().flushed.is_ok());
        assert_eq!(engine.store().get(b"counter").expect("a read"), Some(b"\x012000".to_vec()));
    }
}

/// A write that fails half-way fails the whole transaction. The error of a command that wrote
/// nothing is in its place.
#[test]
fn a_damaged_page_aborts_a_transaction() {
    let (_storage, server, _engine) = damaged(Durability::Buffered);
    let mut client =
        TestClient::new(std::net::TcpStream::connect(server.local_addr()).expect("a connection"));
    let is_damaged = |number: &u32| client.ask(&format!("GET {}", key(*number))).starts_with("-ERR");
    let damaged = (0..2_000).find(is_damaged).expect("a damaged key");
    let set = format!("SET {} x", key(damaged));
    client.ask("MSET a before counter 5");
    let mut transaction = |set: &str| {
        let requests = ["MULTI", "SET a after", "INCR a", set, "INCR counter"];
        for request in requests {
            client.ask(request);
        }
        (client.ask("EXEC"), client.ask("MGET a counter"))
    };
    let (aborted, unchanged) = transaction(&set);
    let because = "-EXECABORT Transaction discarded because of: ERR /db/data.skein is damaged in the page";
    assert!(aborted.starts_with(because), "{aborted}");
    assert_eq!(unchanged, "*2|$6|before|$1|5|");
    let (done, changed) = transaction("SET b x");
    assert_eq!(done, "*4|+OK|-ERR value is not an integer or out of range|+OK|:6|");
    assert_eq!(changed, "*2|$5|after|$1|6|");
}

/// The disk fails during a batch: the server must not acknowledge a write that may be lost.
#[test]
fn writes_stop_when_the_log_fails_and_reads_continue() {
    let storage = SimStorage::new();
    let options_of = DiskOptions { durability: Durability::Sync, ..small(TrieShape::Linked) };
    let store = DiskStore::open_on(storage.share(), "/db", options_of).expect("a store");
    let engine = DiskEngine::new(store, StoreLimits::default()).expect("a store of rows");
    let server = Server::start(engine, options()).expect("a server");
    let connect =
        || TestClient::new(std::net::TcpStream::connect(server.local_addr()).expect("a connection"));
    let mut client = connect();
    assert_eq!(client.ask("SET a 1"), "+OK|");
    storage.fail_at(storage.operations() + 1, skein_log::storage::sim::SimError::Io, true);
    let reply = client.ask("SET b 2");
    assert!(reply.starts_with("-MISCONF writes are stopped"), "{reply}");
    let mut client = connect();
    let reply = client.ask("SET c 3");
    assert!(reply.starts_with("-MISCONF writes are stopped"), "{reply}");
    assert_eq!(client.ask("GET a"), "$1|1|");
    assert_eq!(client.ask("GET c"), "$-1|");
    server.handle().shutdown();
    assert!(server.wait().flushed.is_err());
}

/// Returns a number of a section of INFO.
fn number(client: &mut TestClient, section: &str, name: &str) -> u64 {
    let info = client.ask(&format!("INFO {section}"));
    let value = info.split('|').find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} is not in {info}"))
}

#[test]
fn maxmemory_is_the_size_of_the_cache() {
    let server = start_on_disk(options(), small(TrieShape::Linked));
    let mut client = server.connect();
    assert_eq!(
        client.ask("CONFIG GET maxmemory maxmemory-c* maxmemory-p*"),
        "*6|$9|maxmemory|$6|131072|$17|maxmemory-clients|$1|0|$16|maxmemory-policy|$10|noeviction|"
    );
    fill(&mut client, 0..6_000, "value ");
    let used = |client: &mut TestClient| {
        ["cache_pages", "cache_pages_used"].map(|name| number(client, "engine", name))
    };
    assert_eq!(used(&mut client)[0], 32);
    // It grows and is used, and shrinks again; both within EXEC, which holds the write lock.
    for (limit, pages) in [("1mb", 256), ("100000", 24)] {
        for request in ["MULTI", "SET first 1", &format!("CONFIG SET maxmemory {limit}"), "SET last 1"] {
            client.ask(request);
        }
        assert_eq!(client.ask("EXEC"), "*3|+OK|+OK|+OK|");
        pipeline(
            &mut client,
            0..6_000,
            |number| vec!["GET".to_owned(), key(number)],
            |number| bulk(&format!("value {number}")),
        );
        let [capacity, taken] = used(&mut client);
        assert_eq!(capacity, pages);
        // The keys are on some 65 pages.
        assert!(taken <= pages && taken > pages.min(80) / 2, "{taken} of {pages}");
        assert_eq!(number(&mut client, "memory", "maxmemory"), pages * 4096);
        assert!(number(&mut client, "memory", "used_memory") >= taken * 4096);
    }
    for (request, expected) in [
        ("CONFIG SET maxmemory 65535", "cannot be 65535 bytes; choose 65536 or more"),
        ("CONFIG SET maxmemory 1", "cannot be 1 bytes; choose 65536 or more, or 0 for the size at the start"),
        ("CONFIG SET maxmemory-policy allkeys-lru", "never keys, so the policy cannot be allkeys-lru"),
        ("CONFIG SET maxmemory 1mb maxmemory-policy volatile-ttl", "the policy cannot be volatile-ttl"),
    ] {
        let error = client.ask(request);
        assert!(
            error.starts_with("-ERR CONFIG SET failed") && error.contains(expected),
            "{request}: {error}"
        );
    }
    assert_eq!(client.ask("CONFIG SET maxmemory-policy noeviction"), "+OK|");
    assert_eq!(used(&mut client)[0], 24, "a refused request changes nothing");
    assert_eq!(client.ask("CONFIG SET maxmemory 0"), "+OK|");
    assert_eq!(used(&mut client)[0], 32, "the size at the start");
    assert_eq!(client.ask("CONFIG GET maxmemory"), "*2|$9|maxmemory|$6|131072|");
}

/// Incident: INFO within a transaction counted the keys without its writes. Consequence: it
/// contradicted DBSIZE beside it, and the engine in memory. Fix: it counts as DBSIZE does.
#[test]
fn info_within_a_transaction_counts_its_writes() {
    let server = start_on_disk(options(), small(TrieShape::Linked));
    let mut client = server.connect();
    client.ask("SET before 1");
    for request in ["MULTI", "DEL before", "SET a 1", "SET b 1 PX 100000", "DBSIZE", "INFO keyspace"] {
        client.ask(request);
    }
    let replies = client.ask("EXEC");
    assert!(replies.contains("|:2|"), "{replies}");
    for info in [replies, client.ask("INFO keyspace")] {
        let average = info.split_once("db0:keys=2,expires=1,avg_ttl=").unwrap_or_else(|| panic!("{info}")).1;
        let average: u64 = average.split('|').next().and_then(|text| text.parse().ok()).expect("a number");
        assert!((1..=100_000).contains(&average), "{info}");
    }
}
