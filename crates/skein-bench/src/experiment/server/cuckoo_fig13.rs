//! The Cuckoo Trie's figure 13: an ordered index in a server, on YCSB's workloads.
//!
//! The paper puts each index under Redis' sorted set. Here our server runs once on each of our
//! indexes, with all keys in one sorted set (ZSCORE, ZADD, ZRANGEBYLEX); `redis-server` has the
//! same set. The keys that D and E add are others in each round, so servers need not restart.
//!
//! Our sorted set finds a member through the index, but keeps the order of its members in a tree of
//! its own. So E on sorted sets walks that tree, whatever the index, and is not judged. E is
//! measured once more with the keys as keys of the server (SK.RANGE, SET); there each range walks
//! the index. Redis has no such command.

use skein_store::IndexKind;

use super::expected_table::{ExpectedTable, KeyOrder, ValueShape};
use super::server_under_test::{self, ServerSelection, measure};
use super::{cpu, rate};
use crate::Result;
use crate::experiment::cuckoo::{HARD, SETS};
use crate::experiment::participants::{CUCKOO, OURS, SKIP_LIST, WORMHOLE};
use crate::experiment::setting::{PIPELINE, REQUESTS};
use crate::experiment::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::keyset::{self, KeySet};
use crate::result::AxisPoint;
use crate::rival::server::{SORTED_SET, ServerAbilities};
use crate::workload::requests::{ScriptRequest, of_script};
use crate::workload::ycsb::{LETTERS, Popularity, ycsb};
use crate::workload::{RankedKeySet, ThreadShare};

/// The number of requests in a pipeline; with one at a time, the figures would be mostly the
/// sockets'.
const BATCH: usize = 16;
/// As many as the paper's client has threads.
const CONNECTIONS: usize = 4;
const VALUE_BYTES: usize = 8;
/// A scan takes as long as this many other requests.
const SCANS_ONE_IN: usize = 10;
/// The number of servers with rows at once: one for each index, and another.
const SERVERS: u64 = IndexKind::ALL.len() as u64 + 1;
/// "Comparable to the best" means within a tenth.
const COMPARABLE: f64 = 0.9;

/// A workload: its position among YCSB's letters, and its measures.
struct Fig13Workload {
    letter: usize,
    rate: &'static str,
    cpu: &'static str,
}

/// The figure's workloads, without B, which is nearly the same as C.
const WORKLOADS: [Fig13Workload; 5] = [
    Fig13Workload { letter: 0, rate: "A", cpu: "A, CPU" },
    Fig13Workload { letter: 2, rate: "C", cpu: "C, CPU" },
    Fig13Workload { letter: 3, rate: "D", cpu: "D, CPU" },
    Fig13Workload { letter: 4, rate: "E", cpu: "E, CPU" },
    Fig13Workload { letter: 5, rate: "F", cpu: "F, CPU" },
];

/// E on the server's own keys; its ranges walk the index.
const THROUGH_INDEX: [Fig13Workload; 1] =
    [Fig13Workload { letter: 4, rate: "E through the index", cpu: "E through the index, CPU" }];

fn count(plan: &BenchPlan) -> usize {
    plan.keys_or([100_000, 1_000_000, 5_000_000, 10_000_000])
}

fn requests(plan: &BenchPlan) -> usize {
    let own = plan.size.pick([100_000, 500_000, 1_000_000, 10_000_000]).min(16 * count(plan));
    plan.setting(&REQUESTS, own)
}

/// Returns the number of keys to add. Each loop of D or E may add as many as a sixteenth of its
/// requests; D adds a twentieth.
fn fresh(plan: &BenchPlan) -> usize {
    (requests(plan) * plan.rounds / 8).max(64)
}

