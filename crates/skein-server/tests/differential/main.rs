//! Random sequences of commands on a real `redis-server` and on ours, replies compared.
//!
//! Each family of commands has a test. A sequence is drawn from its templates and a few others', runs over two connections to each server,
//! in RESP2 and in RESP3, and ends with a look at all that is there. One that differs is made shorter until nothing can be left out, and
//! printed. `PROPTEST_CASES=10000` draws more than the usual hundred; `SKEIN_TEST_REDIS=none` leaves the tests out, where no redis-server 7.0 is
//! to be had.

#[path = "../common/mod.rs"]
mod common;
mod families;
mod raw;
mod redis;
mod replies;
mod templates;

use std::fmt;
use std::net::TcpStream;

use common::{Client, Running, encode, start};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use redis::Redis;
use replies::{Before, Reply, same};
use templates::{Upset, Words, writes_expired};

/// One command of a sequence, and whether the second connection sends it.
#[derive(Clone)]
struct Step {
    second: bool,
    words: Words,
}

impl fmt::Debug for Step {
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

fn sequences(family: &str) -> impl Strategy<Value = Vec<Step>> {
    let words = prop_oneof![5 => templates::family(family), 1 => templates::family(families::MIXED)];
    let step = (prop::bool::weighted(0.15), words, templates::upset());
    let step = step.prop_map(|(second, mut words, upset): (bool, Words, Upset)| {
        upset.apply(&mut words);
        Step { second, words }
    });
    prop::collection::vec(step, 1..40)
}

/// Two connections to a server, and the names of the commands that each has queued.
struct Session {
    clients: [Client; 2],
    queued: [Vec<Vec<u8>>; 2],
}

impl Session {
    /// Begins with nothing there.
    fn begin(address: &str, resp3: bool) -> Self {
        let clients = [(); 2].map(|()| {
            let mut client = Client::new(TcpStream::connect(address).expect("a connection"));
            if resp3 {
                assert!(client.call(&[b"HELLO", b"3"]).starts_with(b"%7\r\n"));
            }
            client
        });
        let mut session = Self { clients, queued: [Vec::new(), Vec::new()] };
        assert_eq!(session.clients[0].call(&[b"FLUSHALL"]), b"+OK\r\n");
        session
    }

    fn run(&mut self, step: &Step) -> Reply {
        let words: Vec<&[u8]> = step.words.iter().map(Vec::as_slice).collect();
        let client = &mut self.clients[usize::from(step.second)];
        client.send(&encode(&words));
        Reply::take(&mut &client.reply()[..])
    }

    /// Notes what an answered command did to its connection's queue; the queue as it was.
    fn note(&mut self, step: &Step, reply: &Reply) -> Vec<Vec<u8>> {
        let queued = &mut self.queued[usize::from(step.second)];
        if *reply == Reply::Line(b"+QUEUED".to_vec()) {
            queued.push(step.words[0].clone());
            return Vec::new();
        }
        let ends =
            [&b"EXEC"[..], b"DISCARD", b"RESET"].iter().any(|name| step.words[0].eq_ignore_ascii_case(name));
        if ends { std::mem::take(queued) } else { Vec::new() }
    }
}

/// What is there at the end: for every key its kind, what it holds, and its expiry.
fn looks() -> Vec<Step> {
    let look = |line: String| Step {
        second: false,
        words: line.split(' ').map(|word| word.as_bytes().to_vec()).collect(),
    };
    let close = ["DISCARD", "DBSIZE", "KEYS *"].map(|line| look(line.to_owned()));
    let keys = ["a", "b", "c", "user:1", ""];
    let of_key = |key| ["TYPE", "GET", "HGETALL"].map(|command| look(format!("{command} {key}")));
    close.into_iter().chain(keys.into_iter().flat_map(of_key)).collect()
}

/// Runs a sequence on both; the first reply that differs is an error.
fn compare(ours: &str, theirs: &str, resp3: bool, steps: &[Step]) -> Result<(), TestCaseError> {
    let (mut ours, mut theirs) = (Session::begin(ours, resp3), Session::begin(theirs, resp3));
    let mut expired = false;
    for step in steps.iter().chain(&looks()) {
        let (got, expected) = (ours.run(step), theirs.run(step));
        expired |= writes_expired(&step.words);
        let before = Before { queued: theirs.note(step, &expected), expired };
        prop_assert!(
            same(&step.words[0], &before, &got, &expected),
            "RESP{}: {:?}\n  Redis: {:?}\n  ours:  {:?}",
            if resp3 { 3 } else { 2 },
            step,
            Shown(&expected),
            Shown(&got)
        );
    }
    Ok(())
}

/// A reply as text.
struct Shown<'r>(&'r Reply);

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Reply::Line(line) => write!(out, "{}", line.escape_ascii()),
            Reply::Text(text) => write!(out, "\"{}\"", text.escape_ascii()),
            Reply::List(kind, elements) => {
                write!(out, "{}", char::from(*kind))?;
                out.debug_list().entries(elements.iter().map(Shown)).finish()
            }
        }
    }
}

/// Compares so many sequences of a family on two servers.
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

/// Compares ours with a real one, in as many sequences as the environment asks for.
fn differs_nowhere(family: &str) {
    let Some(redis) = Redis::start() else { return };
    let running: Running = start();
    let cases =
        std::env::var("PROPTEST_CASES").map_or(100, |cases| cases.parse().expect("a number of cases"));
    compare_family(family, cases, &running.address.to_string(), &redis.address);
}

/// What these tests call a difference must be none of chance.
#[test]
fn redis_does_not_differ_from_redis() {
    let (Some(one), Some(other)) = (Redis::start(), Redis::start()) else { return };
    for family in families::ALL {
        compare_family(family, 32, &one.address, &other.address);
    }
}

#[test]
fn strings() {
    differs_nowhere(families::STRINGS);
}

#[test]
fn bits() {
    differs_nowhere(families::BITS);
}

#[test]
fn hashes() {
    differs_nowhere(families::HASHES);
}

#[test]
fn keys() {
    differs_nowhere(families::KEYS);
}

#[test]
fn expiry() {
    differs_nowhere(families::EXPIRY);
}

#[test]
fn sorted_sets() {
    differs_nowhere(families::SORTED_SETS);
}

#[test]
fn transactions() {
    differs_nowhere(families::TRANSACTIONS);
}
