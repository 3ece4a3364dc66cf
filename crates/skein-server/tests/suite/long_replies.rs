//! Replies with many members or columns, in slices. They are equal to the reply in one piece, show
//! a single moment, keep their place among other replies, and have a limit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{TestClient, TestServer, encode, index, options, reply_len, show, start_on};
use skein_server::ServerOptions;
use skein_store::StoreOptions;

const MEMBERS: usize = 3000;

/// Starts a server with sets `z` and `y`, which have common members, and columns at `h`.
fn start_filled(options: ServerOptions) -> TestServer {
    let server = start_on(options, StoreOptions { index: index(), logs: 2, ..StoreOptions::default() });
    let mut client = server.connect();
    for some in (0..MEMBERS).collect::<Vec<_>>().chunks(500) {
        let set = |key: &str, skipped: usize| {
            let entries = some.iter().map(|i| format!("{} member:{:05}", i % 700, i + skipped));
            format!("ZADD {key} {}", entries.collect::<Vec<_>>().join(" "))
        };
        assert_eq!(client.ask(&set("z", 0)), ":500|");
        assert_eq!(client.ask(&set("y", 1000)), ":500|");
        let columns: Vec<_> = some.iter().map(|i| format!("column:{i:05} {i}")).collect();
        assert_eq!(client.ask(&format!("HSET h {}", columns.join(" "))), ":500|");
    }
    server
}

/// Returns the elements of an array or a map.
fn elements(reply: &[u8]) -> Vec<Vec<u8>> {
    assert!(matches!(reply[0], b'*' | b'%'), "{}", String::from_utf8_lossy(&reply[..reply.len().min(100)]));
    let mut at = reply.windows(2).position(|pair| pair == b"\r\n").expect("a line") + 2;
    let mut all = Vec::new();
    while at < reply.len() {
        let len = reply_len(&reply[at..]).expect("a whole reply");
        all.push(reply[at..at + len].to_vec());
        at += len;
    }
    all
}

fn call(client: &mut TestClient, words: &str) -> Vec<u8> {
    client.call(&words.split(' ').map(str::as_bytes).collect::<Vec<_>>())
}

fn list(client: &mut TestClient, words: &str) -> Vec<Vec<u8>> {
    elements(&call(client, words))
}

#[test]
fn a_long_range_equals_its_parts() {
    let server = start_filled(options());
    let mut client = server.connect();
    for protocol in ["2", "3"] {
        call(&mut client, &format!("HELLO {protocol}"));
        for (range, part) in [
            ("ZRANGE z 0 -1", "ZRANGE z FROM TO"),
            ("ZRANGE z 0 -1 WITHSCORES", "ZRANGE z FROM TO WITHSCORES"),
            ("ZRANGE z 0 -1 REV", "ZREVRANGE z FROM TO"),
            ("ZREVRANGE z 0 -1 WITHSCORES", "ZRANGE z FROM TO REV WITHSCORES"),
            ("ZRANGEBYSCORE z -inf +inf", "ZRANGEBYSCORE z -inf +inf LIMIT FROM 100"),
            ("ZREVRANGEBYSCORE z +inf (0 WITHSCORES", "ZREVRANGEBYSCORE z +inf (0 WITHSCORES LIMIT FROM 100"),
            ("ZRANGE z 300 +inf BYSCORE LIMIT 10 100000", "ZRANGE z 300 +inf BYSCORE LIMIT FROM+10 100"),
            ("ZRANGEBYLEX z - +", "ZRANGEBYLEX z - + LIMIT FROM 100"),
            ("ZREVRANGEBYLEX z + - LIMIT 0 2000", "ZREVRANGEBYLEX z + - LIMIT FROM 100"),
        ] {
            let long = list(&mut client, range);
            let mut parts = Vec::new();
            for from in (0..MEMBERS).step_by(100) {
                let request = part.replace("FROM+10", &(from + 10).to_string());
                let request = request.replace("FROM", &from.to_string());
                parts.extend(list(&mut client, &request.replace("TO", &(from + 99).to_string())));
            }
            parts.truncate(long.len());
            assert!(long.len() > 1000 && long == parts, "{range}: {} elements", long.len());
            // In a transaction, every command runs in one piece.
            assert_eq!(client.ask("MULTI"), "+OK|");
            assert_eq!(client.ask(range), "+QUEUED|");
            assert_eq!(elements(&list(&mut client, "EXEC")[0]), long, "{range}");
        }
    }
}

#[test]
fn long_replies_have_all_columns() {
    let server = start_filled(options());
    let mut client = server.connect();
    for protocol in ["2", "3"] {
        call(&mut client, &format!("HELLO {protocol}"));
        let (names, values) = (list(&mut client, "HKEYS h"), list(&mut client, "HVALS h"));
        let both: Vec<Vec<u8>> =
            names.iter().zip(&values).flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
        let expected =
            |i: usize| [format!("$12\r\ncolumn:{i:05}\r\n"), format!("${}\r\n{i}\r\n", i.to_string().len())];
        assert_eq!(
            show(&both.concat()),
            show((0..MEMBERS).flat_map(expected).collect::<String>().as_bytes())
        );
        assert!(list(&mut client, "HGETALL h") == both);
        client.ask("MULTI");
        client.ask("HGETALL h");
        assert!(elements(&list(&mut client, "EXEC")[0]) == both);
    }
}

