//! The server's reports on its work: INFO, SLOWLOG, LATENCY, metrics. Replies that are always equal
//! are in `golden/monitoring.txt`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, TestClient, TestServer, options, show, start_with, trie, wait_for};
use skein_server::ServerOptions;
use skein_store::Durability;

/// Returns options with which every request is slow enough for the slow log.
fn strict() -> ServerOptions {
    ServerOptions { slowlog_slower_than: Duration::ZERO, debug_command: true, workers: 1, ..options() }
}

fn start(options: ServerOptions) -> (TestServer, TestClient) {
    let running = start_with(options, Durability::Buffered);
    let client = running.connect();
    (running, client)
}

/// Returns a number from a line of INFO of the form `name:...part=number`.
fn part(info: &str, name: &str, part: &str) -> u64 {
    let (_, rest) = info.split_once(&format!("|{name}:")).unwrap_or_else(|| panic!("no {name}: {info}"));
    let line = rest.split('|').next().unwrap_or_default();
    let value = line.split(',').find_map(|pair| pair.strip_prefix(part)?.strip_prefix('='));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {part}: {line}"))
}

/// Incident: the end of KEYS moves the unsent replies before its own, and its reply was looked for
/// at the position from before. Consequence: if a byte of an earlier reply there was `-`, INFO
/// counted a failed KEYS. Fix: the reply is the appended bytes, counted from the end.
#[test]
fn replies_before_a_long_one_are_not_its_error() {
    let (_running, mut client) = start(ServerOptions { workers: 1, ..options() });
    let dashes = "-".repeat(40);
    client.send(format!("ECHO {dashes}\r\nKEYS *\r\n").as_bytes());
    assert_eq!(client.reply(), format!("$40\r\n{dashes}\r\n").into_bytes());
    assert_eq!(client.reply(), b"*0\r\n");
    let info = client.ask("INFO commandstats errorstats");
    assert_eq!(part(&info, "cmdstat_keys", "failed_calls"), 0, "{info}");
    assert!(!info.contains("errorstat_"), "{info}");
}

#[test]
fn commands_are_counted_however_they_run() {
    let (_running, mut client) = start(ServerOptions { workers: 1, ..options() });
    let requests = [
        ("SET a 1", "+OK|"),
        ("SET b 2", "+OK|"),
        ("HGET a f", "-WRONGTYPE Operation against a key holding the wrong kind of value|"),
        ("HSET a f 1", "-WRONGTYPE Operation against a key holding the wrong kind of value|"),
        ("INCR a", ":2|"),
        ("GET", "-ERR wrong number of arguments for 'get' command|"),
        ("NOPE", "-ERR unknown command 'NOPE', with args beginning with: |"),
        ("MULTI", "+OK|"),
        ("GET a", "+QUEUED|"),
        ("HSET a f 1", "+QUEUED|"),
        ("EXEC", "*2|$1|2|-WRONGTYPE Operation against a key holding the wrong kind of value|"),
        ("KEYS *", "*2|$1|a|$1|b|"),
        ("CONFIG GET nope", "*0|"),
        ("CONFIG NOPE", "-ERR unknown subcommand 'NOPE'. Try CONFIG HELP.|"),
    ];
    for (request, reply) in requests {
        assert_eq!(client.ask(request), reply, "{request}");
    }
    // A pipeline of reads that are looked up together, alternating between two commands.
    client.send(&"GET a\r\nSTRLEN a\r\n".repeat(40).into_bytes());
    for _ in 0..40 {
        assert_eq!((client.reply(), client.reply()), (b"$1\r\n2\r\n".to_vec(), b":1\r\n".to_vec()));
    }
    client.send(&"MGET a b\r\n".repeat(100).into_bytes());
    (0..100).for_each(|_| assert_eq!(client.reply(), b"*2\r\n$1\r\n2\r\n$1\r\n2\r\n"));
    let info = client.ask("INFO commandstats errorstats latencystats");
    for (command, calls, rejected, failed) in [
        ("get", 41, 1, 0),
        ("strlen", 40, 0, 0),
        ("mget", 100, 0, 0),
        ("set", 2, 0, 0),
        ("incr", 1, 0, 0),
        ("hget", 1, 0, 1),
        ("hset", 2, 0, 2),
        ("multi", 1, 0, 0),
        ("exec", 1, 0, 0),
        ("keys", 1, 0, 0),
        ("config|get", 1, 0, 0),
    ] {
        let of = |what| part(&info, &format!("cmdstat_{command}"), what);
        assert_eq!(
            (of("calls"), of("rejected_calls"), of("failed_calls")),
            (calls, rejected, failed),
            "{command}: {info}"
        );
        assert!(info.contains(&format!("|latency_percentiles_usec_{command}:p50=")), "{command}");
    }
    assert_eq!(part(&info, "cmdstat_config", "rejected_calls"), 1, "{info}");
    assert_eq!(
        (part(&info, "errorstat_ERR", "count"), part(&info, "errorstat_WRONGTYPE", "count")),
        (3, 3),
        "{info}"
    );
    assert!(client.ask("INFO stats").contains("|total_error_replies:6|"));

    assert_eq!(client.ask("CONFIG RESETSTAT"), "+OK|");
    let info = client.ask("INFO commandstats errorstats latencystats");
    // RESETSTAT itself is counted, because a command is recorded when it is done.
    assert!(
        !info.contains("cmdstat_get") && !info.contains("errorstat") && !info.contains("usec_get:"),
        "{info}"
    );
}

