//! Servers that break off or stall.

use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::thread;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{RootCertStore, ServerConfig, ServerConnection};

use super::*;

const SHORT: Duration = Duration::from_millis(200);
/// The longest life of a test server that nobody ends.
const LONG: Duration = Duration::from_secs(30);

/// Returns the client's end and the server's end of a connection.
fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

fn name() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

/// Returns the configurations of both sides, for a handshake that succeeds.
fn configs() -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let cert = CertificateDer::from(params.self_signed(&key).unwrap());
    let mut roots = RootCertStore::empty();
    roots.add(cert.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let server = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let server = server.unwrap().with_no_client_auth().with_single_cert(vec![cert], key).unwrap();
    (Arc::new(client.unwrap().with_root_certificates(roots).with_no_client_auth()), Arc::new(server))
}

/// Incident: each read of the handshake had the full time limit. Consequence: a server that sent a
/// byte now and then blocked its client without end. Fix: one deadline for all reads.
#[test]
fn a_server_that_answers_by_single_bytes_has_no_more_time() {
    let (client, mut server) = connection();
    let drips = thread::spawn(move || {
        assert!(server.read(&mut [0; 4096]).unwrap() > 0, "the client's hello");
        // A handshake record that claims 8 KiB.
        for byte in [22, 3, 3, 32, 0, 2, 0].into_iter().chain([0; 60]) {
            thread::sleep(SHORT / 4);
            if server.write_all(&[byte]).is_err() {
                break;
            }
        }
    });
    let error =
        TlsClientStream::handshake_within(SHORT, client, name(), configs().0).expect_err("no handshake");
    assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
    drips.join().unwrap();
}

/// Incident: the closing message waited for a server that had stopped reading. Consequence: the
/// command never ended. Fix: a time limit.
#[test]
fn closing_does_not_wait_for_a_server_that_reads_nothing() {
    let (client, socket) = connection();
    let (ours, theirs) = configs();
    let (may_go, goes) = channel::<()>();
    let server = thread::spawn(move || {
        let mut session = ServerConnection::new(theirs).unwrap();
        while session.is_handshaking() {
            session.complete_io(&mut &socket).unwrap();
        }
        goes.recv_timeout(LONG).expect("the farewell ends before");
    });
    let mut stream = TlsClientStream::handshake(client, name(), ours).expect("a handshake");
    stream.patience = SHORT;
    stream.set_write_timeout(Some(SHORT)).unwrap();
    // Fill the socket until it accepts not even a byte.
    while stream.write_all(&[0; 1 << 14]).is_ok() {}
    while (&stream.socket).write(&[0]).is_ok() {}
    stream.set_write_timeout(None).unwrap();
    // The system may have freed room for these few bytes meanwhile. The test requires only that the
    // call ends while the server still runs.
    let said = stream.shutdown(Shutdown::Write).map_err(|error| error.kind());
    assert!(matches!(said, Ok(()) | Err(ErrorKind::WouldBlock)), "{said:?}");
    may_go.send(()).expect("the server is there");
    server.join().unwrap();
}
