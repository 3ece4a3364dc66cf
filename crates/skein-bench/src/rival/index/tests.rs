//! Compares every contender of this build with `BTreeMap`, on all its abilities.
//!
//! The key sets are those on which indexes tend to differ: lengths from 0 on, keys that are
//! prefixes of others, zero bytes, and the greatest and least integers, which some indexes reserve.

use std::collections::BTreeMap;

use super::{BTREE_OF_WORDS, DynIndex, MASSTREE, PAGE_TREE, RegisteredIndex, all, peers};
use crate::keyset::{self, KeySet, PackedKeys, SeededRandom};
use crate::sys::LoopClock;
use crate::workload::run::{LoopStyle, RunMode};
use crate::workload::tests::scripts;
use crate::workload::{
    OpKind, RankedKeySet, ScanExpectation, Script, ScriptOp, ThreadShare, lookup, mix, value_of,
};

const HOW: RunMode = RunMode { clock: LoopClock::Wall, style: LoopStyle::Independent };

/// Returns a set of these keys, every third of them absent.
fn of_keys(name: &str, all: &[Vec<u8>]) -> KeySet {
    let part = |absent: bool| -> PackedKeys {
        let keys = all.iter().enumerate().filter(|(n, _)| (n % 3 == 2) == absent);
        keys.map(|(_, key)| &key[..]).collect()
    };
    let lengths = || all.iter().map(Vec::len);
    KeySet {
        name: name.to_owned(),
        keys: part(false),
        absent: part(true),
        shortest: lengths().min().unwrap_or(0),
        longest: lengths().max().unwrap_or(0),
        duplicates_dropped: 0,
        note: None,
    }
}

/// Returns distinct keys of random lengths, in random order, each made of these bytes.
fn odd_keys(lengths: std::ops::Range<usize>, bytes: &[u8], count: usize) -> Vec<Vec<u8>> {
    let mut random = SeededRandom::new(count as u64);
    let mut keys = std::collections::HashSet::new();
    for _ in 0..64 * count {
        let length = lengths.start + random.below(lengths.len());
        keys.insert((0..length).map(|_| bytes[random.below(bytes.len())]).collect::<Vec<u8>>());
        if keys.len() == count {
            break;
        }
    }
    let mut keys: Vec<_> = keys.into_iter().collect();
    keys.sort_unstable();
    let mut numbers: Vec<u32> = (0..keys.len() as u32).collect();
    random.shuffle(&mut numbers);
    numbers.into_iter().map(|n| keys[n as usize].clone()).collect()
}

/// Returns the integers at both ends and around every power of two, some present, some absent.
fn edges() -> Vec<Vec<u8>> {
    let near = |power: u32| (1u64 << power).wrapping_sub(2)..(1u64 << power).wrapping_add(2);
    let mut numbers: Vec<u64> = (2..64).flat_map(near).chain(u64::MAX - 5..=u64::MAX).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.reverse();
    numbers.into_iter().map(|number| number.to_be_bytes().to_vec()).collect()
}

fn sets() -> Vec<KeySet> {
    let made = |name: &str| keyset::make(name, 1_500, 500, 3).expect("a good name");
    let mut sets = vec![
        of_keys("edges", &edges()),
        of_keys("8 odd bytes", &odd_keys(8..9, b"\0\x01\xff", 1_500)),
        of_keys("0 to 20 odd bytes", &odd_keys(0..21, b"\0\x01\xff", 3_000)),
        of_keys("0 to 5 zero bytes and others", &odd_keys(0..6, b"\0a", 60)),
        of_keys("up to 900 bytes", &odd_keys(1..900, b"\0ab\xff", 600)),
        of_keys("up to 4 KiB", &odd_keys(0..4096, b"\0ab\xff", 300)),
    ];
    sets.extend(["rand-8", "rand-16", "decimal", "url", "prefixed(40)", "osm"].map(made));
    sets
}

