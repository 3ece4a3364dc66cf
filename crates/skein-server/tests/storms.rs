//! Many harmful clients: memory must stay bounded, and small requests of another client must still
//! be answered. The tests run one at a time, because they measure the memory of the whole process.
//! That includes the clients' side, which takes next to nothing.

mod common;

use std::io::Write;
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use common::{TestClient, TestServer, encode, options, start, start_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use skein_server::ServerOptions;
use skein_store::Durability;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the resident memory of this process in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the status of this process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

/// A well-behaved client of the server, and the memory before the storm.
struct StormWatcher {
    client: TestClient,
    before: u64,
}

impl StormWatcher {
    fn new(server: &TestServer) -> Self {
        let mut client = server.connect();
        assert_eq!(client.ask("SET small v"), "+OK|");
        Self { client, before: resident() }
    }

    /// Checks for half a second that small requests are answered, and that memory grows by less
    /// than `most` bytes.
    #[track_caller]
    fn watch(&mut self, most: u64) {
        for _ in 0..50 {
            assert_eq!(self.client.ask("GET small"), "$1|v|");
            let grown = resident().saturating_sub(self.before);
            assert!(grown < most, "memory grew by {grown} bytes, more than {most}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Returns clients that each send as much of `bytes` as the system accepts, and read nothing.
fn connect_and_flood(server: &TestServer, count: usize, bytes: &[u8]) -> Vec<TestClient> {
    let clients = (0..count).map(|_| server.connect());
    clients
        .inspect(|client| {
            client.stream.set_nonblocking(true).expect("no waiting");
            let mut rest = bytes;
            while let Ok(sent @ 1..) = (&client.stream).write(rest) {
                rest = &rest[sent..];
            }
        })
        .collect()
}

/// Returns how many connections this process may have, counting both ends, up to 10,000.
fn connections() -> usize {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).expect("as many files as may be");
    maximum.map_or(10_000, |most| usize::try_from(most.saturating_sub(600) / 2).unwrap_or(10_000)).min(10_000)
}

#[test]
fn ten_thousand_idle_clients() {
    let _alone = alone();
    let count = connections();
    let server = start_with(ServerOptions { clients_max: count + 10, ..options() }, Durability::None);
    let mut watcher = StormWatcher::new(&server);
    let mut idle: Vec<TcpStream> = Vec::new();
    for _ in 0..count {
        let stream = TcpStream::connect(server.address).expect("a connection");
        (&stream).write_all(b"PING\r\n").expect("to send");
        idle.push(stream);
    }
    // A client without a request in progress has no buffers.
    watcher.watch(count as u64 * 4096);
    let clients = watcher.client.ask("INFO clients");
    assert!(clients.contains(&format!("|connected_clients:{}|", count + 1)), "{count}: {clients}");
}

#[test]
fn slow_readers_of_huge_ranges() {
    let _alone = alone();
    let limits = ServerOptions { output_bytes_max: 64 << 10, reply_bytes_max: 1 << 20, ..options() };
    let server = start_with(limits, Durability::None);
    let mut filler = server.connect();
    for n in 0..2000 {
        let key = format!("key{n:05}");
        assert_eq!(filler.call(&[b"SET", key.as_bytes(), &[b'v'; 1000]]), b"+OK\r\n");
    }
    let mut watcher = StormWatcher::new(&server);
    // The clients request 4.5 GB in all. For each one, only the system's buffers and one reply are
    // held.
    let range = encode(&[b"SK.RANGE", b"-", b"+", b"LIMIT", b"900"]);
    let _clients = connect_and_flood(&server, 50, &range.repeat(100));
    watcher.watch(50 * (3 << 20));
    let mut reader = server.connect();
    let reply = reader.ask("SK.RANGE - +");
    assert!(reply.contains("the limit of 1048576 bytes; use LIMIT"), "{reply}");
}

#[test]
fn clients_that_never_read() {
    let _alone = alone();
    let server = start_with(ServerOptions { output_bytes_max: 64 << 10, ..options() }, Durability::None);
    assert_eq!(server.connect().call(&[b"SET", b"big", &[b'v'; 10_000]]), b"+OK\r\n");
    let mut watcher = StormWatcher::new(&server);
    let _clients = connect_and_flood(&server, 100, &encode(&[b"GET", b"big"]).repeat(10_000));
    watcher.watch(100 * (1 << 20));
}

#[test]
fn half_sent_requests() {
    let _alone = alone();
    let server = start();
    let mut watcher = StormWatcher::new(&server);
    // Memory follows the received bytes, not the announced ones.
    let begun = [&b"*1000000\r\n$3\r\nSET\r\n$1\r\nk\r\n$500000000\r\n"[..], &[b'v'; 1000]].concat();
    let _clients = connect_and_flood(&server, 1000, &begun);
    watcher.watch(1000 * (32 << 10));
}

#[test]
fn floods_of_garbage() {
    let _alone = alone();
    let server = start();
    let mut watcher = StormWatcher::new(&server);
    let mut seed = 1_u64;
    for _ in 0..5 {
        let garbage: Vec<u8> = (0..1 << 20)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 56) as u8
            })
            .collect();
        let _clients = connect_and_flood(&server, 20, &garbage);
        watcher.watch(20 * (2 << 20));
    }
}

#[test]
fn storms_of_connections() {
    let _alone = alone();
    let server = start();
    let mut watcher = StormWatcher::new(&server);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1500 {
                    let stream = TcpStream::connect(server.address).expect("a connection");
                    (&stream).write_all(b"SET k v\r\nGET").expect("to send");
                }
            });
        }
        watcher.watch(64 << 20);
    });
    watcher.watch(64 << 20);
    // In the end all slots are free again.
    while !watcher.client.ask("INFO clients").contains("|connected_clients:1|") {
        std::thread::sleep(Duration::from_millis(10));
    }
}
