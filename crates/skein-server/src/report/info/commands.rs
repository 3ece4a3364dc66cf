//! INFO commandstats, errorstats and latencystats, in Redis's format.

use super::InfoLines;
use super::InfoNumbers;
use crate::shared::ServerShared;

#[expect(clippy::cast_precision_loss, reason = "times, rounded for people")]
fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1000.0
}

pub(super) fn calls(shared: &ServerShared, _: &InfoNumbers, lines: &mut InfoLines) {
    for (kind, seen) in shared.seen().kinds() {
        let each = micros(seen.nanos.checked_div(seen.calls).unwrap_or(0));
        let text = format!(
            "calls={},usec={},usec_per_call={each:.2},rejected_calls={},failed_calls={}",
            seen.calls,
            seen.nanos / 1000,
            seen.rejected,
            seen.failed
        );
        lines.add(&format!("cmdstat_{}", kind.name()), text);
    }
}

pub(super) fn errors(shared: &ServerShared, _: &InfoNumbers, lines: &mut InfoLines) {
    for (code, count) in shared.seen().errors {
        lines.add(&format!("errorstat_{code}"), format_args!("count={count}"));
    }
}

pub(super) fn latencies(shared: &ServerShared, _: &InfoNumbers, lines: &mut InfoLines) {
    let percentiles = shared.settings.percentiles();
    for (kind, seen) in shared.seen().kinds().filter(|(_, seen)| seen.latency.total() > 0) {
        let part = |percent: &f64| format!("p{percent}={:.3}", micros(seen.latency.percentile(*percent)));
        let parts: Vec<String> = percentiles.iter().map(part).collect();
        lines.add(&format!("latency_percentiles_usec_{}", kind.name()), parts.join(","));
    }
}
