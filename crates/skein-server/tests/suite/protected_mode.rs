//! A server that other machines can reach, after its default user has lost its password: only
//! clients of its own machine may connect.

use std::net::{SocketAddr, TcpStream, UdpSocket};

use crate::common::{TestClient, TestServer, options, start_with};
use skein_server::ServerOptions;
use skein_store::Durability;

const DENIED: &str = "-DENIED the default user has no password, so only clients on this machine are accepted; set a password from there with CONFIG SET requirepass|";
const NO_AUTH: &str = "-NOAUTH Authentication required.|";

fn start() -> TestServer {
    let listen = ([0, 0, 0, 0], 0).into();
    start_with(ServerOptions { listen, password: Some(b"pw".to_vec()), ..options() }, Durability::Buffered)
}

/// Returns the address at which other machines would reach this one, if there is one. Sends nothing
/// to find it.
fn outside() -> Option<std::net::IpAddr> {
    let socket = UdpSocket::bind(("0.0.0.0", 0)).ok()?;
    socket.connect(("198.51.100.1", 9)).ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|ip| !ip.is_loopback())
}

fn connect(ip: std::net::IpAddr, server: &TestServer) -> TestClient {
    let address = SocketAddr::new(ip, server.address.port());
    TestClient::new(TcpStream::connect(address).expect("a connection"))
}

/// Incident: the server admitted every client as soon as the password was removed.
#[test]
fn without_a_password_outside_clients_are_rejected() {
    let server = start();
    let here = std::net::IpAddr::from([127, 0, 0, 1]);
    let mut admin = connect(here, &server);
    assert_eq!(admin.ask("PING"), NO_AUTH);
    assert_eq!(admin.ask("AUTH pw"), "+OK|");
    let Some(outside) = outside() else {
        eprintln!("this machine has no address for other machines: the test tries only its own clients");
        assert_eq!(admin.ask("ACL SETUSER default nopass"), "+OK|");
        assert_eq!(connect(here, &server).ask("PING"), "+PONG|");
        return;
    };
    for opens in ["CONFIG SET requirepass ", "ACL SETUSER default nopass"] {
        // A client that logged in with the password stays connected. A client that did not still
        // cannot run anything.
        let (mut known, mut stranger) = (connect(outside, &server), connect(outside, &server));
        assert_eq!((known.ask("AUTH pw"), stranger.ask("PING")), ("+OK|".to_owned(), NO_AUTH.to_owned()));
        assert_eq!(admin.ask(opens), "+OK|", "{opens}");
        assert_eq!((known.ask("PING"), stranger.ask("PING")), ("+PONG|".to_owned(), NO_AUTH.to_owned()));
        for words in ["AUTH pw", "AUTH x", "AUTH default x", "HELLO 3 AUTH default x"] {
            let refused = stranger.ask(words);
            assert!(
                refused.starts_with("-WRONGPASS") || refused.starts_with("-ERR AUTH"),
                "{words}: {refused}"
            );
        }
        assert_eq!(
            (stranger.ask("RESET"), stranger.ask("GET k")),
            ("+RESET|".to_owned(), NO_AUTH.to_owned())
        );
        let mut late = connect(outside, &server);
        assert_eq!(crate::common::show(&late.reply()), DENIED);
        assert_eq!(late.try_reply(), None);
        assert_eq!(connect(here, &server).ask("PING"), "+PONG|");
        // New connections from outside are admitted again once there is a password. Without one
        // they are rejected, so a named user with its own password could not log in either.
        assert_eq!(admin.ask("CONFIG SET requirepass pw"), "+OK|");
        let mut again = connect(outside, &server);
        assert_eq!((again.ask("PING"), again.ask("AUTH pw")), (NO_AUTH.to_owned(), "+OK|".to_owned()));
        assert_eq!(again.ask("PING"), "+PONG|");
    }
    assert!(admin.ask("INFO stats").contains("|rejected_connections:2|"));
    server.stop();
}
