//! The memory of clients in CLIENT LIST, and `maxmemory-clients`.

use crate::common::{TestClient, TestServer, encode, options, show, start_with, wait_for};
use skein_server::{ClientMemoryLimit, ServerOptions};
use skein_store::Durability;

fn start(limit: ClientMemoryLimit) -> TestServer {
    start_with(ServerOptions { client_memory_max: limit, ..options() }, Durability::Buffered)
}

fn id(client: &mut TestClient) -> String {
    client.ask("CLIENT ID").trim_matches([':', '|']).to_owned()
}

/// Returns a field of a client's line.
fn field(watcher: &mut TestClient, client: &str, name: &str) -> String {
    let line = watcher.ask(&format!("CLIENT LIST ID {client}"));
    let found = line.split([' ', '|']).find_map(|field| field.strip_prefix(&format!("{name}=")));
    found.unwrap_or_else(|| panic!("no {name}: {line}")).to_owned()
}

fn number(watcher: &mut TestClient, client: &str, name: &str) -> usize {
    field(watcher, client, name).parse().expect("a number")
}

#[test]
fn the_sizes_of_a_client_are_those_of_its_buffers() {
    let server = start(ClientMemoryLimit::Unlimited);
    let (mut watcher, mut client) = (server.connect(), server.connect());
    let its = id(&mut client);
    for name in ["qbuf", "argv-mem", "multi-mem", "obl", "oll", "omem"] {
        // The sizes follow at the end of the worker's round.
        wait_for(|| number(&mut watcher, &its, name) == 0);
    }
    let idle = number(&mut watcher, &its, "tot-mem");
    assert!((300..8_000).contains(&idle), "{idle}");
    assert_eq!(field(&mut watcher, &its, "events"), "r");
    // A part of a request.
    let half = encode(&[b"SET", b"k", &vec![b'v'; 50_000]]);
    client.send(&half[..30_000]);
    wait_for(|| number(&mut watcher, &its, "qbuf") == 30_000);
    assert!(number(&mut watcher, &its, "tot-mem") >= idle + 30_000 + number(&mut watcher, &its, "qbuf-free"));
    client.send(&half[30_000..]);
    assert_eq!(show(&client.reply()), "+OK|");
    wait_for(|| number(&mut watcher, &its, "qbuf") == 0);
    // A transaction.
    assert_eq!(client.ask("MULTI"), "+OK|");
    for _ in 0..100 {
        assert_eq!(client.ask("GET k"), "+QUEUED|");
    }
    wait_for(|| number(&mut watcher, &its, "multi-mem") >= 400);
    assert_eq!(client.ask("DISCARD"), "+OK|");
    wait_for(|| number(&mut watcher, &its, "multi-mem") == 0);
    // Replies that are not read. The system's buffers take some of them.
    client.send(&encode(&[b"GET", b"k"]).repeat(1_000));
    wait_for(|| number(&mut watcher, &its, "obl") > 50_000);
    // The server may write more of them between two looks, until it stops to.
    wait_for(|| number(&mut watcher, &its, "rbs") == number(&mut watcher, &its, "omem"));
    assert!(number(&mut watcher, &its, "omem") >= number(&mut watcher, &its, "obl"));
    assert!(number(&mut watcher, &its, "rbp") > 50_000);
    assert_eq!(field(&mut watcher, &its, "events"), "rw");
    for _ in 0..1_000 {
        assert_eq!(client.reply().len(), 50_010);
    }
    wait_for(|| number(&mut watcher, &its, "omem") == 0);
    let own = id(&mut watcher);
    assert!(number(&mut watcher, &own, "tot-mem") > 0);
    // The request itself is in the buffer while it runs, with the request before it.
    let asked = encode(&[b"CLIENT", b"INFO"]);
    watcher.send(&[encode(&[b"PING"]), asked.clone()].concat());
    assert_eq!(show(&watcher.reply()), "+PONG|");
    let info = show(&watcher.reply());
    assert!(info.contains(&format!(" qbuf={} ", asked.len() + encode(&[b"PING"]).len())), "{info}");
    wait_for(|| number(&mut client, &own, "qbuf") == 0);
}

