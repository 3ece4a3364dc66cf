//! Transactions on several workers: isolation, WATCH, limits, and replies that are held until their
//! writes are durable.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{
    TestClient, TestServer, encode, options, show, start, start_on, start_on_disk, start_with, wait_for,
};
use skein_disk::{DiskOptions, Values};
use skein_server::ServerOptions;
use skein_store::{Durability, IndexKind, StoreOptions};

const WORKERS: usize = 3;
const ACCOUNTS: u64 = 5;
/// Connections that move money, and the number of transfers of each.
const MOVERS: u64 = 6;
const MOVES: u64 = 400;

fn start_many() -> TestServer {
    start_with(ServerOptions { workers: WORKERS, ..options() }, Durability::Buffered)
}

/// Sends requests in one pipeline. Returns their replies.
fn pipeline(client: &mut TestClient, requests: &[String]) -> Vec<String> {
    let bytes: Vec<u8> = requests
        .iter()
        .flat_map(|words| encode(&words.split(' ').map(str::as_bytes).collect::<Vec<_>>()))
        .collect();
    client.send(&bytes);
    requests.iter().map(|_| show(&client.reply())).collect()
}

/// Returns the numbers in an array of bulk strings.
fn numbers(reply: &str) -> Vec<i64> {
    reply.split('|').filter_map(|line| line.parse().ok()).collect()
}

fn account(number: u64) -> String {
    format!("acct:{}", number % ACCOUNTS)
}

/// Transfers between accounts by EXEC, while other clients read all accounts in two ways: the sum
/// is always the same.
#[test]
fn nobody_sees_half_of_a_transfer() {
    let server = start_many();
    let mut client = server.connect();
    for number in 0..ACCOUNTS {
        assert_eq!(client.ask(&format!("SET {} 1000", account(number))), "+OK|");
    }
    let all = (0..ACCOUNTS).map(account).collect::<Vec<_>>();
    let total = 1000 * ACCOUNTS.cast_signed();
    let done = AtomicBool::new(false);
    let read = |client: &mut TestClient, way: usize| {
        if way == 0 {
            return numbers(&client.ask(&format!("MGET {}", all.join(" "))));
        }
        // In a transaction, separate reads show a single moment, too.
        let mut requests = vec!["MULTI".to_owned()];
        requests.extend(all.iter().map(|key| format!("GET {key}")));
        requests.push("EXEC".to_owned());
        numbers(&pipeline(client, &requests)[requests.len() - 1])
    };
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|way| {
                let (mut client, done, read) = (server.connect(), &done, &read);
                scope.spawn(move || {
                    let mut reads = 0;
                    while !done.load(Ordering::Relaxed) || reads == 0 {
                        let found = read(&mut client, way);
                        assert_eq!(found.len() as u64, ACCOUNTS);
                        assert_eq!(found.iter().sum::<i64>(), total, "{found:?}");
                        reads += 1;
                    }
                })
            })
            .collect();
        let movers: Vec<_> = (0..MOVERS)
            .map(|mover| {
                let mut client = server.connect();
                scope.spawn(move || {
                    for n in 0..MOVES {
                        let (from, to) = (account(mover + n), account(mover * 3 + n * 2 + 1));
                        let requests = ["MULTI", &format!("DECRBY {from} {}", n % 9), "PING"];
                        let mut requests = requests.map(str::to_owned).to_vec();
                        requests.extend([format!("INCRBY {to} {}", n % 9), "EXEC".to_owned()]);
                        let replies = pipeline(&mut client, &requests);
                        assert!(replies[4].starts_with("*3|:"), "{replies:?}");
                    }
                })
            })
            .collect();
        for mover in movers {
            mover.join().expect("a mover");
        }
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().expect("a reader");
        }
    });
    assert_eq!(read(&mut client, 0).iter().sum::<i64>(), total);
}

