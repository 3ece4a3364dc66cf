//! Long ranges: the server serves other clients in between.

use crate::servers::{ModuleServer, over_each, programs};

#[test]
fn others_are_served_while_a_long_range_is_made() {
    over_each(|server| {
        let (mut long, mut other) = (server.connect(), server.connect());
        long.line("DEBUG POPULATE 200000");
        long.send(&["SK.RANGE", "-", "+"]);
        // The range takes hundreds of slices. These requests run in between, so each of them sees
        // the other's writes before the range ends.
        long.send(&["GET", "others"]);
        for number in 0..20 {
            other.line(&format!("SET others {number}"));
        }
        let range = long.read();
        assert_eq!(long.read(), b"$2\r\n19\r\n", "the range held the others up");
        // The range may or may not include the key that was inserted meanwhile.
        let head = range.split(|byte| *byte == b'\r').next().expect("a head").escape_ascii().to_string();
        assert!(["*400000", "*400002"].contains(&&*head), "{head}");
    });
}

#[test]
fn a_count_and_a_removal_are_long_too() {
    over_each(|server| {
        let mut client = server.connect();
        client.line("DEBUG POPULATE 50000");
        assert_eq!(client.line("SK.COUNT - +"), ":50000|");
        assert_eq!(client.line("SK.DELRANGE [key:1 (key:2"), ":11111|");
        assert_eq!(client.line("SK.COUNT - +"), ":38889|");
        assert_eq!(client.line("DBSIZE"), ":38889|");
        client.check("after a long removal");
    });
}

/// Within a transaction or a script, a module must not block the client. There a range is one
/// slice.
#[test]
fn transactions_and_scripts_have_long_ranges_too() {
    over_each(|server| {
        let mut client = server.connect();
        client.line("DEBUG POPULATE 20000");
        client.line("MULTI");
        client.line("SK.COUNT - +");
        client.line("SK.DELRANGE [key:1 (key:2");
        client.line("SK.RANGE [key:2 + NOVALUES LIMIT 3000");
        client.send(&["EXEC"]);
        let reply = String::from_utf8(client.read()).unwrap();
        assert!(reply.starts_with("*3\r\n:20000\r\n:11111\r\n*3000\r\n"), "{reply:.80}");
        let script = "return #redis.call('SK.RANGE','-','+','NOVALUES')";
        assert_eq!(client.ask(&["EVAL", script, "0"]), ":8889|");
    });
}

#[test]
fn a_client_that_goes_ends_its_range() {
    over_each(|server| {
        let mut client = server.connect();
        client.line("DEBUG POPULATE 100000");
        for _ in 0..20 {
            server.connect().send(&["SK.RANGE", "-", "+"]);
        }
        // The server does not unload a module with blocked clients.
        client.wait_for(&["MODULE", "UNLOAD", "skein"], |reply| reply == "+OK|");
        assert_eq!(client.line("PING"), "+PONG|");
    });
}

#[test]
fn a_reply_over_the_limit_says_how_to_go_on() {
    over_each(|server| {
        let mut client = server.connect();
        client.line("DEBUG POPULATE 5000");
        assert_eq!(client.line("CONFIG SET skein.max-reply 4kb"), "+OK|");
        assert_eq!(client.line("CONFIG GET skein.max-reply"), "*2|$15|skein.max-reply|$4|4096|");
        let reply = client.line("SK.RANGE - +");
        assert!(reply.starts_with("-ERR the reply would be longer than the limit of 4096 bytes"), "{reply}");
        assert!(reply.contains("LIMIT"), "{reply}");
        assert!(client.line("SK.RANGE - + LIMIT 10").starts_with("*20|"));
        assert!(client.line("CONFIG SET skein.max-reply 1").starts_with("-ERR"));
        assert_eq!(client.line("SK.COUNT - +"), ":5000|");
    });
}

/// Incident: a client called `CLIENT PAUSE 1000 WRITE` during a long `SK.DELRANGE`. Consequence:
/// the server ended with a failed assertion. (`CLUSTER FAILOVER` pauses writes, too.) Fix: a
/// removal waits for the end of the pause.
#[test]
fn a_removal_waits_while_writes_are_paused() {
    for program in programs() {
        let server = ModuleServer::start(&program, &["--appendonly", "yes"]);
        let (mut long, mut other) = (server.connect(), server.connect());
        long.line("DEBUG POPULATE 100000");
        long.send(&["SK.DELRANGE", "-", "+"]);
        other.wait_for(&["CLIENT", "LIST"], |list| list.contains("cmd=sk.delrange"));
        assert_eq!(other.line("CLIENT PAUSE 300 WRITE"), "+OK|");
        let paused = other.line("DBSIZE");
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert_eq!(other.line("DBSIZE"), paused, "keys were removed while writes were paused");
        assert_eq!(long.read(), b":100000\r\n");
        // The transaction that pauses may write.
        other.line("SET one v");
        other.line("MULTI");
        other.line("CLIENT PAUSE 100 WRITE");
        other.line("SK.DELRANGE - +");
        assert_eq!(other.line("EXEC"), "*2|+OK|:1|");
        other.check("after removals in pauses");
    }
}
