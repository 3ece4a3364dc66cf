//! CLIENT TRACKING and keys that no client has changed: those that have expired, and evicted ones.

use std::time::Duration;

use crate::common::{TestClient, TestServer, options, start_on, start_on_disk, start_with, wait_for};
use skein_disk::{DiskOptions, Values};
use skein_server::ServerOptions;
use skein_store::{Durability, Eviction, StoreLimits, StoreOptions};

/// The options of CLIENT TRACKING ON, and whether the client must ask for each read to be tracked.
const MODES: [(&str, bool); 8] = [
    ("", false),
    ("NOLOOP", false),
    ("OPTIN", true),
    ("OPTIN NOLOOP", true),
    ("OPTOUT NOLOOP", false),
    ("BCAST", false),
    ("BCAST NOLOOP", false),
    ("BCAST PREFIX k NOLOOP", false),
];

/// Requests with which the reader itself meets the expired key.
const MEETINGS: [&[&str]; 8] = [
    &["GET k"],
    &["MGET other k"],
    &["TTL k"],
    &["EXISTS k"],
    &["MULTI", "GET k", "EXEC"],
    &["EVAL return(redis.call('GET',KEYS[1])) 1 k"],
    &["MULTI", "SET other v", "GET k", "EXEC"],
    &["DEL k"],
];

/// Sends PING, and returns the keys of all invalidations before its reply.
fn told(client: &mut TestClient) -> Vec<String> {
    let (reply, found) = ask(client, "PING");
    assert_eq!(reply, "+PONG|");
    found
}

/// Sends a request, and returns its reply and the keys of invalidations before it.
fn ask(client: &mut TestClient, words: &str) -> (String, Vec<String>) {
    let (mut found, mut reply) = (Vec::new(), client.ask(words));
    while reply.starts_with('>') {
        found.extend(reply.split('|').skip(5).step_by(2).filter(|key| !key.is_empty()).map(str::to_owned));
        reply = crate::blocking::answer(client);
    }
    (reply, found)
}

fn track(server: &TestServer, mode: &str) -> TestClient {
    let mut reader = server.connect();
    reader.ask("HELLO 3");
    assert_eq!(reader.ask(format!("CLIENT TRACKING ON {mode}").trim_end()), "+OK|");
    reader
}

/// Sets a key that expires soon, and lets the reader read it. On a slow machine it may have expired
/// by then, and would not be tracked; so this repeats until the reader got the value.
fn read_before_it_expires(writer: &mut TestClient, reader: &mut TestClient, asks: bool) {
    wait_for(|| {
        writer.ask("SET k old PX 30");
        if asks {
            ask(reader, "CLIENT CACHING YES");
        }
        ask(reader, "GET k").0.contains("old")
    });
}

fn check_expiry(server: &TestServer) {
    let mut writer = server.connect();
    assert_eq!(writer.ask("DEBUG SET-ACTIVE-EXPIRE 0"), "+OK|");
    for (mode, asks) in MODES {
        for meeting in MEETINGS {
            let mut reader = track(server, mode);
            read_before_it_expires(&mut writer, &mut reader, asks);
            std::thread::sleep(Duration::from_millis(40));
            told(&mut reader);
            let mut heard = Vec::new();
            for words in meeting {
                let (reply, before) = ask(&mut reader, words);
                assert!(!reply.starts_with('-'), "{words}: {reply}");
                heard.extend(before);
            }
            heard.extend(told(&mut reader));
            assert!(heard.iter().any(|key| key == "k"), "{mode:?} {meeting:?}: {heard:?}");
        }
    }
}

/// Incident: with NOLOOP, a key whose expiry the reader itself met counted as changed by the
/// reader. Consequence: it was not told, no more tracked, and kept a stale value for ever. Fix: as
/// in Redis, an expired key counts as changed by no client.
#[test]
fn a_reader_hears_of_the_expiry_that_it_meets() {
    check_expiry(&start_with(ServerOptions { debug_command: true, ..options() }, Durability::Buffered));
    let disk = DiskOptions { values: Values::Rows, ..DiskOptions::default() };
    check_expiry(&start_on_disk(ServerOptions { debug_command: true, ..options() }, disk));
}

/// If a client's own write replaces an expired key, the client hears of the expiry, as in Redis.
#[test]
fn a_client_without_loops_hears_of_the_expiry_before_its_own_write() {
    let server = start_with(ServerOptions { debug_command: true, ..options() }, Durability::Buffered);
    let mut writer = server.connect();
    writer.ask("DEBUG SET-ACTIVE-EXPIRE 0");
    let mut reader = track(&server, "NOLOOP");
    read_before_it_expires(&mut writer, &mut reader, false);
    told(&mut reader);
    std::thread::sleep(Duration::from_millis(40));
    let (reply, mut heard) = ask(&mut reader, "SET k new");
    heard.extend(told(&mut reader));
    assert_eq!((reply.as_str(), heard), ("+OK|", vec!["k".to_owned()]));
    ask(&mut reader, "GET k");
    let (_, mut heard) = ask(&mut reader, "SET k newer");
    heard.extend(told(&mut reader));
    assert!(heard.is_empty(), "its own write alone: {heard:?}");
}

#[test]
fn a_client_hears_of_a_key_that_its_own_write_evicts() {
    let limits =
        StoreLimits { memory_bytes: Some(4 << 20), eviction: Eviction::Lru, ..StoreLimits::default() };
    let server = start_on(options(), StoreOptions { limits, ..StoreOptions::default() });
    for mode in ["NOLOOP", "OPTOUT NOLOOP", "BCAST PREFIX k NOLOOP"] {
        let mut writer = server.connect();
        writer.ask("FLUSHALL");
        writer.ask("SET k v");
        let mut reader = track(&server, mode);
        ask(&mut reader, "GET k");
        let (value, mut number, mut heard) = ("v".repeat(20_000), 0, Vec::new());
        wait_for(|| {
            number += 1;
            heard.extend(ask(&mut reader, &format!("SET filler{number} {value}")).1);
            heard.iter().any(|key| key == "k") || writer.ask("EXISTS k") == ":0|"
        });
        heard.extend(told(&mut reader));
        assert!(heard.iter().any(|key| key == "k"), "{mode}: {heard:?}");
    }
}
