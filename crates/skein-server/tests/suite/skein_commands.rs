//! The commands that Redis does not have, and intended differences from Redis: ordered keys,
//! cursors, versions.

use crate::common::{TestClient, TestServer, encode, options, show, skipped, start, start_with, trie};
use skein_server::ServerOptions;
use skein_store::Durability;

/// Versions by name. In memory, the versions of a key start at 1; on disk they are numbers of the
/// store's writes.
struct NamedVersions(Vec<(&'static str, u64)>);

impl NamedVersions {
    const NAMES: [&str; 2] = ["v1", "v2"];

    fn new() -> Self {
        Self(if trie().is_none() { vec![("v1", 1), ("v2", 2)] } else { Vec::new() })
    }

    /// Learns the first unknown version that an expected reply names.
    fn learn(&mut self, expected: &str, reply: &str) {
        for name in Self::NAMES.into_iter().filter(|name| expected.contains(name)) {
            if self.0.iter().all(|known| known.0 != name) {
                let (before, _) =
                    self.fill(expected).split_once(name).map(|(a, b)| (a.len(), b.len())).unwrap();
                let digits: String = reply[before..].chars().take_while(char::is_ascii_digit).collect();
                let version = digits.parse().unwrap_or_else(|_| panic!("{reply} is not {expected}"));
                assert!(self.0.iter().all(|known| known.1 < version), "{reply} has no greater version");
                self.0.push((name, version));
            }
        }
    }

    fn fill(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, version)| text.replace(name, &version.to_string()))
    }
}

fn check(client: &mut TestClient, script: &[(&str, &str)]) {
    let mut versions = NamedVersions::new();
    for (request, expected) in script {
        let reply = client.ask(&versions.fill(request));
        versions.learn(expected, &reply);
        assert_eq!(reply, versions.fill(expected), "{request}");
    }
}

fn letters() -> (TestServer, TestClient) {
    let server = start();
    let mut client = server.connect();
    check(&mut client, &[("MSET a 1 b 2 c 3 d 4", "+OK|"), ("HSET h x 7 y 8", ":2|")]);
    (server, client)
}

#[test]
fn ranges() {
    let (_server, mut client) = letters();
    check(
        &mut client,
        &[
            ("SK.RANGE - + LIMIT 2", "*4|$1|a|$1|1|$1|b|$1|2|"),
            ("SK.RANGE [b (d", "*4|$1|b|$1|2|$1|c|$1|3|"),
            ("SK.RANGE (b + NOVALUES", "*3|$1|c|$1|d|$1|h|"),
            ("SK.RANGE - + REV LIMIT 2 NOVALUES", "*2|$1|h|$1|d|"),
            ("SK.RANGE (d +", "*2|$1|h|*4|$1|x|$1|7|$1|y|$1|8|"),
            ("SK.RANGE d + COLUMNS 2 y nope", "-ERR min or max not valid string range item|"),
            ("SK.RANGE [d + COLUMNS 2 y nope", "*4|$1|d|*2|$-1|$-1|$1|h|*2|$1|8|$-1|"),
            ("SK.RANGE + -", "*0|"),
            ("SK.RANGE [c [b", "*0|"),
            ("SK.RANGE - + LIMIT 0", "*0|"),
            ("SK.RANGE - + LIMIT -1", "-ERR value is not an integer or out of range|"),
            ("SK.RANGE - + LIMIT", "-ERR syntax error|"),
            ("SK.RANGE - + NOPE", "-ERR syntax error|"),
            ("SK.RANGE - + REV REV", "-ERR syntax error|"),
            ("SK.RANGE - + NOVALUES COLUMNS 1 a", "-ERR syntax error|"),
            ("SK.RANGE - + COLUMNS 2 a", "-ERR syntax error|"),
            ("SK.RANGE - + COLUMNS 0", "-ERR COLUMNS takes a count of 1 or more, then the names|"),
            ("SK.RANGE -", "-ERR wrong number of arguments for 'sk.range' command|"),
            ("SK.PREFIX c", "*2|$1|c|$1|3|"),
            ("SK.PREFIX c NOVALUES REV", "*1|$1|c|"),
            ("SK.PREFIX zz", "*0|"),
            ("SK.PREFIX h COLUMNS 2 y nope", "*2|$1|h|*2|$1|8|$-1|"),
            ("SK.PREFIX c COLUMNS 1 y", "*2|$1|c|*1|$-1|"),
            ("SK.PREFIX c NOPE", "-ERR syntax error|"),
            ("SK.COUNT - +", ":5|"),
            ("SK.COUNT [b (d", ":2|"),
            ("SK.COUNT + -", ":0|"),
            ("SK.COUNT b d", "-ERR min or max not valid string range item|"),
            ("SK.DELRANGE [b [c", ":2|"),
            ("SK.DELRANGE [b [c", ":0|"),
            ("SK.DELRANGE + -", ":0|"),
            ("SK.RANGE - + NOVALUES", "*3|$1|a|$1|d|$1|h|"),
            ("SK.DELRANGE - +", ":3|"),
            ("DBSIZE", ":0|"),
        ],
    );
}

