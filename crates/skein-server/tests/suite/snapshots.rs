//! Ranges of one moment: `SNAPSHOT` with `SK.RANGE` and `SK.PREFIX`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{TestClient, TestServer, encode, options, show, start_on, wait_for};
use skein_server::ServerOptions;
use skein_store::{CollectionReads as _, IndexKind, StoreLimits, StoreOptions};

fn start_over(index: IndexKind, options: ServerOptions, snapshots: usize) -> TestServer {
    let limits = StoreLimits { snapshots, ..StoreLimits::default() };
    start_on(options, StoreOptions { index, limits, logs: 2, ..StoreOptions::default() })
}

fn start(options: ServerOptions) -> TestServer {
    start_over(IndexKind::default(), options, 2)
}

/// Writes many keys, so that their ranges take many slices.
fn fill(server: &TestServer, keys: std::ops::Range<u32>, value: &[u8]) {
    let mut session = server.memory().session();
    for key in keys {
        let key = format!("{key:06}");
        session
            .write(|writer| writer.put(key.as_bytes(), value))
            .expect("the store is open")
            .0
            .expect("it fits");
    }
}

#[test]
fn snapshot_combines_with_all_other_options() {
    let server = start(options());
    let mut client = server.connect();
    for (request, reply) in [
        ("MSET a 1 b 2 c 3", "+OK|"),
        ("HSET h x 7 y 8", ":2|"),
        ("SK.RANGE - + SNAPSHOT LIMIT 1", "*2|$1|a|$1|1|"),
        ("SK.RANGE (a + NOVALUES snapshot REV", "*3|$1|h|$1|c|$1|b|"),
        ("SK.PREFIX h SNAPSHOT COLUMNS 2 y nope", "*2|$1|h|*2|$1|8|$-1|"),
        ("SK.PREFIX h COLUMNS 1 SNAPSHOT", "*2|$1|h|*1|$-1|"),
        ("SK.RANGE + - SNAPSHOT", "*0|"),
        ("SK.RANGE - + LIMIT 0 SNAPSHOT", "*0|"),
        ("SK.RANGE - + SNAPSHOT SNAPSHOT", "-ERR syntax error|"),
        ("SK.RANGE - + SNAPSHOTS", "-ERR syntax error|"),
        ("SK.COUNT - + SNAPSHOT", "-ERR wrong number of arguments for 'sk.count' command|"),
    ] {
        assert_eq!(client.ask(request), reply, "{request}");
    }
    assert_eq!(server.memory().stats().snapshots, 0);
}

/// Sets and hashes in the range of a snapshot show their members of the moment, short ones and long
/// ones, over every index.
#[test]
fn collections_in_a_range_show_a_single_moment() {
    for index in IndexKind::ALL {
        let server = start_over(index, options(), 2);
        let mut client = server.connect();
        client.ask("ZADD s 1 a 2 b");
        client.ask("HSET h x 7 y 8");
        client.ask("SADD p a b");
        let members = |score: u32| (0..500).map(move |member| format!(" {score} m{member:03}"));
        client.ask(&format!("ZADD z{}", members(1).collect::<String>()));
        let columns = |value: u32| (0..500).map(move |column| format!(" c{column:03} {value}"));
        client.ask(&format!("HSET w{}", columns(1).collect::<String>()));
        let before = client.ask("SK.RANGE - +");
        assert_eq!(client.ask("SK.RANGE - + SNAPSHOT"), before, "{index}");
        let snapshot = server.memory().snapshot().unwrap();
        client.ask(&format!("ZADD z{}", members(2).collect::<String>()));
        client.ask(&format!("HSET w{}", columns(2).collect::<String>()));
        client.ask("ZREM s a b");
        client.ask("SREM p a");
        client.ask("DEL h");
        let entry = |key: &[u8]| snapshot.get_entry(key).unwrap().unwrap();
        assert!(entry(b"w").columns.iter().all(|(_, value)| value == b"1"), "{index}");
        assert_eq!(entry(b"w").columns.len(), 500);
        let len = |row: Option<skein_store::RowRef<'_>>| row.unwrap().sorted_set().unwrap().read().len();
        assert_eq!((snapshot.get_with(b"s", len).unwrap(), snapshot.get_with(b"z", len).unwrap()), (2, 500));
        let after = client.ask("SK.RANGE - + SNAPSHOT");
        assert!(after != before && after == client.ask("SK.RANGE - +"), "{index}");
    }
}

/// Tells a writer to stop when it is dropped, even after a failed assertion.
struct StopWriterOnDrop<'a>(&'a AtomicBool);

