//! A server with TLS: data in both directions, access by certificate, and rejected files.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{PATIENCE, TestServer, encode, options, reply_len, start_with};
use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use skein_server::{OptionValue, OptionsFile, Server, ServerOptions, Tls, TlsClients};
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

/// Writes the files of a server whose certificate is signed by `authority`, which also signs the
/// clients' certificates.
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

/// Access for each setting of client certificates: without a certificate, with a good one, one of
/// another authority, an expired one, and one that is not valid yet.
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

/// A client rejects a server whose certificate is signed by another authority or has expired.
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

/// Renewing a certificate needs no restart.
#[test]
fn setting_certificates_reloads_them() {
    let (authority, other) = (TestAuthority::new(), TestAuthority::new());
    let folder = tempfile::tempdir().expect("a folder");
    let tls = files(folder.path(), &authority, TlsClients::Optional);
    let (cert, key, ca) = (tls.cert.clone(), tls.key.clone(), tls.ca.clone().expect("a file"));
    let server = start_with(ServerOptions { tls: Some(tls), ..options() }, Durability::Buffered);
    let knows = |authority: &TestAuthority, shown: Option<&TestCertificate>| {
        TlsTestClient::new(&server, authority, shown).try_ask("PING").is_ok_and(|answer| answer == "+PONG|")
    };
    let (mut admin, mut before) = (server.connect(), TlsTestClient::new(&server, &authority, None));
    assert_eq!(before.ask("PING"), "+PONG|");
    let set = |names: &[(&str, &Path)]| -> String {
        let words = names.iter().map(|(name, path)| format!(" {name} {}", path.display()));
        words.collect::<Vec<_>>().concat()
    };
    let refusal = |name: &str| {
        format!(
            "-ERR CONFIG SET failed (possibly related to argument '{name}') - Unable to update TLS configuration. Check server logs.|"
        )
    };
    // Another pair under other names: one half of it is rejected, together with everything else in
    // the request.
    let shown = other.good();
    let (cert2, key2) = (folder.path().join("cert2.pem"), folder.path().join("key2.pem"));
    fs::write(&cert2, shown.cert.pem()).expect("a file");
    fs::write(&key2, shown.key.serialize_pem()).expect("a file");
    let half = format!("CONFIG SET timeout 77{}", set(&[("tls-cert-file", &cert2)]));
    assert_eq!(admin.ask(&half), refusal("tls-cert-file"));
    let half = format!("CONFIG SET{}", set(&[("tls-key-file", &key2), ("tls-ca-cert-file", &ca)]));
    assert_eq!(admin.ask(&half), refusal("tls-key-file"));
    let absent = folder.path().join("absent.pem");
    assert_eq!(
        admin.ask(&format!("CONFIG SET{}", set(&[("tls-ca-cert-file", &absent)]))),
        refusal("tls-ca-cert-file")
    );
    assert_eq!(admin.ask("CONFIG GET timeout"), "*2|$7|timeout|$1|0|");
    assert!(knows(&authority, None) && !knows(&other, None));
    // Together the two are accepted. Existing connections stay.
    let both = format!("CONFIG SET{}", set(&[("tls-key-file", &key2), ("tls-cert-file", &cert2)]));
    assert_eq!(admin.ask(&both), "+OK|");
    assert!(!knows(&authority, None) && knows(&other, None));
    assert_eq!(before.ask("PING"), "+PONG|");
    assert!(admin.ask("CONFIG GET tls-cert-file").ends_with(&format!("|{}|", cert2.display())));
    // Back to the first names; then the files change, but not their names.
    assert_eq!(
        admin.ask(&format!("CONFIG SET{}", set(&[("tls-key-file", &key), ("tls-cert-file", &cert)]))),
        "+OK|"
    );
    fs::write(&cert, shown.cert.pem()).expect("a file");
    fs::write(&key, shown.key.serialize_pem()).expect("a file");
    assert!(knows(&authority, None), "the server has not reloaded the files yet");
    assert_eq!(admin.ask(&format!("CONFIG SET{}", set(&[("tls-cert-file", &cert)]))), "+OK|");
    assert!(knows(&other, None));
    // The trusted authority changes, too.
    let shown = (authority.good(), other.good());
    assert!(knows(&other, Some(&shown.0)) && !knows(&other, Some(&shown.1)));
    fs::write(&ca, other.cert.pem()).expect("a file");
    assert_eq!(admin.ask(&format!("CONFIG SET{}", set(&[("tls-ca-cert-file", &ca)]))), "+OK|");
    assert!(!knows(&other, Some(&shown.0)) && knows(&other, Some(&shown.1)));
    // Without a CA file, client certificates could not be requested.
    admin.send(&encode(&[b"CONFIG", b"SET", b"tls-ca-cert-file", b""]));
    assert_eq!(crate::common::show(&admin.reply()), refusal("tls-ca-cert-file"));
    server.stop();
    // Without a TLS port there is nothing to change.
    let server = crate::common::start();
    assert_eq!(
        server.connect().ask(&format!("CONFIG SET{}", set(&[("tls-cert-file", &cert)]))),
        "-ERR CONFIG SET failed (possibly related to argument 'tls-cert-file') - can't set immutable config|"
    );
}

