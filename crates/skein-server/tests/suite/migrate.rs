//! MIGRATE between two servers of ours, and to targets that fail. The differential tests have a real
//! Redis as the target, and `golden/migrate.txt` the replies without one.

mod failing_targets;

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::blocking::{block, send};
use crate::common::{
    TestClient, TestServer, encode, options, show, skipped, start_on_disk, start_with, wait_for,
};
use skein_disk::{DiskOptions, Values};
use skein_server::ServerOptions;
use skein_store::Durability;

const READING: &str = "-IOERR error or timeout reading from target instance|";

fn start() -> TestServer {
    start_with(ServerOptions { workers: 3, ..options() }, Durability::Sync)
}

fn start_other_engine() -> TestServer {
    start_on_disk(options(), DiskOptions { values: Values::Rows, ..DiskOptions::default() })
}

/// Sends MIGRATE with `rest` after the address.
fn migrate_to(client: &mut TestClient, target: SocketAddr, rest: &str) -> String {
    client.send(&request(target, rest));
    show(&client.reply())
}

/// Returns a request of MIGRATE. The word `none` is the empty key.
fn request(target: SocketAddr, rest: &str) -> Vec<u8> {
    let (host, port) = (target.ip().to_string(), target.port().to_string());
    let rest = rest.split(' ').map(|word| if word == "none" { &b""[..] } else { word.as_bytes() });
    encode(&[&b"MIGRATE"[..], host.as_bytes(), port.as_bytes()].into_iter().chain(rest).collect::<Vec<_>>())
}

/// Returns a client that has sent a request.
fn sender(server: &TestServer, request: &str) -> TestClient {
    let mut client = server.connect();
    send(&mut client, request);
    client
}

/// A target that answers as a test tells it.
struct FakeTarget {
    listener: TcpListener,
    address: SocketAddr,
}

impl FakeTarget {
    fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        Self { address: listener.local_addr().expect("an address"), listener }
    }

    /// Accepts a connection, and answers its first request, which is SELECT.
    fn select(&self) -> TestClient {
        let mut connection = TestClient::new(self.listener.accept().expect("a connection").0);
        let request = show(&connection.reply());
        assert!(request.starts_with("*2|$6|SELECT|"), "{request}");
        connection.send(b"+OK\r\n");
        connection
    }

    /// Accepts a connection up to its first RESTORE, which is not answered.
    fn restore(&self) -> TestClient {
        let mut connection = self.select();
        let request = show(&connection.reply());
        assert!(request.contains("|RESTORE|"), "{request}");
        connection
    }
}

fn fill(client: &mut TestClient) -> Vec<String> {
    let many = |head: &str, each: &dyn Fn(usize) -> String| {
        (0..2000).fold(head.to_owned(), |all, i| all + " " + &each(i))
    };
    let requests = [
        "SET text v".to_owned(),
        "SET number 17 PX 500000".to_owned(),
        "HSET hash a 1 b 2".to_owned(),
        "RPUSH list a b c".to_owned(),
        "SADD set 1 2 3".to_owned(),
        "ZADD zset 1 a 2.5 b".to_owned(),
        "XADD stream 5-1 f v".to_owned(),
        "PFADD hll a b c".to_owned(),
        many("HSET longhash", &|i| format!("f{i} {i}")),
        many("RPUSH longlist", &|i| format!("element{i}")),
        many("SADD longset", &|i| format!("member{i}")),
        many("ZADD longzset", &|i| format!("{} member{i}", i % 7)),
    ];
    for request in &requests {
        assert!(!client.ask(request).starts_with('-'), "{request}");
    }
    assert_eq!(client.ask("XGROUP CREATE stream g 0"), "+OK|");
    assert!(client.ask("XREADGROUP GROUP g c STREAMS stream >").starts_with("*1|"));
    requests.iter().map(|request| request.split(' ').nth(1).expect("a key").to_owned()).collect()
}

