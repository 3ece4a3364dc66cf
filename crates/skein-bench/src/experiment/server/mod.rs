//! Servers: one worker of ours beside others, each on the same core, asked in turn by a client on another.
//!
//! | file | experiment | what |
//! | --- | --- | --- |
//! | here | `server` | GET, SET and PING |
//! | `fig13.rs` | `masstree-fig13` | the systems of Masstree's section 7 on its workloads |
//! | `fig12.rs` | `wormhole-fig12` | lookups in large batches: our indexes, each under a server of its own |
//! | `sorted.rs` | `cuckoo-fig13` | keys in their order: our indexes, each under a server of its own, and Redis' sorted set |
//! | `redis_benchmark.rs` | `bitbase-redis` | ours over the disk engine and Redis, asked by Redis' own client |
//! | `table.rs` | | keys, and the values that they have now |
//! | `target.rs` | | a server that runs, with its client and its table |
//!
//! Beside requests per second stands the CPU time that all threads of a server took per request: on two cores the client is
//! often the limit. Servers stay idle while others are measured.

mod fig12;
mod fig13;
mod redis_benchmark;
mod sorted;
mod table;
mod target;
#[cfg(test)]
mod tests;

use linkme::distributed_slice;

use super::findings::Place;
use super::setting::{PIPELINE, REQUESTS, VALUE_BYTES};
use super::{Bench, EXPERIMENTS, Experiment, Findings, Judgement, Plan};
use crate::Result;
use crate::keyset::Keys;
use crate::result::{At, Better};
use crate::rival::server::OURS;
use crate::workload::requests::{Ask, Asking, uniform};
use table::{Shape, Table};
use target::{MANY_CONNECTIONS, Target, Wanted, measure};

/// Bytes of a value.
fn value_bytes(plan: &Plan) -> usize {
    plan.setting(&VALUE_BYTES, 64)
}

/// Pipeline depths.
fn pipelines(plan: &Plan) -> Vec<usize> {
    plan.settings.get(&PIPELINE).map_or(vec![1, 16], |depth| vec![depth])
}

const KINDS: [(Ask, &str, &str); 3] =
    [(Ask::Get, "GET", "GET, CPU"), (Ask::Put, "SET", "SET, CPU"), (Ask::Ping, "PING", "PING, CPU")];

/// A measure of requests per second.
const fn rate(measure: &str) -> Place<'_> {
    Place { measure, unit: "kreq/s", better: Better::More }
}

/// A measure of CPU time of the server.
const fn cpu(measure: &str) -> Place<'_> {
    Place { measure, unit: "us/req", better: Better::Less }
}

fn count(plan: &Plan) -> usize {
    plan.keys_or([100_000, 500_000, 1_000_000, 20_000_000])
}

/// Requests of a loop: in deep pipelines they go so much faster that a loop has four times as many.
fn requests(plan: &Plan, pipeline: usize) -> usize {
    let shallow = plan.size.pick([20_000, 100_000, 200_000, 500_000]).min(4 * count(plan));
    plan.setting(&REQUESTS, if pipeline < 8 { shallow } else { 4 * shallow })
}

/// Bytes of a key, with what the client notes about it.
const KEY_BYTES: u64 = 16 + 16;

#[distributed_slice(EXPERIMENTS)]
static SERVER: Experiment = Experiment {
    name: "server",
    rank: 310,
    title: "GET, SET and PING: one worker on one core, beside other servers and one that does nothing",
    source: "this project's aims",
    claim: "beside Redis without a log, ours at buffered answers GET and SET at least as fast at pipeline 1 and twice as fast at 16, and takes CPU time accordingly",
    memory: |plan| {
        let keys = count(plan) as u64;
        let asked = size_of::<Asking>()
            * pipelines(plan).iter().map(|&depth| requests(plan, depth)).max().unwrap_or(0);
        Ok(keys * (KEY_BYTES + 3 * target::row_bytes(16, value_bytes(plan) as u64)) + asked as u64)
    },
    steps: |plan| plan.rounds * pipelines(plan).len() * KINDS.len() + 1,
    run,
    judge,
};

fn run(bench: &mut Bench) -> Result<()> {
    let mut keys = Keys::default();
    (0..count(&bench.plan)).for_each(|n| keys.push(format!("key:{n:012}").as_bytes()));
    bench.set("keys", keys.len());
    bench.set("value bytes", value_bytes(&bench.plan));
    let wanted = Wanted {
        takes: |can| can.values,
        each_index: false,
        keys: "these keys",
        connections: MANY_CONNECTIONS,
        noop: true,
        logs: false,
    };
    let table = Table::new(&keys, Shape::Values(value_bytes(&bench.plan)));
    // The folder outlives the servers.
    let scratch = bench.scratch()?;
    let mut targets = target::start(bench, &scratch, &wanted, &table)?;
    for round in 0..bench.plan.rounds {
        for pipeline in pipelines(&bench.plan) {
            for (number, (ask, name, cpu_name)) in KINDS.into_iter().enumerate() {
                bench.step(&format!("round {}, {name} at pipeline {pipeline}", round + 1));
                let seed = bench.plan.seed.wrapping_add((round * KINDS.len() + number) as u64);
                let asked = uniform(ask, keys.len(), requests(&bench.plan, pipeline), seed);
                for target in targets.iter_mut().filter(|target| able(target, ask)) {
                    #[expect(clippy::cast_precision_loss, reason = "a few")]
                    let at = At::number("pipeline", pipeline as f64);
                    let loop_name = format!("{name}, pipeline {pipeline}");
                    measure(bench, target, &loop_name, &asked, pipeline, (rate(name), cpu(cpu_name)), &at)?;
                }
            }
        }
    }
    Ok(())
}

fn able(target: &Target<'_>, ask: Ask) -> bool {
    target.can.ping || ask != Ask::Ping
}

fn judge(findings: &Findings) -> Judgement {
    let beside_redis = |pipeline: &str, least: f64| {
        let mut ratios = Vec::new();
        for (_, name, cpu_name) in &KINDS[..2] {
            let at = |measure: &str, contender: &str| findings.median(measure, contender, Some(pipeline));
            if let Some((ours, its)) = at(name, OURS).zip(at(name, "redis")) {
                ratios.push(((*name).to_owned(), ours / its));
            }
            if let Some((ours, its)) = at(cpu_name, OURS).zip(at(cpu_name, "redis")) {
                ratios.push(((*cpu_name).to_owned(), its / ours));
            }
        }
        Judgement::at_least(least, &format!("ours / Redis at pipeline {pipeline}"), &ratios)
    };
    beside_redis("1", 1.0).and(beside_redis("16", 2.0))
}