/// Read-modify-writes by WATCH on shared keys, each repeated until it succeeds: no update is lost.
/// Other commands on the same keys run at the same time.
#[test]
fn no_watched_change_is_lost() {
    let server = start_many();
    let aborted: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..MOVERS)
            .map(|thread| {
                let mut client = server.connect();
                scope.spawn(move || {
                    let mut aborted = 0;
                    for n in 0..MOVES / 4 {
                        let key = format!("count:{}", n % 2);
                        loop {
                            client.ask(&format!("WATCH {key}"));
                            let seen = numbers(&client.ask(&format!("GET {key}")).replacen('$', "", 1));
                            let value = seen.last().copied().unwrap_or(0).max(0) + 1;
                            let requests =
                                ["MULTI".to_owned(), format!("SET {key} {value}"), "EXEC".to_owned()];
                            if pipeline(&mut client, &requests)[2] == "*1|+OK|" {
                                break;
                            }
                            aborted += 1;
                        }
                        // A single command, possibly on another worker.
                        assert!(client.ask("INCR plain").starts_with(':'));
                        assert_eq!(client.ask(&format!("SET own:{thread} {n}")), "+OK|");
                    }
                    aborted
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).sum()
    });
    let mut client = server.connect();
    let found = numbers(&client.ask("MGET count:0 count:1 plain"));
    let each = (MOVERS * MOVES / 8).cast_signed();
    assert_eq!(found, [each, each, 2 * each], "{aborted} were aborted");
}

/// A key is renamed again and again: a reader finds it under exactly one of its names.
#[test]
fn a_renamed_key_is_always_somewhere() {
    let server = start_many();
    server.connect().ask("SET place:0 here");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = server.connect();
            for n in 0..2000 {
                let (from, to) = (n % 3, (n + 1) % 3);
                assert_eq!(client.ask(&format!("RENAME place:{from} place:{to}")), "+OK|");
                assert_eq!(client.ask(&format!("MSETNX place:{to} no other:{n} no")), ":0|");
            }
            done.store(true, Ordering::Relaxed);
        });
        scope.spawn(|| {
            let mut client = server.connect();
            while !done.load(Ordering::Relaxed) {
                assert_eq!(client.ask("EXISTS place:0 place:1 place:2"), ":1|");
            }
        });
    });
    assert_eq!(server.connect().ask("DBSIZE"), ":1|");
}

/// At `sync`, no reply of an EXEC is sent before its writes are durable. A transaction that only
/// reads does not wait.
#[test]
fn replies_are_held_until_they_are_durable() {
    let server = start_with(ServerOptions { workers: WORKERS, ..options() }, Durability::Sync);
    let mut client = server.connect();
    for n in 1..50 {
        let requests = ["MULTI", "INCR a", "INCR b", "EXEC", "RENAME a c", "RENAME c a"].map(str::to_owned);
        let before = server.store.stats().epoch;
        let replies = pipeline(&mut client, &requests);
        assert_eq!(replies[3], format!("*2|:{n}|:{n}|"));
        assert!(server.store.durable_epoch() >= before, "acknowledged before it was durable");
    }
    let read = ["MULTI", "GET a", "EXISTS b", "EXEC"].map(str::to_owned);
    assert_eq!(pipeline(&mut client, &read)[3], "*2|$2|49|:1|");
}

/// The queue and the watched keys have limits. The error tells the way out, and the connection
/// stays open.
#[test]
fn the_queue_and_the_watched_keys_are_bounded() {
    let server = start_with(
        ServerOptions { request_bytes_max: 4096, arg_bytes_max: 4096, ..options() },
        Durability::Buffered,
    );
    let mut client = server.connect();
    client.ask("MULTI");
    let long = "x".repeat(1000);
    for _ in 0..3 {
        assert_eq!(client.ask(&format!("SET a {long}")), "+QUEUED|");
    }
    let refused = client.ask(&format!("SET a {long}"));
    assert!(
        refused.starts_with("-ERR the requests queued since MULTI exceed the limit of 4096 bytes"),
        "{refused}"
    );
    assert_eq!(client.ask("GET a"), "+QUEUED|");
    assert_eq!(client.ask("EXEC"), "-EXECABORT Transaction discarded because of previous errors.|");
    assert_eq!(client.ask("GET a"), "$-1|");
    for n in 0..3 {
        assert_eq!(client.ask(&format!("WATCH {long}{n}")), "+OK|");
    }
    let refused = client.ask(&format!("WATCH {long}3"));
    assert!(
        refused.starts_with("-ERR the watched keys would take more than the limit of 4096 bytes"),
        "{refused}"
    );
    assert_eq!(client.ask("UNWATCH"), "+OK|");
    assert_eq!(client.ask(&format!("WATCH {long}3")), "+OK|");
}