#[test]
fn keys_of_all_kinds_move_there_and_back() {
    let (memory, disk) = (start(), start_other_engine());
    for (from, to) in [(&memory, &disk), (&disk, &memory)] {
        let [mut source, mut target] = [from, to].map(TestServer::connect);
        source.ask("FLUSHALL");
        target.ask("FLUSHALL");
        let keys = fill(&mut source);
        let dumps = |client: &mut TestClient| -> Vec<String> {
            keys.iter().map(|key| client.ask(&format!("DUMP {key}"))).collect()
        };
        let before = dumps(&mut source);
        let all = format!("none 0 5000 KEYS {} absent", keys.join(" "));
        assert_eq!(migrate_to(&mut source, to.address, &all), "+OK|");
        assert_eq!(source.ask("DBSIZE"), ":0|");
        assert!(dumps(&mut target) == before);
        let left: u64 = target.ask("PTTL number")[1..].trim_end_matches('|').parse().expect("a time");
        assert!((300_000..=500_000).contains(&left), "{left}");
        assert_eq!(target.ask("TTL text"), ":-1|");
        assert_eq!(migrate_to(&mut source, to.address, &all), "+NOKEY|");
        assert_eq!(migrate_to(&mut target, from.address, &all), "+OK|");
        assert!(dumps(&mut source) == before);
        assert_eq!(target.ask("DBSIZE"), ":0|");
    }
}

#[test]
fn options_and_errors_of_the_target_are_those_of_redis() {
    if skipped("it has database 0 alone") {
        return;
    }
    let (from, to) = (start(), start());
    let (mut source, mut target) = (from.connect(), to.connect());
    let mut moved = |rest: &str| migrate_to(&mut source, to.address, rest);
    let busy = "-ERR Target instance replied with error: BUSYKEY Target key name already exists.|";
    let mut other = from.connect();
    assert_eq!(other.ask("MSET a 1 b 2 c 3 d 4"), "+OK|");
    assert_eq!(moved("a 0 1000 COPY"), "+OK|");
    assert_eq!((other.ask("GET a"), target.ask("GET a")), ("$1|1|".into(), "$1|1|".into()));
    assert_eq!(target.ask("SET a there"), "+OK|");
    // The keys around the one that is refused move.
    assert_eq!(moved("none 0 1000 KEYS b a c"), busy);
    assert_eq!(other.ask("MGET a b c d"), "*4|$1|1|$-1|$-1|$1|4|");
    assert_eq!(target.ask("MGET a b c"), "*3|$5|there|$1|2|$1|3|");
    assert_eq!(moved("a 0 1000 replace"), "+OK|");
    assert_eq!((other.ask("GET a"), target.ask("GET a")), ("$-1|".into(), "$1|1|".into()));
    // The same key twice is there already the second time.
    assert_eq!(moved("none 3 1000 KEYS d d"), busy);
    assert_eq!(other.ask("EXISTS d"), ":0|");
    assert_eq!(target.ask("SELECT 3"), "+OK|");
    assert_eq!(target.ask("GET d"), "$1|4|");
    other.ask("SET e 5");
    assert_eq!(moved("e 16 1000"), "-ERR Target instance replied with error: ERR DB index is out of range|");
    assert_eq!(moved("e -1 1000"), "-ERR Target instance replied with error: ERR DB index is out of range|");
    target.ask("CONFIG SET requirepass secret");
    target.ask("ACL SETUSER mover on >pw +select +restore ~*");
    assert_eq!(
        moved("e 0 1000"),
        "-ERR Target instance replied with error: NOAUTH Authentication required.|"
    );
    assert_eq!(
        moved("e 0 1000 AUTH wrong"),
        "-ERR Target instance replied with error: WRONGPASS invalid username-password pair or user is disabled.|"
    );
    assert_eq!(other.ask("GET e"), "$1|5|");
    assert_eq!(moved("e 0 1000 AUTH secret COPY"), "+OK|");
    assert_eq!(moved("e 0 1000 AUTH2 mover pw REPLACE"), "+OK|");
    assert_eq!(other.ask("DBSIZE"), ":0|");
}

