//! A server that also listens on a Unix socket: the same commands, permissions of the file, and
//! existing files.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use crate::common::{PATIENCE, TestServer, options, start_with};
use skein_server::{Server, ServerOptions, UnixSocket};
use skein_store::{Durability, Store, StoreOptions};

fn options_with(path: &Path, mode: u32) -> ServerOptions {
    ServerOptions { unix_socket: Some(UnixSocket { path: path.to_owned(), mode }), ..options() }
}

fn start(path: &Path, mode: u32) -> TestServer {
    start_with(options_with(path, mode), Durability::Buffered)
}

/// Returns the server's reply to these words.
fn ask(stream: &mut UnixStream, words: &str) -> String {
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(format!("{words}\r\nECHO the-end\r\n").as_bytes()).expect("to send");
    let mut text = Vec::new();
    let mut piece = [0; 1000];
    while !text.ends_with(b"$7\r\nthe-end\r\n") {
        let count = stream.read(&mut piece).expect("a reply");
        assert!(count > 0, "closed after {}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&piece[..count]);
    }
    text.truncate(text.len() - 13);
    String::from_utf8(text).expect("text").replace("\r\n", "|")
}

#[test]
fn unix_socket_serves_the_same_commands() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("skein.sock");
    let server = start(&path, 0o640);
    assert_eq!(path.metadata().expect("a socket").permissions().mode() & 0o777, 0o640);
    let mut here = UnixStream::connect(&path).expect("a connection");
    assert_eq!(ask(&mut here, "SET k v"), "+OK|");
    let mut there = server.connect();
    assert_eq!(there.ask("GET k"), "$1|v|");
    // Redis shows such a client in the same way.
    let name = path.display();
    let list = ask(&mut here, "CLIENT INFO");
    assert!(
        list.contains(&format!(" addr={name}:0 laddr={name}:0 ")) && list.contains(" flags=U "),
        "{list}"
    );
    let told = there.ask("CONFIG GET unixsocket*");
    let len = path.as_os_str().len();
    assert_eq!(told, format!("*4|$10|unixsocket|${len}|{name}|$14|unixsocketperm|$3|640|"));
    assert_eq!(there.ask(&format!("CLIENT KILL ADDR {name}:0")), ":1|");
    assert_eq!(here.read(&mut [0; 10]).unwrap_or(0), 0, "it was disconnected");
    server.stop();
    assert!(!path.exists(), "the socket file is left behind");
}

#[test]
fn stale_socket_is_replaced_but_no_other_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("skein.sock");
    drop(UnixListener::bind(&path).expect("a socket"));
    let server = start(&path, 0o700);
    let store = Store::open(folder.path().join("data"), StoreOptions::default()).expect("a store");
    let refusal = |path: &Path| {
        let failed = Server::start(store.clone(), options_with(path, 0o700));
        failed.expect_err("the path is rejected").to_string()
    };
    assert_eq!(
        refusal(&path),
        format!(
            "cannot listen on {}: another server listens on it; choose another path, or stop the program that uses it",
            path.display()
        )
    );
    let file = folder.path().join("file");
    std::fs::write(&file, "precious").expect("a file");
    assert!(refusal(&file).contains("there is a file that is not a socket"), "{}", refusal(&file));
    assert_eq!(std::fs::read(&file).expect("the file"), b"precious");
    assert!(refusal(&folder.path().join("no/folder")).contains("No such file"));
    assert_eq!(ask(&mut UnixStream::connect(&path).expect("a connection"), "PING"), "+PONG|");
    drop(server);
    store.close().expect("to close");
}
