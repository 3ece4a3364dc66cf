//! Commands on many keys where Redis's replies cannot be compared, because Redis has no key order.

use std::collections::BTreeMap;

use crate::common::{TestServer, encode, options, start, start_with};
use skein_server::ServerOptions;
use skein_store::Durability;

fn fill(server: &TestServer, keys: impl Iterator<Item = String>) {
    let mut client = server.connect();
    for key in keys {
        assert_eq!(client.call(&[b"SET", key.as_bytes(), b"x"]), b"+OK\r\n");
    }
}

#[test]
fn keys_are_given_in_order_in_slices() {
    let server = start();
    fill(&server, (0..2000).map(|i| format!("u:{i:04}")).chain(["admin".into(), "zebra".into()]));
    let mut client = server.connect();
    let expected = |keys: &[String]| {
        let words = keys.iter().map(|key| format!("${}\r\n{key}\r\n", key.len()));
        format!("*{}\r\n{}", keys.len(), words.collect::<String>()).into_bytes()
    };
    let numbers = |wanted: fn(&usize) -> bool| -> Vec<String> {
        (0..2000).filter(wanted).map(|i| format!("u:{i:04}")).collect()
    };
    assert_eq!(client.call(&[b"KEYS", b"u:*"]), expected(&numbers(|_| true)));
    assert_eq!(client.call(&[b"KEYS", b"*:*7"]), expected(&numbers(|i| i % 10 == 7)));
    assert_eq!(client.call(&[b"KEYS", b"u:199?"]), expected(&numbers(|i| *i >= 1990)));
    assert_eq!(client.call(&[b"KEYS", b"[az]*"]), expected(&["admin".into(), "zebra".into()]));
    // A pipeline keeps its order around the slices.
    client.send(&[encode(&[b"KEYS", b"u:*1"]), encode(&[b"PING"])].concat());
    assert_eq!(client.reply(), expected(&numbers(|i| i % 10 == 1)));
    assert_eq!(client.reply(), b"+PONG\r\n");
}

#[test]
fn a_list_of_keys_that_is_too_long_is_an_error() {
    let server = start_with(ServerOptions { reply_bytes_max: 2048, ..options() }, Durability::Buffered);
    fill(&server, (0..500).map(|i| format!("key{i}")));
    let mut client = server.connect();
    assert_eq!(
        client.ask("KEYS *"),
        "-ERR the reply would be longer than the limit of 2048 bytes; use SCAN|"
    );
    assert_eq!(client.ask("KEYS key499"), "*1|$6|key499|");
}

#[test]
fn every_key_can_be_drawn() {
    let server = start();
    let keys = ["a", "a1", "a12", "b", "u:000001", "u:000002", "u:100000", "", "\u{ff}z"];
    fill(&server, keys.iter().map(|key| (*key).to_owned()));
    let mut client = server.connect();
    let mut drawn: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..4000 {
        let reply = client.ask("RANDOMKEY");
        *drawn.entry(reply.split('|').nth(1).expect("a key").to_owned()).or_default() += 1;
    }
    assert_eq!(drawn.len(), keys.len(), "{drawn:?}");
    assert!(keys.iter().all(|key| drawn.contains_key(*key)), "{drawn:?}");
}

#[test]
fn keys_of_one_shape_are_drawn_about_as_often() {
    let server = start();
    fill(&server, (0..100).map(|i| format!("key:{i:02}")));
    let mut client = server.connect();
    let mut drawn: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..10_000 {
        *drawn.entry(client.ask("RANDOMKEY")).or_default() += 1;
    }
    assert_eq!(drawn.len(), 100);
    assert!(drawn.values().all(|count| (30..=250).contains(count)), "{drawn:?}");
}

#[test]
fn a_scan_whose_pattern_changes_ends() {
    let server = start();
    fill(&server, (0..100).map(|i| format!("b{i}")).chain((0..100).map(|i| format!("a{i}"))));
    let mut client = server.connect();
    let reply = client.ask("SCAN 0 COUNT 150 MATCH nope");
    assert_eq!(reply, "*2|$1|0|*0|");
    let first = client.ask("SCAN 0 COUNT 150");
    let cursor = first.split('|').nth(2).expect("a cursor");
    assert_eq!(
        client.ask(&format!("SCAN {cursor} MATCH a*")),
        "*2|$1|0|*0|",
        "the cursor is past those keys"
    );
}