/// The worker serves other clients while the target is silent. Writes to the key wait, other requests
/// do not.
#[test]
fn only_writes_to_moving_keys_wait() {
    let server = start_with(ServerOptions { workers: 1, ..options() }, Durability::Buffered);
    let target = FakeTarget::start();
    let mut client = server.connect();
    client.ask("MSET k 1 l 1");
    client.ask("RPUSH list a");
    client.send(&request(target.address, "none 0 60000 KEYS k list"));
    let mut held_at_target = target.restore();
    let mut other = server.connect();
    for (request, reply) in [
        ("GET k", "$1|1|"),
        ("INCR l", ":2|"),
        ("MSET l 3 m 1", "+OK|"),
        ("EXISTS k", ":1|"),
        ("SK.COUNT - +", ":4|"),
        ("EVAL_RO return(redis.call('GET','k')) 0", "$1|1|"),
    ] {
        assert_eq!(other.ask(request), reply, "{request}");
    }
    if !skipped("it has database 0 alone") {
        assert_eq!(other.ask("SELECT 1"), "+OK|");
        assert_eq!(other.ask("SET k other"), "+OK|", "a key of the same name");
    }
    drop(other);
    let waits = [
        "INCR k",
        "MSET x 1 k 2",
        "DEL x k",
        "RPUSH list b",
        "LMPOP 1 list LEFT",
        "BLPOP list 0",
        "COPY l k REPLACE",
        "RENAME l k",
        "SORT list STORE x",
        "EVAL return(1) 0",
        "FLUSHALL",
        "SK.DELRANGE [k (l",
        "EXPIRE k 100",
        "GETEX k PERSIST",
    ];
    let mut clients: Vec<TestClient> = waits.iter().map(|request| sender(&server, request)).collect();
    let mut in_multi = server.connect();
    for request in ["MULTI", "INCR k"] {
        in_multi.ask(request);
    }
    in_multi.send(&encode(&[b"EXEC"]));
    clients.push(in_multi);
    let mut reader = server.connect();
    wait_for(|| reader.ask("INFO clients").contains(&format!("blocked_clients:{}", clients.len())));
    for waiting in &mut clients {
        waiting.stream.set_read_timeout(Some(Duration::from_millis(1))).expect("a timeout");
        let mut byte = [0];
        assert!(waiting.stream.peek(&mut byte).is_err(), "nothing is answered");
        waiting.stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    }
    held_at_target.send(b"+OK\r\n+OK\r\n");
    assert_eq!(show(&client.reply()), "+OK|");
    for (waiting, request) in clients.iter_mut().zip(waits.iter().chain(&["EXEC"])) {
        // The list may be empty when its client runs.
        if *request != "BLPOP list 0" {
            assert!(!waiting.reply().is_empty(), "{request}");
        }
    }
}

