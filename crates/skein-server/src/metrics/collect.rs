//! The metrics for Prometheus: names, units and values. `docs/monitoring.md` lists them.
//!
//! All values are read on request. Counters count from the server's start, regardless of CONFIG
//! RESETSTAT.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use crate::info::resident_bytes;
use crate::info::{REDIS_VERSION, cpu};
use crate::loading::Loading;
use crate::observe::KindTotals;
use crate::shared::ServerShared;
use skein_data::StoreStats;

/// The bounds of the histograms' buckets, as powers of two of nanoseconds: 1 µs to 17 s, each four
/// times the one before.
const BUCKET_BITS: [u32; 13] = [10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34];

/// Returns the registry of a server.
pub(super) fn registry(shared: &Arc<ServerShared>) -> Registry {
    let mut registry = Registry::with_prefix("skein");
    registry.register_collector(Box::new(ServingCollector(Arc::clone(shared))));
    registry
}

/// Returns the registry of a server that is still loading.
pub(super) fn loading_registry(loading: &Arc<Loading>) -> Registry {
    let mut registry = Registry::with_prefix("skein");
    registry.register_collector(Box::new(LoadingCollector(Arc::clone(loading))));
    registry
}

/// Returns all metrics in the text format of `OpenMetrics`.
pub(super) fn text(registry: &Registry) -> String {
    let mut text = String::new();
    if let Err(error) = prometheus_client::encoding::text::encode(&mut text, registry) {
        tracing::error!(%error, "metrics cannot be written");
    }
    text
}

#[derive(Debug)]
struct ServingCollector(Arc<ServerShared>);

#[derive(Debug)]
struct LoadingCollector(Arc<Loading>);

/// Writes metrics, one after the other.
struct MetricsEncoder<'e>(DescriptorEncoder<'e>);

/// The label of a metric and its value, if it has one.
type MetricLabel<'l> = Option<(&'static str, &'l str)>;

#[expect(clippy::cast_precision_loss, reason = "counts, bytes and times are exact to 53 bits")]
fn float(value: u64) -> f64 {
    value as f64
}

fn seconds(nanos: u64) -> f64 {
    float(nanos) / 1e9
}

impl MetricsEncoder<'_> {
    fn one<'l>(
        &mut self,
        (name, help, unit): (&str, &str, Option<Unit>),
        kind: MetricType,
        values: impl IntoIterator<Item = (MetricLabel<'l>, f64)>,
    ) -> fmt::Result {
        let counts = matches!(kind, MetricType::Counter);
        let mut metric = self.0.encode_descriptor(name, help, unit.as_ref(), kind)?;
        for (label, value) in values {
            let write = |metric: &mut MetricEncoder<'_>| {
                if counts {
                    metric.encode_counter::<NoLabelSet, _, f64>(&value, None)
                } else {
                    metric.encode_gauge(&value)
                }
            };
            match label {
                Some(label) => write(&mut metric.encode_family(&[label])?)?,
                None => write(&mut metric)?,
            }
        }
        Ok(())
    }

    fn gauge(&mut self, name: &str, help: &str, unit: Option<Unit>, value: f64) -> fmt::Result {
        self.one((name, help, unit), MetricType::Gauge, [(None, value)])
    }

    fn counter(&mut self, name: &str, help: &str, unit: Option<Unit>, value: u64) -> fmt::Result {
        self.one((name, help, unit), MetricType::Counter, [(None, float(value))])
    }

    /// Writes counters with a label.
    fn counters<'l>(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        values: impl IntoIterator<Item = (&'l str, u64)>,
    ) -> fmt::Result {
        let values = values.into_iter().map(|(of, value)| (Some((label, of)), float(value)));
        self.one((name, help, None), MetricType::Counter, values)
    }
}

impl Collector for ServingCollector {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (shared, numbers) = (&self.0, self.0.store_stats());
        let mut out = MetricsEncoder(encoder);
        program(false, &mut out)?;
        clients(shared, &mut out)?;
        commands(shared, &mut out)?;
        memory(shared, &numbers, &mut out)?;
        persistence(&numbers, &mut out)?;
        disk(shared, &mut out)
    }
}

impl Collector for LoadingCollector {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (loading, mut out) = (&self.0, MetricsEncoder(encoder));
        let seen = loading.progress.seen();
        program(true, &mut out)?;
        out.gauge("uptime", "Time since the start", Some(Unit::Seconds), loading.elapsed().as_secs_f64())?;
        let bytes = [("total", seen.bytes_total), ("read", seen.bytes)];
        let bytes = bytes.map(|(part, bytes)| (Some(("part", part)), float(bytes)));
        let about = ("load", "Checkpoints and logs to load at the start", Some(Unit::Bytes));
        out.one(about, MetricType::Gauge, bytes)
    }
}