#[test]
fn neighbours_and_versions() {
    let (_server, mut client) = letters();
    check(
        &mut client,
        &[
            ("SK.FIRST", "*2|$1|a|$1|1|"),
            ("SK.LAST", "*2|$1|h|*4|$1|x|$1|7|$1|y|$1|8|"),
            ("SK.NEXT b", "*2|$1|c|$1|3|"),
            ("SK.NEXT bb", "*2|$1|c|$1|3|"),
            ("SK.NEXT h", "*-1|"),
            ("SK.PREV b", "*2|$1|a|$1|1|"),
            ("SK.PREV a", "*-1|"),
            ("SK.GETV nope", "*-1|"),
            ("SK.CAS new 0 x", "*2|:1|:v1|"),
            ("SK.CAS new 0 y", "*2|:0|:v1|"),
            ("SK.CAS new v1 y", "*2|:1|:v2|"),
            ("SK.GETV new", "*2|$1|y|:v2|"),
            ("SK.CAS new x y", "-ERR value is not an integer or out of range|"),
            ("SK.CAS new -1 y", "-ERR value is not an integer or out of range|"),
            ("DEL new", ":1|"),
            ("SK.CAS new v2 z", "*2|:0|:0|"),
        ],
    );
    // A key that is set again has a greater version than ever before.
    let reply = client.ask("SK.CAS new 0 z");
    let version: u64 =
        reply.trim_end_matches('|').rsplit(':').next().and_then(|text| text.parse().ok()).expect(&reply);
    assert!(reply.starts_with("*2|:1|:") && version > 2, "{reply}");
    assert!(client.ask("SK.MEMORY").starts_with("*24|$4|keys|:6|$10|live_bytes|:"));
}

#[test]
fn an_empty_store_has_no_ends() {
    let server = start();
    let mut client = server.connect();
    let neighbours = ["SK.FIRST", "SK.LAST", "SK.NEXT a", "SK.PREV a", "SK.GETV a"];
    for request in neighbours {
        assert_eq!(client.ask(request), "*-1|", "{request}");
    }
    check(
        &mut client,
        &[
            ("SK.RANGE - +", "*0|"),
            ("SK.PREFIX a", "*0|"),
            ("SK.COUNT - +", ":0|"),
            ("SK.COUNT [a +", ":0|"),
            ("SK.DELRANGE - +", ":0|"),
        ],
    );
    assert!(client.ask("SK.MEMORY").starts_with("*24|$4|keys|:0|"));
    assert!(client.ask("HELLO 3").starts_with("%7|"));
    for request in neighbours {
        assert_eq!(client.ask(request), "_|", "{request}");
    }
}

#[test]
fn wrong_numbers_of_arguments_are_refused() {
    let (_server, mut client) = letters();
    for request in [
        "SK.RANGE -",
        "SK.PREFIX",
        "SK.COUNT -",
        "SK.COUNT - + +",
        "SK.NEXT",
        "SK.NEXT a b",
        "SK.PREV",
        "SK.PREV a b",
        "SK.FIRST a",
        "SK.LAST a",
        "SK.DELRANGE -",
        "SK.DELRANGE - + +",
        "SK.GETV",
        "SK.GETV a b",
        "SK.CAS a 1",
        "SK.CAS a 1 b c",
        "SK.MEMORY a",
    ] {
        let name = request.split(' ').next().unwrap_or_default().to_lowercase();
        let refusal = format!("-ERR wrong number of arguments for '{name}' command|");
        assert_eq!(client.ask(request), refusal, "{request}");
    }
    assert_eq!(client.ask("DBSIZE"), ":5|", "nothing was changed");
}