/// Every increment is here or at the target, whichever path it took, and no increment is in both
/// places.
#[test]
fn no_write_is_lost_and_none_is_doubled() {
    for (from, to) in [(start(), start_other_engine()), (start_other_engine(), start())] {
        let (stop, total) = (AtomicBool::new(false), AtomicU64::new(0));
        let moved = std::thread::scope(|scope| {
            for kind in 0..5 {
                let (from, stop, total) = (&from, &stop, &total);
                scope.spawn(move || {
                    let mut client = from.connect();
                    while !stop.load(Ordering::Relaxed) {
                        let count = match kind {
                            0 => {
                                client.send(&encode(&[b"INCR", b"k"]).repeat(10));
                                (0..10).for_each(|_| assert_eq!(client.reply()[0], b':'));
                                10
                            }
                            1 => {
                                assert_eq!(client.ask("MULTI"), "+OK|");
                                client.ask("INCR k");
                                client.ask("INCRBY k 2");
                                assert!(client.ask("EXEC").starts_with("*2|:"));
                                3
                            }
                            2 => {
                                client.ask("EVAL return(redis.call('INCR','k')) 0");
                                1
                            }
                            3 => {
                                client.ask("HINCRBY h f 1");
                                1
                            }
                            _ => {
                                assert!(client.ask("RPUSH q x").starts_with(':'));
                                1
                            }
                        };
                        total.fetch_add(count, Ordering::Relaxed);
                    }
                });
            }
            let (mut source, mut target) = (from.connect(), to.connect());
            let (mut moved, mut rounds) = (0, 0);
            let _stops = StopOnDrop(&stop);
            while rounds < 40 {
                match &migrate_to(&mut source, to.address, "none 0 10000 KEYS k h q")[..] {
                    "+NOKEY|" => continue,
                    reply => assert_eq!(reply, "+OK|"),
                }
                moved += count_in(&mut target);
                target.ask("FLUSHALL");
                rounds += 1;
            }
            moved
        });
        let here = count_in(&mut from.connect());
        assert_eq!(moved + here, total.into_inner());
        assert!(moved > 0);
    }
}

struct StopOnDrop<'s>(&'s AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns the sum of the writes that the three keys have.
fn count_in(client: &mut TestClient) -> u64 {
    let mut sum = 0;
    for request in ["GET k", "HGET h f"] {
        let reply = client.ask(request);
        sum += reply
            .split('|')
            .nth(1)
            .filter(|text| !text.is_empty())
            .map_or(0, |text| text.parse::<u64>().expect("a number"));
    }
    sum + client.ask("LLEN q")[1..].trim_end_matches('|').parse::<u64>().expect("a number")
}

#[test]
fn transactions_and_scripts_move_keys() {
    let (from, to) = (start(), start());
    let (mut source, mut target) = (from.connect(), to.connect());
    source.ask("MSET k 1 l 2 m 3");
    let address = to.address;
    source.ask("MULTI");
    source.ask("INCR k");
    assert_eq!(migrate_to(&mut source, address, "none 0 1000 KEYS k l"), "+QUEUED|");
    source.ask("EXISTS k l m");
    assert_eq!(source.ask("EXEC"), "*3|:2|+OK|:1|");
    assert_eq!(target.ask("MGET k l"), "*2|$1|2|$1|2|", "as the transaction has left it");
    let script = format!(
        "EVAL return{{redis.call('MIGRATE','{}','{}',KEYS[1],'0','1000'),redis.call('EXISTS',KEYS[1])}} 1 m",
        address.ip(),
        address.port()
    );
    assert_eq!(source.ask(&script), "*2|+OK|:0|");
    assert_eq!(target.ask("GET m"), "$1|3|");
}

#[test]
fn removed_keys_are_told() {
    let (from, to) = (start(), start());
    let [mut source, mut runner, mut watcher, mut subscriber] = [(); 4].map(|()| from.connect());
    runner.ask("CONFIG SET notify-keyspace-events KEAm");
    runner.ask("XADD x 1-1 f v");
    runner.ask("XGROUP CREATE x g $");
    runner.ask("SET k v");
    let mut waiting = from.connect();
    block(&mut waiting, "XREADGROUP GROUP g c BLOCK 0 STREAMS x >", &mut runner);
    for request in ["WATCH k", "MULTI", "PING"] {
        watcher.ask(request);
    }
    subscriber.ask("PSUBSCRIBE __keyevent*");
    assert_eq!(migrate_to(&mut source, to.address, "none 0 1000 KEYS nope k x"), "+OK|");
    let mut heard = |event: &str, key: &str| {
        let message = show(&subscriber.reply());
        assert!(
            message.contains(&format!("__:{event}|")) && message.ends_with(&format!("|{key}|")),
            "{message}"
        );
    };
    heard("keymiss", "nope");
    heard("del", "k");
    heard("del", "x");
    assert_eq!(watcher.ask("EXEC"), "*-1|");
    assert!(show(&waiting.reply()).starts_with("-UNBLOCKED"), "the stream is gone");
    // As in Redis, a copy is no change, and neither is a key that is refused.
    runner.ask("SET k v");
    to.connect().ask("SET k v");
    heard("set", "k");
    assert_eq!(migrate_to(&mut source, to.address, "k 0 1000 COPY REPLACE"), "+OK|");
    assert!(migrate_to(&mut source, to.address, "k 0 1000").starts_with('-'));
    runner.ask("DEL k");
    heard("del", "k");
}

