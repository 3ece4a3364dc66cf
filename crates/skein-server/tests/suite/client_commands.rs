//! CLIENT and CONFIG where Redis's replies cannot be compared: they contain ports and times, and
//! this server has several workers.

use crate::common::{TestClient, TestServer, encode, options, show, start, start_with};
use skein_server::ServerOptions;
use skein_store::Durability;

/// Returns the lines of CLIENT LIST.
fn list(client: &mut TestClient, request: &str) -> Vec<String> {
    let reply = client.ask(request);
    let text = reply.split_once('|').expect("a bulk string").1.trim_end_matches('|').to_owned();
    text.lines().map(str::to_owned).collect()
}

fn field(line: &str, name: &str) -> String {
    let value = line.split(' ').find_map(|word| word.strip_prefix(&format!("{name}=")));
    value.unwrap_or_else(|| panic!("no {name}: {line}")).to_owned()
}

fn id(client: &mut TestClient) -> String {
    client.ask("CLIENT ID").trim_matches([':', '|']).to_owned()
}

/// Returns clients on both workers.
fn two(server: &TestServer) -> (TestClient, TestClient) {
    let (mut one, mut other) = (server.connect(), server.connect());
    assert_eq!(one.ask("PING"), "+PONG|");
    assert_eq!(other.ask("PING"), "+PONG|");
    (one, other)
}

#[test]
fn client_list_counts_queued_requests() {
    let server = start();
    let (mut one, mut other) = two(&server);
    let its = id(&mut one);
    let mut seen = |of: &[&str]| {
        let lines = list(&mut other, &format!("CLIENT LIST ID {its}"));
        of.iter().map(|name| field(&lines[0], name)).collect::<Vec<_>>()
    };
    let steps = [
        ("PING", "-1", "N"),
        ("MULTI", "0", "x"),
        ("SET a 1", "1", "x"),
        ("GET a", "2", "x"),
        ("NOPE", "2", "x"),
        ("GET a", "2", "x"),
        ("EXEC", "-1", "N"),
        ("MULTI", "0", "x"),
        ("DISCARD", "-1", "N"),
        ("MULTI", "0", "x"),
        ("EXEC", "-1", "N"),
        ("MULTI", "0", "x"),
        ("EXEC x", "-1", "N"),
        ("CLIENT NO-EVICT ON", "-1", "e"),
        ("MULTI", "0", "xe"),
        ("CLIENT FOO", "0", "xe"),
        ("RESET", "-1", "e"),
    ];
    for (request, count, flags) in steps {
        one.ask(request);
        assert_eq!(seen(&["multi", "flags"]), [count, flags], "after {request}");
    }
    for request in ["MULTI", "SET a 1", "CLIENT INFO"] {
        one.ask(request);
    }
    let ran = one.ask("EXEC");
    let line = ran.split('|').find(|part| part.starts_with("id=")).expect("a line");
    assert_eq!([field(line, "multi"), field(line, "flags"), field(line, "cmd")], ["2", "xe", "exec"]);
    assert_eq!(seen(&["multi"]), ["-1"]);
}

#[test]
fn client_list_has_the_clients_of_all_workers() {
    let server = start();
    let (mut one, mut other) = two(&server);
    one.ask("CLIENT SETNAME first");
    other.ask("HELLO 3 SETNAME second");
    other.ask("CLIENT SETINFO LIB-NAME tests");
    other.ask("CLIENT NO-EVICT on");
    other.ask("GET nope");
    let mut lines = list(&mut one, "CLIENT LIST");
    assert_eq!(lines.len(), 2, "{lines:?}");
    lines.sort_by_key(|line| field(line, "name"));
    assert_eq!(field(&lines[0], "name"), "first");
    assert_eq!(field(&lines[0], "cmd"), "client|list");
    assert_eq!(field(&lines[0], "resp"), "2");
    assert_eq!(field(&lines[0], "addr"), one.stream.local_addr().expect("an address").to_string());
    assert_eq!(field(&lines[0], "laddr"), server.address.to_string());
    assert_eq!(field(&lines[1], "name"), "second");
    assert_eq!(field(&lines[1], "cmd"), "get");
    assert_eq!(field(&lines[1], "resp"), "3");
    assert_eq!(field(&lines[1], "flags"), "e");
    assert_eq!(field(&lines[1], "lib-name"), "tests");

    let (first, second) = (id(&mut one), id(&mut other));
    assert_eq!(field(&lines[0], "id"), first);
    let some = list(&mut one, &format!("CLIENT LIST ID {second} 99999 {first}"));
    assert_eq!(some.iter().map(|line| field(line, "name")).collect::<Vec<_>>(), ["second", "first"]);
    let info = list(&mut one, "CLIENT INFO");
    assert_eq!((info.len(), field(&info[0], "cmd").as_str()), (1, "client|info"));
    assert_eq!(list(&mut one, "CLIENT LIST TYPE normal").len(), 2);

    drop(other);
    while list(&mut one, "CLIENT LIST").len() > 1 {
        std::thread::yield_now();
    }
}

