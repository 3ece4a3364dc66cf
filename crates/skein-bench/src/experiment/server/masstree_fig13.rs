//! Masstree's figure 13: whole systems on the workloads of its section 7, each on one core.
//!
//! First uniform gets and puts of 8-byte values at decimal keys, as in the figure's lines for one
//! core; then MYCSB, on rows of ten columns of 4 bytes. Batches are pipelines. No package has the
//! two other systems of the paper, so they are noted as absent.

use super::expected_table::{ExpectedTable, KeyOrder, ValueShape};
use super::server_under_test::{self, ServerSelection, ServerUnderTest, measure};
use super::{cpu, rate};
use crate::Result;
use crate::experiment::findings::MeasureSpec;
use crate::experiment::setting::{PIPELINE, REQUESTS};
use crate::experiment::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::keyset::{self, KeySet};
use crate::result::AxisPoint;
use crate::rival::server::{COLUMNS, OURS, ServerAbilities};
use crate::workload::requests::{MYCSB, RequestOp, ScriptRequest, uniform};

/// Returns the number of requests in a pipeline, the paper's batch.
fn pipeline(plan: &BenchPlan) -> usize {
    plan.setting(&PIPELINE, 16)
}

/// A range takes as long as this many requests for one row.
const RANGES_ONE_IN: usize = 10;

const RATE: MeasureSpec<'_> = rate("requests");
const CPU: MeasureSpec<'_> = cpu("CPU time of the server");

const UNIFORM: [(RequestOp, &str); 2] = [(RequestOp::Get, "get"), (RequestOp::Put, "put")];
const VALUE_BYTES: usize = 8;

fn count(plan: &BenchPlan) -> usize {
    plan.keys_or([200_000, 2_000_000, 10_000_000, 20_000_000])
}

fn requests(plan: &BenchPlan) -> usize {
    let own = plan.size.pick([200_000, 1_000_000, 2_000_000, 20_000_000]).min(4 * count(plan));
    plan.setting(&REQUESTS, own)
}

/// Returns the key sets of the uniform workloads and of MYCSB.
fn sets(plan: &BenchPlan) -> [String; 2] {
    if let [own] = &plan.keys[..] {
        return [own.clone(), own.clone()];
    }
    let mut sets = plan.sets_or(&["decimal", "ycsb"]).into_iter();
    let mut next = |own: &str| sets.next().unwrap_or_else(|| own.to_owned());
    [next("decimal"), next("ycsb")]
}

pub static FIG13: Experiment = Experiment {
    name: "masstree-fig13",
    title: "systems on one core: uniform gets and puts, and MYCSB A, B, C, E",
    source: "Masstree (EuroSys 2012), figure 13 and section 7",
    claim: "on one core Masstree answers 1.7 times the gets and 2.1 times the puts of Redis and \
            1.2 times the gets of memcached (its library does not batch puts); on 16 cores, on \
            MYCSB A, B, C 2.8, 3.3 and 3.7 times Redis and on C 1.9 times memcached. Our own aim \
            beside it: no rival answers more",
    memory,
    steps: |plan| plan.rounds * (UNIFORM.len() + MYCSB.len()) + 2,
    run,
    judge,
};

/// Returns the memory of the larger of the two parts: keys with their order, requests, the client's
/// bookkeeping, and all servers at once.
fn memory(plan: &BenchPlan) -> Result<u64> {
    let rows = count(plan) as u64;
    let [uniform, mycsb] = sets(plan);
    let keys = |name: &str| keyset::estimated_bytes(name, count(plan));
    let asked = (size_of::<ScriptRequest>() * requests(plan)) as u64;
    let servers = |contenders: u64, noted: u64, key: u64, value: u64| {
        rows * contenders * (noted + server_under_test::row_bytes(key, value))
    };
    let first = keys(&uniform)? + servers(3, 1, 10, VALUE_BYTES as u64);
    let second = keys(&mycsb)? + 8 * rows + servers(4, COLUMNS as u64, 24, 100);
    Ok(asked + first.max(second))
}

fn run(bench: &mut Bench) -> Result<()> {
    for name in ["MongoDB", "VoltDB"] {
        bench.findings.absent(name, "not offered as a package by Debian".to_owned());
    }
    bench.set("pipeline", pipeline(&bench.plan));
    let [uniform, mycsb] = sets(&bench.plan);
    run_uniform(bench, &set(bench, &uniform)?)?;
    run_mycsb(bench, &set(bench, &mycsb)?)
}

/// Selects servers with these abilities, with their logs on.
fn wanted(takes: fn(ServerAbilities) -> bool, set: &KeySet) -> ServerSelection<'_> {
    ServerSelection { logs: true, ..ServerSelection::new(takes, &set.name) }
}

fn set(bench: &Bench, name: &str) -> Result<KeySet> {
    keyset::make(name, count(&bench.plan), 0, bench.plan.seed)
}

fn run_uniform(bench: &mut Bench, set: &KeySet) -> Result<()> {
    describe(bench, "keys of get and put", set);
    let table = ExpectedTable::new(&set.keys, ValueShape::Values(VALUE_BYTES));
    let wanted = wanted(|can| can.values, set);
    // The folder outlives the servers.
    let scratch = bench.scratch()?;
    let mut targets = server_under_test::start(bench, &scratch, &wanted, &table)?;
    for round in 0..bench.plan.rounds {
        for (number, (ask, name)) in UNIFORM.into_iter().enumerate() {
            let asked = uniform(ask, set.keys.len(), requests(&bench.plan), seed(bench, round, number));
            turn(bench, &mut targets, round, name, &asked, |_| true)?;
        }
    }
    Ok(())
}

