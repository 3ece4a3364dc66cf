//! Notices of changes: the clients that receive them, in each database, and the names in them.

use super::{REASON, client_of, start};
use crate::blocking::{answer, block, blocked};
use crate::common::{show, skipped};

#[test]
fn a_push_serves_clients_of_its_own_database() {
    if skipped(REASON) {
        return;
    }
    let server = start();
    let mut observer = server.connect();
    let [mut zero, mut third, mut pusher] = [0, 3, 0].map(|database| client_of(&server, database));
    block(&mut third, "BLPOP l 0", &mut observer);
    assert_eq!(pusher.ask("RPUSH l wrong"), ":1|");
    assert_eq!(blocked(&mut observer), 1);
    assert_eq!(pusher.ask("DEL l"), ":1|");
    block(&mut zero, "BLPOP l 0", &mut observer);
    pusher.ask("SELECT 3");
    assert_eq!(pusher.ask("RPUSH l right"), ":1|");
    assert_eq!(answer(&mut third), "*2|$1|l|$5|right|");
    assert_eq!(blocked(&mut observer), 1);
    // A key that is moved from another database serves, too.
    for words in ["RPUSH l moved", "MOVE l 0"] {
        assert_eq!(pusher.ask(words), ":1|");
    }
    assert_eq!(answer(&mut zero), "*2|$1|l|$5|moved|");
    block(&mut zero, "BZPOPMIN z 0", &mut observer);
    assert_eq!(pusher.ask("ZADD here 1 m"), ":1|");
    assert_eq!(pusher.ask("COPY here z DB 0"), ":1|");
    assert_eq!(answer(&mut zero), "*3|$1|z|$1|m|$1|1|");
    let script = "redis.call('select', 0) redis.call('rpush', 'l', 'x') return redis.call('llen', 'l')";
    block(&mut zero, "BLMPOP 0 1 l LEFT", &mut observer);
    assert_eq!(show(&pusher.call(&[b"EVAL", script.as_bytes(), b"0"])), ":1|");
    assert_eq!(answer(&mut zero), "*2|$1|l|*1|$1|x|");
}

#[test]
fn waiting_clients_follow_their_database() {
    if skipped(REASON) {
        return;
    }
    let server = start();
    let mut observer = server.connect();
    let [mut first, mut second, mut reader, mut mover, mut other] =
        [0, 1, 1, 1, 5].map(|database| client_of(&server, database));
    block(&mut first, "BLPOP l 0", &mut observer);
    block(&mut second, "BRPOP x l 0", &mut observer);
    block(&mut mover, "BLMOVE q to LEFT RIGHT 0", &mut observer);
    block(&mut reader, "XREAD BLOCK 0 STREAMS s $", &mut observer);
    // The list that is swapped into database 1 serves its client.
    assert_eq!(other.ask("RPUSH l five"), ":1|");
    assert_eq!(other.ask("SWAPDB 5 1"), "+OK|");
    assert_eq!(answer(&mut second), "*2|$1|l|$4|five|");
    assert_eq!(blocked(&mut observer), 3);
    assert_eq!(other.ask("SWAPDB 0 1"), "+OK|");
    assert_eq!(blocked(&mut observer), 3);
    other.ask("SELECT 1");
    assert_eq!(other.ask("RPUSH q element"), ":1|");
    assert_eq!(answer(&mut mover), "$7|element|");
    assert_eq!(other.ask("LRANGE to 0 -1"), "*1|$7|element|");
    assert_eq!(other.ask("XADD s 7-7 f v"), "$3|7-7|");
    assert_eq!(answer(&mut reader), "*1|*2|$1|s|*1|*2|$3|7-7|*2|$1|f|$1|v|");
    other.ask("SELECT 0");
    assert_eq!(other.ask("RPUSH l zero"), ":1|");
    assert_eq!(answer(&mut first), "*2|$1|l|$4|zero|");
    assert_eq!(blocked(&mut observer), 0);
}

