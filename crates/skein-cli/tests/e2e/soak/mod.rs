//! The soak: a server under a mixed load, with full memory, killed and restarted all the time.
//!
//! ```text
//!   round:   start ── every worker checks all its keys ── load, replies are checked ── kill -9
//!            ── skein check. Eviction policy and durability alternate. A round takes 20 to 60 s,
//!            every fifth one a sixth of the run.
//! ```
//!
//! The load has strings, numbers, hashes, sets, sorted sets, lists, streams with a group,
//! transactions and scripts. Beside it, messages are published and counted.
//!
//! Each worker is an oracle of its own keys. After a kill, the server's data must be the state of
//! one moment of the worker's history: at `sync` not before the last acknowledgement, at `buffered`
//! not long before it. For each key, the worker knows whether eviction or expiry may have removed
//! it.
//!
//! `.ci/soak [MINUTES [ENGINE...]]` runs it, not `cargo test`. The disk engine
//! (`SKEIN_TEST_ENGINE`) evicts no keys, and its limit is a cache that holds a tenth of them. A
//! seed repeats the plan: the sequence of requests, the policies, and the moments of kills, but not
//! the machine's timing. Read `model` first, then `step`, `write` and `queue`, then `worker`.

mod generator;
mod measure;
mod messages;
mod model;
mod queue;
mod step;
mod worker;
mod write;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{E2eRandom, SkeinServe, assert_sound, disk_trie};
use measure::{MonitoredServer, SoakMonitor, SoakTally};
use model::EvictionPolicy;
use worker::{CheckSummary, SoakTerms, SoakWorker};

/// The number of connections that load.
const WORKERS: usize = 4;
const POLICIES: [(EvictionPolicy, &str); 3] = [
    (EvictionPolicy::VolatileTtl, "volatile-ttl"),
    (EvictionPolicy::AllKeysLru, "allkeys-lru"),
    (EvictionPolicy::NoEviction, "noeviction"),
];
/// Every n-th server lives long: slow growth does not show in those that are killed soon.
const LONG_LIVED: usize = 5;
/// A shorter run says nothing about growth: it has too few samples, and memory is still filling.
const LONG_ENOUGH: Duration = Duration::from_secs(1200);

/// The plan of one round.
#[derive(Debug, Clone, Copy)]
struct SoakRound {
    policy: (EvictionPolicy, &'static str),
    level: &'static str,
    /// Servers before it that are killed while they recover, each after this many milliseconds.
    stillborn: [Option<u64>; 2],
    lasts: Duration,
    /// The kill follows this long after the start of a checkpoint.
    in_checkpoint: Option<Duration>,
}

impl SoakRound {
    fn draw(number: usize, random: &mut E2eRandom) -> Self {
        let millis = |random: &mut E2eRandom, below| Duration::from_millis(random.below(below));
        // The last policy evicts no keys.
        let policies = if disk_trie().is_some() { &POLICIES[POLICIES.len() - 1..] } else { &POLICIES };
        Self {
            policy: policies[number % policies.len()],
            level: if (number / policies.len()).is_multiple_of(2) { "buffered" } else { "sync" },
            stillborn: [(); 2].map(|()| (random.below(3) == 0).then(|| random.below(1500))),
            lasts: if number % LONG_LIVED == LONG_LIVED - 1 {
                length() / 6
            } else {
                Duration::from_secs(20) + millis(random, 40_000)
            },
            in_checkpoint: (random.below(3) == 0).then(|| millis(random, 500)),
        }
    }

    fn terms(&self) -> SoakTerms {
        SoakTerms { policy: self.policy.0, sync: self.level == "sync" }
    }

