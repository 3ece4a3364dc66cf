//! Long commands run in slices. Other clients of the worker are answered between them, the time of
//! a command is that of its slices, and the memory held until the reply is written is limited.

use std::io::ErrorKind;

use crate::common::{TestClient, TestServer, encode, index, options, start_on};
use skein_server::ServerOptions;
use skein_store::StoreOptions;

const MANY: usize = 6000;

/// Starts a server with one worker, large sets, many columns and many keys.
fn start_filled(options: ServerOptions) -> TestServer {
    let options = ServerOptions { workers: 1, debug_command: true, ..options };
    let server = start_on(options, StoreOptions { index: index(), ..StoreOptions::default() });
    fill(&mut server.connect());
    server
}

fn fill(client: &mut TestClient) {
    let all: Vec<usize> = (0..MANY).collect();
    let each = |command: &str, entry: fn(&usize) -> String| {
        all.chunks(1000)
            .map(|some| format!("{command} {}", some.iter().map(entry).collect::<Vec<_>>().join(" ")))
            .collect::<Vec<_>>()
    };
    let requests = [
        each("ZADD z", |i| format!("{} member:{i:05}", i % 700)),
        each("ZADD y", |i| format!("1 member:{:05}", i + 1000)),
        each("SADD s", |i| format!("member:{i:05}")),
        each("SADD t", |i| format!("member:{:05}", i + 1000)),
        each("HSET h", |i| format!("column:{i:05} {i}")),
        each("MSET", |i| format!("k:{i:05} {i}")),
    ];
    for request in requests.concat() {
        client.send(&bytes_of(&request));
    }
    for _ in 0..requests.concat().len() {
        assert_ne!(client.reply()[0], b'-');
    }
}

fn bytes_of(words: &str) -> Vec<u8> {
    encode(&words.split(' ').map(str::as_bytes).collect::<Vec<_>>())
}

/// Returns how often the command ran, and for how many microseconds, from a reply to INFO
/// commandstats.
fn done(info: &str, command: &str) -> (u64, u64) {
    let line = info.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    let numbers: Vec<u64> =
        line.unwrap_or("0,usec=0").split([',', '=']).filter_map(|word| word.parse().ok()).collect();
    (numbers[0], numbers[1])
}

fn info(client: &mut TestClient) -> String {
    String::from_utf8(client.call(&[b"INFO", b"commandstats"])).expect("text")
}

/// Returns whether another client is answered while the request is in progress. Both clients'
/// requests are ready when the worker wakes up. A command that runs at once has been counted before
/// the other client can see the request ahead of it. So it is never mistaken for a command in
/// slices.
fn is_cut(server: &TestServer, request: &str) -> bool {
    let (mut holds, mut asks, mut other) = (server.connect(), server.connect(), server.connect());
    let command = request.split(' ').next().expect("a word").to_lowercase();
    (0..50).any(|_| {
        let before = done(&info(&mut other), &command);
        holds.send(&bytes_of("DEBUG SLEEP 0.01"));
        asks.send(&[bytes_of("SET begun 1"), bytes_of(request)].concat());
        let looks = [bytes_of("GET begun"), bytes_of("INFO commandstats")].concat();
        other.send(&looks.repeat(20));
        let mut cut = false;
        for _ in 0..20 {
            let begun = other.reply() == b"$1\r\n1\r\n";
            let info = String::from_utf8(other.reply()).expect("text");
            cut |= begun && done(&info, &command) == before;
        }
        assert_eq!(holds.reply(), b"+OK\r\n");
        assert_eq!(asks.reply(), b"+OK\r\n");
        let reply = asks.reply();
        assert_ne!(reply[0], b'-', "{request}: {}", crate::common::show(&reply));
        asks.ask("DEL begun");
        cut
    })
}

