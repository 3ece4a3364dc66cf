//! Garbage, truncated, half-sent and oversized requests, and storms of connections. Each client
//! gets a clear reply or is disconnected, and the server continues to serve.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use crate::common::{TestClient, TestServer, encode, index, options, show, start, start_with, trie};
use proptest::test_runner::{Config, TestRunner};
use skein_server::{Server, ServerOptions};
use skein_store::{Durability, KEY_BYTES_MAX};

fn alive(server: &TestServer) {
    assert_eq!(server.connect().ask("PING"), "+PONG|");
}

#[test]
fn half_sent_requests_wait_for_their_rest() {
    let server = start();
    let mut client = server.connect();
    for byte in encode(&[b"SET", b"k", b"a value"]) {
        client.send(&[byte]);
    }
    assert_eq!(show(&client.reply()), "+OK|");
    client.send(b"*2\r\n$3\r\nGE");
    std::thread::sleep(Duration::from_millis(20));
    client.send(b"T\r\n$1\r\nk\r");
    std::thread::sleep(Duration::from_millis(20));
    client.send(b"\n");
    assert_eq!(show(&client.reply()), "$7|a value|");
}

#[test]
fn disconnecting_inside_a_request_leaves_nothing_behind() {
    let server = start();
    for cut in 1..30 {
        let mut client = server.connect();
        client.send(&encode(&[b"SET", b"cut", b"0123456789"])[..cut]);
        drop(client);
    }
    let mut client = server.connect();
    assert_eq!(client.ask("EXISTS cut"), ":0|");
}

#[test]
fn requests_before_a_half_close_are_answered() {
    let server = start();
    let mut client = server.connect();
    client.send(&[encode(&[b"SET", b"a", b"1"]), encode(&[b"GET", b"a"])].concat());
    client.stream.shutdown(Shutdown::Write).expect("a half close");
    assert_eq!(show(&client.reply()), "+OK|");
    assert_eq!(show(&client.reply()), "$1|1|");
    assert_eq!(client.try_reply(), None);
}

#[test]
fn oversized_requests_are_refused_with_the_limit() {
    let limits =
        ServerOptions { request_bytes_max: 100_000, arg_bytes_max: 50_000, args_max: 100, ..options() };
    let server = start_with(limits, Durability::None);
    let mut client = server.connect();
    let value = vec![b'x'; 50_000];
    assert_eq!(client.call(&[b"SET", b"k", &value]), b"+OK\r\n");
    client.send(&encode(&[b"SET", b"k", &vec![b'x'; 50_001]]));
    assert_eq!(show(&client.reply()), "-ERR Protocol error: invalid bulk length|");
    assert_eq!(client.try_reply(), None);

    let mut client = server.connect();
    let args: Vec<&[u8]> = vec![b"MGET"; 101];
    client.send(&encode(&args));
    assert_eq!(show(&client.reply()), "-ERR Protocol error: invalid multibulk length|");

    let mut client = server.connect();
    let whole = encode(&[b"MSET", b"a", &value, b"b", &value]);
    client.send(&whole);
    let refusal =
        "-ERR Protocol error: request is longer than the limit of 100000 bytes; split it or raise the limit|";
    assert_eq!(show(&client.reply()), refusal);
    alive(&server);
}

#[test]
fn keys_over_the_limit_are_refused_by_name() {
    let server = start();
    let mut client = server.connect();
    let limit = if trie().is_some() { KEY_BYTES_MAX } else { index().key_bytes_max() };
    let long = vec![b'k'; limit + 1];
    let refusal = format!(
        "-ERR key of {} bytes is longer than the limit of {limit} bytes; shorten it or hash its tail|",
        limit + 1
    );
    assert_eq!(show(&client.call(&[b"SET", &long, b"v"])), refusal);
    assert_eq!(show(&client.call(&[b"MSET", b"fine", b"v", &long, b"v"])), refusal);
    assert_eq!(show(&client.call(&[b"HSET", &long, b"f", b"v"])), refusal);
    assert_eq!(show(&client.call(&[b"GET", &long])), "$-1|");
    assert_eq!(show(&client.call(&[b"GET", b"fine"])), "$-1|", "MSET is all or nothing");
    assert_eq!(show(&client.call(&[b"SET", &long[1..], b"v"])), "+OK|");
    assert_eq!(show(&client.call(&[b"SK.NEXT", &long])), "*-1|");
    assert_eq!(show(&client.call(&[b"SK.COUNT", &[b"[", &long[..]].concat(), b"+"])), ":0|");
}

