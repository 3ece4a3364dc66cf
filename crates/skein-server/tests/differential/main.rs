//! Runs random sequences of commands on a real `redis-server` and on SkeinDB, and compares the
//! replies.
//!
//! Each family of commands has a test. A sequence is drawn from the templates of its family and of
//! a few others. It runs over two connections to each server, in RESP2 and in RESP3, and ends by
//! reading all keys. A sequence with a difference is shortened until nothing more can be left out,
//! and printed.
//!
//! `PROPTEST_CASES=10000` draws more than the usual hundred. `SKEIN_TEST_REDIS=none` skips the
//! tests on machines without redis-server 7.0.

mod command_docs;
#[path = "../common/mod.rs"]
mod common;
mod dump;
mod families;
mod hyperloglogs;
mod migrate;
mod monitor;
mod parameters;
mod raw;
mod redis;
mod replies;
mod templates;
mod watch;

use std::fmt;
use std::net::TcpStream;

use common::{TestClient, TestServer, encode, start};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use redis::ReferenceRedis;
use replies::{DiffReply, ReplyContext, same};
use templates::{CommandWords, SequenceDefect, writes_expired};

/// One command of a sequence. `second` tells which connection sends it.
#[derive(Clone)]
struct DiffStep {
    second: bool,
    words: CommandWords,
}

impl fmt::Debug for DiffStep {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}>", if self.second { 2 } else { 1 })?;
        self.words.iter().try_for_each(|word| {
            let text = word.escape_ascii();
            if word.is_empty() || word.contains(&b' ') {
                write!(out, " \"{text}\"")
            } else {
                write!(out, " {text}")
            }
        })
    }
}

fn sequences(family: &str) -> impl Strategy<Value = Vec<DiffStep>> {
    let words = prop_oneof![5 => templates::family(family), 1 => templates::family(families::MIXED)];
    let step = (prop::bool::weighted(0.15), words, templates::sequence_defect());
    let step = step.prop_map(|(second, mut words, defect): (bool, CommandWords, SequenceDefect)| {
        defect.apply(&mut words);
        DiffStep { second, words }
    });
    prop::collection::vec(step, 1..40)
}

/// Two connections to a server, and the commands that each has queued.
struct DiffSession {
    clients: [TestClient; 2],
    queued: [Vec<CommandWords>; 2],
}

impl DiffSession {
    /// Connects, and empties all databases. In RESP3 the sequence begins in database 2.
    fn begin(address: &str, resp3: bool) -> Self {
        let clients = [(); 2].map(|()| {
            let mut client = TestClient::new(TcpStream::connect(address).expect("a connection"));
            if resp3 {
                assert!(client.call(&[b"HELLO", b"3"]).starts_with(b"%7\r\n"));
                assert_eq!(client.call(&[b"SELECT", b"2"]), b"+OK\r\n");
            }
            client
        });
        let mut session = Self { clients, queued: [Vec::new(), Vec::new()] };
        assert_eq!(session.clients[0].call(&[b"FLUSHALL"]), b"+OK\r\n");
        session
    }

    fn run(&mut self, step: &DiffStep) -> DiffReply {
        let words: Vec<&[u8]> = step.words.iter().map(Vec::as_slice).collect();
        let client = &mut self.clients[usize::from(step.second)];
        client.send(&encode(&words));
        DiffReply::take(&mut &client.reply()[..])
    }

    /// Records the effect of a command on its connection's queue. Returns the queue that the
    /// command ran or discarded.
    fn note(&mut self, step: &DiffStep, reply: &DiffReply) -> Vec<CommandWords> {
        let queued = &mut self.queued[usize::from(step.second)];
        if *reply == DiffReply::Line(b"+QUEUED".to_vec()) {
            queued.push(step.words.clone());
            return Vec::new();
        }
        let ends =
            [&b"EXEC"[..], b"DISCARD", b"RESET"].iter().any(|name| step.words[0].eq_ignore_ascii_case(name));
        if ends { std::mem::take(queued) } else { Vec::new() }
    }
}