/// Makes a client hold this much of a request.
fn hold(client: &mut TestClient, bytes: usize) {
    let request = encode(&[b"SET", b"k", &vec![b'v'; bytes + 100]]);
    client.send(&request[..bytes]);
}

fn evicted(watcher: &mut TestClient) -> usize {
    let info = watcher.ask("INFO stats");
    let line = info.split('|').find_map(|line| line.strip_prefix("evicted_clients:"));
    line.expect("a line").parse().expect("a number")
}

#[test]
fn the_largest_clients_are_disconnected_above_the_limit() {
    let server = start(ClientMemoryLimit::Bytes(4 << 20));
    let mut watcher = server.connect();
    let (mut small, mut large, mut larger) = (server.connect(), server.connect(), server.connect());
    hold(&mut small, 500_000);
    hold(&mut large, 1_000_000);
    // Of the others, only the third client has sent nothing.
    wait_for(|| watcher.ask("CLIENT LIST").matches(" qbuf=0").count() == 1);
    assert_eq!(evicted(&mut watcher), 0);
    hold(&mut larger, 3_500_000);
    wait_for(|| evicted(&mut watcher) == 1);
    assert!(larger.try_reply().is_none(), "the largest is disconnected");
    // The limit is lowered: the next largest has to go.
    assert_eq!(watcher.ask("CONFIG SET maxmemory-clients 1200kb"), "+OK|");
    wait_for(|| {
        watcher.ask("PING");
        evicted(&mut watcher) == 2
    });
    assert!(large.try_reply().is_none());
    assert!(watcher.ask("CLIENT LIST").matches("id=").count() >= 2, "the small one stays");
    assert_eq!(watcher.ask("CONFIG RESETSTAT"), "+OK|");
    assert_eq!(evicted(&mut watcher), 0);
}

#[test]
fn a_client_can_be_exempt() {
    let server = start(ClientMemoryLimit::Unlimited);
    let (mut watcher, mut exempt, mut other) = (server.connect(), server.connect(), server.connect());
    assert_eq!(exempt.ask("CLIENT NO-EVICT ON"), "+OK|");
    assert_eq!(watcher.ask("CLIENT NO-EVICT ON"), "+OK|");
    hold(&mut exempt, 3_000_000);
    hold(&mut other, 1_000_000);
    let theirs = |watcher: &mut TestClient| watcher.ask("CLIENT LIST").matches("id=").count();
    wait_for(|| watcher.ask("CLIENT LIST").matches(" qbuf=0").count() == 0);
    assert_eq!((theirs(&mut watcher), evicted(&mut watcher)), (3, 0));
    assert_eq!(watcher.ask("CONFIG SET maxmemory-clients 2mb"), "+OK|");
    wait_for(|| {
        watcher.ask("PING");
        evicted(&mut watcher) == 1
    });
    assert!(other.try_reply().is_none());
    assert_eq!(theirs(&mut watcher), 2);
    assert_eq!(watcher.ask("CLIENT NO-EVICT OFF"), "+OK|");
}

#[test]
fn the_limit_is_a_size_or_a_percentage() {
    let server = start(ClientMemoryLimit::Percent(7));
    let mut client = server.connect();
    let get = |client: &mut TestClient| client.ask("CONFIG GET maxmemory-clients");
    assert_eq!(get(&mut client), "*2|$17|maxmemory-clients|$2|7%|");
    for (value, shown) in [("100mb", "104857600"), ("0", "0"), ("100%", "100%"), ("0%", "0")] {
        assert_eq!(client.ask(&format!("CONFIG SET maxmemory-clients {value}")), "+OK|");
        assert_eq!(get(&mut client), format!("*2|$17|maxmemory-clients|${}|{shown}|", shown.len()));
    }
    for value in ["101%", "-1%", "x", "5%%", "-1"] {
        let reply = client.ask(&format!("CONFIG SET maxmemory-clients {value}"));
        assert!(reply.starts_with("-ERR CONFIG SET failed (possibly related to argument"), "{reply}");
    }
}
