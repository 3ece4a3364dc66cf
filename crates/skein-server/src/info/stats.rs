//! INFO stats: what was done since the start, or since CONFIG RESETSTAT.

use super::InfoLines;
use super::InfoNumbers;
use crate::channels::ChannelKind;
use crate::shared::ServerShared;

/// Figures of Redis about replication, forks, a cluster and defragmentation. There is none of these.
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

pub(super) fn stats(shared: &ServerShared, numbers: &InfoNumbers, lines: &mut InfoLines) {
    let counted = shared.statistics();
    lines.add("total_connections_received", counted.accepted);
    lines.add("rejected_connections", counted.refused);
    lines.add("total_commands_processed", counted.requests);
    let rates = shared.observing.sampler.rates();
    lines.add("instantaneous_ops_per_sec", format_args!("{:.0}", rates.requests));
    lines.add("total_net_input_bytes", counted.bytes_in);
    lines.add("total_net_output_bytes", counted.bytes_out);
    lines.add("instantaneous_input_kbps", format_args!("{:.2}", rates.bytes_in / 1024.0));
    lines.add("instantaneous_output_kbps", format_args!("{:.2}", rates.bytes_out / 1024.0));
    lines.add("instantaneous_input_repl_kbps", "0.00");
    lines.add("instantaneous_output_repl_kbps", "0.00");
    lines.add("total_reads_processed", counted.reads);
    lines.add("total_writes_processed", counted.writes);
    lines.add("total_error_replies", shared.seen().error_replies());
    lines.add("slowlog_len", shared.observing.slowlog.len());
    let (expired, evicted) = shared.removed_keys(numbers);
    lines.add("expired_keys", expired);
    lines.add("evicted_keys", evicted);
    lines.add("evicted_clients", shared.evicted_clients());
    lines.add("keyspace_hits", counted.lookups.hits);
    lines.add("keyspace_misses", counted.lookups.misses);
    lines.add("pubsub_channels", shared.channels.names(ChannelKind::Channel));
    lines.add("pubsub_patterns", shared.channels.names(ChannelKind::Pattern));
    lines.add("pubsubshard_channels", shared.channels.names(ChannelKind::Shard));
    let tracking = shared.key_observer.tracking.sums();
    lines.add("tracking_total_keys", tracking.keys);
    lines.add("tracking_total_items", tracking.items);
    lines.add("tracking_total_prefixes", tracking.prefixes);
    lines.add("scan_cursors", shared.cursors.len());
    for name in NEVER {
        lines.add(name, 0);
    }
}
