//! Servers: one worker of ours and other servers, each on the same core, asked in turn by a client
//! on another core.
//!
//! | file | experiment | content |
//! | --- | --- | --- |
//! | here | `server` | GET, SET, PING, MGET and MSET |
//! | `masstree_fig13.rs` | `masstree-fig13` | the systems and workloads of Masstree's section 7 |
//! | `wormhole_fig12.rs` | `wormhole-fig12` | large batches of lookups, a server per index |
//! | `cuckoo_fig13.rs` | `cuckoo-fig13` | ordered keys, a server per index, and Redis |
//! | `sorted_set_members.rs` | `server-sorted-set` | members of a sorted set, added and in ranges |
//! | `neighbour.rs` | `server-neighbour` | small reads beside a client that reads everything |
//! | `memory_by_kind/` | `server-memory` | memory of an item of each kind, with random keys |
//! | `families/` | `server-families` | lists, sets, streams, scripts and messages beside Redis |
//! | `redis_benchmark.rs` | `bitbase-redis` | the disk engine and Redis, by `redis-benchmark` |
//! | `expected_table.rs` | | keys, and the values that they must have now |
//! | `server_under_test.rs` | | a running server with its client and its table |
//! | `used_memory.rs` | | the memory that a server says it uses |
//!
//! A second measure beside requests per second is the CPU time of all the server's threads per
//! request: with two cores, the client is often the limit. Servers are idle while others are
//! measured.

pub mod cuckoo_fig13;
mod expected_table;
pub mod families;
pub mod masstree_fig13;
pub mod memory_by_kind;
pub mod neighbour;
pub mod redis_benchmark;
mod server_under_test;
pub mod sorted_set_members;
#[cfg(test)]
mod tests;
mod used_memory;
pub mod wormhole_fig12;

use super::findings::MeasureSpec;
use super::setting::{CONNECTIONS, PIPELINE, REQUESTS, VALUE_BYTES};
use super::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::Result;
use crate::keyset::PackedKeys;
use crate::result::AxisPoint;
use crate::rival::server::{EVERYSEC, OURS, ServerAbilities, TWO_WORKERS};
use crate::workload::requests::{RequestOp, ScriptRequest, uniform_of};
use expected_table::{ExpectedTable, ValueShape};
use server_under_test::{MANY_CONNECTIONS, ServerSelection, ServerUnderTest, measure};

/// Returns the bytes of a value.
fn value_bytes(plan: &BenchPlan) -> usize {
    plan.setting(&VALUE_BYTES, 64)
}

/// Returns the pipeline depths: the user's, or these.
fn pipelines(plan: &BenchPlan, own: &[usize]) -> Vec<usize> {
    plan.settings.get(&PIPELINE).map_or(own.to_vec(), |depth| vec![depth])
}

const DEPTHS: [usize; 3] = [1, 16, 100];

/// Requests for several keys are measured at this depth only.
const MANY_AT: usize = 16;
/// The keys of such a request.
const MANY: u8 = 10;

/// A kind of requests, with its measures.
struct RequestKind(RequestOp, LoopNames);

/// The names of a loop's measures: requests per second, the server's CPU time per request, and the
/// time within which 99 of 100 pipelines are answered.
type LoopNames = [&'static str; 3];

const KINDS: [RequestKind; 5] = [
    RequestKind(RequestOp::Get, ["GET", "GET, CPU", "GET, p99"]),
    RequestKind(RequestOp::Put, ["SET", "SET, CPU", "SET, p99"]),
    RequestKind(RequestOp::Ping, ["PING", "PING, CPU", "PING, p99"]),
    RequestKind(RequestOp::GetMany, ["MGET of 10", "MGET of 10, CPU", "MGET of 10, p99"]),
    RequestKind(RequestOp::PutMany, ["MSET of 10", "MSET of 10, CPU", "MSET of 10, p99"]),
];

/// The measure of the memory that a server gained per loaded key.
const MEMORY: MeasureSpec<'_> = MeasureSpec::less("memory", "B/key");

/// Returns the loops: kinds of requests, at depths.
fn cells(plan: &BenchPlan) -> Vec<(usize, &'static RequestKind)> {
    let pipelines = pipelines(plan, &DEPTHS);
    let at = |depth: usize| {
        KINDS.iter().filter(move |kind| depth == MANY_AT || !kind.is_many()).map(move |kind| (depth, kind))
    };
    pipelines.into_iter().flat_map(at).collect()
}

impl RequestKind {
    fn is_many(&self) -> bool {
        matches!(self.0, RequestOp::GetMany | RequestOp::PutMany)
    }

    /// Returns whether a server supports the request.
    fn suits(&self, can: ServerAbilities) -> bool {
        if self.is_many() { can.many } else { can.ping || self.0 != RequestOp::Ping }
    }

    /// Returns the number of keys of a request.
    fn each(&self) -> u8 {
        if self.is_many() { MANY } else { 1 }
    }
}

/// Returns a measure of requests per second.
const fn rate(measure: &str) -> MeasureSpec<'_> {
    MeasureSpec::more(measure, "kreq/s")
}

