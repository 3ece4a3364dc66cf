//! A server at its memory limit: rejected writes, evicted keys, and small requests that must still
//! be answered. (`golden/memory.txt` has the errors of each command.)

mod uses;

use std::time::Duration;

use crate::common::{PATIENCE, TestClient, TestServer, encode, options, show, skipped, start_on, wait_for};
use skein_store::{Durability, Eviction, StoreLimits, StoreOptions};

const OOM: &str = "-OOM command not allowed when used memory > 'maxmemory'.|";

fn start(limit: usize, eviction: Eviction) -> TestServer {
    let limits = StoreLimits { memory_bytes: Some(limit), eviction, ..StoreLimits::default() };
    start_on(
        options(),
        StoreOptions { durability: Durability::Buffered, logs: 2, limits, ..StoreOptions::default() },
    )
}

fn number(client: &mut TestClient, section: &str, name: &str) -> usize {
    let info = client.ask(&format!("INFO {section}"));
    let line = info.split('|').find_map(|line| line.strip_prefix(&format!("{name}:")).map(str::to_owned));
    line.unwrap_or_else(|| panic!("{name} in {info}")).parse().expect("a number")
}

/// Returns the bytes that count towards the limit.
fn counted(client: &mut TestClient) -> usize {
    let info = client.ask("INFO memory");
    let of = |name: &str| -> usize {
        let found = info.split('|').find_map(|line| line.strip_prefix(name)).expect("a line");
        found.trim_start_matches(':').parse().expect("a number")
    };
    of("used_memory:") - of("mem_not_counted_for_evict:") - of("unreclaimed_bytes:")
}

#[test]
fn without_eviction_writes_stop_at_the_memory_limit() {
    let limit = 8 << 20;
    let server = start(limit, Eviction::None);
    let mut client = server.connect();
    let value = vec![7; 10_000];
    let mut taken = 0;
    let refused = (0..2_000).any(|i: u32| {
        let reply = client.call(&[b"SET", &i.to_be_bytes(), &value]);
        taken += u32::from(reply == b"+OK\r\n");
        show(&reply) == OOM
    });
    assert!(refused && taken > 400, "{taken}");
    let used = counted(&mut client);
    assert!(used <= limit && used > limit - (limit / 8), "{used}");
    // A pipeline that fits only in part.
    let mut pipeline = Vec::new();
    for i in 0..64_u32 {
        pipeline.extend(encode(&[b"SET", &(10_000 + i).to_be_bytes(), &value]));
    }
    client.send(&pipeline);
    let fine = (0..64).filter(|_| client.reply() == b"+OK\r\n").count();
    assert!(fine < 64 && counted(&mut client) <= limit, "{fine}");
    // A write that would grow a value much is rejected before it allocates, however few bytes it
    // sends.
    assert_eq!(client.ask("DEL big"), ":0|");
    let before = client.ask("DBSIZE");
    assert_eq!(client.ask("SETRANGE big 400000000 x"), OOM);
    assert_eq!(client.ask("SETBIT big 3000000000 1"), OOM);
    assert_eq!(client.ask("DBSIZE"), before);
    // Reads and removals still run, and removals free memory.
    assert_eq!(client.call(&[b"GET", &0_u32.to_be_bytes()]).len(), value.len() + 10);
    for i in 0..200_u32 {
        assert_eq!(show(&client.call(&[b"DEL", &i.to_be_bytes()])), ":1|");
    }
    let again = (0..100).any(|_| client.ask("SET small 1") == "+OK|");
    assert!(again, "{}", client.ask("INFO memory"));
    assert_eq!(client.ask("CONFIG SET maxmemory 0"), "+OK|");
    assert_eq!(show(&client.call(&[b"SET", b"any", &value])), "+OK|");
    assert_eq!(number(&mut client, "stats", "evicted_keys"), 0);
}