/// Returns the part of the set that the contender accepts; `None` if that is nearly empty.
fn taken(entry: &RegisteredIndex, set: &KeySet) -> Option<KeySet> {
    let mut set = set.clone();
    set.leave_out(entry.key_bytes.0, entry.key_bytes.1);
    (set.keys.len() >= 20 && set.absent.len() >= 10).then_some(set)
}

fn can(entry: &RegisteredIndex, kind: OpKind, set: &KeySet) -> bool {
    match kind {
        OpKind::Put | OpKind::Get | OpKind::Miss | OpKind::ReadModifyWrite => true,
        OpKind::Remove => entry.can.remove,
        OpKind::Scan => entry.can.scan && set.within(entry.scan_key_bytes),
        OpKind::LowerBound => entry.can.lower_bound && can(entry, OpKind::Scan, set),
        OpKind::ScanBack => entry.can.scan_back && set.within(entry.scan_key_bytes),
    }
}

fn changes(kind: OpKind) -> bool {
    matches!(kind, OpKind::Put | OpKind::ReadModifyWrite | OpKind::Remove)
}

fn filled(entry: &RegisteredIndex, set: &KeySet) -> Box<dyn DynIndex> {
    let index = (entry.make)(set.keys.len());
    index.fill(&set.keys, 0, 1, LoopClock::Wall);
    index
}

/// Panics with all wrong answers at once: the contender, the operation, the key set and the count.
fn nothing_wrong(wrong: &[String]) {
    assert!(wrong.is_empty(), "wrong answers:\n{}", wrong.join("\n"));
}

#[test]
fn peers_have_an_order_and_several_threads() {
    let peers = peers();
    assert!(peers.contains(&"btreemap-rwlock"), "{peers:?}");
    // One thread, no order, ours.
    for other in
        ["btreemap", BTREE_OF_WORDS, "std-map", "hashbrown", "papaya", "libcuckoo", MASSTREE, PAGE_TREE]
    {
        assert!(!peers.contains(&other), "{peers:?}");
    }
    let crates = ["masstree-crate", "crossbeam-skiplist", "congee", "scc-treeindex", "bf-tree"];
    for name in crates {
        assert_eq!(peers.iter().filter(|peer| **peer == name).count(), usize::from(cfg!(feature = "rivals")));
    }
}

#[test]
fn every_contender_is_right_in_every_workload() {
    let mut wrong = Vec::new();
    for set in sets() {
        for entry in all() {
            let Some(set) = taken(entry, &set) else { continue };
            let asked = RankedKeySet::new(&set);
            let mut index = filled(entry, &set);
            for (name, script) in scripts(&asked, 1_000) {
                if script.ops.iter().any(|op| !can(entry, op.kind, &set)) {
                    continue;
                }
                let outcome = index.run(&script, HOW);
                assert_eq!(outcome.operations, script.len());
                if outcome.wrong > 0 {
                    wrong.push(format!("{}, {name}, {}: {}", entry.name, set.name, outcome.wrong));
                }
                if script.ops.iter().any(|op| changes(op.kind)) {
                    index = filled(entry, &set);
                }
            }
        }
    }
    nothing_wrong(&wrong);
}

/// The expected map, and a script with the answers that follow from it.
struct IndexOracle<'s> {
    set: &'s KeySet,
    /// For each key, the number that determines its value.
    map: BTreeMap<&'s [u8], u32>,
    script: Script,
}

impl<'s> IndexOracle<'s> {
    fn new(set: &'s KeySet) -> Self {
        let map = set.keys.iter().zip(0..).collect();
        Self { set, map, script: Script::default() }
    }

