//! CLIENT TRACKING: who is told of which change, in which form. Errors and modes are in
//! `golden/tracking.txt`.

use std::collections::HashSet;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{
    TestClient, TestServer, encode, options, reply_len, show, start_on, start_with, trie, wait_for,
};
use skein_server::ServerOptions;
use skein_store::{Durability, Eviction, StoreOptions};

fn start() -> TestServer {
    start_with(ServerOptions { workers: 3, ..options() }, Durability::Buffered)
}

/// Connects a client in RESP3 that tracks keys.
fn tracking(server: &TestServer, options: &str) -> TestClient {
    let mut client = server.connect();
    client.ask("HELLO 3");
    assert_eq!(client.ask(format!("CLIENT TRACKING ON {options}").trim_end()), "+OK|");
    client
}

fn message(keys: &[&str]) -> String {
    let head = format!(">2|$10|invalidate|*{}|", keys.len());
    keys.iter().fold(head, |text, key| format!("{text}${}|{key}|", key.len()))
}

#[track_caller]
fn assert_told(client: &mut TestClient, keys: &[&str]) {
    assert_eq!(show(&client.reply()), message(keys));
}

/// Asserts that no message comes before the reply to a request.
#[track_caller]
fn assert_silent(client: &mut TestClient) {
    assert_eq!(client.ask("ECHO silence"), "$7|silence|");
}

/// Returns a figure of INFO.
fn figure(client: &mut TestClient, name: &str) -> usize {
    let info = client.ask("INFO");
    let line = info.split('|').find_map(|line| line.strip_prefix(&format!("{name}:")));
    line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name}: {info}"))
}

/// A read, a write, and the key that the reader is told of.
const CHANGES: &[(&str, &str, &str)] = &[
    ("GET k", "SET k v", "k"),
    ("GET k", "APPEND k v", "k"),
    ("EXISTS x k", "GETDEL k", "k"),
    ("MGET k x", "MSET x 1", "x"),
    ("TTL k", "SETEX k 100 v", "k"),
    ("STRLEN k", "PERSIST k", "k"),
    ("TYPE k", "EXPIRE k 50", "k"),
    ("OBJECT ENCODING k", "RENAME k x", "k"),
    ("GET x", "RENAME x k", "x"),
    ("HGETALL h", "HSET h f v", "h"),
    ("HGET h f", "HDEL h f", "h"),
    ("LRANGE l 0 -1", "RPUSH l a b", "l"),
    ("LINDEX m 0", "LMOVE l m LEFT LEFT", "m"),
    ("LLEN l", "LMPOP 2 q l LEFT", "l"),
    ("LLEN m", "BLPOP m 0", "m"),
    ("SMEMBERS s", "SADD s a", "s"),
    ("SUNION s t", "SUNIONSTORE t s", "t"),
    ("SINTER s t", "SMOVE s u a", "s"),
    ("ZRANGE z 0 -1", "ZADD z 1 a", "z"),
    ("ZUNION 2 z y", "ZREM z a", "z"),
    ("SK.GETV k", "SK.CAS k 0 v", ""),
    ("GET k", "EVAL return(redis.call('DEL',KEYS[1])) 1 k", "k"),
    ("GET k", "COPY t k", "k"),
    ("TOUCH k", "UNLINK x y k", "k"),
];

#[test]
fn a_change_of_a_key_that_was_read_is_told_once() {
    let server = start();
    let mut reader = tracking(&server, "");
    let mut writers: Vec<TestClient> = (0..3).map(|_| server.connect()).collect();
    for writer in &mut writers {
        for (read, write, told) in CHANGES {
            reader.ask(read);
            assert!(!writer.ask(write).starts_with('-'), "{write}");
            if !told.is_empty() {
                assert_eq!(show(&reader.reply()), message(&[told]), "{write}");
            }
            writer.ask("INCR other");
            assert_silent(&mut reader);
        }
        reader.ask("GET k");
        writer.ask("FLUSHALL");
        assert_eq!(show(&reader.reply()), ">2|$10|invalidate|_|");
    }
    reader.ask("GET k");
    assert_eq!(reader.ask("CLIENT TRACKING OFF"), "+OK|");
    writers[0].ask("SET k v");
    writers[0].ask("FLUSHALL");
    assert_silent(&mut reader);
    assert_eq!(figure(&mut reader, "tracking_total_keys"), 0);
}

