//! Order of replies, batches, durability, many clients, stopping.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{TestClient, encode, options, show, start, start_with};
use skein_log::storage::Storage;
use skein_log::storage::sim::{SimError, SimStorage};
use skein_server::ServerOptions;
use skein_store::{Durability, Store, StoreOptions};

/// A small random number generator with a seed, so that a failure can be reproduced.
struct ServingRng(u64);

impl ServingRng {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Returns random requests over a few keys with this prefix, and the replies of a simple model.
fn script(prefix: &str, random: &mut ServingRng, count: usize) -> (Vec<u8>, Vec<String>) {
    let mut model: std::collections::BTreeMap<String, i64> = std::collections::BTreeMap::new();
    let (mut bytes, mut replies) = (Vec::new(), Vec::new());
    for i in 0..count {
        let key = format!("{prefix}{}", random.below(5));
        let bulk = |value: Option<&i64>| {
            value.map_or("$-1|".to_owned(), |value| format!("${}|{value}|", value.to_string().len()))
        };
        let number = i.to_string();
        let (request, reply): (Vec<&str>, String) = match random.below(7) {
            0 | 1 => (vec!["GET", &key], bulk(model.get(&key))),
            2 => {
                model.insert(key.clone(), i64::try_from(i).expect("a small number"));
                (vec!["SET", &key, &number], "+OK|".to_owned())
            }
            3 => {
                let value = model.entry(key.clone()).or_default();
                *value += 1;
                (vec!["INCR", &key], format!(":{value}|"))
            }
            4 => (vec!["DEL", &key], format!(":{}|", usize::from(model.remove(&key).is_some()))),
            5 => (vec!["MGET", &key, &key], format!("*2|{0}{0}", bulk(model.get(&key)))),
            _ => (vec!["EXISTS", &key], format!(":{}|", usize::from(model.contains_key(&key)))),
        };
        bytes.extend(encode(&request.iter().map(|word| word.as_bytes()).collect::<Vec<_>>()));
        replies.push(reply);
    }
    (bytes, replies)
}

fn play(client: &mut TestClient, prefix: &str, seed: u64, rounds: usize) {
    let mut random = ServingRng(seed);
    for round in 0..rounds {
        let (bytes, replies) = script(&format!("{prefix}:{round}:"), &mut random, 300);
        let cut = random.below(bytes.len() as u64) as usize;
        client.send(&bytes[..cut]);
        client.send(&bytes[cut..]);
        for (i, expected) in replies.iter().enumerate() {
            assert_eq!(show(&client.reply()), *expected, "reply {i} of round {round}, seed {seed}");
        }
    }
}

#[test]
fn pipelines_keep_their_order_at_every_level() {
    for durability in [Durability::None, Durability::Buffered, Durability::Sync] {
        let small = ServerOptions { pipeline_max: 7, ..options() };
        for options in [options(), small] {
            let server = start_with(options, durability);
            std::thread::scope(|scope| {
                for i in 0..4 {
                    let mut client = server.connect();
                    scope.spawn(move || play(&mut client, &format!("c{i}"), i, 5));
                }
            });
            let report = server.stop();
            assert_eq!((report.connections, report.cut_short), (4, 0));
            assert!(report.requests >= 4 * 5 * 300 && report.flushed.is_ok(), "{report:?}");
        }
    }
}

#[test]
fn mget_never_sees_half_an_mset() {
    let server = start();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut writer = server.connect();
        let stop = &stop;
        scope.spawn(move || {
            for i in 0..2000 {
                assert_eq!(writer.ask(&format!("MSET x {i} y {i} z {i}")), "+OK|");
            }
            stop.store(true, Ordering::Relaxed);
        });
        let mut reader = server.connect();
        while !stop.load(Ordering::Relaxed) {
            let reply = reader.ask("MGET x y z");
            let values: Vec<&str> = reply.split('|').skip(2).step_by(2).collect();
            assert!(values.windows(2).all(|pair| pair[0] == pair[1]) || reply.contains("$-1"), "{reply}");
        }
    });
}