/// The error for a command that Redis has and SkeinDB does not names it; it is never ignored
/// silently.
///
/// Incident: the reply to XADD was the same as to any typing error. Consequence: users looked for
/// a wrong version or a wrong port. Fix: the error names the missing feature at its end; the part
/// that clients parse is unchanged to the byte.
#[test]
fn unsupported_commands_are_named_in_the_error() {
    let (_server, mut client) = letters();
    for (name, what) in
        [("BF.ADD", "(SkeinDB has no modules)"), ("PSYNC", "(SkeinDB has no replicas)"), ("SK.NOPE", "")]
    {
        let refusal = format!("-ERR unknown command '{name}', with args beginning with: 'a' '1' {what}|");
        assert_eq!(client.ask(&format!("{name} a 1")), refusal);
    }
}

/// The number of a connection is the same as in HELLO, and unique.
#[test]
fn connections_have_numbers_of_their_own() {
    let server = start();
    let mut seen = Vec::new();
    for version in [2, 3, 2] {
        let mut client = server.connect();
        let id = client.ask("CLIENT ID");
        let number: u64 = id.trim_matches([':', '|']).parse().expect("a number");
        assert!(seen.last().is_none_or(|last| *last < number), "{seen:?} then {number}");
        assert!(client.ask(&format!("HELLO {version}")).contains(&format!("|$2|id|:{number}|")));
        assert_eq!(client.ask("CLIENT ID"), id);
        seen.push(number);
    }
}

/// The examples of `docs/commands.md`.
#[test]
fn documented_examples() {
    if skipped("the examples have keys longer than this index allows") {
        return;
    }
    let server = start();
    check(
        &mut server.connect(),
        &[
            ("MSET fruit:apple 3 fruit:pear 5 tool:saw 1", "+OK|"),
            ("SK.RANGE [fruit: (fruit; NOVALUES", "*2|$11|fruit:apple|$10|fruit:pear|"),
            ("SK.RANGE - + REV LIMIT 1", "*2|$8|tool:saw|$1|1|"),
            ("SK.CAS counter 0 first", "*2|:1|:v1|"),
            ("SK.CAS counter 0 second", "*2|:0|:v1|"),
            ("SK.GETV counter", "*2|$5|first|:v1|"),
        ],
    );
}

#[test]
fn resp3_shapes() {
    let (_server, mut client) = letters();
    assert!(client.ask("HELLO 3").starts_with("%7|$6|server|$5|redis|$7|version|$6|7.0.15|"));
    check(
        &mut client,
        &[
            ("SK.RANGE (c +", "*2|*2|$1|d|$1|4|*2|$1|h|%2|$1|x|$1|7|$1|y|$1|8|"),
            ("SK.RANGE (c + NOVALUES", "*2|$1|d|$1|h|"),
            ("SK.RANGE (c + COLUMNS 1 x", "*2|*2|$1|d|*1|_|*2|$1|h|*1|$1|7|"),
            ("SK.GETV nope", "_|"),
            ("SK.NEXT h", "_|"),
            ("SK.GETV h", "*2|%2|$1|x|$1|7|$1|y|$1|8|:v1|"),
        ],
    );
    assert!(client.ask("SK.MEMORY").starts_with("%12|"));
    assert!(client.ask("INFO server").starts_with('='));
}

/// Writes enough keys for many slices and many SCAN calls, with unusual bytes. Returns them sorted.
fn many_keys(client: &mut TestClient, count: u32) -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = (0..count)
        .map(|i| {
            let mut key = i.wrapping_mul(0x9e37_79b1).to_le_bytes().to_vec();
            key.extend_from_slice(&vec![0; i as usize % 3]);
            key
        })
        .collect();
    for piece in keys.chunks(100) {
        let pipeline: Vec<u8> = piece.iter().flat_map(|key| encode(&[b"SET", key, b"v"])).collect();
        client.send(&pipeline);
        for _ in piece {
            assert_eq!(client.reply(), b"+OK\r\n");
        }
    }
    keys.sort();
    keys
}

/// Returns the elements of an array of bulk strings.
fn bulks(reply: &[u8]) -> Vec<Vec<u8>> {
    let line = |at: usize| at + reply[at..].windows(2).position(|pair| pair == b"\r\n").expect("a line");
    let number = |at: usize, end: usize| -> usize {
        std::str::from_utf8(&reply[at + 1..end]).expect("digits").parse().expect("a number")
    };
    let mut end = line(0);
    let count = number(0, end);
    (0..count)
        .map(|_| {
            let at = end + 2;
            let head = line(at);
            let len = number(at, head);
            end = head + 2 + len;
            reply[head + 2..end].to_vec()
        })
        .collect()
}

