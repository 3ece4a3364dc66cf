//! The measurements of a soak: a line every few seconds, and a table at the end.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use skeindb::client::Client;

use super::model::EvictionPolicy;

/// The time between two lines.
const INTERVAL: Duration = Duration::from_secs(10);
/// A server is measured only after this time: before, it is not in its steady state.
const WARM: Duration = Duration::from_secs(15);
/// A server that lived this long is evaluated in quarters of its own.
const LONG_LIFE: Duration = Duration::from_secs(120);
/// How much resident memory may grow from the second quarter to the last, in percent.
const GROWTH: u64 = 5;
/// The greatest allowed size of the logs' buffers: twice the measured size, and far less than with
/// a leak.
const LOG_BUFFERS_MAX_MB: u64 = 160;
/// Their name in the table.
const LOG_BUFFERS: &str = "buffers of the logs, MB";

/// The common counters of the workers.
#[derive(Debug, Default)]
pub struct SoakTally {
    requests: AtomicU64,
    refused: AtomicU64,
    /// Microseconds from a pipeline to its last reply.
    latencies: Mutex<Vec<u32>>,
}

impl SoakTally {
    pub fn add(&self, requests: usize, took: Duration) {
        self.requests.fetch_add(requests as u64, Ordering::Relaxed);
        let micros = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        self.latencies.lock().expect("no worker panicked").push(micros);
    }

    /// Counts a write that was rejected for lack of memory.
    pub fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }
}

/// Similar servers: an eviction policy, and a durability level, on which the size of the logs
/// depends.
type ServerSetting = (EvictionPolicy, &'static str);

/// The measurements of one moment.
#[derive(Debug, Clone)]
struct SoakSample {
    /// The time since the soak began.
    at: Duration,
    kind: ServerSetting,
    requests_per_s: u64,
    /// Without the buffers of the logs: these grow in a server's first minutes up to a bound of
    /// their own, and servers live for different times.
    resident: u64,
    /// The memory that counts for the limit.
    used: u64,
    /// The size of the data folder in bytes.
    folder: u64,
    latencies: [u32; 3],
}

/// A server that lived long.
#[derive(Debug)]
struct ServerLife {
    name: String,
    /// The medians of resident memory in its second and its last quarter.
    resident: (u64, u64),
}

/// Measures servers, one after the other.
#[derive(Debug)]
pub struct SoakMonitor {
    begun: Instant,
    length: Duration,
    samples: Vec<SoakSample>,
    lives: Vec<ServerLife>,
    /// Sums over servers that have ended.
    totals: BTreeMap<&'static str, u64>,
    worst: BTreeMap<&'static str, u64>,
}

/// Fields of `INFO` that count from the start of a server.
const COUNTS: [&str; 3] = ["evicted_keys", "expired_keys", "checkpoints"];

/// The server that is being measured.
#[derive(Debug, Clone, Copy)]
pub struct MonitoredServer<'a> {
    pub process: u32,
    pub folder: &'a Path,
    pub policy: EvictionPolicy,
    pub level: &'static str,
    pub tally: &'a SoakTally,
}

impl SoakMonitor {
    /// Returns a monitor for a soak that begins now and takes `length`.
    pub fn new(length: Duration) -> Self {
        let begun = Instant::now();
        let (totals, worst) = (BTreeMap::new(), BTreeMap::new());
        Self { begun, length, samples: Vec::new(), lives: Vec::new(), totals, worst }
    }

    pub fn left(&self) -> Duration {
        self.length.saturating_sub(self.begun.elapsed())
    }