/// Commands of scripts count as calls. An error counts once, also if its script ends with it.
#[test]
fn commands_of_scripts_are_counted() {
    let (_running, mut client) = start(options());
    for (source, ends_with, codes, eval, inner) in [
        ("return redis.call('hset', KEYS[1], 'f')", "-ERR", "ERR", (1, 0, 1), ("hset", 0, 1, 0)),
        ("return redis.call('incr', KEYS[1])", "-WRONGTYPE", "WRONGTYPE", (1, 0, 1), ("incr", 1, 0, 1)),
        ("return redis.pcall('incr', KEYS[1])", "-WRONGTYPE", "WRONGTYPE", (1, 0, 1), ("incr", 1, 0, 1)),
        ("redis.pcall('incr', KEYS[1]) return 1", ":1", "WRONGTYPE", (1, 0, 0), ("incr", 1, 0, 1)),
        ("return redis.error_reply('MY_CODE text')", "-MY_CODE", "MY_CODE", (1, 0, 1), ("none", 0, 0, 0)),
        ("redis.call('hlen', KEYS[1]) return 1", ":1", "", (1, 0, 0), ("hlen", 1, 0, 0)),
    ] {
        assert_eq!(client.ask("DEL h"), if ends_with == "-ERR" { ":0|" } else { ":1|" }, "{source}");
        assert_eq!(client.ask("HSET h f v"), ":1|");
        assert_eq!(client.ask("CONFIG RESETSTAT"), "+OK|");
        let reply = show(&client.call(&[b"EVAL", source.as_bytes(), b"1", b"h"]));
        assert!(reply.starts_with(ends_with), "{source}: {reply}");
        let info = client.ask("INFO commandstats errorstats stats");
        let of = |command: &str| {
            let line = format!("cmdstat_{command}");
            let is_there = info.contains(&format!("|{line}:"));
            ["calls", "rejected_calls", "failed_calls"]
                .map(|what| if is_there { part(&info, &line, what) } else { 0 })
        };
        assert_eq!(of("eval"), <[u64; 3]>::from(eval), "{source}: {info}");
        assert_eq!(of(inner.0), [inner.1, inner.2, inner.3], "{source}: {info}");
        if !codes.is_empty() {
            assert_eq!(part(&info, &format!("errorstat_{codes}"), "count"), 1, "{source}: {info}");
        }
        assert_eq!(number(&info, "total_error_replies"), u64::from(!codes.is_empty()), "{source}: {info}");
    }
}

