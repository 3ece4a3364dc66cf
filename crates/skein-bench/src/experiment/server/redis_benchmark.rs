//! `BitBase`'s section 4.5: our server over the disk engine and Redis, both logging, measured by
//! Redis' own `redis-benchmark`.
//!
//! Servers run on one core and the client on another, as in the other experiments here. Only one
//! server is asked at a time. `redis-benchmark` does not check values, but errors end the run.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use super::server_under_test::{CLIENT_CORE, launch, row_bytes};
use super::{MANY_CONNECTIONS, REQUESTS, cpu, pipelines, rate};
use crate::experiment::findings::MeasureSpec;
use crate::experiment::setting::CONNECTIONS;
use crate::experiment::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::result::AxisPoint;
use crate::rival::server::{
    self, BenchServerProcess, DISK, OURS, RegisteredServer, RunningServer, ServerLaunch, free_address,
    version,
};
use crate::sys::{on_path, pinned};
use crate::{Error, Result};

/// The paper sends one request at a time; today's clients pipeline.
const DEPTHS: [usize; 2] = [1, 16];
const CLIENT: &str = "redis-benchmark";
const REDIS: &str = "redis";
/// The servers, in the order of their turns.
const SERVERS: [&str; 3] = [DISK, OURS, REDIS];

/// The paper's key space and value size.
const KEYS: usize = 100_000;
const VALUE_BYTES: usize = 4;
/// The requests per key that fill the key space before the clock starts.
const FILL: usize = 10;

/// The client's names of its tests, with our measures.
const TESTS: [(&str, MeasureSpec<'_>, MeasureSpec<'_>); 2] =
    [("set", rate("SET"), cpu("SET, CPU")), ("get", rate("GET"), cpu("GET, CPU"))];

fn keys(plan: &BenchPlan) -> usize {
    plan.count.unwrap_or(KEYS)
}

/// Returns the number of requests in a loop: four times as many in deep pipelines.
fn requests(plan: &BenchPlan, pipeline: usize) -> usize {
    let shallow = plan.size.pick([100_000, 200_000, 500_000, 1_000_000]).min(10 * keys(plan));
    plan.setting(&REQUESTS, if pipeline < 8 { shallow } else { 4 * shallow })
}

pub static EXPERIMENT: Experiment = Experiment {
    name: "bitbase-redis",
    title: "SET and GET of 4-byte values over 100,000 keys by redis-benchmark: our server over the \
            disk engine, beside Redis with its append-only file",
    source: "Xie (BitBase), section 4.5",
    claim: "our server over the linked trie on disk answers at least as many SETs and GETs per \
            second as Redis with appendfsync everysec (the paper: comparable)",
    memory: |plan| Ok(3 * keys(plan) as u64 * row_bytes(16, VALUE_BYTES as u64) + (512 << 20)),
    steps: |plan| plan.rounds * pipelines(plan, &DEPTHS).len() * TESTS.len() + 1,
    run,
    judge,
};

/// A running server.
struct BenchmarkServer {
    name: &'static str,
    process: BenchServerProcess,
}

fn run(bench: &mut Bench) -> Result<()> {
    let Some(client) = on_path(CLIENT) else {
        bench.findings.absent(CLIENT, "not installed; Debian's package redis-tools has it".to_owned());
        return Ok(());
    };
    bench.set("client", version(&client).unwrap_or_else(|| CLIENT.to_owned()));
    bench.set("keys", keys(&bench.plan));
    bench.step("starting and loading the servers");
    // The folder outlives the servers.
    let scratch = bench.scratch()?;
    let mut targets = Vec::new();
    for entry in server::all().filter(|entry| SERVERS.contains(&entry.name)) {
        let folder = scratch.fresh(entry.name)?;
        if let Some(mut target) = start(bench, entry, &folder)? {
            target.ask(&client, &bench.plan, "set", 64, FILL * keys(&bench.plan))?;
            targets.push(target);
        }
    }
    if targets.is_empty() {
        return Err(Error::Input(format!(
            "no server is left to measure; choose from: {}",
            SERVERS.join(", ")
        )));
    }
    for round in 0..bench.plan.rounds {
        for pipeline in pipelines(&bench.plan, &DEPTHS) {
            for (test, rate, cpu) in TESTS {
                bench.step(&format!("round {}, {test} at pipeline {pipeline}", round + 1));
                for target in &mut targets {
                    target.measure(bench, &client, test, pipeline, (rate, cpu))?;
                }
            }
        }
    }
    Ok(())
}