#[test]
fn with_eviction_writes_continue_and_used_keys_stay() {
    let limit = 8 << 20;
    let server = start(limit, Eviction::None);
    let mut client = server.connect();
    assert_eq!(client.ask("CONFIG SET maxmemory-policy allkeys-lru"), "+OK|");
    for i in 0..50 {
        assert_eq!(client.ask(&format!("SET hot{i} 1")), "+OK|");
    }
    let (mut sent, value) = (0_u32, vec![7; 500]);
    for _ in 0..500 {
        let mut pipeline = Vec::new();
        for _ in 0..100 {
            sent += 1;
            pipeline.extend(encode(&[b"SET", format!("key{sent}").as_bytes(), &value]));
        }
        client.send(&pipeline);
        assert!((0..100).all(|_| client.reply() == b"+OK\r\n"));
        let present = (0..50).filter(|i| client.ask(&format!("GET hot{i}")) == "$1|1|").count();
        assert!(present >= 49, "{present}");
    }
    let used = counted(&mut client);
    assert!(used <= limit, "{used} of {limit}");
    let evicted = number(&mut client, "stats", "evicted_keys");
    let left: usize = client.ask("DBSIZE").trim_matches([':', '|']).parse().unwrap();
    assert!(evicted > 20_000 && left > 6_000, "{evicted} {left}");
    // A transaction makes room for all its writes before it starts.
    assert_eq!(client.ask("MULTI"), "+OK|");
    for i in 0..20 {
        assert_eq!(show(&client.call(&[b"SET", format!("m{i}").as_bytes(), &value])), "+QUEUED|");
    }
    assert_eq!(client.ask("EXEC"), format!("*20|{}", "+OK|".repeat(20)));
    // A lowered limit takes effect with the next writes.
    assert_eq!(client.ask("CONFIG SET maxmemory 4mb"), "+OK|");
    let mut down = false;
    for i in 0..2_000 {
        assert_eq!(client.ask(&format!("SET key{i} 1")), "+OK|");
        down |= i % 100 == 0 && counted(&mut client) <= 4 << 20;
    }
    assert!(down, "{}", client.ask("INFO memory"));
}

#[test]
fn memory_commands_report_the_parts() {
    let server = start(64 << 20, Eviction::Lru);
    let mut client = server.connect();
    for i in 0..1_000 {
        client.call(&[b"SET", format!("key{i}").as_bytes(), &[7; 1_000]]);
    }
    let usage: usize = client.ask("MEMORY USAGE key7").trim_matches([':', '|']).parse().unwrap();
    assert!((1_000..1_300).contains(&usage), "{usage}");
    for i in 0..500 {
        client.ask(&format!("HSET h f{i} value{i}"));
        client.ask(&format!("ZADD z {i} member{i}"));
    }
    for key in ["h", "z"] {
        let usage: usize =
            client.ask(&format!("MEMORY USAGE {key}")).trim_matches([':', '|']).parse().unwrap();
        assert!((20_000..200_000).contains(&usage), "{key}: {usage}");
    }
    let parts = client.ask("SK.MEMORY");
    for part in ["node_bytes", "key_bytes", "row_bytes", "buffer_bytes", "unreclaimed_bytes", "used_bytes"] {
        assert!(parts.contains(part), "{parts}");
    }
    assert!(client.ask("MEMORY STATS").contains("total.allocated"));
    assert!(client.ask("MEMORY DOCTOR").contains("The server uses less than 5 MiB of memory"));
    assert_eq!(client.ask("MEMORY PURGE"), "+OK|");
    // Connections count, and their memory is returned when they close.
    let before = number(&mut client, "memory", "mem_clients_normal");
    let mut others: Vec<TestClient> = (0..50).map(|_| server.connect()).collect();
    for other in &mut others {
        assert_eq!(other.ask("PING"), "+PONG|");
    }
    assert!(number(&mut client, "memory", "mem_clients_normal") > before + 50 * 200);
    drop(others);
    let back = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        number(&mut client, "memory", "mem_clients_normal") <= before + 1_000
    });
    assert!(back);
}

