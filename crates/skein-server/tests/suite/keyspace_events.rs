//! Keyspace notifications: the events of commands, compared with those of a real Redis, and the
//! clients that receive them.
//!
//! `tests/golden_events/events.txt` has requests, and after each of them the events that
//! redis-server 7.0.15 publishes: the event and the key, and the database unless it is 0. `sleep` waits so many milliseconds. To
//! record again:
//!
//! ```text
//! redis-server --port 7001 --save "" --enable-debug-command yes &
//! SKEIN_GOLDEN_REDIS=127.0.0.1:7001 \
//!     cargo test -p skein-server --test suite keyspace_events::record -- --ignored
//! ```

use std::net::TcpStream;
use std::time::Duration;

use crate::common::{TestClient, encode, options, show, skipped, start_on, start_with, wait_for};
use crate::golden::golden_file::words;
use skein_server::ServerOptions;
use skein_store::{Durability, Eviction, StoreOptions};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden_events/events.txt");

/// The messages that the subscriber receives after the events of a request.
const MARK: &[u8] = b"__keymark__:";

/// A client that runs requests, one that hears of their events, and one that marks their ends.
struct Observed {
    runner: TestClient,
    marker: TestClient,
    subscriber: TestClient,
}

impl Observed {
    fn connect(address: &str) -> Self {
        let connect = || TestClient::new(TcpStream::connect(address).expect("a connection"));
        let [mut runner, marker, mut subscriber] = [(); 3].map(|()| connect());
        assert_eq!(runner.ask("CONFIG SET notify-keyspace-events KEAnm"), "+OK|");
        subscriber.ask("PSUBSCRIBE __key*__:*");
        Self { runner, marker, subscriber }
    }

    /// Runs a request and returns its events: pairs of an event and a key. Each is published in
    /// both forms.
    fn run(&mut self, request: &[&[u8]]) -> Vec<String> {
        self.runner.call(request);
        self.marker.call(&[b"PUBLISH", MARK, b""]);
        self.events()
    }

    /// Returns the events up to the next mark.
    fn events(&mut self) -> Vec<String> {
        let mut events = Vec::new();
        loop {
            let (channel, event) = self.message();
            if channel.as_bytes() == MARK {
                return events;
            }
            let by_key = channel.strip_prefix("__keyspace@").and_then(|rest| rest.split_once("__:"));
            let (database, key) = by_key.expect("the form by key comes first");
            assert_eq!(self.message(), (format!("__keyevent@{database}__:{event}"), key.to_owned()));
            let of = if database == "0" { String::new() } else { format!(" @{database}") };
            events.push(format!("{event} {key}{of}"));
        }
    }

    /// Returns the channel and the payload of the next message.
    fn message(&mut self) -> (String, String) {
        let message = show(&self.subscriber.reply());
        let parts: Vec<&str> = message.split('|').collect();
        assert_eq!(parts[2], "pmessage", "{message}");
        (parts[6].to_owned(), parts[8].to_owned())
    }

    /// Runs all requests of the file, and returns the file with their events.
    fn answer(&mut self, file: &str) -> String {
        let mut answered = String::new();
        for line in file.lines().filter(|line| !line.starts_with("  ")) {
            answered.extend([line, "\n"]);
            if line.starts_with("==") {
                self.run(&[b"FLUSHALL"]);
            } else if let Some(millis) = line.strip_prefix("sleep ") {
                std::thread::sleep(Duration::from_millis(millis.parse().expect("a number")));
            } else if let Some(request) = line.strip_prefix("> ") {
                let args = words(request);
                let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
                for event in self.run(&args) {
                    answered.extend(["  ", &event, "\n"]);
                }
            }
        }
        answered
    }
}

