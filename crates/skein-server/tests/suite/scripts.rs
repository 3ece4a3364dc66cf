//! Scripts on several workers: atomicity, limits of time and memory, rights, and the cache.
//! (`golden/scripts.txt` has the replies of each command.)

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{TestClient, TestServer, encode, options, show, skipped, start_with, trie};
use skein_server::ServerOptions;
use skein_store::Durability;

/// Connections that run scripts, and the number of scripts of each.
const MOVERS: usize = 4;
const MOVES: usize = 500;

fn start(options: ServerOptions) -> TestServer {
    start_with(ServerOptions { workers: 3, ..options }, Durability::Buffered)
}

fn eval(client: &mut TestClient, source: &str) -> String {
    show(&client.call(&[b"EVAL", source.as_bytes(), b"0"]))
}

/// Scripts move numbers between two keys, over all workers, while other clients read both: the sum
/// is always the same, and no move is lost.
#[test]
fn nobody_sees_half_of_a_script() {
    const MOVE: &str = "local left = redis.call('DECR', 'left') \
                        for i = 1, 50 do redis.call('INCR', 'moves') end \
                        local right = redis.call('INCR', 'right') return left + right";
    let server = start(options());
    assert_eq!(server.connect().ask("MSET left 1000000 right 0 moves 0"), "+OK|");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let movers: Vec<_> = (0..MOVERS)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = server.connect();
                    for _ in 0..MOVES {
                        assert_eq!(eval(&mut client, MOVE), ":1000000|");
                    }
                })
            })
            .collect();
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let (mut client, mut reads) = (server.connect(), 0_u64);
                    while !done.load(Ordering::Relaxed) {
                        let both = client.ask("MGET left right");
                        let sum: i64 = both.split('|').filter_map(|line| line.parse::<i64>().ok()).sum();
                        assert_eq!(sum, 1_000_000, "{both}");
                        reads += 1;
                    }
                    reads
                })
            })
            .collect();
        for mover in movers {
            mover.join().expect("a mover");
        }
        done.store(true, Ordering::Relaxed);
        assert!(readers.into_iter().map(|reader| reader.join().expect("a reader")).sum::<u64>() > 100);
    });
    let mut client = server.connect();
    assert_eq!(client.ask("GET right"), format!("${}|{}|", 4, MOVERS * MOVES));
    assert_eq!(client.ask("GET moves"), format!("${}|{}|", 6, MOVERS * MOVES * 50));
}

#[test]
fn a_script_ends_after_its_time_and_the_server_goes_on() {
    let server = start(ServerOptions { script_time_max: Duration::from_millis(200), ..options() });
    let mut client = server.connect();
    for source in [
        "redis.call('SET', 'before', 'v') while true do end",
        "while true do pcall(function() while true do redis.call('GET', 'before') end end) end",
    ] {
        let began = Instant::now();
        let reply = eval(&mut client, source);
        assert!(
            reply.starts_with("-ERR the script takes longer than max-script-time, 0.2 s; raise it"),
            "{reply}"
        );
        assert!(began.elapsed() >= Duration::from_millis(200));
        assert_eq!(server.connect().ask("PING"), "+PONG|");
    }
    assert_eq!(client.ask("GET before"), "$1|v|", "as in Redis, what was written before stays");
    let forever = start(ServerOptions { script_time_max: Duration::ZERO, ..options() });
    assert_eq!(
        eval(&mut forever.connect(), "local n = 0 for i = 1, 1e7 do n = n + 1 end return n"),
        ":10000000|"
    );
}

#[test]
fn a_script_has_a_limit_of_memory() {
    let server = start(ServerOptions { script_memory_max: 2 << 20, ..options() });
    let mut client = server.connect();
    for _ in 0..5 {
        let reply = eval(&mut client, "return #string.rep('x', 10000000)");
        assert!(reply.contains("max-script-memory, 2097152 bytes; raise it"), "{reply}");
        assert_eq!(eval(&mut client, "return #string.rep('x', 100000)"), ":100000|");
    }
    // A large reply of a command is bounded, too.
    let value = vec![b'v'; 3 << 20];
    assert_eq!(show(&client.call(&[b"SET", b"large", &value])), "+OK|");
    let reply = eval(&mut client, "return #redis.call('GET', 'large')");
    assert!(reply.contains("max-script-memory"), "{reply}");
    assert_eq!(client.ask("STRLEN large"), ":3145728|");
}

#[test]
fn rights_hold_within_scripts() {
    let server = start(options());
    let mut admin = server.connect();
    assert_eq!(admin.ask("ACL SETUSER bob on >pw ~mine:* +get +set +eval +evalsha"), "+OK|");
    let mut bob = server.connect();
    assert_eq!(bob.ask("AUTH bob pw"), "+OK|");
    assert_eq!(eval(&mut bob, "return redis.call('SET', 'mine:a', 1)"), "+OK|");
    let reply = eval(&mut bob, "return redis.call('GET', 'yours')");
    assert!(
        reply.starts_with("-ERR The user executing the script can't access at least one of the keys"),
        "{reply}"
    );
    let reply = eval(&mut bob, "redis.call('SET', 'mine:b', 1) return redis.call('DEL', 'mine:a')");
    assert!(reply.starts_with("-ERR The user executing the script can't run this command"), "{reply}");
    assert_eq!(bob.ask("GET mine:b"), "$1|1|");
    assert_eq!(eval(&mut bob, "return redis.acl_check_cmd('SET', 'mine:c', 1)"), ":1|");
    assert_eq!(eval(&mut bob, "return redis.acl_check_cmd('SET', 'yours', 1)"), "$-1|");
    assert_eq!(show(&bob.call(&[b"EVAL", b"return 1", b"1", b"yours"])).split(' ').next(), Some("-NOPERM"));
    assert!(admin.ask("ACL LOG 1").contains("del") || admin.ask("ACL LOG").contains("yours"));
}

