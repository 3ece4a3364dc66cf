//! Masstree's figure 11: one shared tree, and trees that are hard-partitioned by core, as one
//! partition gets hotter.
//!
//! Every core has a partition with the same number of keys. The hot one gets 1 + δ times the
//! requests of each other. With partitioned trees, the hot partition's core is the limit and the
//! others wait for it, since the clients keep the proportions (section 6.6). So the rate is all
//! requests divided by the time of the slowest core. With the shared tree, every core gets an equal
//! part of all requests.

use super::findings::MeasureSpec;
use super::grid::{self, GridPoint};
use super::participants::OURS;
use super::scaling::cores;
use super::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::keyset::{self, PackedKeys, SeededRandom};
use crate::result::AxisPoint;
use crate::rival::index::{DynConcurrentIndex, DynIndex, RegisteredIndex};
use crate::sys::{LoopClock, on_threads};
use crate::workload::run::{LoopOutcome, LoopStyle, RunMode};
use crate::workload::{OpKind, Script, ScriptOp};
use crate::{Error, Result};

const SHARED: &str = "shared tree";
const PARTITIONED: &str = "hard-partitioned";
const DELTAS: [u32; 4] = [0, 1, 4, 9];
const RATE: MeasureSpec<'_> = MeasureSpec::more("get", "Mops/s");

fn point(plan: &BenchPlan) -> GridPoint {
    GridPoint {
        keys: plan.sets_or(&["decimal"]).swap_remove(0),
        count: plan.keys_or([1_000_000, 5_000_000, 20_000_000, 140_000_000]),
        absent: 0,
        at: None,
    }
}

fn operations(plan: &BenchPlan) -> usize {
    point(plan).count.clamp(1_000, 4_000_000)
}

pub static FIG11: Experiment = Experiment {
    name: "masstree-fig11",
    title: "a shared tree beside trees hard-partitioned by core, under skew",
    source: "Masstree (EuroSys 2012), figure 11 and section 6.6",
    claim: "partitioned trees win without skew (1.5 times on 16 cores), lose as one partition gets \
            hot, and a shared tree does not care (3.5 times at δ = 9 on 16 cores)",
    memory: |plan| grid::memory(&[point(plan)], 4, 2 * operations(plan)),
    steps: |plan| DELTAS.len() * plan.rounds,
    run,
    judge,
};

fn run(bench: &mut Bench) -> Result<()> {
    let point = point(&bench.plan);
    let set = keyset::make(&point.keys, point.count, 0, bench.plan.seed)?;
    let entry = crate::rival::index::all().into_iter().find(|entry| entry.name == OURS);
    let entry = entry.ok_or_else(|| Error::Failed(format!("{OURS} is not in this build")))?;
    bench.findings.contender(SHARED, "one Masstree for all cores");
    bench.findings.contender(PARTITIONED, "a Masstree for each core, keys dealt out in turn");
    bench.set("keys", format!("{} of {}", set.keys.len(), set.name));
    let shared = (entry.make)(set.keys.len());
    shared.fill(&set.keys, 0, 1, LoopClock::Wall);
    let parts: Vec<_> = (0..cores()).map(|part| partition(entry, &set.keys, part)).collect();
    for round in 0..bench.plan.rounds {
        for delta in DELTAS {
            bench.step(&format!("round {}, δ = {delta}", round + 1));
            measure(bench, &set.keys, shared.as_ref(), &parts, delta)?;
        }
    }
    Ok(())
}

/// Fills a tree with the keys of one partition.
fn partition(entry: &RegisteredIndex, keys: &PackedKeys, part: usize) -> Box<dyn DynIndex> {
    let index = (entry.make)(keys.len() / cores() + 1);
    index.fill(keys, part, cores(), LoopClock::Wall);
    index
}

