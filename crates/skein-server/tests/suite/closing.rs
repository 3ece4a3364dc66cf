//! How connections end: the server notices an end that arrives together with the last bytes, over
//! each kind of socket. (TLS: see `tls`.)

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::common::{PATIENCE, TestServer, options, show, start_with, wait_for};
use skein_server::{ServerOptions, UnixSocket};
use skein_store::Durability;

/// Starts a server with one worker, which the test can put to sleep.
fn start(more: ServerOptions) -> TestServer {
    start_with(ServerOptions { workers: 1, debug_command: true, ..more }, Durability::Buffered)
}

/// Runs `meanwhile` while the only worker sleeps, so that everything arrives at the worker as one
/// event.
fn asleep(server: &TestServer, meanwhile: impl FnOnce()) {
    let mut other = server.connect();
    other.send(b"DEBUG SLEEP 0.3\r\n");
    std::thread::sleep(Duration::from_millis(100));
    meanwhile();
    assert_eq!(other.reply(), b"+OK\r\n");
}

/// Incident: the worker got data and end as one event, and read less than its buffer had room for.
/// It then waited for an event that had already been delivered. Consequence: the connection stayed
/// open for ever.
#[test]
fn tcp_half_close_is_answered_before_the_close() {
    let server = start(options());
    for requests in [&b"PING\r\n"[..], b"PING\r\n*2\r\n$3\r\nGET\r\n"] {
        let mut client = server.connect();
        assert_eq!(client.ask("PING"), "+PONG|");
        asleep(&server, || {
            client.send(requests);
            client.stream.shutdown(Shutdown::Write).expect("to end");
        });
        assert_eq!(client.reply(), b"+PONG\r\n");
        assert_eq!(client.try_reply(), None, "the connection is still open");
    }
    // The connections that put the worker to sleep may take a moment to close.
    let mut admin = server.connect();
    wait_for(|| admin.ask("CLIENT LIST").matches("id=").count() == 1);
    drop(admin);
    server.stop();
}

#[test]
fn unix_half_close_is_answered_before_the_close() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("skein.sock");
    let server = start(ServerOptions {
        unix_socket: Some(UnixSocket { path: path.clone(), mode: 0o600 }),
        ..options()
    });
    let mut client = UnixStream::connect(&path).expect("a connection");
    client.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let mut reply = [0; 7];
    client.write_all(b"PING\r\n").expect("to send");
    client.read_exact(&mut reply).expect("a reply");
    asleep(&server, || {
        client.write_all(b"PING\r\n").expect("to send");
        client.shutdown(Shutdown::Write).expect("to end");
    });
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).expect("the end");
    assert_eq!(rest, b"+PONG\r\n");
    server.stop();
}

/// Incident: a client that had sent QUIT, and kept its socket open, was a client for half a second
/// more. Consequence: messages for it were lost, and its redirection was not reported as broken.
/// Fix: a client is forgotten before its connection lingers.
#[test]
fn a_client_that_quits_is_forgotten_before_its_socket_ends() {
    let server = start_with(options(), Durability::Buffered);
    let (mut leaves, mut stays) = (server.connect(), server.connect());
    let id = leaves.ask("CLIENT ID").trim_matches([':', '|']).to_owned();
    assert_eq!(stays.ask("HELLO 3").chars().next(), Some('%'));
    assert_eq!(stays.ask(&format!("CLIENT TRACKING ON REDIRECT {id}")), "+OK|");
    stays.ask("GET k");
    leaves.ask("SUBSCRIBE news __redis__:invalidate");
    leaves.reply();
    assert_eq!(stays.ask("PUBLISH news a"), ":1|");
    leaves.reply();
    assert_eq!(leaves.ask("QUIT"), "+OK|");
    assert_eq!(leaves.try_reply(), None);
    assert_eq!(stays.ask("PUBLISH news b"), ":0|");
    assert!(!stays.ask("CLIENT LIST").contains(&format!("id={id} ")));
    server.connect().ask("SET k v");
    assert_eq!(show(&stays.reply()), format!(">2|$21|tracking-redir-broken|:{id}|"));
}