    /// Returns the `n`-th key; present keys come first, then absent ones.
    fn key(&self, n: usize) -> &'s [u8] {
        match n.checked_sub(self.set.keys.len()) {
            None => self.set.keys.get(n),
            Some(n) => self.set.absent.get(n),
        }
    }

    /// Adds a random operation that the contender supports.
    fn step(&mut self, entry: &RegisteredIndex, random: &mut SeededRandom) {
        let key = self.key(random.below(self.set.keys.len() + self.set.absent.len()));
        let kinds =
            [OpKind::Get, OpKind::Put, OpKind::Remove, OpKind::LowerBound, OpKind::Scan, OpKind::ScanBack];
        let mut kind = kinds[random.below(kinds.len())];
        let known = self.map.get(key).copied();
        if known.is_none() && matches!(kind, OpKind::Get | OpKind::Remove) {
            kind = OpKind::Miss;
        }
        let at_no_key =
            known.is_none() && matches!(kind, OpKind::LowerBound | OpKind::Scan | OpKind::ScanBack);
        if !can(entry, kind, self.set) || (at_no_key && !entry.can.lower_bound) {
            return;
        }
        let mut op = ScriptOp { kind, count: 0, number: known.unwrap_or(0) };
        match kind {
            OpKind::Put => {
                op.number = random.below(1 << 20) as u32;
                self.map.insert(key, op.number);
            }
            OpKind::Remove => {
                self.map.remove(key);
            }
            OpKind::LowerBound => self.expect_scan(key, 1, false),
            OpKind::Scan | OpKind::ScanBack => {
                op.count = 1 + random.below(120) as u16;
                self.expect_scan(key, op.count, kind == OpKind::ScanBack);
            }
            _ => {}
        }
        self.script.push(op, key);
    }

    fn expect_scan(&mut self, from: &[u8], count: u16, back: bool) {
        let numbers: Vec<u32> = if back {
            self.map.range(..=from).rev().take(count.into()).map(|(_, &number)| number).collect()
        } else {
            self.map.range(from..).take(count.into()).map(|(_, &number)| number).collect()
        };
        let sum = numbers.iter().fold(0, |sum: u64, &number| sum.wrapping_add(value_of(number as usize)));
        self.script.expect.push(ScanExpectation { sum, count: numbers.len() as u32 });
    }
}

#[test]
fn every_contender_answers_as_a_btreemap_does() {
    let mut wrong = Vec::new();
    for set in sets() {
        for entry in all() {
            let Some(set) = taken(entry, &set) else { continue };
            let (mut model, mut random) = (IndexOracle::new(&set), SeededRandom::new(17));
            for _ in 0..6_000 {
                model.step(entry, &mut random);
            }
            let outcome = filled(entry, &set).run(&model.script, HOW);
            if outcome.wrong > 0 {
                wrong.push(format!("{}, {}: {}", entry.name, set.name, outcome.wrong));
            }
        }
    }
    nothing_wrong(&wrong);
}

#[test]
fn every_concurrent_contender_runs_on_threads() {
    let mut wrong = Vec::new();
    for set in sets() {
        for entry in all().into_iter().filter(|entry| entry.threads) {
            let Some(set) = taken(entry, &set) else { continue };
            let asked = RankedKeySet::new(&set);
            let index = (entry.make)(set.keys.len());
            let threads = index.threads().expect("its entry says so");
            let outcomes = threads.fill_together(&set.keys, 3).expect("threads");
            assert_eq!(outcomes.iter().map(|outcome| outcome.operations).sum::<usize>(), set.keys.len());
            let shares = [0, 1].map(|thread| ThreadShare { thread, of: 2 });
            let mut rounds = vec![
                shares.map(|share| lookup::lookups(&asked, 2_000, 0.5, 1, share)),
                shares.map(|share| mix::inserts_and_lookups(&asked, 400, 0.5, 1, share)),
            ];
            if entry.can.remove {
                rounds.push(shares.map(|share| mix::removes(&asked, 0.5, 1, share)));
            }
            for round in rounds {
                let outcomes = threads.run_together(&round, HOW).expect("threads");
                let count: usize = outcomes.iter().map(|outcome| outcome.wrong).sum();
                if count > 0 {
                    wrong.push(format!("{}, {}: {count}", entry.name, set.name));
                }
            }
        }
    }
    nothing_wrong(&wrong);
}
