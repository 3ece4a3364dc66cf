//! Keys that expire, over the wire: with a clock that the test controls, and a few that really
//! wait.

use std::path::Path;
use std::time::Duration;

use crate::common::{TestClient, TestServer, encode, index, options, run, show, start, wait_for};
use skein_data::{DiskEngine, Engine};
use skein_disk::{DiskOptions, DiskStore, Values};
use skein_server::ServerOptions;
use skein_store::{ExpiryClock, Store, StoreLimits, StoreOptions};

const START: u64 = 1_700_000_000_000;

fn in_memory(clock: &ExpiryClock) -> TestServer {
    let folder = tempfile::tempdir().expect("a folder");
    let options_of_store =
        StoreOptions { clock: clock.clone(), index: index(), logs: 2, ..StoreOptions::default() };
    let store = Store::open(folder.path(), options_of_store).expect("a store");
    run(options(), store.into(), folder)
}

fn disk_engine(path: &Path, clock: &ExpiryClock) -> DiskEngine {
    let store = DiskStore::open(path, DiskOptions { values: Values::Rows, ..DiskOptions::default() });
    let engine = DiskEngine::with_clock(store.expect("a store"), StoreLimits::default(), clock.clone());
    engine.expect("a store of rows")
}

fn on_disk(clock: &ExpiryClock) -> TestServer {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = disk_engine(folder.path(), clock);
    run(options(), engine.into(), folder)
}

/// Sends requests and compares the replies.
fn talk(client: &mut TestClient, lines: &[(&str, &str)]) {
    for (request, reply) in lines {
        assert_eq!(client.ask(request), *reply, "{request}");
    }
}

/// Incident and fix: see `an_expired_key_stays_absent_if_the_clock_is_set_back` of the store.
/// This test covers both engines, and the remaining time of a key.
#[test]
fn setting_the_clock_back_restores_no_expired_key() {
    for start in [in_memory, on_disk] {
        let clock = ExpiryClock::manual(START);
        let server = start(&clock);
        let mut client = server.connect();
        talk(&mut client, &[("SET a 1 PX 1000", "+OK|"), ("SET b 1 PX 5000", "+OK|")]);
        clock.advance(Duration::from_millis(1_001));
        talk(&mut client, &[("GET a", "$-1|"), ("PTTL b", ":3999|")]);
        clock.set(START - 3_600_000);
        talk(&mut client, &[("GET a", "$-1|"), ("EXISTS a", ":0|"), ("PTTL b", ":3999|")]);
        clock.advance(Duration::from_secs(4));
        talk(&mut client, &[("GET b", "$-1|"), ("SET a 2 PX 10", "+OK|"), ("PTTL a", ":10|")]);
    }
}

/// Incident: a worker read the clock before it waited for one that ran alone. Consequence: a pipeline
/// showed a key as present that another client had seen expire, beside a later write of that client.
/// Fix: the clock is read after the wait.
#[test]
fn the_clock_is_read_after_the_wait_for_other_workers() {
    for start in [in_memory, on_disk] {
        let clock = ExpiryClock::manual(START);
        let server = start(&clock);
        // On two workers.
        let (mut alone, mut reader) = (server.connect(), server.connect());
        talk(&mut reader, &[("SET k v PX 100", "+OK|"), ("GET k", "$1|v|")]);
        alone.send(&encode(&[b"EVAL", b"for i = 1, 3e7 do end", b"0"]));
        // If these are too short, the test passes without looking.
        std::thread::sleep(Duration::from_millis(20));
        reader.send(&encode(&[b"GET", b"k"]));
        std::thread::sleep(Duration::from_millis(50));
        clock.advance(Duration::from_millis(101));
        assert_eq!(show(&alone.reply()), "$-1|");
        assert_eq!(show(&reader.reply()), "$-1|");
    }
}

/// While DEBUG SET-ACTIVE-EXPIRE is off, expired keys stay in memory, and readers do not see them.
#[test]
fn expired_keys_can_stay_in_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path(), StoreOptions { index: index(), ..StoreOptions::default() });
    for engine in [
        Engine::from(store.expect("a store")),
        disk_engine(&folder.path().join("disk"), &ExpiryClock::system()).into(),
    ] {
        let server = run(
            ServerOptions { debug_command: true, ..options() },
            engine.clone(),
            tempfile::tempdir().expect("a folder"),
        );
        let mut client = server.connect();
        talk(&mut client, &[("DEBUG SET-ACTIVE-EXPIRE 0", "+OK|"), ("SET a 1 PX 1", "+OK|")]);
        std::thread::sleep(Duration::from_millis(1_500));
        talk(&mut client, &[("GET a", "$-1|"), ("DBSIZE", ":0|")]);
        assert_eq!(engine.stats().expired, 0);
        assert!(client.ask("DEBUG SET-ACTIVE-EXPIRE 2").starts_with("-ERR DEBUG SET-ACTIVE-EXPIRE: give 1"));
        talk(&mut client, &[("DEBUG SET-ACTIVE-EXPIRE 1", "+OK|")]);
        wait_for(|| engine.stats().expired == 1);
    }
}

