//! A server with TLS: data in both directions, access by certificate, and rejected files.

mod files;

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::common::{PATIENCE, TestServer, encode, options, reply_len, start_with};
use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use skein_server::{Server, ServerOptions, Tls, TlsClients};
use skein_store::{Durability, Store, StoreOptions};

/// A certificate authority.
struct TestAuthority {
    cert: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key.
struct TestCertificate {
    cert: Certificate,
    key: KeyPair,
}

impl TestAuthority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self { cert: params.self_signed(&key).expect("a certificate"), issuer: Issuer::new(params, key) }
    }

    fn sign(&self, years: (i32, i32)) -> TestCertificate {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        params.not_before = date_time_ymd(years.0, 1, 1);
        params.not_after = date_time_ymd(years.1, 1, 1);
        let key = KeyPair::generate().expect("a key");
        TestCertificate { cert: params.signed_by(&key, &self.issuer).expect("a certificate"), key }
    }

    fn good(&self) -> TestCertificate {
        self.sign((2000, 4000))
    }
}

/// Writes the files of a server. `authority` signs its certificate and the clients' certificates.
fn files(folder: &Path, authority: &TestAuthority, clients: TlsClients) -> Tls {
    let write = |name: &str, text: &str| -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, text).expect("a file");
        path
    };
    let shown = authority.good();
    Tls {
        listen: ([127, 0, 0, 1], 0).into(),
        cert: write("cert.pem", &shown.cert.pem()),
        key: write("key.pem", &shown.key.serialize_pem()),
        ca: Some(write("ca.pem", &authority.cert.pem())),
        clients,
    }
}

fn start(authority: &TestAuthority, clients: TlsClients) -> TestServer {
    let folder = tempfile::tempdir().expect("a folder");
    let tls = Some(files(folder.path(), authority, clients));
    start_with(ServerOptions { tls, ..options() }, Durability::Buffered)
}

fn port(server: &TestServer) -> TcpStream {
    let address = server.server.as_ref().and_then(skein_server::Server::tls_addr).expect("it speaks TLS");
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// A client that uses TLS.
struct TlsTestClient {
    stream: StreamOwned<ClientConnection, TcpStream>,
    buffer: Vec<u8>,
}

impl TlsTestClient {
    /// Returns a client that trusts `authority` and presents a certificate, if it has one.
    fn new(server: &TestServer, authority: &TestAuthority, shown: Option<&TestCertificate>) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(authority.cert.der().clone()).expect("a root");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.expect("versions").with_root_certificates(roots);
        let config = match shown {
            None => config.with_no_client_auth(),
            Some(shown) => {
                let key = PrivateKeyDer::try_from(shown.key.serialize_der()).expect("a key");
                config.with_client_auth_cert(vec![shown.cert.der().clone()], key).expect("a certificate")
            }
        };
        let name = ServerName::try_from("localhost").expect("a name");
        let session = ClientConnection::new(Arc::new(config), name).expect("a session");
        Self { stream: StreamOwned::new(session, port(server)), buffer: Vec::new() }
    }

    fn try_reply(&mut self) -> std::io::Result<Vec<u8>> {
        let mut piece = vec![0; 64 << 10];
        loop {
            if let Some(len) = (!self.buffer.is_empty()).then(|| reply_len(&self.buffer)).flatten() {
                return Ok(self.buffer.drain(..len).collect());
            }
            match self.stream.read(&mut piece)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => self.buffer.extend_from_slice(&piece[..count]),
            }
        }
    }

    fn try_ask(&mut self, words: &str) -> std::io::Result<String> {
        let args: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        self.stream.write_all(&encode(&args))?;
        self.try_reply().map(|reply| crate::common::show(&reply))
    }

    fn ask(&mut self, words: &str) -> String {
        self.try_ask(words).expect("a reply")
    }
}

