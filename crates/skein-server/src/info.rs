//! INFO: the server's statistics as text in sections, with Redis's names for the same figures.

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::UNIX_EPOCH;

use crate::channels::ChannelKind;
use crate::shared::ServerShared;
use skein_data::{Durability, StoreStats};

mod commands;
pub(crate) mod cpu;
pub(crate) mod loading;

/// The version of Redis whose replies this server follows. Clients check it before they use a
/// command.
pub(crate) const REDIS_VERSION: &str = "7.0.15";

type InfoSection = fn(&ServerShared, &StoreStats, &mut InfoLines);

const SECTIONS: &[(&str, &str, InfoSection)] = &[
    ("server", "Server", server),
    ("clients", "Clients", clients),
    ("memory", "Memory", memory),
    ("persistence", "Persistence", persistence),
    ("engine", "Engine", engine),
    ("stats", "Stats", stats),
    ("replication", "Replication", replication),
    ("cpu", "CPU", cpu::cpu),
    ("commandstats", "Commandstats", commands::calls),
    ("errorstats", "Errorstats", commands::errors),
    ("latencystats", "Latencystats", commands::latencies),
    ("cluster", "Cluster", cluster),
    ("keyspace", "Keyspace", keyspace),
];

/// Long sections. They are returned only by name, or for `all` or `everything`.
const NOT_DEFAULT: [&str; 2] = ["commandstats", "latencystats"];

/// Lines of `name:value`.
#[derive(Default)]
struct InfoLines(String);

impl InfoLines {
    fn add(&mut self, name: &str, value: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{name}:{value}\r\n");
    }
}

/// Returns the named sections (in any case). Returns all but the long ones if no section or
/// `default` is named, and all for `all` and `everything`.
pub(crate) fn text(shared: &ServerShared, numbers: &StoreStats, names: &[&[u8]]) -> String {
    let has = |wanted: &str| names.iter().any(|name| name.eq_ignore_ascii_case(wanted.as_bytes()));
    let all = has("all") || has("everything");
    let default = names.is_empty() || has("default");
    let mut lines = InfoLines::default();
    for (name, title, section) in SECTIONS {
        if all || has(name) || (default && !NOT_DEFAULT.contains(name)) {
            if !lines.0.is_empty() {
                lines.0.push_str("\r\n");
            }
            let _ = write!(lines.0, "# {title}\r\n");
            section(shared, numbers, &mut lines);
        }
    }
    lines.0
}

/// Writes the program's version and its address.
fn program(run_id: &str, address: SocketAddr, lines: &mut InfoLines) {
    lines.add("redis_version", REDIS_VERSION);
    lines.add("redis_mode", "standalone");
    lines.add("skeindb_version", env!("CARGO_PKG_VERSION"));
    lines.add("os", std::env::consts::OS);
    lines.add("arch_bits", usize::BITS);
    lines.add("process_id", std::process::id());
    lines.add("run_id", run_id);
    lines.add("tcp_port", address.port());
}

fn server(shared: &ServerShared, _: &StoreStats, lines: &mut InfoLines) {
    let up = shared.started.elapsed();
    program(&shared.run_id, shared.address, lines);
    lines.add("workers", shared.mailboxes.len());
    lines.add("server_time_usec", UNIX_EPOCH.elapsed().unwrap_or_default().as_micros());
    lines.add("uptime_in_seconds", up.as_secs());
    lines.add("uptime_in_days", up.as_secs() / 86_400);
}

fn clients(shared: &ServerShared, _: &StoreStats, lines: &mut InfoLines) {
    lines.add("connected_clients", shared.connections());
    lines.add("maxclients", shared.settings.clients_max.get());
    lines.add("blocked_clients", shared.waiting.count());
    for (i, mailbox) in shared.mailboxes.iter().enumerate() {
        let connections = mailbox.counts.connections.load(Ordering::Relaxed);
        lines.add(&format!("worker{i}_clients"), connections);
    }
}

#[expect(clippy::cast_precision_loss, reason = "bytes, rounded for people")]
fn memory(shared: &ServerShared, numbers: &StoreStats, lines: &mut InfoLines) {
    let (used, memory) = (shared.used_bytes(numbers), &numbers.memory);
    let peak = shared.peak_bytes(numbers);
    let (limit, policy) = shared.store.memory_limit();
    let limit = limit.unwrap_or(0);
    for (name, bytes) in [("used_memory", used), ("used_memory_peak", peak), ("maxmemory", limit)] {
        lines.add(name, bytes);
        lines.add(&format!("{name}_human"), human(bytes));
    }
    lines.add("maxmemory_policy", policy);
    lines.add("index_bytes", numbers.index_bytes);
    lines.add("node_bytes", memory.nodes + memory.orders);
    lines.add("key_bytes", memory.keys);
    lines.add("row_bytes", numbers.row_bytes);
    lines.add("mem_clients_normal", shared.buffer_bytes());
    lines.add("mem_aof_buffer", memory.buffers);
    lines.add("mem_not_counted_for_evict", memory.buffers);
    lines.add("unreclaimed_bytes", numbers.unreclaimed_bytes);
    lines.add("allocator_allocated", memory.total());
    lines.add("allocator_active", memory.held);
    lines.add("snapshots", numbers.snapshots);
    lines.add("oldest_snapshot_ms", numbers.oldest_snapshot.unwrap_or_default().as_millis());
    lines.add("snapshot_bytes", numbers.snapshot_bytes);
    lines.add("oldest_guard_ms", shared.oldest_turn().as_millis());
    if let Some(resident) = resident_bytes() {
        lines.add("used_memory_rss", resident);
        lines.add("mem_fragmentation_ratio", format_args!("{:.2}", resident as f64 / used.max(1) as f64));
    }
}

