//! Streams: clients that wait for entries, long replies in slices, consumers that share the work,
//! restarts. Short replies are in `golden/streams.txt`; random sequences are compared with Redis in
//! `differential`, and with a map over both engines in the data model's suite.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Read as _;
use std::time::{Duration, Instant};

use crate::blocking::{answer, block, blocked, send};
use crate::common::{TestClient, TestServer, assert_ratio, options, show, skipped, start_with, wait_for};
use skein_server::ServerOptions;
use skein_store::Durability;

fn start() -> TestServer {
    start_with(ServerOptions { workers: 4, ..options() }, Durability::Buffered)
}

/// The reply with one entry `1-n` of the stream `s`, with the field `f` of this value.
fn one_entry(n: u32, value: &str) -> String {
    format!("*1|*2|$1|s|*1|*2|$3|1-{n}|*2|$1|f|${}|{value}|", value.len())
}

/// As in Redis, `~` removes whole groups of 100 additions, counted from the first one.
#[test]
fn trimming_with_a_tilde_removes_whole_groups() {
    let server = start();
    let mut client = server.connect();
    for number in 1..=1_000 {
        client.ask(&format!("XADD s {number}-1 f v"));
    }
    for (request, left) in [
        ("XTRIM s MAXLEN 666", 666),
        ("XTRIM s MAXLEN = 555", 555),
        ("XTRIM s MAXLEN ~ 444", 500),
        ("XTRIM s MAXLEN ~ 400", 400),
        ("XTRIM s MINID ~ 799-1", 300),
        ("XTRIM s MAXLEN ~ 201 LIMIT 0", 300),
        ("XTRIM s MAXLEN ~ 0", 0),
    ] {
        client.ask(request);
        assert_eq!(client.ask("XLEN s"), format!(":{left}|"), "{request}");
    }
}

#[test]
fn every_reader_gets_a_new_entry() {
    let server = start();
    let (mut observer, mut writer) = (server.connect(), server.connect());
    let mut readers: Vec<TestClient> = (0..5).map(|_| server.connect()).collect();
    for reader in &mut readers {
        block(reader, "XREAD BLOCK 0 STREAMS other s $ $", &mut observer);
    }
    assert_eq!(writer.ask("XADD s 1-1 f v"), "$3|1-1|");
    for reader in &mut readers {
        assert_eq!(answer(reader), one_entry(1, "v"));
    }
    // `$` is the last id at the time of the request, also of a stream that is made later.
    block(&mut readers[0], "XREAD BLOCK 0 STREAMS s $", &mut observer);
    assert_eq!(writer.ask("DEL s"), ":1|");
    assert_eq!(writer.ask("XADD s 1-1 f v"), "$3|1-1|");
    assert_eq!(blocked(&mut observer), 1, "the id is not behind the one it waits for");
    assert_eq!(writer.ask("XADD s 1-2 f w"), "$3|1-2|");
    assert_eq!(answer(&mut readers[0]), one_entry(2, "w"));
    block(&mut readers[0], "XREAD BLOCK 0 STREAMS s 1-7", &mut observer);
    writer.ask("XADD s 1-6 f a");
    writer.ask("XADD s 1-7 f b");
    assert_eq!(blocked(&mut observer), 1);
    for words in ["MULTI", "XADD s 1-8 f c", "XADD s 1-9 f d"] {
        writer.ask(words);
    }
    writer.ask("EXEC");
    let both = "*1|*2|$1|s|*2|*2|$3|1-8|*2|$1|f|$1|c|*2|$3|1-9|*2|$1|f|$1|d|";
    assert_eq!(answer(&mut readers[0]), both);
}

