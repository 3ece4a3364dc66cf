//! The oracle: which data may, and which must, be left after a kill.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use skeindb::client::{Client, Reply};

use super::collections;
use super::transactions;
use super::writers::{DEPTHS, FAR, RoundLoad, STEP_COMMANDS, WriterProgress, group_keys};
use crate::common::{SkeinServe, scan_values};

/// The promise of the durability level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurabilityPromise {
    /// Every acknowledged command survives.
    Acknowledged,
    /// A prefix of the commands survives.
    Prefix,
}

/// A round that was checked once. From then on its data must not change.
#[derive(Debug)]
pub struct SettledRound {
    name: String,
    hash: u64,
    /// Surviving steps of the pipelined writers.
    pub steps: u64,
    /// Surviving steps of the writers of collections.
    pub collection_steps: u64,
}

impl SettledRound {
    /// Checks that the round's data has not changed.
    pub fn check_again(&self, server: &SkeinServe) {
        let hash = hash(&read(&mut server.client(), &self.name));
        assert_eq!(hash, self.hash, "round {} changed after it had been recovered", self.name);
    }
}

/// Keys and their values.
pub type OracleRows = BTreeMap<String, String>;

/// Returns all rows under a name. A row of columns reads as `x=1 y=1`.
fn read(client: &mut Client, name: &str) -> OracleRows {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("we wrote text");
    let mut rows: OracleRows = scan_values(client, format!("{name}/").as_bytes())
        .into_iter()
        .map(|(k, v)| (text(k), text(v)))
        .collect();
    for (key, columns) in scan_columns(client, name) {
        rows.insert(key, columns);
    }
    rows.extend(times(client, name));
    rows.extend(collections::read(client, name));
    rows
}

/// Returns the keys to which the pipelined writers gave an expiry time, with the number of the step
/// that set it.
fn times(client: &mut Client, name: &str) -> Vec<(String, String)> {
    let keys =
        (0..DEPTHS.len()).flat_map(|writer| ["timed", "row"].map(|key| format!("{name}/w{writer}/{key}")));
    keys.filter_map(|key| match client.call(&[b"PEXPIRETIME", key.as_bytes()]).expect("the server answers") {
        Reply::Integer(-2 | -1) => None,
        Reply::Integer(at) => {
            let step = u64::try_from(at).ok().and_then(|at| at.checked_sub(FAR));
            Some((format!("{key} until"), step.expect("it is a time that we gave").to_string()))
        }
        other => panic!("PEXPIRETIME answers {other}"),
    })
    .collect()
}

/// Returns the rows of columns that the pipelined writers left.
fn scan_columns(client: &mut Client, name: &str) -> Vec<(String, String)> {
    (0..DEPTHS.len())
        .filter_map(|writer| {
            let key = format!("{name}/w{writer}/row");
            let reply = client.call(&[b"HMGET", key.as_bytes(), b"x", b"y"]).expect("the server answers");
            let show = |value: &Reply| String::from_utf8_lossy(value.bytes().unwrap_or(b"-")).into_owned();
            let values = reply.into_array().expect("HMGET answers a list");
            let both: Vec<String> = values.iter().map(show).collect();
            (both != ["-", "-"]).then(|| (key, both.join(" ")))
        })
        .collect()
}

fn hash(rows: &OracleRows) -> u64 {
    let mut hasher = DefaultHasher::new();
    rows.hash(&mut hasher);
    hasher.finish()
}

/// Checks the data of a round, right after the recovery that followed it.
pub fn check(server: &SkeinServe, load: &RoundLoad, promise: DurabilityPromise) -> SettledRound {
    let rows = read(&mut server.client(), &load.name);
    let mut steps = 0;
    for (writer, &progress) in load.steps.iter().enumerate() {
        steps += check_steps(&rows, &format!("{}/w{writer}", load.name), progress, promise);
    }
    let links = contiguous(&rows, &format!("{}/chain/", load.name));
    check_bounds("links of the chain", links, load.chain, promise);
    assert_eq!(
        under(&rows, &format!("{}/brief/", load.name)).next(),
        None,
        "a key is there that has expired"
    );
    check_counter(&rows, load, promise);
    check_group(&rows, &load.name);
    transactions::check(&rows, &load.name, &load.moves, promise);
    let collection_steps =
        collections::check(&mut server.client(), &rows, &load.name, &load.collections, promise);
    SettledRound { name: load.name.clone(), hash: hash(&rows), steps, collection_steps }
}