#[test]
fn random_columns_exist_and_have_their_values() {
    let server = start_filled(options());
    let mut client = server.connect();
    let columns = list(&mut client, "HGETALL h");
    let columns: BTreeMap<_, _> = columns.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
    assert!(columns.contains_key(&call(&mut client, "HRANDFIELD h")));
    for (count, given, distinct) in [
        (0, 0, 0),
        (1, 1, 1),
        (600, 600, 600),
        (5000, MEMBERS, MEMBERS),
        (-5, 5, 2),
        (-700, 700, 500),
        (-9000, 9000, 2500),
    ] {
        let names = list(&mut client, &format!("HRANDFIELD h {count}"));
        let different: BTreeSet<_> = names.iter().collect();
        assert!(
            names.len() == given && different.len() >= distinct,
            "{count}: {} of {given}",
            different.len()
        );
        assert!(names.iter().all(|name| columns.contains_key(name)), "{count}");
        let pairs = list(&mut client, &format!("HRANDFIELD h {count} WITHVALUES"));
        assert_eq!(pairs.len(), 2 * given);
        assert!(pairs.chunks(2).all(|pair| columns.get(&pair[0]) == Some(&pair[1])), "{count}");
    }
    // A key with few columns, and many of them in the reply.
    client.ask("HSET few a 1 b 2");
    assert_eq!(list(&mut client, "HRANDFIELD few -2000 WITHVALUES").len(), 4000);
    call(&mut client, "HELLO 3");
    assert_eq!(list(&mut client, "HRANDFIELD few -2000 WITHVALUES").len(), 2000);
}

#[test]
fn operations_on_long_sets_equal_their_stored_forms() {
    let server = start_filled(options());
    let mut client = server.connect();
    client.ask("ZADD few 5 member:02999 7 member:01500 1 nobody");
    for (command, keys) in [
        ("ZUNION", "2 z y"),
        ("ZUNION", "4 z y few z WEIGHTS 1 2 0.5 3"),
        ("ZUNION", "3 absent y z AGGREGATE MAX"),
        ("ZUNION", "6 z y z few few z WEIGHTS 1 2 4 8 -16 32 AGGREGATE MIN"),
        ("ZINTER", "2 z y"),
        ("ZINTER", "3 z y z WEIGHTS 1 2 -3 AGGREGATE MIN"),
        ("ZINTER", "3 z y few"),
        ("ZINTER", "5 z y z y y WEIGHTS 1 2 4 8 -16"),
        ("ZDIFF", "2 z y"),
        ("ZDIFF", "3 z few absent"),
        ("ZDIFF", "5 z few absent few few"),
        ("ZDIFF", "2 z z"),
    ] {
        client.ask(&format!("{command}STORE stored {keys}"));
        let mut stored = Vec::new();
        for from in (0..2 * MEMBERS).step_by(100) {
            stored.extend(list(&mut client, &format!("ZRANGE stored {from} {} WITHSCORES", from + 99)));
        }
        assert!(list(&mut client, &format!("{command} {keys} WITHSCORES")) == stored, "{command} {keys}");
        let members: Vec<Vec<u8>> = stored.chunks(2).map(|pair| pair[0].clone()).collect();
        assert!(list(&mut client, &format!("{command} {keys}")) == members, "{command} {keys}");
        if command == "ZINTER" && !keys.contains('W') {
            for (limit, count) in
                [("", members.len()), (" LIMIT 10", members.len().min(10)), (" LIMIT 0", members.len())]
            {
                assert_eq!(client.ask(&format!("ZINTERCARD {keys}{limit}")), format!(":{count}|"));
            }
        }
        client.ask("MULTI");
        client.ask(&format!("{command} {keys}"));
        assert!(elements(&list(&mut client, "EXEC")[0]) == members, "{command} {keys}");
    }
}

