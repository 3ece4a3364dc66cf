//! CLIENT PAUSE: paused requests wait in their order, and are answered when the pause ends.

use std::io::ErrorKind;
use std::time::Duration;

use crate::common::{PATIENCE, TestClient, encode, show, start, start_with};
use skein_server::ServerOptions;
use skein_store::Durability;

/// Returns whether the client still has no reply, some time after the server has read its requests.
fn waits(client: &mut TestClient) -> bool {
    client.stream.set_read_timeout(Some(Duration::from_millis(30))).expect("a timeout");
    let nothing = client.stream.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    client.stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    nothing
}

fn send(client: &mut TestClient, request: &str) {
    let words: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
    client.send(&encode(&words));
}

#[test]
fn a_pause_of_writes_holds_back_only_writes() {
    let server = start();
    let (mut admin, mut reader) = (server.connect(), server.connect());
    assert_eq!(admin.ask("SET k old"), "+OK|");
    assert_eq!(admin.ask("CLIENT PAUSE 3600000 WRITE"), "+OK|");
    // One of each kind of write: batched, run by itself, exclusive, in slices, and after a read.
    let mut writers: Vec<TestClient> = Vec::new();
    for request in
        ["GET k|SET k new", "DEL none", "MSETNX a 1 b 2", "SK.DELRANGE [no [none", "GET k|INCR n|GET n"]
    {
        let mut client = server.connect();
        for request in request.split('|') {
            send(&mut client, request);
        }
        writers.push(client);
    }
    let mut exec = server.connect();
    assert_eq!((exec.ask("MULTI"), exec.ask("GET k")), ("+OK|".to_owned(), "+QUEUED|".to_owned()));
    assert_eq!(exec.ask("EXEC"), "*1|$3|old|", "it only reads");
    assert_eq!(show(&writers[0].reply()), "$3|old|");
    assert_eq!(show(&writers[4].reply()), "$3|old|");
    assert!(writers.iter_mut().all(waits));
    assert!(reader.ask("INFO clients").contains("|blocked_clients:5|"), "as in Redis");
    for request in ["GET k", "MGET k", "SK.FIRST", "STRLEN k"] {
        assert!(reader.ask(request).contains(if request == "STRLEN k" { ":3" } else { "old" }), "{request}");
    }
    assert_eq!(admin.ask("CLIENT UNPAUSE"), "+OK|");
    crate::common::wait_for(|| reader.ask("INFO clients").contains("|blocked_clients:0|"));
    let replies: Vec<String> = writers.iter_mut().map(|client| show(&client.reply())).collect();
    assert_eq!(replies, ["+OK|", ":0|", ":1|", ":0|", ":1|"]);
    assert_eq!(show(&writers[4].reply()), "$1|1|", "the requests after it are answered, too");
}

#[test]
fn a_pause_of_all_ends_by_timeout_or_by_unpause() {
    let server = start();
    let (mut admin, mut client) = (server.connect(), server.connect());
    for round in 0..2 {
        assert_eq!(admin.ask("CLIENT PAUSE 3600000"), "+OK|");
        for request in ["SET k v", "GET k", "PING"] {
            send(&mut client, request);
        }
        assert!(waits(&mut client), "round {round}");
        assert_eq!(admin.ask("CLIENT UNPAUSE"), "+OK|", "UNPAUSE is never paused");
        let replies = [client.reply(), client.reply(), client.reply()];
        assert_eq!(replies, [&b"+OK\r\n"[..], b"$1\r\nv\r\n", b"+PONG\r\n"]);
    }
    for request in ["CLIENT PAUSE 1", "CLIENT PAUSE 20", "CLIENT PAUSE 20 WRITE"] {
        assert_eq!(admin.ask(request), "+OK|");
        assert_eq!((admin.ask("INCR n").len(), client.ask("PING")), (3, "+PONG|".to_owned()));
    }
}

