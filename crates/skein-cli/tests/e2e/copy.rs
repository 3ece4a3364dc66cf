//! `skein copy`: the data of one server, copied into another.

use std::process::{Child, Command, Stdio};

use crate::common::{PATIENCE, SkeinServe, assert_refused, interrupt, run, stdout_of};
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

#[test]
fn everything_but_streams_comes_over_from_redis_and_back() {
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

    let mut theirs = Client::connect(&redis.address).unwrap();
    theirs.call(&[b"XADD", b"a stream", b"*", b"f", b"x"]).unwrap();
    let partly = run(["copy", "--from", &redis.address, "--to", &server.address, "--pattern", "a*"]);
    assert_refused(&partly, 4, &["not copied: \"a stream\", a stream"]);
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
    let Some(redis) = RedisProcess::start() else { return };
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
    assert_refused(&output, 4, &["not copied: "]);
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

/// One database is copied, by default 0, and others with keys are named.
#[test]
fn databases_are_copied_one_by_one() {
    let (folders, mut servers) = ([(); 2].map(|()| tempfile::tempdir().unwrap()), Vec::new());
    for folder in &folders {
        servers.push(SkeinServe::start(folder.path(), &[]));
    }
    let [from, to] = [0, 1].map(|at| servers[at].address.clone());
    let mut client = Client::connect(&from).unwrap();
    for words in ["SET zero 0", "SELECT 3", "MSET a 3 b 3", "SELECT 12", "SET c 12"] {
        let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        assert_eq!(client.call(&words).unwrap(), Reply::ok());
    }
    let left_out =
        ["only database 0", "3 keys in other databases (3, 12) are left out", "redis://HOST:PORT/3"];
    let copied = run(["copy", "--from", &from, "--to", &to]);
    assert!(String::from_utf8_lossy(&copied.stdout).starts_with("1 keys copied, 0 refused"), "{copied:?}");
    assert_refused(&copied, 4, &left_out);
    let dumped = run(["dump", "--from", &from]);
    assert_eq!(String::from_utf8_lossy(&dumped.stdout), "zero\t0\n");
    assert_refused(&dumped, 4, &left_out);
    // A part of the keys is what was asked for.
    assert_eq!(stdout_of(run(["dump", "--from", &from, "--prefix", "zero"])), b"zero\t0\n");

    let [third, into] = [&from, &to].map(|address| format!("redis://{address}/3"));
    let copied = run(["copy", "--from", &third, "--to", &into]);
    assert_refused(&copied, 4, &["only database 3", "2 keys in other databases (0, 12)"]);
    assert_eq!(stdout_of(run(["dump", "--from", &into, "--prefix", ""])), b"a\t3\nb\t3\n");
    assert_eq!(stdout_of(run(["count", "--from", &into])), b"2\n");
    let mut target = Client::connect(&to).unwrap();
    assert_eq!(target.call(&[b"DBSIZE"]).unwrap(), Reply::Integer(1));
    let none = run(["dump", "--from", &format!("redis://{from}/16")]);
    assert_refused(&none, 1, &["DB index is out of range"]);
}