/// Returns the commands that read everything at the end: for every key of every database its kind
/// and its contents.
fn looks() -> Vec<DiffStep> {
    let look = |line: String| DiffStep {
        second: false,
        words: line.split(' ').map(|word| word.as_bytes().to_vec()).collect(),
    };
    let keys = ["a", "b", "c", "user:1", ""];
    let of_key = |key| ["TYPE", "GET", "HGETALL"].map(|command| look(format!("{command} {key}")));
    let of_database = |database: &u32| {
        let select = [format!("SELECT {database}"), "DBSIZE".into(), "KEYS *".into()].map(look);
        select.into_iter().chain(keys.into_iter().flat_map(of_key)).collect::<Vec<_>>()
    };
    let looks = [0, 1, 2, 15].iter().flat_map(of_database);
    std::iter::once(look("DISCARD".to_owned())).chain(looks).collect()
}

/// Runs a sequence on both servers. The first different reply is an error.
fn compare(ours: &str, theirs: &str, resp3: bool, steps: &[DiffStep]) -> Result<(), TestCaseError> {
    let (mut ours, mut theirs) = (DiffSession::begin(ours, resp3), DiffSession::begin(theirs, resp3));
    let mut expired = false;
    for step in steps.iter().chain(&looks()) {
        let (got, expected) = (ours.run(step), theirs.run(step));
        expired |= writes_expired(&step.words);
        let before = ReplyContext { queued: theirs.note(step, &expected), expired };
        prop_assert!(
            same(&step.words, &before, &got, &expected),
            "RESP{}: {:?}\n  Redis: {:?}\n  ours:  {:?}",
            if resp3 { 3 } else { 2 },
            step,
            ReplyText(&expected),
            ReplyText(&got)
        );
    }
    Ok(())
}

/// Formats a reply as text.
struct ReplyText<'r>(&'r DiffReply);

impl fmt::Debug for ReplyText<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            DiffReply::Line(line) => write!(out, "{}", line.escape_ascii()),
            DiffReply::Text(text) => write!(out, "\"{}\"", text.escape_ascii()),
            DiffReply::List(kind, elements) => {
                write!(out, "{}", char::from(*kind))?;
                out.debug_list().entries(elements.iter().map(ReplyText)).finish()
            }
        }
    }
}

/// Compares `cases` sequences of a family on two servers.
fn compare_family(family: &str, cases: u32, ours: &str, theirs: &str) {
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(cases) });
    let result = runner.run(&sequences(family), |steps| {
        compare(ours, theirs, false, &steps)?;
        compare(ours, theirs, true, &steps)
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

/// Compares SkeinDB with a real Redis, in as many sequences as the environment sets.
fn assert_same_replies(family: &str) {
    let Some(redis) = ReferenceRedis::start() else { return };
    let running: TestServer = start();
    let cases =
        std::env::var("PROPTEST_CASES").map_or(100, |cases| cases.parse().expect("a number of cases"));
    compare_family(family, cases, &running.address.to_string(), &redis.address);
}

/// Checks that chance does not make a difference in these tests.
#[test]
fn redis_does_not_differ_from_redis() {
    let (Some(one), Some(other)) = (ReferenceRedis::start(), ReferenceRedis::start()) else { return };
    for family in families::ALL {
        compare_family(family, 32, &one.address, &other.address);
    }
}

#[test]
fn strings() {
    assert_same_replies(families::STRINGS);
}

#[test]
fn bits() {
    assert_same_replies(families::BITS);
}

#[test]
fn hyperloglogs() {
    assert_same_replies(families::HYPERLOGLOGS);
}

#[test]
fn positions() {
    assert_same_replies(families::POSITIONS);
}

#[test]
fn hashes() {
    assert_same_replies(families::HASHES);
}

#[test]
fn keys() {
    assert_same_replies(families::KEYS);
}

#[test]
fn expiry() {
    assert_same_replies(families::EXPIRY);
}

#[test]
fn sorted_sets() {
    assert_same_replies(families::SORTED_SETS);
}

#[test]
fn sets() {
    assert_same_replies(families::SETS);
}

#[test]
fn streams() {
    assert_same_replies(families::STREAMS);
}

#[test]
fn lists() {
    assert_same_replies(families::LISTS);
}

#[test]
fn dumps() {
    assert_same_replies(families::DUMP);
}

#[test]
fn scripts() {
    assert_same_replies(families::SCRIPTS);
}

#[test]
fn transactions() {
    assert_same_replies(families::TRANSACTIONS);
}
