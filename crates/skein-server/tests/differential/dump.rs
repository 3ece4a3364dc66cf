//! Keys that move between Redis and SkeinDB by DUMP and RESTORE, both ways.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use skein_rdb::packed::{ListpackWriter, QuicklistWriter, write_intset};
use skein_rdb::write::{write_length, write_scored, write_string, write_type};
use skein_rdb::{ValueType, payload};

use crate::common::{TestServer, start};
use crate::redis::ReferenceRedis;
use crate::replies::{DiffReply, ReplyContext};
use crate::templates::CommandWords;
use crate::{DiffSession, DiffStep, ReplyText, same};

const KEY: &[u8] = b"key";

/// A value, as commands make it.
#[derive(Debug, Clone)]
enum MovedValue {
    Text(Vec<u8>),
    List(Vec<Vec<u8>>),
    Integers(Vec<i64>),
    Set(Vec<Vec<u8>>),
    SortedSet(Vec<(f64, Vec<u8>)>),
    Hash(std::collections::BTreeMap<Vec<u8>, Vec<u8>>),
}

fn texts() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..30),
        prop::collection::vec(0_u8..3, 0..90),
        any::<i64>().prop_map(|number| number.to_string().into_bytes()),
        (-200_i64..5000).prop_map(|number| number.to_string().into_bytes()),
    ]
}

fn values() -> impl Strategy<Value = MovedValue> {
    let few_or_many = || prop_oneof![3 => 1_usize..20, 1 => 100_usize..700];
    let many = move |most: std::ops::Range<usize>| prop::collection::vec(texts(), most);
    let score = prop_oneof![
        (-1000_i32..1000).prop_map(f64::from),
        // Ours is 0 in place of -0, as in a small sorted set of Redis.
        any::<f64>().prop_filter("a number", |score| !score.is_nan()).prop_map(|score| score + 0.0),
        Just(f64::INFINITY),
        Just(0.1),
    ];
    let scored = move |most: usize| prop::collection::vec((score.clone(), texts()), 1..=most);
    prop_oneof![
        prop_oneof![texts(), prop::collection::vec(0_u8..5, 0..20_000)].prop_map(MovedValue::Text),
        few_or_many().prop_flat_map(move |most| many(1..most + 1)).prop_map(MovedValue::List),
        few_or_many()
            .prop_flat_map(|most| prop::collection::vec(any::<i64>().prop_map(|i| i >> (i & 63)), 1..=most))
            .prop_map(MovedValue::Integers),
        few_or_many()
            .prop_flat_map(|most| prop::collection::vec(texts(), 1..=most))
            .prop_map(MovedValue::Set),
        few_or_many().prop_flat_map(scored).prop_map(MovedValue::SortedSet),
        few_or_many()
            .prop_flat_map(|most| prop::collection::btree_map(texts(), texts(), 1..=most))
            .prop_map(MovedValue::Hash),
    ]
}

impl MovedValue {
    /// Returns the command that makes it.
    fn command(&self) -> CommandWords {
        let words = |name: &str, rest: Vec<Vec<u8>>| [vec![name.into(), KEY.to_vec()], rest].concat();
        match self {
            Self::Text(text) => words("SET", vec![text.clone()]),
            Self::List(elements) => words("RPUSH", elements.clone()),
            Self::Integers(members) => {
                words("SADD", members.iter().map(|member| member.to_string().into_bytes()).collect())
            }
            Self::Set(members) => words("SADD", members.clone()),
            Self::SortedSet(members) => {
                let pair = |(score, member): &(f64, Vec<u8>)| [score_text(*score), member.clone()];
                words("ZADD", members.iter().flat_map(pair).collect())
            }
            Self::Hash(pairs) => {
                words("HSET", pairs.iter().flat_map(|(name, value)| [name.clone(), value.clone()]).collect())
            }
        }
    }

    /// Returns the command that reads it.
    fn look(&self) -> CommandWords {
        let line: &[&[u8]] = match self {
            Self::Text(_) => &[b"GET", KEY],
            Self::List(_) => &[b"LRANGE", KEY, b"0", b"-1"],
            Self::Integers(_) | Self::Set(_) => &[b"SMEMBERS", KEY],
            Self::SortedSet(_) => &[b"ZRANGE", KEY, b"0", b"-1", b"WITHSCORES"],
            Self::Hash(_) => &[b"HGETALL", KEY],
        };
        line.iter().map(|word| word.to_vec()).collect()
    }