/// A client of XREADGROUP is told that its stream was removed only for its own database.
#[test]
fn a_flush_of_another_database_unblocks_nobody() {
    if skipped(REASON) {
        return;
    }
    let server = start();
    let mut observer = server.connect();
    let [mut reader, mut flusher] = [3, 4].map(|database| client_of(&server, database));
    assert_eq!(reader.ask("XGROUP CREATE s g $ MKSTREAM"), "+OK|");
    block(&mut reader, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >", &mut observer);
    assert_eq!(flusher.ask("FLUSHDB"), "+OK|");
    assert_eq!(blocked(&mut observer), 1);
    flusher.ask("SELECT 3");
    assert_eq!(flusher.ask("FLUSHDB"), "+OK|");
    assert_eq!(answer(&mut reader), "-UNBLOCKED the stream key no longer exists|");
}

#[test]
fn monitors_and_lists_of_clients_show_the_database() {
    if skipped(REASON) {
        return;
    }
    let server = start();
    let mut client = client_of(&server, 4);
    assert!(client.ask("CLIENT INFO").contains(" db=4 "));
    assert!(server.connect().ask("CLIENT LIST").contains(" db=4 "));
    let mut monitor = server.connect();
    assert_eq!(monitor.ask("MONITOR"), "+OK|");
    client.ask("GET k");
    let script = "redis.call('select', 6) redis.call('get', KEYS[1]) redis.call('select', 2) return 1";
    client.call(&[b"EVAL", script.as_bytes(), b"1", b"k"]);
    for words in ["MULTI", "SELECT 5", "GET k", "EXEC", "SELECT 16"] {
        client.ask(words);
    }
    let mut seen = Vec::new();
    while seen.len() < 9 {
        let line = show(&monitor.reply());
        let (_, rest) = line.split_once(" [").expect("a source");
        let (source, request) = rest.split_once("] ").expect("a request");
        let (database, kind) = source.split_once(' ').expect("a database");
        let kind = if kind == "lua" { "lua" } else { "client" };
        let command = request.split(' ').next().unwrap_or_default().trim_matches(['"', '|']);
        seen.push(format!("{database} {kind} {}", command.to_lowercase()));
    }
    let expected = [
        "4 client get",
        "4 client eval",
        "6 lua select",
        "6 lua get",
        "2 lua select",
        "4 client multi",
        "5 client select",
        "5 client get",
        "5 client exec",
    ];
    assert_eq!(seen, expected);
    assert!(client.ask("CLIENT INFO").contains(" db=5 "));
    assert_eq!(client.ask("RESET"), "+RESET|");
    assert!(client.ask("CLIENT INFO").contains(" db=0 "));
    client.ask("SELECT 3");
    assert!(client.ask("HELLO 3").starts_with("%7|"));
    assert!(client.ask("CLIENT INFO").contains(" db=3 "));
    assert!(client.ask("OBJECT HELP").starts_with("*11|"));
    assert!(client.ask("XINFO HELP").starts_with("*9|"));
    assert!(client.ask("MEMORY DOCTOR").contains("memory"));
}

#[test]
fn the_slow_log_has_the_names_that_clients_use() {
    if skipped(REASON) {
        return;
    }
    let server = start();
    let mut client = client_of(&server, 3);
    assert_eq!(client.ask("CONFIG SET slowlog-log-slower-than 0"), "+OK|");
    client.ask("SET key value");
    client.ask("DEL key other");
    let log = client.ask("SLOWLOG GET 2");
    assert!(
        log.contains("*3|$3|DEL|$3|key|$5|other|") && log.contains("*3|$3|SET|$3|key|$5|value|"),
        "{log}"
    );
}

#[test]
fn events_name_the_database() {
    if skipped(REASON) {
        return;
    }
    let server = start();
    let mut subscriber = server.connect();
    let mut client = client_of(&server, 3);
    assert_eq!(client.ask("CONFIG SET notify-keyspace-events KExg$"), "+OK|");
    subscriber.ask("PSUBSCRIBE __key*@3__:* __keyspace@0__:*");
    subscriber.reply();
    let mut message = move || {
        let message = show(&subscriber.reply());
        let parts: Vec<&str> = message.split('|').collect();
        format!("{} {}", parts[6], parts[8])
    };
    client.ask("SET k v");
    assert_eq!([message(), message()], ["__keyspace@3__:k set", "__keyevent@3__:set k"]);
    client.ask("SET k v PX 20");
    for event in ["set", "expire", "expired"] {
        assert_eq!(message(), format!("__keyspace@3__:k {event}"));
        assert_eq!(message(), format!("__keyevent@3__:{event} k"));
    }
    // Events follow the database, not the keyspace.
    assert_eq!(client.ask("SWAPDB 3 0"), "+OK|");
    client.ask("SET k v");
    assert_eq!([message(), message()], ["__keyspace@3__:k set", "__keyevent@3__:set k"]);
    client.ask("SELECT 0");
    client.ask("SET k v");
    assert_eq!(message(), "__keyspace@0__:k set");
    client.ask("DEL k");
    assert_eq!(message(), "__keyspace@0__:k del");
}

#[test]
fn invalidations_name_the_key_whatever_the_database() {
    if skipped(REASON) {
        return;
    }
    let server = start();
    let told = |key: &str| format!(">2|$10|invalidate|*1|${}|{key}|", key.len());
    let [mut tracker, mut prefixed] = [2, 9].map(|database| client_of(&server, database));
    for (client, words) in
        [(&mut tracker, "CLIENT TRACKING ON"), (&mut prefixed, "CLIENT TRACKING ON BCAST PREFIX user:")]
    {
        client.ask("HELLO 3");
        assert_eq!(client.ask(words), "+OK|");
    }
    let mut writer = client_of(&server, 2);
    tracker.ask("GET k");
    writer.ask("SET k v");
    assert_eq!(show(&tracker.reply()), told("k"));
    tracker.ask("GET k");
    // As in Redis.
    writer.ask("SELECT 5");
    writer.ask("SET k v");
    assert_eq!(show(&tracker.reply()), told("k"));
    writer.ask("SET user:1 v");
    assert_eq!(show(&prefixed.reply()), told("user:1"));
    writer.ask("MOVE user:1 6");
    assert_eq!(show(&prefixed.reply()), told("user:1"));
    writer.ask("SELECT 6");
    writer.ask("SET user:1 v PX 20");
    assert_eq!(show(&prefixed.reply()), told("user:1"));
    assert_eq!(show(&prefixed.reply()), told("user:1"), "it has expired");
}