/// Incident: on a server with a password, a client that wanted to end a pause had to wait for its
/// end to log in. Consequence: only clients that were already connected could end a pause of hours.
/// Fix: logging in is never paused.
#[test]
fn a_client_can_log_in_and_end_a_pause() {
    let password = Some(b"secret".to_vec());
    let server = start_with(ServerOptions { password, ..crate::common::options() }, Durability::None);
    let mut admin = server.connect();
    assert_eq!(admin.ask("AUTH secret"), "+OK|");
    assert_eq!(admin.ask("CLIENT PAUSE 3600000"), "+OK|");
    let mut other = server.connect();
    assert!(other.ask("CLIENT UNPAUSE").starts_with("-NOAUTH"));
    assert_eq!(
        (other.ask("AUTH secret"), other.ask("CLIENT UNPAUSE")),
        ("+OK|".to_owned(), "+OK|".to_owned())
    );
    assert_eq!(admin.ask("PING"), "+PONG|");
}

/// Requests that a client sends after its own pause wait, even if they arrive together with it.
#[test]
fn a_pipeline_behind_a_pause_keeps_its_order() {
    let server = start();
    let mut client = server.connect();
    for request in
        ["SET k 1", "CLIENT PAUSE 20 WRITE", "GET k", "SET k 2", "GET k", "CLIENT PAUSE 20", "GET k", "PING"]
    {
        send(&mut client, request);
    }
    let replies: Vec<String> = (0..8).map(|_| show(&client.reply())).collect();
    assert_eq!(replies, ["+OK|", "+OK|", "$1|1|", "+OK|", "$1|2|", "+OK|", "$1|2|", "+PONG|"]);
}

/// A client that has paused the writes sees no more of them, whichever worker runs them.
#[test]
fn no_write_runs_after_the_reply_to_pause() {
    let server = start_with(ServerOptions { workers: 3, ..crate::common::options() }, Durability::None);
    let mut admin = server.connect();
    let mut writers: Vec<TestClient> = (0..6).map(|_| server.connect()).collect();
    for round in 1..=10 {
        for client in &mut writers {
            client.send(&encode(&[b"INCR", b"n"]).repeat(200));
        }
        assert_eq!(admin.ask("CLIENT PAUSE 3600000 WRITE"), "+OK|");
        let seen = admin.ask("GET n");
        for _ in 0..20 {
            assert_eq!(admin.ask("GET n"), seen, "round {round}");
        }
        assert_eq!(admin.ask("CLIENT UNPAUSE"), "+OK|");
        for client in &mut writers {
            for _ in 0..200 {
                assert_eq!(client.reply()[0], b':');
            }
        }
        assert!(admin.ask("GET n").ends_with(&format!("|{}|", 1200 * round)));
    }
}

/// Incident: a FLUSHALL, or a DEL of many keys, continued while writes were paused. Consequence: a
/// client that had been told that nothing changes any more saw keys vanish. Fix: such a command
/// stops between two of its slices.
#[test]
fn a_pause_stops_removals_between_slices() {
    let server = start_with(
        ServerOptions { workers: 1, debug_command: true, ..crate::common::options() },
        Durability::None,
    );
    let (mut admin, mut holds, mut remover) = (server.connect(), server.connect(), server.connect());
    let keys: Vec<String> = (0..6000).map(|i| format!("key:{i:05}")).collect();
    let key_and_value = |key: &String| [key.clone().into_bytes(), b"1".to_vec()];
    for (round, request) in
        ["FLUSHALL", "SK.DELRANGE - +", "DEL", "UNLINK"].iter().cycle().take(40).enumerate()
    {
        let words: Vec<Vec<u8>> =
            [b"MSET".to_vec()].into_iter().chain(keys.iter().flat_map(key_and_value)).collect();
        admin.send(&encode(&words.iter().map(Vec::as_slice).collect::<Vec<_>>()));
        assert_eq!(admin.reply(), b"+OK\r\n");
        let mut words: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
        if words.len() == 1 && *request != "FLUSHALL" {
            words.extend(keys.iter().map(String::as_bytes));
        }
        // Both requests are ready when the worker wakes up, so the pause starts between two slices
        // of the removal.
        send(&mut holds, "DEBUG SLEEP 0.01");
        remover.send(&encode(&words));
        send(&mut admin, "CLIENT PAUSE 3600000 WRITE");
        send(&mut admin, "DBSIZE");
        assert_eq!((holds.reply(), admin.reply()), (b"+OK\r\n".to_vec(), b"+OK\r\n".to_vec()));
        let left = admin.reply();
        for _ in 0..20 {
            assert_eq!(admin.call(&[b"DBSIZE"]), left, "round {round}: {request}");
        }
        assert_eq!(admin.ask("CLIENT UNPAUSE"), "+OK|");
        assert_ne!(remover.reply()[0], b'-');
        assert_eq!(admin.ask("DBSIZE"), ":0|");
    }
}