/// Incident: a request larger than the limit, or such a pipeline, evicted every key before it was
/// rejected.
#[test]
fn writes_over_the_limit_evict_nothing_pipelines_what_they_need() {
    let server = start(16 << 20, Eviction::Lru);
    let mut client = server.connect();
    for i in 0..1_000_u32 {
        assert_eq!(client.call(&[b"SET", &i.to_be_bytes(), &[7; 4_000]]), b"+OK\r\n");
    }
    let large = vec![7; (16 << 20) + 1];
    assert_eq!(show(&client.call(&[b"SET", b"large", &large])), OOM);
    assert_eq!(show(&client.call(&[b"APPEND", b"large", &large])), OOM);
    assert_eq!(client.ask("MULTI"), "+OK|");
    assert_eq!(show(&client.call(&[b"SET", b"large", &large])), OOM);
    assert!(client.ask("EXEC").starts_with("-EXECABORT"));
    drop(large);
    assert_eq!((client.ask("DBSIZE"), number(&mut client, "stats", "evicted_keys")), (":1000|".into(), 0));
    // 40 MB that the server reads a megabyte at a time.
    let value = vec![8; 650_000];
    let mut other = server.connect();
    for round in 0..8_u32 {
        let mut pipeline = Vec::new();
        for i in 0..8_u32 {
            pipeline.extend(encode(&[b"SET", &(10_000 + round * 8 + i).to_be_bytes(), &value]));
        }
        client.send(&pipeline);
        let fine = (0..8).filter(|_| client.reply() == b"+OK\r\n").count();
        assert_eq!(fine, 8, "{}", other.ask("INFO memory"));
        let kept: usize = other.ask("DBSIZE").trim_matches([':', '|']).parse().unwrap();
        assert!(kept > 10, "{kept} after {round}: {}", other.ask("INFO memory"));
    }
}

/// Incident: a copy could exceed the limit by all bytes that it copied, and the requests that a
/// client had queued since its MULTI were not counted.
#[test]
fn copies_reserve_memory_and_queues_count() {
    let server = start(8 << 20, Eviction::None);
    let mut client = server.connect();
    assert_eq!(client.call(&[b"SET", b"large", &vec![7; 3_000_000]]), b"+OK\r\n");
    for i in 0..20_000 {
        client.send(&encode(&[b"ZADD", b"set", b"1", format!("member{i}").as_bytes()]));
    }
    assert!((0..20_000).all(|_| client.reply() == b":1\r\n"));
    assert_eq!(client.ask("COPY absent other"), ":0|");
    let copies = (0..10).take_while(|i| client.ask(&format!("COPY large copy{i}")) == ":1|").count();
    assert!(copies < 2, "{copies}");
    assert_eq!(client.ask("COPY large copy"), OOM);
    assert!(counted(&mut client) <= 8 << 20);
    let unions =
        (0..10).take_while(|i| client.ask(&format!("ZUNIONSTORE union{i} 1 set")) == ":20000|").count();
    assert!(unions < 5, "{unions}");
    assert_eq!(client.ask("ZUNIONSTORE union 1 set"), OOM);
    assert!(counted(&mut client) <= (8 << 20) + (1 << 20), "{}", client.ask("INFO memory"));
    assert_eq!(client.ask("CONFIG SET maxmemory 0"), "+OK|");
    let mut other = server.connect();
    let before = number(&mut other, "memory", "mem_clients_normal");
    assert_eq!(client.ask("MULTI"), "+OK|");
    for _ in 0..20 {
        assert_eq!(show(&client.call(&[b"SET", b"any", &vec![7; 50_000]])), "+QUEUED|");
    }
    assert!(number(&mut other, "memory", "mem_clients_normal") > before + 1_000_000);
    assert_eq!(client.ask("DISCARD"), "+OK|");
}

/// Incident: the memory of a copy was reserved for the key of the same name in database 0.
/// Consequence: copies in other databases exceeded the limit by everything that they copied.
#[test]
fn copies_in_other_databases_reserve_memory() {
    if skipped("keys of other databases have a prefix of 8 bytes") {
        return;
    }
    let server = start(8 << 20, Eviction::None);
    let mut client = server.connect();
    assert_eq!(client.ask("SELECT 1"), "+OK|");
    assert_eq!(client.call(&[b"SET", b"large", &vec![7; 3_000_000]]), b"+OK\r\n");
    let copies = (0..10).take_while(|i| client.ask(&format!("COPY large copy{i}")) == ":1|").count();
    assert!(copies < 2, "{copies}");
    assert_eq!(client.ask("COPY large copy"), OOM);
    for (words, reply) in [("MULTI", "+OK|"), ("COPY large copy", "+QUEUED|")] {
        assert_eq!(client.ask(words), reply);
    }
    let executed = client.ask("EXEC");
    assert!(executed.contains("-OOM "), "{executed}");
    assert!(counted(&mut client) <= 8 << 20);
}

