//! The metrics for Prometheus: the rows of `figures`, and families with labels.
//! `docs/monitoring.md` lists them.
//!
//! All values are read on request. Counters count from the server's start, regardless of CONFIG
//! RESETSTAT.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use crate::observe::KindTotals;
use crate::report::figures::{FIGURES, FigureKind, FigureSource, FigureUnit, FigureValue};
use crate::report::info::{REDIS_VERSION, cpu};
use crate::shared::ServerShared;
use crate::shared::loading::Loading;
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
        let (shared, numbers) = (&self.0, self.0.data.store_stats());
        let mut out = MetricsEncoder(encoder);
        program(false, &mut out)?;
        figures(&FigureSource::since_start(shared, &numbers), &mut out)?;
        processor(&mut out)?;
        commands(shared, &mut out)?;
        memory(&numbers, &mut out)
    }
}

/// Writes the figures that are one number each.
fn figures(source: &FigureSource<'_>, out: &mut MetricsEncoder<'_>) -> fmt::Result {
    for figure in FIGURES.iter().filter(|figure| !figure.metric.is_empty()) {
        let unit = match figure.unit {
            FigureUnit::None => None,
            FigureUnit::Bytes => Some(Unit::Bytes),
            FigureUnit::Seconds => Some(Unit::Seconds),
        };
        let kind = match figure.kind {
            FigureKind::Gauge => MetricType::Gauge,
            FigureKind::Counter => MetricType::Counter,
        };
        let value = match (figure.read)(source) {
            Some(FigureValue::Number(number)) => float(number),
            Some(FigureValue::Time(time)) => time.as_secs_f64(),
            None => continue,
        };
        out.one((figure.metric, figure.help, unit), kind, [(None, value)])?;
    }
    Ok(())
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

fn processor(out: &mut MetricsEncoder<'_>) -> fmt::Result {
    if let Some(used) = cpu::used() {
        let values = [("user", used.user), ("system", used.system)];
        let values = values.map(|(mode, seconds)| (Some(("mode", mode)), seconds));
        out.one(("cpu", "Processor time taken", Some(Unit::Seconds)), MetricType::Counter, values)?;
    }
    Ok(())
}

fn commands(shared: &ServerShared, out: &mut MetricsEncoder<'_>) -> fmt::Result {
    let seen = shared.workers.observed();
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

fn memory(numbers: &StoreStats, out: &mut MetricsEncoder<'_>) -> fmt::Result {
    let parts = [
        ("index", numbers.index_bytes),
        ("rows", numbers.row_bytes),
        ("unreclaimed", numbers.unreclaimed_bytes),
    ];
    let parts = parts.map(|(part, bytes)| (Some(("part", part)), float(bytes as u64)));
    out.one(("memory", "Memory of the store", Some(Unit::Bytes)), MetricType::Gauge, parts)
}
