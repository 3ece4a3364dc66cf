//! Latencies as a report shows them.

use hdrhistogram::Histogram;

/// The quantiles of a latency curve.
const QUANTILES: [f64; 14] =
    [0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999, 1.0];

/// Returns an empty histogram of nanoseconds.
pub fn histogram() -> Histogram<u64> {
    // Three digits up to a minute need 64 KiB, and the bounds are valid, so this does not fail.
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("good bounds")
}

/// Returns one quantile, in units of `unit_ns` nanoseconds.
pub fn quantile(latency: &Histogram<u64>, quantile: f64, unit_ns: f64) -> f64 {
    latency.value_at_quantile(quantile) as f64 / unit_ns
}

/// Returns the curve: pairs of a quantile and its latency.
pub fn curve(latency: &Histogram<u64>, unit_ns: f64) -> Vec<(f64, f64)> {
    QUANTILES.iter().map(|&wanted| (wanted, quantile(latency, wanted, unit_ns))).collect()
}