/// A change to the TLS files of a server.
type TlsFileChange<'c> = &'c dyn Fn(&mut Tls);

#[test]
fn unusable_files_are_named() {
    let authority = TestAuthority::new();
    let folder = tempfile::tempdir().expect("a folder");
    let good = files(folder.path(), &authority, TlsClients::Required);
    let refusal = |change: TlsFileChange<'_>| {
        let mut tls = good.clone();
        change(&mut tls);
        let failed = ServerOptions { tls: Some(tls), ..options() }.check();
        failed.expect_err("it cannot be used").to_string()
    };
    let secret = "not a key but a secret";
    let strange = folder.path().join("strange.pem");
    fs::write(&strange, secret).expect("a file");
    let broken = folder.path().join("broken.pem");
    fs::write(&broken, format!("-----BEGIN PRIVATE KEY-----\n{secret}\n")).expect("a file");
    let other = folder.path().join("other.pem");
    fs::write(&other, KeyPair::generate().expect("a key").serialize_pem()).expect("a file");
    let absent = folder.path().join("absent.pem");
    let cases: [(TlsFileChange<'_>, &Path, &str); 7] = [
        (&|tls| tls.cert.clone_from(&absent), &absent, "No such file"),
        (&|tls| tls.cert.clone_from(&strange), &strange, "it contains no certificate"),
        (&|tls| tls.key.clone_from(&strange), &strange, "it contains no private key"),
        (&|tls| tls.key.clone_from(&broken), &broken, "it is not PEM"),
        (&|tls| tls.key.clone_from(&other), &good.cert, "KeyMismatch"),
        (&|tls| tls.ca = Some(strange.clone()), &strange, "it contains no certificate"),
        (&|tls| tls.ca = Some(absent.clone()), &absent, "No such file"),
    ];
    for (change, file, why) in cases {
        let message = refusal(change);
        assert!(message.starts_with(&format!("cannot use {} for TLS: ", file.display())), "{message}");
        assert!(message.contains(why) && !message.contains(secret), "{message}");
    }
    let message = refusal(&|tls| tls.ca = None);
    assert!(message.starts_with("option tls.clients needs the certificates"), "{message}");
    let open: std::net::SocketAddr = ([0, 0, 0, 0], 0).into();
    let message = refusal(&|tls| (tls.listen, tls.clients) = (open, TlsClients::Optional));
    assert!(message.contains("there is no password"), "{message}");
    let required = Tls { listen: open, ..good.clone() };
    ServerOptions { tls: Some(required), ..options() }
        .check()
        .expect("a required certificate replaces a password");
}

/// Incident: with `TlsClients::No` the CA file for clients' certificates was not read. Consequence:
/// a wrong file was found only when client certificates were first requested, at a restart, maybe
/// years later. Fix: each named file is read.
#[test]
fn ca_file_must_be_valid_even_without_client_certificates() {
    let authority = TestAuthority::new();
    let folder = tempfile::tempdir().expect("a folder");
    let tls = files(folder.path(), &authority, TlsClients::No);
    let ca = tls.ca.clone().expect("a file");
    let server = start_with(ServerOptions { tls: Some(tls.clone()), ..options() }, Durability::Buffered);
    fs::write(&ca, "no certificate").expect("a file");
    let refused = server.connect().ask(&format!("CONFIG SET tls-ca-cert-file {}", ca.display()));
    assert!(refused.contains("Unable to update TLS configuration"), "{refused}");
    let refused = ServerOptions { tls: Some(tls), ..options() }.check().expect_err("no certificate");
    assert!(refused.to_string().starts_with(&format!("cannot use {} for TLS: it contains no", ca.display())));
    server.stop();
}

