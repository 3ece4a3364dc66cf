//! Scripts that run for longer than `busy-reply-threshold`: the replies to other clients, on the
//! same worker and on others, and the ways to stop a script.

use std::time::{Duration, Instant};

use crate::common::{TestClient, TestServer, encode, options, show, start_with, trie, wait_for};
use skein_server::ServerOptions;
use skein_store::Durability;

const BUSY: &str = "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.|";
const BUSY_FUNCTION: &str =
    "-BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.|";
const FOREVER: &str = "while true do end";

fn start(workers: usize) -> TestServer {
    start_after(workers, Duration::from_millis(50))
}

fn start_after(workers: usize, busy_reply_threshold: Duration) -> TestServer {
    start_with(ServerOptions { workers, busy_reply_threshold, ..options() }, Durability::Buffered)
}

fn send_eval(client: &mut TestClient, source: &str) {
    client.send(&encode(&[b"EVAL", source.as_bytes(), b"0"]));
}

/// Waits until the server answers BUSY.
#[track_caller]
fn wait_until_busy(client: &mut TestClient) {
    wait_for(|| client.ask("GET k").starts_with("-BUSY"));
}

#[test]
fn others_receive_busy_until_the_script_is_killed() {
    for workers in [1, 3] {
        let server = start(workers);
        let mut others: Vec<TestClient> = (0..6).map(|_| server.connect()).collect();
        for other in &mut others {
            assert_eq!(other.ask("SET k v"), "+OK|");
        }
        for _ in 0..3 {
            let mut runner = server.connect();
            send_eval(&mut runner, FOREVER);
            wait_until_busy(&mut others[0]);
            for other in &mut others {
                for request in ["GET k", "SET k w", "MGET k l", "RENAME k l", "BLPOP l 1", "PING", "WATCH k"]
                {
                    assert_eq!(other.ask(request), BUSY, "{request}, {workers} workers");
                }
                assert_eq!(other.ask("SHUTDOWN"), BUSY);
                assert_eq!(other.ask("FUNCTION KILL"), BUSY);
                assert_eq!(other.ask("FUNCTION STATS"), BUSY);
                assert!(other.ask("HELLO").contains("|proto|"));
                assert_eq!(other.ask("UNWATCH"), "+OK|");
            }
            let mut late = server.connect();
            assert_eq!(late.ask("GET k"), BUSY, "a new connection is served, too");
            assert_eq!(late.ask("SCRIPT KILL"), "+OK|");
            let reply = show(&runner.reply());
            assert!(reply.starts_with("-ERR Script killed by user with SCRIPT KILL... script: "), "{reply}");
            for other in &mut others {
                assert_eq!(other.ask("GET k"), "$1|v|", "{workers} workers");
            }
            assert_eq!(late.ask("SCRIPT KILL"), "-NOTBUSY No scripts in execution right now.|");
            assert_eq!(runner.ask("PING"), "+PONG|");
        }
    }
}

#[test]
fn requests_that_wait_when_the_script_becomes_busy_are_answered() {
    for workers in [1, 3] {
        let server = start_after(workers, Duration::from_millis(500));
        let mut runner = server.connect();
        let mut others: Vec<TestClient> = (0..9).map(|_| server.connect()).collect();
        for other in &mut others {
            assert_eq!(other.ask("MULTI"), "+OK|");
            assert_eq!(other.ask("SET k v"), "+QUEUED|");
        }
        send_eval(&mut runner, FOREVER);
        std::thread::sleep(Duration::from_millis(150));
        // They wait at the gate, some of them in the middle of a request.
        for (number, other) in others.iter_mut().enumerate() {
            match number % 3 {
                0 => other.send(&encode(&[b"EXEC"])),
                1 => other.send(&[encode(&[b"DISCARD"]), encode(&[b"RENAME", b"k", b"l"])].concat()),
                _ => other.send(&[encode(&[b"DISCARD"]), encode(&[b"GET", b"k"])].concat()),
            }
        }
        for (number, other) in others.iter_mut().enumerate() {
            let aborted = format!("-EXECABORT Transaction discarded because of: {}", &BUSY[1..]);
            if number % 3 == 0 {
                assert_eq!(show(&other.reply()), aborted);
            } else {
                assert_eq!(show(&other.reply()), "+OK|");
                assert_eq!(show(&other.reply()), BUSY);
            }
        }
        assert_eq!(others[0].ask("MULTI"), "+OK|");
        assert_eq!(others[0].ask("SET k v"), BUSY);
        assert_eq!(others[0].ask("SCRIPT KILL"), "+QUEUED|");
        assert_eq!(others[1].ask("SCRIPT KILL"), "+OK|");
        assert!(show(&runner.reply()).contains("killed"));
        let spoiled = "-EXECABORT Transaction discarded because of previous errors.|";
        assert_eq!(others[0].ask("EXEC"), spoiled);
        assert_eq!(others[1].ask("GET k"), "$-1|");
    }
}