#[test]
fn events_are_those_of_redis() {
    if skipped("it has database 0 alone") {
        return;
    }
    let server = start_with(ServerOptions { debug_command: true, ..options() }, Durability::Buffered);
    // The next command that names an expired key removes it, and not the server meanwhile.
    assert_eq!(server.connect().ask("DEBUG SET-ACTIVE-EXPIRE 0"), "+OK|");
    let expected = std::fs::read_to_string(FILE).expect("the file");
    let answered = Observed::connect(&server.address.to_string()).answer(&expected);
    // Compared by request, so that one difference does not hide the others.
    let by_request = |file: &'_ str| -> Vec<String> {
        file.split("\n> ").map(|request| request.replace("\n  ", "; ")).collect()
    };
    let pairs = by_request(&expected).into_iter().zip(by_request(&answered));
    let differ: Vec<String> = pairs
        .filter(|(expected, got)| expected != got)
        .map(|(expected, got)| format!("expected {expected}\n     got {got}"))
        .collect();
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}

#[test]
#[ignore = "records the events of a real redis-server, see above"]
fn record() {
    let address = std::env::var("SKEIN_GOLDEN_REDIS").expect("SKEIN_GOLDEN_REDIS is HOST:PORT");
    let mut observed = Observed::connect(&address);
    assert_eq!(observed.runner.ask("DEBUG SET-ACTIVE-EXPIRE 0"), "+OK|");
    let file = std::fs::read_to_string(FILE).expect("the file");
    std::fs::write(FILE, observed.answer(&file)).expect("to write the file");
}

/// Events of a key arrive in the order of its writes, whichever workers run them.
#[test]
fn events_of_a_key_have_the_order_of_its_writes() {
    let server = start_with(ServerOptions { workers: 3, ..options() }, Durability::Buffered);
    let mut observed = Observed::connect(&server.address.to_string());
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let server = &server;
            scope.spawn(move || {
                let mut client = server.connect();
                for number in 0..100 {
                    match (number + writer) % 4 {
                        0 => client.ask("SET k v"),
                        1 => client.ask("DEL k"),
                        2 => {
                            client
                                .send(&[encode(&[b"DEL", b"k"]), encode(&[b"APPEND", b"k", b"x"])].concat());
                            [show(&client.reply()), show(&client.reply())].concat()
                        }
                        _ => client.ask("EVAL redis.call('SET','k','v')redis.call('DEL','k') 0"),
                    };
                }
            });
        }
    });
    observed.runner.ask("DEL k");
    observed.marker.call(&[b"PUBLISH", MARK, b""]);
    // A key is new only if it was not there, and is removed only if it was.
    let mut is_there = false;
    let events = observed.events();
    for (at, event) in events.iter().enumerate() {
        match &event[..] {
            "new k" => assert!(!std::mem::replace(&mut is_there, true), "{at}: {events:?}"),
            "del k" => assert!(std::mem::replace(&mut is_there, false), "{at}: {events:?}"),
            _ => assert!(is_there, "{at}: {events:?}"),
        }
    }
    assert!(!is_there && events.len() > 200, "{}", events.len());
}

#[test]
fn expired_keys_are_told_by_the_engine() {
    let server = start_with(options(), Durability::Buffered);
    let mut observed = Observed::connect(&server.address.to_string());
    observed.run(&[b"SET", b"k", b"v", b"PX", b"1"]);
    assert_eq!(observed.message(), ("__keyspace@0__:k".to_owned(), "expired".to_owned()));
    assert_eq!(observed.message(), ("__keyevent@0__:expired".to_owned(), "k".to_owned()));
}

#[test]
fn evicted_keys_are_told() {
    if crate::common::trie().is_some() {
        return;
    }
    let server = start_on(
        options(),
        StoreOptions { logs: 2, index: crate::common::index(), ..StoreOptions::default() },
    );
    let mut observed = Observed::connect(&server.address.to_string());
    observed.runner.ask("CONFIG SET notify-keyspace-events KEe");
    observed.runner.ask("SET k v");
    server.memory().set_memory_limit(Some(8 << 20), Eviction::Lru);
    let long = vec![b'x'; 100_000];
    let mut events = Vec::new();
    for number in 0..400 {
        events.extend(observed.run(&[b"SET", format!("f{number}").as_bytes(), &long]));
    }
    assert!(events.contains(&"evicted k".to_owned()), "{events:?}");
    let evicted = observed.runner.ask("INFO");
    let evicted = evicted.split('|').find_map(|line| line.strip_prefix("evicted_keys:")).expect("a figure");
    assert_eq!(events.len(), evicted.parse::<usize>().expect("a number"));
}