#[test]
fn clients_of_any_worker_are_killed() {
    let server = start();
    let (mut one, mut other) = two(&server);
    let (first, second) = (id(&mut one), id(&mut other));
    assert_eq!(one.ask(&format!("CLIENT KILL ID {second}")), ":1|");
    assert_eq!(list(&mut one, "CLIENT LIST").len(), 1, "it is no longer listed");
    assert_eq!(one.ask(&format!("CLIENT KILL ID {second}")), ":0|");
    assert_eq!(other.try_reply(), None);

    let mut other = server.connect();
    other.ask("PING");
    let address = other.stream.local_addr().expect("an address").to_string();
    assert_eq!(one.ask(&format!("CLIENT KILL {address}")), "+OK|");
    assert_eq!(other.try_reply(), None);

    let mut others: Vec<TestClient> = (0..6).map(|_| server.connect()).collect();
    for other in &mut others {
        assert_eq!(other.ask("PING"), "+PONG|");
    }
    assert_eq!(
        one.ask(&format!("CLIENT KILL ID {first}")),
        ":0|",
        "the own connection is skipped, unless SKIPME is no"
    );
    assert_eq!(one.ask("CLIENT KILL TYPE normal"), ":6|");
    for other in &mut others {
        assert_eq!(other.try_reply(), None);
    }
    // Requests after the kill in the same pipeline do not run.
    one.send(&[encode(&[b"CLIENT", b"KILL", b"SKIPME", b"no"]), encode(&[b"SET", b"after", b"1"])].concat());
    assert_eq!(one.reply(), b":1\r\n");
    assert_eq!(one.try_reply(), None);
    assert_eq!(server.connect().ask("EXISTS after"), ":0|");
}

#[test]
fn the_limit_on_clients_is_changed_while_the_server_runs() {
    let server = start();
    let mut client = server.connect();
    assert_eq!(client.ask("CONFIG SET maxclients 1"), "+OK|");
    let mut refused = server.connect();
    assert_eq!(refused.try_reply().as_deref(), Some(&b"-ERR max number of clients reached\r\n"[..]));
    assert_eq!(client.ask("CONFIG SET maxclients 2"), "+OK|");
    assert_eq!(server.connect().ask("PING"), "+PONG|");
    assert!(client.ask("INFO clients").contains("maxclients:2|"));
}

#[test]
fn resetstat_resets_the_number_of_commands() {
    let server = start();
    let mut client = server.connect();
    for _ in 0..100 {
        client.ask("PING");
    }
    let processed = |client: &mut TestClient| -> u64 {
        let info = client.ask("INFO stats");
        let line = info.split('|').find_map(|line| line.strip_prefix("total_commands_processed:"));
        line.expect("a line").parse().expect("a number")
    };
    assert!(processed(&mut client) >= 100);
    assert_eq!(client.ask("CONFIG RESETSTAT"), "+OK|");
    assert!(processed(&mut client) < 10);
}

#[test]
fn debug_sleeps_where_it_is_allowed() {
    let server = start_with(ServerOptions { debug_command: true, ..options() }, Durability::Buffered);
    let mut client = server.connect();
    assert_eq!(client.ask("DEBUG SLEEP 0.001"), "+OK|");
    assert_eq!(client.ask("debug sleep 0"), "+OK|");
    for bad in ["x", "-1", "nan", "1e300", "3601"] {
        let refused = client.ask(&format!("DEBUG SLEEP {bad}"));
        assert!(
            refused.starts_with(&format!("-ERR DEBUG SLEEP {bad}: give seconds from 0 to 3600")),
            "{refused}"
        );
    }
    let unknown = client.ask("DEBUG NOPE");
    assert_eq!(unknown, "-ERR unknown subcommand or wrong number of arguments for 'NOPE'. Try DEBUG HELP.|");
    assert!(client.ask("DEBUG HELP").starts_with("*15|+DEBUG"));
    assert_eq!(client.ask("CONFIG GET enable-debug-command"), "*2|$20|enable-debug-command|$3|yes|");
}