/// Incident: a column is written as often as the request names it, so a small request took all
/// memory and stopped the server.
#[test]
fn a_small_request_cannot_cause_an_unlimited_reply() {
    let server = start();
    let mut client = server.connect();
    let value = vec![b'v'; 8 << 20];
    assert_eq!(client.call(&[b"HSET", b"row", b"f", &value]), b":1\r\n");
    let refusal = "-ERR the named columns have 536870912 bytes, more than the limit of 536870911; name each column once|";
    let mut names: Vec<&[u8]> = vec![b"f"; 64];
    let hmget = [&[b"HMGET", b"row".as_slice()], names.as_slice()].concat();
    assert_eq!(show(&client.call(&hmget)), refusal);
    let range = [&[b"SK.RANGE", b"-".as_slice(), b"+", b"COLUMNS", b"64"], names.as_slice()].concat();
    assert_eq!(show(&client.call(&range)), refusal);
    names.truncate(2);
    let hmget = [&[b"HMGET", b"row".as_slice()], names.as_slice()].concat();
    assert_eq!(client.call(&hmget).len(), 4 + 2 * (8 << 20) + 2 * (10 + 2));
    alive(&server);
}

#[test]
fn random_bytes_never_stop_the_server() {
    let server = start();
    let mut runner = TestRunner::new(Config { cases: 200, failure_persistence: None, ..Config::default() });
    let bytes = proptest::collection::vec(proptest::prelude::any::<u8>(), 1..500);
    runner
        .run(&bytes, |bytes| {
            let mut stream = TcpStream::connect(server.address).expect("a connection");
            let _ = stream.write_all(&bytes);
            Ok(())
        })
        .expect("no failure");
    let names = "(GET|SET|MGET|MSET|HSET|HGET|SK.RANGE|SK.PREFIX|SK.CAS|SCAN|DEL|INCR|CLIENT|COMMAND|HELLO|INFO|APPEND|SK.DELRANGE)";
    let words = format!(
        "{names}( (-|[+]|\\[a|\\(b|[0-9]{{1,3}}|LIMIT|REV|COLUMNS|COUNT|MATCH|[*]|a|h|NX|GET)){{0,6}}\r\n"
    );
    runner
        .run(&proptest::string::string_regex(&format!("({words}){{1,30}}")).expect("a pattern"), |text| {
            let mut client = server.connect();
            client.send(text.as_bytes());
            client.send(b"PING the-end\r\n");
            while client.reply() != b"$7\r\nthe-end\r\n" {}
            Ok(())
        })
        .expect("no failure");
    alive(&server);
}

#[test]
fn a_storm_of_connections_passes() {
    let server = start();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for i in 0..200 {
                    let mut client = server.connect();
                    match i % 3 {
                        0 => drop(client),
                        1 => client.send(b"PING\r\nPI"),
                        _ => assert_eq!(client.ask("PING"), "+PONG|"),
                    }
                }
            });
        }
    });
    // The last connections may still be closing.
    let mut client = server.connect();
    for _ in 0..500 {
        if client.ask("INFO clients").contains("|connected_clients:1|") {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("connections stayed: {}", client.ask("INFO clients"));
}

#[test]
fn one_client_too_many_gets_an_error() {
    let server = start_with(ServerOptions { clients_max: 3, ..options() }, Durability::None);
    let mut clients: Vec<TestClient> = (0..3).map(|_| server.connect()).collect();
    for client in &mut clients {
        assert_eq!(client.ask("PING"), "+PONG|");
    }
    let mut fourth = server.connect();
    assert_eq!(
        fourth.try_reply().map(|reply| show(&reply)).as_deref(),
        Some("-ERR max number of clients reached|")
    );
    assert_eq!(fourth.try_reply(), None);
    drop(clients.pop());
    for _ in 0..500 {
        let mut client = server.connect();
        client.send(b"PING\r\n");
        if client.try_reply().is_some_and(|reply| reply == b"+PONG\r\n") {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no free slot although a client disconnected");
}

#[test]
fn large_values_are_returned_unchanged() {
    let server = start();
    let mut client = server.connect();
    let value: Vec<u8> = (0..20_000_000u32).map(|i| (i * 7 + i / 256) as u8).collect();
    let mut reader = TestClient::new(client.stream.try_clone().expect("a second handle"));
    client.send(&encode(&[b"SET", b"huge", &value]));
    assert_eq!(show(&reader.reply()), "+OK|");
    client.send(&encode(&[b"GET", b"huge"]));
    let reply = reader.reply();
    assert!(reply.len() == value.len() + 13 && reply[11..reply.len() - 2] == value[..]);
}

#[test]
fn an_open_address_without_a_password_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let store =
        skein_store::Store::open(folder.path(), skein_store::StoreOptions::default()).expect("a store");
    let open = ServerOptions { listen: ([0, 0, 0, 0], 0).into(), ..options() };
    let message = Server::start(store.clone(), open).expect_err("no password").to_string();
    assert_eq!(
        message,
        "0.0.0.0:0 can be reached from other machines, and there is no password; set one, or listen on 127.0.0.1"
    );
    let server = Server::start(store.clone(), options()).expect("a server");
    let taken = ServerOptions { listen: server.local_addr(), ..options() };
    let message = Server::start(store.clone(), taken).expect_err("in use").to_string();
    assert!(message.contains("cannot listen on 127.0.0.1:"), "{message}");
    server.handle().shutdown();
    assert!(server.wait().failed_threads.is_empty());
    store.close().expect("to close");
}
