//! Limits that change while the server runs, and clients that are silent or do not read for too
//! long. Each limit has a test that exceeds it.

use std::io::Read;
use std::time::{Duration, Instant};

use crate::common::{TestClient, TestServer, encode, options, start, start_with, wait_for};
use skein_server::{OutputLimit, ServerOptions};
use skein_store::Durability;

fn set(server: &TestServer, name: &str, value: &str) {
    let reply = server.connect().call(&[b"CONFIG", b"SET", name.as_bytes(), value.as_bytes()]);
    assert_eq!(crate::common::show(&reply), "+OK|", "{name} {value}");
    let told = crate::common::show(&server.connect().call(&[b"CONFIG", b"GET", name.as_bytes()]));
    assert!(told.ends_with(&format!("|{value}|")), "{told}");
}

/// Returns whether the server disconnects this client, however much it sends before that.
fn is_disconnected(client: &mut TestClient) -> bool {
    let mut piece = vec![0; 1 << 16];
    loop {
        match client.stream.read(&mut piece) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

#[test]
fn a_silent_client_is_disconnected_and_one_that_speaks_is_not() {
    let server =
        start_with(ServerOptions { idle_timeout: Duration::from_secs(1), ..options() }, Durability::None);
    let (mut silent, mut half, mut speaks) = (server.connect(), server.connect(), server.connect());
    assert_eq!(silent.ask("PING"), "+PONG|");
    half.send(b"*2\r\n$3\r\nGE");
    let ends = std::thread::spawn(move || is_disconnected(&mut silent) && is_disconnected(&mut half));
    let mut last = Instant::now();
    while !ends.is_finished() {
        speaks.send(b"PING\r\n");
        let answered = speaks.try_reply().is_some_and(|reply| reply == b"+PONG\r\n");
        assert!(answered || last.elapsed() > Duration::from_secs(1), "the active client was disconnected");
        if !answered {
            speaks = server.connect();
        }
        last = Instant::now();
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(ends.join().expect("no panic"), "the silent clients stay connected");
}

#[test]
fn new_idle_timeout_applies_to_connected_clients() {
    let server = start();
    let mut silent: Vec<TestClient> = (0..30).map(|_| server.connect()).collect();
    for client in &mut silent {
        assert_eq!(client.ask("PING"), "+PONG|");
    }
    set(&server, "timeout", "1");
    assert!(silent.iter_mut().all(is_disconnected), "the clients stay connected");
}

#[test]
fn more_replies_than_the_hard_limit_end_the_connection() {
    let server = start();
    let mut client = server.connect();
    assert_eq!(client.call(&[b"SET", b"big", &[b'v'; 10_000]]), b"+OK\r\n");
    set(
        &server,
        "client-output-buffer-limit",
        "normal 10011 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
    );
    assert_eq!(client.call(&[b"GET", b"big"]).len(), 10_010);
    client.send(&encode(&[b"GET", b"big"]).repeat(2));
    assert_eq!(client.try_reply(), None, "as in Redis, nothing of it is sent");
    let mut range = server.connect();
    range.send(&encode(&[b"MGET", b"big", b"big"]));
    assert_eq!(range.try_reply(), None);
}

/// A client that does not read is disconnected. A client that reads, and only sometimes has as many
/// bytes waiting, is not.
#[test]
fn soft_output_limit_disconnects_after_its_time() {
    let output_limit = OutputLimit { soft_bytes: 1000, ..OutputLimit::default() };
    let server = start_with(ServerOptions { output_limit, ..options() }, Durability::None);
    let (mut client, mut reads) = (server.connect(), server.connect());
    let value = vec![b'v'; 1 << 20];
    assert_eq!(client.call(&[b"SET", b"big", &value]), b"+OK\r\n");
    // More than the system buffers for a socket.
    client.send(&encode(&[b"GET", b"big"]).repeat(50));
    let clients = |watcher: &mut TestClient| watcher.ask("CLIENT LIST").matches("id=").count();
    while clients(&mut reads) > 1 {
        assert_eq!(reads.call(&[b"GET", b"big"]).len(), value.len() + 12);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(is_disconnected(&mut client));
    assert_eq!(reads.ask("PING"), "+PONG|");
}

/// Guards the begin of the soft limit's time: it is the last moment at which the client began to
/// exceed the limit. From an earlier moment, a client that reads late would be disconnected at its
/// second long reply.
#[test]
fn time_below_the_soft_limit_does_not_count() {
    const SOFT: Duration = Duration::from_secs(2);
    /// In this time a worker checks each of a few clients.
    const CHECKED: Duration = Duration::from_millis(600);
    let output_limit = OutputLimit { soft_bytes: 1000, soft_time: SOFT, ..OutputLimit::default() };
    let server = start_with(ServerOptions { workers: 1, output_limit, ..options() }, Durability::None);
    let (mut late, mut never, mut watcher) = (server.connect(), server.connect(), server.connect());
    let value = vec![b'v'; 1 << 20];
    assert_eq!(watcher.call(&[b"SET", b"big", &value]), b"+OK\r\n");
    // More than the system buffers for a socket.
    let requests = encode(&[b"GET", b"big"]).repeat(20);
    let mut exceed_and_read = || {
        let begun = Instant::now();
        late.send(&requests);
        std::thread::sleep(CHECKED);
        let mut replies = (0..20).map(|_| late.try_reply());
        let is_kept = replies.all(|reply| reply.is_some_and(|reply| reply.len() == value.len() + 12));
        assert!(is_kept || begun.elapsed() > SOFT, "disconnected after {:?}", begun.elapsed());
    };
    exceed_and_read();
    // The one that never reads exceeds the limit for no longer than since then.
    never.send(&requests);
    wait_for(|| watcher.ask("CLIENT LIST").matches("id=").count() == 2);
    exceed_and_read();
}

#[test]
fn new_limits_on_requests_and_replies_apply_at_once() {
    let server = start();
    let mut client = server.connect();
    let refused = |client: &mut TestClient, request: &[&[u8]]| {
        let reply = crate::common::show(&client.call(request));
        if reply.starts_with("-ERR Protocol error") {
            assert_eq!(client.try_reply(), None);
            *client = server.connect();
        }
        reply
    };
    let long = [b'v'; 3000];
    assert_eq!(refused(&mut client, &[b"SET", b"k", &long]), "+OK|");
    set(&server, "proto-max-bulk-len", "2999");
    assert_eq!(refused(&mut client, &[b"SET", b"k", &long]), "-ERR Protocol error: invalid bulk length|");
    set(&server, "client-query-buffer-limit", "3000");
    assert_eq!(
        refused(&mut client, &[b"SET", b"k", &long[1..]]),
        "-ERR Protocol error: request is longer than the limit of 3000 bytes; split it or raise the limit|"
    );
    set(&server, "max-arguments", "16");
    assert_eq!(refused(&mut client, &[&b"DEL"[..]; 17]), "-ERR Protocol error: invalid multibulk length|");
    set(&server, "max-reply", "1024");
    let reply = refused(&mut client, &[b"MGET", b"k", b"k"]);
    assert!(reply.contains("the limit of 1024 bytes"), "{reply}");
    set(&server, "max-pipeline", "1");
    set(&server, "max-output", "1024");
    client.send(&encode(&[b"GET", b"k"]).repeat(100));
    for _ in 0..100 {
        assert_eq!(client.reply().len(), 3009);
    }
}

#[test]
fn the_number_of_clients_can_be_lowered() {
    let server = start();
    let mut clients = [server.connect(), server.connect()];
    assert_eq!(clients[0].ask("CONFIG SET maxclients 2"), "+OK|");
    assert_eq!(clients[1].ask("PING"), "+PONG|");
    let refused = server.connect().try_reply().map(|reply| crate::common::show(&reply));
    assert_eq!(refused.as_deref(), Some("-ERR max number of clients reached|"));
    assert_eq!(clients[0].ask("CONFIG SET maxclients 1"), "+OK|", "existing connections stay");
    assert_eq!(clients[1].ask("PING"), "+PONG|");
}

#[test]
fn keep_alive_probes_silent_connections() {
    for (keepalive, expected) in [(0, "00:00000000"), (1000, "02:")] {
        let keepalive = Duration::from_secs(keepalive);
        let server = start_with(ServerOptions { keepalive, ..options() }, Durability::None);
        let mut client = server.connect();
        assert_eq!(client.ask("PING"), "+PONG|");
        let port = |address: std::net::SocketAddr| format!(":{:04X}", address.port());
        let ends = [server.address, client.stream.local_addr().expect("an address")].map(port);
        // While a packet is in flight, the connection has another timer.
        let found = (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(1));
            let table = std::fs::read_to_string("/proc/net/tcp").expect("the system's connections");
            let ours = table
                .lines()
                .map(|line| line.split_whitespace().collect::<Vec<_>>())
                .find(|line| line.len() > 5 && line[1].ends_with(&ends[0]) && line[2].ends_with(&ends[1]));
            let timer = ours.map_or("", |line| line[5]).to_owned();
            // Hundredths of seconds until the first probe.
            let left = timer.get(3..).and_then(|left| u64::from_str_radix(left, 16).ok()).unwrap_or(0);
            timer.starts_with(expected) && left <= 100_000 && (keepalive.is_zero() || left > 10_000)
        });
        assert!(found, "keep-alive of {keepalive:?}");
    }
}

/// Returns the value of a parameter from CONFIG GET.
fn told(client: &mut TestClient, name: &str) -> String {
    let reply = client.ask(&format!("CONFIG GET {name}"));
    reply.trim_end_matches('|').rsplit('|').next().unwrap_or_default().to_owned()
}

/// Parses the numbers of `... must be between A and B inclusive`.
fn bounds_told(refusal: &str) -> Option<(i128, i128)> {
    let (_, bounds) = refusal.split_once("argument must be between ")?;
    let (min, max) = bounds.trim_end_matches('|').strip_suffix(" inclusive")?.split_once(" and ")?;
    Some((min.parse().ok()?, max.parse().ok()?))
}

/// Every parameter, present or future, rejects an invalid value with an error that has its name. It
/// keeps its old value, and applies the bounds that the error states.
#[test]
fn every_parameter_rejects_values_out_of_bounds() {
    // Any text is a valid password, and so is any name that is kept without effect. Any number of
    // bytes is a valid limit on memory and on waiting replies, so these have no bounds.
    const TAKES_ANY: [&str; 6] = [
        "requirepass",
        "cluster-announce-hostname",
        "cluster-announce-ip",
        "proc-title-template",
        "replica-announce-ip",
        "slave-announce-ip",
    ];
    // Any number is taken, and becomes one between 1 and 500, as in Redis.
    const BECOMES_ANOTHER: [&str; 1] = ["hz"];
    let server = start();
    let mut client = server.connect();
    let all = client.ask("CONFIG GET *");
    let words: Vec<&str> = all.split('|').collect();
    let names = words[1..].chunks(4).filter(|pair| pair.len() == 4).map(|pair| pair[1]);
    let mut with_bounds = 0;
    for name in names.filter(|name| !TAKES_ANY.contains(name)) {
        let before = told(&mut client, name);
        let mut refused = |value: &str| {
            let reply = client.ask(&format!("CONFIG SET {name} {value}"));
            let about = format!("-ERR CONFIG SET failed (possibly related to argument '{name}') - ");
            assert!(reply.starts_with(&about), "{name} {value}: {reply}");
            reply
        };
        let reason = refused("no-such-thing");
        if reason.contains("immutable") {
            continue;
        }
        let bounds = bounds_told(&refused("-9223372036854775807")).or_else(|| {
            reason
                .contains("memory value")
                .then(|| bounds_told(&client.ask(&format!("CONFIG SET {name} 0"))))?
        });
        // Some sizes may be 0, which has been set then.
        if bounds.is_none() && told(&mut client, name) == "0" {
            assert_eq!(client.ask(&format!("CONFIG SET {name} {before}")), "+OK|", "{name} {before}");
        }
        if let Some((min, max)) = bounds {
            with_bounds += 1;
            for value in [min - 1, max + 1] {
                let reply = client.ask(&format!("CONFIG SET {name} {value}"));
                assert!(reply.starts_with("-ERR CONFIG SET failed"), "{name} {value}: {reply}");
            }
            for value in [min, max] {
                let reply = client.ask(&format!("CONFIG SET {name} {value}"));
                // The limit on open files may be too low for this number.
                if name == "maxclients" && reply.contains("The operating system is not able to handle") {
                    continue;
                }
                assert_eq!(reply, "+OK|", "{name} {value}");
                if !BECOMES_ANOTHER.contains(&name) {
                    assert_eq!(told(&mut client, name), value.to_string(), "{name}");
                }
            }
            assert_eq!(client.ask(&format!("CONFIG SET {name} {before}")), "+OK|", "{name} {before}");
        }
        assert_eq!(told(&mut client, name), before, "{name} has changed");
    }
    assert!(with_bounds > 10, "{with_bounds} parameters with bounds");
}

#[test]
fn lists_and_waits_of_clients_have_limits() {
    let server = start_with(ServerOptions { debug_command: true, ..options() }, Durability::None);
    let mut client = server.connect();
    let percentiles = ["50"; 33].join(" ");
    let set = |client: &mut TestClient, value: &str| {
        crate::common::show(&client.call(&[
            b"CONFIG",
            b"SET",
            b"latency-tracking-info-percentiles",
            value.as_bytes(),
        ]))
    };
    assert!(set(&mut client, &percentiles).ends_with("33 percentiles exceed the limit of 32; name fewer|"));
    assert_eq!(set(&mut client, &percentiles[3..]), "+OK|");
    for seconds in ["3600.1", "1e300", "-1", "nan"] {
        let refused = client.ask(&format!("DEBUG SLEEP {seconds}"));
        assert_eq!(
            refused,
            format!("-ERR DEBUG SLEEP {seconds}: give seconds from 0 to 3600, decimals allowed|")
        );
    }
    let day = 24 * 3600 * 1000;
    let refused = client.ask(&format!("CLIENT PAUSE {}", day + 1));
    assert_eq!(
        refused,
        "-ERR timeout is out of range: 86400001 milliseconds exceed the limit of 86400000 milliseconds|"
    );
    assert_eq!(client.ask(&format!("CLIENT PAUSE {day} WRITE")), "+OK|");
    assert_eq!(client.ask("CLIENT UNPAUSE"), "+OK|");
}

/// SCAN returns at most 10,000 keys at once, whatever COUNT is, so no request blocks its worker for
/// long.
#[test]
fn a_scan_returns_at_most_ten_thousand_keys() {
    let server = start();
    let mut client = server.connect();
    let keys: Vec<String> = (0..10_500).map(|n| format!("key{n}")).collect();
    let pairs = keys.iter().flat_map(|key| [key.as_bytes(), b"v"]);
    let request: Vec<&[u8]> = std::iter::once(&b"MSET"[..]).chain(pairs).collect();
    assert_eq!(client.call(&request), b"+OK\r\n");
    for count in ["10001", "9223372036854775807"] {
        let reply = client.ask(&format!("SCAN 0 COUNT {count}"));
        assert_eq!(reply.matches("key").count(), 10_000, "{count}");
    }
}