#[test]
fn other_clients_are_answered_between_slices() {
    let server = start_filled(options());
    let mut client = server.connect();
    let mut tester = server.connect();
    tester.send(&bytes_of("PFSELFTEST"));
    for _ in 0..20 {
        assert_eq!(client.ask("ECHO between"), "$7|between|");
    }
    let unanswered = tester.stream.set_nonblocking(true).and_then(|()| tester.stream.peek(&mut [0]));
    assert_eq!(unanswered.map_err(|error| error.kind()), Err(ErrorKind::WouldBlock), "it takes longer");
    tester.stream.set_nonblocking(false).expect("a socket");
    assert_eq!(tester.reply(), b"+OK\r\n");
    let text = "abcdefgh".repeat(400);
    assert_eq!(client.ask(&format!("MSET a {text} b {}", text.to_uppercase().replace('H', "h"))), "+OK|");
    let keys: Vec<String> = (0..MANY).map(|i| format!("no:{i:05}")).collect();
    for request in [
        "ZRANGE z 0 -1",
        "ZRANDMEMBER z 5000",
        "ZRANDMEMBER z -5000 WITHSCORES",
        "HRANDFIELD h -5000",
        "HRANDFIELD h 5000 WITHVALUES",
        "HGETALL h",
        "ZUNION 2 z y",
        "ZINTERCARD 2 z y",
        "SMEMBERS s",
        "SRANDMEMBER s 5000",
        "SRANDMEMBER s -5000",
        "SUNION s t",
        "SINTER s t",
        "SDIFF s t",
        "SINTERCARD 2 s t",
        "SK.GETV s",
        "SK.RANGE - + LIMIT 100000000",
        "SK.NEXT k:05999",
        "SK.GETV z",
        "SK.LAST",
        "GEOSEARCH z FROMLONLAT -180 -85 BYRADIUS 1000 km",
        "GEOSEARCH z FROMLONLAT -180 -85 BYRADIUS 1000 km ASC COUNT 10",
        "GEORADIUS z -180 -85 1000 km DESC WITHDIST",
        "KEYS *nobody",
        "KEYS *",
        "LCS a b LEN",
        &format!("DEL {}", keys.join(" ")),
        &format!("UNLINK {}", keys.join(" ")),
    ] {
        assert!(is_cut(&server, request), "{}", &request[..request.len().min(60)]);
    }
    // Slices that only count have many keys, and the test needs several slices.
    for tens in 0..50 {
        let pairs: Vec<String> = (0..1000).map(|i| format!("m:{tens:02}{i:03} 1")).collect();
        assert_eq!(client.ask(&format!("MSET {}", pairs.join(" "))), "+OK|");
    }
    assert!(is_cut(&server, "SK.COUNT [m: +"));
}

/// Incident: a thousand requests of one client blocked all others, because each took long but not
/// long enough for slices.
#[test]
fn other_clients_run_inside_a_pipeline_of_slow_requests() {
    let server = start_filled(options());
    let (mut slow, mut other) = (server.connect(), server.connect());
    let let_in = (0..10).any(|_| {
        let sleeps = bytes_of("DEBUG SLEEP 0.01").repeat(30);
        slow.send(&[bytes_of("SET begun 1"), sleeps, bytes_of("SET ended 1")].concat());
        let mut seen = String::new();
        while !seen.starts_with("*2|$1|1|") {
            seen = other.ask("MGET begun ended");
        }
        for _ in 0..32 {
            assert_eq!(slow.reply(), b"+OK\r\n");
        }
        assert_eq!(slow.ask("DEL begun ended"), ":2|");
        seen == "*2|$1|1|$-1|"
    });
    assert!(let_in);
}

/// Incident: a round of requests that took too long ended, and the next round began with the same
/// client, which filled its batches again. Consequence: clients that only read were answered after
/// the last of its requests. Fix: clients without a reply are first in the next round.
#[test]
fn other_clients_read_inside_a_pipeline_of_slow_reads() {
    // A multiple of a batch, so that no batch has places left for other clients.
    const SLOW: usize = 640;
    let server = start_filled(options());
    let (mut holds, mut slow, mut other) = (server.connect(), server.connect(), server.connect());
    assert_eq!(holds.ask("SETBIT bits 8388600 0"), ":0|");
    let let_in = (0..10).any(|_| {
        let looks = bytes_of("BITPOS bits 1").repeat(SLOW);
        holds.send(&bytes_of("DEBUG SLEEP 0.02"));
        slow.send(&[bytes_of("SET begun 1"), looks.clone(), bytes_of("SET ended 1"), looks].concat());
        let mut seen = String::new();
        while !seen.starts_with("$1|1|") {
            other.send(&[bytes_of("GET begun"), bytes_of("GET ended")].concat());
            seen = [other.reply(), other.reply()].map(|reply| crate::common::show(&reply)).concat();
        }
        assert_eq!(holds.reply(), b"+OK\r\n");
        for _ in 0..2 {
            assert_eq!(slow.reply(), b"+OK\r\n");
            (0..SLOW).for_each(|_| assert_eq!(slow.reply(), b":-1\r\n"));
        }
        assert_eq!(slow.ask("DEL begun ended"), ":2|");
        seen == "$1|1|$-1|"
    });
    assert!(let_in);
}

