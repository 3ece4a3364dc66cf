//! The rows. To add a figure, add a row here: INFO, Prometheus and the documents follow.

use std::time::Duration;

use super::{Figure, FigureKind, FigureSource, FigureUnit, FigureValue};
use crate::notice::channels::ChannelKind;
use crate::report::info::resident_bytes;

type Read = fn(&FigureSource<'_>) -> Option<FigureValue>;

const fn figure(kind: FigureKind, metric: &'static str, help: &'static str, read: Read) -> Figure {
    Figure { info: ("", ""), metric, kind, unit: FigureUnit::None, help, read }
}

const fn gauge(metric: &'static str, help: &'static str, read: Read) -> Figure {
    figure(FigureKind::Gauge, metric, help, read)
}

const fn counter(metric: &'static str, help: &'static str, read: Read) -> Figure {
    figure(FigureKind::Counter, metric, help, read)
}

/// Returns a figure that only INFO tells.
const fn field(section: &'static str, field: &'static str, help: &'static str, read: Read) -> Figure {
    figure(FigureKind::Gauge, "", help, read).info(section, field)
}

impl Figure {
    const fn info(self, section: &'static str, field: &'static str) -> Self {
        Self { info: (section, field), ..self }
    }

    const fn bytes(self) -> Self {
        Self { unit: FigureUnit::Bytes, ..self }
    }

    const fn seconds(self) -> Self {
        Self { unit: FigureUnit::Seconds, ..self }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "some figures have no value, so all rows return an option")]
fn some(value: impl Into<FigureValue>) -> Option<FigureValue> {
    Some(value.into())
}

/// All rows, in the order in which INFO and Prometheus tell them.
pub(crate) const FIGURES: &[Figure] = &[
    gauge("uptime", "Time since the start", |all| some(all.shared.identity.started.elapsed())).seconds(),
    gauge("clients", "Connections now", |all| some(all.shared.workers.connections()))
        .info("clients", "connected_clients"),
    field("clients", "cluster_connections", "There is no cluster: always 0", |_| some(0_u64)),
    gauge("clients_max", "Connections at a time, at most", |all| some(all.shared.settings.clients_max.get()))
        .info("clients", "maxclients"),
    field("clients", "tracking_clients", "Clients with CLIENT TRACKING", |all| {
        some(all.shared.notices.key_observer.tracking.sums().clients)
    }),
    // As in Redis, a client is blocked if a pause holds back its requests.
    field("clients", "blocked_clients", "Clients that wait for keys, or for the end of a pause", |all| {
        some(all.shared.notices.waiting.count() + all.shared.clients.pause.holding())
    }),
    counter("connections", "Connections accepted", |all| some(all.counted.accepted))
        .info("stats", "total_connections_received"),
    counter("connections_refused", "Connections refused because there were too many", |all| {
        some(all.counted.refused)
    })
    .info("stats", "rejected_connections"),
    counter("requests", "Requests answered", |all| some(all.counted.requests))
        .info("stats", "total_commands_processed"),
    counter("received", "Bytes received from clients", |all| some(all.counted.bytes_in))
        .bytes()
        .info("stats", "total_net_input_bytes"),
    counter("sent", "Bytes sent to clients", |all| some(all.counted.bytes_out))
        .bytes()
        .info("stats", "total_net_output_bytes"),
    field("stats", "total_reads_processed", "How often bytes were read from a connection", |all| {
        some(all.counted.reads)
    }),
    field("stats", "total_writes_processed", "How often bytes were sent to a connection", |all| {
        some(all.counted.writes)
    }),
    field("stats", "total_error_replies", "Error replies", |all| some(all.shared.seen().error_replies())),
    gauge("slowlog_entries", "Requests in the slow log", |all| some(all.shared.observing.slowlog.len()))
        .info("stats", "slowlog_len"),
    counter("keys_expired", "Keys removed because they expired", |all| some(all.counted.expired))
        .info("stats", "expired_keys"),
    field("stats", "evicted_keys", "Keys evicted at the memory limit", |all| some(all.counted.evicted)),
    field("stats", "evicted_clients", "Clients disconnected for their memory", |all| {
        some(all.counted.evicted_clients)
    }),
    counter("lookup_hits", "Keys that reads found", |all| some(all.counted.hits))
        .info("stats", "keyspace_hits"),
    counter("lookup_misses", "Keys that reads did not find", |all| some(all.counted.misses))
        .info("stats", "keyspace_misses"),
    field("stats", "pubsub_channels", "Channels with subscriptions", |all| {
        some(all.shared.notices.channels.names(ChannelKind::Channel))
    }),
    field("stats", "pubsub_patterns", "Patterns with subscriptions", |all| {
        some(all.shared.notices.channels.names(ChannelKind::Pattern))
    }),
    field("stats", "pubsubshard_channels", "Shard channels with subscriptions", |all| {
        some(all.shared.notices.channels.names(ChannelKind::Shard))
    }),
    field("stats", "tracking_total_keys", "Keys that are remembered for CLIENT TRACKING", |all| {
        some(all.shared.notices.key_observer.tracking.sums().keys)
    }),
    field("stats", "tracking_total_items", "The clients of each of these keys, added up", |all| {
        some(all.shared.notices.key_observer.tracking.sums().items)
    }),
    field("stats", "tracking_total_prefixes", "Prefixes of BCAST", |all| {
        some(all.shared.notices.key_observer.tracking.sums().prefixes)
    }),
    field("stats", "scan_cursors", "Positions of SCAN that are kept", |all| {
        some(all.shared.data.cursors.len())
    }),
    gauge("keys", "Keys of all databases", |all| some(all.store.keys)),
    gauge("keys_expiring", "Keys with an expiry time", |all| some(all.store.expires)),
    gauge("memory_resident", "Memory of the process in RAM", |_| resident_bytes().map(Into::into)).bytes(),
    gauge("snapshots", "Live snapshots", |all| some(all.store.snapshots)).info("memory", "snapshots"),
    gauge("oldest_snapshot", "Age of the oldest snapshot; 0 for none", |all| {
        some(all.store.oldest_snapshot.unwrap_or(Duration::ZERO))
    })
    .seconds()
    .info("memory", "oldest_snapshot_ms"),
    gauge("snapshot", "Memory kept for snapshots", |all| some(all.store.snapshot_bytes))
        .bytes()
        .info("memory", "snapshot_bytes"),
    gauge("oldest_guard", "Duration of the longest current turn of a worker", |all| {
        some(all.shared.workers.oldest_turn(all.shared.identity.started))
    })
    .seconds()
    .info("memory", "oldest_guard_ms"),
    gauge("epoch", "The current epoch", |all| some(all.store.epoch)).info("persistence", "epoch"),
    gauge("durable_epoch", "The last durable epoch", |all| some(all.store.durable_epoch))
        .info("persistence", "durable_epoch"),
    counter("commits", "Epochs made durable", |all| some(all.store.commits)),
    gauge("log_behind", "Log bytes that are not durable yet: a crash would lose them", |all| {
        some(all.store.log_bytes_behind)
    })
    .bytes()
    .info("persistence", "log_bytes_behind"),
    gauge("log_since_checkpoint", "Log bytes that no checkpoint covers", |all| some(all.store.log_bytes))
        .bytes()
        .info("persistence", "log_bytes_since_checkpoint"),
    field("persistence", "checkpoint_at_log_bytes", "Log bytes at which a checkpoint begins", |all| {
        some(all.store.checkpoint_at_log_bytes)
    }),
    gauge("log_segments", "Log segments on disk", |all| some(all.store.log_segments))
        .info("persistence", "log_segments"),
    counter("checkpoints", "Checkpoints written", |all| some(all.store.checkpoints))
        .info("persistence", "checkpoints"),
    gauge("checkpoint_running", "1 while a checkpoint is written", |all| some(all.store.checkpoint_running))
        .info("persistence", "rdb_bgsave_in_progress"),
    gauge("last_checkpoint_timestamp", "End of the last checkpoint since 1970; 0 for none", |all| {
        some(all.store.last_checkpoint_unix_s)
    })
    .seconds()
    .info("persistence", "rdb_last_save_time"),
    gauge("last_checkpoint_failed", "1 if the last checkpoint failed", |all| {
        some(all.store.last_checkpoint_failure.is_some())
    }),
    gauge("writes_stopped", "1 if a failure of the disk stopped all writes", |all| {
        some(all.store.writes_stopped.is_some())
    }),
    gauge("cache_pages", "Pages that the cache can hold", |all| all.buffer.map(|of| of.capacity.into()))
        .info("engine", "cache_pages"),
    gauge("cache_pages_used", "Pages in the cache", |all| all.buffer.map(|of| of.resident.into()))
        .info("engine", "cache_pages_used"),
    field("engine", "cache_pages_pinned", "Pages of the cache that are in use", |all| {
        all.buffer.map(|of| of.referred.into())
    }),
    counter("cache_hits", "Pages found in the cache", |all| all.buffer.map(|of| of.hits.into()))
        .info("engine", "cache_hits"),
    counter("cache_misses", "Pages read from the file", |all| all.buffer.map(|of| of.misses.into()))
        .info("engine", "cache_misses"),
    counter("cache_evictions", "Pages evicted from the cache", |all| {
        all.buffer.map(|of| of.evictions.into())
    })
    .info("engine", "cache_evictions"),
    counter("cache_evictions_failed", "Changed pages whose write for eviction failed", |all| {
        all.buffer.map(|of| of.failed_evictions.into())
    })
    .info("engine", "cache_evictions_failed"),
    gauge("cache_pages_retired", "Evicted pages whose memory readers may still use", |all| {
        all.buffer.map(|of| of.retired.into())
    })
    .info("engine", "cache_pages_retired"),
    gauge("cache_policy_entries", "Entries of the eviction policy's queues", |all| {
        all.buffer.map(|of| of.policy_entries.into())
    })
    .info("engine", "cache_policy_entries"),
    counter("pages_written", "Pages written to the file", |all| all.buffer.map(|of| of.writes.into()))
        .info("engine", "pages_written"),
    gauge("file_pages", "Pages of the file", |all| all.buffer.map(|of| of.file_pages.into()))
        .info("engine", "file_pages"),
    gauge("file_pages_free", "Free pages of the file", |all| all.buffer.map(|of| of.free_pages.into()))
        .info("engine", "free_pages"),
];