/// Writes the program's version, and whether it is still loading.
fn program(loads: bool, out: &mut MetricsEncoder<'_>) -> fmt::Result {
    let labels = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("redis_version", REDIS_VERSION),
        ("os", std::env::consts::OS),
        ("arch", std::env::consts::ARCH),
    ];
    let about = "The version of this program, and that of Redis whose replies it follows: always 1";
    let mut metric = out.0.encode_descriptor("build_info", about, None, MetricType::Gauge)?;
    metric.encode_family(&labels)?.encode_gauge(&1_i64)?;
    out.gauge("loading", "1 while data is being loaded", None, f64::from(u8::from(loads)))
}

fn clients(shared: &ServerShared, out: &mut MetricsEncoder<'_>) -> fmt::Result {
    let counted = shared.worker_sums();
    out.gauge("uptime", "Time since the start", Some(Unit::Seconds), shared.started.elapsed().as_secs_f64())?;
    out.gauge("clients", "Connections now", None, float(shared.connections() as u64))?;
    let most = shared.settings.clients_max.get() as u64;
    out.gauge("clients_max", "Connections at a time, at most", None, float(most))?;
    out.counter("connections", "Connections accepted", None, counted.accepted)?;
    out.counter(
        "connections_refused",
        "Connections refused because there were too many",
        None,
        counted.refused,
    )?;
    out.counter("lookup_hits", "Keys that reads found", None, counted.lookups.hits)?;
    out.counter("lookup_misses", "Keys that reads did not find", None, counted.lookups.misses)?;
    out.counter("received", "Bytes received from clients", Some(Unit::Bytes), counted.bytes_in)?;
    out.counter("sent", "Bytes sent to clients", Some(Unit::Bytes), counted.bytes_out)?;
    out.counter("requests", "Requests answered", None, counted.requests)?;
    if let Some(used) = cpu::used() {
        let values = [("user", used.user), ("system", used.system)];
        let values = values.map(|(mode, seconds)| (Some(("mode", mode)), seconds));
        out.one(("cpu", "Processor time taken", Some(Unit::Seconds)), MetricType::Counter, values)?;
    }
    Ok(())
}

fn commands(shared: &ServerShared, out: &mut MetricsEncoder<'_>) -> fmt::Result {
    let seen = shared.observed();
    let kinds: Vec<(String, &KindTotals)> =
        seen.kinds().map(|(kind, seen)| (kind.name().into_owned(), seen)).collect();
    let each = |of: fn(&KindTotals) -> u64| kinds.iter().map(move |(name, seen)| (name.as_str(), of(seen)));
    out.counters(
        "commands_rejected",
        "Requests refused before they were run",
        "command",
        each(|of| of.rejected),
    )?;
    out.counters(
        "commands_failed",
        "Requests run and answered with an error",
        "command",
        each(|of| of.failed),
    )?;
    let errors = seen.errors.iter().map(|(code, count)| (&**code, *count));
    out.counters("errors", "Error replies, by their first word", "code", errors)?;
    out.gauge(
        "slowlog_entries",
        "Requests in the slow log",
        None,
        float(shared.observing.slowlog.len() as u64),
    )?;
    let help = "How long requests ran; requests of a batch share its time evenly";
    let mut metric =
        out.0.encode_descriptor("command_duration", help, Some(&Unit::Seconds), MetricType::Histogram)?;
    for (name, seen) in &kinds {
        metric.encode_family(&[("command", name.as_str())])?.encode_histogram::<NoLabelSet>(
            seconds(seen.nanos),
            seen.calls,
            &buckets(seen),
            None,
        )?;
    }
    Ok(())
}

/// Returns the counts of each bucket that earlier buckets do not contain. Calls without a time
/// (`latency-tracking no`) are in the last bucket.
fn buckets(seen: &KindTotals) -> Vec<(f64, u64)> {
    let mut before = 0;
    let mut buckets: Vec<(f64, u64)> = Vec::with_capacity(BUCKET_BITS.len() + 1);
    for bits in BUCKET_BITS {
        let below = seen.latency.below(bits);
        buckets.push((seconds(1 << bits), below - before));
        before = below;
    }
    buckets.push((f64::INFINITY, seen.calls.saturating_sub(before)));
    buckets
}