/// The work for other clients between slices does not count as time of the command.
#[test]
fn command_time_is_the_sum_of_its_slices() {
    let server = start_filled(ServerOptions { slowlog_slower_than: std::time::Duration::ZERO, ..options() });
    let (mut holds, mut asks, mut other) = (server.connect(), server.connect(), server.connect());
    for request in ["KEYS *nobody", "ZRANDMEMBER z 5000"] {
        let command = request.split(' ').next().expect("a word").to_lowercase();
        let before = done(&info(&mut other), &command).1;
        let began = std::time::Instant::now();
        holds.send(&bytes_of("DEBUG SLEEP 0.05"));
        asks.send(&bytes_of(request));
        other.send(&bytes_of("DEBUG SLEEP 0.2"));
        assert_ne!(asks.reply()[0], b'-');
        let elapsed = u64::try_from(began.elapsed().as_micros()).expect("a short time");
        assert_eq!((holds.reply(), other.reply()), (b"+OK\r\n".to_vec(), b"+OK\r\n".to_vec()));
        let took = done(&info(&mut other), &command).1 - before;
        // Either both sleeps ran in between, or they did not.
        assert!(took <= elapsed, "{request}: {took} of {elapsed}");
        if elapsed > 250_000 {
            assert!(took <= elapsed - 250_000, "{request}: {took} of {elapsed}");
        }
        let slowlog = other.ask("SLOWLOG GET 100");
        let words =
            request.split(' ').map(|word| format!("${}|{word}|", word.len())).collect::<Vec<_>>().concat();
        let at = slowlog.find(&words).unwrap_or_else(|| panic!("{request} in {slowlog}"));
        let time = slowlog[..at].rsplit('|').find_map(|word| word.strip_prefix(':')).expect("a time");
        assert_eq!(time.parse::<u64>().expect("microseconds"), took, "{request}");
    }
}

/// Incident: only the members' own bytes were counted. Consequence: a command on short members held
/// ten times the limit, and a thousand times if few members of each slice were in the result.
#[test]
fn memory_for_a_reply_is_limited() {
    let server = start_filled(ServerOptions { reply_bytes_max: 60_000, ..options() });
    let mut client = server.connect();
    let entries = (0..4000).map(|i| format!(" 0 {i:04}")).collect::<Vec<_>>().concat();
    assert_eq!(client.ask(&format!("ZADD short{entries}")), ":4000|");
    let refusal = |way_out: &str| {
        format!("-ERR the result would take more memory than the limit of 60000 bytes; {way_out}|")
    };
    // The reply would have 40,000 bytes.
    let in_parts = "store the result and read it in parts";
    assert_eq!(client.ask("ZUNION 2 z y"), refusal(in_parts));
    assert_eq!(client.ask("ZINTER 2 short short"), refusal(in_parts));
    assert_eq!(client.ask("ZDIFF 2 short nobody"), refusal(in_parts));
    assert_eq!(client.ask("ZINTERCARD 2 short short"), ":4000|");
    assert_eq!(client.ask("HRANDFIELD h -7000"), refusal("ask for fewer columns"));
    assert_eq!(client.ask("ZRANDMEMBER z -7000"), refusal("ask for fewer members"));
    assert_eq!(client.ask("SRANDMEMBER s -7000"), refusal("ask for fewer members"));
    assert_eq!(client.ask("SUNION s t"), refusal(in_parts));
}

/// Incident: all positions were drawn before the length of the reply was checked.
#[test]
fn draws_may_request_any_number() {
    let server = start_filled(ServerOptions { reply_bytes_max: 100_000, ..options() });
    let mut client = server.connect();
    client.ask("ZADD few 1 a 2 b");
    client.ask("HSET few:h a 1 b 2");
    for (request, what) in [
        ("HRANDFIELD h", "columns"),
        ("HRANDFIELD few:h", "columns"),
        ("ZRANDMEMBER z", "members"),
        ("SRANDMEMBER s", "members"),
        ("ZRANDMEMBER few", "members"),
    ] {
        for count in ["-9223372036854775807", "-4611686018427387903", "-1000000000000", "-20000"] {
            let refused = format!(
                "-ERR the reply would be longer than the limit of 100000 bytes; ask for fewer {what}|"
            );
            assert_eq!(client.ask(&format!("{request} {count}")), refused, "{request} {count}");
        }
    }
    assert_eq!(client.ask("HRANDFIELD h -9223372036854775808").matches("out of range").count(), 1);
}