#[test]
fn a_script_that_has_written_is_not_killed() {
    for workers in [1, 3] {
        let server = start(workers);
        let (mut runner, mut other) = (server.connect(), server.connect());
        // It ends by itself.
        send_eval(
            &mut runner,
            "redis.call('SET', 'k', 'v') local n = 0 for i = 1, 4e7 do n = n + 1 end return n",
        );
        wait_until_busy(&mut other);
        let reply = other.ask("SCRIPT KILL");
        assert!(reply.starts_with("-UNKILLABLE Sorry the script already executed write commands"), "{reply}");
        assert!(other.ask("FUNCTION KILL").starts_with("-UNKILLABLE"));
        assert_eq!(show(&runner.reply()), ":40000000|");
        assert_eq!(other.ask("GET k"), "$1|v|");
    }
}

/// A kill and the first write of the script happen at about the same time.
#[test]
fn a_killed_script_does_not_write() {
    let server = start(2);
    let (mut runner, mut other) = (server.connect(), server.connect());
    for _ in 0..10 {
        assert_eq!(other.ask("DEL k"), ":0|");
        send_eval(
            &mut runner,
            "for i = 1, 2e6 do redis.call('GET', 'k') end while true do redis.call('SET', 'k', 'v') end",
        );
        wait_until_busy(&mut other);
        let killed = other.ask("SCRIPT KILL");
        if killed == "+OK|" {
            assert!(show(&runner.reply()).contains("killed"));
            assert_eq!(other.ask("GET k"), "$-1|");
        } else {
            panic!("{killed}: the script reads for long before it writes");
        }
    }
}

#[test]
fn functions_are_killed_by_their_own_command() {
    let library = "#!lua name=lib\n\
        redis.register_function('spin', function() while true do end end)\n\
        redis.register_function{function_name='look', flags={'no-writes'}, callback=function() while true do end end}";
    for workers in [1, 3] {
        let server = start(workers);
        let (mut runner, mut other) = (server.connect(), server.connect());
        assert_eq!(show(&other.call(&[b"FUNCTION", b"LOAD", library.as_bytes()])), "$3|lib|");
        for call in ["FCALL spin 0 a", "FCALL_RO look 0"] {
            let words: Vec<&[u8]> = call.split(' ').map(str::as_bytes).collect();
            runner.send(&encode(&words));
            wait_until_busy(&mut other);
            assert_eq!(other.ask("GET k"), BUSY_FUNCTION);
            assert_eq!(other.ask("SCRIPT KILL"), BUSY_FUNCTION);
            let stats = other.ask("FUNCTION STATS");
            let name = words[1].escape_ascii().to_string();
            let wanted = format!("*4|$14|running_script|*6|$4|name|$4|{name}|$7|command|*{}|", words.len());
            assert!(stats.starts_with(&wanted), "{stats}");
            assert!(stats.contains("|$11|duration_ms|:"), "{stats}");
            assert_eq!(other.ask("FUNCTION KILL"), "+OK|");
            let reply = show(&runner.reply());
            assert!(reply.starts_with("-ERR Script killed by user with SCRIPT KILL... script: "), "{reply}");
        }
        assert!(other.ask("FUNCTION STATS").starts_with("*4|$14|running_script|$-1|"));
        assert!(other.ask("FUNCTION KILL").starts_with("-NOTBUSY"));
    }
}