#[test]
fn a_wait_ends_by_timeout_unblock_and_disconnect() {
    let server = start();
    let (mut observer, mut client) = (server.connect(), server.connect());
    assert_eq!(client.ask("XREAD BLOCK 10 STREAMS s $"), "*-1|");
    client.ask("XGROUP CREATE s g $ MKSTREAM");
    assert_eq!(client.ask("XREADGROUP GROUP g c BLOCK 10 STREAMS s >"), "*-1|");
    assert_eq!(client.ask("XINFO CONSUMERS s g"), "*0|", "as in Redis 7.0, an empty read makes no consumer");
    let number = client.ask("CLIENT ID");
    let number = number.trim_matches([':', '|']);
    block(&mut client, "XREAD BLOCK 0 STREAMS s $", &mut observer);
    assert_eq!(observer.ask(&format!("CLIENT UNBLOCK {number}")), ":1|");
    assert_eq!(answer(&mut client), "*-1|");
    block(&mut client, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >", &mut observer);
    drop(client);
    wait_for(|| blocked(&mut observer) == 0);
    assert_eq!(observer.ask("XADD s 1-1 f v"), "$3|1-1|");
    assert_eq!(observer.ask("XPENDING s g"), "*4|:0|$-1|$-1|*-1|", "nobody waits, so nobody owns it");
}

#[test]
fn consumers_are_served_in_the_order_of_waiting() {
    let server = start();
    let (mut observer, mut writer) = (server.connect(), server.connect());
    writer.ask("XGROUP CREATE s g $ MKSTREAM");
    let mut consumers: Vec<TestClient> = (0..4).map(|_| server.connect()).collect();
    for (number, consumer) in consumers.iter_mut().enumerate() {
        block(consumer, &format!("XREADGROUP GROUP g c{number} COUNT 1 BLOCK 0 STREAMS s >"), &mut observer);
    }
    for n in 1..=2 {
        writer.ask(&format!("XADD s 1-{n} f v"));
    }
    for (n, consumer) in (1..).zip(&mut consumers[..2]) {
        assert_eq!(answer(consumer), one_entry(n, "v"));
    }
    assert_eq!(blocked(&mut observer), 2);
    assert_eq!(writer.ask("XGROUP DESTROY s g"), ":1|");
    for consumer in &mut consumers[2..] {
        let gone = "-NOGROUP the consumer group this client was blocked on no longer exists|";
        assert_eq!(answer(consumer), gone);
    }
}

/// In Redis, a client of XREADGROUP is told that its stream was removed.
#[test]
fn consumers_hear_that_their_stream_is_gone() {
    let server = start();
    let (mut observer, mut writer, mut client) = (server.connect(), server.connect(), server.connect());
    for gone in
        ["DEL s", "UNLINK s", "RENAME s t", "SET s v", "EXPIRE s -1", "PEXPIREAT s 1", "FLUSHALL", "FLUSHDB"]
    {
        writer.ask("DEL s t");
        writer.ask("XGROUP CREATE s g $ MKSTREAM");
        block(&mut client, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >", &mut observer);
        writer.ask(gone);
        assert_eq!(answer(&mut client), "-UNBLOCKED the stream key no longer exists|", "{gone}");
    }
    writer.ask("DEL s");
    writer.ask("XGROUP CREATE s g $ MKSTREAM");
    block(&mut client, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >", &mut observer);
    for words in ["MULTI", "DEL s", "SADD s m", "EXEC"] {
        writer.ask(words);
    }
    assert_eq!(answer(&mut client), "-UNBLOCKED the stream key no longer exists|");
    writer.ask("DEL s");
    block(&mut client, "XREAD BLOCK 0 STREAMS s $", &mut observer);
    writer.ask("SET s v");
    writer.ask("DEL s");
    writer.ask("XADD s 1-1 f v");
    assert_eq!(answer(&mut client), one_entry(1, "v"), "a client of XREAD waits on");
}

/// Returns the ids of a reply of XREADGROUP over one stream.
fn ids_of(reply: &str) -> Vec<String> {
    let is_id = |part: &&str| part.contains('-') && part.starts_with(|first: char| first.is_ascii_digit());
    reply.split('|').filter(is_id).map(str::to_owned).collect()
}

#[test]
fn consumers_share_all_entries_and_none_twice() {
    const ENTRIES: usize = 600;
    let server = start();
    server.connect().ask("XGROUP CREATE s g $ MKSTREAM");
    let seen = std::thread::scope(|scope| {
        let consumers: Vec<_> = (0..5)
            .map(|number| {
                let mut client = server.connect();
                scope.spawn(move || {
                    let mut seen = Vec::new();
                    loop {
                        let read = format!("XREADGROUP GROUP g c{number} COUNT 3 BLOCK 500 STREAMS s >");
                        let ids = ids_of(&client.ask(&read));
                        if ids.is_empty() {
                            return seen;
                        }
                        let acknowledged = client.ask(&format!("XACK s g {}", ids.join(" ")));
                        assert_eq!(acknowledged, format!(":{}|", ids.len()));
                        seen.extend(ids);
                    }
                })
            })
            .collect();
        for _ in 0..3 {
            let mut client = server.connect();
            scope.spawn(move || (0..ENTRIES / 3).for_each(|_| _ = client.ask("XADD s * f v")));
        }
        consumers.into_iter().flat_map(|consumer| consumer.join().expect("a consumer")).collect::<Vec<_>>()
    });
    assert_eq!(seen.len(), ENTRIES);
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), ENTRIES, "an entry was delivered twice");
    assert_eq!(server.connect().ask("XPENDING s g"), "*4|:0|$-1|$-1|*-1|");
}

/// Adds entries `1-1` to `1-n` to the stream `s` by a script.
fn fill(client: &mut TestClient, n: u32) {
    let script = format!("for i = 1, {n} do redis.call('XADD', 's', '1-' .. i, 'f', i) end");
    assert_eq!(show(&client.call(&[b"EVAL", script.as_bytes(), b"0"])), "$-1|");
}

/// Returns the first and the last id of a reply, and their number.
fn ends(reply: &str) -> (String, String, usize) {
    let ids = ids_of(reply);
    (ids[0].clone(), ids[ids.len() - 1].clone(), ids.len())
}

#[test]
fn long_replies_come_in_slices_and_show_one_moment() {
    let server = start();
    let mut client = server.connect();
    fill(&mut client, 5000);
    let all = ("1-1".to_owned(), "1-5000".to_owned(), 5000);
    let backward = ("1-5000".to_owned(), "1-1".to_owned(), 5000);
    assert_eq!(ends(&client.ask("XRANGE s - +")), all);
    assert_eq!(ends(&client.ask("XREVRANGE s + -")), backward);
    assert_eq!(ends(&client.ask("XREVRANGE s 1-4000 - COUNT 3000")).0, "1-4000");
    assert_eq!(ends(&client.ask("XRANGE s 1-1000 1-3999")), ("1-1000".to_owned(), "1-3999".to_owned(), 3000));
    assert_eq!(ends(&client.ask("XREAD STREAMS s 0")), all);
    client.ask("COPY s t");
    let both = client.ask("XREAD COUNT 4000 STREAMS s t 0 1-500");
    assert_eq!(ids_of(&both).len(), 8000);
    assert!(both.starts_with("*2|*2|$1|s|*4000|") && both.contains("|*2|$1|t|*4000|*2|$5|1-501|"));
    client.ask("HELLO 3");
    assert!(client.ask("XREAD STREAMS s t 0 0").starts_with("%2|$1|s|*5000|"));
    client.ask("HELLO 2");
    for words in ["MULTI", "XRANGE s - +", "XTRIM s MAXLEN 10"] {
        client.ask(words);
    }
    let reply = client.ask("EXEC");
    assert!(reply.starts_with("*2|*5000|") && reply.ends_with(":4990|"), "{}", &reply[..20]);
}

#[test]
fn a_stream_survives_a_restart_of_its_engine() {
    let server = start();
    let mut client = server.connect();
    fill(&mut client, 300);
    for words in [
        "XGROUP CREATE s g 0",
        "XREADGROUP GROUP g a COUNT 200 STREAMS s >",
        "XCLAIM s g b 0 1-5 JUSTID",
        "XACK s g 1-1 1-2",
        "XDEL s 1-7 1-250",
        "XTRIM s MAXLEN 150",
        "EXPIRE s 10000",
    ] {
        client.ask(words);
    }
    let asked = ["XLEN s", "XRANGE s - +", "XPENDING s g", "XINFO GROUPS s", "XINFO STREAM s", "TYPE s"];
    let before = asked.map(|words| client.ask(words));
    client.ask("SK.CHECKPOINT");
    std::thread::sleep(Duration::from_millis(10));
    assert_eq!(asked.map(|words| client.ask(words)), before);
    client.ask("RENAME s t");
    client.ask("COPY t s");
    assert_eq!(asked.map(|words| client.ask(words)), before, "a copy is the same");
}

/// The name of a group or a consumer is a part of a member's name, which has a limit.
#[test]
fn a_name_over_the_limit_is_refused_and_changes_nothing() {
    let server = start();
    let mut client = server.connect();
    client.ask("XADD s 1-1 f v");
    client.ask("XGROUP CREATE s g 0");
    let long = vec![b'n'; 70_000];
    let refused = show(&client.call(&[b"XGROUP", b"CREATE", b"s", &long, b"0"]));
    assert!(refused.starts_with("-ERR ") && refused.contains("limit"), "{refused}");
    let refused = show(&client.call(&[b"XREADGROUP", b"GROUP", b"g", &long, b"STREAMS", b"s", b">"]));
    assert!(refused.starts_with("-ERR ") && refused.contains("limit"), "{refused}");
    assert_eq!(client.ask("XPENDING s g"), "*4|:0|$-1|$-1|*-1|");
    assert_eq!(client.ask("XREADGROUP GROUP g c STREAMS s >"), one_entry(1, "v"));
}

/// Incident: the deletion of a stream told the clients of its groups that they wait in vain, and
/// its expiry did not. Consequence: an XREADGROUP that waits without a timeout waited for ever for
/// a stream with PEXPIRE. Fix: the thread that removes the key tells them, and so does an eviction.
#[test]
fn readers_of_a_group_hear_that_their_stream_has_expired() {
    const GONE: &str = "-UNBLOCKED the stream key no longer exists|";
    if skipped("keys of another database have a prefix") {
        return;
    }
    let server = start();
    let (mut observer, mut writer) = (server.connect(), server.connect());
    let (mut of_one, mut of_two, mut reads) = (server.connect(), server.connect(), server.connect());
    assert_eq!(writer.ask("SELECT 3"), "+OK|");
    for stream in ["s", "t"] {
        assert_eq!(writer.ask(&format!("XGROUP CREATE {stream} g $ MKSTREAM")), "+OK|");
    }
    for client in [&mut of_one, &mut of_two, &mut reads] {
        assert_eq!(client.ask("SELECT 3"), "+OK|");
    }
    block(&mut of_one, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >", &mut observer);
    block(&mut of_two, "XREADGROUP GROUP g c BLOCK 0 STREAMS t s > >", &mut observer);
    block(&mut reads, "XREAD BLOCK 0 STREAMS s $", &mut observer);
    assert_eq!(writer.ask("PEXPIRE s 20"), ":1|");
    assert_eq!([answer(&mut of_one), answer(&mut of_two)], [GONE, GONE]);
    // XREAD waits for a stream that is not there yet.
    assert_eq!(blocked(&mut observer), 1);
    writer.ask("XADD s 1-1 f v");
    assert_eq!(answer(&mut reads), one_entry(1, "v"));
}

/// See the test above.
#[test]
fn readers_of_a_group_hear_that_their_stream_was_evicted() {
    if crate::common::trie().is_some() {
        return; // The disk engine evicts no keys.
    }
    let server = start();
    let (mut observer, mut writer, mut reader) = (server.connect(), server.connect(), server.connect());
    assert_eq!(writer.ask("XGROUP CREATE s g $ MKSTREAM"), "+OK|");
    block(&mut reader, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >", &mut observer);
    assert_eq!(writer.ask("CONFIG SET maxmemory-policy allkeys-random"), "+OK|");
    assert_eq!(writer.ask("CONFIG SET maxmemory 8mb"), "+OK|");
    let value = "v".repeat(20_000);
    let mut number = 0;
    wait_for(|| {
        let some: Vec<String> = (number..number + 50).map(|key| format!("SET k{key} {value}")).collect();
        number += 50;
        writer.ask_all(&some);
        writer.ask("EXISTS s") == ":0|"
    });
    assert_eq!(answer(&mut reader), "-UNBLOCKED the stream key no longer exists|");
}

/// Incident: each slice of a reply with many streams summed up the memory of all that were left,
/// and each stream was a slice of its own. Consequence: XREAD with 10,000 names took 5 s, and the
/// time grew with the square of the names. Fix: the sum is kept, and a slice writes many streams.
#[test]
fn the_time_for_each_stream_does_not_grow_with_their_number() {
    let server = start();
    let mut client = server.connect();
    client.ask("XADD s 1-1 f v");
    let part = b"*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n";
    let client = RefCell::new(client);
    let time = |names: usize| {
        let expected = [format!("*{names}\r\n").as_bytes(), &part.repeat(names)].concat();
        let request = format!("XREAD STREAMS{}{}", " s".repeat(names), " 0".repeat(names));
        let (start, mut reply) = (Instant::now(), vec![0; expected.len()]);
        let mut client = client.borrow_mut();
        send(&mut client, &request);
        client.stream.read_exact(&mut reply).expect("a reply");
        assert!(reply == expected, "{names} names");
        start.elapsed()
    };
    let shortest = |names| (0..3).map(|_| time(names)).min().unwrap_or_default();
    assert_ratio("XREAD of 1,000 and of 32,000 names", 32 * 4, || shortest(1_000), || shortest(32_000));
}