#[test]
fn tls_port_serves_the_same_commands() {
    let authority = TestAuthority::new();
    let server = start(&authority, TlsClients::No);
    let mut client = TlsTestClient::new(&server, &authority, None);
    assert_eq!(client.ask("SET k v"), "+OK|");
    assert_eq!(server.connect().ask("GET k"), "$1|v|");
    let port = client.stream.sock.peer_addr().expect("an address").port();
    assert!(client.ask("CLIENT INFO").contains(&format!("laddr=127.0.0.1:{port} ")));
    assert_eq!(
        client.ask("CONFIG GET tls-port"),
        format!("*2|$8|tls-port|${}|{port}|", port.to_string().len())
    );
    assert_eq!(client.ask("CONFIG GET tls-auth-clients"), "*2|$16|tls-auth-clients|$2|no|");
    // The reply is followed by a close_notify.
    assert_eq!(client.ask("QUIT"), "+OK|");
    assert_eq!(client.stream.read(&mut [0; 8]).expect("a close_notify before the end"), 0);
    server.stop();
}

/// Far more than the buffers of the connection and of the session hold, in both directions, to a
/// client that reads late.
#[test]
fn large_values_pass_both_ways() {
    let authority = TestAuthority::new();
    let server = start(&authority, TlsClients::No);
    let mut client = TlsTestClient::new(&server, &authority, None);
    let value: Vec<u8> = (0..3_000_000_u32).map(|n| (n.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
    client.stream.write_all(&encode(&[b"SET", b"large", &value])).expect("to send");
    assert_eq!(client.try_reply().expect("a reply"), b"+OK\r\n");
    for _ in 0..10 {
        client.stream.write_all(&encode(&[b"GET", b"large"])).expect("to send");
    }
    client.stream.write_all(&b"PING\r\n".repeat(1000)).expect("to send");
    // Other clients are served meanwhile.
    assert_eq!(server.connect().ask("PING"), "+PONG|");
    let expected = [format!("${}\r\n", value.len()).as_bytes(), &value, b"\r\n"].concat();
    for _ in 0..10 {
        assert!(client.try_reply().expect("a reply") == expected, "the value changed in transit");
    }
    for _ in 0..1000 {
        assert_eq!(client.try_reply().expect("a reply"), b"+PONG\r\n");
    }
    // A stop sends the requested replies to the last byte.
    client.stream.write_all(&encode(&[b"GET", b"large"])).expect("to send");
    client.stream.write_all(&encode(&[b"SHUTDOWN"])).expect("to send");
    assert!(client.try_reply().expect("a reply") == expected, "the value was cut short");
    server.stop();
}

/// Incident: the end was read together with the last bytes, and then ignored. Consequence: the
/// connection stayed open for ever.
#[test]
fn tls_half_close_is_answered_before_the_close() {
    let authority = TestAuthority::new();
    let server = start(&authority, TlsClients::No);
    for ends_socket in [false, true] {
        let mut client = TlsTestClient::new(&server, &authority, None);
        assert_eq!(client.ask("PING"), "+PONG|");
        let StreamOwned { conn, sock } = &mut client.stream;
        conn.writer().write_all(b"PING\r\n").expect("to send");
        conn.send_close_notify();
        let mut bytes = Vec::new();
        conn.write_tls(&mut bytes).expect("bytes to send");
        sock.write_all(&bytes).expect("to send");
        if ends_socket {
            sock.shutdown(Shutdown::Write).expect("to end");
        }
        assert_eq!(client.try_reply().expect("a reply"), b"+PONG\r\n");
        assert_eq!(client.stream.read(&mut [0; 8]).expect("a close_notify before the end"), 0);
    }
    server.stop();
}

/// Access for each setting of client certificates: without a certificate, with a good one, with one
/// of another authority, an expired one, and one that is not valid yet.
#[test]
fn certificates_of_clients_decide_who_gets_in() {
    let (authority, other) = (TestAuthority::new(), TestAuthority::new());
    let shown = [
        ("none", None),
        ("good", Some(authority.good())),
        ("wrong", Some(other.good())),
        ("expired", Some(authority.sign((2000, 2001)))),
        ("early", Some(authority.sign((3000, 4000)))),
    ];
    for (clients, welcome) in [
        (TlsClients::No, &["none", "good", "wrong", "expired", "early"][..]),
        (TlsClients::Optional, &["none", "good"]),
        (TlsClients::Required, &["good"]),
    ] {
        let server = start(&authority, clients);
        for (name, shown) in &shown {
            let answer = TlsTestClient::new(&server, &authority, shown.as_ref()).try_ask("PING");
            let got_in = answer.as_ref().is_ok_and(|answer| answer == "+PONG|");
            assert_eq!(got_in, welcome.contains(name), "{clients:?}, {name}: {answer:?}");
        }
        // The rejected connections left nothing behind.
        let list = server.connect().ask("CLIENT LIST");
        assert!(list.matches("id=").count() <= 2, "{list}");
        server.stop();
    }
}

/// A client rejects a server with a certificate that another authority has signed, or that has
/// expired.
#[test]
fn clients_reject_an_untrusted_server() {
    let (authority, other) = (TestAuthority::new(), TestAuthority::new());
    let server = start(&authority, TlsClients::No);
    let refused = TlsTestClient::new(&server, &other, None).try_ask("PING").expect_err("a foreign authority");
    assert!(refused.to_string().starts_with("invalid peer certificate"), "{refused}");
    server.stop();

    let folder = tempfile::tempdir().expect("a folder");
    let tls = files(folder.path(), &authority, TlsClients::No);
    let expired = authority.sign((2000, 2001));
    fs::write(&tls.cert, expired.cert.pem()).expect("a file");
    fs::write(&tls.key, expired.key.serialize_pem()).expect("a file");
    let server = start_with(ServerOptions { tls: Some(tls), ..options() }, Durability::Buffered);
    let refused =
        TlsTestClient::new(&server, &authority, None).try_ask("PING").expect_err("an expired certificate");
    assert!(refused.to_string().contains("expired"), "{refused}");
    server.stop();
}

/// Connections that do not use TLS, or only a part of it, or stop in the middle, are closed. The
/// server continues and can be stopped.
#[test]
fn clients_without_tls_are_disconnected() {
    let authority = TestAuthority::new();
    let server = start(&authority, TlsClients::No);
    for bytes in [
        &b"PING\r\n"[..],
        b"*1\r\n$4\r\nPING\r\n",
        &[0xff; 5000],
        b"\x16\x03\x01\x00\x05hello",
        b"\x15\x03\x03\x00\x02\x02\x28",
    ] {
        let mut stream = port(&server);
        stream.write_all(bytes).expect("to send");
        let mut heard = Vec::new();
        // The server sends an alert or resets the connection.
        let _ = stream.read_to_end(&mut heard);
        assert!(!heard.starts_with(b"+PONG") && heard.len() < 100, "{heard:?}");
    }
    // The plain port receives bytes that are not a request.
    let mut plain = server.connect();
    plain.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03");
    plain.stream.shutdown(Shutdown::Write).expect("to end");
    assert_ne!(plain.try_reply().unwrap_or_default(), b"+PONG\r\n");
    // A request that is cut off does not run.
    let mut client = TlsTestClient::new(&server, &authority, None);
    assert_eq!(client.ask("SET k v"), "+OK|");
    client.stream.write_all(b"*2\r\n$3\r\nDEL\r\n$1\r\nk").expect("to send");
    client.stream.sock.shutdown(Shutdown::Both).expect("to end");
    // This handshake never continues.
    let mut half = port(&server);
    half.write_all(b"\x16\x03\x01").expect("to send");
    assert_eq!(server.connect().ask("GET k"), "$1|v|");
    server.stop();
}

/// Incident: while the data was loading, connections had no time limit. Consequence: silent clients
/// and half-open handshakes held their slots for minutes, up to `maxclients`. Fix: the timeouts
/// apply from the start.
#[test]
fn timeouts_apply_while_loading() {
    let authority = TestAuthority::new();
    let folder = tempfile::tempdir().expect("a folder");
    let more = ServerOptions {
        tls: Some(files(folder.path(), &authority, TlsClients::No)),
        tls_handshake_timeout: Duration::from_secs(1),
        idle_timeout: Duration::from_secs(1),
        ..options()
    };
    let bound = Server::bind(more, Arc::default()).expect("it listens").answer_loading().expect("it answers");
    let port = bound.tls_addr().expect("a port");
    for (address, begun) in [(port, &b""[..]), (port, b"\x16\x03\x01"), (bound.local_addr(), b"")] {
        let mut silent = TcpStream::connect(address).expect("a connection");
        silent.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        silent.write_all(begun).expect("to send");
        assert_eq!(silent.read(&mut [0; 8]).expect("the end"), 0, "{begun:?}");
    }
}

/// Incident: the commands that run while the data is loading were a list of their own beside the
/// table of commands. Consequence: libraries that name themselves or select a database when they
/// connect were rejected, though neither needs data.
#[test]
fn commands_without_data_run_while_loading() {
    let folder = tempfile::tempdir().expect("a folder");
    let bound =
        Server::bind(options(), Arc::default()).expect("it listens").answer_loading().expect("it answers");
    let stream = TcpStream::connect(bound.local_addr()).expect("a connection");
    let mut early = crate::common::TestClient::new(stream);
    assert!(early.ask("CLIENT ID").starts_with(':'));
    for (request, reply) in [
        ("CLIENT SETNAME early", "+OK|"),
        ("CLIENT SETINFO lib-name mine", "+OK|"),
        ("CLIENT GETNAME", "$5|early|"),
        ("CLIENT NO-EVICT on", "+OK|"),
        ("SELECT 0", "+OK|"),
        ("SELECT 16", "-ERR DB index is out of range|"),
        ("ECHO x", "$1|x|"),
    ] {
        assert_eq!(early.ask(request), reply, "{request}");
    }
    assert!(early.ask("TIME").starts_with("*2|"));
    assert!(early.ask("COMMAND COUNT").starts_with(':'));
    assert!(early.ask("COMMAND INFO get").starts_with("*1|*10|$3|get|"));
    for request in ["PING", "GET k", "CLIENT LIST", "CLIENT KILL ID 1", "CONFIG GET *", "DBSIZE", "MULTI"] {
        let reply = early.ask(request);
        assert!(
            reply.starts_with("-LOADING SkeinDB is loading the dataset in memory: "),
            "{request}: {reply}"
        );
    }
    let store = Store::open(folder.path().join("data"), StoreOptions::default()).expect("a store");
    let server = bound.serve(store.clone()).expect("it serves");
    assert_eq!(early.ask("PING"), "+PONG|");
    assert_eq!(early.ask("CLIENT GETNAME"), "$5|early|");
    server.handle().shutdown();
    assert!(server.wait().failed_threads.is_empty());
    store.close().expect("closed");
}

/// Incident: half-open connections stayed as long as silent ones may: for ever, by default.
#[test]
fn unfinished_handshakes_time_out() {
    let authority = TestAuthority::new();
    let folder = tempfile::tempdir().expect("a folder");
    let tls = Some(files(folder.path(), &authority, TlsClients::No));
    let tls_handshake_timeout = Duration::from_secs(1);
    let server = start_with(ServerOptions { tls, tls_handshake_timeout, ..options() }, Durability::Buffered);
    let mut client = TlsTestClient::new(&server, &authority, None);
    assert_eq!(client.ask("PING"), "+PONG|");
    let mut plain = server.connect();
    for begun in [&b""[..], b"\x16\x03\x01"] {
        let mut half = port(&server);
        half.write_all(begun).expect("to send");
        assert_eq!(half.read(&mut [0; 8]).expect("the end"), 0, "{begun:?}");
    }
    // Connections after their handshake, and plain ones, stay.
    assert_eq!((client.ask("PING"), plain.ask("PING")), ("+PONG|".to_owned(), "+PONG|".to_owned()));
    let name = "tls-handshake-timeout";
    assert_eq!(plain.ask(&format!("CONFIG GET {name}")), format!("*2|$21|{name}|$1|1|"));
    assert_eq!(plain.ask(&format!("CONFIG SET {name} 0")), "+OK|");
    server.stop();
}
