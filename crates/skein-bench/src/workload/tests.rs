//! The workloads have their stated proportions and distributions, and every loop detects wrong
//! answers.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::run::{self, LoopStyle, RunMode};
use super::ycsb::{LETTERS, Popularity};
use super::{OpKind, RankedKeySet, Script, ThreadShare, lookup, mix, scan, value_of, ycsb};
use crate::keyset::{self, KeySet};
use crate::rival::index::{self, DynIndex, RegisteredIndex};
use crate::sys::LoopClock;

const OPS: usize = 20_000;

fn set() -> KeySet {
    keyset::make("rand-8", 4_000, 4_000, 1).expect("a good name")
}

fn share_of(script: &Script, kind: OpKind) -> f64 {
    script.ops.iter().filter(|op| op.kind == kind).count() as f64 / script.len() as f64
}

fn near(figure: f64, wanted: f64) {
    assert!((figure - wanted).abs() < 0.02, "{figure}, and {wanted} was wanted");
}

/// Returns every script with its name, for an index filled with the set.
pub(crate) fn scripts(asked: &RankedKeySet<'_>, ops: usize) -> Vec<(String, Script)> {
    let mut all = vec![
        ("lookups".to_owned(), lookup::lookups(asked, ops, 0.8, 1, ThreadShare::ALL)),
        ("lower bounds".to_owned(), lookup::lower_bounds(asked, ops, 0.15, 1, ThreadShare::ALL)),
        ("scans".to_owned(), scan::scans(asked, ops / 100, 100, false, 1, ThreadShare::ALL)),
        ("scans back".to_owned(), scan::scans(asked, ops / 100, 100, true, 1, ThreadShare::ALL)),
        ("mix".to_owned(), mix::inserts_and_lookups(asked, ops, 0.05, 1, ThreadShare::ALL)),
        ("removes".to_owned(), mix::removes(asked, 0.25, 1, ThreadShare::ALL)),
        ("churn".to_owned(), mix::churn(asked, ops, 1, ThreadShare::ALL)),
    ];
    for letter in LETTERS {
        for popularity in [Popularity::Uniform, Popularity::Zipfian, Popularity::Latest] {
            let script = ycsb::ycsb(asked, letter, popularity, ops, 1, ThreadShare::ALL);
            all.push((format!("{} {popularity:?}", letter.name), script));
        }
    }
    all
}

fn entry(name: &str) -> &'static RegisteredIndex {
    index::all().into_iter().find(|entry| entry.name == name).expect("in every build")
}

fn filled(entry: &RegisteredIndex, set: &KeySet) -> Box<dyn DynIndex> {
    let index = (entry.make)(set.keys.len());
    index.fill(&set.keys, 0, 1, LoopClock::Wall);
    index
}

#[test]
fn right_answers_pass_in_every_workload() {
    let set = set();
    let asked = RankedKeySet::new(&set);
    for (name, script) in scripts(&asked, OPS) {
        for contender in ["skein-masstree", "btreemap", "btreemap-rwlock"] {
            let how = RunMode { clock: LoopClock::Wall, style: LoopStyle::Independent };
            let outcome = filled(entry(contender), &set).run(&script, how);
            assert_eq!((outcome.wrong, outcome.operations), (0, script.len()), "{contender}, {name}");
        }
    }
}

#[test]
fn every_reading_workload_detects_a_missing_key() {
    let set = set();
    let asked = RankedKeySet::new(&set);
    for (name, script) in scripts(&asked, OPS) {
        // The index lacks the first half of its keys.
        let index = (entry("btreemap").make)(0);
        index.fill(&set.keys, 1, 2, LoopClock::Wall);
        let how = RunMode { clock: LoopClock::Wall, style: LoopStyle::Independent };
        let wrong = index.run(&script, how).wrong;
        // Scans of E have no expected answer, since other threads may write; they detect only wrong
        // order.
        assert!(wrong > 0 || name.starts_with('E'), "{name}");
    }
}

