//! Commands that replace the contents of a key: if they are rejected, the contents stay.

use crate::common::{TestClient, options, show, start, start_on};
use skein_store::{Eviction, IndexKind, KEY_BYTES_MAX, StoreOptions};

/// Writes a sorted set and a hash of many columns, both with an expiry time.
fn fill(client: &mut TestClient) {
    let value = "v".repeat(1000);
    for number in 0..200 {
        client.ask(&format!("ZADD set {number} member{number}"));
        client.ask(&format!("HSET hash name{number} {value}"));
    }
    for key in ["set", "hash"] {
        assert_eq!(client.ask(&format!("PEXPIREAT {key} 99999999999999")), ":1|");
    }
}

/// Incident: COPY removed the old value before it wrote the members, and set the expiry time last.
/// A key of the maximum length cannot expire, so that step failed. Consequence: the old value was
/// lost, and a copy without an expiry time stood there.
#[test]
fn a_rejected_copy_leaves_the_old_value() {
    let server = start_on(options(), StoreOptions::default());
    let mut client = server.connect();
    fill(&mut client);
    let longest = vec![b'k'; KEY_BYTES_MAX];
    assert_eq!(show(&client.call(&[b"SET", &longest, b"old"])), "+OK|");
    for from in ["set", "hash"] {
        let refused = show(&client.call(&[b"COPY", from.as_bytes(), &longest, b"REPLACE"]));
        assert!(refused.starts_with("-ERR key of 65535 bytes"), "{refused}");
        assert_eq!(show(&client.call(&[b"GET", &longest])), "$3|old|", "after a copy of {from}");
        assert_eq!(client.ask(&format!("COPY {from} set2 REPLACE")), ":1|");
        assert_eq!(client.ask("PEXPIRETIME set2"), ":99999999999999|");
    }
    assert_eq!(client.ask("HLEN set2"), ":200|");
    assert_eq!(client.ask("ZINTERSTORE set2 2 set absent"), ":0|");
    assert_eq!(client.ask("EXISTS set2"), ":0|");
}

/// The same with full memory: neither a stored union nor a copy may remove the old value and then
/// fail.
#[test]
fn a_replacement_without_room_leaves_the_old_value() {
    let server = start_on(options(), StoreOptions::default());
    let mut client = server.connect();
    fill(&mut client);
    client.ask("ZADD other 7 seven");
    let long = "m".repeat(2000);
    for number in 0..60 {
        client.ask(&format!("ZADD large-set {number} {long}{number}"));
    }
    server.memory().set_memory_limit(Some(1 << 20), Eviction::None);
    let large = vec![7; 40_000];
    while show(&client.call(&[b"APPEND", b"large", &large])).starts_with(':') {}
    for refused in
        ["COPY hash other REPLACE", "ZUNIONSTORE other 1 large-set", "COPY large-set other REPLACE"]
    {
        assert!(client.ask(refused).starts_with("-OOM "), "{refused}");
        assert_eq!(client.ask("ZRANGE other 0 -1 WITHSCORES"), "*2|$5|seven|$1|7|", "after {refused}");
    }
}

/// An index for short keys rejects a longer key, and the command leaves nothing behind.
#[test]
fn a_copy_to_a_too_long_key_writes_nothing() {
    let server = start_on(options(), StoreOptions { index: IndexKind::Mlp, ..StoreOptions::default() });
    let mut client = server.connect();
    fill(&mut client);
    for refused in
        ["COPY set far-too-long", "COPY hash far-too-long REPLACE", "ZUNIONSTORE far-too-long 1 set"]
    {
        let reply = client.ask(refused);
        assert!(reply.starts_with("-ERR key of 12 bytes"), "{refused}: {reply}");
    }
    assert_eq!(client.ask("DBSIZE"), ":2|");
}

/// The index entries of a replaced set are removed, so that its members do not reappear after a
/// restart.
#[test]
fn a_replaced_set_has_only_its_new_members() {
    let server = start();
    let mut client = server.connect();
    if crate::common::trie().is_some() {
        return;
    }
    fill(&mut client);
    client.ask("ZADD small 1 one");
    for _ in 0..3 {
        assert_eq!(client.ask("ZUNIONSTORE set 1 small"), ":1|");
        assert_eq!(client.ask("ZRANGE set 0 -1 WITHSCORES"), "*2|$3|one|$1|1|");
        assert_eq!(client.ask("PTTL set"), ":-1|");
        assert_eq!(client.ask("COPY hash set REPLACE"), ":1|");
        assert_eq!(client.ask("HLEN set"), ":200|");
    }
}
