//! MIGRATE between SkeinDB and Redis, both ways.

use std::net::TcpStream;

use crate::common::{TestClient, encode, show, start};
use crate::redis::ReferenceRedis;

/// Requests that make a key each, and the request that reads it.
fn made_and_read() -> Vec<(String, &'static str)> {
    let many = |head: &str, each: &dyn Fn(usize) -> String| {
        (0..1500).fold(head.to_owned(), |all, i| all + " " + &each(i))
    };
    vec![
        ("SET text v".to_owned(), "GET text"),
        (format!("SET long {}", "x".repeat(300_000)), "GET long"),
        ("HSET hash a 1 b 2".to_owned(), "HGETALL hash"),
        (many("HSET longhash", &|i| format!("f{i} {i}")), "HLEN longhash"),
        (many("RPUSH list", &|i| format!("element{i}")), "LRANGE list 0 -1"),
        (many("SADD numbers", &|i| i.to_string()), "SORT numbers"),
        (many("SADD set", &|i| format!("member{i}")), "SORT set ALPHA"),
        (many("ZADD zset", &|i| format!("{} member{i}", i % 7)), "ZRANGE zset 0 -1 WITHSCORES"),
        ("XADD stream 5-1 f v".to_owned(), "XRANGE stream - +"),
        ("PFADD hll a b c".to_owned(), "PFCOUNT hll"),
    ]
}

fn migrate(from: &mut TestClient, to: &str, rest: &str) -> String {
    let (host, port) = to.split_once(':').expect("a port");
    let rest = rest.split(' ').map(|word| if word == "none" { &b""[..] } else { word.as_bytes() });
    let head = [&b"MIGRATE"[..], host.as_bytes(), port.as_bytes()];
    show(&from.call(&head.into_iter().chain(rest).collect::<Vec<_>>()))
}

#[test]
fn keys_move_to_redis_and_back() {
    let Some(redis) = ReferenceRedis::start() else { return };
    let server = start();
    let ours = server.address.to_string();
    let mut here = server.connect();
    let mut there = TestClient::new(TcpStream::connect(&redis.address).expect("a connection"));
    let requests = made_and_read();
    let reads = |client: &mut TestClient| -> Vec<String> {
        requests.iter().map(|(_, read)| client.ask(read)).collect()
    };
    for (request, _) in &requests {
        here.send(&encode(&request.split(' ').map(str::as_bytes).collect::<Vec<_>>()));
        assert_ne!(here.reply()[0], b'-', "{request}");
    }
    assert_eq!(here.ask("PEXPIRE hash 500000"), ":1|");
    let before = reads(&mut here);
    let keys: Vec<&str> =
        requests.iter().map(|(request, _)| request.split(' ').nth(1).expect("a key")).collect();
    let all = format!("none 2 10000 KEYS {}", keys.join(" "));
    assert_eq!(migrate(&mut here, &redis.address, &all), "+OK|");
    assert_eq!(here.ask("DBSIZE"), ":0|");
    assert_eq!(there.ask("SELECT 2"), "+OK|");
    assert!(reads(&mut there) == before);
    let left: u64 = there.ask("PTTL hash")[1..].trim_end_matches('|').parse().expect("a time");
    assert!((300_000..=500_000).contains(&left), "{left}");
    // Redis is the one that moves them back.
    let back = all.replacen(" 2 ", " 0 ", 1);
    assert_eq!(migrate(&mut there, &ours, &back), "+OK|");
    assert_eq!(there.ask("DBSIZE"), ":0|");
    assert!(reads(&mut here) == before);
    assert_eq!(here.ask("TTL text"), ":-1|");
}

/// The same requests on both, with another Redis as their target. Not with database -1: after an
/// error Redis takes it for the selected one. Nor with REPLACE and a wrong login: Redis replaces
/// the key.
#[test]
fn replies_are_those_of_redis() {
    let Some((redis, target)) = ReferenceRedis::start().zip(ReferenceRedis::start()) else { return };
    let server = start();
    let mut there = TestClient::new(TcpStream::connect(&redis.address).expect("a connection"));
    let mut at_target = TestClient::new(TcpStream::connect(&target.address).expect("a connection"));
    let mut here = server.connect();
    for request in [
        "k 0 1000",
        "nope 0 1000",
        "none 0 1000 KEYS nope k l",
        "k 0 1000 COPY",
        "k 0 1000 COPY REPLACE",
        "none 0 1000 COPY REPLACE KEYS k k",
        "none 0 1000 COPY KEYS l l",
        "none 0 1000 REPLACE KEYS l l",
        "none 0 1000 KEYS l k",
        "k 99 1000",
        "k 0 1000 AUTH pw",
        "k 0 1000 AUTH2 default pw",
        "k 0 1000 AUTH2 nobody pw",
    ] {
        let [theirs, ours] = [&mut there, &mut here].map(|client| {
            at_target.ask("FLUSHALL");
            at_target.ask("SET k earlier");
            client.ask("FLUSHALL");
            client.ask("MSET k v l w");
            let reply = migrate(client, &target.address, request);
            (reply, client.ask("MGET k l"), at_target.ask("MGET k l"))
        });
        assert_eq!(theirs, ours, "{request}");
    }
}