/// Returns whether the client has received bytes.
fn has_answer(client: &TestClient) -> bool {
    client.stream.set_read_timeout(Some(Duration::from_millis(1))).expect("a timeout");
    let came = client.stream.peek(&mut [0]).is_ok();
    client.stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    came
}

/// Incident: the memory held by a command in slices was not counted. Consequence: many such
/// commands took memory beyond `maxmemory`, and no number showed it. Fix: it counts as memory of
/// the connection.
#[test]
fn memory_of_a_command_in_slices_counts() {
    let server = start(256 << 20, Eviction::None);
    let (mut asks, mut other) = (server.connect(), server.connect());
    let text = "abcdefgh".repeat(1250);
    asks.ask(&format!("MSET a {text} b {}", text.to_uppercase()));
    let before = number(&mut other, "memory", "mem_clients_normal");
    let counts = (0..50).any(|_| {
        // A table of 100,000,000 bits.
        asks.send(&encode(&[b"LCS", b"a", b"b"]));
        let mut most = 0;
        while most < before + 12_000_000 && !has_answer(&asks) {
            most = number(&mut other, "memory", "mem_clients_normal");
        }
        assert_eq!(show(&asks.reply()), "$0||");
        most >= before + 12_000_000
    });
    assert!(counts);
    wait_for(|| number(&mut other, "memory", "mem_clients_normal") < before + 1_000_000);
}

/// Incident: BITCOUNT, BITPOS, ZRANDMEMBER and SK.GETV counted no lookup if their reply was
/// deferred or they ran in a transaction. Consequence: `keyspace_hits` and `keyspace_misses` were
/// too low. Fix: they look their key up like all other commands.
#[test]
fn deferred_replies_count_their_lookups() {
    let server = start(64 << 20, Eviction::None);
    let mut client = server.connect();
    assert_eq!(client.call(&[b"SET", b"s", &vec![7; 2 << 20]]), b"+OK\r\n");
    let members: Vec<String> = (0..2000).map(|n| format!(" {n} {n}")).collect();
    assert_eq!(client.ask(&format!("ZADD z{}", members.concat())), ":2000|");
    let reads = ["BITCOUNT s", "BITPOS s 1", "ZRANDMEMBER z 1000", "SK.GETV z"];
    for read in reads {
        client.ask(read);
    }
    assert_eq!(number(&mut client, "stats", "keyspace_hits"), 4);
    assert_eq!(client.ask("MULTI"), "+OK|");
    for read in reads {
        assert_eq!(client.ask(&read.replace(" s", " absent").replace(" z", " absent")), "+QUEUED|");
    }
    client.ask("EXEC");
    assert_eq!(number(&mut client, "stats", "keyspace_misses"), 4);
}

/// Incident: a batched read of an absent key counted as a miss and published `keymiss`, although
/// its arguments were wrong; so did one in a transaction. Consequence: `keyspace_misses` was too
/// high, and a cache that fills itself on `keymiss` filled keys that nobody had asked for. Fix: a
/// read that fails counts only if its key holds another type. The numbers are those of redis-server
/// 7.0.15.
#[test]
fn a_read_that_fails_on_its_arguments_is_no_miss() {
    let server = start(64 << 20, Eviction::None);
    let [mut client, mut subscriber] = [(); 2].map(|()| server.connect());
    client.ask("CONFIG SET notify-keyspace-events Em");
    client.ask("SET s v");
    subscriber.ask("PSUBSCRIBE __keyevent*");
    let refused = [
        "LRANGE none a b",
        "ZCOUNT none a b",
        "XRANGE none a b",
        "GETRANGE none a b",
        "GETRANGE s a b",
        "GETBIT none a",
        "GETBIT s a",
        "LPOS none x RANK 0",
    ];
    let mut at_all = |requests: &[&str], hits: usize, misses: usize| {
        let packet = requests.iter().flat_map(|words| {
            let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
            encode(&words)
        });
        client.ask("CONFIG RESETSTAT");
        client.send(&packet.collect::<Vec<u8>>());
        for _ in requests {
            drop(client.reply());
        }
        let seen = ["keyspace_hits", "keyspace_misses"].map(|name| number(&mut client, "stats", name));
        assert_eq!(seen, [hits, misses], "after {requests:?}");
        client.ask("GET end");
        let mut missed = 0;
        while !show(&subscriber.reply()).ends_with("|end|") {
            missed += 1;
        }
        assert_eq!(missed, misses, "after {requests:?}");
    };
    for request in refused {
        at_all(&[request], 0, 0);
        at_all(&["MULTI", request, "EXEC"], 0, 0);
    }
    at_all(&refused, 0, 0);
    let mixed = [&["GET none", "HGET s f"][..], &refused, &["LRANGE none 0 1"]].concat();
    at_all(&mixed, 1, 2);
    at_all(&[&["MULTI"][..], &mixed, &["EXEC"]].concat(), 1, 2);
}

