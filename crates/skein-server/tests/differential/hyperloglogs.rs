//! HyperLogLogs with many elements: after each step, both servers have the same bytes.
//!
//! The templates have few elements, so their values stay sparse and short. Here they grow until
//! they become dense, and are merged in all states.

use std::net::TcpStream;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::common::{TestClient, show, start};
use crate::redis::ReferenceRedis;

const KEYS: [&str; 4] = ["a", "b", "c", "d"];

#[derive(Debug, Clone)]
enum HyperLogLogStep {
    /// Adds these numbers: the first one, and how many.
    Add(&'static str, u32, u16),
    Merge(&'static str, Vec<&'static str>),
    Count(Vec<&'static str>),
    Remove(&'static str),
}

impl HyperLogLogStep {
    fn words(&self) -> Vec<String> {
        let named = |name: &str, keys: &[&str]| {
            std::iter::once(name).chain(keys.iter().copied()).map(str::to_owned).collect::<Vec<_>>()
        };
        match self {
            Self::Add(key, first, count) => {
                let elements = (*first..first + u32::from(*count)).map(|number| number.to_string());
                named("PFADD", &[key]).into_iter().chain(elements).collect()
            }
            Self::Merge(key, sources) => named("PFMERGE", &[&[*key][..], sources].concat()),
            Self::Count(keys) => named("PFCOUNT", keys),
            Self::Remove(key) => named("DEL", &[key]),
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<HyperLogLogStep>> {
    let key = || prop::sample::select(&KEYS[..]);
    let keys = || prop::collection::vec(key(), 1..4);
    let step = prop_oneof![
        6 => (key(), 0..5_000_u32, 1..600_u16)
            .prop_map(|(key, first, count)| HyperLogLogStep::Add(key, first, count)),
        2 => (key(), 0..50_u32, 1..20_u16)
            .prop_map(|(key, first, count)| HyperLogLogStep::Add(key, first, count)),
        2 => (key(), keys()).prop_map(|(key, sources)| HyperLogLogStep::Merge(key, sources)),
        2 => keys().prop_map(HyperLogLogStep::Count),
        1 => key().prop_map(HyperLogLogStep::Remove),
    ];
    prop::collection::vec(step, 1..25)
}

/// Runs the steps. The first different reply or value is an error.
fn compare(clients: &mut [TestClient; 2], steps: &[HyperLogLogStep]) -> Result<(), TestCaseError> {
    let mut both = |words: &[String]| {
        let words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        clients.each_mut().map(|client| client.call(&words))
    };
    both(&["FLUSHALL".to_owned()]);
    for step in steps {
        let [ours, theirs] = both(&step.words());
        prop_assert_eq!(show(&ours), show(&theirs), "{:?}", step);
        for key in KEYS {
            let [ours, theirs] = both(&["GET".to_owned(), key.to_owned()]);
            prop_assert!(ours == theirs, "{} after {:?}", key, step);
        }
    }
    Ok(())
}

#[test]
fn hyperloglogs_have_the_same_bytes() {
    let Some(redis) = ReferenceRedis::start() else { return };
    let running = start();
    let connect = |address: &str| TestClient::new(TcpStream::connect(address).expect("a connection"));
    let mut clients = [connect(&running.address.to_string()), connect(&redis.address)];
    let cases = std::env::var("PROPTEST_CASES").map_or(50, |cases| cases.parse().expect("a number of cases"));
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(cases) });
    let clients = std::cell::RefCell::new(&mut clients);
    if let Err(failure) = runner.run(&steps(), |steps| compare(&mut clients.borrow_mut(), &steps)) {
        panic!("{failure}");
    }
}
