//! Wormhole's figure 12: lookups over a network, in batches of 800.
//!
//! The paper's indexes are behind a link of 100 Gb/s that writes into memory. Here they are behind
//! TCP on loopback, in pipelines of 800 requests: our server once for each of our indexes, and
//! other servers, which have hash tables. The no-op server shows the cost of the sockets alone.

use skein_store::IndexKind;

use super::expected_table::{ExpectedTable, ValueShape};
use super::server_under_test::{self, ServerSelection, measure};
use super::{cpu, rate};
use crate::Result;
use crate::experiment::findings::MeasureSpec;
use crate::experiment::participants::{OURS, SKIP_LIST, WORMHOLE};
use crate::experiment::setting::{PIPELINE, REQUESTS};
use crate::experiment::wormhole::SETS;
use crate::experiment::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::keyset;
use crate::result::AxisPoint;
use crate::workload::requests::{RequestOp, ScriptRequest, uniform};

/// The number of requests in a batch.
const BATCH: usize = 800;
/// The number of connections, each with a batch in flight: enough that the server never waits.
const CONNECTIONS: usize = 8;
const VALUE_BYTES: usize = 8;
/// The number of servers with rows at once: one for each index, and two others.
const SERVERS: u64 = IndexKind::ALL.len() as u64 + 2;

const RATE: MeasureSpec<'_> = rate("GET");
const CPU: MeasureSpec<'_> = cpu("GET, CPU");

fn count(plan: &BenchPlan) -> usize {
    plan.keys_or([300_000, 1_000_000, 5_000_000, 10_000_000])
}

fn requests(plan: &BenchPlan) -> usize {
    let own = plan.size.pick([400_000, 1_000_000, 2_000_000, 10_000_000]).min(16 * count(plan));
    plan.setting(&REQUESTS, own)
}

pub static FIG12: Experiment = Experiment {
    name: "wormhole-fig12",
    title: "lookups over the network in batches of 800: one worker on one core, for each of our \
            indexes, and other servers",
    source: "Wormhole (EuroSys 2019), figure 12 and section 4.1",
    claim: "behind a network Wormhole stays ahead of the other indexes on every key set, with 5 to \
            20 % fewer lookups than without; where keys have a kilobyte the link is the limit. \
            Here by CPU time of the server, beside our Masstree and our skip list",
    memory,
    steps: |plan| plan.sets_or(&SETS).len() * (plan.rounds + 1),
    run,
    judge,
};

/// Returns the memory for the key set that needs most: keys, requests, and all servers.
fn memory(plan: &BenchPlan) -> Result<u64> {
    let keys = plan.sets_or(&SETS);
    let keys = keys.iter().map(|name| keyset::estimated_bytes(name, count(plan)));
    let most = keyset::greatest(keys)?;
    let rows = count(plan) as u64;
    let servers = SERVERS * (most + rows * server_under_test::row_bytes(0, VALUE_BYTES as u64));
    Ok(most + servers + (size_of::<ScriptRequest>() * requests(plan)) as u64)
}

fn run(bench: &mut Bench) -> Result<()> {
    let pipeline = bench.plan.setting(&PIPELINE, BATCH);
    bench.set("pipeline", pipeline);
    for name in bench.plan.sets_or(&SETS) {
        on_set(bench, &name, pipeline)?;
    }
    Ok(())
}

/// Measures all servers on one key set.
fn on_set(bench: &mut Bench, name: &str, pipeline: usize) -> Result<()> {
    let set = keyset::make(name, count(&bench.plan), 0, bench.plan.seed)?;
    bench.findings.note_on(&set);
    let wanted = ServerSelection::new(|can| can.values, name);
    let wanted = ServerSelection { each_index: true, connections: CONNECTIONS, noop: true, ..wanted };
    let table = ExpectedTable::new(&set.keys, ValueShape::Values(VALUE_BYTES));
    // The folder outlives the servers.
    let scratch = bench.scratch()?;
    let mut targets = server_under_test::start(bench, &scratch, &wanted, &table)?;
    let at = AxisPoint::name("key set", name);
    for round in 0..bench.plan.rounds {
        bench.step(&format!("{name}: round {}", round + 1));
        let seed = bench.plan.seed.wrapping_add(round as u64);
        let asked = uniform(RequestOp::Get, set.keys.len(), requests(&bench.plan), seed);
        for target in &mut targets {
            measure(bench, target, name, &asked, pipeline, (RATE, CPU), &at)?;
        }
    }
    Ok(())
}

/// Judges by the server's CPU time per lookup, because the client often limits the requests per
/// second.
fn judge(findings: &Findings) -> Judgement {
    let judged = [OURS, SKIP_LIST].map(|other| {
        let what = format!("lookups per CPU time of the server, Wormhole / {other}");
        Judgement::at_least(1.0, &what, &findings.ratios(CPU.measure, other, WORMHOLE))
    });
    Judgement::each_of(judged, "nothing was measured")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer;

    #[test]
    fn less_time_per_request_is_ahead() {
        let mut findings = Findings::default();
        assert_eq!(judge(&findings).answer, ClaimAnswer::CannotBeTested);
        for (set, ours) in [("az1", 0.5), ("K10", 2.0)] {
            let at = AxisPoint::name("key set", set);
            findings.add(CPU, OURS, Some(&at), 1.0);
            findings.add(CPU, WORMHOLE, Some(&at), ours);
            let answer = if set == "az1" { ClaimAnswer::Holds } else { ClaimAnswer::DoesNotHold };
            assert_eq!(judge(&findings).answer, answer, "{:?}", judge(&findings));
        }
    }
}