fn run_mycsb(bench: &mut Bench, set: &KeySet) -> Result<()> {
    describe(bench, "keys of MYCSB", set);
    let order = KeyOrder::new(set.order());
    let table = ExpectedTable::new(&set.keys, ValueShape::Columns).ordered(&order);
    let wanted = wanted(|can| can.read_columns, set);
    let scratch = bench.scratch()?;
    let mut targets = server_under_test::start(bench, &scratch, &wanted, &table)?;
    for round in 0..bench.plan.rounds {
        for (number, mycsb) in MYCSB.into_iter().enumerate() {
            let count = requests(&bench.plan) / if mycsb.ranges() { RANGES_ONE_IN } else { 1 };
            let asked = mycsb.requests(set.keys.len(), COLUMNS, count, seed(bench, round, number));
            turn(bench, &mut targets, round, mycsb.name, &asked, |target| {
                (target.can.ranges || !mycsb.ranges()) && (target.can.write_column || !mycsb.puts())
            })?;
        }
    }
    Ok(())
}

/// Runs every server's turn at one workload, for servers with the ability.
fn turn(
    bench: &mut Bench,
    targets: &mut [ServerUnderTest<'_>],
    round: usize,
    name: &str,
    asked: &[ScriptRequest],
    able: impl Fn(&ServerUnderTest<'_>) -> bool,
) -> Result<()> {
    bench.step(&format!("round {}, {name}", round + 1));
    let at = AxisPoint::name("workload", name);
    let pipeline = pipeline(&bench.plan);
    for target in targets.iter_mut().filter(|target| able(target)) {
        measure(bench, target, name, asked, pipeline, (RATE, CPU), &at)?;
    }
    Ok(())
}

fn seed(bench: &Bench, round: usize, number: usize) -> u64 {
    bench.plan.seed.wrapping_add((100 * round + number) as u64)
}

fn describe(bench: &mut Bench, what: &str, set: &KeySet) {
    bench.set(what, format!("{} of {}", set.keys.len(), set.name));
    bench.findings.note_on(set);
}

/// A rival, the names of its contenders, and by workload the ratio of the paper's Masstree to it.
struct Fig13Rival {
    words: &'static str,
    names: &'static [&'static str],
    times: &'static [(&'static str, f64)],
}

/// The paper's table. Here memcached batches puts, in the paper it did not, so its puts are not
/// judged.
const RIVALS: [Fig13Rival; 2] = [
    Fig13Rival {
        words: "Redis",
        names: &["redis", "redis-hash"],
        times: &[("get", 1.7), ("put", 2.1), ("MYCSB-A", 2.8), ("MYCSB-B", 3.3), ("MYCSB-C", 3.7)],
    },
    Fig13Rival { words: "memcached", names: &["memcached"], times: &[("get", 1.2), ("MYCSB-C", 1.9)] },
];

impl Fig13Rival {
    /// Returns our ratio to its requests per CPU time in a workload. For Redis, its faster
    /// representation of columns counts.
    fn ratio(&self, findings: &Findings, workload: &str) -> Option<(String, f64)> {
        let cpu = |name: &&str| findings.median(CPU.measure, name, Some(workload));
        let best = self.names.iter().filter_map(cpu).min_by(f64::total_cmp)?;
        Some((workload.to_owned(), best / cpu(&OURS)?))
    }

    /// Judges the paper's number for each workload, and our aim over all of them.
    fn judge(&self, findings: &Findings) -> Vec<Judgement> {
        let what = format!("requests per CPU time of the server, ours / {}", self.words);
        let ratios: Vec<_> = self.times.iter().map(|(workload, _)| self.ratio(findings, workload)).collect();
        let paper = self.times.iter().zip(&ratios);
        let paper = paper.map(|((_, times), ratio)| Judgement::at_least(*times, &what, ratio.as_slice()));
        let all: Vec<_> = ratios.iter().flatten().cloned().collect();
        let aim = Judgement::at_least(1.0, &format!("our aim: {what}"), &all);
        paper.chain([aim]).collect()
    }
}

/// Judges by the server's CPU time, because one client thread often limits the requests per second.
fn judge(findings: &Findings) -> Judgement {
    let judged = RIVALS.iter().flat_map(|rival| rival.judge(findings));
    Judgement::each_of(judged, "nothing was measured")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    #[test]
    fn the_papers_numbers_and_our_aim_are_judged_apart() {
        let mut findings = Findings::default();
        let mut add = |name, workload, time| {
            findings.add(CPU, name, Some(&AxisPoint::name("workload", workload)), time);
        };
        for workload in ["get", "put", "MYCSB-A"] {
            add(OURS, workload, 1.0);
            // Of the two representations of columns, the faster one counts.
            add("redis", workload, 2.0);
            add("redis-hash", workload, 9.0);
        }
        let judged = judge(&findings).each();
        let answers = judge(&findings).answers();
        let redis = [Holds, DoesNotHold, DoesNotHold, CannotBeTested, CannotBeTested, Holds];
        assert_eq!(answers[..6], redis, "{judged:?}");
        assert_eq!(answers[6..], [CannotBeTested; 3], "memcached was not measured: {judged:?}");
    }
}
