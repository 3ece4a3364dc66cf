//! A sorted set of many members in our server and in Redis: adding members, and ranges of a hundred
//! by score and by name.

use super::expected_table::{ExpectedTable, KeyOrder, ValueShape, order_by_score};
use super::server_under_test::{self, ServerSelection};
use super::{LoopNames, MEMORY, add_loaded, measure_with_p99, numbered};
use crate::Result;
use crate::experiment::setting::{PIPELINE, REQUESTS};
use crate::experiment::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::keyset::PackedKeys;
use crate::result::AxisPoint;
use crate::rival::server::{OUR_SCORED, OUR_SORTED, SCORED_SET, SORTED_SET, ServerAbilities};
use crate::workload::requests::{RANGE_MAX, RequestOp, ScriptRequest, uniform_of};

/// The number of requests in a pipeline.
const DEPTH: usize = 16;
/// A range takes as long as this many other requests.
const RANGES_ONE_IN: usize = 10;
/// The bytes of a value, which is a score.
const VALUE_BYTES: usize = 8;
/// The number of servers with members at once.
const SERVERS: u64 = 2;

/// One kind of sorted set, and the servers that have it.
struct SortedSetCase {
    name: &'static str,
    takes: fn(ServerAbilities) -> bool,
    who: &'static [&'static str],
    /// Returns the members in the order of ranges.
    order: fn(&PackedKeys) -> KeyOrder,
}

const SETS: [SortedSetCase; 2] = [
    SortedSetCase {
        name: "many scores",
        takes: |can| can.scored,
        who: &[OUR_SCORED, SCORED_SET],
        order: order_by_score,
    },
    SortedSetCase {
        name: "one score",
        takes: |can| can.ordered,
        who: &[OUR_SORTED, SORTED_SET],
        // Names have equal lengths, and rise with their numbers.
        order: |keys| KeyOrder::new((0..keys.len() as u32).collect()),
    },
];

/// The operations, with their measures.
const KINDS: [(RequestOp, LoopNames); 3] = [
    (RequestOp::Add, ["ZADD", "ZADD, CPU", "ZADD, p99"]),
    (RequestOp::Get, ["ZSCORE", "ZSCORE, CPU", "ZSCORE, p99"]),
    (RequestOp::Keys, ["range of 100", "range of 100, CPU", "range of 100, p99"]),
];

fn count(plan: &BenchPlan) -> usize {
    plan.keys_or([100_000, 500_000, 1_000_000, 10_000_000])
}

fn requests(plan: &BenchPlan) -> usize {
    let own = plan.size.pick([50_000, 200_000, 500_000, 1_000_000]).min(count(plan));
    plan.setting(&REQUESTS, own)
}

/// Returns the number of members that are added; each round adds others.
fn fresh(plan: &BenchPlan) -> usize {
    requests(plan) * plan.rounds
}

pub static MEMBERS: Experiment = Experiment {
    name: "server-sorted-set",
    title: "A sorted set: members added, scores read, ranges of 100 by score and by name; one \
            worker on one core, beside Redis",
    source: "this project's aims",
    claim: "beside Redis without a log, ours at buffered adds members 1.5 times as fast and gives \
            ranges 3 times as fast, by CPU time where the client is the limit; no p99 is longer; a \
            member takes at most 0.9 times the memory",
    memory: |plan| {
        let members = (count(plan) + fresh(plan)) as u64;
        Ok(members * (20 + 16 + 16 + 8 + SERVERS * server_under_test::row_bytes(20, VALUE_BYTES as u64)))
    },
    steps: |plan| SETS.len() * (plan.rounds * KINDS.len() + 1),
    run,
    judge,
};

fn run(bench: &mut Bench) -> Result<()> {
    let keys = numbered("element", count(&bench.plan) + fresh(&bench.plan));
    bench.set("members", count(&bench.plan));
    SETS.iter().try_for_each(|set| on_set(bench, set, &keys))
}

