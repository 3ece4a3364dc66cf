//! Lists, sets, streams, scripts and messages beside Redis with an append-only file: CPU time per
//! request, and memory per element.
//!
//! ```text
//!   per round: fresh servers ─► LPUSH ─► LPOP ─► SADD ─► …    at pipelines of 16 and 1;
//!                               each loop ours, then Redis     ratio of a round: Redis / ours
//! ```
//!
//! | file | content |
//! | --- | --- |
//! | here | the loops, the ratios and the aims |
//! | `request_family.rs` | the requests and their replies |
//! | `subscribers.rs` | the subscribers that receive published messages |
//! | `element_memory.rs` | the memory of an element |

mod element_memory;
mod request_family;
mod subscribers;

use super::server_under_test::{self, MANY_CONNECTIONS, ServerSelection, ServerUnderTest, measure_loop};
use super::{count, cpu, pipelines, rate, requests};
use crate::Result;
use crate::experiment::findings::MeasureSpec;
use crate::experiment::scratch::Scratch;
use crate::experiment::{Bench, Experiment, Findings, Judgement};
use crate::keyset::SeededRandom;
use crate::result::AxisPoint;
use crate::rival::server::{OURS, REDIS};
use request_family::{FamilyRequest, RequestFamily};
use subscribers::Subscribers;

const DEPTHS: [usize; 2] = [16, 1];

/// A message to a hundred subscribers takes as long as this many other requests.
const MANY_MESSAGES_ONE_IN: usize = 20;

/// The number of servers with elements at once.
const SERVERS: u64 = 2;
/// The bytes of a key or an element.
const ELEMENT_BYTES: u64 = 16;

pub static FAMILIES: Experiment = Experiment {
    name: "server-families",
    title: "Lists, sets, streams, scripts and messages: CPU time and memory of one worker on one \
            core, beside Redis",
    source: "this project's aims",
    claim: "Redis with its log synced every second takes 1.5 times the CPU time of ours at buffered \
            for each request at pipeline 16, 1.1 times at 1, and as much for a script at 1; no \
            element of 16 bytes takes more memory than in Redis",
    memory: |plan| {
        let row = server_under_test::row_bytes(ELEMENT_BYTES, ELEMENT_BYTES);
        // Keys, members, and the entries of lists and streams at most.
        let rows =
            2 * count(plan) + pipelines(plan, &DEPTHS).iter().map(|&it| requests(plan, it)).sum::<usize>();
        Ok(SERVERS * rows as u64 * row)
    },
    steps: |plan| {
        let loops = RequestFamily::MEASURED.len() * pipelines(plan, &DEPTHS).len();
        element_memory::KINDS.len() + plan.rounds * (1 + loops)
    },
    run,
    judge,
};

fn run(bench: &mut Bench) -> Result<()> {
    bench.set("keys, elements", count(&bench.plan));
    let scratch = bench.scratch()?;
    element_memory::measure(bench, &scratch)?;
    (0..bench.plan.rounds).try_for_each(|round| run_round(bench, &scratch, round))?;
    add_ratios(&mut bench.findings, &pipelines(&bench.plan, &DEPTHS));
    Ok(())
}

/// Starts empty servers. The folder outlives them.
fn start(bench: &mut Bench, scratch: &Scratch, connections: usize) -> Result<Vec<ServerUnderTest<'static>>> {
    let wanted = ServerSelection::new(|can| can.families, "these requests");
    server_under_test::start_empty(bench, scratch, &ServerSelection { connections, logs: true, ..wanted })
}

/// Runs all loops on fresh servers, so that each round does the same work.
fn run_round(bench: &mut Bench, scratch: &Scratch, round: usize) -> Result<()> {
    let mut targets = start(bench, scratch, MANY_CONNECTIONS)?;
    targets.iter_mut().try_for_each(|target| RequestFamily::prepare(target.client()))?;
    let mut random = SeededRandom::new(bench.plan.seed.wrapping_add(round as u64));
    let mut members = vec![false; count(&bench.plan)];
    let mut entries = 0;
    for family in RequestFamily::MEASURED {
        for pipeline in pipelines(&bench.plan, &DEPTHS) {
            bench.step(&format!("round {}, {} at pipeline {pipeline}", round + 1, family.name()));
            let one_in = if family.subscribers() > 1 { MANY_MESSAGES_ONE_IN } else { 1 };
            let asked = requests(&bench.plan, pipeline).div_ceil(one_in);
            let asked = family.requests(asked, &mut members, &mut random);
            if family == RequestFamily::StreamAdd {
                entries += asked.len();
            }
            for target in &mut targets {
                loop_of(bench, target, family, pipeline, &asked)?;
            }
        }
    }
    let members = members.iter().filter(|&&present| present).count();
    // Every pushed element has been popped.
    let lengths = [0, members, entries];
    targets.iter_mut().try_for_each(|target| RequestFamily::check_lengths(target.client(), lengths))
}

