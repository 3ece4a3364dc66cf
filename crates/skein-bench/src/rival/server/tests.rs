use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use super::dialect::{
    MEMCACHED, NeighbourKeys, NeighbourRows, RESP_HASHES, RESP_SCORED, RESP_SORTED, RESP_VALUES,
};
use super::*;
use crate::rival::index;
use crate::sys::on_path;

/// Starts a server for one connection, which reads the request of [`asked_once`], writes `reply`
/// and closes. Returns its address.
fn fake(reply: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("the client connects");
        socket.read_exact(&mut [0; ASKED.len()]).expect("the client asks");
        socket.write_all(reply).expect("the client reads");
    });
    address
}

const ASKED: &[u8] = b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n";

/// Returns the client's error if the server answers with `reply`.
fn asked_once(reply: &'static [u8]) -> Error {
    let mut client = BenchClient::connect("fake", &RESP_VALUES, fake(reply), 1).expect("it listens");
    client.begin("GET, pipeline 1", 1);
    client.ask(0, DialectRequest::Get(b"key", b"goose")).expect("sent");
    client.finish().expect_err("the reply is wrong")
}

#[test]
fn wrong_replies_end_the_run_and_are_shown() {
    let error = asked_once(b"$5\r\ngoat!\r\n");
    assert!(matches!(error, Error::WrongReply { .. }));
    let text = error.to_string();
    for part in ["fake", "GET, pipeline 1", "goat!", "goose"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(asked_once(b"-ERR no such thing\r\n").to_string().contains("no such thing"));
    assert!(asked_once(b"$5\r\ngoose\r\n+more\r\n").to_string().contains("+more"), "too much is wrong too");
    assert!(asked_once(b"$5\r\ngo").to_string().contains("closed a connection in the middle"));
}

#[test]
fn wrong_bytes_far_into_a_reply_are_found() {
    let (got, expected) = ([b'a'; 500], [[b'a'; 400], [b'b'; 400]].concat());
    let matched = client::matched(&got, &expected, false);
    let error = client::wrong("fake", "load", &got, &expected, matched);
    let Error::WrongReply { got, expected, .. } = error else { panic!("{error}") };
    assert!(got.starts_with("aaaa") && got.len() <= 100);
    assert!(expected.starts_with(&"a".repeat(24)) && expected[24..].starts_with("bbbb"), "{expected}");
}

#[test]
fn digits_of_a_pattern_match_whatever_a_read_returns() {
    let pattern = b"$\xff\r\n\xff-\xff\r\n:1\r\n";
    let reply = b"$15\r\n1764190000000-0\r\n:1\r\n";
    for split in 0..=reply.len() {
        let (first, second) = reply.split_at(split);
        let (read, at) = client::matched(first, pattern, true);
        assert_eq!(read, first.len(), "at {split}");
        let rest = (second.len(), pattern.len() - at);
        assert_eq!(client::matched(second, &pattern[at..], true), rest, "at {split}");
    }
    for (wrong, right) in [(&b"$15\r\n17x"[..], (7, 5)), (b"-ERR", (0, 0)), (b"$1\r\n1-1\r\n:2", (10, 10))] {
        assert_eq!(client::matched(wrong, pattern, true), right);
    }
    assert_eq!(client::matched(b":12\r\n", b":\xff\r\n", false), (1, 1), "only patterns have digits");
    let more = client::matched(b":12\r\n:3", b":\xff\r\n", true);
    assert_eq!(more, (5, 4), "too much is wrong too");
}

#[test]
fn every_request_on_every_connection_is_answered() {
    let server = Noop::start(0).expect("it starts");
    server.expect(b"*1\r\n$4\r\nPING\r\n", b"+PONG\r\n");
    let mut client = BenchClient::connect(NOOP, &RESP_VALUES, server.address(), 7).expect("it listens");
    for pipeline in [1, 16, 64] {
        client.begin("PING", pipeline);
        (0..1000).try_for_each(|n| client.ask(n % 7, DialectRequest::Ping)).expect("right replies");
        client.finish().expect("right replies");
    }
    assert!(server.cpu_seconds().expect("known") > 0.0);
    server.expect(b"*1\r\n$4\r\nPING\r\n", b"+PANG\r\n");
    client.ask(0, DialectRequest::Ping).and_then(|()| client.finish()).expect_err("the reply is wrong");
}

/// Returns a request and its reply as text.
fn said(dialect: &dyn Dialect, request: DialectRequest<'_>) -> (String, String) {
    let (mut out, mut expected) = (Vec::new(), Vec::new());
    dialect.ask(request, &mut out, &mut expected);
    (out.escape_ascii().to_string(), expected.escape_ascii().to_string())
}

#[test]
fn requests_are_what_the_servers_understand() {
    let columns: RowColumns = std::array::from_fn(|n| [b'a' + n as u8; 4]);
    let check = |dialect: &dyn Dialect, request: DialectRequest<'_>, out: &str, expected: &str| {
        assert_eq!(said(dialect, request), (out.to_owned(), expected.to_owned()));
    };
    check(&RESP_HASHES, DialectRequest::Ping, r"*1\r\n$4\r\nPING\r\n", r"+PONG\r\n");
    check(
        &RESP_VALUES,
        DialectRequest::SetColumn(b"k", 3, b"wxyz"),
        r"*4\r\n$8\r\nSETRANGE\r\n$1\r\nk\r\n$2\r\n12\r\n$4\r\nwxyz\r\n",
        r":40\r\n",
    );
    check(
        &RESP_HASHES,
        DialectRequest::SetColumn(b"k", 3, b"wxyz"),
        r"*4\r\n$4\r\nHSET\r\n$1\r\nk\r\n$1\r\n3\r\n$4\r\nwxyz\r\n",
        r":0\r\n",
    );
    let rows = [(b"k", *b"abcd"), (b"l", *b"efgh")];
    let mut rows = rows.iter().map(|(key, column)| (&key[..], *column));
    let range = NeighbourRows { from: b"k", count: 5, column: 2, found: 2, rows: &mut rows };
    check(
        &RESP_HASHES,
        DialectRequest::Range(range),
        r"*8\r\n$8\r\nSK.RANGE\r\n$2\r\n[k\r\n$1\r\n+\r\n$5\r\nLIMIT\r\n$1\r\n5\r\n$7\r\nCOLUMNS\r\n$1\r\n1\r\n$1\r\n2\r\n",
        r"*4\r\n$1\r\nk\r\n*1\r\n$4\r\nabcd\r\n$1\r\nl\r\n*1\r\n$4\r\nefgh\r\n",
    );
    check(&MEMCACHED, DialectRequest::Set(b"k", b"v"), r"set k 0 0 1\r\nv\r\n", r"STORED\r\n");
    let (mut out, mut expected) = (Vec::new(), Vec::new());
    MEMCACHED.ask(DialectRequest::Get(b"k", b"v"), &mut out, &mut expected);
    MEMCACHED.ask(DialectRequest::Get(b"l", b"w"), &mut out, &mut expected);
    MEMCACHED.ask(DialectRequest::Set(b"k", b"x"), &mut out, &mut expected);
    assert_eq!(out.escape_ascii().to_string(), r"get k l\r\nset k 0 0 1\r\nx\r\n");
    let replies = r"VALUE k 0 1\r\nv\r\nVALUE l 0 1\r\nw\r\nEND\r\nSTORED\r\n";
    assert_eq!(expected.escape_ascii().to_string(), replies);
    let whole = "aaaabbbbccccddddeeeeffffgggghhhhiiiijjjj";
    check(
        &MEMCACHED,
        DialectRequest::GetRow(b"k", &columns),
        r"get k\r\n",
        &format!(r"VALUE k 0 40\r\n{whole}\r\nEND\r\n"),
    );
    let (out, expected) = said(&RESP_HASHES, DialectRequest::AddRow(b"k", &columns));
    assert!(
        out.starts_with(r"*22\r\n$4\r\nHSET\r\n$1\r\nk\r\n$1\r\n0\r\n$4\r\naaaa") && expected == r":10\r\n"
    );
    let (_, expected) = said(&RESP_HASHES, DialectRequest::GetRow(b"k", &columns));
    assert!(expected.starts_with(r"*20\r\n$1\r\n0\r\n$4\r\naaaa\r\n$1\r\n1\r\n"));
}

