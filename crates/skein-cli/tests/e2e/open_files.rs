//! A server with a limit on open files: clients must never take the descriptors of logs and
//! checkpoints.

use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, SkeinServe, assert_refused};
use skeindb::client::{Client, Reply};

/// Returns a server that may have this many open files.
fn limited(files: usize, folder: &std::path::Path) -> Command {
    let mut command = Command::new("sh");
    let script = format!("ulimit -n {files}; exec \"$@\"");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_skein"), "serve", "--listen", "127.0.0.1:0"]);
    command.args(["--workers", "2", "--log-segment-size", "1m", "--data"]).arg(folder);
    command
}

fn clients_max(client: &mut Client) -> usize {
    let told = client.call(&[b"CONFIG", b"GET", b"maxclients"]).unwrap().into_array().expect("a pair");
    String::from_utf8_lossy(told[1].bytes().expect("a text")).parse().expect("a number")
}

/// Repeats a request while it is rejected.
fn until_done(what: &str, mut ask: impl FnMut() -> Reply) {
    let since = Instant::now();
    loop {
        match ask() {
            Reply::Error(why) => assert!(since.elapsed() < PATIENCE, "{what}: {why:?}"),
            reply => return assert_eq!(reply, Reply::ok(), "{what}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Incident: connections that never logged in took all descriptors, and the next log segment had
/// none. Consequence: writes stopped for good, and acknowledged ones at `buffered` were missing
/// after a restart. Fix: descriptors are reserved, and `maxclients` is the number that the limit
/// leaves room for.
#[test]
fn idle_connections_stop_no_writes() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::launch(limited(256, folder.path())).expect("the server starts");
    let mut client = server.client();
    let most = clients_max(&mut client);
    assert!((50..226).contains(&most), "{most}");
    let more = client.call(&[b"CONFIG", b"SET", b"maxclients", b"10000"]).unwrap();
    let why = format!(
        "The operating system is not able to handle the specified number of clients, try with {most}"
    );
    assert!(matches!(&more, Reply::Error(text) if format!("{text:?}").contains(&why)), "{more:?}");
    assert_eq!(clients_max(&mut client), most);
    let fewer = (most - 1).to_string();
    assert_eq!(client.call(&[b"CONFIG", b"SET", b"maxclients", fewer.as_bytes()]).unwrap(), Reply::ok());
    assert_eq!(
        client.call(&[b"CONFIG", b"SET", b"maxclients", most.to_string().as_bytes()]).unwrap(),
        Reply::ok()
    );

    let idle: Vec<TcpStream> =
        (0..300).map(|_| TcpStream::connect(&server.address).expect("a connection")).collect();
    let value = vec![b'v'; 100_000];
    for n in 0..200_u32 {
        let key = format!("k{n:03}");
        assert_eq!(client.call(&[b"SET", key.as_bytes(), &value]).unwrap(), Reply::ok(), "{key}");
    }
    assert_eq!(client.call(&[b"SAVE"]).unwrap(), Reply::ok());
    assert_eq!(client.call(&[b"SET", b"last", b"v"]).unwrap(), Reply::ok());
    drop(idle);
    server.stop();
    let server = SkeinServe::start(folder.path(), &[]);
    assert_eq!(server.client().call(&[b"DBSIZE"]).unwrap(), Reply::Integer(201));
    server.stop();
}

#[test]
fn a_limit_without_room_for_clients_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let said = SkeinServe::launch(limited(40, folder.path())).expect_err("it does not start");
    assert_refused(&said, 1, &["the limit on open files is 40", "raise the limit (ulimit -n) above "]);
}

/// Nobody had tried a server that cannot accept for lack of a descriptor. Nothing wakes the
/// acceptor again for clients that already wait, so it must retry by itself. It does: the clients
/// are accepted when a descriptor is free, and rejected writes succeed again.
#[test]
fn waiting_clients_are_accepted_when_a_descriptor_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::launch(limited(256, folder.path())).expect("the server starts");
    let mut client = server.client();
    assert_eq!(client.call(&[b"SET", b"first", b"v"]).unwrap(), Reply::ok());
    let open = || std::fs::read_dir(format!("/proc/{}/fd", server.process())).expect("its files").count();
    let limit = open() + 10;
    server.limit_open_files(limit);
    let idle: Vec<TcpStream> =
        (0..40).map(|_| TcpStream::connect(&server.address).expect("a connection")).collect();
    let since = Instant::now();
    while open() < limit {
        assert!(since.elapsed() < PATIENCE, "{} of {limit} files", open());
        std::thread::sleep(Duration::from_millis(10));
    }
    // Connected clients are served. A log segment without a descriptor stops writes, and the reply
    // says so.
    let value = vec![b'v'; 100_000];
    let keys: Vec<String> = (0..40).map(|n| format!("k{n:03}")).collect();
    let put = |client: &mut Client, key: &str| client.call(&[b"SET", key.as_bytes(), &value]).unwrap();
    let mut written = 0;
    while written < keys.len() {
        match put(&mut client, &keys[written]) {
            Reply::Error(why) => {
                let why = format!("{why:?}");
                assert!(why.contains("MISCONF") && why.contains("Too many open files"), "{why}");
                break;
            }
            reply => assert_eq!(reply, Reply::ok(), "{}", keys[written]),
        }
        written += 1;
    }
    let late = std::thread::spawn({
        let address = server.address.clone();
        move || {
            let mut late = Client::connect(&address).expect("a connection");
            late.set_timeout(Some(PATIENCE)).expect("a timeout");
            late.call(&[b"PING"]).expect("a reply")
        }
    });
    assert_eq!(client.call(&[b"GET", b"first"]).unwrap(), Reply::Bulk(b"v".to_vec()));
    drop(idle);
    assert_eq!(late.join().expect("a reply"), Reply::Simple("PONG".into()));
    // Writes succeed again by themselves. Clients that waited and disconnected may hold descriptors
    // for another moment.
    for key in &keys[written..] {
        until_done(key, || put(&mut client, key));
    }
    until_done("SAVE", || client.call(&[b"SAVE"]).unwrap());
    until_done("last", || client.call(&[b"SET", b"last", b"v"]).unwrap());
    server.stop();
    let server = SkeinServe::start(folder.path(), &[]);
    assert_eq!(server.client().call(&[b"DBSIZE"]).unwrap(), Reply::Integer(42));
    server.stop();
}