pub static FIG13: Experiment = Experiment {
    name: "cuckoo-fig13",
    title: "YCSB A, C, D, E, F through a server on each of our indexes, beside Redis' sorted set; \
            one worker on one core",
    source: "Cuckoo Trie (SOSP 2021), figure 13 and section 6.8",
    claim: "under Redis' sorted set the Cuckoo Trie is the best of all indexes on A to D but for \
            az, on C as fast as Redis' own hash table, and on E comparable to the best but for az. \
            Here by CPU time of the server: at least as fast as on the other indexes, and within a \
            tenth of the best on E, which is judged on the server's own keys: E on a sorted set \
            walks a tree of its own, whatever the index",
    memory,
    steps: |plan| plan.sets_or(&SETS).len() * (plan.rounds * (WORKLOADS.len() + THROUGH_INDEX.len()) + 2),
    run,
    judge,
};

/// Returns the memory for the key set that needs most: the keys, twice because they are sorted,
/// requests with their keys, and all servers.
fn memory(plan: &BenchPlan) -> Result<u64> {
    let keys = plan.sets_or(&SETS);
    let rows = (count(plan) + fresh(plan)) as u64;
    let keys = keys.iter().map(|name| keyset::estimated_bytes(name, count(plan) + fresh(plan)));
    let most = keyset::greatest(keys)?;
    let servers = SERVERS * (most + rows * server_under_test::row_bytes(0, VALUE_BYTES as u64));
    let asked = requests(plan) as u64 * (2 * size_of::<ScriptRequest>() as u64 + 16 + most / rows.max(1));
    Ok(2 * most + 24 * rows + servers + asked)
}

fn run(bench: &mut Bench) -> Result<()> {
    let pipeline = bench.plan.setting(&PIPELINE, BATCH);
    bench.set("pipeline", pipeline);
    bench.set("value bytes", VALUE_BYTES);
    for name in bench.plan.sets_or(&SETS) {
        on_set(bench, &name, pipeline)?;
    }
    Ok(())
}

/// Returns all keys of a set, with those to be added after the others.
pub(super) fn joined(set: &KeySet) -> KeySet {
    let keys = set.keys.iter().chain(set.absent.iter()).collect();
    KeySet { name: set.name.clone(), keys, absent: keyset::PackedKeys::default(), note: None, ..*set }
}

/// Returns the requests of a workload. In workloads that add keys, each `share` adds others.
pub(super) fn script(
    asked: &RankedKeySet<'_>,
    letter: usize,
    count: usize,
    share: ThreadShare,
    seed: u64,
) -> Vec<ScriptRequest> {
    let (letter, popularity) = match letter {
        3 => (LETTERS[3], Popularity::Latest),
        other => (LETTERS[other], Popularity::Uniform),
    };
    of_script(&ycsb(asked, letter, popularity, count, seed, share), asked.keys().len())
}

/// Measures all servers on one key set: with the keys in a sorted set, then as keys of the server.
fn on_set(bench: &mut Bench, name: &str, pipeline: usize) -> Result<()> {
    let set = keyset::make(name, count(&bench.plan), fresh(&bench.plan), bench.plan.seed)?;
    bench.findings.note_on(&set);
    let all = joined(&set);
    let order = KeyOrder::new(all.order());
    let table = ExpectedTable::new(&all.keys, ValueShape::Values(VALUE_BYTES))
        .ordered(&order)
        .loading(set.keys.len());
    run_workloads(bench, &set, &table, pipeline, |can| can.ordered, &WORKLOADS)?;
    run_workloads(bench, &set, &table, pipeline, |can| can.values && can.ranges, &THROUGH_INDEX)
}

