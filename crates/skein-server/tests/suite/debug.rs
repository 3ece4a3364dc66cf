//! DEBUG, for tests of clients.

use crate::common::{TestClient, options, start_with};
use skein_server::ServerOptions;
use skein_store::Durability;

/// Incident: DEBUG had no ERROR and no OBJECT, and refused a line end behind the seconds of SLEEP.
/// Consequence: the tests of several client libraries failed. Fix: as in Redis.
#[test]
fn clients_test_with_errors_sleeps_and_objects() {
    let with_debug = ServerOptions { debug_command: true, ..options() };
    let server = start_with(with_debug, Durability::None);
    let mut client = server.connect();
    let mut debug = |words: &[&[u8]]| {
        let reply = client.call(&[&[&b"DEBUG"[..]], words].concat());
        String::from_utf8_lossy(&reply).into_owned()
    };
    assert_eq!(debug(&[b"ERROR", b"MYERR some\r\ntext"]), "-MYERR some  text\r\n");
    assert_eq!(debug(&[b"SLEEP", b"0\r\n"]), "+OK\r\n");
    assert!(debug(&[b"SLEEP", b"soon"]).starts_with("-ERR DEBUG SLEEP soon"));
    assert_eq!(debug(&[b"OBJECT", b"nope"]), "-ERR no such key\r\n");
    assert!(debug(&[b"OBJECT", b"\xffSK\x00x"]).contains("reserved"));
    described(&mut server.connect());
}

fn described(client: &mut TestClient) {
    // The lengths are those of redis-server 7.0.15.
    for (request, key, encoding, len) in [
        ("SET a 1", "a", "int", 2),
        ("SET b hello", "b", "embstr", 6),
        ("HSET h a 1", "h", "listpack", 13),
        ("ZADD z 1 a", "z", "listpack", 13),
    ] {
        assert!(!client.ask(request).starts_with('-'));
        let about = client.ask(&format!("DEBUG OBJECT {key}"));
        let expected = format!("+Value at:0x0 refcount:1 encoding:{encoding} serializedlength:{len} lru:");
        assert!(about.starts_with(&expected) && about.contains(" lru_seconds_idle:"), "{about}");
    }
    if crate::common::skipped("it has database 0 alone") {
        return;
    }
    assert_eq!(client.ask("SELECT 1"), "+OK|");
    assert_eq!(client.ask("DEBUG OBJECT a"), "-ERR no such key|");
    assert_eq!(client.ask("SET a 12345678"), "+OK|");
    assert!(client.ask("DEBUG OBJECT a").contains(" serializedlength:5 "));
}