fn on_set(bench: &mut Bench, set: &SortedSetCase, keys: &PackedKeys) -> Result<()> {
    let wanted = ServerSelection { also: set.who, ..ServerSelection::new(set.takes, "these members") };
    let order = (set.order)(keys);
    let table =
        ExpectedTable::new(keys, ValueShape::Values(VALUE_BYTES)).ordered(&order).loading(count(&bench.plan));
    // The folder outlives the servers.
    let scratch = bench.scratch()?;
    let mut targets = server_under_test::start(bench, &scratch, &wanted, &table)?;
    let at = AxisPoint::name("set", set.name);
    add_loaded(bench, &targets, Some(&at), count(&bench.plan))?;
    let pipeline = bench.plan.setting(&PIPELINE, DEPTH);
    for round in 0..bench.plan.rounds {
        for (ask, names) in KINDS {
            bench.step(&format!("{}: round {}, {}", set.name, round + 1, names[0]));
            let asked = asking(&bench.plan, ask, round);
            for target in &mut targets {
                measure_with_p99(bench, target, names[0], &asked, pipeline, names, &at)?;
            }
        }
    }
    Ok(())
}

/// Returns the requests of a loop.
fn asking(plan: &BenchPlan, ask: RequestOp, round: usize) -> Vec<ScriptRequest> {
    let (requests, members) = (requests(plan), count(plan));
    match ask {
        RequestOp::Add => {
            let first = members + round * requests;
            (first..first + requests)
                .map(|number| ScriptRequest { ask, count: 1, column: 0, number: number as u32 })
                .collect()
        }
        RequestOp::Keys => {
            uniform_of(ask, RANGE_MAX, members, requests / RANGES_ONE_IN, plan.seed + round as u64)
        }
        _ => uniform_of(ask, 1, members, requests, plan.seed + round as u64),
    }
}

fn judge(findings: &Findings) -> Judgement {
    let ratios = |measure: &str, theirs_above: bool| -> Vec<(String, f64)> {
        let of_set = |set: &SortedSetCase| {
            let median = |who: usize| findings.median(measure, set.who[who], Some(set.name));
            let (ours, theirs) = median(0).zip(median(1))?;
            let ratio = if theirs_above { theirs / ours } else { ours / theirs };
            Some((format!("{measure}, {}", set.name), ratio))
        };
        SETS.iter().filter_map(of_set).collect()
    };
    let both = |kind: usize| [ratios(KINDS[kind].1[1], true), ratios(KINDS[kind].1[0], false)].concat();
    let p99: Vec<_> = KINDS.iter().flat_map(|(_, measures)| ratios(measures[2], true)).collect();
    let judged = [
        Judgement::at_least(1.5, "ZADD per CPU time, and per second, ours / Redis", &both(0)),
        Judgement::at_least(3.0, "ranges per CPU time, and per second, ours / Redis", &both(2)),
        Judgement::at_least(1.0, "p99, Redis / ours", &p99),
        Judgement::at_least(1.0 / 0.9, "bytes of a member, Redis / ours", &ratios(MEMORY.measure, true)),
    ];
    Judgement::each_of(judged, "not measured")
}

#[cfg(test)]
mod tests {
    use super::super::{cpu, rate};
    use super::*;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    #[test]
    fn ours_is_judged_beside_redis() {
        let mut findings = Findings::default();
        for (ours, theirs, cpu_name, rate_name) in
            [(1.0, 1.6, "ZADD, CPU", "ZADD"), (1.0, 2.9, "range of 100, CPU", "range of 100")]
        {
            let at = AxisPoint::name("set", "many scores");
            findings.add(cpu(cpu_name), OUR_SCORED, Some(&at), ours);
            findings.add(cpu(cpu_name), SCORED_SET, Some(&at), theirs);
            findings.add(rate(rate_name), OUR_SCORED, Some(&at), theirs);
            findings.add(rate(rate_name), SCORED_SET, Some(&at), ours);
        }
        assert_eq!(judge(&findings).answers(), [Holds, DoesNotHold, CannotBeTested, CannotBeTested]);
    }
}
