//! INFO stats: the counters since the start, or since CONFIG RESETSTAT.

use super::InfoLines;
use super::InfoNumbers;
use crate::shared::ServerShared;

/// Figures of Redis about replication, forks, a cluster and defragmentation, which this server does
/// not have.
const NEVER: &[&str] = &[
    "total_net_repl_input_bytes",
    "total_net_repl_output_bytes",
    "sync_full",
    "sync_partial_ok",
    "sync_partial_err",
    "latest_fork_usec",
    "total_forks",
    "migrate_cached_sockets",
    "slave_expires_tracked_keys",
    "active_defrag_hits",
    "active_defrag_misses",
    "active_defrag_key_hits",
    "active_defrag_key_misses",
    "total_active_defrag_time",
    "current_active_defrag_time",
];

pub(super) fn stats(shared: &ServerShared, _: &InfoNumbers, lines: &mut InfoLines) {
    let rates = shared.observing.sampler.rates();
    lines.add("instantaneous_ops_per_sec", format_args!("{:.0}", rates.requests));
    lines.add("instantaneous_input_kbps", format_args!("{:.2}", rates.bytes_in / 1024.0));
    lines.add("instantaneous_output_kbps", format_args!("{:.2}", rates.bytes_out / 1024.0));
    lines.add("instantaneous_input_repl_kbps", "0.00");
    lines.add("instantaneous_output_repl_kbps", "0.00");
    for name in NEVER {
        lines.add(name, 0);
    }
}
