//! `skein copy`: the data of one server, copied into another.

use std::process::{Child, Command, Stdio};

use crate::common::{
    PATIENCE, SkeinServe, assert_partial, assert_refused, disk_trie, interrupt, run, run_with_input,
    stdout_of,
};
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

/// Writes streams: one of several pages with groups, whose pending entries fill several pages, one
/// that is empty, and one whose entry was deleted.
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

/// All databases are copied, each into that of the same number, unless the addresses name one.
#[test]
fn databases_are_copied_into_those_of_the_same_numbers() {
    let (folders, mut servers) = ([(); 2].map(|()| tempfile::tempdir().unwrap()), Vec::new());
    for folder in &folders {
        servers.push(SkeinServe::start(folder.path(), &[]));
    }
    let [from, to] = [0, 1].map(|at| servers[at].address.clone());
    let mut client = Client::connect(&from).unwrap();
    let lines = ["SET zero 0", "SELECT 3", "MSET a 3 b 3", "SELECT 12", "SET c 12"];
    for words in lines {
        let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        assert_eq!(client.call(&words).unwrap(), Reply::ok());
    }
    let values = |address: &str, database: u32, keys: &[&str]| {
        let mut client = Client::connect(address).unwrap();
        assert_eq!(client.call(&[b"SELECT", database.to_string().as_bytes()]).unwrap(), Reply::ok());
        let count = Reply::Integer(i64::try_from(keys.len()).unwrap());
        assert_eq!(client.call(&[b"DBSIZE"]).unwrap(), count, "{database}");
        keys.iter().map(|key| client.call(&[b"GET", key.as_bytes()]).unwrap().to_string()).collect::<Vec<_>>()
    };
    let copied = String::from_utf8(stdout_of(run(["copy", "--from", &from, "--to", &to]))).unwrap();
    assert!(copied.starts_with("4 keys of 3 databases copied, 0 refused"), "{copied}");
    for (database, keys) in [(0, &["zero"][..]), (3, &["a", "b"]), (12, &["c"])] {
        assert_eq!(values(&to, database, keys), values(&from, database, keys));
    }
    let some = stdout_of(run(["copy", "--from", &from, "--to", &to, "--pattern", "[ac]"]));
    assert!(some.starts_with(b"2 keys of 3 databases copied"), "{}", String::from_utf8_lossy(&some));

    let [third, fifth] =
        [(&from, 3), (&to, 5)].map(|(address, database)| format!("redis://{address}/{database}"));
    let mut target = Client::connect(&to).unwrap();
    assert_eq!(target.call(&[b"FLUSHALL"]).unwrap(), Reply::ok());
    for (into, database) in [(&to, 3), (&fifth, 5)] {
        let copied = run(["copy", "--from", &third, "--to", into]);
        assert_refused(&copied, 4, &["only database 3", "2 keys in other databases (0, 12) are left out"]);
        assert_eq!(values(&to, database, &["a", "b"]), values(&from, 3, &["a", "b"]));
    }
    assert_eq!(target.call(&[b"DBSIZE"]).unwrap(), Reply::Integer(0));
    let all_into_one = run(["copy", "--from", &from, "--to", &fifth]);
    assert_refused(&all_into_one, 2, &["--to names database 5", "leave /5 out to copy all databases"]);
}

/// If the target has too few databases, nothing is copied.
#[test]
fn a_copy_needs_every_database_of_the_source() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let from = SkeinServe::start(folders[0].path(), &[]);
    let to = SkeinServe::start(folders[1].path(), &["--databases", "3"]);
    let mut client = from.client();
    for words in [&[&b"SET"[..], b"a", b"0"][..], &[b"SELECT", b"7"], &[b"SET", b"a", b"7"]] {
        assert_eq!(client.call(words).unwrap(), Reply::ok());
    }
    let copied = run(["copy", "--from", &from.address, "--to", &to.address]);
    assert_refused(&copied, 1, &["(SELECT 7); give that server more databases"]);
    assert_eq!(to.client().call(&[b"DBSIZE"]).unwrap(), Reply::Integer(0));
    to.stop();
    from.stop();
}