#[test]
fn own_changes_are_told_unless_the_client_declines() {
    let server = start();
    for (options, is_told) in [("", true), ("NOLOOP", false)] {
        let mut client = tracking(&server, options);
        client.ask("GET k");
        assert_eq!(client.ask("SET k v"), "+OK|");
        if is_told {
            assert_told(&mut client, &["k"]);
        }
        assert_silent(&mut client);
    }
    let mut client = tracking(&server, "BCAST NOLOOP");
    let mut other = server.connect();
    client.ask("SET k v");
    assert_silent(&mut client);
    other.ask("SET k v");
    assert_told(&mut client, &["k"]);
}

#[test]
fn caching_selects_single_reads() {
    let server = start();
    let mut writer = server.connect();
    let mut client = tracking(&server, "OPTIN");
    client.ask("GET a");
    client.ask("CLIENT CACHING YES");
    client.ask("GET b");
    client.ask("GET c");
    for request in ["CLIENT CACHING YES", "MULTI", "GET d", "GET e", "EXEC", "GET f"] {
        client.ask(request);
    }
    writer.ask("MSET a 1 b 1 c 1 d 1 e 1 f 1");
    for key in ["b", "d", "e"] {
        assert_told(&mut client, &[key]);
    }
    assert_silent(&mut client);
    let mut client = tracking(&server, "OPTOUT");
    client.ask("GET a");
    client.ask("CLIENT CACHING NO");
    client.ask("GET b");
    client.ask("GET c");
    writer.ask("MSET a 1 b 1 c 1");
    assert_told(&mut client, &["a"]);
    assert_told(&mut client, &["c"]);
    assert_silent(&mut client);
}

#[test]
fn prefixes_are_told_of_all_changes() {
    let server = start();
    let mut client = tracking(&server, "BCAST PREFIX a PREFIX bc");
    let mut all = tracking(&server, "BCAST");
    let mut writer = server.connect();
    for key in ["a", "ab", "b", "bcd"] {
        writer.ask(&format!("SET {key} v"));
        assert_told(&mut all, &[key]);
    }
    for key in ["a", "ab", "bcd"] {
        assert_told(&mut client, &[key]);
    }
    writer.ask("MSET ax 1 bcx 1 ac 1 z 1");
    assert_told(&mut client, &["ac", "ax"]);
    assert_told(&mut client, &["bcx"]);
    assert_told(&mut all, &["ac", "ax", "bcx", "z"]);
    assert_eq!(figure(&mut writer, "tracking_total_prefixes"), 3);
    assert_eq!(figure(&mut writer, "tracking_clients"), 2);
    drop((client, all));
    wait_for(|| figure(&mut writer, "tracking_clients") == 0);
    assert_eq!(figure(&mut writer, "tracking_total_prefixes"), 0);
}

/// As in Redis, the keys of a transaction are one message for each prefix.
#[test]
fn a_transaction_is_one_message_for_each_prefix() {
    let server = start();
    let mut client = tracking(&server, "BCAST PREFIX a: PREFIX b:");
    let mut writer = server.connect();
    for request in ["MULTI", "INCR a:1", "INCR b:1", "INCR c:1", "INCR a:2", "EXEC"] {
        writer.ask(request);
    }
    assert_told(&mut client, &["a:1", "a:2"]);
    assert_told(&mut client, &["b:1"]);
    // Half of a script is done in memory when it fails, and nothing of it on disk.
    let script = "redis.call('set', 'a:3', '1') redis.call('set', 'a:4', '1') return redis.call('nope')";
    writer.call(&[b"EVAL", script.as_bytes(), b"0"]);
    if writer.ask("EXISTS a:3") == ":1|" {
        assert_told(&mut client, &["a:3", "a:4"]);
    }
    assert_silent(&mut client);
}

/// Incident: a transaction's changes were told at its end, also those before the client's own read.
/// Consequence: a client was told to forget what it had just read. Fix: such a read is remembered
/// after them.
#[test]
fn a_read_in_a_transaction_is_after_the_changes_before_it() {
    let server = start();
    let mut client = tracking(&server, "");
    let mut writer = server.connect();
    for (requests, told) in [
        (&["MSET x 1 y 2", "PEXPIRE y 100000", "GET y"][..], false),
        (&["SET y 3", "GET y", "SET y 4"], true),
        (&["GET y", "SET y 5"], true),
        (&["SET y 6", "GET y", "DEL z"], false),
        (&["FLUSHALL", "GET y"], true),
    ] {
        client.ask("MULTI");
        for request in requests {
            assert_eq!(client.ask(request), "+QUEUED|");
        }
        assert!(client.ask("EXEC").starts_with('*'));
        if told {
            assert!(show(&client.reply()).starts_with(">2|$10|invalidate|"), "{requests:?}");
        } else {
            assert_silent(&mut client);
            writer.ask("SET y 9");
            assert_told(&mut client, &["y"]);
        }
    }
    // It may end to track meanwhile.
    for request in ["MULTI", "SET y 1", "GET y", "CLIENT TRACKING OFF", "EXEC"] {
        client.ask(request);
    }
    assert_eq!(figure(&mut writer, "tracking_total_keys"), 0);
}