/// The replies of a transaction share one limit. Commands beyond it still run; an error takes the
/// place of their reply.
#[test]
fn the_replies_of_a_transaction_are_bounded() {
    let server = start_with(ServerOptions { reply_bytes_max: 4096, ..options() }, Durability::Buffered);
    let mut client = server.connect();
    client.ask(&format!("SET a {}", "x".repeat(1500)));
    let requests = ["MULTI", "GET a", "GET a", "GET a", "INCR n", "EXEC", "GET n"].map(str::to_owned);
    let replies = pipeline(&mut client, &requests);
    assert_eq!(replies[5].matches("xxx|").count(), 2);
    assert_eq!(replies[5].matches("-ERR the replies of the transaction would be longer").count(), 1);
    assert!(replies[5].ends_with(":1|"), "{}", &replies[5][3000..]);
    assert_eq!(replies[6], "$1|1|");
}

/// Inside a transaction long commands run to their end, also over keys that the transaction has
/// written.
#[test]
fn long_commands_are_whole_in_a_transaction() {
    let server = start();
    let mut client = server.connect();
    for n in 0..3000 {
        client.send(&encode(&[b"SET", format!("k{n:05}").as_bytes(), b"v"]));
    }
    (0..3000).for_each(|_| drop(client.reply()));
    if client.ask("SK.FIRST").starts_with("-ERR a hash trie has no order") {
        return;
    }
    let requests = [
        "MULTI",
        "SET k99999 last",
        "SK.COUNT [k00001 (k01000",
        "SK.DELRANGE [k00010 [k02989",
        "SK.COUNT - +",
        "SK.RANGE [k00008 [k02991",
        "SK.LAST",
        "DBSIZE",
        "FLUSHALL",
        "DBSIZE",
        "SET a 1",
        "EXEC",
        "DBSIZE",
    ];
    let replies = pipeline(&mut client, &requests.map(str::to_owned));
    let range = "*8|$6|k00008|$1|v|$6|k00009|$1|v|$6|k02990|$1|v|$6|k02991|$1|v|";
    let expected = format!("*10|+OK|:999|:2980|:21|{range}*2|$6|k99999|$4|last|:21|+OK|:0|+OK|");
    assert_eq!((&replies[11], &replies[12][..]), (&expected, ":1|"));
}

/// HELLO changes the version of the protocol at its position within the reply.
#[test]
fn hello_changes_the_protocol_inside_exec() {
    let server = start();
    let mut client = server.connect();
    let requests = ["MULTI", "GET a", "HELLO 3", "GET a", "HGETALL a", "EXEC", "GET a"].map(str::to_owned);
    let replies = pipeline(&mut client, &requests);
    assert!(replies[5].starts_with("*4|$-1|%7|$6|server|"), "{}", replies[5]);
    assert!(replies[5].ends_with("|_|%0|"), "{}", replies[5]);
    assert_eq!(replies[6], "_|");
}

/// A connection that is lost in a transaction, or with watched keys, leaves nothing behind.
#[test]
fn a_lost_connection_drops_its_transaction() {
    let server = start();
    let mut client = server.connect();
    client.ask("WATCH a");
    client.ask("MULTI");
    client.ask("SET a 1");
    drop(client);
    let mut client = server.connect();
    assert_eq!(client.ask("GET a"), "$-1|");
    assert_eq!(client.ask("EXEC"), "-ERR EXEC without MULTI|");
}

