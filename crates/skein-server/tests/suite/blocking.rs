//! Clients that wait for a key: their order, the writes that serve them, and the end of a wait.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::common::{TestClient, TestServer, encode, options, show, start_with, wait_for};
use skein_server::ServerOptions;
use skein_store::Durability;

pub fn send(client: &mut TestClient, words: &str) {
    let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
    client.send(&encode(&words));
}

pub fn answer(client: &mut TestClient) -> String {
    show(&client.reply())
}

fn start() -> TestServer {
    start_with(ServerOptions { workers: 4, ..options() }, Durability::Sync)
}

fn eval(client: &mut TestClient, script: &str) -> String {
    show(&client.call(&[b"EVAL", script.as_bytes(), b"0"]))
}

pub fn blocked(client: &mut TestClient) -> usize {
    client.ask("CLIENT LIST").matches("flags=b").count()
}

/// Sends a request and waits until the server has made its client wait.
pub fn block(client: &mut TestClient, words: &str, observer: &mut TestClient) {
    let before = blocked(observer);
    send(client, words);
    wait_for(|| blocked(observer) == before + 1);
}

#[test]
fn clients_are_served_in_the_order_of_waiting() {
    let server = start();
    let (mut observer, mut pusher) = (server.connect(), server.connect());
    let mut clients: Vec<TestClient> = (0..6).map(|_| server.connect()).collect();
    for client in &mut clients {
        block(client, "BLPOP other l 0", &mut observer);
    }
    assert_eq!(pusher.ask("RPUSH l 0 1 2 3"), ":4|");
    assert_eq!(pusher.ask("EXISTS l"), ":0|", "nobody else sees what others wait for");
    assert_eq!(pusher.ask("RPUSH l 4 5 6"), ":3|");
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(answer(client), format!("*2|$1|l|$1|{number}|"));
    }
    assert_eq!(pusher.ask("LRANGE l 0 -1"), "*1|$1|6|");
    assert_eq!(blocked(&mut observer), 0);
}

#[test]
fn transactions_and_scripts_serve_at_their_end() {
    let server = start();
    let (mut observer, mut pusher) = (server.connect(), server.connect());
    let mut client = server.connect();
    block(&mut client, "BLPOP l 0", &mut observer);
    for words in ["MULTI", "RPUSH l a", "RPUSH l b", "LPUSH l first"] {
        pusher.ask(words);
    }
    assert_eq!(pusher.ask("EXEC"), "*3|:1|:2|:3|");
    assert_eq!(answer(&mut client), "*2|$1|l|$5|first|");
    pusher.ask("DEL l");
    block(&mut client, "BLPOP l 0", &mut observer);
    for words in ["MULTI", "RPUSH l a", "DEL l", "EXEC"] {
        pusher.ask(words);
    }
    assert_eq!(blocked(&mut observer), 1, "the key is gone at the end");
    assert_eq!(eval(&mut pusher, "redis.call('rpush', 'l', 'x') return redis.call('llen', 'l')"), ":1|");
    assert_eq!(answer(&mut client), "*2|$1|l|$1|x|");
}

/// The slow log has a command when its wait ends, and INFO counts the error that ends it. Incident:
/// a command noted each waited key that it named, also one that it had not made. Consequence: a
/// client that waited for two keys was served from the one that the transaction had made last. Fix:
/// only keys that are there after their command are noted.
#[test]
fn the_key_that_was_made_first_serves() {
    let server = start();
    let (mut waiter, mut other) = (server.connect(), server.connect());
    for named in [
        "COPY nosuch a",
        "RENAMENX nosuch a",
        "LMOVE nosuch a LEFT LEFT",
        "SORT nosuch STORE a",
        "LMOVE a c LEFT LEFT",
    ] {
        block(&mut waiter, "BLPOP a b 0", &mut other);
        for words in ["MULTI", named, "RPUSH b 1", "RPUSH a 2"] {
            other.ask(words);
        }
        other.ask("EXEC");
        assert_eq!(answer(&mut waiter), "*2|$1|b|$1|1|", "{named}");
        assert_eq!(other.ask("DEL a b c"), ":1|");
    }
}