/// Counts writes since the last checkpoint began. A command that changes nothing does not count.
#[test]
fn info_counts_unsaved_changes() {
    let (_running, mut client) = start(options());
    let changes =
        |client: &mut TestClient| number(&client.ask("INFO persistence"), "rdb_changes_since_last_save");
    assert_eq!(changes(&mut client), 0);
    for (request, count) in [("SETBIT k 7 1", 1), ("SETBIT k 7 1", 1), ("SET a 1", 2), ("DEL none", 2)] {
        client.ask(request);
        assert_eq!(changes(&mut client), count, "{request}");
    }
    assert_eq!(client.ask("SAVE"), "+OK|");
    assert_eq!(changes(&mut client), 0);
    client.ask("DEL a k");
    assert_eq!(changes(&mut client), 2);
}

/// Returns the value of a line of INFO.
fn value<'i>(info: &'i str, name: &str) -> &'i str {
    let (_, rest) = info.split_once(&format!("|{name}:")).unwrap_or_else(|| panic!("no {name}: {info}"));
    rest.split('|').next().unwrap_or_default()
}

fn number(info: &str, name: &str) -> u64 {
    value(info, name).parse().unwrap_or_else(|_| panic!("{name}: {}", value(info, name)))
}

/// A collection counts once, when its last member is freed. A key without members never counts.
#[test]
fn freed_collections_are_counted() {
    if trie().is_some() {
        // The disk engine does not know the count.
        return;
    }
    let (_running, mut client) = start(options());
    let freed = |client: &mut TestClient| {
        wait_for(|| number(&client.ask("INFO memory"), "lazyfree_pending_objects") == 0);
        number(&client.ask("INFO memory"), "lazyfreed_objects")
    };
    let members: Vec<String> = (0..2_000).map(|i| i.to_string()).collect();
    for key in ["a", "b", "c"] {
        assert_eq!(client.ask(&format!("SADD {key} {}", members.join(" "))), ":2000|");
    }
    assert_eq!((client.ask("SET d v"), client.ask("UNLINK a b d")), ("+OK|".to_owned(), ":3|".to_owned()));
    assert_eq!(freed(&mut client), 2);
    assert_eq!(client.ask("CONFIG RESETSTAT"), "+OK|");
    assert_eq!(freed(&mut client), 0);
    assert_eq!(client.ask("DEL c"), ":1|");
    assert_eq!(freed(&mut client), 1);
}