#[test]
fn keys_expire_as_time_passes() {
    for start in [in_memory, on_disk] {
        let clock = ExpiryClock::manual(START);
        let server = start(&clock);
        let mut client = server.connect();
        talk(
            &mut client,
            &[
                ("SET a 1 PX 1000", "+OK|"),
                ("PTTL a", ":1000|"),
                ("TTL a", ":1|"),
                ("PEXPIRETIME a", ":1700000001000|"),
                ("SETEX b 2 2", "+OK|"),
                ("HSET h x y", ":1|"),
                ("EXPIRE h 1", ":1|"),
                ("SET n 5", "+OK|"),
                ("GETEX n PX 3000", "$1|5|"),
            ],
        );
        clock.advance(Duration::from_millis(499));
        talk(&mut client, &[("PTTL a", ":501|"), ("TTL a", ":1|"), ("TTL b", ":2|"), ("GET a", "$1|1|")]);
        clock.advance(Duration::from_millis(501));
        talk(&mut client, &[("PTTL a", ":0|"), ("TTL a", ":0|"), ("GET a", "$1|1|"), ("HGET h x", "$1|y|")]);
        clock.advance(Duration::from_millis(1));
        talk(
            &mut client,
            &[
                ("GET a", "$-1|"),
                ("TTL a", ":-2|"),
                ("PEXPIRETIME a", ":-2|"),
                ("EXISTS a h b n", ":2|"),
                ("EXISTS a", ":0|"),
                ("STRLEN a", ":0|"),
                ("TYPE h", "+none|"),
                ("HGETALL h", "*0|"),
                ("MGET a b n", "*3|$-1|$1|2|$1|5|"),
                ("SCAN 0", "*2|$1|0|*2|$1|b|$1|n|"),
                ("SK.RANGE - +", "*4|$1|b|$1|2|$1|n|$1|5|"),
                ("SK.RANGE - + REV LIMIT 1 NOVALUES", "*1|$1|n|"),
                ("SK.COUNT [a +", ":2|"),
                ("SK.FIRST", "*2|$1|b|$1|2|"),
                ("SK.NEXT b", "*2|$1|n|$1|5|"),
                ("SK.PREV b", "*-1|"),
                ("SK.GETV a", "*-1|"),
                ("DEL a h", ":0|"),
                ("INCR n", ":6|"),
                ("PTTL n", ":1999|"),
                ("SET n 7 KEEPTTL", "+OK|"),
                ("APPEND n 8", ":2|"),
                ("PTTL n", ":1999|"),
                ("GETEX n PERSIST", "$2|78|"),
                ("PTTL n", ":-1|"),
                ("EXPIRE b 100 GT", ":1|"),
                ("EXPIRE b 99 GT", ":0|"),
                ("TTL b", ":100|"),
                ("SET a new", "+OK|"),
                ("TTL a", ":-1|"),
            ],
        );
    }
}

/// One command sees a single time, and the counts are exact at any time.
#[test]
fn counts_leave_out_expired_keys() {
    let clock = ExpiryClock::manual(START);
    let server = in_memory(&clock);
    let mut client = server.connect();
    let keyspace = |client: &mut TestClient| {
        let info = client.ask("INFO keyspace");
        info.split('|').find(|line| line.starts_with("db0:")).unwrap_or_default().to_owned()
    };
    talk(&mut client, &[("SET a 1 PX 100", "+OK|"), ("SET b 1 PX 301", "+OK|"), ("SET c 1", "+OK|")]);
    assert_eq!(keyspace(&mut client), "db0:keys=3,expires=2,avg_ttl=200");
    clock.advance(Duration::from_millis(101));
    talk(&mut client, &[("DBSIZE", ":2|")]);
    assert_eq!(keyspace(&mut client), "db0:keys=2,expires=1,avg_ttl=200");
    talk(&mut client, &[("PERSIST b", ":1|"), ("DBSIZE", ":2|")]);
    assert_eq!(keyspace(&mut client), "db0:keys=2,expires=0,avg_ttl=0");
    talk(&mut client, &[("EXPIRE b 10", ":1|"), ("PEXPIRE c 10", ":1|")]);
    clock.advance(Duration::from_secs(60));
    talk(&mut client, &[("DBSIZE", ":0|"), ("SCAN 0", "*2|$1|0|*0|")]);
    assert_eq!(keyspace(&mut client), "");
    // The clock stands still, and the expiry thread continues.
    wait_for(|| client.ask("INFO stats").contains("expired_keys:3|"));
    talk(&mut client, &[("SET a 1", "+OK|"), ("DBSIZE", ":1|")]);
}