/// Each worker compiles scripts by itself; a flush reaches all of them.
#[test]
fn a_loaded_script_runs_on_every_worker_until_the_flush() {
    let server = start(options());
    let mut clients: Vec<TestClient> = (0..6).map(|_| server.connect()).collect();
    let digest = "59b6ab2fbe0ee4b25733de0f62e6cda4899ef8e9";
    assert_eq!(show(&clients[0].call(&[b"SCRIPT", b"LOAD", b"return 7"])), format!("$40|{digest}|"));
    for client in &mut clients {
        assert_eq!(client.ask(&format!("EVALSHA {digest} 0")), ":7|");
    }
    assert_eq!(clients[1].ask("SCRIPT FLUSH"), "+OK|");
    for client in &mut clients {
        assert_eq!(
            client.ask(&format!("EVALSHA {digest} 0")),
            "-NOSCRIPT No matching script. Please use EVAL.|"
        );
    }
}

/// A client that puts values into the texts of its scripts.
#[test]
fn many_scripts_do_not_fill_memory() {
    let server = start(options());
    let mut client = server.connect();
    for number in 0..3_000 {
        assert_eq!(eval(&mut client, &format!("return {number}")), format!(":{number}|"));
    }
    assert_eq!(
        client.ask("SCRIPT EXISTS 59b6ab2fbe0ee4b25733de0f62e6cda4899ef8e9"),
        "*1|:0|",
        "return 7 is gone"
    );
    assert_eq!(eval(&mut client, "return 7"), ":7|");
}

#[test]
fn scripts_are_refused_writes_while_memory_is_full() {
    if trie().is_some() {
        return;
    }
    let server = start(options());
    let mut client = server.connect();
    assert_eq!(client.ask("CONFIG SET maxmemory 1"), "+OK|");
    let full = "-OOM command not allowed when used memory > 'maxmemory'.";
    assert!(eval(&mut client, "return redis.call('SET', 'x', 1)").starts_with(full));
    assert_eq!(eval(&mut client, "return redis.call('GET', 'x')"), "$-1|");
    assert_eq!(eval(&mut client, "#!lua flags=allow-oom\nreturn redis.call('SET', 'x', 1)"), "+OK|");
    assert!(eval(&mut client, "#!lua\nreturn 1").starts_with(full));
    assert_eq!(eval(&mut client, "#!lua flags=no-writes\nreturn redis.call('GET', 'x')"), "$1|1|");
    assert_eq!(client.ask("CONFIG SET maxmemory 0"), "+OK|");
}

/// Incident: a script that returned `{double = 0/0}` ended the server, because the text of a number
/// was expected to have digits.
#[test]
fn a_script_may_return_what_is_no_number() {
    let server = start(options());
    let mut client = server.connect();
    for source in ["return {double=0/0}", "return {double=-(0/0)}"] {
        assert_eq!(eval(&mut client, source), "$3|nan|");
    }
    assert_eq!(eval(&mut client, "redis.setresp(3) return {double=0/0}"), "$3|nan|");
    client.call(&[b"HELLO", b"3"]);
    assert_eq!(eval(&mut client, "return {double=0/0}"), ",nan|");
}

/// The keys of scripts in a pipeline are read ahead, whatever the requests say of them.
#[test]
fn scripts_in_a_pipeline_answer_as_single_ones() {
    if skipped("it has database 0 alone") {
        return;
    }
    let server = start(options());
    let mut client = server.connect();
    for database in ["0", "3"] {
        assert_eq!(client.ask(&format!("SELECT {database}")), "+OK|");
        let source = &b"return redis.call('INCR', KEYS[1] or 'none')"[..];
        let requests: [&[&[u8]]; 6] = [
            &[b"EVAL", source, b"1", b"a"],
            &[b"EVAL", source, b"2", b"b", b"a"],
            &[b"EVAL", source, b"0"],
            &[b"EVAL", source, b"9", b"a"],
            &[b"EVAL", source, b"x", b"a"],
            &[b"EVAL", source, b"1", b"a"],
        ];
        let bytes: Vec<u8> = requests.iter().flat_map(|request| encode(request)).collect();
        client.send(&bytes);
        let replies: Vec<String> = requests.iter().map(|_| show(&client.reply())).collect();
        assert_eq!(
            replies,
            [
                ":1|",
                ":1|",
                ":1|",
                "-ERR Number of keys can't be greater than number of args|",
                "-ERR value is not an integer or out of range|",
                ":2|"
            ]
        );
    }
}