#[test]
fn acknowledged_writes_at_sync_are_durable() {
    let server = start_with(options(), Durability::Sync);
    let mut client = server.connect();
    for i in 0..20 {
        // The write belongs to this epoch or to a later one.
        let open = server.store.stats().epoch;
        assert_eq!(client.ask(&format!("SET k{i} v")), "+OK|");
        assert!(server.store.durable_epoch() >= open, "acknowledged before it was durable");
    }
    assert_eq!(client.ask("GET k0"), "$1|v|");
    assert_eq!(client.ask("MSET a 1 b 2"), "+OK|");
    assert_eq!(client.ask("SK.DELRANGE [k (l"), ":20|");
    assert_eq!(client.ask("FLUSHALL"), "+OK|");
}

/// Writes pipelines, some of them with MSET, until the server rejects one or disconnects. Returns
/// the acknowledged keys.
fn write_until_refused(address: std::net::SocketAddr, name: usize) -> Vec<String> {
    let mut client = TestClient::new(std::net::TcpStream::connect(address).expect("a connection"));
    let mut acknowledged = Vec::new();
    for round in 0.. {
        let keys: Vec<String> = (0..4).map(|i| format!("{name}:{round}:{i}")).collect();
        let mut pipeline: Vec<u8> =
            keys[..2].iter().flat_map(|key| encode(&[b"SET", key.as_bytes(), b"v"])).collect();
        pipeline.extend(encode(&[b"MSET", keys[2].as_bytes(), b"v", keys[3].as_bytes(), b"v"]));
        if std::io::Write::write_all(&mut client.stream, &pipeline).is_err() {
            break;
        }
        for keys in [&keys[..1], &keys[1..2], &keys[2..]] {
            match client.try_reply().as_deref() {
                Some(b"+OK\r\n") => acknowledged.extend_from_slice(keys),
                _ => return acknowledged,
            }
        }
    }
    acknowledged
}

/// Incident: on a busy machine clients wrote so little between two operations of the disk that
/// twelve cuts saw 60 acknowledged writes, where the test required 100. Consequence: the test
/// failed although the server was right. Fix: more cuts follow, each later than the one before,
/// until enough writes are acknowledged.
#[test]
fn an_acknowledged_write_survives_a_power_cut_at_sync() {
    const CUTS: u64 = 12;
    const ACKNOWLEDGED: usize = 100;
    let mut total = 0;
    for seed in 0..20 * CUTS {
        if seed >= CUTS && total >= ACKNOWLEDGED {
            break;
        }
        total += acknowledged_before_a_power_cut(seed);
    }
    assert!(total >= ACKNOWLEDGED, "only {total} writes were acknowledged: nothing was tested");
}

/// Runs clients until a power cut, and checks that all acknowledged writes exist after a reboot.
/// Returns their number.
fn acknowledged_before_a_power_cut(seed: u64) -> usize {
    let disk = SimStorage::new();
    let open = || {
        let options = StoreOptions {
            durability: Durability::Sync,
            logs: 2,
            storage: disk.share(),
            ..StoreOptions::default()
        };
        Store::open("data", options).expect("a store")
    };
    let store = open();
    let server = skein_server::Server::start(store.clone(), options()).expect("a server");
    let address = server.local_addr();
    disk.cut_power_at(disk.operations() + 10 + seed * 17);
    let clients: Vec<_> =
        (0..3).map(|name| std::thread::spawn(move || write_until_refused(address, name))).collect();
    let acknowledged: Vec<String> =
        clients.into_iter().flat_map(|client| client.join().expect("a client")).collect();
    server.handle().shutdown();
    assert!(server.wait().failed_threads.is_empty());
    assert!(store.close().is_err(), "the power was cut");
    drop(store);
    disk.reboot(seed);
    let store = open();
    for key in &acknowledged {
        assert!(store.get(key.as_bytes()).expect("a value").is_some(), "seed {seed}: {key} was acknowledged");
    }
    store.close().expect("to close");
    acknowledged.len()
}