/// Incident: the server waited for a FIFO in place of a file, and read a device without end.
/// Consequence: CONFIG SET blocked a worker for ever, or filled the memory. Fix: these files must
/// be regular, with at most 1 MiB.
#[test]
fn tls_files_must_be_regular_and_short() {
    const LIMIT: usize = 1 << 20;

    let authority = TestAuthority::new();
    let folder = tempfile::tempdir().expect("a folder");
    let good = files(folder.path(), &authority, TlsClients::Required);
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("it runs").success());
    let long = folder.path().join("long.pem");
    let mut text = authority.cert.pem().into_bytes();
    text.resize(LIMIT, b'\n');
    fs::write(&long, &text).expect("a file");
    let check = move |change: TlsFileChange<'_>| {
        let mut tls = good.clone();
        change(&mut tls);
        ServerOptions { tls: Some(tls), ..options() }.check()
    };
    check(&|tls| tls.ca = Some(long.clone())).expect("a file of the maximum length");
    fs::write(&long, [&text[..], b"\n"].concat()).expect("a file");
    let (says, said) = channel();
    let named = [fifo.clone(), folder.path().to_owned(), "/dev/zero".into(), long.clone()];
    std::thread::spawn(move || {
        for file in named {
            let (cert, key, ca) = (file.clone(), file.clone(), Some(file));
            let changes: [TlsFileChange<'_>; 3] =
                [&|tls| tls.cert.clone_from(&cert), &|tls| tls.key.clone_from(&key), &|tls| {
                    tls.ca.clone_from(&ca);
                }];
            let refused = changes.map(|change| check(change).expect_err("it cannot be used").to_string());
            says.send((cert, refused)).expect("the test hears");
        }
    });
    for _ in 0..4 {
        let (file, refused) = said.recv_timeout(Duration::from_secs(60)).expect("no file blocks the check");
        let why = if file == long {
            "it has 1048577 bytes; the limit is 1048576"
        } else {
            "it is not a regular file"
        };
        for message in refused {
            let file = file.display();
            assert!(
                message.starts_with(&format!("cannot use {file} for TLS: {why}; name a PEM file")),
                "{message}"
            );
        }
    }
}

/// An options file in memory.
#[derive(Debug, Default)]
struct MemoryOptionsFile(Mutex<Vec<(&'static str, OptionValue)>>);

impl OptionsFile for MemoryOptionsFile {
    fn rewrite(&self, options: &[(&'static str, OptionValue)]) -> Result<(), String> {
        *self.0.lock().expect("nobody panicked") = options.to_vec();
        Ok(())
    }
}

/// Incident: CONFIG REWRITE wrote the name of the CA file, but not whether clients must present a
/// certificate. Consequence: without that option a CA file alone requires a certificate of all
/// clients, so after a restart another rule applied. Fix: the current rule is written with the
/// file.
#[test]
fn rewrite_keeps_client_certificate_mode_with_the_ca_file() {
    let authority = TestAuthority::new();
    for (clients, rule, ca) in [
        (TlsClients::No, "no", "ca.pem"),
        (TlsClients::Optional, "optional", "ca.pem"),
        (TlsClients::Required, "yes", "ca.pem"),
        // Cleared, as in Redis.
        (TlsClients::No, "no", ""),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let tls = Some(files(folder.path(), &authority, clients));
        let kept = Arc::new(MemoryOptionsFile::default());
        let options_file: Option<Arc<dyn OptionsFile>> = Some(kept.clone());
        let server = start_with(ServerOptions { tls, options_file, ..options() }, Durability::Buffered);
        let mut client = server.connect();
        let ca = if ca.is_empty() {
            String::new()
        } else {
            folder.path().join(ca).to_str().expect("text").to_owned()
        };
        assert_eq!(client.call(&[b"CONFIG", b"SET", b"tls-ca-cert-file", ca.as_bytes()]), b"+OK\r\n");
        assert_eq!(
            client.ask("CONFIG GET tls-ca-cert-file"),
            format!("*2|$16|tls-ca-cert-file|${}|{ca}|", ca.len())
        );
        assert_eq!(client.ask("CONFIG REWRITE"), "+OK|");
        let text = |text: &str| OptionValue::Text(text.to_owned());
        let written = kept.0.lock().expect("nobody panicked").clone();
        assert_eq!(written, [("tls-auth-clients", text(rule)), ("tls-ca", text(&ca))]);
        server.stop();
    }
}