#[test]
fn key_ranges_have_two_forms() {
    let range = |dialect: &dyn Dialect| {
        let two = [b"k", b"l"];
        let mut keys = two.iter().map(|key| &key[..]);
        let value = &(7u64 << 12).to_le_bytes();
        said(
            dialect,
            DialectRequest::Keys(NeighbourKeys { from: b"k", value, count: 5, found: 2, keys: &mut keys }),
        )
    };
    let keys = r"*2\r\n$1\r\nk\r\n$1\r\nl\r\n".to_owned();
    let ours = r"*6\r\n$8\r\nSK.RANGE\r\n$2\r\n[k\r\n$1\r\n+\r\n$5\r\nLIMIT\r\n$1\r\n5\r\n$8\r\nNOVALUES\r\n";
    assert_eq!(range(&RESP_HASHES), (ours.to_owned(), keys.clone()));
    let theirs = r"*7\r\n$11\r\nZRANGEBYLEX\r\n$1\r\ns\r\n$2\r\n[k\r\n$1\r\n+\r\n$5\r\nLIMIT\r\n$1\r\n0\r\n$1\r\n5\r\n";
    assert_eq!(range(&RESP_SORTED), (theirs.to_owned(), keys.clone()));
    let by_score = r"*8\r\n$6\r\nZRANGE\r\n$1\r\ns\r\n$1\r\n7\r\n$4\r\n+inf\r\n$7\r\nBYSCORE\r\n$5\r\nLIMIT\r\n$1\r\n0\r\n$1\r\n5\r\n";
    assert_eq!(range(&RESP_SCORED), (by_score.to_owned(), keys));
    let zadd = r"*4\r\n$4\r\nZADD\r\n$1\r\ns\r\n$1\r\n0\r\n$1\r\nk\r\n";
    assert_eq!(said(&RESP_SORTED, DialectRequest::Add(b"k", b"v")), (zadd.to_owned(), r":1\r\n".to_owned()));
    assert_eq!(said(&RESP_SORTED, DialectRequest::Set(b"k", b"v")), (zadd.to_owned(), r":0\r\n".to_owned()));
    let zscore = r"*3\r\n$6\r\nZSCORE\r\n$1\r\ns\r\n$1\r\nk\r\n";
    assert_eq!(
        said(&RESP_SORTED, DialectRequest::Get(b"k", b"v")),
        (zscore.to_owned(), r"$1\r\n0\r\n".to_owned())
    );
    let set = said(&RESP_HASHES, DialectRequest::Set(b"k", b"v"));
    assert_eq!(said(&RESP_HASHES, DialectRequest::Add(b"k", b"v")), set);
}