/// Returns a measure of the server's CPU time.
const fn cpu(measure: &str) -> MeasureSpec<'_> {
    MeasureSpec::less(measure, "us/req")
}

/// Returns the number of keys, the same on each connection.
fn count(plan: &BenchPlan) -> usize {
    let keys = plan.keys_or([100_000, 500_000, 1_000_000, 20_000_000]);
    keys.next_multiple_of(connections(plan))
}

fn connections(plan: &BenchPlan) -> usize {
    plan.setting(&CONNECTIONS, MANY_CONNECTIONS)
}

/// Returns the number of requests in a loop. Deep pipelines are so much faster that their loops
/// have four times as many.
fn requests(plan: &BenchPlan, pipeline: usize) -> usize {
    let shallow = plan.size.pick([20_000, 100_000, 200_000, 500_000]).min(4 * count(plan));
    plan.setting(&REQUESTS, if pipeline < 8 { shallow } else { 4 * shallow })
}

/// The number of servers with rows at once: ours with one worker and with two, memcached, Redis
/// with and without a log.
const SERVERS: u64 = 5;

/// The bytes of a key, with the client's bookkeeping.
const KEY_BYTES: u64 = 16 + 16;

pub static SERVER: Experiment = Experiment {
    name: "server",
    title: "GET, SET, PING, MGET and MSET: one worker on one core, beside other servers and the no-op server",
    source: "this project's aims",
    claim: "beside Redis without a log, ours at buffered answers GET and SET 1.1 times as fast at \
            pipeline 1, 2.5 times at 16 and 3 times at 100, MGET and MSET 3 times at 16, by CPU \
            time where the client is the limit; no p99 is longer; two workers take at most 1.15 \
            times the CPU time of one; a key takes at most 0.7 times the memory",
    memory: |plan| {
        let keys = count(plan) as u64;
        let asked = size_of::<ScriptRequest>()
            * pipelines(plan, &DEPTHS).iter().map(|&depth| requests(plan, depth)).max().unwrap_or(0);
        Ok(keys * (KEY_BYTES + SERVERS * server_under_test::row_bytes(16, value_bytes(plan) as u64))
            + asked as u64)
    },
    steps: |plan| plan.rounds * cells(plan).len() + 1,
    run,
    judge,
};

fn run(bench: &mut Bench) -> Result<()> {
    let keys = numbered("key", count(&bench.plan));
    bench.set("keys", keys.len());
    bench.set("value bytes", value_bytes(&bench.plan));
    let wanted = ServerSelection::new(|can| can.values, "these keys");
    let wanted = ServerSelection { noop: true, also: &[TWO_WORKERS, EVERYSEC], ..wanted };
    let table = ExpectedTable::new(&keys, ValueShape::Values(value_bytes(&bench.plan)))
        .on_connections(connections(&bench.plan));
    // The folder outlives the servers.
    let scratch = bench.scratch()?;
    let mut targets = server_under_test::start(bench, &scratch, &wanted, &table)?;
    add_loaded(bench, &targets, None, keys.len())?;
    for round in 0..bench.plan.rounds {
        for (number, (pipeline, kind)) in cells(&bench.plan).into_iter().enumerate() {
            bench.step(&format!("round {}, {} at pipeline {pipeline}", round + 1, kind.1[0]));
            let seed = bench.plan.seed.wrapping_add((round * KINDS.len() + number) as u64);
            let asked = requests(&bench.plan, pipeline) / usize::from(kind.each());
            let asked = uniform_of(kind.0, kind.each(), keys.len(), asked, seed);
            for target in targets.iter_mut().filter(|target| kind.suits(target.can)) {
                loop_of(bench, target, kind, pipeline, &asked)?;
            }
        }
    }
    Ok(())
}