fn memory(shared: &ServerShared, numbers: &StoreStats, out: &mut MetricsEncoder<'_>) -> fmt::Result {
    out.gauge("keys", "Keys", None, float(numbers.keys as u64))?;
    out.gauge("keys_expiring", "Keys with an expiry time", None, float(numbers.expires as u64))?;
    out.counter("keys_expired", "Keys removed because they expired", None, numbers.expired)?;
    let parts = [
        ("index", numbers.index_bytes),
        ("rows", numbers.row_bytes),
        ("unreclaimed", numbers.unreclaimed_bytes),
    ];
    let parts = parts.map(|(part, bytes)| (Some(("part", part)), float(bytes as u64)));
    out.one(("memory", "Memory of the store", Some(Unit::Bytes)), MetricType::Gauge, parts)?;
    if let Some(resident) = resident_bytes() {
        out.gauge("memory_resident", "Memory of the process in RAM", Some(Unit::Bytes), float(resident))?;
    }
    out.gauge("snapshots", "Live snapshots", None, float(numbers.snapshots as u64))?;
    let oldest = numbers.oldest_snapshot.unwrap_or_default().as_secs_f64();
    out.gauge("oldest_snapshot", "Age of the oldest snapshot", Some(Unit::Seconds), oldest)?;
    let kept = float(numbers.snapshot_bytes as u64);
    out.gauge("snapshot", "Memory kept for snapshots", Some(Unit::Bytes), kept)?;
    let turn = shared.oldest_turn().as_secs_f64();
    out.gauge("oldest_guard", "Duration of the longest current turn of a worker", Some(Unit::Seconds), turn)
}

fn persistence(numbers: &StoreStats, out: &mut MetricsEncoder<'_>) -> fmt::Result {
    out.gauge("epoch", "The current epoch", None, float(numbers.epoch))?;
    out.gauge("durable_epoch", "The last durable epoch", None, float(numbers.durable_epoch))?;
    out.counter("commits", "Epochs made durable", None, numbers.commits)?;
    let bytes = Some(Unit::Bytes);
    out.gauge(
        "log_behind",
        "Log bytes that are not durable yet",
        bytes.clone(),
        float(numbers.log_bytes_behind),
    )?;
    out.gauge(
        "log_since_checkpoint",
        "Log bytes that no checkpoint covers",
        bytes,
        float(numbers.log_bytes),
    )?;
    out.gauge("log_segments", "Log segments on disk", None, float(numbers.log_segments as u64))?;
    out.counter("checkpoints", "Checkpoints written", None, numbers.checkpoints)?;
    let running = f64::from(u8::from(numbers.checkpoint_running));
    out.gauge("checkpoint_running", "1 while a checkpoint is written", None, running)?;
    let last = float(numbers.last_checkpoint_unix_s);
    out.gauge(
        "last_checkpoint_timestamp",
        "End of the last checkpoint since 1970; 0 for none",
        Some(Unit::Seconds),
        last,
    )?;
    let failed = f64::from(u8::from(numbers.last_checkpoint_failure.is_some()));
    out.gauge("last_checkpoint_failed", "1 if the last checkpoint failed", None, failed)?;
    let stopped = f64::from(u8::from(numbers.writes_stopped.is_some()));
    out.gauge("writes_stopped", "1 if a failure of the disk stopped all writes", None, stopped)
}

/// Writes the page statistics of the disk engine.
fn disk(shared: &ServerShared, out: &mut MetricsEncoder<'_>) -> fmt::Result {
    let Some((_, stats)) = shared.store.disk() else { return Ok(()) };
    let buffer = stats.buffer;
    out.gauge("cache_pages", "Pages that the cache can hold", None, float(buffer.capacity as u64))?;
    out.gauge("cache_pages_used", "Pages in the cache", None, float(buffer.resident as u64))?;
    out.counter("cache_hits", "Pages found in the cache", None, buffer.hits)?;
    out.counter("cache_misses", "Pages read from the file", None, buffer.misses)?;
    out.counter("cache_evictions", "Pages evicted from the cache", None, buffer.evictions)?;
    out.counter(
        "cache_evictions_failed",
        "Changed pages whose write for eviction failed",
        None,
        buffer.failed_evictions,
    )?;
    out.gauge(
        "cache_pages_retired",
        "Evicted pages whose memory readers may still use",
        None,
        float(buffer.retired as u64),
    )?;
    out.gauge(
        "cache_policy_entries",
        "Entries of the eviction policy's queues",
        None,
        float(buffer.policy_entries as u64),
    )?;
    out.counter("pages_written", "Pages written to the file", None, buffer.writes)?;
    out.gauge("file_pages", "Pages of the file", None, float(buffer.file_pages.into()))?;
    out.gauge("file_pages_free", "Free pages of the file", None, float(buffer.free_pages.into()))
}
