//! Readers that cache beside writers: nothing old may stay.

use std::collections::HashSet;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{start, tracking};
use crate::common::{TestClient, TestServer, encode, options, reply_len, show, start_with};
use skein_server::ServerOptions;
use skein_store::Durability;

/// A client reads keys while another one writes them, each key once in a round. If it has read an
/// old value, it must be told. The values are so long that the read takes longer than the writes.
/// So a client that is remembered after its read, and not before, fails this in the first rounds.
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
                // The write begins at different moments of the read.
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

/// The keys and values that a client keeps, in its protocol.
type KeptValues = [Option<String>; RACED];

/// Readers keep the values that they have read, as clients do that cache, and forget a key when
/// they are told. In the end no kept value may be old, in whatever way commands ran.
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