    /// Returns whether Redis writes it in an order that we know: not that of a hash table.
    fn has_order(&self) -> bool {
        match self {
            Self::Text(_) | Self::List(_) | Self::SortedSet(_) => true,
            Self::Integers(members) => members.iter().collect::<std::collections::HashSet<_>>().len() <= 512,
            Self::Set(members) => members.iter().all(|member| member == &members[0]),
            Self::Hash(pairs) => {
                pairs.len() == 1
                    || pairs.len() <= 512
                        && pairs.iter().all(|(name, value)| name.len().max(value.len()) <= 64)
            }
        }
    }
}

fn score_text(score: f64) -> Vec<u8> {
    if score.is_infinite() {
        if score > 0.0 { "inf" } else { "-inf" }.into()
    } else {
        format!("{score:e}").into()
    }
}

fn run(session: &mut DiffSession, words: &[&[u8]]) -> DiffReply {
    session.run(&DiffStep { second: false, words: words.iter().map(|word| word.to_vec()).collect() })
}

fn ok() -> DiffReply {
    DiffReply::Line(b"+OK".to_vec())
}

/// Moves a value from each server to the other, and compares the dumps of both.
fn moves(ours: &str, theirs: &str, resp3: bool, value: &MovedValue) -> Result<(), TestCaseError> {
    let (mut ours, mut theirs) = (DiffSession::begin(ours, resp3), DiffSession::begin(theirs, resp3));
    let step = |words| DiffStep { second: false, words };
    let mut dumps = Vec::new();
    for session in [&mut ours, &mut theirs] {
        session.run(&step(value.command()));
        let DiffReply::Text(dump) = run(session, &[b"DUMP", KEY]) else { panic!("a dump") };
        dumps.push(dump);
    }
    if value.has_order() {
        prop_assert!(
            dumps[0] == dumps[1],
            "\n  ours:  {}\n  Redis: {}",
            dumps[0].escape_ascii(),
            dumps[1].escape_ascii()
        );
    }
    let look = value.look();
    let before = theirs.run(&step(look.clone()));
    for (session, dump) in [(&mut theirs, &dumps[0]), (&mut ours, &dumps[1])] {
        prop_assert_eq!(run(session, &[b"RESTORE", KEY, b"0", dump, b"REPLACE"]), ok());
        let after = session.run(&step(look.clone()));
        prop_assert!(
            same(&look, &ReplyContext::default(), &after, &before),
            "\n  after:  {:?}\n  before: {:?}",
            ReplyText(&after),
            ReplyText(&before)
        );
    }
    Ok(())
}

#[test]
fn keys_move_between_redis_and_skeindb() {
    let Some(redis) = ReferenceRedis::start() else { return };
    let running: TestServer = start();
    let ours = running.address.to_string();
    let cases =
        std::env::var("PROPTEST_CASES").map_or(100, |cases| cases.parse().expect("a number of cases"));
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(cases) });
    let result =
        runner.run(&(values(), any::<bool>()), |(value, resp3)| moves(&ours, &redis.address, resp3, &value));
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

/// Collections that both servers write without a blob, and that we write in slices.
#[test]
fn long_collections_move_both_ways() {
    let Some(redis) = ReferenceRedis::start() else { return };
    let running: TestServer = start();
    let text = |i: i64| format!("text number {i}").into_bytes();
    let all = 0..20_000_i64;
    for value in [
        MovedValue::Hash(all.clone().map(|i| (text(i), text(-i))).collect()),
        MovedValue::Set(all.clone().map(text).collect()),
        MovedValue::Integers(all.clone().map(|i| i * i).collect()),
        MovedValue::List(all.clone().map(text).collect()),
        MovedValue::SortedSet(all.map(|i| (f64::from((i % 700) as i32) / 8.0, text(i))).collect()),
        MovedValue::Text(b"compressed ".repeat(300_000)),
    ] {
        if let Err(failure) = moves(&running.address.to_string(), &redis.address, false, &value) {
            panic!("{failure}");
        }
    }
}

fn ask(session: &mut DiffSession, line: &str) -> DiffReply {
    run(session, &line.split(' ').map(str::as_bytes).collect::<Vec<_>>())
}