/// As in Redis, a script that reads any key counts as a read of the keys that it declares.
#[test]
fn scripts_that_read_track_their_declared_keys() {
    let server = start();
    let mut client = tracking(&server, "");
    let mut writer = server.connect();
    for (script, is_told) in [("redis.call('set', 'x', 'v')", false), ("redis.call('get', 'x')", true)] {
        client.call(&[b"EVAL", script.as_bytes(), b"2", b"k1", b"k2"]);
        writer.ask("MSET k1 1 k2 2");
        if is_told {
            assert_told(&mut client, &["k1"]);
            assert_told(&mut client, &["k2"]);
        }
        assert_silent(&mut client);
    }
}

#[test]
fn messages_can_go_to_another_client() {
    let server = start();
    let (mut receiver, mut client, mut writer) = (server.connect(), server.connect(), server.connect());
    let id = receiver.ask("CLIENT ID").trim_matches([':', '|']).to_owned();
    receiver.ask("SUBSCRIBE __redis__:invalidate");
    assert_eq!(client.ask(&format!("CLIENT TRACKING ON REDIRECT {id}")), "+OK|");
    assert_eq!(client.ask("CLIENT GETREDIR"), format!(":{id}|"));
    let list = writer.ask("CLIENT LIST");
    assert!(list.contains(" flags=t ") && list.contains(&format!(" redir={id} ")), "{list}");
    client.ask("GET k");
    writer.ask("SET k v");
    assert_eq!(show(&receiver.reply()), "*3|$7|message|$20|__redis__:invalidate|*1|$1|k|");
    writer.ask("FLUSHALL");
    assert_eq!(show(&receiver.reply()), "*3|$7|message|$20|__redis__:invalidate|$-1|");
    assert_silent(&mut client);
    // In RESP3 the receiver needs no subscription.
    let mut other = server.connect();
    other.ask("HELLO 3");
    let id = other.ask("CLIENT ID").trim_matches([':', '|']).to_owned();
    client.ask("HELLO 3");
    client.ask(&format!("CLIENT TRACKING ON REDIRECT {id}"));
    client.ask("GET k");
    writer.ask("SET k v");
    assert_told(&mut other, &["k"]);
    drop(other);
    wait_for(|| !writer.ask("CLIENT LIST").contains(&format!("id={id} ")));
    client.ask("GET k");
    writer.ask("SET k w");
    assert_eq!(show(&client.reply()), format!(">2|$21|tracking-redir-broken|:{id}|"));
    assert!(client.ask("CLIENT TRACKINGINFO").contains("broken_redirect"));
    assert!(writer.ask("CLIENT LIST").contains(" flags=tR "));
}

/// In RESP2 a client cannot be told, but its keys leave the table all the same.
#[test]
fn clients_without_a_form_for_messages_get_none() {
    let server = start();
    let (mut client, mut writer) = (server.connect(), server.connect());
    assert_eq!(client.ask("CLIENT TRACKING ON"), "+OK|");
    client.ask("MGET a b");
    assert_eq!(figure(&mut writer, "tracking_total_items"), 2);
    writer.ask("SET a 1");
    assert_silent(&mut client);
    assert_eq!(figure(&mut writer, "tracking_total_keys"), 1);
}

#[test]
fn expiry_and_transactions_are_told() {
    let server = start();
    let mut reader = tracking(&server, "");
    let mut writer = server.connect();
    writer.ask("SET k v PX 20");
    reader.ask("GET k");
    // A thread of the engine removes the key.
    assert_told(&mut reader, &["k"]);
    writer.ask("SET k v PX 20");
    reader.ask("GET k");
    std::thread::sleep(Duration::from_millis(30));
    // A read by somebody else does.
    writer.ask("GET k");
    assert_told(&mut reader, &["k"]);
    for request in ["MULTI", "GET k", "SET k 1", "LPUSH l a", "EXEC"] {
        reader.ask(request);
    }
    assert_told(&mut reader, &["k"]);
    for request in ["MULTI", "SET k 2", "DEL k", "EXEC"] {
        writer.ask(request);
    }
    assert_silent(&mut reader);
    // Tracking that begins in a transaction counts in it.
    let mut client = server.connect();
    client.ask("HELLO 3");
    for request in ["MULTI", "CLIENT TRACKING ON", "GET k", "EXEC"] {
        client.ask(request);
    }
    writer.ask("SET k 3");
    assert_told(&mut client, &["k"]);
    reader.call(&[b"EVAL", b"return redis.call('GET', 'k')", b"0"]);
    writer.ask("SET k 4");
    assert_told(&mut reader, &["k"]);
}

