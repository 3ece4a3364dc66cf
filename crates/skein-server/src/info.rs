//! INFO: the server in numbers, as text in sections, with Redis's names where the meaning is the same.

use std::fmt::Write;
use std::sync::atomic::Ordering;

use crate::engine::{Durability, Engine, StoreStats};
use crate::shared::Shared;

/// The version of Redis whose replies ours follow; clients look at it before they use a command.
const REDIS_VERSION: &str = "7.0.15";

type Section = fn(&Shared, &StoreStats, &mut Lines);

const SECTIONS: &[(&str, &str, Section)] = &[
    ("server", "Server", server),
    ("clients", "Clients", clients),
    ("memory", "Memory", memory),
    ("persistence", "Persistence", persistence),
    ("engine", "Engine", engine),
    ("stats", "Stats", stats),
    ("replication", "Replication", replication),
    ("keyspace", "Keyspace", keyspace),
];

/// Lines of `name:value`.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn add(&mut self, name: &str, value: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{name}:{value}\r\n");
    }
}

/// The sections that are named (in any case), or all if none is, or if `all`, `default` or `everything` is.
pub(crate) fn text(shared: &Shared, store: &Engine, names: &[&[u8]]) -> String {
    let has = |wanted: &str| names.iter().any(|name| name.eq_ignore_ascii_case(wanted.as_bytes()));
    let all = names.is_empty() || has("all") || has("default") || has("everything");
    let numbers = store.stats();
    let mut lines = Lines::default();
    for (name, title, section) in SECTIONS {
        if all || has(name) {
            if !lines.0.is_empty() {
                lines.0.push_str("\r\n");
            }
            let _ = write!(lines.0, "# {title}\r\n");
            section(shared, &numbers, &mut lines);
        }
    }
    lines.0
}

fn server(shared: &Shared, _: &StoreStats, lines: &mut Lines) {
    let up = shared.started.elapsed();
    lines.add("redis_version", REDIS_VERSION);
    lines.add("redis_mode", "standalone");
    lines.add("skeindb_version", env!("CARGO_PKG_VERSION"));
    lines.add("os", std::env::consts::OS);
    lines.add("arch_bits", usize::BITS);
    lines.add("process_id", std::process::id());
    lines.add("tcp_port", shared.address.port());
    lines.add("workers", shared.mailboxes.len());
    lines.add("uptime_in_seconds", up.as_secs());
    lines.add("uptime_in_days", up.as_secs() / 86_400);
}

fn clients(shared: &Shared, _: &StoreStats, lines: &mut Lines) {
    lines.add("connected_clients", shared.connections());
    lines.add("maxclients", shared.options.clients_max);
    for (i, mailbox) in shared.mailboxes.iter().enumerate() {
        let connections = mailbox.counts.connections.load(Ordering::Relaxed);
        lines.add(&format!("worker{i}_clients"), connections);
    }
}

fn memory(_: &Shared, numbers: &StoreStats, lines: &mut Lines) {
    lines.add("used_memory", numbers.index_bytes + numbers.row_bytes + numbers.unreclaimed_bytes);
    lines.add("index_bytes", numbers.index_bytes);
    lines.add("row_bytes", numbers.row_bytes);
    lines.add("unreclaimed_bytes", numbers.unreclaimed_bytes);
    lines.add("snapshots", numbers.snapshots);
    lines.add("oldest_snapshot_ms", numbers.oldest_snapshot.unwrap_or_default().as_millis());
    if let Some(resident) = resident_bytes() {
        lines.add("used_memory_rss", resident);
    }
}

/// Memory of this process that is in RAM, where the system says so.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

fn persistence(shared: &Shared, numbers: &StoreStats, lines: &mut Lines) {
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
    lines.add("log_bytes_since_checkpoint", numbers.log_bytes);
    lines.add("log_segments", numbers.log_segments);
    lines.add("checkpoints", numbers.checkpoints);
    lines.add("rdb_bgsave_in_progress", u8::from(numbers.checkpoint_running));
    lines.add("rdb_last_save_time", numbers.last_checkpoint_unix_s);
    let status = if numbers.writes_stopped.is_some() { "err" } else { "ok" };
    lines.add("rdb_last_bgsave_status", status);
    lines.add("writes_stopped", numbers.writes_stopped.as_deref().unwrap_or("no").replace(['\r', '\n'], " "));
}

/// Which engine it is; of the disk engine, its pages.
fn engine(shared: &Shared, numbers: &StoreStats, lines: &mut Lines) {
    if let Some(index) = shared.store.index() {
        lines.add("engine", "memory");
        lines.add("index", index);
    }
    let Some((disk, stats)) = shared.store.disk() else { return };
    let buffer = stats.buffer;
    lines.add("engine", "disk");
    lines.add("trie", disk.store().shape());
    lines.add("cache_pages", disk.store().options().cache_pages);
    lines.add("cache_pages_used", buffer.resident);
    lines.add("cache_pages_pinned", buffer.referred);
    lines.add("cache_hits", buffer.hits);
    lines.add("cache_misses", buffer.misses);
    lines.add("cache_evictions", buffer.evictions);
    lines.add("pages_written", buffer.writes);
    lines.add("file_pages", buffer.file_pages);
    lines.add("free_pages", buffer.free_pages);
    let pages = disk.store().pages_in_use();
    lines.add("pages", pages);
    lines.add("bytes_per_key", (pages * skein_disk::PAGE).checked_div(numbers.keys).unwrap_or(0));
    lines.add("replayed_writes", stats.replayed);
}

fn stats(shared: &Shared, _: &StoreStats, lines: &mut Lines) {
    lines.add("total_connections_received", shared.accepted.load(Ordering::Relaxed));
    lines.add("rejected_connections", shared.refused.load(Ordering::Relaxed));
    lines.add("total_commands_processed", shared.total(|counts| &counts.requests));
    lines.add("total_net_input_bytes", shared.total(|counts| &counts.bytes_in));
    lines.add("total_net_output_bytes", shared.total(|counts| &counts.bytes_out));
    lines.add("scan_cursors", shared.cursors.len());
}

fn replication(_: &Shared, _: &StoreStats, lines: &mut Lines) {
    lines.add("role", "master");
    lines.add("connected_slaves", 0);
}

fn keyspace(_: &Shared, numbers: &StoreStats, lines: &mut Lines) {
    if numbers.keys > 0 {
        lines.add("db0", format_args!("keys={},expires=0,avg_ttl=0", numbers.keys));
    }
}
