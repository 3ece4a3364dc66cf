//! DUMP and RESTORE: long values in slices, waiting clients, limits, and restarts. Short replies are
//! in `golden/dump.txt`, and moves between Redis and SkeinDB in the differential test.

use crate::common::{TestClient, encode, options, show, start_with};
use skein_server::ServerOptions;
use skein_store::Durability;

/// Returns the payload of a key.
fn dump(client: &mut TestClient, key: &str) -> Vec<u8> {
    let reply = client.call(&[b"DUMP", key.as_bytes()]);
    let start = reply.windows(2).position(|pair| pair == b"\r\n").expect("a line") + 2;
    assert_eq!(reply[0], b'$', "{}", show(&reply));
    reply[start..reply.len() - 2].to_vec()
}

fn restore(client: &mut TestClient, key: &str, payload: &[u8]) -> String {
    show(&client.call(&[b"RESTORE", key.as_bytes(), b"0", payload]))
}

/// Sends a command with many words in parts.
fn fill(client: &mut TestClient, head: &str, words: impl Iterator<Item = String>) {
    let words: Vec<String> = words.collect();
    for some in words.chunks(1000) {
        let line = format!("{head} {}", some.join(" "));
        client.send(&encode(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>()));
        assert_eq!(client.reply()[0], b':');
    }
}

const MANY: usize = 6000;

fn fill_all(client: &mut TestClient) {
    let each = || 0..MANY;
    fill(client, "HSET h", each().flat_map(|i| [format!("column:{i:05}"), i.to_string()]));
    fill(client, "SADD s", each().map(|i| format!("member:{i:05}")));
    fill(client, "RPUSH l", each().map(|i| format!("element:{i}")));
    fill(client, "ZADD z", each().flat_map(|i| [(i % 700).to_string(), format!("member:{i:05}")]));
}

const LOOKS: [(&str, &str); 4] =
    [("h", "HGETALL"), ("s", "SMEMBERS"), ("l", "LRANGE l 0 -1"), ("z", "ZRANGE z 0 -1 WITHSCORES")];

/// Returns the command that reads a key, for another key.
fn look(client: &mut TestClient, (key, command): (&str, &str), other: &str) -> Vec<u8> {
    let line = if command.contains(' ') {
        command.replacen(&format!(" {key} "), &format!(" {other} "), 1)
    } else {
        format!("{command} {other}")
    };
    client.call(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>())
}

#[test]
fn long_values_are_dumped_in_slices_and_restored_whole() {
    let server = start_with(ServerOptions { workers: 1, ..options() }, Durability::Buffered);
    let (mut client, mut other) = (server.connect(), server.connect());
    fill_all(&mut client);
    for (key, command) in LOOKS {
        // The second client's request is ready when the first one's slices begin.
        client.send(&encode(&[b"DUMP", key.as_bytes()]));
        assert_eq!(other.ask("PING"), "+PONG|");
        client.reply();
        let payload = dump(&mut client, key);
        assert_eq!(restore(&mut client, "copy", &payload), "+OK|");
        assert_eq!(look(&mut client, (key, command), "copy"), look(&mut client, (key, command), key));
        assert_eq!(restore(&mut client, "copy", &payload), "-BUSYKEY Target key name already exists.|");
        // In a transaction all slices run at once, and see the writes before.
        assert_eq!(client.ask("MULTI"), "+OK|");
        assert_eq!(client.ask("DEL copy"), "+QUEUED|");
        assert_eq!(show(&client.call(&[b"DUMP", key.as_bytes()])), "+QUEUED|");
        let reply = client.call(&[b"EXEC"]);
        let head = format!("*2\r\n:1\r\n${}\r\n", payload.len());
        assert!(reply.starts_with(head.as_bytes()) && reply[head.len()..reply.len() - 2] == payload);
    }
}

/// Writers continue while a dump is read; the dump shows the moment of its request.
#[test]
fn a_dump_shows_one_moment() {
    let server = start_with(ServerOptions { workers: 1, ..options() }, Durability::Buffered);
    let (mut client, mut writer) = (server.connect(), server.connect());
    fill(&mut client, "HSET h", (0..MANY).flat_map(|i| [format!("column:{i:05}"), "1".into()]));
    let before = dump(&mut client, "h");
    client.send(&encode(&[b"DUMP", b"h"]));
    for i in (0..MANY).rev().step_by(50) {
        assert_eq!(writer.ask(&format!("HSET h column:{i:05} 2")), ":0|");
    }
    let reply = client.reply();
    let during = &reply[reply.len() - 2 - before.len()..reply.len() - 2];
    assert_eq!(restore(&mut client, "copy", during), "+OK|");
    // The changes before that moment are the first ones of the writer.
    let mut is_changed = |i: usize| client.ask(&format!("HGET copy column:{i:05}")) == "$1|2|";
    let changes: Vec<bool> = (0..MANY).rev().step_by(50).map(&mut is_changed).collect();
    assert!(changes.is_sorted_by(|before, after| before >= after), "{changes:?}");
}