#[test]
fn a_stop_ends_a_pause() {
    let server = start();
    let mut client = server.connect();
    assert_eq!(client.ask("CLIENT PAUSE 3600000"), "+OK|");
    send(&mut client, "SET k v");
    assert!(waits(&mut client));
    let report = server.stop();
    assert_eq!(report.cut_short, 0, "{report:?}");
    assert_eq!(show(&client.reply()), "+OK|");
}

/// As in Redis, a pause of writes holds back commands that publish, and scripts that may write.
#[test]
fn a_pause_of_writes_holds_back_messages_and_scripts_that_may_write() {
    let server = start();
    let mut admin = server.connect();
    admin.ask("SET x y");
    admin.call(&[
        b"FUNCTION",
        b"LOAD",
        b"#!lua name=f\nredis.register_function{function_name='f', \
        callback=function() return 'fine' end, flags={'no-writes'}}",
    ]);
    let only_reads = "#!lua flags=no-writes\nreturn 1";
    let digest = show(&admin.call(&[b"SCRIPT", b"LOAD", only_reads.as_bytes()]));
    let digest = digest.split('|').nth(1).expect("a digest").to_owned();
    assert_eq!(admin.ask("CLIENT PAUSE 60000 WRITE"), "+OK|");
    let held: [&[&str]; 6] = [
        &["PUBLISH", "c", "m"],
        &["SPUBLISH", "c", "m"],
        &["PFCOUNT", "h"],
        &["EVAL", "return 1", "0"],
        &["EVAL", "#!lua\nreturn 1", "0"],
        &["FUNCTION", "FLUSH"],
    ];
    let mut waiting = Vec::new();
    for words in held {
        let mut client = server.connect();
        client.send(&encode(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>()));
        assert!(waits(&mut client), "{words:?}");
        waiting.push(client);
    }
    let mut reader = server.connect();
    for (words, reply) in [
        (&["EVAL", only_reads, "0"][..], ":1|"),
        (&["EVALSHA", &digest, "0"], ":1|"),
        (&["EVAL_RO", "return redis.call('GET', 'x')", "1", "x"], "$1|y|"),
        (&["FCALL", "f", "0"], "$4|fine|"),
        (&["EVALSHA", "0", "0"], "-NOSCRIPT No matching script. Please use EVAL.|"),
    ] {
        let words: Vec<_> = words.iter().map(|word| word.as_bytes()).collect();
        assert_eq!(show(&reader.call(&words)), reply, "{words:?}");
    }
    assert_eq!(reader.ask("MULTI"), "+OK|");
    assert_eq!(show(&reader.call(&[b"EVAL", only_reads.as_bytes(), b"0"])), "+QUEUED|");
    assert_eq!(reader.ask("EXEC"), "*1|:1|");
    assert_eq!(admin.ask("CLIENT UNPAUSE"), "+OK|");
    let replies: Vec<_> = waiting.iter_mut().map(|client| show(&client.reply())).collect();
    assert_eq!(replies, [":0|", ":0|", ":0|", ":1|", ":1|", "+OK|"]);
    let refused = reader.call(&[b"EVAL_RO", b"return redis.call('publish', 'c', 'm')", b"0"]);
    assert!(show(&refused).starts_with("-ERR Write commands are not allowed from read-only scripts"));
}
