//! `skein copy`: the data of one server, copied into another.

mod databases;

use std::process::{Child, Command, Stdio};

use crate::common::{PATIENCE, SkeinServe, assert_partial, assert_refused, interrupt, run, stdout_of};
use crate::free_port::free_port;
use skeindb::client::{Client, Reply};

/// A real Redis. It is stopped when the value is dropped.
struct RedisProcess {
    child: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl RedisProcess {
    /// Returns `None` if tests with a Redis are to be skipped.
    fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// Starts one with more options.
    fn start_with(options: &[&str]) -> Option<Self> {
        if std::env::var("SKEIN_TEST_REDIS").is_ok_and(|value| value == "none") {
            return None;
        }
        let port = free_port();
        let folder = tempfile::tempdir().unwrap();
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", "", "--dir"])
            .arg(folder.path())
            .args(options)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server runs; install it (`apt-get install redis-server`), or leave this out with SKEIN_TEST_REDIS=none");
        let redis = Self { child, address: format!("127.0.0.1:{port}"), _folder: folder };
        let since = std::time::Instant::now();
        while Client::connect(&redis.address).is_err() {
            assert!(since.elapsed() < PATIENCE, "redis-server does not listen");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Some(redis)
    }
}

impl Drop for RedisProcess {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes many strings, a hash, a set, a sorted set and a list of several pieces, awkward bytes,
/// and expiry times.
fn fill(address: &str) {
    let mut client = Client::connect(address).unwrap();
    let mut commands: Vec<Vec<Vec<u8>>> = Vec::new();
    let mut command = |words: &[&[u8]]| commands.push(words.iter().map(|word| word.to_vec()).collect());
    for n in 0..2500u32 {
        let text = n.to_string();
        command(&[b"SET", format!("string:{n}").as_bytes(), text.as_bytes()]);
        command(&[b"HSET", b"hash", format!("field:{n}").as_bytes(), text.as_bytes()]);
        command(&[b"SADD", b"plain", text.as_bytes()]);
        command(&[b"RPUSH", b"list", format!("{}", n * 7919 % 1000).as_bytes()]);
        command(&[b"ZADD", b"sorted", format!("{}.5", n % 100).as_bytes(), text.as_bytes()]);
    }
    command(&[b"SET", b"\0\r\n\xff", b"\r\n\0"]);
    command(&[b"SET", b"brief", b"x", b"PX", b"10000000"]);
    command(&[b"HSET", b"brief hash", b"f", b"v"]);
    command(&[b"PEXPIRE", b"brief hash", b"10000000"]);
    command(&[b"RPUSH", b"list", b"", b"a\tb", b"x\ny", b"\0\xff", b""]);
    let many: Vec<Vec<u8>> = (0..495u32).map(|n| n.to_string().into_bytes()).collect();
    command(
        &[&[b"RPUSH".as_slice(), b"list"], &many.iter().map(Vec::as_slice).collect::<Vec<_>>()[..]].concat(),
    );
    command(&[b"RPUSH", b"brief list", b"b", b"a", b"b"]);
    command(&[b"PEXPIRE", b"brief list", b"10000000"]);
    for reply in client.pipeline(&commands).unwrap() {
        assert!(!matches!(reply, Reply::Error(_)), "{reply}");
    }
}

/// Asserts that both servers answer these commands alike.
fn assert_same(from: &str, to: &str) {
    let mut clients = [from, to].map(|address| Client::connect(address).unwrap());
    let asked: [&[&[u8]]; 12] = [
        &[b"DBSIZE"],
        &[b"GET", b"\0\r\n\xff"],
        &[b"GET", b"string:1234"],
        &[b"HLEN", b"hash"],
        &[b"HGET", b"hash", b"field:2499"],
        &[b"ZRANGE", b"sorted", b"0", b"-1", b"WITHSCORES"],
        &[b"TYPE", b"brief hash"],
        &[b"SCARD", b"plain"],
        &[b"LLEN", b"list"],
        &[b"LRANGE", b"list", b"0", b"-1"],
        &[b"LRANGE", b"brief list", b"0", b"-1"],
        &[b"SMISMEMBER", b"plain", b"0", b"2499", b"2500"],
    ];
    for command in asked {
        let [theirs, ours] = clients.each_mut().map(|client| client.call(command).unwrap());
        assert_eq!(theirs, ours, "{}", command[0].escape_ascii());
    }
}

/// Returns the expiry times that the server answers to this command.
fn times(address: &str, command: &[u8]) -> [i64; 3] {
    let mut client = Client::connect(address).unwrap();
    [&b"brief"[..], b"brief hash", b"brief list"].map(|key| match client.call(&[command, key]).unwrap() {
        Reply::Integer(time) => time,
        other => panic!("{}: {other}", key.escape_ascii()),
    })
}

/// Writes three streams: one has groups, and its entries and pending entries fill several pages;
/// one is empty; one has lost its entry to XDEL.
fn fill_streams(client: &mut Client) {
    let mut ask = |line: &str| {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let reply = client.call(&words).unwrap();
        assert!(!matches!(reply, Reply::Error(_)), "{line}: {reply}");
    };
    for n in 1..=2500 {
        ask(&format!("XADD stream 1000-{n} field value-{n} other{} x", n % 3));
    }
    ask("XGROUP CREATE stream many 0");
    for consumer in ["a", "b", "c"] {
        ask(&format!("XREADGROUP GROUP many {consumer} COUNT 700 STREAMS stream >"));
        // Each consumer has other times.
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
    ask("XACK stream many 1000-1 1000-2 1000-900");
    ask("XGROUP CREATE stream few 1000-7 ENTRIESREAD 7");
    ask("XREADGROUP GROUP few alice COUNT 5 STREAMS stream >");
    ask("XCLAIM stream few bob 0 1000-9 RETRYCOUNT 7");
    ask("XGROUP CREATE stream idle $");
    ask("XGROUP CREATECONSUMER stream idle nobody");
    // One of them is pending.
    ask("XDEL stream 1000-10 1000-2400 1000-2500");
    ask("PEXPIREAT stream 4000000000123");
    ask("XGROUP CREATE empty group $ MKSTREAM");
    ask("XADD gone 5-5 f v");
    ask("XDEL gone 5-5");
}

/// Asserts that both servers have the same streams, which [`fill_streams`] made.
fn assert_same_streams(from: &str, to: &str) {
    let mut clients = [from, to].map(|address| Client::connect(address).unwrap());
    for key in [&b"stream"[..], b"empty", b"gone"] {
        let asked: [&[&[u8]]; 5] = [
            &[b"XINFO", b"STREAM", key, b"FULL", b"COUNT", b"0"],
            &[b"XINFO", b"GROUPS", key],
            &[b"XRANGE", key, b"-", b"+"],
            &[b"XLEN", key],
            &[b"PEXPIRETIME", key],
        ];
        for command in asked {
            let [theirs, ours] = clients.each_mut().map(|client| match client.call(command).unwrap() {
                // The sizes of Redis's trees depend on the history.
                Reply::Array(items) if command[0] == b"XINFO" && command[1] == b"STREAM" => {
                    assert_eq!(items[2], Reply::Bulk(b"radix-tree-keys".to_vec()));
                    Reply::Array([&items[..2], &items[6..]].concat())
                }
                reply => reply,
            });
            assert!(!matches!(theirs, Reply::Error(_)), "{theirs}");
            assert_eq!(theirs, ours, "{} {}", command[0].escape_ascii(), key.escape_ascii());
        }
    }
    for group in [&b"many"[..], b"few", b"idle"] {
        let command: [&[u8]; 3] = [b"XPENDING", b"stream", group];
        let [theirs, ours] = clients.each_mut().map(|client| client.call(&command).unwrap());
        assert_eq!(theirs, ours, "{}", group.escape_ascii());
    }
}

#[test]
fn streams_come_over_whole_from_redis_and_back() {
    let Some(redis) = RedisProcess::start() else { return };
    fill_streams(&mut Client::connect(&redis.address).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    // Left by an earlier attempt: it must be replaced, not extended.
    let mut client = Client::connect(&server.address).unwrap();
    client.call(&[b"XADD", b"stream", b"9-9", b"old", b"1"]).unwrap();
    client.call(&[b"SET", b"empty", b"1"]).unwrap();
    let copied = run(["copy", "--from", &redis.address, "--to", &server.address]);
    let said = String::from_utf8(stdout_of(copied)).unwrap();
    assert!(said.starts_with("3 keys copied, 0 refused"), "{said}");
    assert_same_streams(&redis.address, &server.address);

    let Some(second) = RedisProcess::start() else { return };
    stdout_of(run(["copy", "--from", &server.address, "--to", &second.address, "--quiet"]));
    assert_same_streams(&redis.address, &second.address);
    // Another Skein, by text.
    let text = folder.path().join("all.hex");
    let text = text.to_str().unwrap();
    stdout_of(run(["dump", "--from", &server.address, "--format", "hex", "-o", text]));
    let other = tempfile::tempdir().unwrap();
    let third = SkeinServe::start(other.path(), &[]);
    for _ in 0..2 {
        // Loaded twice, they are the same.
        stdout_of(run(["load", text, "--format", "hex", "--to", &third.address]));
        assert_same_streams(&redis.address, &third.address);
    }
    third.stop();
    server.stop();
}

/// A cluster's node, for which each key is at hand.
#[test]
fn streams_are_copied_and_loaded_into_a_cluster() {
    let Some(redis) = RedisProcess::start() else { return };
    fill_streams(&mut Client::connect(&redis.address).unwrap());
    let Some(node) = RedisProcess::start_with(&["--cluster-enabled", "yes"]) else { return };
    let mut client = Client::connect(&node.address).unwrap();
    let slots = client.call(&[b"CLUSTER", b"ADDSLOTSRANGE", b"0", b"16383"]).unwrap();
    assert_eq!(slots, Reply::ok());
    let copied = run(["copy", "--from", &redis.address, "--to-cluster", &node.address]);
    let said = String::from_utf8(stdout_of(copied)).unwrap();
    assert!(said.starts_with("3 keys copied, 0 refused"), "{said}");
    assert_same_streams(&redis.address, &node.address);
    assert_eq!(client.call(&[b"FLUSHALL"]).unwrap(), Reply::ok());
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(&folder.path().join("d"), &[]);
    stdout_of(run(["copy", "--from", &redis.address, "--to", &server.address]));
    let text = folder.path().join("all.tsv");
    let text = text.to_str().unwrap();
    stdout_of(run(["dump", "--from", &server.address, "-o", text]));
    stdout_of(run(["load", text, "--format", "tsv", "--to-cluster", &node.address]));
    assert_same_streams(&redis.address, &node.address);
    server.stop();
}

/// A cluster has database 0 alone: other databases are rejected, or one is chosen.
#[test]
fn one_database_is_copied_and_loaded_into_a_cluster() {
    let Some(node) = RedisProcess::start_with(&["--cluster-enabled", "yes"]) else { return };
    let mut client = Client::connect(&node.address).unwrap();
    let slots = client.call(&[b"CLUSTER", b"ADDSLOTSRANGE", b"0", b"16383"]).unwrap();
    assert_eq!(slots, Reply::ok());
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../skein-rdb/tests/data/redis62.rdb");
    let file = file.to_str().unwrap();
    let loaded = run(["load", file, "--to-cluster", &node.address]);
    assert_partial(&loaded, &["the key \"text\" is of database 3", "load it by --database 3"]);
    assert_eq!(client.call(&[b"GET", b"text"]).unwrap(), Reply::Bulk(b"hello".to_vec()));
    stdout_of(run(["load", file, "--database", "3", "--to-cluster", &node.address]));
    assert_eq!(client.call(&[b"GET", b"text"]).unwrap(), Reply::Bulk(b"third".to_vec()));

    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    stdout_of(run(["load", file, "--to", &server.address]));
    assert_eq!(client.call(&[b"FLUSHALL"]).unwrap(), Reply::ok());
    let copied = run(["copy", "--from", &server.address, "--to-cluster", &node.address]);
    assert_refused(&copied, 4, &["only database 0", "1 keys in other databases (3) are left out"]);
    assert_eq!(client.call(&[b"GET", b"text"]).unwrap(), Reply::Bulk(b"hello".to_vec()));
    let third = format!("redis://{}/3", server.address);
    let copied = run(["copy", "--from", &third, "--to-cluster", &node.address]);
    assert_refused(&copied, 4, &["only database 3"]);
    assert_eq!(client.call(&[b"GET", b"text"]).unwrap(), Reply::Bulk(b"third".to_vec()));
    server.stop();
}

/// A Redis before version 5 has no streams, and one before version 7 reads none of these payloads.
#[test]
fn a_stream_that_a_server_rejects_is_named_and_the_rest_is_copied() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    let mut client = server.client();
    client.call(&[b"XADD", b"a stream", b"*", b"f", b"x"]).unwrap();
    client.call(&[b"SET", b"k", b"v"]).unwrap();
    for missing in ["RESTORE", "XSETID"] {
        let Some(redis) = RedisProcess::start_with(&["--rename-command", missing, ""]) else { return };
        let output = run(["copy", "--from", &server.address, "--to", &redis.address]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.starts_with("1 keys copied, 1 (1 stream) refused, in "), "{said}");
        let reason = format!("unknown command '{missing}'");
        assert_refused(&output, 4, &["not copied: \"a stream\", a stream: ", &redis.address, &reason]);
        let mut theirs = Client::connect(&redis.address).unwrap();
        let left = theirs.call(&[b"EXISTS", b"a stream", b"k"]).unwrap();
        assert_eq!(left, Reply::Integer(1), "no part of it stays");
    }
    server.stop();
}

#[test]
fn keys_of_all_other_types_come_over_from_redis_and_back() {
    let Some(redis) = RedisProcess::start() else { return };
    fill(&redis.address);
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    // Left by an earlier attempt: it must be replaced, not extended.
    let mut client = Client::connect(&server.address).unwrap();
    client.call(&[b"HSET", b"hash", b"old", b"1"]).unwrap();
    client.call(&[b"RPUSH", b"list", b"old"]).unwrap();
    let copied = run(["copy", "--from", &redis.address, "--to", &server.address]);
    let said = String::from_utf8(stdout_of(copied)).unwrap();
    assert!(said.starts_with("2508 keys copied, 0 refused"), "{said}");
    assert_same(&redis.address, &server.address);
    // To the millisecond.
    assert_eq!(times(&redis.address, b"PEXPIRETIME"), times(&server.address, b"PEXPIRETIME"));

    let Some(second) = RedisProcess::start() else { return };
    let back = run(["copy", "--from", &server.address, "--to", &second.address]);
    let said = String::from_utf8(stdout_of(back)).unwrap();
    assert!(said.starts_with("2508 keys copied, 0 refused"), "{said}");
    assert_same(&redis.address, &second.address);
    assert_eq!(times(&redis.address, b"PEXPIRETIME"), times(&second.address, b"PEXPIRETIME"));
}

/// Redis has PEXPIRETIME since version 7.
#[test]
fn expiry_times_come_over_from_an_older_redis() {
    let Some(redis) = RedisProcess::start_with(&["--rename-command", "PEXPIRETIME", ""]) else { return };
    fill(&redis.address);
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    stdout_of(run(["copy", "--from", &redis.address, "--to", &server.address, "--quiet"]));
    assert_same(&redis.address, &server.address);
    for left in times(&server.address, b"PTTL") {
        assert!((1_000_000..=10_000_000).contains(&left), "{left} ms");
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let output = run(["copy", "--from", "127.0.0.1:1"]);
    assert_refused(&output, 1, &["cannot connect to 127.0.0.1:1"]);
}

/// Incident: `copy --from localhost:6380 --to 127.0.0.1:6380` removed each hash before it read it.
/// Consequence: it copied a server onto itself and lost its data. Fix: the command checks that the
/// two servers differ before it writes anything.
#[test]
fn a_server_is_not_copied_onto_itself() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let server = SkeinServe::start(&folder.path().join("d"), &["--unix-socket", socket.to_str().unwrap()]);
    let mut client = server.client();
    client.call(&[b"HSET", b"hash", b"f", b"v"]).unwrap();
    let port = server.address.rsplit_once(':').unwrap().1;
    for name in [server.address.clone(), format!("localhost:{port}"), format!("unix:{}", socket.display())] {
        let output = run(["copy", "--from", &name, "--to", &server.address]);
        assert_refused(&output, 2, &[&name, "are the same server", "--to"]);
    }
    assert_eq!(client.call(&[b"HLEN", b"hash"]).unwrap(), Reply::Integer(1));
    server.stop();
}

#[test]
fn refused_keys_are_counted_by_type() {
    // As a Redis that has no streams of this form.
    let Some(redis) = RedisProcess::start_with(&["--rename-command", "XINFO", ""]) else { return };
    let mut theirs = Client::connect(&redis.address).unwrap();
    for command in [
        &[&b"XADD"[..], b"s1", b"*", b"f", b"x"][..],
        &[b"XADD", b"s2", b"*", b"f", b"x"],
        &[b"RPUSH", b"l", b"x"],
        &[b"SET", b"k", b"v"],
    ] {
        theirs.call(command).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    let output = run(["copy", "--from", &redis.address, "--to", &server.address, "--show-refused", "1"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.starts_with("2 keys copied, 2 (2 streams) refused, in "), "{said}");
    assert_refused(&output, 4, &["not copied: ", "unknown command 'XINFO'"]);
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "one is named");
    // Its keys are not dumped either, but the message names a way.
    let dumped = run(["dump", "--from", &redis.address]);
    assert_refused(&dumped, 1, &["not a SkeinDB server", &format!("skein copy --from {}", redis.address)]);
    server.stop();
}

/// Incident: Ctrl-C ended the process without reporting its progress. Here the target holds the
/// copy at its first write until the signal has arrived.
#[test]
fn an_interrupted_copy_says_how_far_it_came() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [from, to] = folders.each_ref().map(|folder| SkeinServe::start(folder.path(), &[]));
    let mut source = from.client();
    let sets: Vec<[Vec<u8>; 3]> =
        (0..5000).map(|n| [b"SET".to_vec(), format!("{n}").into_bytes(), b"v".to_vec()]).collect();
    source.pipeline(&sets).unwrap();
    // From here on the target accepts no writes.
    let mut pausing = to.client();
    assert_eq!(pausing.call(&[b"CLIENT", b"PAUSE", b"3600000", b"WRITE"]).unwrap(), Reply::ok());
    let mut command = crate::common::skein(["copy", "--from", &from.address, "--to", &to.address]);
    let copy = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The copy has reached its first write, which waits, once the target has seen its predecessors:
    // DBSIZE of the source, and a page of it.
    let since = std::time::Instant::now();
    let scans = |client: &mut Client| {
        let Reply::Bulk(info) = client.call(&[b"INFO", b"commandstats"]).unwrap() else { panic!("no text") };
        String::from_utf8_lossy(&info).contains("cmdstat_get:calls=")
    };
    while !scans(&mut source) {
        assert!(since.elapsed() < PATIENCE, "it does not copy");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // The signal arrives before the write is released.
    interrupt(copy.id());
    assert_eq!(pausing.call(&[b"CLIENT", b"UNPAUSE"]).unwrap(), Reply::ok());
    let output = copy.wait_with_output().unwrap();
    assert_refused(&output, 1, &["interrupted after ", " of 5,000 keys; ", " of them are copied, 0 refused"]);
    to.stop();
    from.stop();
}