/// Measures the servers that support these workloads, on one key set.
fn run_workloads(
    bench: &mut Bench,
    set: &KeySet,
    table: &ExpectedTable<'_>,
    pipeline: usize,
    takes: fn(ServerAbilities) -> bool,
    workloads: &[Fig13Workload],
) -> Result<()> {
    let name = &*set.name;
    let wanted = ServerSelection::new(takes, name);
    let wanted = ServerSelection { each_index: true, connections: CONNECTIONS, ..wanted };
    // The folder outlives the servers.
    let scratch = bench.scratch()?;
    let mut targets = server_under_test::start(bench, &scratch, &wanted, table)?;
    let (asked, at) = (RankedKeySet::new(set), AxisPoint::name("key set", name));
    for turn in 0..bench.plan.rounds * workloads.len() {
        let (round, workload) = (turn / workloads.len(), &workloads[turn % workloads.len()]);
        bench.step(&format!("{name}: round {}, {}", round + 1, workload.rate));
        let scans = LETTERS[workload.letter].scans();
        let count = requests(&bench.plan) / if scans { SCANS_ONE_IN } else { 1 };
        let share = ThreadShare { thread: 2 * round + usize::from(scans), of: 2 * bench.plan.rounds };
        let seed = bench.plan.seed.wrapping_add(turn as u64);
        let asked = script(&asked, workload.letter, count, share, seed);
        for target in &mut targets {
            let places = (rate(workload.rate), cpu(workload.cpu));
            measure(bench, target, workload.rate, &asked, pipeline, places, &at)?;
        }
    }
    Ok(())
}

/// Judges by the server's CPU time, because the client often limits the requests per second.
fn judge(findings: &Findings) -> Judgement {
    let [a, c, d, ..] = WORKLOADS.map(|workload| workload.cpu);
    // Less time is better, so the other's time is the numerator.
    let ratios =
        |measures: &[&str], other: &str| findings.ratios_in(measures, other, CUCKOO, |set| set != HARD);
    let best = [OURS, WORMHOLE, SORTED_SET].into_iter().map(|other| {
        let what = format!("requests per CPU time of the server, Cuckoo Trie / {other}");
        Judgement::at_least(1.0, &what, &ratios(&[a, c, d], other))
    });
    let beside = |other: &str| {
        let scans = ratios(&THROUGH_INDEX.map(|workload| workload.cpu), other).into_iter();
        scans.map(|(what, ratio)| (format!("{what}, {other}"), ratio)).collect::<Vec<_>>()
    };
    let scans = [OURS, WORMHOLE, SKIP_LIST].map(beside).concat();
    let scans = Judgement::at_least(COMPARABLE, "E, Cuckoo Trie / each of them", &scans);
    Judgement::each_of(best.chain([scans]), "not measured")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    #[test]
    fn less_time_per_request_is_ahead_where_prefixes_are_short() {
        let judged = |ours: f64, hard: f64| {
            let mut findings = Findings::default();
            for (set, ours) in [("osm", ours), (HARD, hard)] {
                for workload in WORKLOADS.iter().chain(&THROUGH_INDEX) {
                    for (name, time) in [(CUCKOO, ours), (OURS, 1.0), (WORMHOLE, 1.0)] {
                        findings.add(cpu(workload.cpu), name, Some(&AxisPoint::name("key set", set)), time);
                    }
                }
            }
            judge(&findings)
        };
        assert_eq!(judged(0.9, 2.0).answers(), [Holds, Holds, CannotBeTested, Holds]);
        assert_eq!(judged(1.05, 0.5).answers(), [DoesNotHold, DoesNotHold, CannotBeTested, Holds]);
        assert_eq!(judged(1.2, 0.5).answers(), [DoesNotHold, DoesNotHold, CannotBeTested, DoesNotHold]);
        let scans = &judged(1.2, 0.5).each()[3];
        let shown = format!("E through the index, CPU on osm, {OURS}: 0.83");
        assert!(scans.why.contains(&shown), "{scans:?}");
    }

    #[test]
    fn ranges_of_a_sorted_set_are_not_judged() {
        let mut findings = Findings::default();
        for (name, time) in [(CUCKOO, 9.0), (OURS, 1.0), (SORTED_SET, 1.0)] {
            findings.add(cpu("E, CPU"), name, Some(&AxisPoint::name("key set", "osm")), time);
        }
        let judged = judge(&findings).each();
        assert!(judged.iter().all(|judged| judged.answer == CannotBeTested), "{judged:?}");
    }
}