/// Incident: the disk engine did not count keys that its thread removed after their expiry.
/// Consequence: EXEC ran although a watched absent key had been set. Fix: each removal of a main row
/// counts.
#[test]
fn exec_sees_that_a_watched_absent_key_was_set_and_has_expired() {
    let server = start();
    let (mut client, mut other) = (server.connect(), server.connect());
    assert_eq!(client.ask("WATCH brief"), "+OK|");
    assert_eq!(other.ask("SET brief 1 PX 1"), "+OK|");
    wait_for(|| other.ask("INFO stats").contains("expired_keys:1|"));
    assert_eq!(client.ask("MULTI"), "+OK|");
    assert_eq!(client.ask("PING"), "+QUEUED|");
    assert_eq!(client.ask("EXEC"), "*-1|");
}

/// Commands that need a snapshot or a checkpoint do not wait for the transaction that contains
/// them.
#[test]
fn snapshot_and_checkpoint_in_a_transaction_do_not_deadlock() {
    let store = StoreOptions { index: IndexKind::SkipList, logs: 2, ..StoreOptions::default() };
    let server = start_on(options(), store);
    let mut client = server.connect();
    let requests = [
        "SET a 1",
        "MULTI",
        "SET b 2",
        "BGSAVE",
        "SK.RANGE - + SNAPSHOT",
        "MSET c 3 d 4",
        "SK.RANGE [b [c SNAPSHOT NOVALUES",
        "SK.MEMORY",
        "INFO",
        "EXEC",
        "SK.RANGE [c + SNAPSHOT",
    ];
    let replies = pipeline(&mut client, &requests.map(str::to_owned));
    let expected = "*7|+OK|+Background saving scheduled|*4|$1|a|$1|1|$1|b|$1|2|+OK|*2|$1|b|$1|c|";
    assert!(replies[9].starts_with(expected), "{}", replies[9]);
    assert_eq!(replies[10], "*4|$1|c|$1|3|$1|d|$1|4|");
    assert_eq!(client.ask("SAVE"), "+OK|");
}

/// A transaction may write more than the cache of the disk engine has.
#[test]
fn on_disk_a_transaction_may_be_larger_than_the_cache() {
    let disk = DiskOptions { values: Values::Rows, cache_pages: 64, ..DiskOptions::default() };
    let server = start_on_disk(options(), disk);
    let mut client = server.connect();
    client.ask("MSET a before n 5");
    let long = "x".repeat(1 << 20);
    let requests = [
        "MULTI".to_owned(),
        "SET a after".to_owned(),
        "INCR a".to_owned(),
        format!("SET b {long}"),
        "INCR n".to_owned(),
        "STRLEN b".to_owned(),
        "EXEC".to_owned(),
        "MGET a n".to_owned(),
        "STRLEN b".to_owned(),
    ];
    let replies = pipeline(&mut client, &requests);
    let in_place = "-ERR value is not an integer or out of range|";
    assert_eq!(replies[6], format!("*5|+OK|{in_place}+OK|:6|:1048576|"));
    assert_eq!(replies[7..], ["*2|$5|after|$1|6|", ":1048576|"]);
}

/// Incident: on disk, DEL of an absent key counted as a removal, and an EXEC that watched the key failed.
#[test]
fn removing_an_absent_key_changes_no_watched_one() {
    let server = start_on_disk(options(), DiskOptions { values: Values::Rows, ..DiskOptions::default() });
    let (mut client, mut other) = (server.connect(), server.connect());
    for removal in ["DEL absent", "UNLINK absent", "SREM absent a", "LPOP absent"] {
        assert_eq!(client.ask("WATCH absent"), "+OK|");
        other.ask(removal);
        assert_eq!(client.ask("MULTI"), "+OK|");
        assert_eq!(client.ask("PING"), "+QUEUED|");
        assert_eq!(client.ask("EXEC"), "*1|+PONG|", "{removal}");
    }
    assert_eq!(client.ask("WATCH absent"), "+OK|");
    assert_eq!((other.ask("SET absent v"), other.ask("DEL absent")), ("+OK|".into(), ":1|".into()));
    client.ask("MULTI");
    assert_eq!(client.ask("EXEC"), "*-1|");
}