/// Returns a size as Redis prints it for people.
#[expect(clippy::cast_precision_loss, reason = "bytes, rounded for people")]
fn human(bytes: usize) -> String {
    const UNITS: [&str; 6] = ["B", "K", "M", "G", "T", "P"];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let (mut size, mut unit) = (bytes as f64, 0);
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        (size, unit) = (size / 1024.0, unit + 1);
    }
    format!("{size:.2}{}", UNITS[unit])
}

/// Returns the memory of this process that is in RAM, if the system reports it.
pub(crate) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

fn persistence(shared: &ServerShared, numbers: &StoreStats, lines: &mut InfoLines) {
    lines.add("loading", 0);
    lines.add(
        "durability",
        match shared.durability {
            Durability::None => "none",
            Durability::Buffered => "buffered",
            Durability::Sync => "sync",
        },
    );
    lines.add("epoch", numbers.epoch);
    lines.add("durable_epoch", numbers.durable_epoch);
    lines.add("log_bytes_behind", numbers.log_bytes_behind);
    lines.add("log_bytes_since_checkpoint", numbers.log_bytes);
    lines.add("checkpoint_at_log_bytes", numbers.checkpoint_at_log_bytes);
    lines.add("log_segments", numbers.log_segments);
    lines.add("checkpoints", numbers.checkpoints);
    lines.add("rdb_bgsave_in_progress", u8::from(numbers.checkpoint_running));
    lines.add("rdb_last_save_time", numbers.last_checkpoint_unix_s);
    let status = |failed| if failed { "err" } else { "ok" };
    let failure = numbers.last_checkpoint_failure.as_deref().or(numbers.writes_stopped.as_deref());
    lines.add("rdb_last_bgsave_status", status(failure.is_some()));
    lines.add("aof_enabled", u8::from(shared.durability != Durability::None));
    lines.add("aof_last_write_status", status(numbers.writes_stopped.is_some()));
    lines.add("last_checkpoint_failure", one_line(numbers.last_checkpoint_failure.as_deref()));
    lines.add("writes_stopped", one_line(numbers.writes_stopped.as_deref()));
}

/// Returns a message as a value on one line, or `no`.
fn one_line(message: Option<&str>) -> String {
    message.unwrap_or("no").replace(['\r', '\n'], " ")
}

/// Writes the kind of the engine, and the pages of the disk engine.
fn engine(shared: &ServerShared, numbers: &StoreStats, lines: &mut InfoLines) {
    if let Some(index) = shared.store.index() {
        lines.add("engine", "memory");
        lines.add("index", index);
    }
    let Some((disk, stats)) = shared.store.disk() else { return };
    let buffer = stats.buffer;
    lines.add("engine", "disk");
    lines.add("trie", disk.store().shape());
    lines.add("cache_pages", buffer.capacity);
    lines.add("cache_pages_used", buffer.resident);
    lines.add("cache_pages_pinned", buffer.referred);
    lines.add("cache_hits", buffer.hits);
    lines.add("cache_misses", buffer.misses);
    lines.add("cache_evictions", buffer.evictions);
    lines.add("cache_evictions_failed", buffer.failed_evictions);
    lines.add("cache_pages_retired", buffer.retired);
    lines.add("cache_policy_entries", buffer.policy_entries);
    lines.add("pages_written", buffer.writes);
    lines.add("file_pages", buffer.file_pages);
    lines.add("free_pages", buffer.free_pages);
    let pages = disk.store().pages_in_use();
    lines.add("pages", pages);
    lines.add("bytes_per_key", (pages * skein_data::PAGE).checked_div(numbers.keys).unwrap_or(0));
    lines.add("replayed_writes", stats.replayed);
}

fn stats(shared: &ServerShared, numbers: &StoreStats, lines: &mut InfoLines) {
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
    lines.add("total_error_replies", shared.seen().error_replies());
    lines.add("slowlog_len", shared.observing.slowlog.len());
    let (expired, evicted) = shared.removed_keys(numbers);
    lines.add("expired_keys", expired);
    lines.add("evicted_keys", evicted);
    lines.add("keyspace_hits", counted.lookups.hits);
    lines.add("keyspace_misses", counted.lookups.misses);
    lines.add("pubsub_channels", shared.channels.names(ChannelKind::Channel));
    lines.add("pubsub_patterns", shared.channels.names(ChannelKind::Pattern));
    lines.add("pubsubshard_channels", shared.channels.names(ChannelKind::Shard));
    lines.add("scan_cursors", shared.cursors.len());
}

fn replication(_: &ServerShared, _: &StoreStats, lines: &mut InfoLines) {
    lines.add("role", "master");
    lines.add("connected_slaves", 0);
}

/// There is no cluster, and clients check that.
fn cluster(_: &ServerShared, _: &StoreStats, lines: &mut InfoLines) {
    lines.add("cluster_enabled", 0);
}

fn keyspace(_: &ServerShared, numbers: &StoreStats, lines: &mut InfoLines) {
    if numbers.keys > 0 {
        let (keys, expires) = (numbers.keys, numbers.expires);
        let average = numbers.average_ttl.as_millis();
        lines.add("db0", format_args!("keys={keys},expires={expires},avg_ttl={average}"));
    }
}
