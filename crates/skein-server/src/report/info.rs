//! INFO: the server's statistics as text in sections, with Redis's names for the same figures. A
//! section has lines of its own, and its rows of `figures`. `memory`, `persistence`, `stats`,
//! `commands` and `cpu` are a section each; `loading` is the text while the data is loading.

use std::fmt::Write;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::time::UNIX_EPOCH;

use crate::commands::configuration::value_of;
use crate::report::figures::{FIGURES, FigureSource, FigureValue};
use crate::shared::ServerShared;
use skein_data::{KeyspaceStats, StoreStats};

mod commands;
pub(crate) mod cpu;
pub(crate) mod loading;
mod memory;
mod persistence;
mod stats;

pub(crate) use memory::resident_bytes;

/// The version of Redis that this server's replies follow. Clients check it before they use a
/// command.
pub(crate) const REDIS_VERSION: &str = "7.0.15";

/// The bits of the clock, in seconds. Redis compares the last uses of keys by them.
pub(crate) const LRU_CLOCK: u64 = (1 << 24) - 1;

/// The numbers of keys and of the engine.
pub(crate) struct InfoNumbers {
    pub store: StoreStats,
    /// The databases with keys.
    pub databases: Vec<(u32, KeyspaceStats)>,
}

impl Deref for InfoNumbers {
    type Target = StoreStats;

    fn deref(&self) -> &StoreStats {
        &self.store
    }
}

type InfoSection = fn(&ServerShared, &InfoNumbers, &mut InfoLines);

const SECTIONS: &[(&str, &str, InfoSection)] = &[
    ("server", "Server", server),
    ("clients", "Clients", clients),
    ("memory", "Memory", memory::memory),
    ("persistence", "Persistence", persistence::persistence),
    ("engine", "Engine", engine),
    ("stats", "Stats", stats::stats),
    ("replication", "Replication", replication),
    ("cpu", "CPU", cpu::cpu),
    ("modules", "Modules", modules),
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

    /// Adds the figures of a section.
    fn add_figures(&mut self, section: &str, source: &FigureSource<'_>) {
        for figure in FIGURES.iter().filter(|figure| figure.info.0 == section) {
            match (figure.read)(source) {
                Some(FigureValue::Number(number)) => self.add(figure.info.1, number),
                Some(FigureValue::Time(time)) => self.add(figure.info.1, time.as_millis()),
                None => {}
            }
        }
    }
}

/// Returns the named sections (in any case). Returns all but the long ones if no section or
/// `default` is named, and all for `all` and `everything`.
pub(crate) fn text(shared: &ServerShared, numbers: &InfoNumbers, names: &[&[u8]]) -> String {
    let has = |wanted: &str| names.iter().any(|name| name.eq_ignore_ascii_case(wanted.as_bytes()));
    let all = has("all") || has("everything");
    let default = names.is_empty() || has("default");
    let mut lines = InfoLines::default();
    let figures = FigureSource::since_reset(shared, numbers);
    for (name, title, section) in SECTIONS {
        if all || has(name) || (default && !NOT_DEFAULT.contains(name)) {
            if !lines.0.is_empty() {
                lines.0.push_str("\r\n");
            }
            let _ = write!(lines.0, "# {title}\r\n");
            section(shared, numbers, &mut lines);
            lines.add_figures(name, &figures);
        }
    }
    lines.0
}

/// Writes the program's version and its address.
fn program(run_id: &str, address: SocketAddr, lines: &mut InfoLines) {
    lines.add("redis_version", REDIS_VERSION);
    lines.add("redis_mode", "standalone");
    lines.add("skeindb_version", env!("CARGO_PKG_VERSION"));
    let system = rustix::system::uname();
    let words = [system.sysname(), system.release(), system.machine()].map(|word| word.to_string_lossy());
    lines.add("os", words.join(" "));
    lines.add("arch_bits", usize::BITS);
    lines.add("process_id", std::process::id());
    lines.add("run_id", run_id);
    lines.add("tcp_port", address.port());
}

fn server(shared: &ServerShared, _: &InfoNumbers, lines: &mut InfoLines) {
    let up = shared.identity.started.elapsed();
    program(&shared.identity.run_id, shared.identity.address, lines);
    lines.add("workers", shared.workers.mailboxes.len());
    lines.add("server_time_usec", UNIX_EPOCH.elapsed().unwrap_or_default().as_micros());
    lines.add("uptime_in_seconds", up.as_secs());
    lines.add("uptime_in_days", up.as_secs() / 86_400);
    lines.add("multiplexing_api", "epoll");
    lines.add("process_supervised", value_of(shared, "supervised"));
    for name in ["hz", "configured_hz"] {
        lines.add(name, value_of(shared, "hz"));
    }
    lines.add("lru_clock", UNIX_EPOCH.elapsed().unwrap_or_default().as_secs() & LRU_CLOCK);
    lines.add("io_threads_active", u8::from(shared.workers.mailboxes.len() > 1));
    if let Ok(path) = std::env::current_exe() {
        lines.add("executable", path.display());
    }
}

fn clients(shared: &ServerShared, _: &InfoNumbers, lines: &mut InfoLines) {
    for (i, mailbox) in shared.workers.mailboxes.iter().enumerate() {
        let connections = mailbox.counts.connections.load(Ordering::Relaxed);
        lines.add(&format!("worker{i}_clients"), connections);
    }
}

/// Writes the kind of the engine, and the keys of the disk engine per page.
fn engine(shared: &ServerShared, numbers: &InfoNumbers, lines: &mut InfoLines) {
    if let Some(index) = shared.data.store.index() {
        lines.add("engine", "memory");
        lines.add("index", index);
    }
    let Some((disk, stats)) = shared.data.store.disk() else { return };
    lines.add("engine", "disk");
    lines.add("trie", disk.store().shape());
    let pages = disk.store().pages_in_use();
    lines.add("pages", pages);
    lines.add("bytes_per_key", (pages * skein_data::PAGE).checked_div(numbers.keys).unwrap_or(0));
    lines.add("replayed_writes", stats.replayed);
}

/// There are no replicas, so nothing is ever sent to one, and the offset stays 0 as in a Redis
/// without replicas.
fn replication(shared: &ServerShared, _: &InfoNumbers, lines: &mut InfoLines) {
    lines.add("role", "master");
    lines.add("connected_slaves", 0);
    lines.add("master_failover_state", "no-failover");
    lines.add("master_replid", &shared.identity.replication_id);
    lines.add("master_replid2", "0".repeat(40));
    lines.add("master_repl_offset", 0);
    lines.add("second_repl_offset", -1);
    lines.add("repl_backlog_size", value_of(shared, "repl-backlog-size"));
    for name in ["repl_backlog_active", "repl_backlog_first_byte_offset", "repl_backlog_histlen"] {
        lines.add(name, 0);
    }
}

/// Writes that there are no modules.
fn modules(_: &ServerShared, _: &InfoNumbers, _: &mut InfoLines) {}

/// Writes that there is no cluster. Clients check that.
fn cluster(_: &ServerShared, _: &InfoNumbers, lines: &mut InfoLines) {
    lines.add("cluster_enabled", 0);
}

fn keyspace(_: &ServerShared, numbers: &InfoNumbers, lines: &mut InfoLines) {
    for (database, KeyspaceStats { keys, expires, average_ttl_ms }) in &numbers.databases {
        let name = format!("db{database}");
        lines.add(&name, format_args!("keys={keys},expires={expires},avg_ttl={average_ttl_ms}"));
    }
}