/// The numbers are those of redis-server 7.0.15 after the same requests.
#[test]
fn lookups_of_reads_are_hits_or_misses() {
    let server = start(64 << 20, Eviction::None);
    let mut client = server.connect();
    for write in
        ["SET s 1", "HSET h f 1", "ZADD z 1 m", "EXPIRE s 1000", "DEL absent", "INCR n", "HSET h g 2"]
    {
        client.ask(write);
    }
    let mut expected = (0, 0);
    for (request, hits, misses) in [
        ("PING", 0, 0),
        ("GET s", 1, 0),
        ("GET absent", 0, 1),
        ("GET h", 1, 0),
        ("MGET s absent h n", 3, 1),
        ("EXISTS s", 1, 0),
        ("EXISTS s absent s", 2, 1),
        ("HGET h f", 1, 0),
        ("HGET h absent", 1, 0),
        ("HGETALL h", 1, 0),
        ("HGETALL absent", 0, 1),
        ("ZSCORE z m", 1, 0),
        ("ZSCORE absent m", 0, 1),
        ("ZRANGE z 0 -1", 1, 0),
        ("ZCARD z", 1, 0),
        ("STRLEN s", 1, 0),
        ("TTL s", 1, 0),
        ("TYPE absent", 0, 1),
        ("SORT absent", 0, 1),
        ("SORT_RO absent", 0, 1),
        ("SINTER absent absent2", 0, 2),
        ("SUNION absent absent2", 0, 2),
        ("SINTERCARD 2 absent absent2", 0, 2),
        ("ZUNION 2 z absent", 1, 1),
        ("ZINTERCARD 2 z absent", 1, 1),
        ("ZDIFF 2 absent z", 1, 1),
        ("SUNION absent s", 1, 1),
        ("SINTERSTORE absent absent absent2", 0, 2),
        ("ZUNIONSTORE absent 2 absent absent2", 0, 2),
        ("ZRANGESTORE absent absent2 0 -1", 0, 1),
        ("SORT absent STORE absent2", 0, 1),
        ("SET s 2", 0, 0),
        ("DEL absent", 0, 0),
        ("INCR n", 0, 0),
    ] {
        client.ask(request);
        expected = (expected.0 + hits, expected.1 + misses);
        let seen =
            (number(&mut client, "stats", "keyspace_hits"), number(&mut client, "stats", "keyspace_misses"));
        assert_eq!(seen, expected, "after {request}");
    }
    // In a transaction, and in a pipeline.
    assert_eq!(client.ask("MULTI"), "+OK|");
    assert_eq!((client.ask("GET s"), client.ask("GET absent")), ("+QUEUED|".into(), "+QUEUED|".into()));
    client.ask("EXEC");
    let pipeline: Vec<u8> =
        (0..100).flat_map(|i| encode(&[b"GET", if i % 2 == 0 { b"s" } else { b"absent" }])).collect();
    client.send(&pipeline);
    (0..100).for_each(|_| drop(client.reply()));
    assert_eq!(number(&mut client, "stats", "keyspace_hits"), expected.0 + 51);
    assert_eq!(number(&mut client, "stats", "keyspace_misses"), expected.1 + 51);
    assert_eq!(client.ask("CONFIG RESETSTAT"), "+OK|");
    assert_eq!(number(&mut client, "stats", "keyspace_hits"), 0);
    assert_eq!(number(&mut client, "stats", "keyspace_misses"), 0);
}