#[test]
fn all_styles_do_all_operations_and_check_them() {
    let set = set();
    let asked = RankedKeySet::new(&set);
    let script = lookup::lookups(&asked, 1_000, 0.8, 3, ThreadShare::ALL);
    let index = filled(entry("skein-masstree"), &set);
    let empty = (entry("skein-masstree").make)(0);
    let present = script.ops.iter().filter(|op| op.kind == OpKind::Get).count();
    for style in [LoopStyle::Independent, LoopStyle::Dependent, LoopStyle::Batches(32), LoopStyle::Timed] {
        for clock in [LoopClock::Wall, LoopClock::Cpu] {
            let outcome = index.run(&script, RunMode { clock, style });
            assert_eq!((outcome.operations, outcome.wrong), (1_000, 0), "{style:?}");
            assert_eq!(empty.run(&script, RunMode { clock, style }).wrong, present, "{style:?}");
        }
    }
    let timed = index.run(&script, RunMode { clock: LoopClock::Wall, style: LoopStyle::Timed });
    assert_eq!(timed.latency_ns.expect("it was asked for").len(), 1_000);
}

#[test]
fn threads_share_the_work() {
    let set = set();
    let asked = RankedKeySet::new(&set);
    let index = (entry("skein-masstree").make)(0);
    let threads = index.threads().expect("ours takes threads");
    let filled: usize =
        threads.fill_together(&set.keys, 3).expect("threads").iter().map(|outcome| outcome.operations).sum();
    assert_eq!(filled, set.keys.len());
    let shares = [0, 1].map(|thread| ThreadShare { thread, of: 2 });
    let removes = shares.map(|share| mix::removes(&asked, 0.5, 5, share));
    let how = RunMode { clock: LoopClock::Wall, style: LoopStyle::Independent };
    let outcomes = threads.run_together(&removes, how).expect("threads");
    assert_eq!(outcomes.iter().map(|outcome| outcome.wrong).sum::<usize>(), 0);
    assert_eq!(outcomes.iter().map(|outcome| outcome.operations).sum::<usize>(), set.keys.len() / 2);
}

#[test]
fn proportions_are_as_stated() {
    let set = set();
    let asked = RankedKeySet::new(&set);
    let hits = lookup::lookups(&asked, OPS, 0.8, 9, ThreadShare::ALL);
    near(share_of(&hits, OpKind::Get), 0.8);
    near(share_of(&hits, OpKind::Miss), 0.2);
    for (letter, reads) in LETTERS.iter().zip([0.5, 0.95, 1.0, 0.95, 0.95, 0.5]) {
        let script = ycsb::ycsb(&asked, *letter, Popularity::Zipfian, OPS, 9, ThreadShare::ALL);
        let read = if letter.scans() { OpKind::Scan } else { OpKind::Get };
        near(share_of(&script, read), reads);
        let writes = share_of(&script, OpKind::Put) + share_of(&script, OpKind::ReadModifyWrite);
        near(writes, 1.0 - reads);
    }
    for inserts in [0.05, 0.5, 0.95] {
        let script = mix::inserts_and_lookups(&asked, 4_000, inserts, 9, ThreadShare::ALL);
        near(share_of(&script, OpKind::Put), inserts);
        near(share_of(&script, OpKind::Get), 1.0 - inserts);
    }
    let bounds = lookup::lower_bounds(&asked, OPS, 0.15, 9, ThreadShare::ALL);
    assert!(bounds.ops.iter().all(|op| op.kind == OpKind::LowerBound));
    let present: HashSet<&[u8]> = set.keys.iter().collect();
    let hits = bounds.keys.iter().filter(|key| present.contains(key)).count();
    near(hits as f64 / bounds.len() as f64, 0.15);
}

#[test]
fn removal_leaves_its_share_and_churn_keeps_the_size() {
    let set = set();
    let asked = RankedKeySet::new(&set);
    let after = |script: &Script| {
        let mut keys: HashSet<&[u8]> = set.keys.iter().collect();
        for (op, key) in script.ops.iter().zip(script.keys.iter()) {
            let key = set
                .keys
                .iter()
                .chain(set.absent.iter())
                .nth(op.number as usize)
                .filter(|known| *known == key);
            let key = key.expect("the number is the key's");
            match op.kind {
                OpKind::Remove => assert!(keys.remove(key), "it was there"),
                OpKind::Put => assert!(keys.insert(key), "it was not there"),
                kind => panic!("{kind:?} is neither"),
            }
        }
        keys.len()
    };
    assert_eq!(after(&mix::removes(&asked, 0.1, 5, ThreadShare::ALL)), 400);
    let churn = mix::churn(&asked, 2_000, 5, ThreadShare::ALL);
    assert_eq!((churn.len(), after(&churn)), (2_000, 4_000));
}