/// With the system's clock, and clients of two workers.
#[test]
fn short_lives_end_by_themselves() {
    let server = start();
    let mut clients: Vec<TestClient> = (0..4).map(|_| server.connect()).collect();
    for (i, client) in clients.iter_mut().enumerate() {
        let reply = client.ask(&format!("SET k{i} v PX 30"));
        assert_eq!(reply, "+OK|");
        assert_eq!(client.ask(&format!("HSET h{i} a b")), ":1|");
        assert_eq!(client.ask(&format!("PEXPIRE h{i} 40")), ":1|");
        let left = client.ask(&format!("PTTL h{i}"));
        assert!(left == ":-2|" || (0..=40).any(|ms| left == format!(":{ms}|")), "{left}");
    }
    for client in &mut clients {
        wait_for(|| client.ask("EXISTS k0 k1 k2 k3 h0 h1 h2 h3") == ":0|");
        assert_eq!(client.ask("SCAN 0"), "*2|$1|0|*0|");
    }
    if crate::common::trie().is_none() {
        assert_eq!(clients[0].ask("DBSIZE"), ":0|");
        wait_for(|| clients[0].ask("INFO stats").contains("expired_keys:8|"));
    }
}

#[test]
fn expiry_times_on_disk_survive_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = ExpiryClock::manual(START);
    let session_of = |engine: &DiskEngine| skein_data::Engine::from(engine.clone()).session();
    let engine = disk_engine(folder.path(), &clock);
    let (written, _) = session_of(&engine).keys().write(|writer| writer.put_until(b"k", b"v", START + 5));
    written.expect("a session").expect("a write");
    engine.store().close().expect("all is on disk");
    drop(engine);
    clock.advance(Duration::from_millis(6));
    let engine = disk_engine(folder.path(), &clock);
    let server = run(options(), engine.into(), folder);
    let mut client = server.connect();
    talk(&mut client, &[("GET k", "$-1|"), ("DBSIZE", ":0|"), ("SET k w NX", "+OK|"), ("TTL k", ":-1|")]);
}

/// An expired sorted set is absent for the command that writes it again, whether or not the expiry
/// thread has removed it.
#[test]
fn sorted_sets_expire_whole() {
    let clock = ExpiryClock::manual(START);
    let server = in_memory(&clock);
    let mut client = server.connect();
    for overdue in [false, true] {
        talk(
            &mut client,
            &[
                ("ZADD z 1 a 2 b", ":2|"),
                ("PEXPIRE z 100", ":1|"),
                ("ZADD z 3 c", ":1|"),
                ("PTTL z", ":100|"),
                ("PERSIST z", ":1|"),
                ("ZCARD z", ":3|"),
                ("PEXPIRE z 100", ":1|"),
            ],
        );
        clock.advance(Duration::from_millis(101));
        talk(
            &mut client,
            &[("ZCARD z", ":0|"), ("ZSCORE z a", "$-1|"), ("TYPE z", "+none|"), ("DBSIZE", ":0|")],
        );
        if overdue {
            clock.advance(Duration::from_secs(60));
            wait_for(|| client.ask("INFO stats").contains("expired_keys:1|"));
        }
        talk(
            &mut client,
            &[
                ("ZADD z 9 d", ":1|"),
                ("ZRANGE z 0 -1 WITHSCORES", "*2|$1|d|$1|9|"),
                ("TTL z", ":-1|"),
                ("DBSIZE", ":1|"),
                ("DEL z", ":1|"),
            ],
        );
    }
}

/// A transaction sees a single time.
#[test]
fn a_transaction_keeps_times() {
    let clock = ExpiryClock::manual(START);
    let server = in_memory(&clock);
    let mut client = server.connect();
    talk(
        &mut client,
        &[
            ("MULTI", "+OK|"),
            ("SET a 1 PX 10", "+QUEUED|"),
            ("RENAME a b", "+QUEUED|"),
            ("INCR b", "+QUEUED|"),
            ("PTTL b", "+QUEUED|"),
            ("EXEC", "*4|+OK|+OK|:2|:10|"),
            ("WATCH b", "+OK|"),
        ],
    );
    clock.advance(Duration::from_millis(11));
    talk(&mut client, &[("MULTI", "+OK|"), ("EXISTS b", "+QUEUED|")]);
    // As in Redis, the expiry of a watched key counts as a change.
    talk(&mut client, &[("EXEC", "*-1|")]);
}
