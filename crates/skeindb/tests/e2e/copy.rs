//! `skein copy`: what a server holds, in another one.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use crate::common::{PATIENCE, Server, assert_refused, run, stdout_of};
use skeindb::client::{Client, Reply};

/// A real Redis, which ends with the value.
struct Redis {
    child: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl Redis {
    /// `None` if tests with a Redis are to be left out.
    fn start() -> Option<Self> {
        if std::env::var("SKEIN_TEST_REDIS").is_ok_and(|value| value == "none") {
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap();
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", "", "--dir"])
            .arg(folder.path())
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

impl Drop for Redis {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Many strings, a hash and a sorted set of several pieces, awkward bytes, and times.
fn fill(address: &str) {
    let mut client = Client::connect(address).unwrap();
    let mut commands: Vec<Vec<Vec<u8>>> = Vec::new();
    let mut command = |words: &[&[u8]]| commands.push(words.iter().map(|word| word.to_vec()).collect());
    for n in 0..2500u32 {
        let text = n.to_string();
        command(&[b"SET", format!("string:{n}").as_bytes(), text.as_bytes()]);
        command(&[b"HSET", b"hash", format!("field:{n}").as_bytes(), text.as_bytes()]);
        command(&[b"ZADD", b"sorted", format!("{}.5", n % 100).as_bytes(), text.as_bytes()]);
    }
    command(&[b"SET", b"\0\r\n\xff", b"\r\n\0"]);
    command(&[b"SET", b"brief", b"x", b"PX", b"10000000"]);
    command(&[b"HSET", b"brief hash", b"f", b"v"]);
    command(&[b"PEXPIRE", b"brief hash", b"10000000"]);
    for reply in client.pipeline(&commands).unwrap() {
        assert!(!matches!(reply, Reply::Error(_)), "{reply}");
    }
}

/// What both answer to these.
fn assert_same(from: &str, to: &str) {
    let mut clients = [from, to].map(|address| Client::connect(address).unwrap());
    let asked: [&[&[u8]]; 7] = [
        &[b"DBSIZE"],
        &[b"GET", b"\0\r\n\xff"],
        &[b"GET", b"string:1234"],
        &[b"HLEN", b"hash"],
        &[b"HGET", b"hash", b"field:2499"],
        &[b"ZRANGE", b"sorted", b"0", b"-1", b"WITHSCORES"],
        &[b"TYPE", b"brief hash"],
    ];
    for command in asked {
        let [theirs, ours] = clients.each_mut().map(|client| client.call(command).unwrap());
        assert_eq!(theirs, ours, "{}", command[0].escape_ascii());
    }
    for key in [&b"brief"[..], b"brief hash"] {
        let Reply::Integer(left) = clients[1].call(&[b"PTTL", key]).unwrap() else { panic!("no time") };
        assert!((1_000_000..=10_000_000).contains(&left), "{left} ms");
    }
}

#[test]
fn everything_but_lists_comes_over_from_redis() {
    let Some(redis) = Redis::start() else { return };
    fill(&redis.address);
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    // Of an earlier try: it is replaced, and not added to.
    let mut client = Client::connect(&server.address).unwrap();
    client.call(&[b"HSET", b"hash", b"old", b"1"]).unwrap();
    let copied = run(["copy", "--from", &redis.address, "--to", &server.address]);
    let said = String::from_utf8(stdout_of(copied)).unwrap();
    assert!(said.starts_with("2505 keys copied, 0 refused"), "{said}");
    assert_same(&redis.address, &server.address);

    let mut theirs = Client::connect(&redis.address).unwrap();
    theirs.call(&[b"RPUSH", b"a list", b"x"]).unwrap();
    let partly = run(["copy", "--from", &redis.address, "--to", &server.address, "--pattern", "a*"]);
    assert_refused(&partly, 4, &["not copied: \"a list\", a list"]);
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let output = run(["copy", "--from", "127.0.0.1:1"]);
    assert_refused(&output, 1, &["cannot connect to 127.0.0.1:1"]);
}