/// A dump of a server is of one database, and others with keys are named. That of a folder has the
/// keys of the store, of all databases, for another folder.
#[test]
fn a_dump_names_the_databases_that_it_leaves_out() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let from = SkeinServe::start(folders[0].path(), &[]);
    let mut client = from.client();
    for words in [&[&b"SET"[..], b"zero", b"0"][..], &[b"SELECT", b"3"], &[b"SET", b"a", b"3"]] {
        assert_eq!(client.call(words).unwrap(), Reply::ok());
    }
    let dumped = run(["dump", "--from", &from.address]);
    assert_eq!(String::from_utf8_lossy(&dumped.stdout), "zero\t0\n");
    let left_out = ["only database 0", "1 keys in other databases (3) are left out", "redis://HOST:PORT/3"];
    assert_refused(&dumped, 4, &left_out);
    let third = format!("redis://{}/3", from.address);
    // A hash trie has no prefixes.
    if disk_trie().as_deref() != Some("hash") {
        // A part of the keys is what was asked for.
        assert_eq!(stdout_of(run(["dump", "--from", &from.address, "--prefix", "zero"])), b"zero\t0\n");
        assert_eq!(stdout_of(run(["dump", "--from", &third, "--prefix", ""])), b"a\t3\n");
        assert_eq!(stdout_of(run(["count", "--from", &third])), b"1\n");
    }
    let none = run(["dump", "--from", &format!("redis://{}/16", from.address)]);
    assert_refused(&none, 1, &["DB index is out of range"]);
    from.stop();
    // `--data` makes a folder of the memory engine.
    if disk_trie().is_some() {
        return;
    }
    let data = |at: usize| folders[at].path().as_os_str();
    let dump = run(["dump".as_ref(), "--format".as_ref(), "hex".as_ref(), "--data".as_ref(), data(0)]);
    let dump = stdout_of(dump);
    let load = ["load", "-", "--format", "hex"];
    let into = load.iter().map(std::ffi::OsStr::new).chain(["--data".as_ref(), data(1)]);
    stdout_of(run_with_input(into, &dump));
    let to = SkeinServe::start(folders[1].path(), &[]);
    let mut client = to.client();
    assert_eq!(client.call(&[b"GET", b"zero"]).unwrap(), Reply::Bulk(b"0".to_vec()));
    // A server rejects keys of the store.
    let refused = run_with_input(load.iter().chain(&["--to", &to.address]), &dump);
    assert_partial(&refused, &["line 2: ERR keys that begin with", "are reserved"]);
    assert_eq!(client.call(&[b"SELECT", b"3"]).unwrap(), Reply::ok());
    assert_eq!(client.call(&[b"GET", b"a"]).unwrap(), Reply::Bulk(b"3".to_vec()));
    to.stop();
}

/// A copy of all databases carries the functions, too, from a Redis and to one; a copy of one database
/// does not.
#[test]
fn functions_are_copied_with_all_databases() {
    const LIBRARY: &[u8] = b"#!lua name=geese\nredis.register_function('count', function() return 42 end)";
    let Some(redis) = RedisProcess::start() else { return };
    let called = |client: &mut Client| client.call(&[b"FCALL", b"count", b"0"]).unwrap();
    let mut source = Client::connect(&redis.address).unwrap();
    assert_eq!(source.call(&[b"SET", b"goose", b"grey"]).unwrap(), Reply::ok());
    assert_eq!(source.call(&[b"FUNCTION", b"LOAD", LIBRARY]).unwrap(), Reply::Bulk(b"geese".to_vec()));

    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    let to = server.address.as_str();
    let one = run(["copy", "--from", &format!("redis://{}/0", redis.address), "--to", to]);
    assert!(one.status.success(), "{one:?}");
    assert!(matches!(called(&mut server.client()), Reply::Error(_)));
    for _ in 0..2 {
        let all = run(["copy", "--from", &redis.address, "--to", to]);
        assert!(stdout_of(all).ends_with(b"1 libraries of functions copied\n"));
    }
    assert_eq!(called(&mut server.client()), Reply::Integer(42));

    // And back, by a user who may not write functions first.
    assert_eq!(source.call(&[b"FUNCTION", b"FLUSH"]).unwrap(), Reply::ok());
    for rights in [&b"-function|restore"[..], b"+@all"] {
        let user = [&b"ACL"[..], b"SETUSER", b"default", b"on", b"nopass", b"~*", b"+@all", rights];
        assert_eq!(source.call(&user).unwrap(), Reply::ok());
        let back = run(["copy", "--from", to, "--to", &redis.address]);
        if rights == b"+@all" {
            assert!(back.status.success(), "{back:?}");
        } else {
            assert_partial(&back, &["the functions are not copied: ", "NOPERM"]);
            assert!(matches!(called(&mut source), Reply::Error(_)));
        }
    }
    assert_eq!(called(&mut source), Reply::Integer(42));
}
