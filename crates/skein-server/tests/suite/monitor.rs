//! MONITOR: which requests monitors of all workers see, in which form and until when.

use std::time::Duration;

use crate::common::{TestClient, TestServer, encode, options, show, start_with, wait_for};
use skein_server::{OutputLimit, ServerOptions};
use skein_store::Durability;

fn start() -> TestServer {
    start_with(ServerOptions { workers: 2, ..options() }, Durability::Buffered)
}

/// Returns the next line without its time, after checking the time's form.
fn line(monitor: &mut TestClient) -> String {
    let line = show(&monitor.reply());
    let (time, rest) = line.trim_end_matches('|').split_once(' ').expect("a time");
    let (seconds, micros) = time.strip_prefix('+').and_then(|time| time.split_once('.')).expect("a status");
    assert!(seconds.parse::<u64>().is_ok() && micros.len() == 6 && micros.parse::<u64>().is_ok(), "{line}");
    rest.to_owned()
}

/// Returns the source of a client's requests.
fn source(client: &TestClient) -> String {
    format!("[0 {}]", client.stream.local_addr().expect("an address"))
}

#[test]
fn monitors_see_the_requests_of_all_workers() {
    let server = start();
    let mut monitors: Vec<TestClient> = (0..4).map(|_| server.connect()).collect();
    for monitor in &mut monitors {
        assert_eq!(monitor.ask("MONITOR"), "+OK|");
    }
    let mut clients: Vec<TestClient> = (0..4).map(|_| server.connect()).collect();
    let mut expected = Vec::new();
    for round in 0..3 {
        for (at, client) in clients.iter_mut().enumerate() {
            for request in [
                format!("SET k{at} {round}"),
                format!("GET k{at}"),
                format!("MGET k{at} k0"),
                "NOPE".into(),
                "GET".into(),
            ] {
                client.ask(&request);
                if !["NOPE", "GET"].contains(&&*request) {
                    let quoted: Vec<String> = request.split(' ').map(|word| format!("\"{word}\"")).collect();
                    expected.push(format!("{} {}", source(client), quoted.join(" ")));
                }
            }
        }
    }
    for monitor in &mut monitors {
        let seen: Vec<String> = expected.iter().map(|_| line(monitor)).collect();
        assert_eq!(seen, expected);
    }
}

#[test]
fn secrets_and_requests_of_administrators_are_hidden() {
    let server = start();
    let (mut monitor, mut client) = (server.connect(), server.connect());
    monitor.ask("MONITOR");
    for request in [
        "AUTH pw",
        "AUTH user pw",
        "HELLO 2 AUTH default pw",
        "CONFIG GET x",
        "ACL SETUSER x >pw",
        "SLOWLOG GET",
        "CLIENT LIST",
        "CLIENT ID",
        "ACL WHOAMI",
    ] {
        client.ask(request);
    }
    let from = source(&client);
    for seen in [
        r#""AUTH" "(redacted)""#,
        r#""AUTH" "(redacted)" "(redacted)""#,
        r#""HELLO" "2" "AUTH" "(redacted)" "(redacted)""#,
        r#""CLIENT" "ID""#,
        r#""ACL" "WHOAMI""#,
    ] {
        assert_eq!(line(&mut monitor), format!("{from} {seen}"));
    }
}

#[test]
fn transactions_and_scripts_show_their_commands() {
    let server = start();
    let (mut monitor, mut client) = (server.connect(), server.connect());
    monitor.ask("MONITOR");
    for request in ["MULTI", "SET k v", "GET k", "EXEC"] {
        client.ask(request);
    }
    client.call(&[b"EVAL", b"redis.call('SET', KEYS[1], 'x\\n'); return redis.pcall('GET')", b"1", b"k"]);
    let from = source(&client);
    for seen in [r#""MULTI""#, r#""SET" "k" "v""#, r#""GET" "k""#, r#""EXEC""#] {
        assert_eq!(line(&mut monitor), format!("{from} {seen}"));
    }
    assert!(line(&mut monitor).starts_with(&format!(r#"{from} "EVAL" "redis.call"#)));
    assert_eq!(line(&mut monitor), r#"[0 lua] "SET" "k" "x\n""#);
    client.ask("PING");
    assert_eq!(line(&mut monitor), format!(r#"{from} "PING""#));
}

#[test]
fn a_monitor_sees_itself_until_reset() {
    let server = start();
    let mut monitor = server.connect();
    monitor.send(&[encode(&[b"MONITOR"]), encode(&[b"PING"])].concat());
    assert_eq!([show(&monitor.reply()), show(&monitor.reply())], ["+OK|", "+PONG|"]);
    assert!(line(&mut monitor).ends_with(r#""PING""#));
    let mut other = server.connect();
    let list = other.ask("CLIENT LIST");
    assert!(list.contains("flags=O "), "{list}");
    assert_eq!(monitor.ask("RESET"), "+RESET|");
    other.ask("PING");
    assert_eq!(monitor.ask("ECHO silence"), "$7|silence|");
    let list = other.ask("CLIENT LIST");
    assert!(!list.contains("flags=O "), "{list}");
}

/// A monitor that reads nothing must not make memory grow.
#[test]
fn a_monitor_that_does_not_read_is_disconnected() {
    let limit = OutputLimit { hard_bytes: 100_000, soft_bytes: 0, soft_time: Duration::ZERO };
    let server = start_with(ServerOptions { subscriber_limit: limit, ..options() }, Durability::Buffered);
    let (mut monitor, mut client) = (server.connect(), server.connect());
    monitor.ask("MONITOR");
    let long = vec![b'x'; 50_000];
    wait_for(|| {
        client.call(&[b"ECHO", &long]);
        !client.ask("CLIENT LIST").contains("flags=O ")
    });
}