#[test]
fn long_ranges_are_whole_and_in_order() {
    let server = start();
    let mut client = server.connect();
    let keys = many_keys(&mut client, 5000);
    // In a pipeline, requests after a long range wait for it.
    let mut pipeline = encode(&[b"SK.RANGE", b"-", b"+", b"NOVALUES"]);
    pipeline.extend(encode(&[b"PING"]));
    pipeline.extend(encode(&[b"SK.RANGE", b"-", b"+", b"REV", b"NOVALUES", b"LIMIT", b"3000"]));
    pipeline.extend(encode(&[b"SK.COUNT", b"(a", b"+"]));
    pipeline.extend(encode(&[b"SK.DELRANGE", b"-", b"[m"]));
    pipeline.extend(encode(&[b"DBSIZE"]));
    client.send(&pipeline);
    assert_eq!(bulks(&client.reply()), keys);
    assert_eq!(client.reply(), b"+PONG\r\n");
    let backwards: Vec<_> = keys.iter().rev().take(3000).cloned().collect();
    assert_eq!(bulks(&client.reply()), backwards);
    let above_a = keys.iter().filter(|key| key.as_slice() > &b"a"[..]).count();
    assert_eq!(show(&client.reply()), format!(":{above_a}|"));
    let up_to_m = keys.iter().filter(|key| key.as_slice() <= &b"m"[..]).count();
    assert_eq!(show(&client.reply()), format!(":{up_to_m}|"));
    assert_eq!(show(&client.reply()), format!(":{}|", keys.len() - up_to_m));
    assert_eq!(client.ask("FLUSHALL"), "+OK|");
    assert_eq!(client.ask("DBSIZE"), ":0|");
}

/// A reply longer than the output limit is still produced whole, although none of it can be sent
/// before.
#[test]
fn a_range_may_be_longer_than_the_output_limit() {
    let server = start_with(ServerOptions { output_bytes_max: 2_000, ..options() }, Durability::None);
    let mut client = server.connect();
    let keys = many_keys(&mut client, 3000);
    let request = encode(&[b"SK.RANGE", b"-", b"+", b"NOVALUES"]);
    client.send(&[&request[..], &request[..], b"PING\r\n"].concat());
    assert_eq!(bulks(&client.reply()), keys);
    assert_eq!(bulks(&client.reply()), keys);
    assert_eq!(client.reply(), b"+PONG\r\n");
}

#[test]
fn range_over_the_reply_limit_errors_but_keeps_the_connection() {
    let server = start_with(ServerOptions { reply_bytes_max: 10_000, ..options() }, Durability::None);
    let mut client = server.connect();
    many_keys(&mut client, 3000);
    let refused = "-ERR the reply would be longer than the limit of 10000 bytes; use LIMIT and continue after the last key|";
    check(&mut client, &[("SK.RANGE - + NOVALUES", refused), ("PING", "+PONG|")]);
    assert_eq!(bulks(&client.call(&[b"SK.RANGE", b"-", b"+", b"NOVALUES", b"LIMIT", b"100"])).len(), 100);
    assert_eq!(client.call(&[b"SET", b"big", &[b'x'; 9000]]), b"+OK\r\n");
    assert!(client.ask("MGET big big").starts_with("-ERR the reply would be longer"));
}

/// Runs SCAN to its end. Returns every key in the order of the replies.
fn scan_all(client: &mut TestClient, options: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut cursor = b"0".to_vec();
    loop {
        let mut request: Vec<&[u8]> = vec![b"SCAN", &cursor];
        request.extend_from_slice(options);
        let reply = client.call(&request);
        let text = reply.strip_prefix(b"*2\r\n").unwrap_or_else(|| panic!("{}", show(&reply)));
        let head = text.windows(2).position(|pair| pair == b"\r\n").expect("a line") + 2;
        let end = head + text[head..].windows(2).position(|pair| pair == b"\r\n").expect("a line");
        let next = text[head..end].to_vec();
        found.extend(bulks(&text[end + 2..]));
        if next == b"0" {
            return found;
        }
        cursor = next;
    }
}

#[test]
fn scan_returns_the_keys_in_order() {
    let server = start();
    let mut client = server.connect();
    let keys = many_keys(&mut client, 1000);
    assert_eq!(scan_all(&mut client, &[]), keys);
    assert_eq!(scan_all(&mut client, &[b"COUNT", b"333"]), keys);
    let with_a: Vec<_> = keys.iter().filter(|key| key.first() == Some(&b'a')).cloned().collect();
    assert_eq!(scan_all(&mut client, &[b"MATCH", b"a*", b"COUNT", b"2"]), with_a);
    assert_eq!(scan_all(&mut client, &[b"TYPE", b"hash"]), Vec::<Vec<u8>>::new());
}