/// Returns keys of this prefix and a number each, in ascending order.
fn numbered(prefix: &str, count: usize) -> PackedKeys {
    let mut keys = PackedKeys::default();
    (0..count).for_each(|n| keys.push(format!("{prefix}:{n:012}").as_bytes()));
    keys
}

/// Runs one loop of one server.
fn loop_of(
    bench: &mut Bench,
    target: &mut ServerUnderTest<'_>,
    kind: &RequestKind,
    pipeline: usize,
    asked: &[ScriptRequest],
) -> Result<()> {
    let at = AxisPoint::number("pipeline", pipeline as f64);
    let name = format!("{}, pipeline {pipeline}", kind.1[0]);
    measure_with_p99(bench, target, &name, asked, pipeline, kind.1, &at)
}

/// Runs one loop of one server and records all its measures.
fn measure_with_p99(
    bench: &mut Bench,
    target: &mut ServerUnderTest<'_>,
    name: &str,
    asked: &[ScriptRequest],
    pipeline: usize,
    [rate_name, cpu_name, p99_name]: LoopNames,
    at: &AxisPoint,
) -> Result<()> {
    let places = (rate(rate_name), cpu(cpu_name));
    let latency = measure(bench, target, name, asked, pipeline, places, at)?;
    bench.add(MeasureSpec::less(p99_name, "us"), target.name, Some(at), latency)
}

/// Records the memory that each server has gained per loaded key.
fn add_loaded(
    bench: &mut Bench,
    targets: &[ServerUnderTest<'_>],
    at: Option<&AxisPoint>,
    keys: usize,
) -> Result<()> {
    let loaded = targets.iter().filter_map(|target| Some((target.name, target.loaded_bytes?)));
    loaded.into_iter().try_for_each(|(name, bytes)| bench.add(MEMORY, name, at, bytes as f64 / keys as f64))
}

/// Depths, kinds of requests, and the least ratio of ours to Redis.
const AIMS: [(&str, &[usize], f64); 4] =
    [("1", &[0, 1], 1.1), ("16", &[0, 1], 2.5), ("100", &[0, 1], 3.0), ("16", &[3, 4], 3.0)];

fn judge(findings: &Findings) -> Judgement {
    let rates = AIMS.iter().map(|(pipeline, kinds, least)| {
        let what = format!("requests per CPU time, and per second, ours / Redis at pipeline {pipeline}");
        let measures = kinds.iter().flat_map(|&kind| {
            let [rate, cpu, _] = KINDS[kind].1;
            [
                compared(findings, cpu, pipeline, "redis", OURS),
                compared(findings, rate, pipeline, OURS, "redis"),
            ]
        });
        Judgement::at_least(*least, &what, &measures.flatten().collect::<Vec<_>>())
    });
    let everywhere = |name: usize, above: &'static str, below: &'static str| {
        let at =
            KINDS.iter().flat_map(move |kind| ["1", "16", "100"].map(|pipeline| (kind.1[name], pipeline)));
        at.filter_map(|(measure, pipeline)| compared(findings, measure, pipeline, above, below))
            .collect::<Vec<_>>()
    };
    let latency = Judgement::at_least(1.0, "p99, Redis / ours", &everywhere(2, "redis", OURS));
    let two =
        Judgement::at_least(1.0 / 1.15, "CPU time, one worker / two", &everywhere(1, OURS, TWO_WORKERS));
    let memory = |name: &str| findings.median(MEMORY.measure, name, None);
    let memory = memory("redis").zip(memory(OURS)).map(|(its, ours)| ("memory".to_owned(), its / ours));
    let memory = Judgement::at_least(1.0 / 0.7, "bytes of a key, Redis / ours", memory.as_slice());
    Judgement::each_of(rates.chain([latency, two, memory]), "not measured")
}

/// Returns one contender's figure divided by another's, at a depth.
fn compared(
    findings: &Findings,
    measure: &str,
    pipeline: &str,
    above: &str,
    below: &str,
) -> Option<(String, f64)> {
    let at = |contender: &str| findings.median(measure, contender, Some(pipeline));
    let (above, below) = at(above).zip(at(below))?;
    Some((format!("{measure} at {pipeline}"), above / below))
}
