//! Requests of one command to one key in a row. A server does them as one change, and their replies and
//! effects must be those of single requests.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::common::{TestClient, encode, options, show, skipped, start_with};
use skein_store::Durability;

/// Commands on the key `k`, which may hold any kind; each in many forms, wrong ones too.
const TEMPLATES: [&[&str]; 9] = [
    &["LPUSH k a", "LPUSH k b cc", "LPUSH k", "LPUSHX k d", "RPUSH k e", "RPUSH k f g h", "RPUSHX k i"],
    &["LPOP k", "LPOP k", "LPOP k 2", "LPOP k 0", "LPOP k -1", "LPOP k x", "LPOP k 1 2"],
    &["RPOP k", "RPOP k", "RPOP k", "RPOP k 3"],
    &["SADD k a", "SADD k b c", "SADD k a d", "SADD k e", "SADD k"],
    &["SREM k a", "SREM k b c", "SREM k d x", "SREM k e"],
    &["ZADD k 1 a", "ZADD k NX 2 b", "ZADD k XX 3 a", "ZADD k XX CH 4 b", "ZADD k 1 a 2", "ZADD k nan c"],
    &[
        "ZADD k INCR 2.5 a",
        "ZADD k INCR inf c",
        "ZADD k INCR -inf c",
        "ZADD k GT CH 9 b",
        "ZADD k XX INCR 1 d",
    ],
    &["ZREM k a", "ZREM k b c", "ZREM k d"],
    &[
        "XADD k 1-1 f v",
        "XADD k 2-* f v g w",
        "XADD k 3-1 f v",
        "XADD k NOMKSTREAM 4-* f v",
        "XADD k MAXLEN 2 5-* f v",
        "XADD k 1-9 f v",
        "XADD k 0-0 f v",
        "XADD k 6-* f",
    ],
];

/// Runs: a family of requests, and which of them; then whether the key is removed or replaced.
fn steps() -> impl Strategy<Value = Vec<String>> {
    let run = (0..TEMPLATES.len(), prop::collection::vec(any::<prop::sample::Index>(), 1..40));
    let run = run.prop_map(|(family, forms)| {
        let forms = forms.iter().map(|form| (*form.get(TEMPLATES[family])).to_owned());
        forms.collect::<Vec<String>>()
    });
    // Of another key, so that a run ends.
    let other = Just(vec!["LPUSH other x".to_owned()]);
    let replaced = prop::sample::select(vec!["DEL k", "DEL k", "DEL k", "SET k text"]);
    let replaced = replaced.prop_map(|request| vec![request.to_owned()]);
    let step = prop_oneof![6 => run, 1 => other, 2 => replaced];
    prop::collection::vec(step, 1..12).prop_map(|steps| steps.concat())
}

/// Returns all that the keys hold.
fn contents(client: &mut TestClient) -> Vec<String> {
    let reads = [
        "TYPE k",
        "GET k",
        "LRANGE k 0 -1",
        "SMEMBERS k",
        "ZRANGE k 0 -1 WITHSCORES",
        "XRANGE k - +",
        "LLEN other",
    ];
    reads.iter().map(|read| client.ask(read)).collect()
}

#[test]
fn a_run_of_requests_is_the_same_as_single_ones() {
    if skipped("it has database 0 alone") {
        return;
    }
    let server = start_with(options(), Durability::Buffered);
    for database in ["0", "3"] {
        let mut runner = TestRunner::new(Config { cases: 200, ..Config::default() });
        let tested = runner.run(&steps(), |steps| {
            let (mut runs, mut single) = (server.connect(), server.connect());
            prop_assert_eq!(runs.ask(&format!("SELECT {database}")), "+OK|");
            prop_assert_eq!(single.ask("SELECT 5"), "+OK|");
            runs.ask("DEL k other");
            single.ask("DEL k other");
            for (step, reply) in steps.iter().zip(runs.ask_all(&steps)) {
                prop_assert_eq!(reply, single.ask(step), "{}", step);
            }
            prop_assert_eq!(contents(&mut runs), contents(&mut single));
            Ok(())
        });
        tested.unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// Pops of long elements are answered in several changes, and none is lost.
#[test]
fn long_elements_are_popped_in_order() {
    let server = start_with(options(), Durability::Buffered);
    let mut client = server.connect();
    let elements: Vec<Vec<u8>> = (0..20_u8).map(|at| vec![b'a' + at; 30_000]).collect();
    for element in &elements {
        client.call(&[b"RPUSH", b"long", element]);
    }
    client.send(&encode(&[b"LPOP", b"long"]).repeat(22));
    for element in &elements {
        assert_eq!(client.reply(), [b"$30000\r\n", &element[..], b"\r\n"].concat());
    }
    for _ in 0..2 {
        assert_eq!(client.reply(), b"$-1\r\n");
    }
}

/// A run counts as so many commands, and shows them to the monitors in their order.
#[test]
fn each_request_of_a_run_is_counted_and_shown() {
    let server = start_with(options(), Durability::Buffered);
    let (mut client, mut monitor) = (server.connect(), server.connect());
    assert_eq!(monitor.ask("MONITOR"), "+OK|");
    client.send(&[encode(&[b"SADD", b"s", b"a"]), encode(&[b"SADD", b"s", b"b"])].concat().repeat(8));
    (0..16).for_each(|_| drop(client.reply()));
    for at in 0..16 {
        let shown = show(&monitor.reply());
        assert!(shown.contains(&format!("\"s\" \"{}\"", if at % 2 == 0 { "a" } else { "b" })), "{shown}");
    }
    let stats = client.ask("INFO commandstats");
    assert!(stats.contains("cmdstat_sadd:calls=16,"), "{stats}");
}