#[test]
fn clients_that_wait_are_served_with_events() {
    let server = start_with(ServerOptions { workers: 3, ..options() }, Durability::Buffered);
    let mut observed = Observed::connect(&server.address.to_string());
    let mut waiting = server.connect();
    waiting.send(&encode(&[b"BLMOVE", b"l", b"m", b"LEFT", b"RIGHT", b"0"]));
    wait_for(|| observed.runner.ask("INFO").contains("blocked_clients:1"));
    let events = observed.run(&[b"RPUSH", b"l", b"a"]);
    assert_eq!(events, ["new l", "rpush l", "new m", "rpush m", "lpop l", "del l"]);
    assert_eq!(show(&waiting.reply()), "$1|a|");
}

/// A consumer is made when the entry arrives, as in redis-server 7.0.15, and not when the client
/// begins to wait.
#[test]
fn a_consumer_that_has_waited_is_told() {
    let server = start_with(options(), Durability::Buffered);
    let mut observed = Observed::connect(&server.address.to_string());
    let made = observed.run(&[b"XGROUP", b"CREATE", b"s", b"g", b"$", b"MKSTREAM"]);
    assert_eq!(made, ["new s", "xgroup-create s"]);
    let mut waiting = server.connect();
    waiting.send(&encode(&[b"XREADGROUP", b"GROUP", b"g", b"c", b"BLOCK", b"0", b"STREAMS", b"s", b">"]));
    wait_for(|| observed.runner.ask("INFO").contains("blocked_clients:1"));
    let events = observed.run(&[b"XADD", b"s", b"1-1", b"f", b"v"]);
    assert_eq!(events, ["xadd s", "xgroup-createconsumer s"]);
    assert!(show(&waiting.reply()).contains("|1-1|"));
}

/// Ranges and long lists of keys are removed in slices.
#[test]
fn every_key_of_a_long_removal_is_told() {
    let server = start_with(options(), Durability::Buffered);
    let mut observed = Observed::connect(&server.address.to_string());
    let keys: Vec<String> = (0..1500).map(|number| format!("k{number:04}")).collect();
    let mut expected: Vec<String> = keys.iter().map(|key| format!("del {key}")).collect();
    for round in 0..2 {
        let pairs = keys.iter().flat_map(|key| [key.as_bytes(), b"v"]);
        observed.run(&[&b"MSET"[..]].into_iter().chain(pairs).collect::<Vec<_>>());
        let mut events = if round == 0 {
            let keys = keys.iter().map(String::as_bytes);
            observed.run(&[&b"DEL"[..]].into_iter().chain(keys).collect::<Vec<_>>())
        } else {
            observed.run(&[b"SK.DELRANGE", b"[k", b"(l"])
        };
        events.sort();
        assert!(events == expected, "{} events", events.len());
    }
    expected.clear();
    assert_eq!(observed.run(&[b"FLUSHALL"]), expected);
}

#[test]
fn only_chosen_classes_and_forms_are_published() {
    let server = start_with(options(), Durability::Buffered);
    let mut observed = Observed::connect(&server.address.to_string());
    for (classes, expected) in [
        ("E$", vec![("__keyevent@0__:set", "k")]),
        ("Kg", vec![("__keyspace@0__:k", "expire")]),
        ("$lzA", vec![]),
        ("KE", vec![]),
    ] {
        assert_eq!(observed.runner.ask(&format!("CONFIG SET notify-keyspace-events {classes}")), "+OK|");
        observed.runner.ask("SET k v EX 100");
        observed.marker.call(&[b"PUBLISH", MARK, b""]);
        let mut seen = Vec::new();
        loop {
            let (channel, payload) = observed.message();
            if channel.as_bytes() == MARK {
                break;
            }
            seen.push((channel, payload));
        }
        let seen: Vec<(&str, &str)> =
            seen.iter().map(|(channel, payload)| (&channel[..], &payload[..])).collect();
        assert_eq!(seen, expected, "{classes}");
    }
}
