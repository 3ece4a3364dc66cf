//! HyperLogLogs: writers beside each other, the self-test, and values from other servers.

use crate::common::{options, start, start_with};
use skein_server::ServerOptions;
use skein_store::Durability;

#[test]
fn no_element_is_lost_beside_other_writers() {
    let server = start_with(ServerOptions { workers: 4, ..options() }, Durability::Buffered);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let mut client = server.connect();
            scope.spawn(move || {
                for number in 0..500 {
                    client.ask(&format!("PFADD h {writer}:{number}"));
                    if number % 50 == 0 {
                        client.ask("PFCOUNT h");
                        client.ask(&format!("PFMERGE m:{writer} h"));
                    }
                }
            });
        }
    });
    let mut client = server.connect();
    let elements: Vec<String> =
        (0..4).flat_map(|writer| (0..500).map(move |number| format!("{writer}:{number}"))).collect();
    client.ask(&format!("PFADD all {}", elements.join(" ")));
    assert_eq!(client.ask("PFDEBUG GETREG h"), client.ask("PFDEBUG GETREG all"));
    assert_eq!(client.ask("PFCOUNT h"), client.ask("PFCOUNT all"));
    assert_eq!(client.ask("PFMERGE h m:0 m:1 m:2 m:3"), "+OK|");
    assert_eq!(client.ask("PFCOUNT h"), client.ask("PFCOUNT h m:0 all"));
}

#[test]
fn the_self_test_passes() {
    let server = start();
    let mut client = server.connect();
    client.stream.set_read_timeout(Some(std::time::Duration::from_secs(300))).expect("a timeout");
    assert_eq!(client.ask("PFSELFTEST"), "+OK|");
}

/// PFCOUNT keeps the count, so it counts as a write everywhere.
#[test]
fn a_count_is_kept_as_a_write() {
    let server = start();
    let mut client = server.connect();
    client.ask("PFADD h a b c");
    let before = client.ask("GET h");
    assert_eq!(client.ask("PFCOUNT h"), ":3|");
    let kept = client.ask("GET h");
    assert_ne!(before, kept);
    assert_eq!((client.ask("PFCOUNT h"), client.ask("GET h")), (":3|".to_owned(), kept));
    client.ask("PFADD h d");
    let mut paused = server.connect();
    client.ask("CLIENT PAUSE 60000 WRITE");
    paused.send(&crate::common::encode(&[b"PFCOUNT", b"h"]));
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert!(client.ask("GET h").ends_with('|'));
    client.ask("CLIENT UNPAUSE");
    assert_eq!(crate::common::show(&paused.reply()), ":4|");
}

/// Every prefix and every changed byte of a value is read without a panic.
#[test]
fn any_value_is_answered() {
    let server = start();
    let mut client = server.connect();
    client.ask("PFADD h a b c d e f g");
    let reply = client.call(&[b"GET", b"h"]);
    let start = reply.windows(2).position(|pair| pair == b"\r\n").expect("a head") + 2;
    let value = &reply[start..reply.len() - 2];
    let mut check = |value: &[u8]| {
        assert_eq!(client.call(&[b"SET", b"x", value]), b"+OK\r\n");
        for request in [
            "PFCOUNT x",
            "PFCOUNT x h",
            "PFADD x 1 2 3 4 5 6 7 8 9",
            "PFCOUNT x",
            "PFMERGE y x h",
            "PFDEBUG DECODE x",
            "PFDEBUG TODENSE x",
            "PFCOUNT x",
        ] {
            assert!(client.ask(request).ends_with('|'), "{request}");
        }
        client.ask("DEL y");
    };
    for at in 0..value.len() {
        check(&value[..at]);
        for byte in [0x00, 0x3f, 0x40, 0x7f, 0x80, 0xff] {
            let mut changed = value.to_vec();
            changed[at] = byte;
            check(&changed);
        }
    }
}