/// No reply says OK before the disk has the write; the error names the cause; reads still run.
#[test]
fn when_the_disk_fails_nothing_is_acknowledged() {
    let disk = SimStorage::new();
    let store_options = StoreOptions {
        durability: Durability::Sync,
        logs: 2,
        storage: disk.share(),
        ..StoreOptions::default()
    };
    let store = Store::open("data", store_options).expect("a store");
    let server = skein_server::Server::start(store.clone(), options()).expect("a server");
    let connect =
        || TestClient::new(std::net::TcpStream::connect(server.local_addr()).expect("a connection"));
    let mut client = connect();
    assert_eq!(client.ask("SET a 1"), "+OK|");
    disk.fail_at(disk.operations() + 1, SimError::NoSpace, true);
    client.send(b"GET a\r\nSET b 2\r\nGET a\r\nMSET c 3 d 4\r\n");
    assert_eq!(show(&client.reply()), "$1|1|");
    let refusal = show(&client.reply());
    assert!(refusal.starts_with("-MISCONF writes are stopped: "), "{refusal}");
    while let Some(reply) = client.try_reply() {
        assert_ne!(reply, b"+OK\r\n");
    }
    let mut client = connect();
    assert_eq!(client.ask("GET a"), "$1|1|");
    for write in ["SET e 5", "MSET e 5", "HSET h a 1", "INCR n", "SK.DELRANGE - +", "FLUSHALL"] {
        let reply = client.ask(write);
        assert!(reply.starts_with("-MISCONF "), "{write}: {reply}");
    }
    assert!(client.ask("INFO persistence").contains("|rdb_last_bgsave_status:err|"));
    server.handle().shutdown();
    let report = server.wait();
    assert!(report.failed_threads.is_empty() && report.flushed.is_err(), "{report:?}");
}

#[test]
fn a_stop_answers_read_requests_and_loses_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let open =
        || Store::open(folder.path(), StoreOptions { logs: 2, ..StoreOptions::default() }).expect("a store");
    let store = open();
    let server = skein_server::Server::start(store.clone(), options()).expect("a server");
    let mut client =
        TestClient::new(std::net::TcpStream::connect(server.local_addr()).expect("a connection"));
    let pipeline: Vec<u8> =
        (0..1000).flat_map(|i| encode(&[b"SET", format!("k{i}").as_bytes(), b"v"])).collect();
    client.send(&pipeline);
    // After the first reply the server is working on the pipeline.
    assert_eq!(show(&client.reply()), "+OK|");
    server.handle().shutdown();
    let mut answered = 1;
    while let Some(reply) = client.try_reply() {
        assert_eq!(show(&reply), "+OK|");
        answered += 1;
    }
    let report = server.wait();
    assert!(
        report.failed_threads.is_empty() && report.flushed.is_ok() && report.cut_short == 0,
        "{report:?}"
    );
    assert_eq!(report.requests, answered);
    store.close().expect("to close");
    drop(store);
    let store = open();
    assert_eq!(store.len() as u64, answered);
    store.close().expect("to close");
}

#[test]
fn a_client_can_stop_the_server() {
    let mut server = start();
    let mut client = server.connect();
    let mut idle = server.connect();
    assert_eq!(client.ask("SET a 1"), "+OK|");
    client.send(b"SHUTDOWN\r\n");
    assert_eq!(client.try_reply(), None);
    let report = server.server.take().expect("a server").wait();
    assert!(report.failed_threads.is_empty() && report.took < Duration::from_secs(4), "{report:?}");
    assert_eq!(idle.try_reply(), None);
}

#[test]
fn saves_run_beside_other_clients() {
    let server = start();
    let mut client = server.connect();
    let mut other = server.connect();
    assert_eq!(client.ask("SET a 1"), "+OK|");
    for i in 0..3 {
        client.send(b"SAVE\r\nGET a\r\n");
        assert_eq!(other.ask(&format!("SET b {i}")), "+OK|");
        assert_eq!(show(&client.reply()), "+OK|");
        assert_eq!(show(&client.reply()), "$1|1|");
    }
    assert!(server.store.stats().checkpoints >= 3);
}

#[test]
fn many_connections_at_once() {
    let server = start();
    let mut clients: Vec<TestClient> = (0..1000).map(|_| server.connect()).collect();
    for (i, client) in clients.iter_mut().enumerate() {
        let key = format!("k{i}");
        client
            .send(&[encode(&[b"SET", key.as_bytes(), b"v"]), encode(&[b"STRLEN", key.as_bytes()])].concat());
    }
    for client in &mut clients {
        assert_eq!(show(&client.reply()), "+OK|");
        assert_eq!(show(&client.reply()), ":1|");
    }
    assert_eq!(clients[0].ask("DBSIZE"), ":1000|");
}

#[test]
fn connections_go_to_the_least_loaded_worker() {
    let server = start();
    let mut clients: Vec<TestClient> = (0..6).map(|_| server.connect()).collect();
    for client in &mut clients {
        assert_eq!(client.ask("PING"), "+PONG|");
    }
    let info = clients[0].ask("INFO clients");
    assert!(info.contains("|worker0_clients:3|worker1_clients:3|"), "{info}");
}