#[test]
fn a_warm_up_reads_present_keys_and_changes_nothing() {
    let set = set();
    let asked = RankedKeySet::new(&set);
    for (name, script) in scripts(&asked, OPS) {
        let warm_up = script.warm_up(set.keys.len());
        let index = filled(entry("btreemap"), &set);
        let how = RunMode { clock: LoopClock::Wall, style: LoopStyle::Independent };
        assert_eq!(index.run(&warm_up, how).wrong, 0, "{name}");
        assert_eq!(index.run(&script, how).wrong, 0, "{name}, after its warm-up");
        let reads = script.ops[..script.len() / 20].iter().filter(|op| op.kind != OpKind::Put);
        let changes = warm_up
            .ops
            .iter()
            .any(|op| matches!(op.kind, OpKind::Put | OpKind::Remove | OpKind::ReadModifyWrite));
        assert!(!changes && warm_up.len() <= reads.count(), "{name}");
        assert!(!warm_up.is_empty() || matches!(&*name, "removes" | "churn"), "{name} has reads");
    }
}

#[test]
fn distributions_are_as_stated() {
    let set = set();
    let asked = RankedKeySet::new(&set);
    let count = |popularity| {
        let script = ycsb::ycsb(&asked, LETTERS[3], popularity, OPS, 9, ThreadShare::ALL);
        let mut times: HashMap<u32, usize> = HashMap::new();
        script
            .ops
            .iter()
            .filter(|op| op.kind == OpKind::Get)
            .for_each(|op| *times.entry(op.number).or_default() += 1);
        times
    };
    let hottest = |times: &HashMap<u32, usize>| times.values().copied().max().unwrap_or(0);
    assert!(hottest(&count(Popularity::Uniform)) < 25);
    // With 4,000 items and an exponent of 0.99, the first item has 1 / H of all requests, some 11
    // %.
    assert!((1_500..2_700).contains(&hottest(&count(Popularity::Zipfian))));
    // Under `Latest`, keys that the script added are read far more often than their number
    // suggests.
    let latest = count(Popularity::Latest);
    let of_added: usize = latest.iter().filter(|(number, _)| **number >= 4_000).map(|(_, times)| times).sum();
    assert!(of_added > OPS / 3, "{of_added}");
    let scans = ycsb::ycsb(&asked, LETTERS[4], Popularity::Uniform, OPS, 9, ThreadShare::ALL);
    let lengths: Vec<_> = scans.ops.iter().filter(|op| op.kind == OpKind::Scan).map(|op| op.count).collect();
    assert!(lengths.iter().all(|length| (1..=100).contains(length)));
    let mean = lengths.iter().map(|&length| f64::from(length)).sum::<f64>() / lengths.len() as f64;
    assert!((mean - 50.5).abs() < 2.0, "{mean}");
}

#[test]
fn scans_expect_the_answers_of_a_map() {
    let set = keyset::make("decimal", 2_000, 500, 4).expect("a good name");
    let asked = RankedKeySet::new(&set);
    let map: BTreeMap<&[u8], u64> = set.keys.iter().enumerate().map(|(n, key)| (key, value_of(n))).collect();
    for number in 0..set.keys.len() {
        let key = set.keys.get(number);
        let up: Vec<u64> = map.range(key..).take(100).map(|(_, &value)| value).collect();
        let down: Vec<u64> = map.range(..=key).rev().take(100).map(|(_, &value)| value).collect();
        for (values, back) in [(up, false), (down, true)] {
            let expect = asked.scanned(number, 100, back);
            assert_eq!(expect.count as usize, values.len());
            assert_eq!(expect.sum, values.iter().fold(0, |sum: u64, value| sum.wrapping_add(*value)));
        }
    }
    for absent in set.absent.iter() {
        let next = map.range(absent..).next().map_or((0, 0), |(_, &value)| (value, 1));
        let expect = asked.lower_bound(absent);
        assert_eq!((expect.sum, expect.count), next);
    }
}

#[test]
fn heads_sort_as_keys_do() {
    let keys: [&[u8]; 6] = [b"", b"\0", b"a", b"abcdefg", b"abcdefgh", b"b"];
    assert!(keys.windows(2).all(|pair| run::head(pair[0]) <= run::head(pair[1])));
}