#[test]
fn a_cursor_can_continue_with_another_pattern() {
    let (_server, mut client) = letters();
    let cursor = client.ask("SCAN 0 COUNT 3").split('|').nth(2).expect("a cursor").to_owned();
    assert_eq!(client.ask(&format!("SCAN {cursor} MATCH a*")), "*2|$1|0|*0|");
    assert_eq!(client.ask(&format!("SCAN {cursor} MATCH h*")), "*2|$1|0|*1|$1|h|");
}

#[test]
fn ranges_that_end_where_a_slice_ends() {
    let server = start();
    let mut client = server.connect();
    for count in [255, 256, 257, 512, 4096] {
        for key in 0..count {
            client.send(&encode(&[b"SET", format!("{key:05}").as_bytes(), b""]));
        }
        (0..count).for_each(|_| assert_eq!(client.reply(), b"+OK\r\n"));
        let last = format!("[{:05}", count - 1);
        let range = |command: &str, more: &str| format!("{command} [00000 {last}{more}");
        for request in [range("SK.RANGE", " NOVALUES"), range("SK.RANGE", " NOVALUES REV")] {
            assert!(client.ask(&request).starts_with(&format!("*{count}|$5|")), "{request}");
        }
        assert_eq!(client.ask(&range("SK.COUNT", "")), format!(":{count}|"));
        assert_eq!(client.ask(&range("SK.DELRANGE", "")), format!(":{count}|"));
        assert_eq!(client.ask("DBSIZE"), ":0|");
    }
}

#[test]
fn cursors_are_shared_kept_and_bounded() {
    let server = start_with(ServerOptions { scan_cursors_max: 16, ..options() }, Durability::None);
    let mut client = server.connect();
    many_keys(&mut client, 100);
    let cursor_of = |reply: String| reply.split('|').nth(2).expect("a cursor").to_owned();
    let first = cursor_of(client.ask("SCAN 0"));
    let page = client.ask(&format!("SCAN {first}"));
    // Another connection, so maybe another worker; and once more, because the reply may have been
    // lost.
    let again = server.connect().ask(&format!("SCAN {first}"));
    let keys_of = |page: &str| page.split_once("*10|").expect("ten keys").1.to_owned();
    assert_eq!(keys_of(&page), keys_of(&again));
    for _ in 0..20 {
        client.ask("SCAN 0");
    }
    let refused = client.ask(&format!("SCAN {first}"));
    assert!(refused.starts_with(&format!("-ERR unknown cursor {first}: ")), "{refused}");
    assert!(client.ask("SCAN 12345").starts_with("-ERR unknown cursor 12345: "));
}

#[test]
fn info_and_command_describe_the_server() {
    let (_server, mut client) = letters();
    let info = client.ask("INFO");
    for line in
        ["|redis_version:7.", "|durability:buffered|", "|role:master|", "|db0:keys=5,expires=0,avg_ttl=0|"]
    {
        assert!(info.contains(line), "{line} in {info}");
    }
    let part = client.ask("INFO keyspace");
    assert!(part.contains("# Keyspace|") && !part.contains("# Server|"));
    let count: usize = client.ask("COMMAND COUNT").trim_matches([':', '|']).parse().expect("a number");
    assert!(client.ask("COMMAND").starts_with(&format!("*{count}|*10|")));
    // As in Redis, the list has the subcommands, too.
    let list = client.ask("COMMAND LIST");
    let listed: usize = list.split('|').next().unwrap_or_default()[1..].parse().expect("a number");
    assert!(listed > count + 50 && list.contains("|$3|get|") && list.contains("|config|get|"));
    assert!(client.ask("COMMAND DOCS get").starts_with("*2|$3|get|*8|$7|summary|"));
    check(
        &mut client,
        &[
            ("CLIENT SETINFO LIB-NAME redis-py", "+OK|"),
            ("CLIENT SETINFO lib-ver 1.0", "+OK|"),
            ("CLIENT SETINFO nope 1.0", "-ERR Unrecognized option 'nope'|"),
            ("SAVE", "+OK|"),
            ("BGSAVE", "+Background saving started|"),
            ("SAVE", "+OK|"),
            ("BGREWRITEAOF", "+Background append only file rewriting started|"),
            (
                "SHUTDOWN NOSAVE",
                "-ERR SHUTDOWN NOSAVE is not supported: a stop always keeps all writes; omit this option|",
            ),
        ],
    );
}