    /// Measures a server until it is gone or `stop` is set.
    pub fn watch(&mut self, mut client: Client, of: MonitoredServer<'_>, stop: &AtomicBool) {
        let (started, before) = (Instant::now(), self.samples.len());
        let mut last: BTreeMap<String, String> = BTreeMap::new();
        let (mut next, mut counted) =
            (started + INTERVAL, (started, of.tally.requests.load(Ordering::Relaxed)));
        while !stop.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(250));
            // Counters are lost with the server. So they are read often, but printed rarely.
            match client.call(&[b"INFO"]) {
                Ok(reply) => last = fields(&String::from_utf8_lossy(reply.bytes().unwrap_or_default())),
                Err(_) => break,
            }
            if Instant::now() >= next {
                next += INTERVAL;
                let requests = of.tally.requests.load(Ordering::Relaxed);
                let millis = u64::try_from(counted.0.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
                let rate = (requests - counted.1) * 1000 / millis;
                counted = (Instant::now(), requests);
                self.sample(&last, of, rate, started);
            }
        }
        for name in COUNTS {
            *self.totals.entry(name).or_default() += number(&last, name);
        }
        if started.elapsed() >= LONG_LIFE {
            self.note_life(before, of, started.elapsed());
        }
    }

    /// Records the server to which the samples from `before` on belong.
    fn note_life(&mut self, before: usize, of: MonitoredServer<'_>, lasted: Duration) {
        let samples = &self.samples[before..];
        let quarter = |quarter: usize| {
            let within = samples.len() * quarter / 4..samples.len() * (quarter + 1) / 4;
            median(samples[within].iter().map(|sample| sample.resident).collect())
        };
        if let (Some(second), Some(last)) = (quarter(1), quarter(3)) {
            let name = format!("one server of {} s, {:?}, {}", lasted.as_secs(), of.policy, of.level);
            self.lives.push(ServerLife { name, resident: (second, last) });
        }
    }

    fn sample(
        &mut self,
        info: &BTreeMap<String, String>,
        of: MonitoredServer<'_>,
        rate: u64,
        started: Instant,
    ) {
        let mut latencies = std::mem::take(&mut *of.tally.latencies.lock().expect("no worker panicked"));
        latencies.sort_unstable();
        let at = |part: usize| {
            latencies
                .get((latencies.len() * part / 1000).min(latencies.len().max(1) - 1))
                .copied()
                .unwrap_or(0)
        };
        let log_buffers = number(info, "mem_aof_buffer");
        let sample = SoakSample {
            at: self.begun.elapsed(),
            kind: (of.policy, of.level),
            requests_per_s: rate,
            resident: number(info, "used_memory_rss").saturating_sub(log_buffers),
            used: number(info, "used_memory").saturating_sub(number(info, "mem_not_counted_for_evict")),
            folder: bytes_of(of.folder),
            latencies: [at(500), at(990), at(1000)],
        };
        let [p50, p99, max] = sample.latencies;
        let (threads, files) = (entries(of.process, "task"), entries(of.process, "fd"));
        let guard = number(info, "oldest_guard_ms");
        for (name, value) in [
            (LOG_BUFFERS, log_buffers / MEGABYTE),
            ("threads", threads),
            ("open files", files),
            ("oldest guard, ms", guard),
            ("data folder, MB", sample.folder / MEGABYTE),
            ("not yet freed, MB", number(info, "unreclaimed_bytes") / MEGABYTE),
            ("slowest pipeline, ms", u64::from(max) / 1000),
        ] {
            let worst = self.worst.entry(name).or_default();
            *worst = value.max(*worst);
        }
        println!(
            "{:5} s  {:?} {}  {rate} requests/s  pipelines p50 {p50} p99 {p99} max {max} us  resident {} MB and log buffers {} MB  used {} MB  held {} MB  not freed {} MB  \
             evicted {}  expired {}  refused {}  folder {} MB  behind checkpoint {} MB  checkpoints {}  files {files}  threads {threads}  guard {guard} ms",
            sample.at.as_secs(),
            of.policy,
            of.level,
            sample.resident / MEGABYTE,
            log_buffers / MEGABYTE,
            sample.used / MEGABYTE,
            number(info, "allocator_active") / MEGABYTE,
            number(info, "unreclaimed_bytes") / MEGABYTE,
            number(info, "evicted_keys"),
            number(info, "expired_keys"),
            of.tally.refused.load(Ordering::Relaxed),
            sample.folder / MEGABYTE,
            number(info, "log_bytes_since_checkpoint") / MEGABYTE,
            number(info, "checkpoints"),
        );
        if started.elapsed() >= WARM {
            self.samples.push(sample);
        }
    }

    /// Adds to a counter that the servers do not have.
    pub fn count(&mut self, name: &'static str, of: u64) {
        *self.totals.entry(name).or_default() += of;
    }

    /// Records the greatest value.
    pub fn worst(&mut self, name: &'static str, value: u64) {
        let worst = self.worst.entry(name).or_default();
        *worst = value.max(*worst);
    }

    /// Returns the figures, in the form of `docs/benchmarks/`.
    pub fn table(&self, tally: &SoakTally) -> String {
        let mut table = String::from(
            "| policy, durability | requests/s | p50, us | p99, us | used, MB | resident, MB: 2nd quarter | last quarter |\n",
        );
        table.push_str("| --- | --- | --- | --- | --- | --- | --- |\n");
        for kind in self.kinds() {
            let of: Vec<&SoakSample> = self.samples.iter().filter(|sample| sample.kind == kind).collect();
            let middle =
                |what: fn(&SoakSample) -> u64| median(of.iter().map(|sample| what(sample)).collect());
            let quarter = |quarter| {
                self.resident(kind, quarter).map_or("-".into(), |bytes| (bytes / MEGABYTE).to_string())
            };
            let (rate, used) =
                (middle(|sample| sample.requests_per_s), middle(|sample| sample.used / MEGABYTE));
            let (p50, p99) =
                (middle(|sample| sample.latencies[0].into()), middle(|sample| sample.latencies[1].into()));
            let text = |value: Option<u64>| value.map_or("-".into(), |value| value.to_string());
            let [rate, p50, p99, used] = [rate, p50, p99, used].map(text);
            let (second, last, (policy, level)) = (quarter(1), quarter(3), kind);
            writeln!(table, "| {policy:?}, {level} | {rate} | {p50} | {p99} | {used} | {second} | {last} |")
                .expect("a text takes all");
        }
        table.push_str("\n| resident, MB | 2nd quarter | last quarter |\n| --- | --- | --- |\n");
        for ServerLife { name, resident: (second, last) } in &self.lives {
            writeln!(table, "| {name} | {} | {} |", second / MEGABYTE, last / MEGABYTE)
                .expect("a text takes all");
        }
        table.push_str("\n| in all | |\n| --- | --- |\n");
        let requests = tally.requests.load(Ordering::Relaxed);
        let refused = tally.refused.load(Ordering::Relaxed);
        let own = [("requests", requests), ("writes refused for lack of memory", refused)];
        for (name, value) in own.into_iter().chain(self.totals.clone()) {
            writeln!(table, "| {name} | {value} |").expect("a text takes all");
        }
        table.push_str("\n| at most | |\n| --- | --- |\n");
        for (name, value) in &self.worst {
            writeln!(table, "| {name} | {value} |").expect("a text takes all");
        }
        table
    }

    /// Returns the distinct settings of the servers.
    fn kinds(&self) -> Vec<ServerSetting> {
        let mut kinds: Vec<ServerSetting> = Vec::new();
        for sample in &self.samples {
            if !kinds.contains(&sample.kind) {
                kinds.push(sample.kind);
            }
        }
        kinds
    }

    /// Returns the median of resident memory of servers with a setting in a quarter of the soak,
    /// counted from 0.
    fn resident(&self, kind: ServerSetting, quarter: u32) -> Option<u64> {
        let (from, to) = (self.length * quarter / 4, self.length * (quarter + 1) / 4);
        let in_it =
            self.samples.iter().filter(|sample| sample.kind == kind && (from..=to).contains(&sample.at));
        median(in_it.map(|sample| sample.resident).collect())
    }

    /// Returns where resident memory grew from the second quarter to the last, of the run by
    /// setting or of a long life, and whether the buffers of the logs exceeded their limit.
    pub fn growth(&self) -> Vec<String> {
        let run = |kind: ServerSetting| {
            let resident = (self.resident(kind, 1)?, self.resident(kind, 3)?);
            Some((format!("{:?}, {}", kind.0, kind.1), resident))
        };
        let runs = self.kinds().into_iter().filter_map(run);
        let lives = self.lives.iter().map(|life| (life.name.clone(), life.resident));
        let buffers = self.worst.get(LOG_BUFFERS).filter(|most| **most > LOG_BUFFERS_MAX_MB);
        runs.chain(lives)
            .filter(|&(_, (second, last))| last * 100 > second * (100 + GROWTH))
            .map(|(name, (second, last))| format!("{name}: from {second} to {last} bytes"))
            .chain(buffers.map(|most| format!("{LOG_BUFFERS}: {most}")))
            .collect()
    }
}

const MEGABYTE: u64 = 1_000_000;

fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

fn fields(info: &str) -> BTreeMap<String, String> {
    let pairs = info.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}

fn number(info: &BTreeMap<String, String>, name: &str) -> u64 {
    info.get(name).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Returns the number of entries of a folder of `/proc`; 0 if it does not exist.
fn entries(process: u32, of: &str) -> u64 {
    std::fs::read_dir(format!("/proc/{process}/{of}")).map_or(0, |entries| entries.count() as u64)
}

/// Returns the total size of the files in a folder and below.
fn bytes_of(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_of(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