/// Incident: a script exceeded `maxmemory`, and nothing was evicted afterwards. Later writes used
/// the room that had been found before the script. Fix: after each transaction, the worker checks
/// whether memory is over the limit.
#[test]
fn keys_are_evicted_after_a_script_has_exceeded_the_limit() {
    let server = start(8 << 20, Eviction::Lru);
    let (mut client, limit) = (server.connect(), 8 << 20);
    let fill = b"local v = string.rep('x', 10000) for i = 1, 3000 do redis.call('SET', KEYS[1] .. i, v) end";
    for transaction in [false, true] {
        if transaction {
            assert_eq!(client.ask("MULTI"), "+OK|");
        }
        let reply = show(&client.call(&[b"EVAL", fill, b"1", b"k"]));
        assert_eq!(reply, if transaction { "+QUEUED|" } else { "$-1|" });
        if transaction {
            assert_eq!(client.ask("EXEC"), "*1|$-1|");
        }
        wait_for(|| counted(&mut client) <= limit);
    }
}

/// Incident: after `maxmemory` was lowered, memory stayed as it was until the next write.
#[test]
fn a_lowered_limit_evicts_at_once() {
    let server = start(64 << 20, Eviction::Lru);
    let (mut client, limit) = (server.connect(), 8 << 20);
    let mut subscriber = server.connect();
    assert_eq!(client.ask("CONFIG SET notify-keyspace-events Ee"), "+OK|");
    subscriber.ask("SUBSCRIBE __keyevent@0__:evicted");
    for at in 0..3_000_u32 {
        client.call(&[b"SET", &at.to_be_bytes(), &[7; 10_000]]);
    }
    assert!(counted(&mut client) > 3 * limit);
    assert_eq!(client.ask(&format!("CONFIG SET maxmemory {limit}")), "+OK|");
    wait_for(|| counted(&mut client) <= limit);
    let kept: usize = client.ask("DBSIZE").trim_matches([':', '|']).parse().expect("a number");
    assert!((300..900).contains(&kept), "{kept}");
    assert!(show(&subscriber.reply()).contains("evicted"));
    // Nothing can be evicted, so no worker tries for ever.
    assert_eq!(client.ask("CONFIG SET maxmemory-policy noeviction maxmemory 1mb"), "+OK|");
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(client.ask("DBSIZE"), format!(":{kept}|"));
    // A policy that evicts begins at once, too.
    assert_eq!(client.ask("CONFIG SET maxmemory-policy allkeys-random maxmemory 4mb"), "+OK|");
    wait_for(|| counted(&mut client) <= 4 << 20);
}

/// Incident: under a policy that evicts, SETRANGE made a value of 50 MB at a limit of 20 MB, and
/// nothing was evicted afterwards. Consequence: memory stayed far over `maxmemory`. Fix: after a
/// command that may add more than its arguments, the worker looks whether memory is over the limit.
#[test]
fn keys_are_evicted_after_a_value_has_grown_beyond_the_limit() {
    let limit = 8 << 20;
    let server = start(limit, Eviction::Lru);
    let mut client = server.connect();
    for (grow, pipelined) in [
        ("SETRANGE big 30000000 x", false),
        ("SETBIT big 240000000 1", true),
        ("BITFIELD big SET u8 240000000 1", false),
    ] {
        for at in 0..100 {
            client.call(&[b"SET", format!("k{at}").as_bytes(), &[7; 10_000]]);
        }
        if pipelined {
            client.send(format!("{grow}\r\n{grow}\r\n").as_bytes());
            assert!(show(&client.reply()).starts_with(':'));
            assert!(show(&client.reply()).starts_with(':'));
        } else {
            assert!(!client.ask(grow).starts_with('-'), "{grow}");
        }
        wait_for(|| counted(&mut client) <= limit);
    }
}