#[test]
fn evicted_keys_are_told() {
    if trie().is_some() {
        return;
    }
    let server = start_on(
        options(),
        StoreOptions { logs: 2, index: crate::common::index(), ..StoreOptions::default() },
    );
    let mut reader = tracking(&server, "");
    let mut writer = server.connect();
    writer.ask("SET k v");
    reader.ask("GET k");
    server.memory().set_memory_limit(Some(8 << 20), Eviction::Lru);
    let long = vec![b'x'; 100_000];
    for number in 0..400 {
        writer.call(&[b"SET", format!("f{number}").as_bytes(), &long]);
    }
    assert_eq!(writer.ask("EXISTS k"), ":0|");
    assert_told(&mut reader, &["k"]);
}

#[test]
fn too_many_keys_are_dropped_and_told() {
    let server = start();
    let mut reader = tracking(&server, "");
    let mut writer = server.connect();
    writer.ask("CONFIG SET tracking-table-max-keys 10");
    for number in 0..15 {
        reader.ask(&format!("GET k{number:02}"));
        if number >= 10 {
            assert_told(&mut reader, &[&format!("k{:02}", number - 10)]);
        }
    }
    assert_eq!(figure(&mut writer, "tracking_total_keys"), 10);
    assert_eq!(figure(&mut writer, "tracking_total_items"), 10);
    // Incident: a lower limit removed no key until the next reads. Fix: it removes them at once.
    writer.ask("CONFIG SET tracking-table-max-keys 1000");
    for number in 0..190 {
        reader.ask(&format!("GET m{number}"));
    }
    assert_eq!(writer.ask("CONFIG SET tracking-table-max-keys 1"), "+OK|");
    assert_eq!(figure(&mut writer, "tracking_total_keys"), 1);
    for _ in 0..199 {
        assert!(show(&reader.reply()).starts_with(">2|$10|invalidate|*1|"));
    }
    assert_silent(&mut reader);
}

/// A client reads keys while another one writes them, each key once in a round. If it has read an
/// old value, it must be told. The values are so long that the read takes longer than the writes: a
/// client that is remembered after its read, and not before, fails this in the first rounds.
#[test]
fn no_change_is_lost_between_a_read_and_its_registration() {
    const ROUNDS: u64 = 24;
    const KEYS: usize = 48;
    let server = start_with(ServerOptions { workers: 2, ..options() }, Durability::Buffered);
    // Connections are given to the workers in turn.
    let (mut reader, mut writer) = (tracking(&server, ""), server.connect());
    let keys: Vec<String> = (0..KEYS).map(|number| format!("k{number}")).collect();
    let together = Barrier::new(2);
    let mut lost = Vec::new();
    let set_all = |client: &mut TestClient, value: &[u8]| {
        client
            .send(&keys.iter().flat_map(|key| encode(&[b"SET", key.as_bytes(), value])).collect::<Vec<u8>>());
        for _ in &keys {
            assert_eq!(client.reply(), b"+OK\r\n");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                set_all(&mut writer, &vec![b'x'; 128 << 10]);
                together.wait();
                // At different moments of the read.
                std::thread::sleep(Duration::from_micros(round % 8 * 250));
                set_all(&mut writer, b"new");
                together.wait();
            }
        });
        let names = keys.iter().map(String::as_bytes);
        let mget = encode(&[&b"MGET"[..]].into_iter().chain(names).collect::<Vec<_>>());
        for round in 0..ROUNDS {
            together.wait();
            reader.send(&mget);
            let mut old = HashSet::new();
            let values = next_reply(&mut reader, &mut old);
            let mut rest = &values[values.iter().position(|byte| *byte == b'\n').expect("a head") + 1..];
            for key in &keys {
                let (value, others) = rest.split_at(reply_len(rest).expect("a value"));
                rest = others;
                old.extend((value.len() > 1000).then(|| key.clone()));
            }
            together.wait();
            // The worker of the reader takes its mail before it runs a request.
            std::thread::sleep(Duration::from_millis(10));
            reader.send(&encode(&[b"PING"]));
            next_reply(&mut reader, &mut old);
            lost.extend(old.into_iter().map(|key| (round, key)));
        }
    });
    assert!(lost.is_empty(), "not told of these, by round: {lost:?}");
}