#[test]
fn random_members_exist_and_have_their_scores() {
    let server = start_filled(options());
    let mut client = server.connect();
    for (count, given, distinct) in [
        (0, 0, 0),
        (3, 3, 3),
        (600, 600, 600),
        (9000, MANY, MANY),
        (-5, 5, 1),
        (-900, 900, 700),
        (-5500, 5500, 3200),
        (-9000, 9000, 4300),
    ] {
        let reply = client.ask(&format!("ZRANDMEMBER z {count} WITHSCORES"));
        let words: Vec<&str> = reply.split('|').skip(1).collect();
        let pairs: Vec<(&str, &str)> = words.chunks_exact(4).map(|pair| (pair[1], pair[3])).collect();
        let different: std::collections::BTreeSet<_> = pairs.iter().collect();
        assert!(
            pairs.len() == given && different.len() >= distinct,
            "{count}: {} of {}",
            different.len(),
            pairs.len()
        );
        for (member, score) in &pairs {
            let number: usize = member.strip_prefix("member:").expect("a member").parse().expect("a number");
            assert!(number < MANY && score.parse() == Ok(number % 700), "{member} {score}");
        }
        // The order is not ascending.
        assert!(count > -900 || !pairs.is_sorted(), "{count}");
        client.ask("MULTI");
        client.ask(&format!("ZRANDMEMBER z {count}"));
        assert!(client.ask("EXEC").starts_with(&format!("*1|*{given}|")), "{count}");
    }
}

/// Bits are counted and searched in words, whatever part of the first and last byte a range has; a
/// long value is processed by itself.
#[test]
fn bits_of_any_range_equal_a_count_by_bits() {
    let server = start_filled(options());
    let mut client = server.connect();
    let mut values: Vec<Vec<u8>> = vec![vec![0x5a; 3 << 20], vec![0; 100], vec![0xff; 100]];
    values[0][2_000_000] = 0xff;
    values[1][77] = 0x10;
    values[2][77] = 0xef;
    for value in &values {
        client.call(&[b"SET", b"bits", value]);
        let ones = |from: usize, to: usize| -> u32 {
            (from..=to).map(|bit| u32::from(value[bit / 8] >> (7 - bit % 8) & 1)).sum()
        };
        for (from, to) in
            [(0, 799), (3, 3), (0, 8), (5, 15), (7, 16), (9, 130), (64, 127), (611, 700), (620, 620)]
        {
            let counted = client.ask(&format!("BITCOUNT bits {from} {to} BIT"));
            assert_eq!(counted, format!(":{}|", ones(from, to)), "{from} {to}");
            for bit in [0, 1] {
                let at =
                    (from..=to).find(|at| ones(*at, *at) == bit).map_or("-1".to_owned(), |at| at.to_string());
                let found = client.ask(&format!("BITPOS bits {bit} {from} {to} BIT"));
                assert_eq!(found, format!(":{at}|"), "{bit} from {from} to {to}");
            }
        }
    }
    client.call(&[b"SET", b"bits", &values[0]]);
    assert_eq!(client.ask("BITCOUNT bits"), format!(":{}|", 4 * (3 << 20) + 4));
    assert_eq!(
        client.ask("BITCOUNT h"),
        "-WRONGTYPE Operation against a key holding the wrong kind of value|"
    );
    client.ask("MULTI");
    client.ask("BITCOUNT bits 2000000 2000000");
    assert_eq!(client.ask("EXEC"), "*1|:8|");
}

#[test]
fn too_large_numkeys_is_rejected_and_many_sets_are_read() {
    let server = start_filled(options());
    let mut client = server.connect();
    for count in ["3", "1000000000", "9223372036854775807"] {
        for request in
            ["ZUNION", "ZINTER", "ZDIFF", "ZINTERCARD", "ZUNIONSTORE s", "ZINTERSTORE s", "ZDIFFSTORE s"]
        {
            assert_eq!(
                client.ask(&format!("{request} {count} z y")),
                "-ERR syntax error|",
                "{request} {count}"
            );
        }
        assert_eq!(client.ask(&format!("ZMPOP {count} z y MIN")), "-ERR syntax error|");
    }
    let sets = vec!["z"; 500].join(" ");
    assert_eq!(client.ask(&format!("ZINTERCARD 501 {sets} y LIMIT 100")), ":100|");
    assert!(client.ask(&format!("ZUNION 501 {sets} y")).starts_with("*7000|"));
    assert_eq!(client.ask(&format!("ZDIFF 501 y {sets}")).matches("member:").count(), 1000);
}