/// While a pause of writes lasts, nothing is removed.
#[test]
fn a_pause_postpones_the_end() {
    let server = start();
    let target = FakeTarget::start();
    let [mut client, mut other] = [(); 2].map(|()| server.connect());
    other.ask("SET k v");
    client.send(&request(target.address, "k 0 60000"));
    let mut held_at_target = target.restore();
    assert_eq!(other.ask("CLIENT PAUSE 100000 WRITE"), "+OK|");
    held_at_target.send(b"+OK\r\n");
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(1));
        assert_eq!(other.ask("GET k"), "$1|v|");
    }
    assert_eq!(other.ask("CLIENT UNPAUSE"), "+OK|");
    assert_eq!(show(&client.reply()), "+OK|");
    assert_eq!(other.ask("GET k"), "$-1|");
}

/// A stop waits for the target as long as for other requests, and then leaves it.
#[test]
fn a_stop_ends_migrations() {
    for answers in [true, false] {
        let stop_timeout = if answers { Duration::from_secs(60) } else { Duration::from_millis(50) };
        let server = start_with(ServerOptions { stop_timeout, ..options() }, Durability::Buffered);
        let target = FakeTarget::start();
        let mut client = server.connect();
        client.ask("SET k v");
        client.send(&request(target.address, "k 0 600000"));
        let mut held_at_target = target.restore();
        server.handle.shutdown();
        if answers {
            held_at_target.send(b"+OK\r\n");
            assert_eq!(show(&client.reply()), "+OK|");
        }
        let report = server.stop();
        assert_eq!(report.cut_short, usize::from(!answers));
    }
}

#[test]
fn a_key_moves_to_another_database_of_its_server() {
    if skipped("it has database 0 alone") {
        return;
    }
    let server = start();
    let mut client = server.connect();
    client.ask("SET k v");
    assert_eq!(migrate_to(&mut client, server.address, "k 2 10000"), "+OK|");
    assert_eq!(client.ask("EXISTS k"), ":0|");
    assert_eq!(client.ask("SELECT 2"), "+OK|");
    assert_eq!(client.ask("GET k"), "$1|v|");
    assert_eq!(migrate_to(&mut client, server.address, "k 0 10000"), "+OK|");
    assert_eq!(client.ask("DBSIZE"), ":0|");
    // A key that would move to itself waits for itself.
    assert_eq!(client.ask("SET k v"), "+OK|");
    assert_eq!(migrate_to(&mut client, server.address, "k 2 100 REPLACE"), READING);
    assert_eq!(client.ask("GET k"), "$1|v|");
}

/// More migrations than threads: each gets its turn.
#[test]
fn many_migrations_run_at_once() {
    let (from, to) = (start(), start());
    let mut clients: Vec<TestClient> = (0..50).map(|_| from.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.ask(&format!("SET k{number} {number}"));
        client.send(&request(to.address, &format!("k{number} 0 60000")));
    }
    for client in &mut clients {
        assert_eq!(show(&client.reply()), "+OK|");
    }
    assert_eq!((from.connect().ask("DBSIZE"), to.connect().ask("DBSIZE")), (":0|".into(), ":50|".into()));
}