#[test]
fn a_script_of_a_transaction_can_be_killed() {
    for workers in [1, 3] {
        let server = start(workers);
        let (mut runner, mut other) = (server.connect(), server.connect());
        assert_eq!(runner.ask("MULTI"), "+OK|");
        assert_eq!(runner.ask("SET k v"), "+QUEUED|");
        assert_eq!(show(&runner.call(&[b"EVAL", FOREVER.as_bytes(), b"0"])), "+QUEUED|");
        assert_eq!(runner.ask("SET l v"), "+QUEUED|");
        runner.send(&encode(&[b"EXEC"]));
        wait_until_busy(&mut other);
        assert_eq!(other.ask("SCRIPT KILL"), "+OK|");
        let reply = show(&runner.reply());
        assert!(reply.starts_with("*3|+OK|-ERR Script killed") && reply.ends_with("|+OK|"), "{reply}");
        assert_eq!(other.ask("MGET k l"), "*2|$1|v|$1|v|");
    }
}

/// Commands that run in slices wait meanwhile, and do not turn their worker into a busy loop.
#[test]
fn slices_wait_for_the_end_of_the_script() {
    let server = start(2);
    let (mut runner, mut other, mut reader) = (server.connect(), server.connect(), server.connect());
    for at in 0..20 {
        let keys: Vec<String> = (0..500).map(|i| format!("{at:02}{i:04} v")).collect();
        assert_eq!(other.ask(&format!("MSET {}", keys.join(" "))), "+OK|");
    }
    send_eval(&mut runner, FOREVER);
    reader.send(&encode(&[b"KEYS", b"*"]));
    wait_until_busy(&mut other);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(other.ask("SCRIPT KILL"), "+OK|");
    assert!(show(&runner.reply()).contains("killed"));
    let keys = show(&reader.reply());
    assert!(keys.starts_with("*10000|") || keys == BUSY, "{}", &keys[..40]);
}

#[test]
fn shutdown_nosave_ends_the_script_and_the_server() {
    for workers in [1, 3] {
        let server = start(workers);
        let (mut runner, mut other) = (server.connect(), server.connect());
        send_eval(&mut runner, "redis.call('SET', 'k', 'v') while true do end");
        wait_until_busy(&mut other);
        assert_eq!(other.ask("SHUTDOWN SAVE"), BUSY);
        assert_eq!(other.ask("SHUTDOWN NOSAVE SAVE"), "-ERR syntax error|");
        assert!(other.ask("SCRIPT KILL").starts_with("-UNKILLABLE"));
        other.send(&encode(&[b"SHUTDOWN", b"NOSAVE"]));
        assert!(other.try_reply().is_none());
        if let Some(reply) = runner.try_reply() {
            assert!(show(&reply).contains("the server is stopping"), "{}", show(&reply));
        }
        let mut session = server.store.session();
        let kept = session.keys().get_with(b"k", |row| row.is_ok_and(|row| row.is_some()));
        assert_eq!(kept, trie().is_none(), "on disk, the script's transaction is dropped");
        drop(session);
        server.stop();
    }
}

#[test]
fn a_stop_ends_a_script_after_its_timeout() {
    let server = {
        let stop_timeout = Duration::from_millis(200);
        start_with(ServerOptions { workers: 2, stop_timeout, ..options() }, Durability::Buffered)
    };
    let mut runner = server.connect();
    send_eval(&mut runner, FOREVER);
    std::thread::sleep(Duration::from_millis(50));
    let began = Instant::now();
    server.stop();
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn the_threshold_has_both_names_of_redis() {
    let server = start(2);
    let mut client = server.connect();
    let get = "CONFIG GET busy-reply-threshold lua-time-limit";
    assert_eq!(client.ask(get), "*4|$20|busy-reply-threshold|$2|50|$14|lua-time-limit|$2|50|");
    assert_eq!(client.ask("CONFIG SET lua-time-limit 0"), "+OK|");
    assert_eq!(client.ask(get), "*4|$20|busy-reply-threshold|$1|0|$14|lua-time-limit|$1|0|");
    let source = "local n = 0 for i = 1, 3e7 do n = n + 1 end return n";
    send_eval(&mut client, source);
    std::thread::sleep(Duration::from_millis(80));
    assert_eq!(server.connect().ask("GET k"), "$-1|", "never busy");
    assert_eq!(show(&client.reply()), ":30000000|");
}