/// A range of keys returns their contents, long or short.
#[test]
fn ranges_of_keys_include_long_sets_and_columns() {
    let server = start_filled(options());
    let mut client = server.connect();
    client.ask("MSET a 1 i 2 zz 3");
    for protocol in ["2", "3"] {
        call(&mut client, &format!("HELLO {protocol}"));
        let (columns, set) = (call(&mut client, "HGETALL h"), call(&mut client, "ZRANGE z 0 -1 WITHSCORES"));
        let parts = list(&mut client, "ZRANGE z 0 -1 WITHSCORES");
        // As a map, the reply has another head.
        let map = if protocol == "2" { b"*6000\r\n".to_vec() } else { b"%3000\r\n".to_vec() };
        let members =
            if protocol == "2" { parts } else { parts.iter().flat_map(|pair| elements(pair)).collect() };
        let set_as_map = [map, members.concat()].concat();
        assert!(set.len() > 10_000 && set_as_map.len() > 10_000);
        let held = [
            ("a", b"$1\r\n1\r\n".to_vec()),
            ("h", columns),
            ("i", b"$1\r\n2\r\n".to_vec()),
            ("z", set_as_map),
        ];
        for (request, which) in [
            ("SK.RANGE - [i", &[0, 1, 2][..]),
            ("SK.RANGE - [h LIMIT 2 REV", &[1, 0]),
            ("SK.RANGE - [i LIMIT 2 REV", &[2, 1]),
            ("SK.PREFIX z LIMIT 1", &[3]),
            ("SK.RANGE [h [h", &[1]),
        ] {
            let expected = which.iter().map(|at| {
                let (key, value) = &held[*at];
                let pair = if protocol == "3" { "*2\r\n" } else { "" };
                [format!("{pair}$1\r\n{key}\r\n").into_bytes(), value.clone()].concat()
            });
            let count = if protocol == "3" { which.len() } else { 2 * which.len() };
            let expected =
                [format!("*{count}\r\n").into_bytes(), expected.collect::<Vec<_>>().concat()].concat();
            assert!(call(&mut client, request) == expected, "{request} in version {protocol}");
        }
    }
}

/// Replies keep the order of the requests in a pipeline, long or not.
#[test]
fn long_replies_keep_their_place() {
    let server = start_filled(options());
    let mut client = server.connect();
    let (range, columns) = (call(&mut client, "ZRANGE z 0 -1"), call(&mut client, "HGETALL h"));
    let requests =
        ["SET a 1", "ZRANGE z 0 -1", "GET a", "GET b", "HGETALL h", "ZRANGE z 0 -1", "INCR a", "ZCARD z"];
    let expected: Vec<&[u8]> =
        vec![b"+OK\r\n", &range, b"$1\r\n1\r\n", b"$-1\r\n", &columns, &range, b":2\r\n", b":3000\r\n"];
    let bytes: Vec<u8> = requests
        .iter()
        .flat_map(|words| encode(&words.split(' ').map(str::as_bytes).collect::<Vec<_>>()))
        .collect();
    for _ in 0..3 {
        client.send(&bytes);
        for (request, expected) in requests.iter().zip(&expected) {
            assert!(client.reply() == *expected, "{request}");
        }
        client.ask("SET a 1");
    }
}

/// Both ends of a set hold the same number, and so do two columns. Writers change both at once, and
/// no reply may have one old and one new number.
#[test]
fn a_long_reply_shows_a_single_moment() {
    let server = start_filled(ServerOptions { workers: 1, ..options() });
    let stop = AtomicBool::new(false);
    let ends = |client: &mut TestClient, number: u64| {
        client.ask(&format!("ZADD z -{number} a {} b", number + 10_000));
        client.ask(&format!("HSET h a {number} z {number}"));
    };
    ends(&mut server.connect(), 1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = server.connect();
            for number in 2.. {
                ends(&mut client, number);
                client.ask(&format!("ZREM z member:{:05}", number % 3000));
                client.ask(&format!("ZADD z 5 member:{:05}", number % 3000));
                if stop.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let (mut client, mut seen) = (server.connect(), BTreeSet::new());
        for _ in 0..60 {
            let members = list(&mut client, "ZRANGE z 0 -1 WITHSCORES");
            let number = |element: &[u8]| -> i64 {
                let text = String::from_utf8_lossy(element);
                text.split("\r\n").nth(1).expect("a value").parse().expect("a number")
            };
            assert!(matches!(members.len(), 6002 | 6004), "{}", members.len());
            assert_eq!(-number(&members[1]), number(&members[members.len() - 1]) - 10_000);
            let columns = list(&mut client, "HGETALL h");
            assert_eq!(columns[1], columns[columns.len() - 1]);
            seen.insert(columns[1].clone());
        }
        stop.store(true, Ordering::Relaxed);
        assert!(seen.len() > 10, "{} states were seen", seen.len());
    });
}

#[test]
fn a_reply_over_its_limit_is_an_error() {
    let server = start_filled(ServerOptions { reply_bytes_max: 20_000, ..options() });
    let mut client = server.connect();
    for (request, way_out) in [
        ("ZRANGE z 0 -1", "ask for fewer members, or use ZSCAN or SSCAN"),
        ("HGETALL h", "ask for single columns, or use HSCAN"),
        ("HRANDFIELD h 2900", "ask for fewer columns"),
    ] {
        let refusal = format!("-ERR the reply would be longer than the limit of 20000 bytes; {way_out}|");
        assert_eq!(client.ask(request), refusal, "{request}");
    }
    assert_eq!(client.ask("ZCARD z"), ":3000|");
    assert_eq!(client.ask("ZINTERCARD 2 z y"), ":2000|");
}