fn measure(
    bench: &mut Bench,
    keys: &PackedKeys,
    shared: &dyn DynIndex,
    parts: &[Box<dyn DynIndex>],
    delta: u32,
) -> Result<()> {
    let total = operations(&bench.plan);
    let at = AxisPoint::number("skew δ", f64::from(delta));
    let how = RunMode { clock: LoopClock::Wall, style: LoopStyle::Independent };
    let mut random = SeededRandom::new(bench.plan.seed ^ u64::from(delta));

    // Every core gets requests to all partitions, in their proportions.
    let mixed: Vec<Script> =
        parts.iter().map(|_| requests(keys, total / parts.len(), None, delta, &mut random)).collect();
    let threads =
        shared.threads().ok_or_else(|| Error::Failed(format!("{OURS} supports one thread only")))?;
    let together = threads.run_together(&mixed, how)?;
    bench.add(RATE, SHARED, Some(&at), rate(SHARED, &together)?)?;

    // Every core gets the requests to its partition.
    let weight = |part: usize| if part == 0 { 1 + delta as usize } else { 1 };
    let weights: usize = (0..parts.len()).map(weight).sum();
    let own: Vec<Script> = (0..parts.len())
        .map(|part| requests(keys, total * weight(part) / weights, Some(part), delta, &mut random))
        .collect();
    let each: Vec<&dyn DynConcurrentIndex> = parts.iter().filter_map(|part| part.threads()).collect();
    let apart = on_threads(each.len(), |part| each[part].run(&own[part], how))?;
    bench.add(RATE, PARTITIONED, Some(&at), rate(PARTITIONED, &apart)?)
}

/// Returns lookups of keys of one partition, or of all with the hot one 1 + δ times as frequent as
/// each other.
fn requests(
    keys: &PackedKeys,
    count: usize,
    only: Option<usize>,
    delta: u32,
    random: &mut SeededRandom,
) -> Script {
    let parts = cores();
    let mut script = Script::default();
    for _ in 0..count {
        let part =
            only.unwrap_or_else(|| random.below(parts + delta as usize).saturating_sub(delta as usize));
        let members = (keys.len() - part).div_ceil(parts);
        let number = part + parts * random.below(members);
        script.push(ScriptOp { kind: OpKind::Get, count: 0, number: number as u32 }, keys.get(number));
    }
    script
}

/// Returns the rate: all requests divided by the time of the slowest core.
fn rate(contender: &str, outcomes: &[LoopOutcome]) -> Result<f64> {
    let wrong: usize = outcomes.iter().map(|outcome| outcome.wrong).sum();
    Error::check_answers(contender, "get", wrong)?;
    let operations: usize = outcomes.iter().map(|outcome| outcome.operations).sum();
    let slowest = outcomes.iter().map(|outcome| outcome.took).max().unwrap_or_default();
    Ok(operations as f64 / slowest.as_secs_f64() / 1e6)
}

fn judge(findings: &Findings) -> Judgement {
    if cores() == 1 {
        return Judgement::untested("there is one core, so nothing to partition over");
    }
    let ratios = findings.ratios("get", SHARED, PARTITIONED);
    let at = |label: &str| ratios.iter().find(|(at, _)| at == label).map_or(f64::NAN, |(_, ratio)| *ratio);
    let figures: Vec<_> = ratios.iter().map(|(label, ratio)| format!("δ = {label}: {ratio:.2}")).collect();
    let grows = at("9") > at("0") && at("9") > 1.0;
    Judgement::of(grows, format!("shared / partitioned on {} cores: {}", cores(), figures.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hot_partition_gets_its_share_of_the_requests() {
        let keys = keyset::make("rand-8", 1_001, 0, 1).expect("a good name").keys;
        let mut random = SeededRandom::new(3);
        for delta in DELTAS {
            let script = requests(&keys, 20_000, None, delta, &mut random);
            let hot = script.ops.iter().filter(|op| (op.number as usize).is_multiple_of(cores())).count();
            let wanted = 20_000 * (1 + delta as usize) / (cores() + delta as usize);
            assert!(hot.abs_diff(wanted) < 500, "δ = {delta}: {hot} requests, not {wanted}");
            for part in 0..cores() {
                let own = requests(&keys, 500, Some(part), delta, &mut random);
                assert!(own.ops.iter().all(|op| op.number as usize % cores() == part), "δ = {delta}");
            }
        }
    }
}