#[test]
fn a_dump_over_the_reply_limit_is_refused() {
    let options = ServerOptions { reply_bytes_max: 20_000, ..options() };
    let server = start_with(options, Durability::Buffered);
    let mut client = server.connect();
    fill(&mut client, "SADD s", (0..MANY).map(|i| format!("member:{i:05}")));
    assert_eq!(
        client.ask("DUMP s"),
        "-ERR the reply would be longer than the limit of 20000 bytes; read the key in parts, with HSCAN, SSCAN, \
         ZSCAN, LRANGE or XRANGE|"
    );
    assert_eq!(client.ask("SCARD s"), format!(":{MANY}|"));
}

#[test]
fn restore_serves_a_waiting_client() {
    let server = start_with(options(), Durability::Buffered);
    let (mut waiting, mut client) = (server.connect(), server.connect());
    assert_eq!(client.ask("RPUSH l a b"), ":2|");
    let payload = dump(&mut client, "l");
    assert_eq!(client.ask("DEL l"), ":1|");
    waiting.send(&encode(&[b"BLPOP", b"l", b"0"]));
    crate::common::wait_for(|| client.ask("INFO clients").contains("blocked_clients:1"));
    assert_eq!(restore(&mut client, "l", &payload), "+OK|");
    assert_eq!(show(&waiting.reply()), "*2|$1|l|$1|a|");
    assert_eq!(client.ask("LRANGE l 0 -1"), "*1|$1|b|");
}

/// Of many clients that restore one key at once, one succeeds.
#[test]
fn one_restore_wins() {
    let server = start_with(ServerOptions { workers: 2, ..options() }, Durability::Buffered);
    let mut client = server.connect();
    fill(&mut client, "SADD s", (0..600).map(|i| format!("member:{i:05}")));
    let payload = dump(&mut client, "s");
    for round in 0..20 {
        let key = format!("k{round}");
        let mut clients: Vec<_> = (0..8).map(|_| server.connect()).collect();
        let request = encode(&[b"RESTORE", key.as_bytes(), b"0", &payload]);
        for client in &mut clients {
            client.send(&request);
        }
        let replies: Vec<_> = clients.iter_mut().map(|client| show(&client.reply())).collect();
        assert_eq!(replies.iter().filter(|reply| *reply == "+OK|").count(), 1, "{replies:?}");
        assert_eq!(replies.iter().filter(|reply| reply.starts_with("-BUSYKEY")).count(), 7);
    }
}

/// A payload may claim any length, and its compressed strings may become much longer.
#[test]
fn claims_do_not_take_memory() {
    use skein_rdb::payload::seal;
    let server = start_with(options(), Durability::Buffered);
    let mut client = server.connect();
    let claims: [&[u8]; 6] = [
        b"\x00\x81\x00\x00\x00\x00\x1f\xff\xff\xffabc",
        b"\x01\x81\xff\xff\xff\xff\xff\xff\xff\xff\x01a",
        b"\x00\xc3\x03\x81\x00\x00\x00\x00\x10\x00\x00\x00\x00a\x20",
        b"\x12\x81\x7f\xff\xff\xff\xff\xff\xff\xff\x02\x01a",
        b"\x04\x80\xff\xff\xff\xff\x01a",
        b"\x10\x80\xff\xff\xff\xff\x01a",
    ];
    for claim in claims {
        let mut payload = claim.to_vec();
        seal(&mut payload);
        let reply = restore(&mut client, "k", &payload);
        assert!(reply.starts_with("-ERR Bad data format"), "{reply}");
    }
    for (kind, what) in [(7, "a value of a module"), (24, "fields expire")] {
        let mut payload = vec![kind, 1, 1];
        seal(&mut payload);
        let reply = restore(&mut client, "k", &payload);
        assert!(reply.starts_with("-ERR Bad data format: ") && reply.contains(what), "{reply}");
    }
    assert_eq!(client.ask("DBSIZE"), ":0|");
}