impl Drop for StopWriterOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A range of thousands of keys is written in slices, with other clients served between them: all
/// of its entries show a single moment.
#[test]
fn a_range_shows_a_single_moment_during_writes() {
    const KEYS: u32 = 6000;
    const BATCHED: [&str; 5] = ["000000", "001500", "003000", "004500", "005999"];
    let server = start(options());
    fill(&server, 0..KEYS, b"v");
    let mset = |client: &mut TestClient, round: u64| {
        let words: Vec<String> = BATCHED.iter().map(|key| format!("{key} {round}")).collect();
        assert_eq!(client.ask(&format!("MSET {}", words.join(" "))), "+OK|");
    };
    let mut client = server.connect();
    mset(&mut client, 0);
    // Returns the values of the batch's keys in the reply to a range.
    let mut held = |request: &str| -> BTreeSet<String> {
        let reply = client.ask(request);
        let parts: Vec<&str> = reply.split('|').collect();
        assert_eq!(parts[0], format!("*{}", KEYS * 2), "{request}");
        let entries = parts[1..].chunks_exact(4);
        entries.filter(|entry| BATCHED.contains(&entry[1])).map(|entry| entry[3].to_owned()).collect()
    };
    let stop = AtomicBool::new(false);
    let mut torn = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = server.connect();
            for round in 1.. {
                mset(&mut client, round);
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        // Enough writes that freeing the kept versions takes several slices.
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                fill(&server, 1501..3000, b"v");
            }
        });
        let stops = StopWriterOnDrop(&stop);
        let began = Instant::now();
        for round in 0.. {
            // On a busy machine a plain range may often finish before any write.
            if round >= 60 && (torn > 0 || began.elapsed() > Duration::from_secs(60)) {
                break;
            }
            for request in ["SK.RANGE - + SNAPSHOT", "SK.RANGE - + REV SNAPSHOT", "SK.RANGE - +"] {
                let held = held(request);
                if request.ends_with("SNAPSHOT") {
                    assert_eq!(held.len(), 1, "{request}: {held:?}");
                } else {
                    torn += usize::from(held.len() > 1);
                }
            }
        }
        drop(stops);
    });
    assert!(torn > 0, "plain ranges never mixed two states: no write ran meanwhile");
    assert_eq!(server.memory().stats().snapshots, 0);
}

#[test]
fn too_many_snapshots_are_rejected_and_info_counts_them() {
    let server = start(options());
    let mut client = server.connect();
    client.ask("SET a 1");
    let live = [server.memory().snapshot().unwrap(), server.memory().snapshot().unwrap()];
    std::thread::sleep(Duration::from_millis(2));
    client.ask("SET a 2");
    assert_eq!(
        client.ask("SK.RANGE - + SNAPSHOT"),
        "-ERR 2 snapshots are live, which is the limit of 2 (each transaction that reads has one); end one, or raise `max_snapshots`|"
    );
    assert_eq!(client.ask("SAVE"), "+OK|", "checkpoints have a snapshot of their own");
    let info = client.ask("INFO");
    let told = |name: &str| info.split('|').find_map(|line| line.strip_prefix(name)?.parse::<u64>().ok());
    assert_eq!(told("snapshots:"), Some(2), "{info}");
    assert!(told("oldest_snapshot_ms:").is_some_and(|age| age >= 2), "{info}");
    drop(live);
    assert_eq!(client.ask("SK.RANGE - + SNAPSHOT"), "*2|$1|a|$1|2|");
    assert!(client.ask("INFO memory").contains("|snapshots:0|oldest_snapshot_ms:0|snapshot_bytes:0|"));
}

/// However a range ends, its snapshot ends with it.
#[test]
fn a_snapshot_ends_with_its_range() {
    let server = start(ServerOptions { reply_bytes_max: 1 << 20, ..options() });
    fill(&server, 0..20_000, &[b'v'; 100]);
    // The range ends by an error in the middle.
    let mut client = server.connect();
    let refused = client.ask("SK.RANGE - + SNAPSHOT");
    assert!(refused.contains("longer than the limit of 1048576 bytes"), "{refused}");
    assert_eq!(server.memory().stats().snapshots, 0);
    // The range ends by its last key, long before the client has read the reply.
    client.send(&encode(&[b"SK.RANGE", b"-", b"+", b"NOVALUES", b"SNAPSHOT"]));
    wait_for(|| server.memory().stats().snapshots == 0);
    assert!(show(&client.reply()).starts_with("*20000|"));
    // The range ends by a client that disconnects.
    for _ in 0..20 {
        let mut client = server.connect();
        client.send(&encode(&[b"SK.RANGE", b"-", b"+", b"NOVALUES", b"SNAPSHOT"]));
    }
    wait_for(|| server.memory().stats().snapshots == 0);
    // The range ends by a stop that does not wait for it.
    let server = start(ServerOptions { stop_timeout: Duration::ZERO, ..options() });
    fill(&server, 0..20_000, &[b'v'; 100]);
    let mut clients: Vec<_> = (0..2).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send(&encode(&[b"SK.RANGE", b"-", b"+", b"SNAPSHOT"]));
    }
    let store = server.memory().clone();
    server.stop();
    assert_eq!(store.stats().snapshots, 0);
}