    fn options(&self) -> [&'static str; 12] {
        let (memory, log) = if disk_trie().is_some() { ("32m", "32m") } else { ("256m", "128m") };
        [
            "--durability",
            self.level,
            "--max-memory",
            memory,
            "--max-memory-policy",
            self.policy.1,
            "--checkpoint-log-size",
            log,
            "--log-segment-size",
            "16m",
            "--workers",
            "2",
        ]
    }
}

fn length() -> Duration {
    let minutes = std::env::var("SKEIN_SOAK_MINUTES").ok().and_then(|text| text.parse().ok());
    Duration::from_secs_f64(minutes.unwrap_or(30.0) * 60.0)
}

#[test]
#[ignore = "it takes half an hour: .ci/soak"]
fn nothing_is_lost_and_memory_stays_flat() {
    let mut random = E2eRandom::seeded();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tally = Arc::new(SoakTally::default());
    let worker = |number| SoakWorker::new(number, random.next(), tally.clone());
    let mut workers: Vec<SoakWorker> = (0..WORKERS).map(worker).collect();
    let mut monitor = SoakMonitor::new(length());
    let mut last: Option<(SoakRound, Instant)> = None;
    for number in 0.. {
        let round = SoakRound::draw(number, &mut random);
        for after in round.stillborn.into_iter().flatten() {
            SkeinServe::start_and_kill(folder.path(), &round.options(), Duration::from_millis(after));
            monitor.count("kills during recovery", 1);
        }
        let server = SkeinServe::start(folder.path(), &round.options());
        check_all(&mut workers, &server, last, round, &mut monitor);
        if monitor.left() < Duration::from_secs(5) {
            server.stop();
            last = Some((round, Instant::now()));
            break;
        }
        let killed;
        (workers, killed) = load(workers, server, folder.path(), round, &mut monitor, &tally);
        assert_sound(folder.path());
        last = Some((round, killed));
    }
    // After a clean stop.
    assert_sound(folder.path());
    let round = last.expect("there was a round").0;
    let server = SkeinServe::start(folder.path(), &round.options());
    check_all(&mut workers, &server, last, round, &mut monitor);
    server.stop();
    println!("\n{}", monitor.table(&tally));
    let growth = monitor.growth();
    assert!(growth.is_empty() || length() < LONG_ENOUGH, "resident memory grows: {growth:?}");
}

/// Lets every worker check all its keys, in parallel.
fn check_all(
    workers: &mut [SoakWorker],
    server: &SkeinServe,
    last: Option<(SoakRound, Instant)>,
    round: SoakRound,
    monitor: &mut SoakMonitor,
) {
    let (before, killed) = last.map_or((round, Instant::now()), |last| last);
    let results: Vec<Result<CheckSummary, String>> = thread::scope(|scope| {
        let check = |worker| {
            let mut client = server.client();
            let worker: &mut SoakWorker = worker;
            scope.spawn(move || worker.check(&mut client, before.terms(), round.terms(), killed))
        };
        let threads: Vec<_> = workers.iter_mut().map(check).collect();
        threads.into_iter().map(|thread| thread.join().expect("a check ends")).collect()
    });
    let mut keys = 0;
    for result in results {
        let checked = result.unwrap_or_else(|wrong| panic!("after a kill at {}: {wrong}", before.level));
        keys += checked.keys as u64;
        monitor.count("acknowledged at buffered and lost", checked.lost as u64);
        monitor.worst("acknowledged so long before the kill and lost, ms", checked.window.as_millis() as u64);
    }
    monitor.count("keys checked after restarts", keys);
}

/// Loads the server and kills it. Returns the workers, and the time of the kill.
fn load(
    workers: Vec<SoakWorker>,
    server: SkeinServe,
    folder: &Path,
    round: SoakRound,
    monitor: &mut SoakMonitor,
    tally: &SoakTally,
) -> (Vec<SoakWorker>, Instant) {
    let stop = AtomicBool::new(false);
    let lasts = round.lasts.min(monitor.left());
    let measured = MonitoredServer {
        process: server.process(),
        folder,
        policy: round.policy.0,
        level: round.level,
        tally,
    };
    monitor.count("kills", 1);
    let mut received = 0;
    let watcher = &mut *monitor;
    let loaded = thread::scope(|scope| {
        let stop = &stop;
        let client = server.client();
        let watching = scope.spawn(move || watcher.watch(client, measured, stop));
        let load = |mut worker: SoakWorker| {
            let client = server.client();
            scope.spawn(move || {
                worker.run(client, round.terms(), stop);
                worker
            })
        };
        let messages = messages::start(scope, || server.client());
        let threads: Vec<_> = workers.into_iter().map(load).collect();
        let ends = Instant::now() + lasts;
        // A worker that ends by itself has found an error.
        let has_ended = || {
            threads.iter().any(thread::ScopedJoinHandle::is_finished)
                || messages.iter().any(thread::ScopedJoinHandle::is_finished)
        };
        while Instant::now() < ends && !has_ended() {
            thread::sleep(Duration::from_millis(20));
        }
        if let Some(after) = round.in_checkpoint {
            let begun = server.client().call(&[b"BGSAVE"]);
            begun.expect("the server answers");
            thread::sleep(after);
        }
        let killed = Instant::now();
        server.kill();
        stop.store(true, Ordering::Relaxed);
        watching.join().expect("a monitor ends");
        for thread in messages {
            received += thread.join().expect("a message was lost or repeated; it said which");
        }
        (
            threads
                .into_iter()
                .map(|thread| thread.join().expect("a worker found something wrong; it said what"))
                .collect(),
            killed,
        )
    });
    monitor.count("messages published and received", received);
    loaded
}