/// Runs one loop of one server.
fn loop_of(
    bench: &mut Bench,
    target: &mut ServerUnderTest<'_>,
    family: RequestFamily,
    pipeline: usize,
    asked: &[FamilyRequest],
) -> Result<()> {
    let (name, at) = (family.name(), AxisPoint::name("request", &family.name()));
    let (rate_name, cpu_name) = (format!("requests, pipeline {pipeline}"), cpu_measure(pipeline));
    let mut subscribers = Subscribers::connect(target.address(), family.subscribers())?;
    target.client().begin(&format!("{name}, pipeline {pipeline}"), pipeline);
    let places = (rate(&rate_name), cpu(&cpu_name));
    measure_loop(bench, target, asked.len(), places, &at, |target| {
        ask(target, family, pipeline, asked, &mut subscribers)
    })?;
    subscribers.unsubscribe()
}

/// Sends all requests, each element's on one connection.
fn ask(
    target: &mut ServerUnderTest<'_>,
    family: RequestFamily,
    pipeline: usize,
    asked: &[FamilyRequest],
    subscribers: &mut Subscribers,
) -> Result<()> {
    let client = target.client();
    let connections = client.connections();
    // About a pipeline of each connection.
    for some in asked.chunks(pipeline * connections) {
        for &request in some {
            let connection = request.number as usize % connections;
            client.ask_pattern(connection, |out, expected| family.ask(request, out, expected))?;
        }
        subscribers.read_arrived()?;
    }
    client.finish()?;
    subscribers.read_all(asked.len())
}

fn cpu_measure(pipeline: usize) -> String {
    format!("CPU, pipeline {pipeline}")
}

fn ratio_measure(pipeline: usize) -> String {
    format!("CPU, Redis / ours, pipeline {pipeline}")
}

/// Adds the ratios of the CPU times of each round.
fn add_ratios(findings: &mut Findings, pipelines: &[usize]) {
    for (&pipeline, family) in
        pipelines.iter().flat_map(|at| RequestFamily::MEASURED.map(|family| (at, family)))
    {
        let (name, measure) = (family.name(), ratio_measure(pipeline));
        let rounds =
            |who: &str| findings.cell(&cpu_measure(pipeline), who, Some(&name)).map(|it| it.rounds.clone());
        let Some((theirs, ours)) = rounds(REDIS).zip(rounds(OURS)) else { continue };
        let place = MeasureSpec::more(&measure, "ratio");
        for (theirs, ours) in theirs.into_iter().zip(ours) {
            findings.add(place, OURS, Some(&AxisPoint::name("request", &name)), theirs / ours);
        }
    }
}

/// Depths, whether the aim is for scripts (`None`: for all requests), and the least ratio.
const AIMS: [(usize, Option<bool>, f64); 3] = [(16, None, 1.5), (1, Some(false), 1.1), (1, Some(true), 1.0)];

fn judge(findings: &Findings) -> Judgement {
    let cpu = AIMS.map(|(pipeline, script, least)| {
        let concerned = RequestFamily::MEASURED
            .into_iter()
            .filter(|&family| script.is_none_or(|script| script == (family == RequestFamily::Script)));
        let ratio = |family: RequestFamily| {
            let name = family.name();
            let ratio = findings.summary(&ratio_measure(pipeline), OURS, Some(&name))?;
            Some((format!("{name} ({:.2} to {:.2})", ratio.least, ratio.greatest), ratio.median))
        };
        let ratios: Vec<_> = concerned.filter_map(ratio).collect();
        Judgement::at_least(least, &format!("CPU time, Redis / ours at pipeline {pipeline}"), &ratios)
    });
    Judgement::each_of(cpu, "not measured").alongside(element_memory::judge(findings, REDIS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    #[test]
    fn ours_is_judged_by_the_ratios_of_rounds() {
        let mut findings = Findings::default();
        assert_eq!(judge(&findings).answers(), [CannotBeTested; 4]);
        for (pipeline, family, theirs) in [
            (16, RequestFamily::ListPush, [1.6, 3.0, 1.4]),
            (1, RequestFamily::ListPush, [1.0, 2.0, 1.05]),
            (1, RequestFamily::Script, [1.0, 2.0, 1.05]),
        ] {
            let at = AxisPoint::name("request", &family.name());
            // A slow machine in the second round slows both.
            for (ours, theirs) in [1.0, 2.0, 1.0].into_iter().zip(theirs) {
                findings.add(cpu(&cpu_measure(pipeline)), OURS, Some(&at), ours);
                findings.add(cpu(&cpu_measure(pipeline)), REDIS, Some(&at), theirs);
            }
        }
        add_ratios(&mut findings, &DEPTHS);
        assert_eq!(judge(&findings).answers(), [Holds, DoesNotHold, Holds, CannotBeTested]);
        assert!(judge(&findings).why.contains("LPUSH (1.40 to 1.60): 1.50"), "{:?}", judge(&findings));
    }
}