/// Starts a server with many small sets, which share members. Returns it and the keys.
fn start_with_small_sets(options: ServerOptions) -> (TestServer, String) {
    let server = start_on(options, StoreOptions { index: index(), ..StoreOptions::default() });
    let mut client = server.connect();
    let keys: Vec<String> = (0..10_000).map(|i| format!("set{i}")).collect();
    for (i, key) in keys.iter().enumerate() {
        client.send(&bytes_of(&format!("ZADD {key} {i} own{i} 1 shared{}", i % 7)));
    }
    assert!(keys.iter().all(|_| client.reply() == b":2\r\n"));
    (server, keys.join(" "))
}

/// Incident: each member of a union was looked up in every other set. Consequence: ZUNION of 10,000
/// sets with two members took 24 s, and with as many sets as a request may name it would take days.
/// Fix: all sets are walked together, by member, without lookups: 0.05 s.
#[test]
fn union_time_grows_with_the_number_of_members() {
    let (server, keys) = start_with_small_sets(options());
    let mut client = server.connect();
    // The client waits for at most 10 s.
    let union = client.ask(&format!("ZUNION 10000 {keys} WITHSCORES"));
    assert_eq!(client.ask(&format!("ZUNIONSTORE stored 10000 {keys}")), ":10007|");
    assert!(union == client.ask("ZRANGE stored 0 -1 WITHSCORES"), "{}", &union[..100]);
}

/// Incident: the command took two views for each key, even for the same key again, and did not
/// count them. Consequence: a request that named one key 10,000 times took half a second, mostly to
/// release the views. A request with a million keys held hundreds of megabytes beyond its limit.
/// Fix: a set has one view, and everything that is held counts.
#[test]
fn a_set_that_is_named_again_has_one_view() {
    let (server, keys) = start_with_small_sets(ServerOptions { reply_bytes_max: 300_000, ..options() });
    let mut client = server.connect();
    let same = "set1 ".repeat(9_999);
    assert_eq!(
        client.ask(&format!("ZUNION 10000 {same}set2 WITHSCORES")),
        "*8|$7|shared2|$1|1|$4|own2|$1|2|$4|own1|$4|9999|$7|shared1|$4|9999|"
    );
    assert_eq!(client.ask(&format!("ZINTER 10000 {same}set8")), "*1|$7|shared1|");
    assert_eq!(client.ask(&format!("ZDIFF 10001 set1 {keys}")), "*0|");
    client.ask("ZADD other 1 member");
    for request in [format!("ZUNION 10000 {keys}"), format!("ZDIFF 10001 other {keys}")] {
        let refused = client.ask(&request);
        assert!(refused.starts_with("-ERR the result would take more memory"), "{refused}");
    }
}

/// Incident: a set was emptied one member at a time. Consequence: a million members took the worker
/// seconds. Fix: the key is removed as by DEL, and clients that read the set continue.
#[test]
fn emptying_a_set_removes_its_key() {
    let server = start_filled(options());
    let (mut client, mut reads) = (server.connect(), server.connect());
    let whole = client.ask("ZRANGE z 0 -1");
    for (request, reply) in [
        ("ZREMRANGEBYRANK z 0 -1", ":6000|"),
        ("ZREMRANGEBYSCORE z -inf +inf", ":6000|"),
        ("ZREMRANGEBYLEX z - +", ":6000|"),
        ("ZPOPMIN z 6000", "*12000|"),
        ("ZMPOP 1 z MAX COUNT 10000", "*2|$1|z|*6000|"),
    ] {
        reads.send(&bytes_of("ZRANGE z 0 -1"));
        let emptied = client.ask(request);
        assert!(emptied.starts_with(reply), "{request}: {}", &emptied[..emptied.len().min(100)]);
        let read = crate::common::show(&reads.reply());
        assert!(read == whole || read == "*0|", "{request}");
        assert_eq!(client.ask("EXISTS z"), ":0|");
        assert_eq!(client.ask("ZADD z 1 again"), ":1|");
        assert_eq!(client.ask("ZRANGE z 0 -1"), "*1|$5|again|");
        assert_eq!(client.ask("ZREM z again"), ":1|");
        client.ask("DEL y h");
        fill(&mut client);
        assert_eq!(client.ask("ZCARD z"), ":6000|");
    }
}