#[test]
fn waits_are_counted_when_they_end() {
    let strict = ServerOptions { workers: 2, slowlog_slower_than: Duration::ZERO, ..options() };
    let server = start_with(strict, Durability::Buffered);
    let (mut observer, mut client) = (server.connect(), server.connect());
    block(&mut client, "BLPOP l 0", &mut observer);
    assert_eq!(observer.ask("SLOWLOG RESET"), "+OK|");
    assert_eq!(observer.ask("RPUSH l a"), ":1|");
    assert_eq!(answer(&mut client), "*2|$1|l|$1|a|");
    assert!(observer.ask("SLOWLOG GET").contains("|$5|BLPOP|$1|l|$1|0|"));
    assert_eq!(observer.ask("XGROUP CREATE s g $ MKSTREAM"), "+OK|");
    assert_eq!(observer.ask("CONFIG RESETSTAT"), "+OK|");
    block(&mut client, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >", &mut observer);
    assert_eq!(observer.ask("XGROUP DESTROY s g"), ":1|");
    assert!(answer(&mut client).starts_with("-NOGROUP "));
    let info = observer.ask("INFO errorstats commandstats");
    assert!(info.contains("|errorstat_NOGROUP:count=1|"), "{info}");
    assert!(info.contains("|cmdstat_xreadgroup:calls=1,"), "{info}");
}

#[test]
fn every_way_to_make_a_key_serves() {
    let server = start();
    let (mut observer, mut pusher) = (server.connect(), server.connect());
    let mut client = server.connect();
    for made in [
        "LPUSH l v",
        "RPUSH l v",
        "RENAME m l",
        "RENAMENX m l",
        "COPY m l",
        "LMOVE m l LEFT LEFT",
        "RPOPLPUSH m l",
    ] {
        pusher.ask("DEL l m");
        pusher.ask("RPUSH m v");
        block(&mut client, "BRPOP l 0", &mut observer);
        pusher.ask(made);
        assert_eq!(answer(&mut client), "*2|$1|l|$1|v|", "{made}");
    }
    for made in
        ["ZADD z 1 v", "ZINCRBY z 1 v", "ZUNIONSTORE z 1 m", "ZRANGESTORE z m 0 -1", "RENAME m z", "COPY m z"]
    {
        pusher.ask("DEL z m");
        pusher.ask("ZADD m 1 v");
        block(&mut client, "BZPOPMIN z 0", &mut observer);
        pusher.ask(made);
        assert_eq!(answer(&mut client), "*3|$1|z|$1|v|$1|1|", "{made}");
    }
}

/// A key of another kind serves no client, and the clients that wait for it stay in their order.
#[test]
fn keys_of_another_kind_serve_nobody() {
    let server = start();
    let (mut observer, mut pusher) = (server.connect(), server.connect());
    let [mut of_list, mut of_set] = [(); 2].map(|()| server.connect());
    block(&mut of_list, "BLPOP k 0", &mut observer);
    block(&mut of_set, "BZPOPMAX k 0", &mut observer);
    for words in ["SADD k m", "DEL k", "SET k v", "DEL k", "HSET k f v", "DEL k"] {
        pusher.ask(words);
    }
    assert_eq!(blocked(&mut observer), 2);
    pusher.ask("ZADD k 5 m");
    assert_eq!(answer(&mut of_set), "*3|$1|k|$1|m|$1|5|");
    pusher.ask("LPUSH k v");
    assert_eq!(answer(&mut of_list), "*2|$1|k|$1|v|");
}

/// A moved element serves the client that waits for its destination, and so on.
#[test]
fn moves_serve_further_clients() {
    let server = start();
    let (mut observer, mut pusher) = (server.connect(), server.connect());
    let mut movers: Vec<TestClient> = (0..4).map(|_| server.connect()).collect();
    let mut last = server.connect();
    block(&mut last, "BLPOP l4 0", &mut observer);
    for (number, mover) in movers.iter_mut().enumerate().rev() {
        block(mover, &format!("BLMOVE l{number} l{} LEFT RIGHT 0", number + 1), &mut observer);
    }
    pusher.ask("RPUSH l0 v");
    for mover in &mut movers {
        assert_eq!(answer(mover), "$1|v|");
    }
    assert_eq!(answer(&mut last), "*2|$2|l4|$1|v|");
    // A destination of another kind is an error for the waiting client, and the element stays.
    block(&mut last, "BLMOVE a s LEFT RIGHT 0", &mut observer);
    pusher.ask("SET s v");
    pusher.ask("RPUSH a v");
    assert!(answer(&mut last).starts_with("-WRONGTYPE"));
    assert_eq!(pusher.ask("LRANGE a 0 -1"), "*1|$1|v|");
}

#[test]
fn a_wait_ends_by_time_by_unblock_and_with_the_connection() {
    let server = start();
    let (mut observer, mut pusher) = (server.connect(), server.connect());
    let mut client = server.connect();
    let begun = Instant::now();
    assert_eq!(client.ask("BLPOP l 0.15"), "*-1|");
    assert!(begun.elapsed() >= Duration::from_millis(150), "{:?}", begun.elapsed());
    let id = client.ask("CLIENT ID").trim_matches([':', '|']).to_owned();
    block(&mut client, "BLPOP l 0", &mut observer);
    assert_eq!(pusher.ask(&format!("CLIENT UNBLOCK {id}")), ":1|");
    assert_eq!(answer(&mut client), "*-1|");
    block(&mut client, "BLMOVE l m LEFT LEFT 100", &mut observer);
    assert_eq!(pusher.ask(&format!("CLIENT UNBLOCK {id} ERROR")), ":1|");
    assert_eq!(answer(&mut client), "-UNBLOCKED client unblocked via CLIENT UNBLOCK|");
    assert_eq!(pusher.ask(&format!("CLIENT UNBLOCK {id}")), ":0|");
    block(&mut client, "BLPOP l 0", &mut observer);
    drop(client);
    wait_for(|| blocked(&mut observer) == 0);
    let mut killed = server.connect();
    let id = killed.ask("CLIENT ID").trim_matches([':', '|']).to_owned();
    block(&mut killed, "BLPOP l 0", &mut observer);
    assert_eq!(pusher.ask(&format!("CLIENT KILL ID {id}")), ":1|");
    assert!(killed.try_reply().is_none());
    wait_for(|| blocked(&mut observer) == 0);
    assert_eq!(pusher.ask("RPUSH l v"), ":1|");
    assert_eq!(pusher.ask("LLEN l"), ":1|", "the element is nobody's");
}

/// Incident: CLIENT KILL and ACL DELUSER only told the worker of the killed client, which kept
/// waiting until this worker had read its mail. Consequence: a write that came first popped an
/// element for the dead client, and the element was lost. Fix: the client waits no more when the
/// killer is answered.
#[test]
fn no_element_goes_to_a_killed_client() {
    let server = start();
    let (mut observer, mut killer) = (server.connect(), server.connect());
    killer.ask("ACL SETUSER u on >p ~* +@all");
    for (wait, push, left) in
        [("BLPOP k 0", "RPUSH k x", "LLEN k"), ("BZPOPMIN k 0", "ZADD k 1 x", "ZCARD k")]
    {
        for by_user in [false, true] {
            for frame in [&[][..], &["MULTI", "EXEC"]] {
                killer.ask("ACL SETUSER u on >p ~* +@all");
                let mut client = server.connect();
                let id = client.ask("CLIENT ID").trim_matches([':', '|']).to_owned();
                assert_eq!(client.ask("AUTH u p"), "+OK|");
                block(&mut client, wait, &mut observer);
                let kill = if by_user { "ACL DELUSER u".to_owned() } else { format!("CLIENT KILL ID {id}") };
                let mut requests = vec![kill.as_str(), push];
                if let [begin, end] = frame {
                    requests.insert(0, begin);
                    requests.push(end);
                }
                let packet = requests.iter().flat_map(|words| {
                    let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
                    encode(&words)
                });
                killer.send(&packet.collect::<Vec<u8>>());
                for _ in &requests {
                    drop(answer(&mut killer));
                }
                assert_eq!(killer.ask(left), ":1|", "{requests:?}");
                assert!(client.try_reply().is_none(), "{requests:?}");
                assert_eq!(killer.ask("DEL k"), ":1|");
            }
        }
    }
}

/// Incident: a worker closed the connections of killed clients before it took the answers to
/// waiting ones. Consequence: a client that was served just before its end did not get the element,
/// which was nowhere else. Fix: it takes the answers first, and sends what may be sent before it
/// closes.
#[test]
fn a_client_that_was_served_before_it_was_killed_gets_its_element() {
    let server = start_with(ServerOptions { workers: 1, ..options() }, Durability::Buffered);
    let (mut observer, mut killer) = (server.connect(), server.connect());
    let mut client = server.connect();
    let id = client.ask("CLIENT ID").trim_matches([':', '|']).to_owned();
    block(&mut client, "BLPOP k 0", &mut observer);
    killer.send(
        &[encode(&[b"RPUSH", b"k", b"x"]), encode(&[b"CLIENT", b"KILL", b"ID", id.as_bytes()])].concat(),
    );
    assert_eq!((answer(&mut killer), answer(&mut killer)), (":1|".into(), ":1|".into()));
    assert_eq!(answer(&mut client), "*2|$1|k|$1|x|");
    assert!(client.try_reply().is_none());
    assert_eq!(killer.ask("EXISTS k"), ":0|");
}

/// Guards against a deadline that outlives its wait. A client that was served before it, and waits
/// again without an end, would get an empty answer then.
#[test]
fn a_wait_does_not_end_at_the_deadline_of_an_earlier_one() {
    // One worker, so that it meets the deadlines in their order.
    let server = start_with(ServerOptions { workers: 1, ..options() }, Durability::Sync);
    let (mut observer, mut pusher) = (server.connect(), server.connect());
    let (mut client, mut later) = (server.connect(), server.connect());
    block(&mut client, "BLPOP l 2", &mut observer);
    assert_eq!(pusher.ask("RPUSH l a"), ":1|");
    assert_eq!(answer(&mut client), "*2|$1|l|$1|a|");
    block(&mut client, "BLPOP l 0", &mut observer);
    assert_eq!(later.ask("BLPOP other 2"), "*-1|", "the earlier deadline is over, too");
    assert_eq!(blocked(&mut observer), 1);
    assert_eq!(pusher.ask("RPUSH l b"), ":1|");
    assert_eq!(answer(&mut client), "*2|$1|l|$1|b|");
}

/// Later requests of a pipeline wait for the blocking one, and their replies keep the order.
#[test]
fn later_requests_of_the_connection_wait() {
    let server = start();
    let (mut observer, mut pusher) = (server.connect(), server.connect());
    let mut client = server.connect();
    let requests: [&[&[u8]]; 4] =
        [&[b"SET", b"a", b"1"], &[b"BLPOP", b"l", b"0"], &[b"GET", b"a"], &[b"BLPOP", b"l", b"0.01"]];
    client.send(&requests.map(encode).concat());
    assert_eq!(answer(&mut client), "+OK|");
    wait_for(|| blocked(&mut observer) == 1);
    pusher.ask("SET a 2");
    pusher.ask("RPUSH l v");
    assert_eq!(answer(&mut client), "*2|$1|l|$1|v|");
    assert_eq!(answer(&mut client), "$1|2|");
    assert_eq!(answer(&mut client), "*-1|");
}

/// Many producers and consumers on several workers: each element is taken once, and none is left.
#[test]
fn nothing_is_lost_and_nothing_is_taken_twice() {
    const PRODUCERS: usize = 3;
    const CONSUMERS: usize = 5;
    const EACH: usize = 400;
    let server = start_with(ServerOptions { workers: 4, ..options() }, Durability::Buffered);
    let taken = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for number in 0..CONSUMERS {
            let (server, taken) = (&server, &taken);
            scope.spawn(move || {
                let mut client = server.connect();
                let command = match number % 3 {
                    0 => "BLPOP a b 0",
                    1 => "BRPOP b a 0",
                    _ => "BLMPOP 0 2 a b LEFT COUNT 3",
                };
                loop {
                    let reply = client.ask(command);
                    let elements: Vec<String> =
                        reply.split('|').filter(|text| text.starts_with("e:")).map(str::to_owned).collect();
                    assert!(!elements.is_empty() || reply.contains("stop"), "{reply}");
                    taken.lock().unwrap().extend(elements);
                    if reply.contains("stop") {
                        return;
                    }
                }
            });
        }
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|producer| {
                let server = &server;
                scope.spawn(move || {
                    let mut client = server.connect();
                    for number in 0..EACH {
                        let key = if number % 2 == 0 { "a" } else { "b" };
                        let element = format!("e:{producer}:{number}");
                        match number % 4 {
                            0 => eval(
                                &mut client,
                                &format!("return redis.call('rpush', '{key}', '{element}')"),
                            ),
                            1 => client.ask(&format!("LPUSH {key} {element}")),
                            _ => client.ask(&format!("RPUSH {key} {element}")),
                        };
                    }
                })
            })
            .collect();
        for producer in producers {
            producer.join().expect("a producer");
        }
        let mut client = server.connect();
        wait_for(|| taken.lock().unwrap().len() >= PRODUCERS * EACH);
        for _ in 0..CONSUMERS {
            client.ask("RPUSH a stop");
            wait_for(|| client.ask("EXISTS a b") == ":0|");
        }
    });
    let taken = taken.into_inner().unwrap();
    let distinct: BTreeSet<&String> = taken.iter().collect();
    assert_eq!((taken.len(), distinct.len()), (PRODUCERS * EACH, PRODUCERS * EACH));
}