#[test]
fn servers_not_installed_are_reported() {
    assert_eq!(on_path("a-server-that-nobody-has"), None);
    assert!(on_path("sh").is_some());
    for entry in all().filter(|entry| !entry.name.starts_with(OURS)) {
        let packages = if entry.name == VALKEY { "PyPI" } else { "Debian's package" };
        assert!(entry.missing.contains(packages), "{}", entry.name);
    }
}

#[test]
fn memcached_accepts_only_short_printable_keys() {
    let of = |name: &str| all().find(|entry| entry.name == name).expect("known").takes_key;
    for key in [&b"a key"[..], b"line\n", b"\0", &[b'k'; 251]] {
        assert!(of("memcached")(key).is_err_and(|which| which.contains("250 bytes")));
        assert_eq!(of("redis")(key), Ok(()));
    }
    assert_eq!(of("memcached")(&[b'k'; 250]), Ok(()));
    assert_eq!(of("memcached")("gänse".as_bytes()), Ok(()));
}

#[test]
fn servers_on_each_index_have_its_name_among_the_indexes() {
    let own: Vec<_> = all().filter(|entry| entry.part == ServerRole::EachIndex).collect();
    assert_eq!(own.len(), 2 * IndexKind::ALL.len(), "each with plain keys, and with a sorted set");
    let indexes: Vec<_> = index::all()
        .into_iter()
        .filter(|entry| entry.role == index::IndexRole::Ours)
        .map(|entry| entry.name)
        .collect();
    for entry in own {
        assert!(indexes.contains(&entry.name), "{} is not among {indexes:?}", entry.name);
    }
}

#[test]
fn a_failed_start_shows_the_servers_output() {
    let entry = RegisteredServer {
        name: "broken",
        workers: 1,
        part: ServerRole::Always,
        index: None,
        program: || on_path("sh"),
        missing: "",
        options: |_| vec!["-c".to_owned(), "echo first; echo no memory >&2; exit 3".to_owned()],
        place: |_| Vec::new(),
        rows: "",
        dialect: &RESP_VALUES,
        can: ServerAbilities { values: true, ping: true, ..ServerAbilities::NOTHING },
        takes_key: any_key,
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let address = free_address().expect("a free port");
    let start = ServerLaunch { address, folder: folder.path(), logs: false, bytes: 0, keys: 0, index: None };
    let program = (entry.program)().expect("every system has a shell");
    let error = BenchServerProcess::start(&entry, &program, &start).expect_err("it ends at once").to_string();
    for part in ["broken ended at its start", "3", "no memory"] {
        assert!(error.contains(part), "{error}");
    }
    let error =
        BenchServerProcess::start(&entry, Path::new("/nowhere/server"), &start).expect_err("it is not there");
    assert!(error.to_string().contains("/nowhere/server"), "{error}");
}

/// Once, the client's histogram counted up to 2 ns only, so every p99 was 2 ns, and "no p99 is
/// longer" held whatever was measured. Now it counts up to the time limit of a reply.
#[test]
fn latencies_are_those_of_pipelines() {
    let server = Noop::start(0).expect("it starts");
    server.expect(b"*1\r\n$4\r\nPING\r\n", b"+PONG\r\n");
    let mut client = BenchClient::connect(NOOP, &RESP_VALUES, server.address(), 3).expect("it listens");
    client.begin("PING", 2);
    (0..300).try_for_each(|n| client.ask(n % 3, DialectRequest::Ping)).expect("right replies");
    client.finish().expect("right replies");
    // One system call alone takes longer than this.
    assert!(client.p99_us() > 0.1, "{} us", client.p99_us());
    client.begin("PING", 2);
    assert!(client.p99_us() == 0.0, "what was measured before is forgotten");
}