/// Checks that a prefix of a writer's commands, in the order of sending, survived. Returns the
/// number of whole steps.
fn check_steps(rows: &OracleRows, name: &str, progress: WriterProgress, promise: DurabilityPromise) -> u64 {
    let number = |key: &str| -> u64 {
        rows.get(&format!("{name}/{key}")).map_or(0, |value| value.parse().expect("we wrote numbers"))
    };
    let (group_a, group_b, group_c) = (number("a"), number("b"), number("c"));
    assert!(group_a == group_b && group_b == group_c, "{name}: half an MSET: {group_a} {group_b} {group_c}");
    let row = rows.get(&format!("{name}/row")).map_or("0 0", String::as_str);
    let (x, y) = row.split_once(' ').expect("two columns");
    assert_eq!(x, y, "{name}: half a put of columns");
    let gone: Vec<u64> = numbers_under(rows, &format!("{name}/gone/"));
    let (set, removed) = (gone.last().copied().unwrap_or(0), gone.first().copied().unwrap_or(0));
    assert!(gone.len() <= 2 && set - removed <= 1, "{name}: removed keys are back: {gone:?}");
    let reached =
        [contiguous(rows, &format!("{name}/key/")), number("last"), group_a, x.parse().expect("a number")];
    assert_eq!(number("timed"), number("timed until"), "{name}: a value with another's time");
    let times = [number("timed"), number("row until")];
    let reached = [&reached[..], &[number("count"), set, removed], &times].concat();
    assert!(reached.is_sorted_by(|a, b| a >= b), "{name}: a hole in the order of the commands: {reached:?}");
    let (most, least) = (reached[0], reached[reached.len() - 1]);
    assert!(most - least <= 1, "{name}: a hole in the order of the steps: {reached:?}");
    let commands: u64 = reached.iter().sum();
    check_bounds(&format!("commands of {name}"), commands, progress, promise);
    assert_eq!(reached.len() as u64, STEP_COMMANDS);
    least
}

fn check_counter(rows: &OracleRows, load: &RoundLoad, promise: DurabilityPromise) {
    let name = &load.name;
    let sum: u64 = rows.get(&format!("{name}/shared")).map_or(0, |sum| sum.parse().expect("a number"));
    let total = load.counts.iter().fold(WriterProgress::default(), |total, one| WriterProgress {
        sent: total.sent + one.sent,
        acknowledged: total.acknowledged + one.acknowledged,
    });
    check_bounds("increments", sum, total, promise);
    let mut seen = Vec::new();
    for thread in 0..load.counts.len() {
        let prefix = format!("{name}/seen{thread}/");
        contiguous(rows, &prefix);
        let sums: Vec<u64> =
            under(rows, &prefix).map(|(_, value)| value.parse().expect("we wrote numbers")).collect();
        assert!(sums.is_sorted_by(|a, b| a < b), "{prefix}: sums went back");
        seen.extend(sums);
    }
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count, "{name}: two increments gave the same sum");
    assert!(
        seen.last().is_none_or(|&most| most <= sum),
        "{name}: a sum of {seen:?} survived, and {sum} did not"
    );
}

fn check_group(rows: &OracleRows, name: &str) {
    let values: Vec<_> = group_keys(name).iter().map(|key| rows.get(key)).collect();
    assert!(values.iter().all(|value| *value == values[0]), "{name}: half a group: {values:?}");
}

/// Checks that the result lies between the acknowledged count (if that is promised) and the sent
/// count.
pub fn check_bounds(what: &str, left: u64, progress: WriterProgress, promise: DurabilityPromise) {
    let WriterProgress { sent, acknowledged } = progress;
    assert!(left <= sent, "{what}: {left} are there, {sent} were sent");
    if promise == DurabilityPromise::Acknowledged {
        assert!(left >= acknowledged, "{what}: {acknowledged} were acknowledged, {left} are there");
    }
}

/// Checks that the keys under a prefix end in 1, 2, 3, … without a gap. Returns the last number.
fn contiguous(rows: &OracleRows, prefix: &str) -> u64 {
    let numbers = numbers_under(rows, prefix);
    for (expected, &number) in (1..).zip(&numbers) {
        assert_eq!(number, expected, "{prefix}: a hole before {number} of {}", numbers.len());
    }
    numbers.len() as u64
}

pub fn numbers_under(rows: &OracleRows, prefix: &str) -> Vec<u64> {
    under(rows, prefix).map(|(key, _)| key[prefix.len()..].parse().expect("keys end in numbers")).collect()
}

pub fn under<'a>(rows: &'a OracleRows, prefix: &str) -> impl Iterator<Item = (&'a String, &'a String)> {
    let prefix = prefix.to_owned();
    rows.range(prefix.clone()..).take_while(move |(key, _)| key.starts_with(&prefix))
}