/// Streams with deleted entries, groups, consumers and pending entries; a short one, and one that
/// we write in slices.
#[test]
fn streams_move_both_ways() {
    let Some(redis) = ReferenceRedis::start() else { return };
    let running: TestServer = start();
    for entries in [40, 1500] {
        let mut ours = DiffSession::begin(&running.address.to_string(), false);
        let mut theirs = DiffSession::begin(&redis.address, false);
        assert_eq!(ask(&mut theirs, "CONFIG SET sanitize-dump-payload yes"), ok());
        let mut dumps = Vec::new();
        for session in [&mut ours, &mut theirs] {
            for i in 1..=entries {
                let other = if i % 30 == 0 { " other 1" } else { "" };
                ask(session, &format!("XADD key {}-{i} name text-{i} number {i}{other}", i / 3));
            }
            for line in [
                "XGROUP CREATE key readers 0",
                "XGROUP CREATE key idle 5-15",
                "XREADGROUP GROUP readers alice COUNT 7 STREAMS key >",
                "XREADGROUP GROUP readers bob COUNT 4 STREAMS key >",
                "XACK key readers 0-1 1-3",
                "XGROUP CREATECONSUMER key readers carol",
                "XDEL key 2-7 6-20",
            ] {
                assert!(!matches!(ask(session, line), DiffReply::Line(line) if line[0] == b'-'), "{line}");
            }
            let DiffReply::Text(dump) = ask(session, "DUMP key") else { panic!("a dump") };
            dumps.push(dump);
        }
        let looks =
            ["XLEN key", "XRANGE key - +", "XINFO GROUPS key", "XPENDING key readers", "XPENDING key idle"];
        let expected = looks.map(|look| ask(&mut theirs, look));
        for (session, dump) in [(&mut theirs, &dumps[0]), (&mut ours, &dumps[1])] {
            assert_eq!(run(session, &[b"RESTORE", KEY, b"0", dump, b"REPLACE"]), ok());
            for (look, expected) in looks.iter().zip(&expected) {
                assert_eq!(ask(session, look), *expected, "{look} of {entries} entries");
            }
        }
        assert_eq!(ask(&mut ours, "XADD key 1-1 a b"), ask(&mut theirs, "XADD key 1-1 a b"));
        assert_eq!(ask(&mut ours, "XADD key 90000-1 a b"), ask(&mut theirs, "XADD key 90000-1 a b"));
    }
}

/// Payloads for the templates: right, damaged, and of no type.
pub fn payloads() -> Vec<Vec<u8>> {
    let sealed = |kind: ValueType, write: &dyn Fn(&mut Vec<u8>)| {
        let mut body = Vec::new();
        write_type(&mut body, kind);
        write(&mut body);
        payload::seal(&mut body);
        body
    };
    let pack = |texts: &[&str]| {
        let mut pack = ListpackWriter::default();
        for text in texts {
            pack.push(text.as_bytes());
        }
        pack.finish()
    };
    let mut list = QuicklistWriter::default();
    list.push(b"m");
    list.push(b"17");
    let mut list = list.finish();
    payload::seal(&mut list);
    let text = sealed(ValueType::String, &|body| write_string(body, b"10"));
    let mut damaged = text.clone();
    damaged[2] ^= 1;
    vec![
        damaged,
        list,
        sealed(ValueType::HashListpack, &|body| write_string(body, &pack(&["1", "2", "f", "v"]))),
        sealed(ValueType::SortedSetListpack, &|body| write_string(body, &pack(&["m", "1", "n", "2.5"]))),
        sealed(ValueType::SetIntset, &|body| write_string(body, &write_intset(&[-5, 1, 70_000]))),
        sealed(ValueType::Set, &|body| {
            write_length(body, 2);
            for member in ["m", "n"] {
                write_string(body, member.as_bytes());
            }
        }),
        sealed(ValueType::SortedSet2, &|body| {
            write_length(body, 1);
            write_scored(body, b"m", f64::INFINITY);
        }),
        sealed(ValueType::Set, &|body| write_length(body, 0)),
        sealed(ValueType::Hash, &|body| write_length(body, 3)),
        sealed(ValueType::String, &|_| {}),
        text,
    ]
}