/// Starts a server, if the user wants it and it is installed.
fn start(
    bench: &mut Bench,
    entry: &'static RegisteredServer,
    folder: &Path,
) -> Result<Option<BenchmarkServer>> {
    if !bench.plan.wants(entry.name) {
        return Ok(None);
    }
    let keys = keys(&bench.plan) as u64;
    let start = ServerLaunch {
        address: free_address()?,
        folder,
        logs: true,
        bytes: keys * (16 + VALUE_BYTES as u64),
        keys,
        index: entry.index,
    };
    Ok(launch(bench, entry, &start)?.map(|process| BenchmarkServer { name: entry.name, process }))
}

impl BenchmarkServer {
    /// Runs one loop; records requests per second, as the client counts them, and the server's CPU
    /// time per request.
    fn measure(
        &mut self,
        bench: &mut Bench,
        client: &Path,
        test: &str,
        pipeline: usize,
        (rate, cpu): (MeasureSpec<'_>, MeasureSpec<'_>),
    ) -> Result<()> {
        let requests = requests(&bench.plan, pipeline);
        let before = self.process.cpu_seconds()?;
        let per_second = self.ask(client, &bench.plan, test, pipeline, requests)?;
        let cpu_seconds = self.process.cpu_seconds()? - before;
        let (at, requests) = (AxisPoint::number("pipeline", pipeline as f64), requests as f64);
        bench.add(rate, self.name, Some(&at), per_second / 1e3)?;
        bench.add(cpu, self.name, Some(&at), cpu_seconds / requests * 1e6)
    }

    /// Returns the requests per second of one of the client's tests, for this pipeline depth and
    /// number of requests.
    fn ask(
        &mut self,
        client: &Path,
        plan: &BenchPlan,
        test: &str,
        pipeline: usize,
        requests: usize,
    ) -> Result<f64> {
        let done = ask(client, self.process.address(), plan, test, pipeline, requests);
        done.map_err(|error| self.process.explain(error))
    }
}

fn ask(
    client: &Path,
    address: SocketAddr,
    plan: &BenchPlan,
    test: &str,
    pipeline: usize,
    requests: usize,
) -> Result<f64> {
    let numbers = [
        ("-p", usize::from(address.port())),
        ("-c", plan.setting(&CONNECTIONS, MANY_CONNECTIONS)),
        ("-n", requests),
        ("-P", pipeline),
        ("-r", keys(plan)),
        ("-d", VALUE_BYTES),
    ];
    let mut command = Command::new(client);
    // Releases before 7.0 continue after errors, and report them only with `-e`.
    command.args(["-h", "127.0.0.1", "-t", test, "--csv", "-e"]).stdin(Stdio::null());
    for (name, number) in numbers {
        command.args([name, &number.to_string()]);
    }
    let failed = |what: String| Error::Failed(format!("{CLIENT} -t {test}: {what}"));
    let output = pinned(CLIENT_CORE, || command.output())?.map_err(|error| failed(error.to_string()))?;
    let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() || said.contains("Error") || wrong.contains("Error") {
        return Err(failed(format!("it ended ({}): {} {}", output.status, said.trim(), wrong.trim())));
    }
    requests_per_second(&said, test).ok_or_else(|| failed(format!("it said: {}", said.trim())))
}

/// Parses the rate of a test in the client's table: lines of `"SET","12345.67",...`.
fn requests_per_second(table: &str, test: &str) -> Option<f64> {
    let line = table.lines().find_map(|line| {
        let rest = line.strip_prefix('"')?;
        let (name, rest) = rest.split_once("\",\"")?;
        name.eq_ignore_ascii_case(test).then_some(rest)
    })?;
    line.split('"').next()?.parse().ok()
}

fn judge(findings: &Findings) -> Judgement {
    let judged = TESTS.map(|(_, rate, _)| {
        let ratios = findings.ratios(rate.measure, DISK, REDIS);
        Judgement::at_least(1.0, &format!("{}, {DISK} / {REDIS}, at pipeline", rate.measure), &ratios)
    });
    Judgement::each_of(judged, "not measured")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    #[test]
    fn the_clients_table_is_read() {
        let table = "\"test\",\"rps\",\"avg_latency_ms\"\n\"SET\",\"65789.48\",\"0.386\"\n";
        assert_eq!(requests_per_second(table, "set"), Some(65_789.48));
        assert_eq!(requests_per_second(table, "get"), None);
        assert_eq!(requests_per_second("\"SET\",\"fast\"", "set"), None);
    }

    #[test]
    fn sets_and_gets_are_judged_by_themselves() {
        let mut findings = Findings::default();
        assert_eq!(judge(&findings).answers(), [CannotBeTested; 2]);
        for ((_, rate, _), ours) in TESTS.into_iter().zip([1.1, 0.9]) {
            let at = AxisPoint::number("pipeline", 1.0);
            findings.add(rate, DISK, Some(&at), ours);
            findings.add(rate, OURS, Some(&at), 2.0);
            findings.add(rate, REDIS, Some(&at), 1.0);
        }
        assert_eq!(judge(&findings).answers(), [Holds, DoesNotHold]);
    }
}