/// Returns the next reply. Removes the keys of the messages before it.
fn next_reply(client: &mut TestClient, kept: &mut HashSet<String>) -> Vec<u8> {
    loop {
        let reply = client.reply();
        match told_of(&reply) {
            Some(told) => _ = kept.remove(&told),
            None => return reply,
        }
    }
}

/// Returns the key of an invalidation.
fn told_of(message: &[u8]) -> Option<String> {
    let text = message.strip_prefix(b">2\r\n$10\r\ninvalidate\r\n*1\r\n$")?;
    let key = String::from_utf8_lossy(text).split("\r\n").nth(1)?.to_owned();
    Some(key)
}

/// The keys that clients read and write at the same time.
const RACED: usize = 6;

/// What a client keeps of the keys, in its protocol.
type KeptValues = [Option<String>; RACED];

/// Readers keep what they have read, as clients do that cache, and forget a key when they are told.
/// In the end nothing that they keep may be old, in whatever way commands ran.
#[test]
fn nothing_old_is_kept_after_a_race() {
    let server = start();
    for round in 0..5 {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (server, stop) = (&server, &stop);
            let readers: Vec<_> = (0..4).map(|_| scope.spawn(move || read_until(server, stop))).collect();
            for writer in 0..3 {
                scope.spawn(move || write_until(server, stop, writer));
            }
            std::thread::sleep(Duration::from_millis(200));
            stop.store(true, Ordering::Relaxed);
            let mut checker = server.connect();
            checker.ask("HELLO 3");
            for reader in readers {
                let (mut client, mut kept) = reader.join().expect("a reader");
                // A message of another worker may still be in the mail.
                std::thread::sleep(Duration::from_millis(100));
                client.send(&encode(&[b"PING"]));
                assert_eq!(reply(&mut client, &mut kept), "+PONG|");
                for (key, value) in kept.iter().enumerate() {
                    if let Some(value) = value {
                        assert_eq!(*value, checker.ask(&format!("GET k{key}")), "k{key} in round {round}");
                    }
                }
            }
        });
    }
}

/// Reads all keys, again and again, by themselves or in a transaction.
fn read_until(server: &TestServer, stop: &AtomicBool) -> (TestClient, KeptValues) {
    let (mut client, mut kept) = (tracking(server, ""), KeptValues::default());
    let gets: Vec<u8> = (0..RACED).flat_map(|key| encode(&[b"GET", format!("k{key}").as_bytes()])).collect();
    let exec = [encode(&[b"MULTI"]), gets.clone(), encode(&[b"EXEC"])].concat();
    for number in 0.. {
        if number % 3 == 0 {
            client.send(&exec);
            for _ in 0..=RACED {
                assert!(reply(&mut client, &mut kept).starts_with('+'));
            }
            let values = reply(&mut client, &mut kept);
            let mut rest = values.strip_prefix("*6|").expect("six values").split_inclusive('|');
            for place in &mut kept {
                let head = rest.next().expect("a value");
                let tail = if head == "_|" { "" } else { rest.next().expect("its bytes") };
                *place = Some(format!("{head}{tail}"));
            }
        } else {
            client.send(&gets);
            for key in 0..RACED {
                kept[key] = Some(reply(&mut client, &mut kept));
            }
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    (client, kept)
}

/// Writes all keys, again and again, in the ways in which commands run.
fn write_until(server: &TestServer, stop: &AtomicBool, writer: usize) {
    let mut client = server.connect();
    for number in 0_usize.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let mut requests = Vec::new();
        for at in 0..2 * RACED {
            let key = format!("k{}", (number + writer + at) % RACED).into_bytes();
            let value = format!("{writer}:{number}:{at}").into_bytes();
            requests.extend(match (number + at) % 5 {
                0 => encode(&[b"DEL", &key]),
                1 => encode(&[b"MSET", &key, &value, b"x", b"1"]),
                2 => encode(&[b"EVAL", b"return redis.call('SET',KEYS[1],ARGV[1])", b"1", &key, &value]),
                _ => encode(&[b"SET", &key, &value]),
            });
        }
        client.send(&requests);
        for _ in 0..2 * RACED {
            client.reply();
        }
    }
}

/// Returns the next reply, and forgets the keys of the messages before it.
fn reply(client: &mut TestClient, kept: &mut KeptValues) -> String {
    loop {
        let text = show(&client.reply());
        let Some(key) = text.strip_prefix(">2|$10|invalidate|*1|$2|k") else { return text };
        kept[key.trim_end_matches('|').parse::<usize>().expect("a number")] = None;
    }
}