/// The replies of Redis 7.0.15 to DEBUG PROTOCOL.
#[test]
fn debug_shows_each_type_of_the_protocol() {
    let server = start_with(ServerOptions { debug_command: true, ..options() }, Durability::Buffered);
    let (mut old, mut new) = (server.connect(), server.connect());
    new.ask("HELLO 3");
    for (kind, in_2, in_3) in [
        ("string", "$11|Hello World|", "$11|Hello World|"),
        ("integer", ":12345|", ":12345|"),
        ("double", "$5|3.141|", ",3.141|"),
        ("null", "$-1|", "_|"),
        ("array", "*3|:0|:1|:2|", "*3|:0|:1|:2|"),
        ("SET", "*3|:0|:1|:2|", "~3|:0|:1|:2|"),
        ("map", "*6|:0|:0|:1|:1|:2|:0|", "%3|:0|#f|:1|#t|:2|#f|"),
        ("verbatim", "$25|This is a verbatim\nstring|", "=29|txt:This is a verbatim\nstring|"),
        ("true", ":1|", "#t|"),
        ("false", ":0|", "#f|"),
        ("bignum", "$37|1234567999999999999999999999999999999|", "(1234567999999999999999999999999999999|"),
    ] {
        assert_eq!(old.ask(&format!("DEBUG PROTOCOL {kind}")), in_2, "{kind}");
        assert_eq!(new.ask(&format!("DEBUG PROTOCOL {kind}")), in_3, "{kind}");
    }
    assert_eq!(old.ask("DEBUG PROTOCOL attrib"), "$39|Some real reply following the attribute|");
    assert_eq!(old.ask("DEBUG PROTOCOL push"), "-ERR RESP2 is not supported by this command|");
    assert_eq!(new.ask("DEBUG PROTOCOL push"), ">2|$16|server-cpu-usage|:42|");
    assert_eq!(show(&new.reply()), "$40|Some real reply following the push reply|");
    let called = |client: &mut TestClient| {
        show(&client.call(&[b"EVAL", b"return redis.call('debug', 'protocol', 'string')", b"0"]))
    };
    assert!(called(&mut old).starts_with("-ERR This Redis command is not allowed from script"));
    assert_eq!(old.ask("DEBUG SET-DISABLE-DENY-SCRIPTS 1"), "+OK|");
    assert_eq!(called(&mut old), "$11|Hello World|");
    let script = b"redis.setresp(3) return redis.call('debug', 'protocol', 'attrib')";
    let reply = show(&old.call(&[b"EVAL", script, b"0"]));
    assert_eq!(reply, "$39|Some real reply following the attribute|");
    assert_eq!(old.ask("DEBUG SET-DISABLE-DENY-SCRIPTS 0"), "+OK|");
    assert!(called(&mut old).starts_with("-ERR "));
    assert!(new.ask("DEBUG PROTOCOL nope").starts_with("-ERR Wrong protocol type name."));
}

#[test]
fn times_are_those_of_the_clock() {
    let server = start();
    let mut client = server.connect();
    let before = std::time::UNIX_EPOCH.elapsed().expect("a time").as_secs();
    let reply = client.ask("TIME");
    let words: Vec<&str> = reply.split('|').collect();
    assert!(words[2].parse::<u64>().expect("seconds") >= before, "{reply}");
    assert!(words[4].parse::<u64>().expect("microseconds") < 1_000_000, "{reply}");
    let last = |client: &mut TestClient| -> u64 {
        client.ask("LASTSAVE").trim_matches([':', '|']).parse().expect("a time")
    };
    let start = last(&mut client);
    assert!(start > 0 && start <= before + 1);
    assert_eq!(client.ask("SAVE"), "+OK|");
    assert!(last(&mut client) >= before);
}

#[test]
fn command_list_has_only_supported_commands() {
    let server = start();
    let mut client = server.connect();
    let commands = client.ask("COMMAND LIST");
    for missing in ["bf.add", "psync", "json.get", "sync"] {
        assert!(!commands.contains(&format!("|{missing}|")), "{missing}");
    }
    assert!(commands.contains("|get|") && commands.contains("|sk.range|"));
    let reads = client.ask("COMMAND LIST FILTERBY ACLCAT read");
    assert!(reads.contains("|get|") && !reads.contains("|set|"));
    assert_eq!(client.ask("COMMAND LIST FILTERBY PATTERN sk.g*v"), "*1|$7|sk.getv|");
}