#[test]
fn info_has_the_fields_that_tools_read() {
    let (_running, mut client) = start(options());
    let source = "return redis.call('SET', KEYS[1], 'v')";
    assert_eq!(client.call(&[b"EVAL", source.as_bytes(), b"1", b"k"]), b"+OK\r\n");
    let library = "#!lua name=l\nredis.register_function('f', function() return 1 end)\n\
                   redis.register_function('g', function() return 1 end)";
    assert_eq!(client.call(&[b"FUNCTION", b"LOAD", library.as_bytes()]), b"$1\r\nl\r\n");
    let info = client.ask("INFO everything");
    for (name, expected) in [
        ("number_of_cached_scripts", 1),
        ("number_of_libraries", 1),
        ("number_of_functions", 2),
        ("used_memory_startup", 0),
        ("lazyfree_pending_objects", 0),
        ("lazyfreed_objects", 0),
        ("master_repl_offset", 0),
        ("async_loading", 0),
        ("total_forks", 0),
        ("cluster_connections", 0),
    ] {
        if name.starts_with("lazyfree") && trie().is_some() {
            assert!(!info.contains(name), "not known over the disk engine");
            continue;
        }
        assert_eq!(number(&info, name), expected, "{name}");
    }
    let (lua, all) = (number(&info, "used_memory_lua"), number(&info, "used_memory_vm_total"));
    assert!(lua > 10_000 && all > lua + 10_000, "{lua} {all}: two states");
    assert_eq!(all, lua + number(&info, "used_memory_vm_functions"));
    assert_eq!(number(&info, "used_memory_vm_eval"), lua);
    assert!(number(&info, "used_memory_scripts") >= (source.len() + library.len()) as u64);
    let used = number(&info, "used_memory");
    assert_eq!(used, number(&info, "used_memory_overhead") + number(&info, "used_memory_dataset"));
    assert!(number(&info, "total_system_memory") > 1 << 20);
    assert_eq!(value(&info, "master_replid").len(), 40);
    assert_ne!(value(&info, "master_replid"), value(&info, "run_id"));
    assert_eq!(value(&info, "os").split(' ').count(), 3, "{}", value(&info, "os"));
    assert!(info.contains("|# Modules|"));
    let reads = number(&info, "total_reads_processed");
    assert!(reads >= 3 && number(&info, "total_writes_processed") >= 2, "{info}");
    assert_eq!(client.ask("CONFIG RESETSTAT"), "+OK|");
    let stats = client.ask("INFO stats");
    assert!(number(&stats, "total_reads_processed") <= 1 && number(&stats, "total_net_input_bytes") < 64);
    // Each name once. (Names of subcommands have a bar, as the ends of lines have here.)
    let default = client.ask("INFO");
    let mut names: Vec<&str> = default.split('|').filter_map(|line| Some(line.split_once(':')?.0)).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn config_has_the_parameters_that_tools_read() {
    let (_running, mut client) = start(options());
    for (name, expected) in [
        ("save", ""),
        ("appendonly", "yes"),
        ("databases", "16"),
        ("maxmemory-policy", "noeviction"),
        ("lua-time-limit", "5000"),
        ("busy-reply-threshold", "5000"),
        ("cluster-enabled", "no"),
        ("hash-max-listpack-entries", "512"),
        ("set-max-intset-entries", "512"),
        ("zset-max-listpack-entries", "128"),
    ] {
        let expected = format!("*2|${}|{name}|${}|{expected}|", name.len(), expected.len());
        assert_eq!(client.ask(&format!("CONFIG GET {name}")), expected);
    }
}

#[test]
fn long_info_sections_are_shown_on_request() {
    let (_running, mut client) = start(options());
    client.ask("SET a 1");
    let default = client.ask("INFO");
    for (names, commands) in
        [("", false), ("default", false), ("all", true), ("everything", true), ("CommandStats", true)]
    {
        let info = client.ask(&format!("INFO {names}"));
        assert_eq!(info.contains("|cmdstat_set:"), commands, "{names}");
    }
    for name in [
        "# Errorstats",
        "# CPU",
        "used_cpu_user:",
        "instantaneous_ops_per_sec:",
        "log_bytes_behind:",
        "oldest_guard_ms:",
    ] {
        assert!(default.contains(name), "no {name}: {default}");
    }
}

#[test]
fn histograms_count_every_call_and_can_be_switched_off() {
    let (_running, mut client) = start(options());
    (0..10).for_each(|_| drop(client.ask("SET a 1")));
    let histogram = client.ask("LATENCY HISTOGRAM set");
    assert!(histogram.starts_with("*2|$3|set|*4|$5|calls|:10|$14|histogram_usec|*"), "{histogram}");
    assert!(histogram.ends_with("|:10|"), "the last bucket has all calls: {histogram}");
    assert_eq!(client.ask("CONFIG SET latency-tracking no"), "+OK|");
    client.ask("SET a 1");
    assert!(client.ask("LATENCY HISTOGRAM SET").contains("|:10|$14|"));
    assert_eq!(part(&client.ask("INFO commandstats"), "cmdstat_set", "calls"), 11);
    assert_eq!(client.ask("CONFIG RESETSTAT"), "+OK|");
    assert_eq!(client.ask("LATENCY HISTOGRAM set get"), "*0|");
    // Chosen percentiles.
    client.ask("CONFIG SET latency-tracking yes");
    client.ask("SET a 1");
    assert_eq!(client.ask("CONFIG SET latency-tracking-info-percentiles 25"), "+OK|");
    let info = client.ask("INFO latencystats");
    assert!(info.contains("|latency_percentiles_usec_set:p25=") && !info.contains("p50"), "{info}");
}

/// Returns the arguments of the newest entries, newest first, each as words.
fn slow(client: &mut TestClient, count: usize) -> Vec<String> {
    let reply = client.ask(&format!("SLOWLOG GET {count}"));
    // *n, then for each entry: *6 :id :time :micros *args ($len arg)* $len address $len name
    let mut words = reply.split('|').skip(1);
    let mut entries = Vec::new();
    while words.next() == Some("*6") {
        let args =
            words.by_ref().nth(3).and_then(|args| args.strip_prefix('*')?.parse().ok()).expect("arguments");
        let request: Vec<&str> = (0..args).filter_map(|_| words.by_ref().nth(1)).collect();
        entries.push(request.join(" "));
        let address = words.by_ref().nth(1).expect("an address");
        assert!(address.starts_with("127.0.0.1:"), "{reply}");
        words.by_ref().nth(1).expect("a name");
    }
    entries
}

#[test]
fn slow_requests_are_logged_however_they_run() {
    let (_running, mut client) = start(strict());
    client.send(b"SET a 1\r\nSET b 2\r\nGET a\r\nGET b\r\nMGET a b\r\nPING\r\nPING x\r\nKEYS *\r\nMULTI\r\nSTRLEN a\r\nEXEC\r\n");
    (0..11).for_each(|_| drop(client.reply()));
    let mut seen = slow(&mut client, 20);
    seen.reverse();
    // As in Redis, EXEC is not recorded; the commands that it ran are.
    let wanted =
        ["SET a 1", "SET b 2", "GET a", "GET b", "MGET a b", "PING", "PING x", "KEYS *", "MULTI", "STRLEN a"];
    assert_eq!(seen, wanted);
    // Rejected requests and unknown commands are not recorded.
    assert_eq!(client.ask("SLOWLOG RESET"), "+OK|");
    for request in ["NOPE", "GET", "CONFIG NOPE"] {
        assert!(client.ask(request).starts_with("-ERR"));
    }
    assert_eq!(slow(&mut client, 20), ["SLOWLOG RESET"]);
    client.ask("CONFIG SET slowlog-max-len 2");
    (0..5).for_each(|_| drop(client.ask("PING")));
    assert_eq!(client.ask("SLOWLOG LEN"), ":2|");
    // A change of the limit counts for itself, as in Redis.
    let change = |slower: &str| format!("CONFIG SET slowlog-log-slower-than {slower}");
    client.ask(&change("-1"));
    assert!(!slow(&mut client, 1)[0].starts_with("CONFIG"));
    client.ask("SLOWLOG RESET");
    client.ask("PING");
    assert_eq!(client.ask("SLOWLOG LEN"), ":0|");
    client.ask(&change("0"));
    assert_eq!(slow(&mut client, 5), [change("0")]);
}

#[test]
fn secrets_reach_no_slow_log() {
    let (_running, mut client) = start(ServerOptions { password: Some(b"hunter2".to_vec()), ..strict() });
    for request in [
        "AUTH hunter2",
        "AUTH default hunter2",
        "HELLO 2 AUTH default hunter2",
        "CONFIG SET requirepass hunter2",
    ] {
        client.ask(request);
    }
    client.ask("MULTI");
    client.ask("AUTH hunter2");
    client.ask("EXEC");
    let noted = slow(&mut client, 100);
    assert!(noted.len() >= 4 && noted.iter().all(|request| !request.contains("hunter2")), "{noted:?}");
    assert!(noted.contains(&"HELLO 2 AUTH (redacted) (redacted)".to_owned()), "{noted:?}");
}

#[test]
fn commands_over_the_threshold_are_latency_events() {
    let (_running, mut client) = start(ServerOptions {
        latency_threshold: Duration::from_millis(20),
        slowlog_slower_than: Duration::from_millis(20),
        ..strict()
    });
    assert_eq!(client.ask("DEBUG SLEEP 0.05"), "+OK|");
    let latest = client.ask("LATENCY LATEST");
    assert!(latest.contains("*4|$7|command|:"), "{latest}");
    let history = client.ask("LATENCY HISTORY command");
    let worst: u64 = history
        .rsplit(':')
        .next()
        .and_then(|last| last.trim_end_matches('|').parse().ok())
        .expect("a number");
    assert!(worst >= 50, "{history}");
    assert!(client.ask("LATENCY DOCTOR").contains("command: in 1 of the last 1 seconds"));
    assert_eq!(slow(&mut client, 10).last().map(String::as_str), Some("DEBUG SLEEP 0.05"));
    assert_ne!(client.ask("LATENCY RESET"), ":0|");
    assert_eq!(client.ask("LATENCY HISTORY command"), "*0|");
}

/// Returns the response of the metrics address to a request.
fn page(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut text = String::new();
    // The connection may end before the whole response to a rejected request.
    let _ = stream.read_to_string(&mut text);
    text
}

#[test]
fn prometheus_gets_all_numbers() {
    let metrics = Some(([127, 0, 0, 1], 0).into());
    let (running, mut client) = start(ServerOptions { metrics, ..options() });
    client.ask("SET a 1");
    client.ask("HGET a f");
    client.ask("NOPE");
    let address = running.server.as_ref().and_then(skein_server::Server::metrics_addr).expect("an address");
    // A worker counts its requests at the end of its turn, after their replies.
    let began = Instant::now();
    let text = loop {
        let text = page(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        if text.contains("\nskein_requests_total 3.0") || began.elapsed() > Duration::from_secs(60) {
            break text;
        }
    };
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text;"), "{head}");
    for line in [
        "skein_clients 1",
        "skein_requests_total 3.0",
        "skein_keys 1.0",
        "skein_commands_failed_total{command=\"hget\"} 1.0",
        "skein_errors_total{code=\"ERR\"} 1.0",
        "skein_errors_total{code=\"WRONGTYPE\"} 1.0",
        "skein_command_duration_seconds_count{command=\"set\"} 1",
        "skein_command_duration_seconds_bucket{le=\"+Inf\",command=\"set\"} 1",
        "skein_log_behind_bytes ",
        "skein_writes_stopped 0.0",
        "# EOF",
    ] {
        assert!(body.lines().any(|found| found.starts_with(line)), "no {line}: {body}");
    }
    // The value of every metric is a number.
    for line in body.lines().filter(|line| !line.starts_with('#')) {
        let (_, value) = line.rsplit_once(' ').expect("a value");
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    for (request, status) in [
        ("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404"),
        ("GET /metrics?x=y HTTP/1.0\r\n\r\n", "HTTP/1.1 200"),
        ("POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405"),
        ("\r\n\r\n", "HTTP/1.1 405"),
        ("PING\r\n", ""),
    ] {
        let answer = page(address, request);
        assert!(answer.starts_with(status), "{request:?}: {answer}");
    }
    assert!(page(address, &"x".repeat(100_000)).is_empty(), "a head without an end");
    assert!(
        page(address, "GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"),
        "the server still answers"
    );
}

#[test]
fn slowlog_threshold_of_never_is_minus_one() {
    let (_running, mut client) = start(ServerOptions { slowlog_slower_than: Duration::MAX, ..options() });
    let told = "*2|$23|slowlog-log-slower-than|$2|-1|";
    assert_eq!(client.ask("CONFIG GET slowlog-log-slower-than"), told);
}
